"""Files, texts and threads from Slack into the knowledge: fetched, and their progress shown in one message.

Source: product.md §5; reliability.md R28, R41 and R44.
"""

import asyncio
import hashlib
import logging
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

from adapters.slack import files
from adapters.slack.client import GoneError, Mark, Slack, SlackError, UnreachableError, UnsupportedError
from adapters.slack.events import readable
from adapters.slack.office import Office
from adapters.slack.widgets import Json, context, respond, say_once, section, shortened
from adapters.verdicts import verdict_line
from bot.messages import FileRef, Intake, Post, Verdict
from retrieval.loaders import Limits
from retrieval.text import Said
from retrieval.types import UnreadableError

log = logging.getLogger(__name__)

MESSAGES = 1_000  # of a thread
LINES = 25  # verdicts that one message shows
LINE, NAME = 330, 80  # characters of one, and of the file's name in it: Slack counts all blocks of a message together
EVERY_SECONDS = 2.0  # between two edits; the last one is not waited with
_HEAD = Said(en="📥 Reading {done} of {total} …", ja="📥 読み込み中（{done}/{total}）…")
_DONE = Said(
    en="📥 Done: {ok} added or up to date, {bad} refused.",
    ja="📥 完了しました: 追加・更新 {ok}件、追加できなかったもの {bad}件。",
)
_MORE = Said(en="… and {n} more", ja="… ほか {n}件")
_BY = Said(en="Added by {who}", ja="追加した人: {who}")
_NO_MESSAGE = Said(
    en="the message cannot be read; it may be deleted, or I am not in its channel",
    ja="メッセージを読めません。削除されたか、チャンネルに私が参加していない可能性があります",
)
_FOREIGN = Said(en="it is somebody else's file", ja="ほかの人のファイルです")
_FAILED = Said(
    en="Slack did not say what this file is ({code}); try again later",
    ja="Slack からファイルの情報を取得できませんでした（{code}）。時間をおいてもう一度お試しください",
)
_NO_TEXT = Said(
    en="there is no text in it; what I have written myself does not count",
    ja="テキストがありません（私自身の投稿は対象外です）",
)


async def resume(office: Office, intake: Intake, response_url: str = "") -> None:
    """Work an intake off. Where its progress cannot be shown, the verdicts go to `response_url`, if there is one.

    What could not be shown for a reason that passes is left for the next look; no file is read twice.
    """

    async def fetch(file: FileRef) -> bytes:
        return await _fetch(office, file)

    shown = _Progress(office, await office.places.name(intake.author))
    async with aclosing(office.desk.work_off(intake, fetch)) as states:
        async for intake in states:
            try:
                await shown.show(intake)
            except UnreachableError as error:
                log.warning("the progress of an intake could not be shown: %s", error.code)
                if intake.done:
                    return
            except SlackError as error:
                log.info("the progress of an intake cannot be shown: %s", error.code)
                shown.possible = False
    if not shown.possible and intake.done and response_url:
        await respond(office, response_url, *shown.words(intake))


class _Progress:
    """The message that shows how far an intake is. `possible`: the bot may post where it belongs."""

    def __init__(self, office: Office, author: str) -> None:
        self._office = office
        self._author = author
        self._posted: Post | None = None
        self._next = 0.0
        self.possible = True

    async def show(self, intake: Intake) -> None:
        """Raises SlackError, StoreError."""
        now = asyncio.get_running_loop().time()
        if not self.possible or (now < self._next and not intake.done):
            return
        text, blocks = self.words(intake)
        new = self._posted is None
        if self._posted is None:
            post = Post(intake.id, "intake", 0, intake.place, intake.thread)
            self._posted = await say_once(self._office, post, text=text, blocks=blocks)
        if not new or intake.done:
            mark = Mark(intake.id, "intake", 0)
            channel, ts = intake.place.channel, self._posted.message or ""
            await self._office.slack.update(channel, ts, text=text, blocks=blocks, mark=mark, last=intake.done)
        self._next = now + EVERY_SECONDS

    def words(self, intake: Intake) -> tuple[str, list[Json]]:
        """Plain text for notifications, and blocks."""
        verdicts = [file.verdict for file in intake.files if file.verdict is not None]
        bad = sum(verdict.status == "refused" for verdict in verdicts)
        if intake.done:
            head = _DONE.to(intake.language, ok=len(verdicts) - bad, bad=bad)
        else:
            head = _HEAD.to(intake.language, done=len(verdicts), total=len(intake.files))
        lines = [_line(verdict, intake) for verdict in verdicts[:LINES]]
        if len(verdicts) > LINES:
            lines.append(_MORE.to(intake.language, n=len(verdicts) - LINES))
        by = context(_BY.to(intake.language, who=shortened(self._author, NAME)))
        return head, [*map(section, (head, *lines)), by]


def _line(verdict: Verdict, intake: Intake) -> str:
    return shortened(verdict_line(replace(verdict, name=shortened(verdict.name, NAME)), intake.language), LINE)


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
    try:
        address = urlsplit(text.strip())
    except ValueError:
        return None
    parts = address.path.split("/")
    if address.scheme not in ("https", "http") or len(parts) < 4 or parts[1] != "archives":
        return None
    channel, point = parts[2], parts[3]
    if not (channel.isalnum() and point[:1] == "p" and point[1:].isdecimal() and len(point) > 7):
        return None
    ts = f"{point[1:-6]}.{point[-6:]}"
    thread = parse_qs(address.query).get("thread_ts", [ts])[0]
    return channel, ts, thread if thread.replace(".", "", 1).isdecimal() else ts


def is_address(text: str) -> bool:
    return text.startswith(("https://", "http://")) and len(text.split()) == 1


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
            raise UnreadableError(_NO_TEXT)


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
        raise UnreadableError(_NO_MESSAGE) from None
    me, parts = office.slack.me, []
    for one in filter(_is_said, found):
        text = await office.places.named(readable(str(one.get("text") or ""), me.user))
        if text and one.get("user") != me.user:
            name = await office.places.name(str(one["user"])) if one.get("user") else str(one.get("username") or "bot")
            at = datetime.fromtimestamp(float(one["ts"]), UTC)
            parts.append(f"**{name}** ({at:%Y-%m-%d}):\n\n{text}")
    if not parts:
        raise UnreadableError(_NO_TEXT if found else _NO_MESSAGE)
    return "\n\n".join(parts).encode()


def _is_said(message: Mapping[str, Any]) -> bool:
    return message.get("subtype") != "tombstone"  # what is left of a deleted message that has replies


def thread_name(channel: str, ts: str, text: str) -> str:
    """A name that people recognise, and that no other message has: its first words, its day and a short hash."""
    words = shortened(" ".join(text.split()), 60).replace("/", "／")
    day = datetime.fromtimestamp(float(ts), UTC)
    return f"{words or channel} ({day:%Y-%m-%d} {hashlib.sha256(f'{channel} {ts}'.encode()).hexdigest()[:4]}).md"
