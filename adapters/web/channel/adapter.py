"""A team channel in the browser, a platform like the others: what a page calls, and the turns that come of it.

Every call names the member who acts; what is not theirs to see is not there for them (LookupError). Calls raise
StoreError when the database does not work, ConnectionError while the adapter does not run. Source: product.md §1 and
§6; reliability.md R3, R5, R10, R11 and R57."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial

from adapters.shared import asking, expert_answers, feedback, recovery
from adapters.shared import ingestion as shared_ingestion
from adapters.shared.ingestion import NotTakenError
from adapters.web.channel import digest, ingestion
from adapters.web.channel.context import WebContext
from adapters.web.channel.events import Typed, addressed, command
from adapters.web.channel.messages import Board
from adapters.web.channel.rooms import PLATFORM, Member, Room, actor, audience, enter, place, room
from adapters.web.channel.turns import WebTurns
from adapters.web.channel.uploads import Uploads
from bot.app import Application
from bot.bot import Bot
from bot.errors import StoreError
from bot.knowledge.held_files import held_files
from bot.records import RoomMessage
from bot.types import AnswerTaken, Card, Command, Complaint, Feedback, FileRef, Preferences, Recipient
from bot.unanswered.asking import AskReply
from retrieval.i18n import Language, Text

FILES = 5  # of one question that are read
DRAIN_SECONDS = 20.0

Files = Sequence[tuple[str, bytes]]  # their names and bytes
Votes = Callable[[str], Awaitable[Sequence[Feedback]]]
"""The votes on a turn."""


def web_adapter(app: Application, address: str = "") -> "WebAdapter":
    """The browser's channel of an application; `address`: of its pages, which links to messages begin with."""
    board = Board(app.data, app.knowledge)
    held = Uploads(held_files(app.data.engine, app.settings.uploads))
    return WebAdapter(board, app.data.votes.of, held, language=app.settings.language, address=address)


class WebAdapter:
    """The rooms of `adapters/web/channel/rooms.py`. `run` serves them; `board` shows them also while it does not."""

    platform = PLATFORM
    who = "@kotae"

    def __init__(
        self,
        board: Board,
        votes: Votes,
        held: Uploads,
        *,
        language: Language,
        address: str = "",
        look_every: float = recovery.EVERY_SECONDS,
    ) -> None:
        """`language`: of what everybody in a room reads; `address`: of the pages; `look_every`: seconds between two
        looks for what was left unfinished."""
        self.board = board
        self._votes = votes
        self._held = held
        self._language: Language = language
        self._address = address
        self._look_every = look_every
        self._context: WebContext | None = None
        self._asking: WebTurns | None = None
        self.ready = asyncio.Event()

    # -- a platform --------------------------------------------------------------------------------------------------

    @property
    def connected(self) -> bool:
        return self._context is not None

    async def run(self, bot: Bot) -> None:
        """Serve until cancelled; then take nothing new in and let what runs end, for at most 20 seconds."""
        context = WebContext(self.board, bot, self._held, self._language, self._address)
        asking = WebTurns(context)
        self._context, self._asking = context, asking
        self.ready.set()
        try:
            intake = partial(ingestion.resume, context)
            await recovery.look_after(
                digest.cards(context), questions=asking.resume, intake=intake, every=self._look_every
            )
        finally:
            self._context = self._asking = None
            self.ready.clear()
            await context.tasks.drain(DRAIN_SECONDS)

    async def find(self, recipient: str) -> Recipient:
        """A room by its id; nobody is written to alone here. Raises LookupError."""
        where = room(recipient)
        called = Text(en=f"#{where.name.en}", ja=f"#{where.name.ja}")
        return Recipient(place(where), audience(where), called.to(self._language), called=called)

    async def announce(self, channel: str, card: Card, *, about: str) -> None:
        """Post a card and its rows. Raises LookupError; ConnectionError when not all of it could be posted: the same
        call goes on."""
        context, _ = self._at_work()
        to = await self.find(channel)
        try:
            await digest.announce(context, to.place, card, about)
        except StoreError as error:
            raise ConnectionError("the database does not work") from error

    # -- writing -----------------------------------------------------------------------------------------------------

    async def say(
        self,
        member: Member,
        room: Room,
        text: str,
        thread: int | None = None,
        *,
        model: str | None = None,
        strategy: str | None = None,
        collections: Sequence[str] | None = None,
        files: Files = (),
        language: Language | None = None,
    ) -> RoomMessage | Card:
        """Write in a room, or in a thread by its root. A message that mentions the bot is a question, to be answered
        with what was chosen for it; `files` come with a question, for its thread only, or with `/ingest`, for the
        knowledge.

        `language` is that of the page it was written on. Returned is the message; of a command its card, for this
        member alone, in that language. Raises NotTakenError with
        the reason in words, ValueError for a message without words, that is too long, or with files and no mention."""
        context, asking = self._at_work()
        enter(room, member)
        typed = command(text)
        if typed is not None:
            return await self._typed(member, room, typed, thread, files, language or self._language)
        named = addressed(text)
        if not text.strip() or (files and not named):
            raise ValueError("a message needs words, and files a question")
        kept = await context.held.keep(files, FILES)
        chosen = {
            "model": model,
            "strategy": strategy,
            "collections": None if collections is None else [*collections],
            "language": language,
            "files": kept or None,
        }
        data = {name: value for name, value in chosen.items() if value is not None}
        try:
            message = await self.board.post(room, member, text.strip(), thread, data=data)
        except BaseException:
            await context.held.drop(kept)
            raise
        if named:
            await asking.ask(message)
        elif message.thread is not None and not await asking.follow_up(message):
            await digest.replied(context, message)
        return message

    async def edit(self, member: Member, message: int, text: str) -> RoomMessage:
        """New words for one's own message: a question is answered in those, and an answer it has is replaced. Raises
        LookupError, PermissionError, ValueError."""
        context, asking = self._at_work()
        before = await self.board.own(member, message)
        if not text.strip():
            raise ValueError("a message needs words")
        after = await self.board.edit(member, message, text.strip())
        await asking.edit(before, after)
        await digest.changed(context, after)
        return after

    async def delete(self, member: Member, message: int) -> None:
        """Take one's own message back; a question goes with its answer. Raises LookupError, PermissionError."""
        context, asking = self._at_work()
        before = await self.board.own(member, message)
        await asking.delete(before)
        await self.board.delete(member, message)
        await digest.changed(context, before, gone=True)
        await context.held.drop(before.data.get("files", ()))

    async def ask_person(self, member: Member, message: int, choice: str = "") -> AskReply:
        """Have a person asked what the bot was not sure of in this answer. Raises LookupError."""
        context, _ = self._at_work()
        answer = await self._kind(member, message, "answer")
        where = room(answer.room)
        return await asking.press(context.bot, answer.about or "", actor(member), place(where), audience(where), choice)

    # -- votes -------------------------------------------------------------------------------------------------------

    async def vote(
        self,
        member: Member,
        message: int,
        vote: feedback.Vote | None,
        reason: Complaint | None = None,
        text: str = "",
    ) -> bool:
        """Keep, change or (None) take back a member's vote on an answer. False: it is not known any more. Raises
        LookupError for what is no answer of theirs to see."""
        context, _ = self._at_work()
        answer = await self._kind(member, message, "answer")
        given = Feedback(answer.about or "", member.id, vote, reason, text[: feedback.TEXT_CHARACTERS])
        kept = await context.bot.turns.vote(given)
        await self.board.changed(answer)
        return kept is not None

    async def votes(self, member: Member, messages: Collection[int]) -> dict[int, Feedback]:
        """How this member voted on these answers. Raises LookupError."""
        found = {}
        for message in messages:
            answer = await self._kind(member, message, "answer")
            theirs = (vote for vote in await self._votes(answer.about or "") if vote.author == member.id)
            if (vote := next(theirs, None)) is not None:
                found[message] = vote
        return found

    # -- knowledge ---------------------------------------------------------------------------------------------------

    async def add_files(
        self,
        member: Member,
        room: Room,
        files: Files,
        collection: str = "",
        scope: str = "",
        thread: int | None = None,
        *,
        language: Language | None = None,
    ) -> RoomMessage:
        """Add files to the knowledge, where nothing is chosen as is usual in this room: the message that shows how far
        it is, then a verdict for each. Raises LookupError, NotTakenError with the reason in words."""
        context, _ = self._at_work()
        await self._into(member, room, thread)
        if not files:
            raise NotTakenError(shared_ingestion.NOTHING)
        kept = await context.held.keep(files)
        refs = [FileRef(ref["name"] or "?", ref) for ref in kept]
        try:
            return await ingestion.take(
                context,
                member,
                room,
                refs,
                collection=collection,
                scope=scope,
                thread=thread,
                language=language or self._language,
            )
        except BaseException:
            await context.held.drop(kept)
            raise

    async def add_text(
        self,
        member: Member,
        room: Room,
        text: str,
        thread: int | None = None,
        *,
        language: Language | None = None,
    ) -> RoomMessage:
        """`add_files`, for a text that was typed or pasted."""
        context, _ = self._at_work()
        await self._into(member, room, thread)
        said = language or self._language
        refs = [shared_ingestion.pasted(text, "", said)] if text.strip() else []
        return await ingestion.take(context, member, room, refs, thread=thread, language=said)

    async def scopes(self, member: Member, room: Room) -> tuple[str, ...]:
        """Those who may be allowed to read what this member adds here, the default first. Raises LookupError."""
        context, _ = self._at_work()
        enter(room, member)
        return context.bot.ingestion.scopes(actor(member), place(room), audience(room))

    async def collections(self, member: Member, room: Room) -> tuple[str, ...]:
        """The collections to choose from here, the default first. Raises LookupError."""
        context, _ = self._at_work()
        enter(room, member)
        return await context.bot.ingestion.collections(place(room), audience(room))

    # -- misses ------------------------------------------------------------------------------------------------------

    async def opened(self, member: Member, card: int) -> expert_answers.OpenedQuestion | Text:
        """The open questions of a card, for the form of an answer; or why nothing. Raises LookupError."""
        context, _ = self._at_work()
        return await digest.opened(context, await self._kind(member, card, "card"))

    async def teach(
        self,
        member: Member,
        card: int,
        answer: str,
        question: str = "",
        reference: int | None = None,
        chosen: expert_answers.Ticks = expert_answers.NO_TICKS,
    ) -> AnswerTaken:
        """Answer a card's question (None: the one it shows), maybe in better words. Raises LookupError."""
        context, _ = self._at_work()
        found = await self._kind(member, card, "card")
        return await digest.teach(context, member, found, answer, question, reference, chosen)

    async def dismiss(self, member: Member, card: int) -> AnswerTaken:
        """Close all questions of a card without an answer. Raises LookupError."""
        context, _ = self._at_work()
        return await digest.dismiss(context, member, await self._kind(member, card, "card"))

    async def save(self, member: Member, confirm: int, *, anew: bool = False) -> AnswerTaken:
        """Yes: the replies that this message asks about are the answer, or only those of `card_replies.anew`. Raises
        LookupError."""
        context, _ = self._at_work()
        return await digest.save(context, member, await self._kind(member, confirm, "confirm"), anew=anew)

    async def discard(self, member: Member, confirm: int) -> None:
        """No: the reply that this message asks about is not the answer, unless it is already. Raises LookupError."""
        context, _ = self._at_work()
        await digest.discard(context, await self._kind(member, confirm, "confirm"))

    # -- choices of a room -------------------------------------------------------------------------------------------

    async def preferences(self, member: Member, room: Room) -> Preferences:
        """The settings of a room: `steps` is never None. Raises LookupError."""
        context, _ = self._at_work()
        enter(room, member)
        return await context.bot.channels.preferences(place(room))

    async def prefer(self, member: Member, room: Room, chosen: Preferences) -> None:
        """Choose for a room. Raises LookupError; SettingsError for what does not exist."""
        context, _ = self._at_work()
        enter(room, member)
        await context.bot.channels.prefer(actor(member), place(room), chosen)

    # -- parts -------------------------------------------------------------------------------------------------------

    def _at_work(self) -> tuple[WebContext, WebTurns]:
        if self._context is None or self._asking is None:
            raise ConnectionError("the channel is not open")
        return self._context, self._asking

    async def _kind(self, member: Member, message: int, kind: str) -> RoomMessage:
        found = await self.board.get(member, message)
        if found.kind != kind:
            raise LookupError("there is no such message")
        return found

    async def _into(self, member: Member, room: Room, thread: int | None) -> None:
        """Raises LookupError where this member cannot write."""
        enter(room, member)
        if thread is not None and not await self.board.has_thread(room.id, thread):
            raise LookupError("there is no such thread")

    async def _typed(
        self, member: Member, room: Room, typed: Typed, thread: int | None, files: Files, language: Language
    ) -> RoomMessage | Card:
        context, _ = self._at_work()
        if typed.what == "ingest":
            if files and typed.text:
                raise NotTakenError(shared_ingestion.ONE_KIND)
            if files:
                return await self.add_files(member, room, files, thread=thread, language=language)
            return await self.add_text(member, room, typed.text, thread=thread, language=language)
        asked = Command(actor(member), place(room), audience(room), typed.name or "help", typed.text, language)
        return await context.bot.commands(asked)
