"""The kinds of values that settings can have: what each should be, in words, and how it is checked."""

import re
import ssl
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated
from urllib.parse import parse_qs, unquote, urlsplit
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from retrieval.i18n import Text


@dataclass(frozen=True, slots=True)
class Wants:
    """The kind of value a variable should have, to be said when it has another."""

    what: Text
    secret: bool = False  # the value given is not repeated


def whole(low: int, high: int) -> Wants:
    return Wants(Text(en=f"a whole number from {low} to {high}", ja=f"{low} から {high} までの整数"))


def one_of(*names: str) -> Wants:
    return Wants(Text(en=f"{', '.join(names[:-1])} or {names[-1]}", ja="、".join(names)))


_SHARE = Wants(Text(en="a number from 0 to 1", ja="0 から 1 までの数"))
_URL = Wants(
    Text(en="an address that starts with http:// or https://", ja="http:// か https:// で始まるアドレス"), secret=True
)
_PAGES = Wants(
    Text(
        en="the address that people open the pages at, such as https://kotae.example.com, with nothing after the name "
        "and port",
        ja="ページを開くときのアドレス（例: https://kotae.example.com。ホスト名とポートの後ろには何も付けない）",
    )
)
_WS = Wants(Text(en="an address that starts with ws:// or wss://", ja="ws:// か wss:// で始まるアドレス"), secret=True)
_MODEL = Wants(
    Text(
        en="extractive, gemini:<model> or openai:<model>",
        ja="extractive、gemini:<モデル名>、openai:<モデル名> のどれか",
    )
)
_JUDGE = Wants(Text(en="gemini:<model> or openai:<model>", ja="gemini:<モデル名> か openai:<モデル名>"))
_RERANKER = Wants(
    Text(
        en="fastembed:<model> or fastembed:<folder>",
        ja="fastembed:<モデル名> か fastembed:<フォルダー>",
    )
)
_EMBEDDER = Wants(
    Text(
        en="local, fastembed:<model>, gemini:<model> or openai:<model>",
        ja="local、fastembed:<モデル名>、gemini:<モデル名>、openai:<モデル名> のどれか",
    )
)
_DATABASE = Wants(
    Text(
        en="sqlite:///path/to/file.db or postgresql://user:password@host/name (in a password @ is written as %40, / as "
        "%2F, # as %23, ? as %3F)",
        ja="sqlite:///path/to/file.db か postgresql://user:password@host/name の形（パスワードの @ は %40、/ は %2F、"
        "# は %23、? は %3F と書く）",
    ),
    secret=True,
)
_GUILDS = Wants(
    Text(en="server (guild) ids, numbers with commas between", ja="サーバー（ギルド）ID の数字をコンマで区切ったもの")
)
_TOKENS = Wants(
    Text(en="host=token, with commas between several", ja="ホスト=トークン（複数ならコンマで区切る）"), secret=True
)
_ZONE = Wants(
    Text(
        en="UTC or a time zone such as Asia/Tokyo that this machine has (they come with its package tzdata)",
        ja="UTC か、Asia/Tokyo のようにこのマシンにあるタイムゾーン名（tzdata パッケージに含まれます）",
    )
)
_CRON = Wants(
    Text(
        en="five cron fields such as 0 9 * * mon (minute hour day month weekday)",
        ja="0 9 * * mon のような cron の 5 項目（分 時 日 月 曜日）",
    )
)
TEXT = Wants(Text(en="a text", ja="文字列"))
_SECRET = Wants(Text(en="a text", ja="文字列"), secret=True)
_CA = Wants(
    Text(en="a file with certificates of authorities (PEM)", ja="認証局の証明書のファイル（PEM 形式）"),
)
_FOLDER = Wants(Text(en="a folder", ja="フォルダー"))
_COLLECTION = Wants(
    Text(
        en="the name of one collection: 1 to 80 characters, without commas or line breaks",
        ja="コレクション 1 つの名前（1～80 文字、コンマと改行は不可）",
    )
)
COLLECTION_NAME = re.compile(
    r"[^\s,\x00-\x1f\x7f\ud800-\udfff](?:[^,\x00-\x1f\x7f\ud800-\udfff]{0,78}[^\s,\x00-\x1f\x7f\ud800-\udfff])?"
)


def _check(good: bool) -> None:
    if not good:
        raise ValueError


def _url(text: str, schemes: tuple[str, ...] = ("http", "https")) -> str:
    parts = urlsplit(text)
    _check(parts.scheme in schemes and bool(parts.hostname))
    return text


def _of(*providers: str, bare: str = "") -> BeforeValidator:
    """A model of one of these, `provider:name`, or the `bare` word."""

    def check(text: str) -> str:
        provider, colon, name = text.partition(":")
        _check(text == bare or (provider in providers and bool(colon) and bool(name.strip())))
        return text

    return BeforeValidator(check)


_ORIGIN = re.compile(r"(https?)://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?/?")
_USUAL = {"http": ":80", "https": ":443"}


def _origin(text: str) -> str:
    """As a browser says it: in small letters, without the port that goes without saying."""
    found = _ORIGIN.fullmatch(text.lower())
    if found is None or urlsplit(text).port == 0:  # raises ValueError for what is no port
        raise ValueError
    scheme, host, port = found.groups()
    return f"{scheme}://{host}{'' if port in (None, _USUAL[scheme]) else port}"


_SERVER = re.compile(r"(?P<host>[A-Za-z0-9.-]+)(:(?P<port>\d{1,5}))?")


def sqlite_url(file: Path) -> str:
    """The address of an SQLite file, whose folders' names may have what stands for something else in an address."""
    return f"sqlite+aiosqlite:///{str(file).replace('%', '%25').replace('?', '%3F')}"


def _database(text: str) -> str:
    """The address as the store takes it: with its driver."""
    scheme, colon, rest = text.partition("://")
    kind = scheme.partition("+")[0]
    if kind == "sqlite":
        _check(bool(colon) and rest.startswith("/") and rest.strip("/") not in ("", ":memory:"))
        return f"sqlite+aiosqlite://{rest}"
    _check(kind in ("postgresql", "postgres") and bool(rest))
    return f"postgresql+asyncpg://{_servers(rest)}"


def _servers(rest: str) -> str:
    """Several servers (`user:password@one,two:5433/name`) as the store takes them: if nothing else is said, the one
    that can be written to."""
    address, _, query = rest.partition("?")
    authority, _, name = address.partition("/")
    user, at, servers = authority.rpartition("@")
    _check("@" not in user)  # of a password: what follows would be taken for the server
    wanted = parse_qs(query).get("target_session_attrs", [])
    _check({*wanted} <= {"any", "primary", "read-write"})  # Kotae writes
    if "," not in servers:
        _check(urlsplit(f"//{authority}").port != 0)  # raises ValueError for what is no port
        return rest
    found = [_SERVER.fullmatch(each) for each in servers.split(",")]
    _check(all(found))
    given = [f"host={one['host']}:{one['port'] or 5432}" for one in found if one]
    given += [query] if query else []
    return f"{user}{at}/{name}?{'&'.join(given if wanted else [*given, 'target_session_attrs=read-write'])}"


def passwords_in(address: str) -> set[str]:
    """As they are written there, and as they are meant."""
    parts = urlsplit(address)
    return {
        *([parts.password, unquote(parts.password)] if parts.password else []),
        *parse_qs(parts.query).get("password", []),
    }


def _folder(path: Path) -> Path:
    """With `~` as the user's home: in `.env` no shell has put it in. It need not be there, but not be a file either."""
    try:
        path = path.expanduser()
    except RuntimeError as error:  # no such user
        raise ValueError from error
    with suppress(OSError):  # of a folder that nobody may look into: what uses it says so
        _check(next((one.is_dir() for one in (path, *path.parents) if one.exists()), True))
    return path


def _authorities(file: Path) -> Path:
    try:
        ssl.create_default_context(cafile=file)
    except OSError as error:  # not there; no certificates
        raise ValueError from error
    return file


def _tokens(text: SecretStr) -> SecretStr:
    for part in text.get_secret_value().split(","):
        host, equals, token = (each.strip() for each in part.partition("="))
        _check(bool(host and equals and token) and "/" not in host)
    return text


def _list(text: object) -> object:
    return tuple(part.strip() for part in text.split(",") if part.strip()) if isinstance(text, str) else text


def _guilds(text: object) -> object:
    ids = _list(text)
    _check(isinstance(ids, tuple) and all(part.isascii() and part.isdigit() for part in ids))
    return ids


def _collection(name: str) -> str:
    _check(bool(COLLECTION_NAME.fullmatch(name)))
    return name


def _port(text: object) -> object:
    """A port; Kubernetes puts `tcp://10.0.0.1:6333` into QDRANT_PORT when a service has that name."""
    return text.rpartition(":")[2] if isinstance(text, str) and text.startswith("tcp://") else text


def _zone(text: str) -> str:
    if text != "UTC":
        try:
            ZoneInfo(text)
        except (OSError, ValueError, LookupError) as error:  # not found; a path; a folder of zones
            raise ValueError from error
    return text


def _cron(text: str) -> str:
    from bot.unanswered.digest_schedule import Schedule  # it loads a scheduler, which only those need who set this

    Schedule(text)  # CronError is a ValueError
    return " ".join(text.split())


LOWER = BeforeValidator(lambda text: text.lower() if isinstance(text, str) else text)
UPPER = BeforeValidator(lambda text: text.upper() if isinstance(text, str) else text)

Address = Annotated[str, BeforeValidator(_url), _URL]
Origin = Annotated[str, BeforeValidator(_origin), _PAGES]
Names = Annotated[tuple[str, ...], BeforeValidator(_list), TEXT]
Secret = Annotated[SecretStr, _SECRET]
HostTokens = Annotated[SecretStr, AfterValidator(_tokens), _TOKENS]
Share = Annotated[float, Field(ge=0, le=1), _SHARE]
SettingText = Annotated[str, TEXT]
Folder = Annotated[Path, AfterValidator(_folder), _FOLDER]
Collection = Annotated[str, AfterValidator(_collection), _COLLECTION]
Authorities = Annotated[Path, AfterValidator(_authorities), _CA]
Socket = Annotated[str, BeforeValidator(partial(_url, schemes=("ws", "wss"))), _WS]
Model = Annotated[str, _of("gemini", "openai", bare="extractive"), _MODEL]
Judge = Annotated[str, _of("gemini", "openai"), _JUDGE]
Reranker = Annotated[str, _of("fastembed"), _RERANKER]
Embedder = Annotated[str, _of("fastembed", "gemini", "openai", bare="local"), _EMBEDDER]
Database = Annotated[SecretStr, BeforeValidator(_database), _DATABASE]
Guilds = Annotated[tuple[str, ...], BeforeValidator(_guilds), _GUILDS]
Zone = Annotated[str, BeforeValidator(_zone), _ZONE]
Cron = Annotated[str, BeforeValidator(_cron), _CRON]
Port = Annotated[int, BeforeValidator(_port), Field(ge=0, le=65535), whole(0, 65535)]
