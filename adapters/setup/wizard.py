"""The frame of a set-up in the terminal: questions with defaults, the same by flags, and one write at the end.

Source: newcomer.md ("A wizard with a default for every question, plus flags for the same"). What a person enters is
checked twice: by its looks, and by asking the platform; nothing is written before all of it is right.
"""

import os
import sys
import webbrowser
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bot.cli import output
from bot.config.dotenv import EnvFileError, ProbeError, current, write
from bot.doctor.findings import Level, Remark
from bot.logs import Redactor
from retrieval.i18n import Language, Text, filled
from retrieval.text import normalise

DONE, FAILED, USAGE = 0, 1, 2

_MARKS: dict[Level, str] = {"ok": "✓", "warning": "!", "fault": "✗"}

_MISSING = Text(en="{flag} is missing. It is found at: {where}", ja="{flag} がありません。取得場所: {where}")
_NEEDED = Text(en="It is needed. It is found at: {where}", ja="入力が必要です。取得場所: {where}")
_KEEP = Text(en="Enter: keep the one that is set", ja="Enter で設定済みのものを使います")
_TRY_AGAIN = Text(en="Nothing was written.", ja="何も書き込んでいません。")
UNCHECKED = Text(
    en="Nothing was written. --no-check saves it without asking.",
    ja="何も書き込んでいません。--no-check を付けると確認せずに保存します。",
)
_SAVED = Text(
    en="Saved in {file}, readable by you only: {names}", ja="{file} に保存しました（本人だけが読めます）: {names}"
)
_NOTHING_NEW = Text(en="{file} holds all of it already.", ja="{file} にはすべて設定済みです。")
_SHADOWED = Text(
    en="The environment sets {names} too, and it counts before .env: take it out there.",
    ja="環境変数にも {names} があり、.env より優先されます。環境変数のほうを外してください。",
)
_LEFT = Text(
    en="Something still has to be fixed (✗ above); kotae doctor checks it again.",
    ja="まだ直すところがあります（上の ✗）。kotae doctor でもう一度確認できます。",
)
_NEXT = Text(en="Next: {command}", ja="次のコマンド: {command}")


@dataclass(frozen=True, slots=True)
class WizardQuestion:
    """One variable of `.env`. `wrong` says what can be seen to be wrong with a value, without asking anybody."""

    name: str
    flag: str
    words: Text
    wrong: Callable[[str], Text | None]
    where: Text | None = None  # it is found; only for what is needed
    secret: bool = False


def browser(environ: Mapping[str, str] = os.environ) -> Callable[[str], bool] | None:
    """Opens an address in a browser with windows of its own; None: this machine shows nobody any."""
    windows = sys.platform in ("darwin", "win32") or environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")
    if not windows or environ.get("SSH_CONNECTION"):
        return None
    try:
        webbrowser.get()
    except webbrowser.Error:
        return None
    return webbrowser.open


def hyperlinks(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the terminal is known to make links of words. Source: github.com/Alhadis/OSC8-Adoption."""
    vte = environ.get("VTE_VERSION", "")
    known = environ.get("TERM_PROGRAM", "") in ("iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby", "rio")
    named = environ.get("TERM", "") in ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "foot-extra")
    told = any(environ.get(name) for name in ("WT_SESSION", "KONSOLE_VERSION", "DOMTERM"))
    return known or named or told or (vte.isdecimal() and int(vte) >= 5_000)


class StopError(Exception):
    """The wizard ends here with this status, after these lines on standard error."""

    def __init__(self, status: int, *lines: Text) -> None:
        super().__init__("\n".join(line.en for line in lines))
        self.status = status
        self.lines = lines


@dataclass(slots=True)
class Terminal:
    """A terminal on which questions are asked and results told. `read(prompt, hidden)` is one answer; None: nobody is
    there to ask. `open` shows an address in a browser, if it can. `follows`: words can be a link."""

    language: Language
    read: Callable[[str, bool], str] | None
    open: Callable[[str], bool] | None = None
    follows: bool = False
    _secrets: set[str] = field(default_factory=set)
    faults: int = 0

    def hide(self, secret: str) -> None:
        """From now on this is shown nowhere."""
        self._secrets.add(secret)

    def say(self, said: Text) -> None:
        output.say(Redactor(self._secrets)(said.to(self.language)))

    def link(self, url: str, words: Text) -> str:
        """These words as a link where the terminal has such, else the address. Source: the hyperlink sequence OSC 8."""
        return f"\x1b]8;;{url}\x1b\\{words.to(self.language)}\x1b]8;;\x1b\\" if self.follows else url

    def warn(self, said: Text) -> None:
        output.warn(Redactor(self._secrets)(said.to(self.language)))

    def complain(self, *lines: Text) -> None:
        """The end of a command that did not do what it was to do."""
        self.warn(
            Text(
                en="kotae: " + "\n".join(line.en for line in lines), ja="kotae: " + "\n".join(line.ja for line in lines)
            )
        )

    def show(self, remarks: Sequence[Remark]) -> None:
        for remark in remarks:
            self.faults += remark.level == "fault"
            mark = _MARKS[remark.level]
            self.say(Text(en=f"{mark} {remark.what.en}", ja=f"{mark} {remark.what.ja}"))
            if remark.todo:
                self.say(Text(en=f"    → {remark.todo.en}", ja=f"    → {remark.todo.ja}"))


@dataclass(frozen=True, slots=True)
class FlagValues:
    """The values that came by flags. `values`: by the variables' names; `-` for a secret is a line of standard
    input."""

    values: Mapping[str, str]
    check: bool = True
    yes: bool = False  # what is not given takes its default, unasked
    wait: bool | None = None  # None: ask
    manifest: Path | None = None  # the file that Slack's is written to
    embeddings: bool | None = None  # Gemini's; None: ask
    http: str | None = None  # the address at which Slack reaches `kotae run`; None: Socket Mode


Probe = Callable[[str], Awaitable[None]]


class Wizard:
    """One set-up: what is set now, and what will be."""

    def __init__(
        self,
        questions: Sequence[WizardQuestion],
        terminal: Terminal,
        given: FlagValues,
        environ: Mapping[str, str],
        env_file: Path,
    ) -> None:
        """Raises EnvFileError."""
        self.terminal = terminal
        self.given = given
        self.now = current(environ, env_file)
        self._questions = questions
        self.changes: dict[str, str] = {}
        self._environ = environ
        self._file = env_file
        for question in questions:
            if question.secret and question.name in self.now:
                terminal.hide(self.now[question.name])

    @property
    def asks(self) -> bool:
        return self.terminal.read is not None and not self.given.yes

    def agrees(self, question: Text, default: bool) -> bool:
        """An answer to a question of yes or no; for when `asks`."""
        assert self.terminal.read is not None
        said = self.terminal.read(f"{question.to(self.terminal.language)} [{'y' if default else 'n'}]", False).strip()
        return normalise(said).startswith(("y", "は")) if said else default

    @property
    def then(self) -> dict[str, str]:
        """The values that will be set."""
        return self.now | self.changes

    def begin(self, steps: Text) -> None:
        """Say how it goes. Raises StopError for flags that are missing, all at once."""
        self.terminal.say(steps)
        missing = [
            filled(_MISSING, flag=question.flag, where=question.where)
            for question in self._questions
            if question.where and not self.asks and question.name not in {**self.now, **self.given.values}
        ]
        if missing:
            raise StopError(USAGE, *missing)

    async def answer(self, question: WizardQuestion, probe: Probe | None = None, default: str = "") -> str:
        """The value, from its flag, from whoever is asked, or as it is by default; empty: none. Raises StopError."""
        given = self.given.values.get(question.name)
        if given == "-" and question.secret:
            given = sys.stdin.readline()
        kept = self.now.get(question.name, "")
        while True:
            asked = given is None and self.asks
            if given is not None:
                value = given.strip()
            elif asked:
                value = self._read(question, kept, default) or kept or default
            else:
                value = kept or (default if self.given.yes else "")
            if question.secret and value:
                self.terminal.hide(value)
            wrong = question.wrong(value) if value else self._needed(question)
            if wrong is not None:
                if not asked:
                    raise StopError(USAGE, wrong)
                self.terminal.warn(wrong)
                continue
            if value and probe and self.given.check:
                try:
                    await probe(value)
                except ProbeError as error:
                    self.terminal.show([error.remark])
                    if not (asked and error.token):
                        raise StopError(FAILED, _TRY_AGAIN if error.token else UNCHECKED) from None
                    self.terminal.faults -= error.remark.level == "fault"  # it may be answered otherwise
                    continue
            if value and value != kept:
                self.changes[question.name] = value
            return value

    def _needed(self, question: WizardQuestion) -> Text | None:
        return filled(_NEEDED, where=question.where) if question.where else None

    def _read(self, question: WizardQuestion, kept: str, default: str) -> str:
        assert self.terminal.read is not None  # `asks` says so
        language = self.terminal.language
        hint = (_KEEP.to(language) if question.secret else kept) if kept else default
        words = question.words.to(language)
        return self.terminal.read(f"{words} [{hint}]" if hint else words, question.secret).strip()

    def save(self) -> None:
        """Raises StopError."""
        file = str(self._file)
        if not self.changes:
            self.terminal.say(filled(_NOTHING_NEW, file=file))
            return
        try:
            write(self.changes, self._file)
        except EnvFileError as error:
            raise StopError(FAILED, error.said) from None
        self.terminal.say(filled(_SAVED, file=file, names=", ".join(self.changes)))
        shadowed = [name for name in self.changes if self._environ.get(name, "").strip()]
        if shadowed:
            self.terminal.warn(filled(_SHADOWED, names=", ".join(shadowed)))

    def end(self, command: str) -> int:
        self.terminal.say(filled(_NEXT, command=command))
        if self.terminal.faults:
            self.terminal.warn(_LEFT)
        return FAILED if self.terminal.faults else DONE
