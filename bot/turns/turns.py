"""A question's life: claimed once, in its place, with its history and its readers, to exactly one answer.

Source: style.md "A turn's life"; product.md §1 "Never silent"; reliability.md R5, R9 and R21.
"""

import asyncio
import hashlib
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeVar

from agent.conversation import Ask, Exchange
from agent.events import Answered, Events, Step, Thought
from bot.access import default_scope, reaches_team, readers
from bot.errors import LostError, SettingsError, StoreError
from bot.logs import ChatLog
from bot.store.conversations import Conversations
from bot.store.feedback import Votes
from bot.store.unanswered import MissedQuestion
from bot.texts import in_words, reply_language
from bot.turns.admission import Admission, CrowdedError
from bot.turns.budget import Budget, Unlimited
from bot.turns.queue import TurnQueue
from bot.turns.suggestions import AskedBy, suggested
from bot.turns.trace import Recording
from bot.turns.withdrawal import without
from bot.types import UNKNOWN, Attachment, Claimed, Feedback, Incoming, Kept, Place, Stopped, Verdict
from bot.waiting import finished
from retrieval.i18n import Language, Text
from retrieval.types import CollectionInfo, RAGToolError, Readers

log = logging.getLogger(__name__)

T = TypeVar("T")

TRIES = 2  # a turn that ended two processes does not get a third
DEADLINE_SECONDS = 120.0
GOES_ON = timedelta(days=1)  # for which a thread goes on without a mention
SUGGESTED_FROM = 300  # of the latest questions
DIRECT = timedelta(minutes=30)  # for which direct messages are one conversation
SIGN_SECONDS = 1.0  # an asker is told that it takes longer (R51)
GRACE_SECONDS = 2.0  # an agent ends itself at its deadline; one that does not is ended here


class Answerer(Protocol):
    """Whoever answers one question (`agent.strategies.react.Agent`)."""

    def run(self, ask: Ask) -> Events: ...


MakeAgent = Callable[[Claimed, Readers, tuple[CollectionInfo, ...]], Answerer]
"""The agent for one question: its model and strategy, with tools bound to what these readers may read."""

ListCollections = Callable[[Incoming, Readers], Awaitable[tuple[CollectionInfo, ...]]]
"""The collections to answer one question from: those chosen for it, as far as these readers may read them."""

Prefer = Callable[[Incoming], Awaitable[Incoming]]
"""The question with what was chosen for its place, where nothing was chosen for it."""

Attach = Callable[[Incoming, Attachment, Language], Awaitable[Verdict]]
"""Reads a file that came with a question, for its thread only."""

LastChecked = Callable[[Collection[str]], Awaitable[Mapping[str, str]]]
"""Of documents (ids): those whose source cannot be checked, with the ISO day on which it last was."""

StillReadable = Callable[[Collection[str], Readers], Awaitable[Collection[str]]]
"""Of documents (ids) those that are there and that these readers may read."""


async def _as_it_is(message: Incoming) -> Incoming:
    return message


async def _all_readable(documents: Collection[str], _: Readers) -> Collection[str]:
    return documents


async def _all_followed(_: Collection[str]) -> Mapping[str, str]:
    return {}


_FAILED = Text(
    en="Sorry, something went wrong on my side and I could not answer. Please try again. If it happens again, tell "
    "whoever runs me this number: {turn}",
    ja="申し訳ありません。こちらの問題でお答えできませんでした。もう一度お試しください。"
    "繰り返し起きる場合は、管理者に次の番号をお知らせください: {turn}",
)
_REASON = Text(
    en="Sorry, I could not answer. {reason} (number: {turn})",
    ja="申し訳ありません。お答えできませんでした。{reason}（番号: {turn}）",
)
_LATE = Text(
    en="Sorry, I did not finish in time ({seconds} seconds). Please try again, or ask a narrower question. (number: "
    "{turn})",
    ja="申し訳ありません。制限時間（{seconds} 秒）内にお答えできませんでした。もう一度お試しいただくか、"
    "質問を絞ってください。（番号: {turn}）",
)
_INTERRUPTED = Text(
    en="Sorry, I was interrupted {tries} times while working on this and have stopped trying. Please ask again. "
    "(number: {turn})",
    ja="申し訳ありません。処理が {tries} 回中断されたため、お答えできませんでした。もう一度ご質問ください。（番号: "
    "{turn}）",
)
_BUSY = Text(
    en="I am still working on earlier questions in this thread, and several more are waiting. Please ask again when "
    "they have been answered.",
    ja="このスレッドではまだ前の質問に回答しており、ほかにも順番待ちの質問があります。それらの回答のあとで、もう一度ご質問ください。",
)
_AHEAD = Text(
    en="Many people are asking at the moment: {n} before this one. It keeps its place.",
    ja="ただいま質問が混み合っています（この質問の前に {n} 件）。順番にお答えします。",
)
_SLOW = Text(
    en="Many questions are being asked at the moment, so this takes a little longer. It keeps its place.",
    ja="ただいま混み合っているため、少し時間がかかっています。順番にお答えします。",
)
_CROWDED = Text(
    en="Too many questions are waiting at the moment, so I cannot take this one. Please ask again in a few minutes.",
    ja="ただいま順番待ちの質問が多いため、お受けできません。数分後にもう一度ご質問ください。",
)

_READING = Text(en="Reading the attached file {name}.", ja="添付ファイル {name} を読んでいます。")
_UNREAD = Text(
    en="I could not read the attached file {name}: {reason}",
    ja="添付ファイル {name} は読めませんでした: {reason}",
)
_READ = Text(
    en="I have read the attached files ({n}). Ask me about them in this thread. To let the whole channel find them, "
    "add them with /ingest.",
    ja="添付ファイル（{n} 件）を読みました。このスレッドで質問できます。チャンネル全体で検索できるようにするには、"
    "/ingest で追加してください。",
)
_HELLO = Text(
    en="Hello! Ask me a question about your team's documents, and I will answer with the sources.",
    ja="こんにちは。チームの文書について質問してください。出典を添えてお答えします。",
)
_WITHDRAWN = Text(
    en="Stopped before it was answered.",
    ja="回答の前に中止されました。",
)

_STOPPED = Text(
    en="Stopped, as you asked. Ask again whenever you like.",
    ja="ご指示のとおり中止しました。必要なときに、もう一度ご質問ください。",
)


class LateError(Exception):
    """The agent did not end at its deadline."""


@dataclass(slots=True)
class _Turn:
    """A turn while it runs. `stored`: its answer is there since an earlier try."""

    claimed: Claimed
    language: Language
    attempt: int = 0
    steps: int = 0
    stored: bool = False
    recording: Recording = field(default_factory=Recording)
    began: float = field(default_factory=time.monotonic)


class Turns:
    """Turns, as an adapter calls them with a question or a vote."""

    def __init__(
        self,
        inbox: TurnQueue,
        conversations: Conversations,
        votes: Votes,
        *,
        make_agent: MakeAgent,
        list_collections: ListCollections,
        chat_log: ChatLog,
        language: Language = "en",
        deadline: float = DEADLINE_SECONDS,
        sign: float = SIGN_SECONDS,
        admission: Admission | None = None,
        budget: Budget | None = None,
        prefer: Prefer = _as_it_is,
        attach: Attach | None = None,
        last_checked: LastChecked = _all_followed,
        readable: StillReadable = _all_readable,
    ) -> None:
        """`prefer`: fills in what was chosen for the place; `attach`: makes a file searchable in its thread (None:
        files are left alone); `language`: of a thread that shows none; `deadline` in seconds, from the moment the
        turn's place has come; `sign`: seconds after which an asker is told that the database keeps the turn waiting."""
        self._inbox = inbox
        self._conversations = conversations
        self._votes = votes
        self._make_agent = make_agent
        self._list_collections = list_collections
        self._chat_log = chat_log
        self._language = language
        self._deadline = deadline
        self._sign = sign
        self._prefer = prefer
        self._attach = attach
        self._last_checked = last_checked
        self._readable = readable
        self._admission = admission or Admission()
        self._budget = budget or Unlimited()

    async def reply(self, message: Incoming) -> Events:
        """Claim a question and answer it: steps, then exactly one `Answered`; nothing for one that is taken already.

        Exhaust it: the turn counts as shown when the next event after the `Answered` is asked for.
        """
        try:
            claimed = await self.claim(message)
        except StoreError as error:
            log.error("a question could not be stored", exc_info=True)
            yield Answered(error.text(reply_language(message, self._language)), outcome="failed")
            return
        if claimed is not None:
            async with aclosing(self.run(claimed)) as events:
                async for event in events:
                    yield event

    async def claim(self, message: Incoming) -> Claimed | None:
        """For platforms that must acknowledge: claim first, acknowledge, then `run`. None: nothing is to be done.

        Raises StoreError; then the message must not be acknowledged.
        """
        return await self._inbox.claim(message)

    async def run(self, claimed: Claimed) -> Events:
        """Answer a claimed question: steps, then one `Answered`, which is stored before it is given. No `Answered`:
        somebody else has the turn, or it was withdrawn. A consumer that ends early gives the turn back to
        `unfinished`."""
        turn = _Turn(claimed, reply_language(claimed.message, self._language))
        settled = False
        try:
            answer: Answered | None = None
            try:
                async with aclosing(self._answer(turn)) as events:
                    async for event in events:
                        if isinstance(event, Answered):
                            answer = event
                            break
                        yield event
            except LostError:
                raise
            except asyncio.CancelledError as error:
                task = asyncio.current_task()
                if task is None or task.cancelling():
                    raise
                answer = self._apologise(turn, error)  # something inside was cancelled, not the turn
            except Exception as error:
                answer = self._apologise(turn, error)
            if answer is not None:
                yield answer if turn.stored else await self._store(turn, answer)
                settled = True
                await finished(self._inbox.shown(claimed))
        except LostError:
            log.warning("another process has taken over a turn", extra={"turn": claimed.id})
        finally:
            if not settled:
                await finished(self._inbox.release(claimed))
            await self._chat_log.flush()

    async def report(self, message: Incoming, why: str) -> None:
        """Keep a question that somebody could not get answered elsewhere as a miss, without answering it. Raises
        StoreError."""
        claimed = await self.claim(message)
        if claimed is None:
            return
        try:
            await self._inbox.start(claimed)
            answer = Answered("", outcome="unknown", turn=claimed.id)
            (miss,) = self._misses(claimed, answer)
            reported = replace(miss, reason="reported", detail=why)
            await finished(self._inbox.finish(claimed, answer, [], (reported,)))
            await finished(self._inbox.shown(claimed))
        except BaseException:
            await finished(self._inbox.release(claimed))
            raise

    async def withdraw(self, message: Incoming) -> None:
        """Nobody waits for this question's answer any longer: close it as declined, so that it is never answered. It is
        no outage.

        Whoever works on it finds that out when it would store its answer. Nothing happens to one that is answered or
        was never put. Raises StoreError.
        """
        if not await self._inbox.knows(message):
            return
        claimed = await self.claim(message)
        if claimed is None:
            await self._inbox.cancel(message)
            return
        try:
            note = Answered(_WITHDRAWN.to(reply_language(message, self._language)), outcome="declined", turn=claimed.id)
            with suppress(LostError):  # it has its answer, which was only not shown
                await finished(self._inbox.finish(claimed, note, [], ()))
                self._chat_log.record(claimed.id, note)
            await finished(self._inbox.shown(claimed))
        except BaseException:
            await finished(self._inbox.release(claimed))
            raise

    async def stop(self, place: Place, thread: str, author: str, *, until: str) -> Stopped:
        """Nothing more is to be said to what somebody asked in a thread, in messages up to `until`: what has no answer
        yet gets one that says so, which `run` gives to whoever claims it again. Raises StoreError."""

        def note(message: Incoming) -> Answered:
            return Answered(_STOPPED.to(reply_language(message, self._language)), outcome="declined")

        stopped = await self._inbox.stop(place, thread, author, until=until, note=note)
        for claimed in stopped.ended:
            self._chat_log.record(claimed.id, note(claimed.message))
            log.info("turn stopped", extra={"turn": claimed.id, "in_thread": _anonymous(claimed.message)})
        return stopped

    async def enrich(self, claimed: Claimed, message: Incoming) -> Claimed:
        """The claimed question with what its platform has looked up since. Raises StoreError."""
        message = replace(message, language=message.language or claimed.message.language)
        await self._inbox.describe(claimed, message)
        return replace(claimed, message=message)

    async def in_language(self, claimed: Claimed) -> Claimed:
        """The claimed question; of one that says no word, in the language of the last that was asked in its thread.
        Raises StoreError."""
        message = claimed.message
        if message.language is not None or in_words(message.text):
            return claimed
        history = await self._history(message, before=claimed.sequence)
        language = reply_language(message, self._language, (exchange.question for exchange in reversed(history)))
        return replace(claimed, message=replace(message, language=language))

    async def release(self, claimed: Claimed) -> None:
        """Give back a claimed question whose `run` was never begun. Never raises."""
        await finished(self._inbox.release(claimed))

    async def amend(self, message: Incoming) -> bool:
        """The question was edited: open again, in its new words. False: it says the same as before, was edited too
        often, or is not known. Raises StoreError."""
        return await self._inbox.amend(message)

    async def delete(self, message: Incoming) -> Claimed | None:
        """The question was taken back: it is never answered any more, and nothing of it is kept but what was posted,
        which its platform takes away. None: it was never put. Raises StoreError."""
        return await self._inbox.delete(message)

    async def deleted(self, platform: str) -> list[Claimed]:
        """Questions that were taken back while something is still posted of them. Raises StoreError."""
        return await self._inbox.deleted(platform)

    async def goes_on(self, message: Incoming) -> bool:
        """Whether a message stands in a thread that its author began by asking, in which nobody else has asked, and the
        last answer is not older than a day. Raises StoreError."""
        return await self._conversations.goes_on(message, datetime.now(UTC) - GOES_ON)

    async def suggestions(self, language: Language, *, most: int) -> list[str]:
        """Questions that a member of the team may begin with. Raises StoreError."""
        asked = await self._conversations.answered_publicly(limit=SUGGESTED_FROM)
        return suggested([AskedBy(*one) for one in asked], language, most)

    async def unfinished(self, platform: str) -> list[Incoming]:
        """Questions left open by a process or reply that ended: give them to `reply`, at start and every few
        seconds."""
        return await self._inbox.unfinished(platform)

    async def _history(self, message: Incoming, *, before: int | None = None) -> tuple[Exchange, ...]:
        """The earlier questions and answers of its thread, oldest first, bounded; where it is a direct message outside
        of any thread, those of the last half hour there."""
        since = datetime.now(UTC) - DIRECT if message.direct else None
        allowed = readers(message.place, message.audience, message.thread)
        return await self._conversations.history(message.place, message.thread, allowed, before=before, since=since)

    async def vote(self, feedback: Feedback) -> Kept | None:
        """Keep, change or take back a vote; a thumbs-down is a miss while it stands. None: no such turn.

        Raises StoreError.
        """
        turn = await self._conversations.get(feedback.turn)
        if turn is None:
            return None
        return await self._votes.put(feedback, default_scope(turn.asked.place, turn.asked.audience))

    # -- from claim to stored answer --------------------------------------------------------------------------------

    async def _answer(self, turn: _Turn) -> Events:
        """Steps and one `Answered`, when the turn's place in its thread has come, and among all that is asked of this
        process; nothing more for one whose answer cannot be posted. Raises LateError when the agent does not keep its
        deadline, LostError, and what does not work."""
        claimed, busy = turn.claimed, self._inbox.busy(turn.claimed)
        if not busy:
            started = await self._inbox.start(claimed)
            turn.attempt, turn.stored = started.attempt, started.answer is not None
            if started.answer is not None:
                if turn.attempt <= 2 * TRIES:
                    if (shown := await self._as_read_now(turn, started.answer)) is not None:
                        yield shown
                else:
                    await self._inbox.show_later(claimed)
                    await self._inbox.shown(claimed)  # it cannot be posted where it belongs now
                return
        looking = asyncio.ensure_future(self._history(claimed.message, before=claimed.sequence))
        try:
            if not (await asyncio.wait({looking}, timeout=self._sign))[0]:
                yield Thought(_SLOW.to(turn.language))
            history = await looking
        finally:
            looking.cancel()
        earlier = (exchange.question for exchange in reversed(history))
        turn.language = language = reply_language(claimed.message, self._language, earlier)
        self._chat_log.asked(claimed.id, claimed.message)
        if busy or turn.attempt > TRIES:
            yield _unserved(turn)
            return
        try:
            with self._admission.join(claimed.message.place) as ticket:
                if ticket.ahead:
                    yield self._noted(turn, Thought(_AHEAD.to(language, n=ticket.ahead)))
                await ticket.called()
                deadline = asyncio.get_running_loop().time() + self._deadline
                end = deadline + GRACE_SECONDS
                message = await _before(end, self._prefer(claimed.message))
                unread: list[str] = []
                for file in message.files if self._attach is not None else ():
                    if not file.problem:
                        yield self._noted(turn, Thought(_READING.to(language, name=file.name)))
                    if problem := file.problem or await _before(end, self._read(message, file, language)):
                        unread.append(_UNREAD.to(language, name=file.name, reason=problem))
                if not message.text.strip():
                    yield _greeting(len(message.files) - len(unread), unread, language)
                    return
                agent, ask = await _before(end, self._prepared(turn, message, history, deadline))
                if (refusal := await _before(end, self._budget.refusal(message, language))) is not None:
                    yield _with(unread, Answered(refusal, outcome="declined"))
                    return
                with self._budget.spending():
                    async with aclosing(agent.run(ask)) as events:
                        while (event := await _before(end, anext(events, None))) is not None:
                            if isinstance(event, Answered):
                                yield _with(unread, event)
                                return
                            yield self._noted(turn, event)
                raise RuntimeError("the agent ended without an answer")
        except CrowdedError:
            yield Answered(_CROWDED.to(language), outcome="declined")

    async def _as_read_now(self, turn: _Turn, answer: Answered) -> Answered | None:
        """A stored answer without what those who read the place by now may not read. While nobody can tell who they
        are, None: it is tried again; in the end it is shown as outsiders may read it, and once more later."""
        message = turn.claimed.message
        allowed = readers(message.place, message.audience, message.thread)
        found = answer.citations or answer.outcome == "unknown"  # which names what came closest
        hidden = await self._conversations.hidden(turn.claimed.id, allowed) if found else {}
        if hidden and message.audience == UNKNOWN:
            if turn.attempt < 2 * TRIES:
                return None
            await self._inbox.show_later(turn.claimed)
        return without(answer, hidden, turn.language)

    async def _read(self, message: Incoming, file: Attachment, language: Language) -> str:
        """Make a file searchable in its thread; why it cannot be, or nothing."""
        assert self._attach is not None
        return (await self._attach(message, file, language)).reason

    async def _prepared(
        self, turn: _Turn, message: Incoming, history: tuple[Exchange, ...], deadline: float
    ) -> tuple[Answerer, Ask]:
        """The agent for a question, and what it is asked."""
        allowed = readers(message.place, message.audience, message.thread)
        collections = await self._list_collections(message, allowed)
        agent = self._make_agent(replace(turn.claimed, message=message), allowed, collections)
        turn.recording.began(message.strategy, [info.name for info in collections])
        return agent, Ask(
            question=message.text,
            language=turn.language,
            history=history,
            overheard=tuple(one for one in message.overheard if one.text not in {each.question for each in history}),
            collections=collections,
            deadline=deadline,
            reaches_team=reaches_team(message.audience),
        )

    def _noted(self, turn: _Turn, step: Step) -> Step:
        turn.steps += 1
        turn.recording.add(step)
        self._chat_log.record(turn.claimed.id, step)
        return step

    async def _checked(self, turn: _Turn, answer: Answered) -> Answered:
        """With the day beside each citation whose source cannot be checked. Source: sources.md §2, rule 5."""
        ids = {one.document_id for one in answer.citations} - {""}
        days = await self._last_checked(ids) if ids else {}
        return replace(
            answer, citations=tuple(replace(one, checked=days.get(one.document_id)) for one in answer.citations)
        )

    async def _still_theirs(self, turn: _Turn, answer: Answered) -> Answered:
        """A stored answer without what was withdrawn before it was stored; what is withdrawn since leaves it anyway."""
        message, found = turn.claimed.message, turn.recording.found
        if not found:
            return answer
        left = await self._readable([*found], readers(message.place, message.audience, message.thread))
        gone = {id: name for id, name in found.items() if id not in left}
        if not gone:
            return answer
        await finished(self._inbox.withdraw(turn.claimed, gone))
        return without(answer, gone, turn.language)

    async def _store(self, turn: _Turn, answer: Answered) -> Answered:
        """The answer as it is stored, or why it could not be. Raises LostError."""
        claimed, seconds = turn.claimed, round(time.monotonic() - turn.began, 3)
        answer = replace(answer, turn=claimed.id, seconds=answer.seconds or seconds)
        turn.recording.add(answer)
        try:
            answer = await self._checked(turn, answer)
            misses = self._misses(claimed, answer)
            await finished(self._inbox.finish(claimed, answer, turn.recording.steps, misses))
            answer = await self._still_theirs(turn, answer)
        except StoreError as error:
            answer = self._apologise(turn, error)
            self._inbox.finish_later(claimed, answer, turn.recording.steps, ())
        self._chat_log.record(claimed.id, answer)
        log.info(
            "turn ended",
            extra={
                "turn": claimed.id,
                "in_thread": _anonymous(claimed.message),
                "steps": turn.steps,
                "seconds": seconds,
                "outcome": answer.outcome,
                "attempt": turn.attempt,
            },
        )
        return answer

    # -- small decisions --------------------------------------------------------------------------------------------

    def _apologise(self, turn: _Turn, error: BaseException) -> Answered:
        claimed, language = turn.claimed, turn.language
        log.error("turn failed", extra={"turn": claimed.id}, exc_info=error)
        match error:
            case RAGToolError() | StoreError() | SettingsError():
                text = _REASON.to(language, reason=error.text(language), turn=claimed.id[:8])
            case LateError():
                text = _LATE.to(language, seconds=round(self._deadline), turn=claimed.id[:8])
            case _:
                text = _FAILED.to(language, turn=claimed.id[:8])
        return Answered(text, outcome="failed", turn=claimed.id)

    def _misses(self, claimed: Claimed, answer: Answered) -> tuple[MissedQuestion, ...]:
        """The misses to be looked at because of this answer alone. Offline nearly every paraphrase is doubted, so
        there it takes somebody's complaint, or others who ask alike (`bot.unanswered.doubts`)."""
        doubted = answer.outcome == "answered" and answer.unsure and not answer.verbatim
        if answer.outcome != "unknown" and not doubted:
            return ()
        message = claimed.message
        miss = MissedQuestion(
            turn=claimed.id,
            question=message.text,
            reason="unknown" if answer.outcome == "unknown" else "low_confidence",
            searched=answer.searched,
            confidence=answer.confidence,
            scope=default_scope(message.place, message.audience),
            link=message.link,
            asked_at=datetime.now(UTC),
        )
        return (miss,)


def _unserved(turn: _Turn) -> Answered:
    """For a turn that is not worked on: too many wait in its thread, or it has ended too many processes."""
    if turn.attempt > TRIES:
        text = _INTERRUPTED.to(turn.language, tries=TRIES, turn=turn.claimed.id[:8])
        return Answered(text, outcome="failed")
    return Answered(_BUSY.to(turn.language), outcome="declined")


def _greeting(read: int, unread: Sequence[str], language: Language) -> Answered:
    """To a message without words: what became of its files, or what can be asked."""
    said = _READ.to(language, n=read) if read else "" if unread else _HELLO.to(language)
    return Answered("\n\n".join(filter(None, (said, *unread))), outcome="declined" if unread else "answered")


def _with(unread: Sequence[str], answer: Answered) -> Answered:
    """Which files could not be read stands under the answer."""
    return replace(answer, text="\n\n".join((answer.text, *unread))) if unread else answer


async def _before(end: float, work: Awaitable[T]) -> T:
    """Await `work` until `end` on the loop's clock. A TimeoutError of the work's own stays what it is."""
    try:
        async with asyncio.timeout_at(end) as limit:
            return await work
    except TimeoutError as error:
        if limit.expired():
            raise LateError from error
        raise


def _anonymous(message: Incoming) -> str:
    """A thread's name for the log: the same for the same thread, and nobody's channel."""
    place = message.place
    name = "\x1f".join((place.workspace, place.channel, message.thread))
    return f"{place.platform}:{hashlib.sha256(name.encode()).hexdigest()[:8]}"
