"""The terminal as a channel: threads, live steps, answers with their sources, votes and uploads."""

import asyncio
import json
import os
import re
import shlex
import signal
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, assert_never

from rich.console import Console, RenderableType
from rich.text import Text as RichText

from adapters.markdown.events import LABELS, SOURCES, doubt_line, one_line, source_line, source_place, step_words
from adapters.port import ThreadView, relay
from adapters.shared.verdicts import VERDICTS
from adapters.terminal import texts as say
from adapters.terminal.stdin import Lines
from agent.events import (
    Answered,
    Citation,
    Drafted,
    Event,
    Events,
    Outcome,
    Reflected,
    Step,
    Thought,
    ToolCalled,
    ToolReturned,
)
from bot.config.own_files import given_files
from bot.config.settings import Settings
from bot.errors import StoreError
from bot.texts import REASONS, reply_language
from bot.turns.event_json import as_json as event_json
from bot.types import Actor, Audience, Feedback, Incoming, Place, StepsShown, Upload, Verdict
from retrieval.i18n import Language, Text, os_reason, readable
from retrieval.loaders.local_files import NotReadError
from retrieval.types import TEAM, Passage, RAGToolError

if TYPE_CHECKING:  # a question that is asked over the socket needs no database
    from bot.bot import Bot

PLACE = Place("terminal", "local", "terminal")
PASSING = Place("terminal", "local", "pipe")  # `kotae ask`, and lines from a pipe: whoever asked is gone afterwards
AUDIENCE = Audience("public")  # what is shared with the whole team, as product.md §3 has it for the terminal
AUTHOR = "terminal"
PROMPT = "kotae› "

_ESCAPES = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_REASONS: dict[str, Literal["wrong", "outdated", "incomplete", "wrong_source"]] = {
    "wrong": "wrong",
    "outdated": "outdated",
    "incomplete": "incomplete",
    "wrong_source": "wrong_source",
    "間違い": "wrong",
    "古い": "outdated",
    "不足": "incomplete",
    "出典違い": "wrong_source",
}


class TurnService(Protocol):
    """Turns of this process (`bot.turns.turns.Turns`), or of the one that owns the home
    (`bot.cli.remote.RemoteTurns`)."""

    def reply(self, message: Incoming) -> Events: ...

    async def unfinished(self, platform: str) -> list[Incoming]: ...

    async def withdraw(self, message: Incoming) -> None: ...


# -- what a turn looks like -----------------------------------------------------------------------------------------


class ConsoleView(ThreadView):
    """A turn for people: each step a coloured line as it happens, then the answer and its numbered sources."""

    def __init__(self, screen: Console, language: Language, steps: StepsShown = "live") -> None:
        self.answered: Answered | None = None
        self.passages: dict[tuple[str, str, int], Passage] = {}
        self._screen = screen
        self._language = language
        self._steps = steps

    async def step(self, event: Step) -> None:
        if isinstance(event, ToolReturned):
            self.passages |= {_key(hit.passage): hit.passage for hit in event.hits}
        if self._steps == "off" or isinstance(event, Drafted):
            return
        label = LABELS[type(event)].to(self._language)
        words = step_words(event, self._language, named=self._steps == "verbose")
        show(self._screen, RichText.assemble((f"[{label}]", f"bold {_colour(event)}"), " ", _clean(words)))
        if self._steps == "verbose" and isinstance(event, ToolReturned):
            for hit in event.hits:
                found = f"    {hit.relevance:.2f}  {hit.passage.document}  {one_line(hit.passage.text)[:100]}"
                show(self._screen, RichText(_clean(found), style="dim"))

    async def answer(self, answered: Answered) -> None:
        self.answered = answered
        shown = RichText(f"\n{_clean(answered.text)}\n")
        if doubt := doubt_line(answered, self._language):
            shown = RichText.assemble(("\n" + doubt, "bold yellow"), "\n", shown)
        shown.highlight_regex(r"\[\d+\]", style="cyan")
        if answered.citations:
            shown.append(f"\n{SOURCES.to(self._language)}\n", style="bold")
        for citation in answered.citations:
            shown.append(f"{_clean(source_line(citation, self._language, brief=answered.verbatim))}\n")
            if citation.url:
                shown.append(f"    {_clean(citation.url)}\n", style="dim")
        show(self._screen, shown)


class JsonView(ThreadView):
    """A turn for programs: one JSON object a line, one an event."""

    def __init__(self) -> None:
        self.answered: Answered | None = None
        self._ascii = (sys.stdout.encoding or "ascii").lower().replace("-", "") != "utf8"

    async def step(self, event: Step) -> None:
        self._print(event)

    async def answer(self, answered: Answered) -> None:
        self.answered = answered
        self._print(answered)

    def _print(self, event: Event) -> None:
        print(json.dumps(event_json(event), ensure_ascii=self._ascii), flush=True)


def _colour(event: Step) -> str:
    match event:
        case Thought():
            return "magenta"
        case ToolCalled():
            return "cyan"
        case ToolReturned():
            return "red" if event.failed else "green"
        case Reflected() | Drafted():
            return "yellow"
        case _:
            assert_never(event)


def screen() -> Console:
    """Standard output: coloured on a terminal unless NO_COLOR says otherwise; what it cannot encode becomes `?`."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    return Console(file=sys.stdout, highlight=False, markup=False, emoji=False)


def show(screen: Console, what: RenderableType) -> None:
    """Print without cutting or filling lines: a pipe gets them whole, a terminal wraps them itself."""
    screen.print(what, soft_wrap=True)
    screen.file.flush()


def _clean(text: str) -> str:
    """Without what a terminal would obey: documents and models do not move the cursor."""
    return _CONTROL.sub("", _ESCAPES.sub("", text))


def _key(passage: Passage) -> tuple[str, str, int]:
    return (passage.collection, passage.document, passage.chunk)


# -- one question ---------------------------------------------------------------------------------------------------


async def ask_once(
    turns: TurnService,
    question: str,
    preferences: Settings,
    *,
    as_json: bool = False,
    model: str | None = None,
    strategy: str | None = None,
    collections: tuple[str, ...] | None = None,
) -> Outcome:
    """`kotae ask`: one question in a thread of its own. `failed` when there was no answer at all."""
    question = readable(question)
    await _leftovers(turns)
    message = Incoming(
        place=PASSING,
        thread=uuid.uuid4().hex,
        message=uuid.uuid4().hex,
        author=AUTHOR,
        text=question,
        audience=AUDIENCE,
        model=model,
        strategy=strategy,
        collections=collections,
    )
    shown = screen()
    language = reply_language(message, preferences.language)
    view = JsonView() if as_json else ConsoleView(shown, language, preferences.steps)
    with _busy(shown, preferences.language, quiet=as_json):
        await _relay(turns, message, view)
    return view.answered.outcome if view.answered else "failed"


async def _relay(turns: TurnService, message: Incoming, view: ThreadView) -> None:
    """Show a turn. One that is stopped, or that nobody can read any longer, is over: it does not come back."""
    try:
        await relay(turns.reply(message), view)
    except (asyncio.CancelledError, OSError, SystemExit):  # the last: Rich, when nobody reads its output
        await turns.withdraw(message)
        raise


async def _leftovers(turns: TurnService) -> list[Incoming]:
    """The channel's questions that a process left open when it died; those of dead pipes are closed."""
    left = await turns.unfinished(PLACE.platform)
    for message in left:
        if message.place != PLACE:
            await turns.withdraw(message)
    return [message for message in left if message.place == PLACE]


@contextmanager
def _busy(screen: Console, language: Language, quiet: bool) -> Iterator[None]:
    """A sign of life on a terminal while a turn runs."""
    if quiet or not screen.is_terminal:
        yield
    else:
        with screen.status(say.WORKING.to(language)):
            yield


# -- the channel ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Thread:
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    questions: list[str] = field(default_factory=list)
    answered: Answered | None = None
    passages: dict[tuple[str, str, int], Passage] = field(default_factory=dict)
    choice: str = ""  # what was offered when a person was to be asked


class Channel:
    """`kotae chat`. On a terminal a prompt with commands; from a pipe each line is put, and answered, in one thread."""

    def __init__(self, preferences: Settings, *, as_json: bool = False) -> None:
        self._preferences = preferences
        self._json = as_json
        self._screen = screen()
        self._lines = Lines()
        self._threads = [_Thread()]
        self._at = 0
        self._running: asyncio.Task[None] | None = None

    @property
    def interactive(self) -> bool:
        """Whether somebody sits at a terminal."""
        return self._lines.interactive

    @property
    def there(self) -> bool:
        """Whether anybody can say anything."""
        return self._lines.there

    @property
    def used(self) -> bool:
        """Whether anybody has asked anything."""
        return any(thread.questions for thread in self._threads)

    async def run(self, bot: "Bot") -> int:
        """Until the input ends or /quit. Returns the exit status."""
        left = await _leftovers(bot.turns)
        if self._lines.interactive and not self._json:
            self._say(say.WELCOME)
        with self._interrupts(), self._lines.tidy():
            if self._lines.interactive:
                await self._resume(bot.turns, left)
            while (line := await self._lines.next(PROMPT)) is not None:
                if not line.strip():
                    continue
                command, rest = _command(line)
                if command in ("/quit", "/exit") and not self._json:
                    return 0
                try:
                    if command is None or self._json:
                        if not self._lines.interactive and not self._json:
                            show(self._screen, RichText(f"{PROMPT}{_clean(line.strip())}", style="bold"))
                        await self._ask(bot.turns, line.strip())
                    else:
                        await self._do(bot, command, rest)
                except (OSError, StoreError, RAGToolError) as error:
                    if not self._lines.interactive or self._json:
                        raise
                    self._say(say.NOT_DONE, why=_clean(_reason(error, self._preferences.language)))
        if self._lines.interactive:
            show(self._screen, "")
        return 0

    async def _resume(self, turns: TurnService, left: list[Incoming]) -> None:
        """Answer what a crash interrupted, each question in its thread; the conversation goes on in the last of
        them."""
        for message in left:
            if not self._json:
                self._say(say.INTERRUPTED, question=_clean(one_line(message.text)))
            at = next((n for n, thread in enumerate(self._threads) if thread.id == message.thread), None)
            if at is None:
                if not self._threads[-1].questions:
                    self._threads.pop()
                self._threads.append(_Thread(message.thread))
                at = len(self._threads) - 1
            self._at = at
            await self._put(turns, message)

    @property
    def _place(self) -> Place:
        return PLACE if self._lines.interactive else PASSING

    async def _ask(self, turns: TurnService, question: str) -> None:
        thread = self._threads[self._at]
        await self._put(turns, Incoming(self._place, thread.id, uuid.uuid4().hex, AUTHOR, question, AUDIENCE))

    async def _put(self, turns: TurnService, message: Incoming) -> None:
        thread = self._threads[self._at]
        language = reply_language(message, self._preferences.language, reversed(thread.questions))
        view: JsonView | ConsoleView
        view = JsonView() if self._json else ConsoleView(self._screen, language, self._preferences.steps)
        thread.questions.append(message.text)
        self._running = asyncio.create_task(_relay(turns, message, view))
        try:
            with _busy(self._screen, self._preferences.language, quiet=self._json):
                await self._running
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            self._say(say.CANCELLED)
        finally:
            self._running = None
        if view.answered is not None:
            thread.answered, thread.choice = view.answered, ""
            if self._lines.interactive and not self._json:
                self._hint(view.answered, message)
        if isinstance(view, ConsoleView):
            thread.passages |= view.passages

    @contextmanager
    def _interrupts(self) -> Iterator[None]:
        """On a terminal Ctrl-C ends the running turn, not the program; elsewhere it stays what it is."""
        if not self._lines.interactive:
            yield
            return
        before = signal.getsignal(signal.SIGINT)
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupted)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            signal.signal(signal.SIGINT, before)

    def _interrupted(self) -> None:
        if self._running is not None:
            self._running.cancel()
        else:
            self._say(say.HOW_TO_LEAVE)
            print(PROMPT, end="", flush=True)

    # -- commands ---------------------------------------------------------------------------------------------------

    async def _do(self, bot: "Bot", command: str, rest: str) -> None:
        match command:
            case "/help":
                self._say(say.HELP)
            case "/new":
                self._threads.append(_Thread())
                self._at = len(self._threads) - 1
                self._say(say.OPENED, n=len(self._threads))
            case "/threads":
                for n, thread in enumerate(self._threads, 1):
                    first = one_line(thread.questions[0])[:60] if thread.questions else "–"
                    show(self._screen, _clean(f"{'*' if n - 1 == self._at else ' '} {n}  {first}"))
            case "/thread":
                self._go(rest)
            case "/up" | "/down":
                await self._vote(bot, "up" if command == "/up" else "down", rest)
            case "/ask":
                await self._ask_person(bot, rest)
            case "/sources":
                self._sources(rest)
            case "/ingest":
                await self._ingest(bot, rest)
            case "/unanswered":
                await self._unanswered(bot)
            case _:
                self._say(say.UNKNOWN, command=command)

    def _go(self, rest: str) -> None:
        if rest.isdecimal() and 1 <= int(rest) <= len(self._threads):
            self._at = int(rest) - 1
            first = self._threads[self._at].questions[:1]
            self._say(say.SWITCHED, n=int(rest), first=_clean(one_line(first[0])) if first else "–")
        else:
            self._say(say.WHICH_THREAD, n=len(self._threads))

    async def _vote(self, bot: "Bot", vote: Literal["up", "down"], rest: str) -> None:
        answered = self._threads[self._at].answered
        if answered is None:
            self._say(say.NO_ANSWER_YET)
            return
        first, _, after = rest.partition(" ")
        reason = _REASONS.get(first.lower()) if vote == "down" else None
        text = after.strip() if reason else rest
        kept = await bot.turns.vote(Feedback(answered.turn, AUTHOR, vote, reason, text))
        self._say(say.NO_ANSWER_YET if not kept else say.THANKS if vote == "up" else say.REPORTED)

    def _hint(self, answered: Answered, message: Incoming) -> None:
        from adapters.shared import asking  # loads the database, which a question over the socket needs not

        if asking.offered(answered, message):
            self._say(say.ASK_HINT)

    async def _ask_person(self, bot: "Bot", rest: str) -> None:
        thread = self._threads[self._at]
        if thread.answered is None or not thread.answered.turn:
            self._say(say.NO_QUESTION_YET)
            return
        from adapters.shared import asking

        choice = thread.choice if rest in ("yes", "はい") else ""
        who = Actor(self._place.platform, self._place.workspace, AUTHOR)
        said = await asking.press(bot, thread.answered.turn, who, self._place, AUDIENCE, choice)
        thread.choice = said.choice
        self._say(said.text)
        if said.offer is not None:
            self._say(say.ASK_YES, offer=said.offer.to(self._preferences.language))

    def _sources(self, rest: str) -> None:
        thread = self._threads[self._at]
        answered = thread.answered or Answered("")
        citations = answered.citations
        language = self._preferences.language
        if not citations:
            self._say(say.NO_SOURCES)
        elif not rest:
            for citation in citations:
                show(self._screen, _clean(source_line(citation, language, brief=answered.verbatim)))
        elif chosen := next((one for one in citations if str(one.n) == rest.strip("[]")), None):
            passage = thread.passages.get((chosen.collection, chosen.document, chosen.chunk))
            show(self._screen, RichText(_clean(_heading(chosen, passage, language)), style="bold"))
            show(self._screen, _highlighted(passage.text if passage else chosen.quote, chosen.quote))
        else:
            self._say(say.WHICH_SOURCE, numbers=", ".join(str(citation.n) for citation in citations))

    async def _ingest(self, bot: "Bot", rest: str) -> None:
        if not rest:
            self._say(say.WHICH_FILE)
            return
        path = _path(rest)
        files = await asyncio.to_thread(given_files, path, self._preferences.home)
        if not files:
            self._say(say.EMPTY_FOLDER, name=_clean(str(path)))
        for file in files:
            try:
                data = await asyncio.to_thread(file.read)
            except NotReadError as error:
                refused = Verdict(file.name, "refused", reason=error.text(self._preferences.language))
                self._say(VERDICTS[refused.status], **_shown(refused))
                continue
            day = await asyncio.to_thread(file.changed_at)
            into = self._preferences.default_collection
            upload = Upload(file.name, data, into, TEAM, AUTHOR, changed_at=day)
            with _busy(self._screen, self._preferences.language, quiet=False):
                verdict = await bot.ingestion.add(upload)
            self._say(VERDICTS[verdict.status], **_shown(verdict))

    async def _unanswered(self, bot: "Bot") -> None:
        found = await bot.experts.open(PLACE, AUDIENCE)
        if not found.total:
            self._say(say.NONE_UNANSWERED)
        for question in found.questions:
            why = REASONS[question.reason].to(self._preferences.language)
            show(
                self._screen,
                _clean(f"{question.asked_at.astimezone():%Y-%m-%d %H:%M}  {why}  {one_line(question.whole)}"),
            )
        if found.hidden:
            self._say(say.HIDDEN, n=found.hidden)

    def _say(self, said: Text, **values: object) -> None:
        show(self._screen, said.to(self._preferences.language, **values))


_COMMANDS = {
    *("/help", "/new", "/threads", "/thread", "/up", "/down", "/ask", "/sources", "/ingest", "/unanswered"),
    *("/quit", "/exit"),
}


def _command(line: str) -> tuple[str | None, str]:
    """A command and the rest of its line. A path or another text that begins with a slash is a question."""
    first, _, rest = line.strip().partition(" ")
    first = first.lower()
    meant = first in _COMMANDS or (not rest and re.fullmatch(r"/[a-z]+", first))
    return (first, rest.strip()) if meant else (None, "")


def _reason(error: OSError | StoreError | RAGToolError, language: Language) -> str:
    if not isinstance(error, OSError):
        return error.text(language)
    where = f": {error.filename}" if error.filename else ""
    return os_reason(error).to(language) + where


def _path(text: str) -> Path:
    """A path as it was typed: in quotes, with escaped blanks, or plainly with blanks."""
    if not os.path.exists(os.path.expanduser(text)):  # noqa: PTH110, PTH111 (these raise nothing)
        with suppress(ValueError):
            if len(words := shlex.split(text)) == 1:
                text = words[0]
    return Path(os.path.expanduser(text))  # noqa: PTH111


def _shown(verdict: Verdict) -> dict[str, object]:
    return {
        "name": _clean(verdict.name),
        "chunks": verdict.chunks,
        "collection": verdict.collection,
        "reason": _clean(verdict.reason),
    }


def _heading(citation: Citation, passage: Passage | None, language: Language) -> str:
    path = (citation.name, *(passage.headings if passage else ()))
    where = source_place(citation.collection, citation.date, language, citation.checked, citation.said_in)
    return f"[{citation.n}] {' › '.join(one_line(part) for part in path)}{where}"


def _highlighted(text: str, quote: str) -> RichText:
    shown = RichText(_clean(text))
    if quote.strip():
        shown.highlight_words([_clean(quote)], style="reverse")
    return shown
