"""Files, texts and threads from Slack into the knowledge: fetched, and their progress shown in one message.

Source: product.md §5; reliability.md R41 and R44.
"""

import logging
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from adapters.port import Fetch
from adapters.slack import files
from adapters.slack.client import GoneError, Mark, SlackError
from adapters.slack.dialect import escaped
from adapters.slack.events import readable
from adapters.slack.office import Office
from adapters.slack.widgets import Json, say_once, section, shortened
from adapters.verdicts import verdict_line
from bot.messages import FileRef, Intake, Post
from retrieval.loaders import Limits
from retrieval.text import Language, Said
from retrieval.types import UnreadableError

log = logging.getLogger(__name__)

MESSAGES = 1_000  # of a thread
LINES = 25  # verdicts that one message shows
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
_NO_TEXT = Said(en="there is no text in it", ja="テキストがありません")
_GONE = Said(en="Slack no longer gives this file ({code})", ja="Slack からこのファイルを取得できません（{code}）")


async def resume(office: Office, intake: Intake, response_url: str | None = None) -> None:
    """Work an intake off. Where the bot may not post, the verdicts go to `response_url`, or nowhere."""

    async def fetch(file: FileRef) -> bytes:
        return await _fetch(office, file)

    posted: Post | None = None
    try:
        async with aclosing(office.desk.work_off(intake, fetch)) as states:
            async for state in states:
                text, blocks = _shown(state)
                if posted is None:
                    post = Post(state.id, "intake", 0, state.place, state.thread)
                    posted = await say_once(office, post, text=text, blocks=blocks)
                if posted.message is not None:
                    ts, mark = posted.message, Mark(state.id, "intake", 0)
                    await office.slack.update(
                        state.place.channel, ts, text=text, blocks=blocks, mark=mark, last=state.done
                    )
    except GoneError as error:
        log.info("the progress of an intake cannot be shown (%s)", error.code)
        await _unseen(office, intake, fetch, response_url)
    except SlackError as error:
        log.warning("the progress of an intake could not be shown (%s); trying again later", error.code)


async def _unseen(office: Office, intake: Intake, fetch: Fetch, response_url: str | None) -> None:
    """The same without a message in the channel."""
    latest = intake
    async with aclosing(office.desk.work_off(intake, fetch)) as states:
        async for state in states:
            latest = state
    if response_url is not None:
        text, blocks = _shown(latest)
        await office.slack.respond(response_url, text=text, blocks=blocks)


def _shown(intake: Intake) -> tuple[str, list[Json]]:
    """Text for notifications, and blocks."""
    verdicts = [file.verdict for file in intake.files if file.verdict is not None]
    bad = sum(verdict.status == "refused" for verdict in verdicts)
    if intake.done:
        head = _DONE.to(intake.language, ok=len(verdicts) - bad, bad=bad)
    else:
        head = _HEAD.to(intake.language, done=len(verdicts), total=len(intake.files))
    lines = [verdict_line(verdict, intake.language) for verdict in verdicts]
    if len(lines) > LINES:
        lines = [*lines[:LINES], _MORE.to(intake.language, n=len(lines) - LINES)]
    by = _BY.to(intake.language, who=f"<@{intake.author}>")
    blocks: list[Json] = [section(head)]
    blocks += [section(shortened(line, 500)) for line in lines]
    blocks.append({"type": "context", "elements": [{"type": "mrkdwn", "text": by, "verbatim": True}]})
    return escaped(head), blocks


# -- what is fetched ------------------------------------------------------------------------------------------------


def file_refs(found: Sequence[Mapping[str, Any]]) -> tuple[FileRef, ...]:
    """Files as Slack describes them in a message or a modal."""
    return tuple(
        FileRef(
            str(file.get("name") or file.get("title") or file["id"]),
            {"file": str(file["id"]), **({"link": str(file["permalink"])} if file.get("permalink") else {})},
        )
        for file in found
        if file.get("id")
    )


def link_target(text: str) -> tuple[str, str, str] | None:
    """Channel, message and its thread's root of `https://team.slack.com/archives/C1/p1234567890123456?thread_ts=…`."""
    address = urlsplit(text.strip().strip("<>").partition("|")[0])
    parts = address.path.split("/")
    if address.scheme not in ("https", "http") or len(parts) < 4 or parts[1] != "archives":
        return None
    channel, point = parts[2], parts[3]
    if not (channel.isalnum() and point[:1] == "p" and point[1:].isdecimal() and len(point) > 7):
        return None
    ts = f"{point[1:-6]}.{point[-6:]}"
    given = dict(pair.partition("=")[::2] for pair in address.query.split("&"))
    thread = given.get("thread_ts", ts)
    return channel, ts, thread if thread.replace(".", "").isdecimal() else ts


async def _fetch(office: Office, file: FileRef) -> bytes:
    match dict(file.ref):
        case {"text": text}:
            return text.encode()
        case {"channel": channel, "thread": thread, "message": message}:
            return await _conversation(office, channel, thread, message)
        case {"file": file_id}:
            try:
                info = (await office.slack.call("files.info", file=file_id)).get("file") or {}
            except SlackError as error:
                raise UnreadableError(_GONE, code=error.code) from None
            return await files.download(office.slack, info, Limits().file)
        case _:
            raise UnreadableError(_NO_TEXT)


async def _conversation(office: Office, channel: str, thread: str, message: str) -> bytes:
    """A thread as Markdown, with who wrote what and when; of a message inside of one, that message alone."""
    try:
        found = await office.slack.replies(channel, thread, limit=MESSAGES)
    except SlackError:
        raise UnreadableError(_NO_MESSAGE) from None
    wanted = found if message == thread else [one for one in found if one.get("ts") == message]
    me, parts = office.slack.me, []
    for one in wanted:
        text = readable(str(one.get("text") or ""), me.user)
        if text and one.get("user") != me.user:
            name = await office.places.name(str(one["user"])) if one.get("user") else str(one.get("username") or "bot")
            at = datetime.fromtimestamp(float(one["ts"]), UTC)
            parts.append(f"**{name}** ({at:%Y-%m-%d}):\n\n{text}")
    if not parts:
        raise UnreadableError(_NO_TEXT if wanted else _NO_MESSAGE)
    return "\n\n".join(parts).encode()


def thread_name(channel: str, text: str, language: Language) -> str:
    """A name that people recognise: the thread's first words."""
    words = " ".join(text.split())
    return f"{shortened(words, 60) or channel}.md".replace("/", "／")
