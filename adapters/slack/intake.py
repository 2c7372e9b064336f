"""Files, texts and threads from Slack into the knowledge: fetched, and their progress shown in one message.

Source: product.md §5; reliability.md R28, R41 and R44.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from adapters import adding
from adapters.intakes import process
from adapters.slack import files
from adapters.slack.client import GoneError, Mark, Slack, SlackError, UnreachableError, UnsupportedError
from adapters.slack.events import readable
from adapters.slack.office import Office
from adapters.slack.widgets import Json, context, respond, say_once, section
from bot.types import FileRef, Intake, Post
from retrieval.loaders import Limits
from retrieval.text import Said
from retrieval.types import UnreadableError

MESSAGES = 1_000  # of a thread
EVERY_SECONDS = 2.0  # between two edits
_LINK = re.compile(
    r"https?://[\w.-]+\.slack(?:-gov)?\.com/archives/(?P<channel>[A-Z0-9]+)/p(?P<seconds>\d+)(?P<rest>\d{6})/?"
    r"(?:\?(?:[\w=&.%-]*&)?thread_ts=(?P<thread>\d+\.\d+)(?:&[\w=&.%-]*\w)?|\?[\w=&.%-]*\w)?",
    re.ASCII,
)
_FOREIGN = Said(en="it is somebody else's file", ja="ほかの人のファイルです")
_FAILED = Said(
    en="Slack did not say what this file is ({code}); try again later",
    ja="Slack からファイルの情報を取得できませんでした（{code}）。時間をおいてもう一度お試しください",
)


async def begin(office: Office, intake: Intake, response_url: str) -> None:
    """Work off what was just taken in. Where its progress cannot be shown, the verdicts go to `response_url`, if there is
    one; also after a restart, for as long as Slack takes answers there. Raises StoreError."""
    if response_url:
        data = {"response_url": response_url}
        await office.bot.outbox.reserve(Post(intake.id, "notice", 0, intake.place, intake.thread, data=data))
    office.tasks.start(resume(office, intake), "slack-intake")


async def resume(office: Office, intake: Intake) -> None:
    """Go on with an intake. Raises StoreError."""

    async def fetch(file: FileRef) -> bytes:
        return await _fetch(office, file)

    async def tell(done: Intake) -> None:
        for post in await office.bot.outbox.of(done.id):
            if post.kind == "notice":
                await respond(office, str(post.data["response_url"]), *shown.words(done))

    shown = _Progress(office, await office.places.name(intake.author))
    await process(office.bot, intake, fetch, shown.show, tell, seconds=EVERY_SECONDS, unreachable=UnreachableError)


class _Progress:
    """The message that shows how far an intake is."""

    def __init__(self, office: Office, author: str) -> None:
        self._office = office
        self._author = author
        self._posted: Post | None = None

    async def show(self, intake: Intake) -> None:
        """Raises SlackError, StoreError."""
        text, blocks = self.words(intake)
        new = self._posted is None
        if self._posted is None:
            post = Post(intake.id, "intake", 0, intake.place, intake.thread)
            self._posted = await say_once(self._office, post, text=text, blocks=blocks)
        if not new or intake.done:
            mark = Mark(intake.id, "intake", 0)
            channel, ts = intake.place.channel, self._posted.message or ""
            await self._office.slack.update(channel, ts, text=text, blocks=blocks, mark=mark, last=intake.done)

    def words(self, intake: Intake) -> tuple[str, list[Json]]:
        """Plain text for notifications, and blocks."""
        head, lines = adding.progress(intake)
        shown = lines[: adding.LINES]
        if len(lines) > len(shown):
            shown.append(adding.more(len(lines) - len(shown), intake.language))
        by = context(adding.added_by(self._author, intake.language))
        return head, [*map(section, (head, *shown)), by]


# -- what is fetched ------------------------------------------------------------------------------------------------


def file_refs(found: Sequence[Mapping[str, Any]], owner: str = "") -> tuple[FileRef, ...]:
    """Files as Slack describes them in a message or a modal; in a modal, only those of its `owner` are read."""
    return tuple(
        FileRef(
            str(file.get("name") or file.get("title") or file["id"]),
            {
                "file": str(file["id"]),
                **({"link": str(file["permalink"])} if file.get("permalink") else {}),
                **({"owner": owner} if owner else {}),
            },
        )
        for file in found
        if file.get("id")
    )


def link_target(text: str) -> tuple[str, str, str] | None:
    """Channel, message and its thread's root of `https://team.slack.com/archives/C1/p1234567890123456?thread_ts=…`."""
    found = _LINK.fullmatch(text.strip())
    if found is None:
        return None
    ts = f"{found['seconds']}.{found['rest']}"
    return found["channel"], ts, found["thread"] or ts


def links_in(text: str) -> list[str]:
    """The links to messages in a text, as they are written there."""
    return [found[0] for found in _LINK.finditer(text)]


async def message_at(slack: Slack, channel: str, ts: str, thread: str) -> Json | None:
    """One message as it is now. Raises SlackError."""
    body = await slack.call(
        "conversations.replies", channel=channel, ts=thread, oldest=ts, latest=ts, inclusive=True, limit=10
    )
    return next((one for one in body.get("messages") or () if one.get("ts") == ts and _is_said(one)), None)


async def _fetch(office: Office, file: FileRef) -> bytes:
    match dict(file.ref):
        case {"text": text}:
            return text.encode()
        case {"channel": channel, "thread": thread, "message": message}:
            return await _conversation(office, channel, thread, message)
        case {"file": file_id, "owner": owner}:
            return await files.download(office.slack, await _own(office.slack, file_id, owner), Limits().file)
        case {"file": file_id}:
            return await files.download(office.slack, {"id": file_id}, Limits().file)
        case _:
            raise UnreadableError(adding.NO_TEXT)


async def _own(slack: Slack, file_id: str, owner: str) -> Json:
    """A file, which somebody has to own who names it: the bot sees more than they do."""
    try:
        file: Json = (await slack.call("files.info", file=file_id)).get("file") or {}
    except (GoneError, UnsupportedError):
        return {"id": file_id}  # the download says in words why not
    except SlackError as error:
        raise UnreadableError(_FAILED, code=error.code) from None
    if file.get("user") != owner:
        raise UnreadableError(_FOREIGN)
    return file


async def _conversation(office: Office, channel: str, thread: str, message: str) -> bytes:
    """A thread as Markdown, with who wrote what and when; of a message inside of one, that message alone."""
    try:
        if message == thread:
            found = await office.slack.replies(channel, thread, limit=MESSAGES)
        else:
            one = await message_at(office.slack, channel, message, thread)
            found = [] if one is None else [one]
    except SlackError:
        raise UnreadableError(adding.MESSAGE_GONE) from None
    me, parts = office.slack.me, []
    for one in filter(_is_said, found):
        text = await office.places.named(readable(str(one.get("text") or ""), me.user))
        if text and one.get("user") != me.user:
            name = await office.places.name(str(one["user"])) if one.get("user") else str(one.get("username") or "bot")
            day = f"{datetime.fromtimestamp(float(one['ts']), UTC):%Y-%m-%d}"
            parts.append((day, f"**{name}** ({day}):\n\n{text}"))
    if not parts:
        raise UnreadableError(adding.NO_TEXT if found else adding.MESSAGE_GONE)
    return adding.dated(parts)


def _is_said(message: Mapping[str, Any]) -> bool:
    return message.get("subtype") != "tombstone"  # what is left of a deleted message that has replies


def thread_name(channel: str, ts: str, text: str) -> str:
    """The name of a message with its thread."""
    return adding.message_name(text, channel, f"{channel} {ts}", datetime.fromtimestamp(float(ts), UTC))
