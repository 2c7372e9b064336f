"""One turn in its Slack thread: a sign of life at once, the steps, then the answer as its own reply with its buttons.

Source: product.md §1; reliability.md R6, R10, R29 and R51; field.md #1-#4 and #14.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from adapters.markdown.events import EMPTY, one_line, said_markdown, shortened, sources_markdown
from adapters.port import TurnView
from adapters.slack.rendering.block_kit import ask_person, feedback, plain_feedback
from adapters.slack.rendering.markdown import Rendered, messages, plain_messages
from adapters.slack.rendering.step_message import FIXED, Turn, all_of, take_away
from adapters.slack.rendering.steps import Steps
from adapters.slack.transport.api import SlackApi
from adapters.slack.transport.errors import GoneError, RefusedError, SlackError, UnreachableError, UnsupportedError
from adapters.slack.transport.idempotency import Mark
from agent.events import Answered, Drafted, Step, ToolCalled
from bot.bot import Bot
from bot.errors import StoreError
from bot.turns.withdrawal import WITHDRAWN
from bot.types import Claimed, Post, StepsShown, has_answer, taken_back
from bot.waiting import Sleep, beside, sleep_unless, stopped
from retrieval.i18n import Language, Text

log = logging.getLogger(__name__)

SIGN_SECONDS = 0.7  # for the first sign of life, before another one is tried
REFRESH_SECONDS = 15.0  # Slack's status ends after 2 minutes, and when something is posted
FINISH_SECONDS = 90.0  # for the last edits under load; nobody waits for them
ABANDON_SECONDS = 3.0
CLEAR_SECONDS = 5.0
IDLE_SECONDS = 1.0  # that an answer waits for its session to end
TITLE = 60  # characters of a question that names a conversation with the bot
_LOST = FIXED | {"message_not_found"}  # an answer that cannot be replaced where it is

_THINKING = Text(en="is thinking…", ja="考えています…")
_SEARCHING = Text(en="is searching the documents…", ja="資料を調べています…")
_REFUSED = Text(
    en="I have an answer, but Slack does not accept its words here (code {code}). Ask me in a direct message, or ask "
    "whoever runs me.",
    ja="回答はできましたが、ここでは Slack に本文の投稿を拒否されました（コード {code}）。"
    "ダイレクトメッセージで質問するか、管理者に確認してください。",
)
_DELETED = Text(en="This answer was deleted together with its question.", ja="質問とともに削除されました。")
_UNTITLED = Text(en="Deleted question", ja="削除された質問")
_REVIEWING = Text(en="is reviewing its answer…", ja="回答を見直しています…")


class SlackThread(TurnView):
    """A turn's view. `begin` it at the turn's start, and `close` it at its end, whatever became of it.

    Status and steps never raise. `answer` raises GoneError when there is nowhere to answer any more, other SlackErrors
    and StoreError when it is to be tried again: what was posted by then is not posted twice.
    """

    def __init__(
        self,
        slack: SlackApi,
        bot: Bot,
        claimed: Claimed,
        *,
        steps: StepsShown,
        language: Language,
        team: Callable[[], Awaitable[str]] | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        """`team` looks up whose member the asker is, to whom Slack streams; without it steps are edits."""
        self._slack = slack
        self._bot = bot
        self._turn = claimed.id
        self._place = claimed.message.place
        self._thread = claimed.message.thread
        self._asker = claimed.message.author
        self._edited = claimed.edits > 0
        self._only_shown = claimed.answered
        self._language = language
        self._clock = clock
        self._sleep = sleep
        self._posts = Turn(slack, bot, claimed.id, self._place, self._thread, self._asker, team)
        self._steps = Steps(self._posts, steps=steps, language=language, clock=clock, sleep=sleep)
        begins = claimed.message.thread == claimed.message.message
        self._title = shortened(one_line(claimed.message.text), TITLE) if begins else ""
        self._earlier: Sequence[Post] = ()
        self._stage = _THINKING
        self._status_set = False
        self._status_failed = False
        # Whether a session may be at work; None: that of an earlier attempt
        self._session: bool | None = None if claimed.retaken else False
        self._named: str | None = None  # what the session is called; None: there was none
        self._alive: asyncio.Task[None] | None = None
        self._posted = ""  # the ts of the answer's first message
        self._answered = False
        self._refused: set[int] = set()  # parts of the answer that were surely not posted

    async def begin(self) -> None:
        """Show that the question has arrived, unless its answer is only shown again; returns before that has reached
        Slack."""
        try:
            self._earlier = await self._bot.outbox.of(self._turn)
        except StoreError as error:
            log.warning("what turn %s has posted is not known: %s", self._turn, error)
        self._steps.resume(self._earlier)
        if self._edited or not has_answer(self._earlier):
            self._alive = asyncio.create_task(self._live(), name="slack-status")

    async def step(self, event: Step) -> None:
        match event:
            case ToolCalled():
                self._stage = _SEARCHING
            case Drafted():
                self._stage = _REVIEWING
            case _:
                self._stage = _THINKING
        self._steps.add(event)

    async def answer(self, answered: Answered) -> None:
        """Post the answer under the steps, or put it in the place of what an earlier attempt has posted."""
        await self._quiet()
        await asyncio.gather(self._end_session(IDLE_SECONDS), self._steps.make_way(answered.seconds))
        count = await self._say(answered)
        for post in self._earlier:
            if post.kind == "answer" and post.part >= count and post.message:
                with suppress(SlackError):
                    await self._slack.delete(self._place.channel, post.message)
        await self._take_away([post.message or "" for post in taken_back(self._earlier)], WITHDRAWN)
        self._answered = True

    async def close(self) -> None:
        """Nothing of this turn goes on after this. Without an answer the steps stay for whoever takes the turn up."""
        await self._quiet()
        try:
            if self._session:
                await self._end_session(FINISH_SECONDS if self._answered else CLEAR_SECONDS)
            if self._status_set:  # a refresh may have overtaken the answer, which ends the status
                with suppress(SlackError, TimeoutError):
                    async with asyncio.timeout(CLEAR_SECONDS):
                        await self._slack.set_status(self._place.channel, self._thread, "")
                self._status_set = False
            if self._answered and self._unnamed:
                with suppress(SlackError, TimeoutError):
                    async with asyncio.timeout(CLEAR_SECONDS):
                        await self._slack.set_title(self._place.channel, self._thread, self._title)
        finally:
            if self._answered:
                await self._steps.finish(FINISH_SECONDS, self._posted)
            else:
                await self._steps.abandon(ABANDON_SECONDS)
            self._slack.signs_ended(self._place.channel, self._thread)

    async def remove(self) -> None:
        """See `TurnView.remove`. Raises StoreError."""
        found = self._steps.shown
        self._earlier = await self._bot.outbox.of(self._turn)
        await self._end_session(CLEAR_SECONDS)
        for post in self._earlier:
            with suppress(GoneError):
                found |= {post.message} if post.message else {*await all_of(self._posts, post.part, post.kind)}
        await self._take_away(sorted(found), _DELETED)
        if self._title:
            with suppress(RefusedError, UnsupportedError, GoneError):
                await self._slack.set_title(self._place.channel, self._thread, _UNTITLED.to(self._language))

    async def _take_away(self, found: Iterable[str], instead: Text) -> None:
        for ts in found:
            try:
                await take_away(self._posts, ts, instead.to(self._language))
            except UnreachableError:
                raise
            except SlackError as error:
                log.warning("a message of turn %s stays: %s", self._turn, error)

    # -- signs of life ----------------------------------------------------------------------------------------------

    async def _live(self) -> None:
        with self._slack.at_work(self._place.channel, self._thread) as ended:
            since = self._clock()
            async with beside(self._begin_session()) as session:
                async with beside(self._sign(session)) as first:
                    done, _ = await asyncio.wait({first}, timeout=SIGN_SECONDS)
                    if not done:
                        self._steps.wait(0)
                    if not await first:
                        self._steps.wait(0)
                while True:
                    await sleep_unless(ended, REFRESH_SECONDS, self._sleep)
                    ended.clear()
                    if not await self._sign(session):
                        self._steps.wait(round(self._clock() - since))

    async def _sign(self, session: asyncio.Task[bool]) -> bool:
        """Whether Slack shows that the turn is at work: by a status, or where that is refused by its session."""
        if not self._status_failed and await self._set_status():
            return True
        return self._status_failed and await session

    async def _set_status(self) -> bool:
        self._status_set = True  # also when this is cut off: it may have arrived
        try:
            await self._slack.set_status(self._place.channel, self._thread, self._stage.to(self._language))
        except UnreachableError as error:
            log.info("no status in the thread of turn %s: %s", self._turn, error)
            return False
        except SlackError as error:
            log.info("there is no status in the thread of turn %s: %s", self._turn, error)
            self._status_set, self._status_failed = False, True
            return False
        return True

    async def _begin_session(self) -> bool:
        """For Slack's button to stop the turn, and the conversation's name: what is only shown again needs neither."""
        if self._only_shown:
            return False
        before, self._session = self._session, True  # likewise
        channel, thread, title = self._place.channel, self._thread, self._title
        try:
            self._named = await self._slack.begin_session(channel, thread, self._turn, title=title, asker=self._asker)
        except UnreachableError:
            return False
        except SlackError:
            self._session = before
            return False
        return True

    async def _end_session(self, seconds: float) -> None:
        """Not that of an answer which is only put in order: there the turn's own attempt has ended it."""
        if self._session is False or (self._session is None and has_answer(self._earlier)):
            return
        try:
            async with asyncio.timeout(seconds):
                await self._slack.end_session(self._place.channel, self._thread, self._turn)
        except (UnreachableError, TimeoutError) as error:
            log.info("a session may still be at work in the thread of turn %s: %s", self._turn, error)
            return
        except SlackError:
            pass
        self._session = False

    @property
    def _unnamed(self) -> bool:
        """Whether the conversation, which began with this question, has still to be named after it."""
        if not self._title or self._place.channel.startswith("D"):
            return bool(self._title)
        return self._named == "" or (self._edited and self._named not in (None, self._title))

    async def _quiet(self) -> None:
        if self._alive is not None:
            await stopped(self._alive)
            self._alive = None

    # -- the answer -------------------------------------------------------------------------------------------------

    async def _say(self, answered: Answered) -> int:
        """Post all parts in their order; how many they are."""
        try:
            parts = answer_parts(answered, self._language)
            for number, part in enumerate(parts):
                under = self._buttons(answered) if number == len(parts) - 1 else [()]
                await self._put(number, part.text, [[*part.blocks, *each] for each in under])
            return len(parts)
        except RefusedError as error:
            log.warning("blocks are refused in the thread of turn %s, text goes instead: %s", self._turn, error)
        texts = plain_parts(answered, self._language)
        for number, text in enumerate(texts):
            try:
                await self._put(number, text, [()])
            except RefusedError as error:  # such as by an admin's rule for what may be linked in Slack Connect
                log.warning("the words of an answer are refused in the thread of turn %s: %s", self._turn, error)
                await self._put(number, _REFUSED.to(self._language, code=error.code), [()])
                return number + 1
        return len(texts)

    def _buttons(self, answered: Answered) -> list[Sequence[dict[str, Any]]]:
        """The elements that may stand under the answer, the best first."""
        if answered.outcome not in ("answered", "unknown"):
            return [()]
        turn = answered.turn or self._turn
        first = [ask_person(turn, self._language)] if answered.person else []
        votes = (feedback(turn, self._language), plain_feedback(turn, self._language))
        return [*([*first, each] for each in votes), ()]

    async def _put(self, part: int, text: str, variants: Sequence[Sequence[dict[str, Any]]]) -> None:
        """One message of the answer, once (R6), with the first blocks that are accepted. Raises SlackError,
        StoreError."""
        ts = await self._put_once(part, text, variants)
        if not part:
            self._posted = ts

    async def _put_once(self, part: int, text: str, variants: Sequence[Sequence[dict[str, Any]]]) -> str:
        channel, mark = self._place.channel, Mark(self._turn, "answer", part)
        post = Post(self._turn, "answer", part, self._place, self._thread)
        before = await self._bot.outbox.reserve(post)
        for number, blocks in enumerate(variants):
            try:
                if before is not None and before.message:
                    try:
                        await self._slack.update(
                            channel, before.message, text=text, blocks=blocks, mark=mark, last=True
                        )
                        return before.message
                    except SlackError as error:
                        if not self._edited or error.code not in _LOST:
                            raise
                        await self._lost(post, before.message)
                        before = None
                ts = await self._slack.post(
                    channel,
                    text=text,
                    blocks=blocks,
                    thread=self._thread,
                    mark=mark,
                    maybe_sent=before is not None and part not in self._refused,
                )
                break
            except RefusedError as error:
                self._refused.add(part)
                if number == len(variants) - 1:
                    raise
                log.info("a form of the answer is refused: %s", error)
        await self._bot.outbox.confirm(replace(post, message=ts))
        return ts

    async def _lost(self, post: Post, message: str) -> None:
        """The answer to what the question was before takes no new words, or somebody deleted it: there is none,
        then."""
        log.info("an answer is posted anew in the thread of turn %s", self._turn)
        with suppress(SlackError):
            await self._slack.delete(self._place.channel, message)
        await self._bot.outbox.confirm(post)


def answer_parts(answered: Answered, language: Language) -> list[Rendered]:
    """The answer with its sources as Slack's messages, at least one."""
    return messages(_text(answered, language), tail=sources_markdown(answered, language))


def plain_parts(answered: Answered, language: Language) -> list[str]:
    """The same as texts without blocks, for where blocks are refused; at least one."""
    return plain_messages(_text(answered, language), tail=sources_markdown(answered, language))


def _text(answered: Answered, language: Language) -> str:
    return said_markdown(answered, language) if answered.text.strip() else EMPTY.to(language)
