"""Files, texts and threads from Discord into the knowledge: fetched, and their progress shown in one message.

Source: product.md §5; reliability.md R34, R41 and R44.
"""

from collections.abc import Awaitable, Callable, Sequence

import discord

from adapters import adding
from adapters.discord.dialect import escaped
from adapters.discord.errors import GoneError, UnreachableError
from adapters.discord.events import link, readable
from adapters.discord.files import ExpiredError, download
from adapters.discord.office import Office
from adapters.discord.posting import channel_of, say_once
from adapters.discord.reading import channel_at, day, message_at, said_by, thread_at, transcript
from adapters.intakes import process
from adapters.port import PostError
from bot.types import FileRef, Intake, Post
from retrieval.loaders import Limits
from retrieval.text import Said
from retrieval.types import UnreadableError

CONTENT = 2_000
EVERY_SECONDS = 1.5  # between two edits
_ROOM = 150  # for what stands under the verdicts

_UNREACHABLE = Said(
    en="Discord could not be asked ({code}). Try again later.",
    ja="Discord に問い合わせできませんでした（{code}）。時間をおいてもう一度お試しください。",
)

Told = Callable[[Sequence[str]], Awaitable[None]]


async def resume(office: Office, intake: Intake, told: Told | None = None) -> None:
    """Work an intake off. Where its progress cannot be shown, what became of it is `told`, if somebody can be."""

    async def fetch(file: FileRef) -> bytes:
        return await _fetch(office, file)

    async def tell(done: Intake) -> None:
        if told is not None:
            await told((shown.text(done),))

    shown = _Progress(office, await office.places.name(intake.author))
    await process(office.bot, intake, fetch, shown.show, tell, seconds=EVERY_SECONDS, unreachable=UnreachableError)


class _Progress:
    """The message that shows how far an intake is."""

    def __init__(self, office: Office, author: str) -> None:
        self._office = office
        self._author = author
        self._posted: Post | None = None

    async def show(self, intake: Intake) -> None:
        """Raises PostError, StoreError."""
        text = self.text(intake)
        new = self._posted is None
        if self._posted is None:
            post = Post(intake.id, "intake", 0, intake.place, intake.thread)
            self._posted = await say_once(self._office, post, text)
        if not new or intake.done:
            await self._office.rest.edit(channel_of(self._posted), self._posted.message or "", text)

    def text(self, intake: Intake) -> str:
        head, lines = adding.progress(intake)
        by = f"-# {escaped(adding.added_by(self._author, intake.language))}"
        shown = [head]
        for number, line in enumerate(map(escaped, lines)):
            if number >= adding.LINES or sum(map(len, shown)) + len(shown) + len(line) + len(by) + _ROOM > CONTENT:
                shown.append(escaped(adding.more(len(lines) - number, intake.language)))
                break
            shown.append(line)
        return "\n".join((*shown, by))


# -- what is fetched ------------------------------------------------------------------------------------------------


def message_refs(message: discord.Message, workspace: str, me: int, *, thread: int | None) -> tuple[FileRef, ...]:
    """The text of a message, with the replies in its `thread`, and its files; empty: there is nothing to be read."""
    where = {"channel": str(message.channel.id), "message": str(message.id)}
    where["link"] = link(workspace, where["channel"], where["message"])
    text = readable(message, me) if message.author.id != me else ""
    refs: list[FileRef] = []
    if text or thread is not None:
        name = adding.message_name(
            text, where["message"], " ".join((where["channel"], where["message"])), message.created_at
        )
        own = said_by(message.author.display_name, day(message), text) if text else ""
        refs.append(FileRef(name, {**where, "text": own, **({} if thread is None else {"thread": str(thread)})}))
    refs += [FileRef(one.filename, {**where, "url": one.url, "attachment": str(one.id)}) for one in message.attachments]
    return tuple(refs)


def thread_refs(thread: discord.Thread, workspace: str) -> tuple[FileRef, ...]:
    """All that was said in a thread."""
    address = link(workspace, str(thread.id), str(thread.id))
    at = discord.utils.snowflake_time(thread.id)
    name = adding.message_name(thread.name, str(thread.id), str(thread.id), at)
    return (FileRef(name, {"thread": str(thread.id), "text": "", "link": address.rpartition("/")[0]}),)


async def _fetch(office: Office, file: FileRef) -> bytes:
    ref = file.ref
    if "url" in ref:
        return await _attachment(office, file)
    if ref.keys().isdisjoint({"message", "thread"}):  # it was pasted
        return ref["text"].encode()
    parts = []
    if ref["text"]:
        parts.append((f"{discord.utils.snowflake_time(int(ref['message'])):%Y-%m-%d}", ref["text"]))
    if "thread" in ref:
        parts += await _replies(office, ref["thread"], ref.get("message", ""))
    if not parts:
        raise UnreadableError(adding.NO_TEXT)
    return adding.dated(parts)


async def _attachment(office: Office, file: FileRef) -> bytes:
    """Addresses expire; of a file in a message that is still there Discord gives a new one."""
    try:
        return await download(file.ref["url"], Limits().file)
    except ExpiredError:
        if "message" not in file.ref:
            raise
        try:
            channel = await channel_at(office.rest, office.client, int(file.ref["channel"]))
            message = await message_at(office.rest, channel, int(file.ref["message"]))
        except PostError:
            message = None
        found = [one for one in message.attachments if str(one.id) == file.ref["attachment"]] if message else []
        if not found:
            raise
        return await download(found[0].url, Limits().file)


async def _replies(office: Office, thread: str, root: str) -> list[tuple[str, str]]:
    try:
        channel = await channel_at(office.rest, office.client, int(thread))
        found = await thread_at(office.rest, channel)
    except GoneError:
        raise UnreadableError(adding.MESSAGE_GONE) from None
    except PostError as error:
        raise UnreadableError(_UNREACHABLE, code=error.code) from None
    return transcript((message for message in found if str(message.id) != root), office.me)
