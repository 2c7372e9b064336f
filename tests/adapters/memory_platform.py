"""The smallest platform: a channel in memory, with threads, edits, deletions, votes, cards, and a history that documents
follow. It shows what a platform has to bring (`adapters/port.py`) and what it is given, and passes the suites that all of
them pass."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from uuid import uuid4

from adapters.markdown.events import StepSummary, answer_markdown, step_text
from adapters.port import TurnView
from adapters.shared import asking, digest_cards, feedback, recovery
from adapters.shared.channel_history import PlatformHistory
from adapters.shared.expert_answers import DigestCards, heading
from adapters.shared.follow_ups import is_follow_up
from adapters.shared.tasks import Tasks
from adapters.shared.turns import RunningTurns
from agent.events import Answered, Step
from bot.bot import Bot
from bot.sources.channel import Said, Thread
from bot.texts import reply_language
from bot.types import (
    Actor,
    Audience,
    Card,
    Claimed,
    Incoming,
    IngestionRequest,
    Notice,
    Place,
    Post,
    PostKind,
    Preferences,
    Recipient,
)

PLATFORM = "memory"
CHANNEL = Place(PLATFORM, "here", "general")
PUBLIC, PRIVATE = Audience("public"), Audience("private")
PEOPLE = frozenset({"ann", "ben", "olga"})
EDITOR = "olga"
MENTION = "@kotae "


@dataclass
class Message:
    id: str
    thread: str  # the id of its first message, which may be itself
    author: str
    text: str
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    checks: list[str] = field(default_factory=list)  # who marked it with ✅


class MemoryPlatform:
    """What outlives the bot's process: one channel, who reads it and whether the bot is in it, and its messages in their
    order."""

    def __init__(self) -> None:
        self.messages: dict[str, Message] = {}
        self.audience, self.invited = PUBLIC, True
        self.heard = ""  # see `ChannelHistory.heard`; "": each process its own
        self._ids = count(1)

    def post(self, author: str, text: str, thread: str = "") -> Message:
        id = str(next(self._ids))
        self.messages[id] = Message(id, thread or id, author, text)
        return self.messages[id]

    def thread(self, message: str) -> list[Message]:
        """What the bot says in the thread of a message."""
        return [each for each in self.messages.values() if each.thread == message and each.author == "kotae"]


class MemoryThread(TurnView):
    """A turn's view: a message with the steps, and one with the answer."""

    def __init__(self, platform: MemoryPlatform, bot: Bot, claimed: Claimed) -> None:
        self._platform = platform
        self._bot = bot
        self._claimed = claimed
        self._language = reply_language(claimed.message, "en")
        self._lines: list[str] = []
        self._summary = StepSummary()

    async def begin(self) -> None:
        earlier = await self._bot.outbox.of(self._claimed.id)
        if not any(post.kind == "answer" for post in earlier):
            await self._put("steps", "…")

    async def step(self, event: Step) -> None:
        self._lines.append(step_text(event, self._language))
        self._summary.add(event)
        await self._put("steps", "\n".join(self._lines))

    async def answer(self, answered: Answered) -> None:
        if self._lines:
            await self._put("steps", self._summary.text(answered.seconds, self._language))
        for post in await self._bot.outbox.of(self._claimed.id):
            if post.data.get("placeholder"):  # of what it found something is withdrawn
                self._platform.messages.pop(post.message or "", None)
        below = f"\n[{asking.LABEL.en}]" if answered.person else ""
        await self._put("answer", answer_markdown(answered, self._language) + below)

    async def close(self) -> None:
        """Nothing goes on by itself here."""

    async def remove(self) -> None:
        for post in await self._bot.outbox.of(self._claimed.id):
            self._platform.messages.pop(post.message or "", None)

    async def _put(self, kind: PostKind, text: str) -> None:
        """Post it once, or put it in the place of what is there: also after a crash, by what the outbox knows."""
        asked = self._claimed.message
        post = Post(self._claimed.id, kind, 0, asked.place, asked.thread)
        before = await self._bot.outbox.reserve(post)
        there = self._platform.messages.get(before.message or "") if before is not None else None
        if there is not None:
            there.text = text
            return
        message = self._platform.post("kotae", text, asked.thread)
        await self._bot.outbox.confirm(replace(post, message=message.id))


class MemoryHistory(PlatformHistory):
    """See `bot.sources.channel.ChannelHistory`: what the channel says to somebody who reads it back."""

    def __init__(self, adapter: "MemoryAdapter", channel: MemoryPlatform) -> None:
        run = uuid4().hex
        super().__init__(adapter, lambda: channel.heard or run)
        self._channel = channel

    async def readers(self, channel: str) -> tuple[Place, Audience]:
        return CHANNEL, self._channel.audience

    def link(self, place: Place, root: str) -> str:
        return f"https://memory.example/{place.channel}/{root}"

    async def _listed(self, channel: str, since: datetime | None, at: str | None) -> tuple[Sequence[str], str | None]:
        replies = {each.thread for each in self._channel.messages.values() if each.thread != each.id}
        roots = [self._channel.messages[root] for root in replies if root in self._channel.messages]
        return [root.id for root in roots if since is None or root.at >= since], None

    async def _thread(self, place: Place, root: str) -> Thread | None:
        found = [each for each in self._channel.messages.values() if each.thread == root]
        return Thread(root, tuple(map(_said, found))) if found else None


class MemoryAdapter:
    """See `adapters.port.Adapter`; and what people do there, as the platform's events would tell it."""

    platform, who = PLATFORM, "@kotae"

    def __init__(self, channel: MemoryPlatform, *, look_every: float = recovery.EVERY_SECONDS) -> None:
        self._channel = channel
        self._look_every = look_every
        self.ready = asyncio.Event()
        self._tasks = Tasks()

    @property
    def connected(self) -> bool:
        return self.ready.is_set()

    async def run(self, bot: Bot) -> None:
        self._bot = bot

        def view(claimed: Claimed, preferences: Preferences) -> MemoryThread:
            return MemoryThread(self._channel, bot, claimed)

        self._questions = RunningTurns(PLATFORM, bot, self._tasks, view, _look_up, language="en")
        history = MemoryHistory(self, self._channel)
        reading = asyncio.create_task(bot.sources.channels.read(PLATFORM, history, self.ready), name="memory-history")
        self.ready.set()
        try:
            cards = DigestCards(PLATFORM, bot, self._tasks, "en", _everybody, self._draw, self._tell)
            await recovery.look_after(cards, questions=self._questions.resume, intake=_no_files, every=self._look_every)
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            await self._tasks.drain(20)

    async def find(self, recipient: str) -> Recipient:
        if recipient == CHANNEL.channel and self._channel.invited:
            return Recipient(CHANNEL, self._channel.audience, "#general")
        if not recipient.startswith("@") or recipient[1:] not in PEOPLE:
            raise LookupError(recipient)
        return Recipient(replace(CHANNEL, channel=recipient), Audience("private"), recipient[1:].title())

    async def announce(self, channel: str, card: Card, *, about: str) -> None:
        if card.title:
            await self._once(Post(about, "digest", 0, CHANNEL), "\n".join((card.title, *card.lines)))
        for post in await digest_cards.posts_for(self._bot, (await self.find(channel)).place, card, about):
            await self._once(post, _drawn(post), channel if channel.startswith("@") else "")

    async def _once(self, post: Post, text: str, thread: str = "") -> None:
        if await self._bot.outbox.reserve(post) is None:
            shown = self._channel.post("kotae", text, thread)
            await self._bot.outbox.confirm(replace(post, message=shown.id))

    # -- what people do ---------------------------------------------------------------------------------------------

    async def says(self, author: str, text: str, thread: str = "") -> str:
        message = self._channel.post(author, text, thread)
        await self._bot.sources.channels.stir(CHANNEL, message.thread, known=not thread)
        asked = _incoming(message)
        if text.startswith(MENTION) or ("@" not in text and await self._follows(asked)):
            await self._questions.ask(asked)
        return message.id

    async def _follows(self, message: Incoming) -> bool:
        async def who() -> Actor:
            return Actor(PLATFORM, CHANNEL.workspace, message.author)

        async def shared() -> bool:
            thread = (each for each in self._channel.messages.values() if each.thread == message.thread)
            return any(each.author not in ("kotae", message.author) for each in thread)

        return await is_follow_up(self._bot, message, actor=who, shared=shared)

    async def edits(self, message: str, text: str) -> None:
        before, self._channel.messages[message].text = self._channel.messages[message].text, text
        await self._bot.sources.channels.stir(CHANNEL, self._channel.messages[message].thread)
        was, named = before.startswith(MENTION), text.startswith(MENTION)
        changed, never = _incoming(self._channel.messages[message]), not (was or named)
        await self._questions.edit(changed, addressed=named or never, known=never)

    async def deletes(self, message: str) -> None:
        gone = self._channel.messages.pop(message)
        await self._bot.sources.channels.stir(CHANNEL, gone.thread)
        await self._questions.delete(_incoming(gone))

    async def checks(self, author: str, message: str) -> None:
        self._channel.messages[message].checks.append(author)
        await self._bot.sources.channels.stir(CHANNEL, self._channel.messages[message].thread)

    async def reacts(self, author: str, message: str, vote: feedback.Vote) -> None:
        await feedback.react(self._bot, await self._bot.outbox.find(CHANNEL, message), author, vote, vote)

    async def asks_person(self, author: str, message: str) -> str:
        """The button under an answer; what its presser alone reads."""
        post = await self._bot.outbox.find(CHANNEL, message)
        assert post is not None and f"[{asking.LABEL.en}]" in self._channel.messages[message].text
        reply = await asking.press(self._bot, post.about, Actor(PLATFORM, "here", author), CHANNEL, PUBLIC)
        return reply.text.en

    # -- what is said outside of any turn ---------------------------------------------------------------------------

    async def _tell(self, notice: Notice) -> None:
        said = heading(notice, asker=f"@{notice.author}", question=notice.question, who=None)
        told = self._channel.post("kotae", f"{said}\n{notice.answer}", notice.thread)
        post = Post(notice.turn, "notice", notice.id, CHANNEL, notice.thread, told.id, {"of_page": notice.of_page})
        await self._bot.outbox.confirm(post)
        await self._bot.experts.notices.said(notice)

    async def _draw(self, card: Post, status: str) -> None:
        self._channel.messages[card.message or ""].text = f"{_drawn(card)}\n{status}"


def _incoming(message: Message) -> Incoming:
    return Incoming(
        CHANNEL, message.thread, message.id, message.author, message.text.removeprefix(MENTION), Audience("unknown")
    )


def _actor(author: str) -> Actor:
    return Actor(PLATFORM, CHANNEL.workspace, author, "editor" if author == EDITOR else "member")


def _said(message: Message) -> Said:
    person = message.author in PEOPLE
    text = message.text if person else ""
    checks = tuple(map(_actor, message.checks))
    return Said(message.id, message.at, message.author, text, _actor(message.author) if person else None, checks)


def _drawn(card: Post) -> str:
    row = digest_cards.row_on(card)
    return "\n".join((row.text, *row.details, *(f"[{action.text}]" for action in row.actions)))


async def _look_up(message: Incoming, stranger: bool) -> Incoming:
    return replace(message, audience=PUBLIC)


async def _everybody(channel: str) -> Audience:
    return PUBLIC


async def _no_files(request: IngestionRequest) -> None:
    raise AssertionError("nobody adds files here")
