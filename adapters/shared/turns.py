"""Questions on their way through a thread: claimed, looked up, answered; edited and deleted, meanwhile or later; taken
up again.

The same on every platform, which brings how it looks things up and how it shows a turn.
Source: product.md §1; reliability.md R2, R5 and R10.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial

from adapters.port import BarredError, GoneError, PostError, TurnView, relay
from adapters.shared import asking
from adapters.shared.tasks import Tasks
from agent.events import Answered, Step
from bot.access import readers
from bot.bot import Bot
from bot.errors import StoreError
from bot.texts import reply_language
from bot.types import EDITS, UNKNOWN, Audience, Claimed, Incoming, Place, Preferences, Stopped
from retrieval.i18n import Language, Text

log = logging.getLogger(__name__)

OpenView = Callable[[Claimed, Preferences], TurnView]
"""A turn's view, with what holds at its place; nothing is posted yet."""

LookUp = Callable[[Incoming, bool], Awaitable[Incoming]]
"""A question with what its event did not say: who reads the place, its link, what was overheard, its files. The flag:
the event itself says that its author is a stranger. Never raises for want of an answer: what is not known stays
unknown."""

ReadersOf = Callable[[Incoming, bool], Awaitable[Audience]]
"""Who reads a question's place by now; the flag as of `LookUp`. Never raises."""

TellBarred = Callable[[Incoming, str], Awaitable[None]]
"""Tells whoever asked a question, and nobody else, that the bot may not write where they asked; with the platform's
code for it. Raises PostError, StoreError."""

_Key = tuple[str, str]  # channel, message

MAY_NOT_WRITE = Text(
    en="I cannot answer your question in {where}: I am not allowed to write there (code {code}). Ask me here, or ask "
    "whoever manages the channel to allow it.",
    ja="{where} では書き込みが許可されていないため、質問にお答えできませんでした（コード {code}）。ここで質問するか、"
    "チャンネルの管理者に許可を依頼してください。",
)

_EDITED = Text(
    en="✏️ The question was edited. This answers it as it stands now.",
    ja="✏️ 質問が編集されたため、今の文面にお答えし直しました。",
)
_LAST_EDIT = Text(
    en="✏️ The question was edited. This answers it as it stands now; for further changes, please ask anew.",
    ja="✏️ 質問が編集されたため、今の文面にお答えし直しました。さらに変える場合は、新しく質問してください。",
)


class ReadersChanged(PostError):
    """Others read the place now than an answer was made for: it is shown as they may read it when the turn is taken up
    again."""

    code = "others read along"


@dataclass(slots=True)
class _Running:
    claimed: Claimed
    task: "asyncio.Task[None] | None" = None
    view: TurnView | None = None

    async def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()
            await asyncio.wait({self.task})


@dataclass(frozen=True, slots=True)
class _Completed:
    """A view whose answer says in front that it replaces one (`mark`, unless that is empty), and beneath, if need be,
    that a person can be asked. What rests on documents is not shown to others than it was made for: raises
    ReadersChanged."""

    view: TurnView
    message: Incoming
    mark: str
    readers_now: Callable[[], Awaitable[Audience]] | None

    async def step(self, event: Step) -> None:
        await self.view.step(event)

    async def answer(self, answered: Answered) -> None:
        rests = answered.citations or answered.outcome == "unknown"  # which names what came closest
        place, made_for = self.message.place, self.message.audience
        if (
            rests
            and self.readers_now is not None
            and made_for != UNKNOWN  # nobody reads less
            and not readers(place, made_for).scopes <= readers(place, await self.readers_now()).scopes
        ):
            raise ReadersChanged
        text = f"*{self.mark}*\n\n{answered.text}" if self.mark else answered.text
        await self.view.answer(replace(answered, text=text, person=asking.offered(answered, self.message)))


@dataclass
class RunningTurns:
    """The questions of one platform that this process works on. `language`: in which a question is answered whose own
    is not known; `readers_of` None: they stay the same; `tell_barred` None: the bot may write everywhere. Raises
    StoreError."""

    platform: str
    bot: Bot
    tasks: Tasks
    open_view: OpenView
    look_up: LookUp
    _: KW_ONLY
    language: Language
    readers_of: ReadersOf | None = None
    tell_barred: TellBarred | None = None
    _running: dict[_Key, _Running] = field(init=False, default_factory=dict)

    async def ask(self, message: Incoming, *, stranger: bool = False) -> None:
        """Claim a question, then answer it in a task. However often it comes, it is one claim. Raises StoreError."""
        claimed = await self.bot.turns.claim(message)
        if claimed is not None:
            self._begin(claimed, stranger)

    async def edit(
        self, message: Incoming, *, addressed: bool = True, stranger: bool = False, known: bool = False
    ) -> "asyncio.Task[None] | None":
        """Store that a message has new words. It is answered in those, and an answer that it has is replaced, in the
        task that is returned. Not `addressed`: it is no longer for the bot, and not answered any more; an answer that
        it has stays. `known`: only one that was a question before is. Raises StoreError."""
        if not addressed:
            await self.bot.turns.withdraw(message)
            return self.tasks.start(self._retract(message), f"{self.platform}-edit")
        if await self.bot.turns.amend(message):
            return self.tasks.start(self._answer_anew(message, stranger), f"{self.platform}-edit")
        if not known:
            await self.ask(message, stranger=stranger)
        return None

    async def delete(self, message: Incoming) -> "asyncio.Task[None] | None":
        """Store that the asker took the question back: nothing is answered any more, and what was posted goes in the
        task that is returned. Raises StoreError."""
        deleted = await self.bot.turns.delete(message)
        return None if deleted is None else self.tasks.start(self._take_away(deleted), f"{self.platform}-delete")

    async def _retract(self, message: Incoming) -> None:
        ended = await self._end(message)
        if ended is not None and ended.view is not None:
            await self._clear(ended.claimed, ended.view)

    async def _answer_anew(self, message: Incoming, stranger: bool) -> None:
        running = self._running.get(_key(message))
        if running is not None and running.claimed.message.text == message.text:
            return  # it was taken up in its new words meanwhile
        await self._end(message)
        await self.ask(message, stranger=stranger)

    async def _take_away(self, deleted: Claimed) -> None:
        ended = await self._end(deleted.message)
        await self._clear(deleted, ended.view if ended else None)

    async def _end(self, message: Incoming) -> _Running | None:
        """End the work on a question that the queue knows to be another, or none; returns what was ended."""
        running = self._running.get(_key(message))
        if running is not None:
            await running.stop()
        return running

    async def stop(self, place: Place, thread: str, author: str, *, until: str) -> Stopped:
        """Somebody wants no answer to what they asked in a thread, in messages up to `until`: work on it ends, and the
        thread is told. Only whoever asked may. Raises StoreError; then nothing was stopped."""
        stopped = await self.bot.turns.stop(place, thread, author, until=until)
        for claimed in stopped.ended:
            self.tasks.start(self._tell_stopped(claimed.message), f"{self.platform}-stop")
        return stopped

    async def _tell_stopped(self, message: Incoming) -> None:
        await self._end(message)
        await self.ask(message)

    async def resume(self) -> None:
        """Take up what was left by a process or a reply that ended: what was claimed, and what was to be taken away."""
        for message in await self.bot.turns.unfinished(self.platform):
            await self.ask(message)  # whether its author is a stranger is looked up again
        for deleted in await self.bot.turns.deleted(self.platform):
            await self._clear(deleted)

    async def _clear(self, deleted: Claimed, view: TurnView | None = None) -> None:
        """Once nothing of it is left, it is forgotten where that was; else it is tried again."""
        if await self._remove(view or self.open_view(deleted, Preferences())):
            await self.bot.outbox.forget(deleted.id)

    async def _remove(self, view: TurnView) -> bool:
        try:
            await view.remove()
        except (PostError, StoreError) as error:
            log.warning("what was posted of a question that was taken back stays for now: %s", error)
            return False
        return True

    def _begin(self, claimed: Claimed, stranger: bool) -> None:
        running = _Running(claimed)
        self._running[_key(claimed.message)] = running
        running.task = self.tasks.start(self._serve(claimed, stranger, running), f"{self.platform}-turn")

    async def _serve(self, claimed: Claimed, stranger: bool, running: _Running) -> None:
        try:
            await self._answer(claimed, stranger, running)
        except GoneError as error:
            if isinstance(error, BarredError) and not claimed.message.direct:
                await self._say_barred(claimed.message, error.code)
            else:
                log.info("a thread is gone (%s): its question is closed", error.code)
            await self.bot.turns.withdraw(claimed.message)
        except PostError as error:
            log.warning("an answer could not be posted (%s); trying again later", error.code)
        finally:
            if self._running.get(_key(claimed.message)) is running:
                del self._running[_key(claimed.message)]

    async def _say_barred(self, message: Incoming, code: str) -> None:
        log.warning("the bot may not write in channel %s (%s): a question is closed", message.place.channel, code)
        try:
            if self.tell_barred is not None:
                await self.tell_barred(message, code)
        except (PostError, StoreError) as error:
            log.warning("whoever asked where the bot may not write could not be told: %s", error)

    async def _answer(self, claimed: Claimed, stranger: bool, running: _Running) -> None:
        """Raises PostError when the answer could not be posted, StoreError when it could not be begun."""
        begun = False
        try:
            claimed = await self.bot.turns.in_language(claimed)
            preferences = await self.bot.channels.preferences(claimed.message.place)
            running.view = view = self.open_view(claimed, preferences)
            try:
                _, message = await asyncio.gather(view.begin(), self.look_up(claimed.message, stranger))
                claimed = await self.bot.turns.enrich(claimed, message)
                begun = True
                now = partial(self.readers_of, claimed.message, stranger) if self.readers_of else None
                completed = _Completed(view, claimed.message, self._mark(claimed), now)
                await relay(self.bot.turns.run(claimed), completed)
            finally:
                await view.close()
        finally:
            if not begun:
                await self.bot.turns.release(claimed)

    def _mark(self, claimed: Claimed) -> str:
        if not claimed.edits:
            return ""
        mark = _EDITED if claimed.edits < EDITS else _LAST_EDIT
        return mark.to(reply_language(claimed.message, self.language))


def _key(message: Incoming) -> _Key:
    return message.place.channel, message.message
