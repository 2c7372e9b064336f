"""One message with steps in it: opened once, then a stream that is added to, or a text that is edited. Which task cards
and lines of text the steps make is pure: an event in, the cards so far out.

A stream carries task cards. Where there is none, or once it has ended or broken, the message's whole text is edited:
what was to be shown is all kept here. Source: reliability.md R6 and R29; field.md #4; docs.slack.dev chat.startStream,
task_update chunk and rich_text block."""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from adapters.markdown.events import shortened, step_text
from adapters.shared.rate_limit import CallTicket, Priority
from adapters.slack.rendering.mrkdwn import escaped
from adapters.slack.transport.api import SlackApi
from adapters.slack.transport.errors import GoneError, NotSent, RefusedError, SlackError, StreamOver, UnreachableError
from adapters.slack.transport.idempotency import Mark
from agent.events import Drafted, Step, Thought, ToolCalled, ToolReturned
from bot.bot import Bot
from bot.types import Place, Post, PostKind
from retrieval.i18n import Language

Status = Literal["in_progress", "complete", "error"]

TITLE = 250  # characters; the documents say 256
STEP = 1_000  # characters of one step: nobody reads more of a thought in a thread

_BREAK = re.compile(r"[\s、。，．,.]")


@dataclass(frozen=True, slots=True)
class TaskCard:
    """One step. `call`: the tool call that is at work or has returned."""

    text: str
    status: Status = "complete"
    call: str = ""


TaskCards = tuple[TaskCard, ...]


def after(cards: TaskCards, event: Step, language: Language, *, named: bool = False) -> TaskCards:
    """The cards once `event` has happened; `named`: with the tools' names. The newest is at work until the next event;
    a tool until it returns."""
    cards = tuple(
        replace(card, status="complete") if card.status == "in_progress" and not card.call else card for card in cards
    )
    text = shortened(step_text(event, language, named=named), STEP)
    match event:
        case Drafted():
            return cards
        case Thought():
            return (*cards, TaskCard(text, "in_progress"))
        case ToolCalled(id=call):
            return (*cards, TaskCard(text, "in_progress", call))
        case ToolReturned(id=call, failed=failed):
            status: Status = "error" if failed else "complete"
            at_work = [card.call == call and card.status == "in_progress" for card in cards]
            done = tuple(
                replace(card, status=status) if its else card for card, its in zip(cards, at_work, strict=True)
            )
            return (*done, TaskCard(text, status))
        case _:
            return (*cards, TaskCard(text))


def closed(cards: Sequence[TaskCard]) -> TaskCards:
    """Slack marks a card as broken that is still at work when its message ends. Source: vercel/chat PR 917."""
    return tuple(replace(card, status="complete") if card.status == "in_progress" else card for card in cards)


def chunk(id: str, card: TaskCard, known: TaskCard | None) -> dict[str, Any] | None:
    """The chunk that turns `known` into `card` in a stream; None: nothing. To send it again changes nothing further.

    A title and a status are replaced by the next ones; details are added to, so they are sent once. No card links what
    was found: only what an answer cites is linked, and that by the answer (R16). Source: openclaw PR 125168."""
    if known is not None and (known.text, known.status) == (card.text, card.status):
        return None
    title, details = _title(card.text)
    made: dict[str, Any] = {"type": "task_update", "id": id, "title": title, "status": card.status}
    if details and (known is None or known.text != card.text):
        made["details"] = details
    return made


def plan(title: str, ids: str, cards: Sequence[TaskCard]) -> dict[str, Any]:
    """The cards behind one line, as Slack shows them when all is done. Source: docs.slack.dev plan block."""
    tasks = []
    for number, card in enumerate(closed(cards)):
        name, details = _title(card.text)
        task = {"type": "task_card", "task_id": f"{ids}{number}", "title": name, "status": card.status}
        tasks.append(task | ({"details": rich([details])} if details else {}))
    return {"type": "plan", "title": title, "tasks": tasks}


def weight(card: TaskCard) -> int:
    """Bytes of its text as Slack counts them against a message: details twice. Source: openclaw PR 143882."""
    title, details = _title(card.text)
    return len(title.encode()) + 2 * len(details.encode())


def rich(lines: Sequence[str]) -> dict[str, Any]:
    """Lines as a block in which nothing is markup and nobody is called; each line's label stands out."""
    sections = []
    for line in lines:
        label, colon, words = line.partition(": ")
        elements: list[Mapping[str, Any]] = [{"type": "text", "text": label + colon.rstrip(), "style": {"bold": True}}]
        if words:
            elements.append({"type": "text", "text": f" {words}"})
        sections.append(
            {"type": "rich_text_section", "elements": elements if words else [{"type": "text", "text": line}]}
        )
    return {"type": "rich_text", "elements": sections}


def _title(text: str) -> tuple[str, str]:
    """A card's one line, and what has no room on it."""
    if len(text) <= TITLE:
        return text, ""
    breaks = [found.end() for found in _BREAK.finditer(text, TITLE - 60, TITLE - 1)]
    at = breaks[-1] if breaks else TITLE - 1
    return text[:at].rstrip() + "…", "…" + text[at:]


log = logging.getLogger(__name__)

PLAIN = 3_500  # characters of a text that can still be edited
STARTING_SECONDS = 3.0  # for a stream: few may be started a minute, and then a message is there sooner
LOOK = 100  # messages of the thread that are looked at for one of ours

FIXED = frozenset({"block_mismatch", "streaming_state_conflict", "cant_update_message", "edit_window_closed"})
"""Slack's codes for a message that can be edited no longer."""


class SealedError(Exception):
    """The message can be edited no longer; what was to be shown needs another one."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The properties that all messages of a turn share. `team`: looks up the asker's; Slack streams to nobody else.
    `opening` and `growing`: the tickets of calls that begin a message, and of those that another one makes obsolete."""

    slack: SlackApi
    bot: Bot
    id: str
    place: Place
    thread: str
    asker: str
    team: Callable[[], Awaitable[str]] | None = None
    opening: CallTicket = field(default_factory=lambda: CallTicket(Priority.STEP))
    growing: CallTicket = field(default_factory=lambda: CallTicket(Priority.STEP))


class StepMessage:
    """Everything raises SlackError and StoreError; RefusedError when no blocks are accepted, though text may be;
    NotSent when the turn has dropped the ticket. `stray`: besides `ts` there may be another message of it, which nobody
    knows of."""

    def __init__(self, turn: Turn, number: int) -> None:
        self.ts = ""
        self.streaming = False
        self.stray = False
        self._turn = turn
        self._slack = turn.slack
        self._channel = turn.place.channel
        self._number = number
        self._mark = Mark(turn.id, "steps", number)
        self._ids = f"{turn.id}-{number}-"  # of its cards: by them a stream is found again, as it takes no metadata
        self._post: Post | None = None  # as it was placed
        self._told: TaskCards = ()  # what the stream surely has
        self._titled = ""  # how the stream's plan is called
        self._shown: Sequence[str] | None = None  # the lines it has as a text, where they are known
        self._unsent = False  # it was surely not posted

    async def show(
        self, cards: TaskCards, thinking: str | None, *, title: str, final: bool, stream: bool, plain: bool
    ) -> None:
        """Show these cards, and under them (or in their place) that the turn is at work.

        `title`: of the plan that a stream is, and into which `final` ones fold; without one they stay as they are.
        `stream`: it may begin as one; `plain`: without blocks. Raises SealedError, and StreamOver when a reader
        stopped it.
        """
        self._title = title
        if not self.ts:
            await self._open(cards, thinking, final=final, stream=stream, plain=plain)
        if self.streaming:
            await self._stream(cards, thinking, final=final)
        else:
            await self._edit(cards, thinking, final=final, plain=plain)
        if cards and self._post is not None and self._post.data.get("placeholder"):
            await self._placed(placeholder=False)

    async def stop(self) -> None:
        """Leave the message as it is."""
        if self.streaming:
            self.streaming = False
            await stop(self._turn, self.ts, _chunks(self._ids, closed(self._told), self._told))

    # -- once -------------------------------------------------------------------------------------------------------

    async def _open(self, cards: TaskCards, thinking: str | None, *, final: bool, stream: bool, plain: bool) -> None:
        turn, data = self._turn, {"stream": stream, "placeholder": not cards}
        post = Post(turn.id, "steps", self._number, turn.place, turn.thread, data=data)
        before = await turn.bot.outbox.reserve(post)
        if self._unsent:
            before = None
        try:
            if before is not None:
                await self._take_up(before, cards, thinking, final=final, plain=plain)
            elif stream:
                await self._start(_or_thinking(cards, thinking))
            if not self.ts:
                await self._say(_lines(cards, thinking), plain=plain, maybe_sent=before is not None)
        except NotSent:
            self._unsent = before is None and not self.stray
            raise
        self._post = post
        await self._placed(placeholder=not cards)

    async def _say(self, lines: Sequence[str], *, plain: bool, maybe_sent: bool) -> None:
        text, blocks = drawn(lines, plain)
        thread, mark = self._turn.thread, self._mark
        try:
            self.ts = await self._slack.post(
                self._channel,
                text=text,
                blocks=blocks,
                thread=thread,
                mark=mark,
                maybe_sent=maybe_sent,
                ticket=self._turn.opening,
            )
        except RefusedError:
            self._unsent = True
            raise
        except (UnreachableError, asyncio.CancelledError):
            self.stray = True
            raise
        if not maybe_sent:  # what was found may have older words
            self._shown = lines

    async def _placed(self, *, placeholder: bool) -> None:
        assert self._post is not None
        data = {"stream": self.streaming, "placeholder": placeholder}
        self._post = replace(self._post, message=self.ts, data=data)
        await self._turn.bot.outbox.confirm(self._post)

    async def _take_up(self, before: Post, cards: TaskCards, thinking: str | None, *, final: bool, plain: bool) -> None:
        """Go on with the message of an earlier attempt; without one there is no `ts` afterwards."""
        streamed = bool(before.data.get("stream"))
        self.ts = before.message or (await find(self._turn, self._number) if streamed else "")
        if not self.ts:
            return
        if streamed:
            await stop(self._turn, self.ts)
        try:
            await self._edit(cards, thinking, final=final, plain=plain)
        except NotSent:
            self.ts = ""  # whether it is there was not seen
            raise
        except GoneError as error:
            if error.code != "message_not_found":
                raise
            self.ts = ""

    async def _start(self, cards: TaskCards) -> None:
        turn = self._turn
        if turn.team is None or self._slack.wait("chat.startStream") > STARTING_SECONDS:
            return
        try:
            async with asyncio.timeout(STARTING_SECONDS):
                team = await turn.team()
        except TimeoutError:
            return
        try:
            async with asyncio.timeout(STARTING_SECONDS):
                self.ts = await self._slack.start_stream(
                    self._channel,
                    turn.thread,
                    recipient=turn.asker,
                    recipient_team=team,
                    chunks=[*self._plan(), *_chunks(self._ids, cards)],
                    ticket=turn.opening,
                )
            self.streaming, self._told, self._titled = True, cards, self._title
        except (UnreachableError, TimeoutError):  # it may have been started all the same
            self.stray = True
            self.ts = await find(turn, self._number)
            if self.ts:
                await stop(turn, self.ts)
        except asyncio.CancelledError:
            self.stray = True
            raise
        except NotSent:
            raise
        except SlackError as error:
            log.debug("no stream: %s", error)

    # -- again and again --------------------------------------------------------------------------------------------

    async def _stream(self, cards: TaskCards, thinking: str | None, *, final: bool) -> None:
        shown = _or_thinking(cards, thinking)
        chunks = [*self._plan(), *_chunks(self._ids, shown, self._told)]
        try:
            if final:
                await self._slack.stop_stream(self._channel, self.ts, chunks=chunks, mark=self._mark)
            elif chunks:
                await self._slack.append_stream(self._channel, self.ts, chunks=chunks, ticket=self._turn.growing)
            self._told, self._titled, self.streaming = shown, self._title, not final
            return
        except (GoneError, NotSent):
            raise
        except StreamOver as error:
            self.streaming = False
            if error.code == "stopped_by_user":
                raise
            if not chunks:
                return
        except SlackError as error:
            log.info("a stream broke, its message is edited from now on: %s", error)
            self.streaming = False
            await stop(self._turn, self.ts)
        await self._edit(cards, thinking, final=final, plain=False)

    async def _edit(self, cards: TaskCards, thinking: str | None, *, final: bool, plain: bool) -> None:
        """The message's whole text, unless it is there already."""
        lines = _lines(cards, thinking)
        folds = final and self._title and cards
        if folds:
            lines.insert(0, self._title)
        if lines == self._shown:
            return
        text, blocks = (
            (self._title, [plan(self._title, self._ids, cards)]) if folds and not plain else drawn(lines, plain)
        )
        ticket = self._turn.growing
        try:
            await self._slack.update(
                self._channel, self.ts, text=text, blocks=blocks, mark=self._mark, last=final, ticket=ticket
            )
        except SlackError as error:
            if error.code in FIXED:
                raise SealedError(str(error)) from None
            raise
        self._shown = lines

    def _plan(self) -> list[dict[str, Any]]:
        """The chunk that changes the plan's title, if it is another one."""
        return [{"type": "plan_update", "title": self._title}] if self._title != self._titled else []


async def find(turn: Turn, number: int) -> str:
    """The ts of a stream that was started without our knowing of it, else nothing. Raises SlackError."""
    return next(iter(await all_of(turn, number)), "")


async def all_of(turn: Turn, number: int, kind: PostKind = "steps") -> list[str]:
    """The ts of each message with this part that the thread has, as a stream or not. Raises SlackError."""
    mark, found = Mark(turn.id, kind, number), []
    for message in await turn.slack.replies(turn.place.channel, turn.thread, limit=LOOK):
        blocks = message.get("blocks") or ()
        cards = [*blocks, *(card for block in blocks for card in block.get("tasks") or ())]
        ids = [str(card.get("task_id") or card.get("id") or "") for card in cards]
        if mark.is_on(message) or any(id.startswith(f"{turn.id}-{number}-") for id in ids):
            found.append(str(message["ts"]))
    return found


async def take_away(turn: Turn, ts: str, instead: str) -> None:
    """Delete a message of ours; `instead`: what it says where nobody may delete. Raises SlackError."""
    await stop(turn, ts)  # one that is still streaming cannot be deleted
    try:
        await turn.slack.delete(turn.place.channel, ts)
    except UnreachableError:
        raise
    except SlackError as error:
        if error.code != "message_not_found":
            await turn.slack.update(turn.place.channel, ts, text=instead, last=True)


async def stop(turn: Turn, ts: str, chunks: Sequence[Mapping[str, Any]] = ()) -> None:
    """End a stream, if it is one and has not ended. What Slack says to that does not matter."""
    with suppress(SlackError):
        await turn.slack.stop_stream(turn.place.channel, ts, chunks=chunks)


def drawn(lines: Sequence[str], plain: bool) -> tuple[str, list[dict[str, Any]]]:
    """Lines as text and blocks. Beside blocks the text is only the notification's; `plain`: it is all there is."""
    text = ""
    for line in lines:
        safe = escaped(line)
        if len(safe) > PLAIN:
            safe = escaped(shortened(line, PLAIN // 5))  # "&amp;" at worst
        if text and not plain and len(text) + len(safe) > PLAIN:
            text += "\n…"
            break
        text = f"{text}\n{safe}" if text else safe
    return text, [] if plain else [rich(lines)]


def _lines(cards: TaskCards, thinking: str | None) -> list[str]:
    return [card.text for card in cards] + ([thinking] if thinking else [])


def _or_thinking(cards: TaskCards, thinking: str | None) -> TaskCards:
    """A stream shows by itself that its newest card is at work."""
    return cards or (TaskCard(thinking or "…", "in_progress"),)


def _chunks(ids: str, cards: Sequence[TaskCard], told: TaskCards = ()) -> list[dict[str, Any]]:
    made = (chunk(f"{ids}{n}", card, told[n] if n < len(told) else None) for n, card in enumerate(cards))
    return [each for each in made if each is not None]
