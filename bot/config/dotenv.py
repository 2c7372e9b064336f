"""The parts of `kotae setup` beside its questions: settings are put into `.env` without losing a line of it, and what
is already set is known. Source: newcomer.md (a wizard writes `.env`); saurabh-kumar.com/python-dotenv (the file's
form)."""

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from bot.config.settings import ENV_FILE, Settings, bindings, values
from bot.doctor.findings import Remark
from bot.errors import SettingsError
from retrieval.durable import replacing
from retrieval.i18n import Text, TextError, filled, os_reason

_BOM = "\ufeff"
_PLAIN = re.compile(r"[\w.:/@%+,=-]+", re.ASCII)
_VALUE = re.compile(
    r"""(?P<head>\s*(?:export[^\S\r\n]+)?(?:'[^']+'|[^=\#\s]+)[^\S\r\n]*)
        (?:=[^\S\r\n]*(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[^\r\n]*?))?
        (?P<tail>[^\S\r\n]*|[^\S\r\n]+\#[^\r\n]*)
        (?P<end>\r\n|\n|\r|)""",
    re.VERBOSE | re.DOTALL,
)

_UNREADABLE = Text(
    en="{file} cannot be read: {why}. Nothing was changed.", ja="{file} を読み込めません: {why}。何も変更していません。"
)
_UNWRITABLE = Text(
    en="{file} cannot be written: {why}. Nothing was changed.",
    ja="{file} に書き込めません: {why}。何も変更していません。",
)
_NOT_TEXT = Text(en="it is not UTF-8 text", ja="UTF-8 のテキストではありません")
_CANNOT_HOLD = Text(
    en="{name} has a line break or ${{…}} in it, which .env cannot hold. Nothing was changed.",
    ja="{name} に改行か ${{…}} が含まれており、.env に書けません。何も変更していません。",
)
_MISREAD = Text(
    en="{file} is written in such a way that another value would be lost. Nothing was changed; please edit it by hand.",
    ja="{file} の書き方では、ほかの値が失われるおそれがあります。何も変更していません。手で編集してください。",
)


class EnvFileError(TextError):
    """`.env` was left as it was, and why; the reason holds no values of it."""


class ProbeError(Exception):
    """A platform was asked about a token, and it is not well. `token`: another token may be; else it lies elsewhere."""

    def __init__(self, remark: Remark, *, token: bool = True) -> None:
        super().__init__(remark.what.en)
        self.remark = remark
        self.token = token


def current(environ: Mapping[str, str], env_file: Path = ENV_FILE) -> dict[str, str]:
    """The settings as they are now, by their names and unchecked: the environment over the file. Raises
    EnvFileError."""
    names = {str(field.alias) for field in Settings.model_fields.values()}
    written = values(bindings(_read(env_file).removeprefix(_BOM)), environ)
    merged = {**written, **{name: value for name, value in environ.items() if value.strip()}}
    return {name: value.strip() for name, value in merged.items() if name in names and value and value.strip()}


def problem(name: str, value: str) -> Text | None:
    """The fault of one value, whatever the others are; None: it can be used."""
    try:
        Settings.model_validate({name: value})
    except SettingsError as error:
        return next((said for said in error.problems if said.en.startswith(f"{name} should")), None)
    return None


def digest_channel(channel: str | None, platform: str, *, alone: bool) -> str | None:
    """The id or name that KOTAE_DIGEST_CHANNEL has for this platform (`slack`, `discord`); None: it is not for this
    one.

    `alone`: no other platform is set up. Otherwise a number is Discord's, and everything else Slack's.
    """
    named, colon, rest = (channel or "").partition(":")
    if colon and named in ("slack", "discord"):
        return rest if named == platform else None
    wanted = "discord" if (channel or "").isdecimal() else "slack"
    return channel if channel and (alone or wanted == platform) else None


def machine_timezone(environ: Mapping[str, str], localtime: Path = Path("/etc/localtime")) -> str:
    """The time zone this machine is in, where that can be seen; else UTC."""
    with suppress(OSError):
        for name in (environ.get("TZ", "").lstrip(":"), str(localtime.resolve()).partition("zoneinfo/")[2]):
            name = name.removeprefix("posix/")
            if name and name not in ("Etc/UTC", "Etc/UCT") and problem("KOTAE_TIMEZONE", name) is None:
                return name
    return "UTC"


def write(changes: Mapping[str, str], env_file: Path = ENV_FILE) -> None:
    """Put these values into the file: all of them, or none. All other lines and all comments stay as they are.

    A name that is there gets its new value in place; a new one comes after a line that explains it (`# NAME=`), else at
    the end. The file is readable by its owner only. Raises EnvFileError.
    """
    for name, value in changes.items():
        if re.search(r"[\x00-\x1f\x7f]|\$\{", value):
            raise EnvFileError(filled(_CANNOT_HOLD, name=name))
    before = _read(env_file)
    after = before
    for name, value in changes.items():
        after = _put(after, name, value)
    if _values(after) != {**_values(before), **changes}:
        raise EnvFileError(filled(_MISREAD, file=str(env_file)))
    try:
        _replace(env_file, after)
    except OSError as error:
        raise EnvFileError(filled(_UNWRITABLE, file=str(env_file), why=os_reason(error))) from None


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        raise EnvFileError(filled(_UNREADABLE, file=str(file), why=_NOT_TEXT)) from None
    except OSError as error:
        raise EnvFileError(filled(_UNREADABLE, file=str(file), why=os_reason(error))) from None


def _values(text: str) -> dict[str, str | None]:
    return {binding.key: binding.value for binding in bindings(text.removeprefix(_BOM)) if binding.key}


def _put(text: str, name: str, value: str) -> str:
    bom = _BOM if text.startswith(_BOM) else ""
    text = text.removeprefix(_BOM)
    newline = "\r\n" if "\r\n" in text else "\n"
    pieces = [(binding.key, binding.original.string) for binding in bindings(text)]
    line = f"{name}={_quoted(value)}"
    there = [number for number, (key, _) in enumerate(pieces) if key == name]
    if there:
        last = there[-1]  # the one that counts
        pieces[last] = (name, _with_value(pieces[last][1], value))
        return bom + "".join(original for _, original in pieces)
    whole = "".join(original for _, original in pieces)
    explained = re.search(rf"(?m)^[^\S\r\n]*\#[^\S\r\n]*{re.escape(name)}[^\S\r\n]*=[^\r\n]*(\r\n|\n|\r)", whole)
    if explained:
        return f"{bom}{whole[: explained.end()]}{line}{explained[1]}{whole[explained.end() :]}"
    if whole and not whole.endswith(("\n", "\r")):
        whole += newline
    return f"{bom}{whole}{line}{newline}"


def _with_value(original: str, value: str) -> str:
    """The line with another value; its indentation, `export`, comment and line end as they were."""
    found = _VALUE.fullmatch(original)
    head, tail, end = (found["head"], found["tail"], found["end"]) if found else (original, "", "\n")
    return f"{head.rstrip()}={_quoted(value)}{tail if '#' in tail else ''}{end}"


def _quoted(value: str) -> str:
    if _PLAIN.fullmatch(value):
        return value
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _replace(file: Path, text: str) -> None:
    """One step, also when the power goes: either the old file or the new one. A link is followed, not replaced."""
    target = file.resolve()
    with replacing(target) as made:
        made.write(text.encode("utf-8"))
        with suppress(OSError):  # root writes a service's file: it stays the service's
            owner = target.stat()
            if (owner.st_uid, owner.st_gid) != (os.geteuid(), os.getegid()):
                os.fchown(made.fileno(), owner.st_uid, owner.st_gid)
