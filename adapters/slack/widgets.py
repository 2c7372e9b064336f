"""Slack's widgets in small parts, what is said to one person, and a message that is said once, whatever happens meanwhile.

Source: docs.slack.dev/reference/block-kit for the lengths.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from adapters.markdown import shortened
from adapters.slack.client import Mark, SlackError
from adapters.slack.dialect import escaped
from adapters.slack.office import Office
from bot.types import Post
from retrieval.text import Language, Said

log = logging.getLogger(__name__)

Json = dict[str, Any]

CLOSE = Said(en="Close", ja="閉じる")
CANCEL = Said(en="Cancel", ja="キャンセル")


async def say_once(office: Office, post: Post, *, text: str, blocks: Sequence[Json] = ()) -> Post:
    """Post it, unless it is there already; with its message's id. Raises SlackError, StoreError. Source: R6."""
    before = await office.bot.outbox.reserve(post)
    if before is not None and before.message is not None:
        return before
    return await say(office, post, text=text, blocks=blocks, maybe_sent=before is not None)


async def say(office: Office, post: Post, *, text: str, blocks: Sequence[Json] = (), maybe_sent: bool = False) -> Post:
    """Post what was written down before. Raises SlackError, StoreError."""
    mark = Mark(post.about, post.kind, post.part)
    ts = await office.slack.post(
        post.place.channel, text=text, blocks=blocks, thread=post.thread, mark=mark, maybe_sent=maybe_sent
    )
    posted = replace(post, message=ts)
    await office.bot.outbox.confirm(posted)
    return posted


async def whisper(office: Office, channel: str, user: str, text: str, thread: str | None = None) -> None:
    """Say something to one person. Never raises: whoever cannot be told has left."""
    try:
        await office.slack.ephemeral(channel, user, text=escaped(text), thread=thread)
    except SlackError as error:
        log.info("somebody could not be told something: %s", error.code)


async def respond(office: Office, url: str, text: str, blocks: Sequence[Json] = ()) -> None:
    """Answer a gesture at its response_url. Never raises: it is good for half an hour."""
    try:
        await office.slack.respond(url, text=escaped(text), blocks=blocks)
    except SlackError as error:
        log.warning("a command could not be answered: %s", error.code)


def plain(text: str, limit: int = 3_000) -> Json:
    """Text that Slack shows as it is: no mention, no link and no emoji comes out of what people wrote."""
    return {"type": "plain_text", "text": shortened(text, limit) or " ", "emoji": False}


def section(text: str) -> Json:
    return {"type": "section", "text": plain(text)}


def context(*texts: str) -> Json:
    """Small print; at most ten texts."""
    return {"type": "context", "elements": [plain(text) for text in texts[:10]]}


def button(text: str, action: str, value: str, **more: Any) -> Json:
    return {"type": "button", "text": plain(text, 75), "action_id": action, "value": value, **more}


def input_block(block: str, label: str, element: Mapping[str, Any], *, optional: bool = False, hint: str = "") -> Json:
    """A field of a modal; its value is found under `block` and the element's action_id."""
    shown: Json = {
        "type": "input",
        "block_id": block,
        "label": plain(label, 2_000),
        "element": dict(element),
        "optional": optional,
    }
    return shown | {"hint": plain(hint, 2_000)} if hint else shown


def modal(callback: str, title: str, submit: str, close: str, blocks: Sequence[Json], metadata: str = "") -> Json:
    """A view for `views.open`, with fields to fill in."""
    titles = {name: plain(text, 24) for name, text in (("title", title), ("submit", submit), ("close", close))}
    return {
        "type": "modal",
        "callback_id": callback,
        **titles,
        "blocks": list(blocks),
        "private_metadata": metadata,
    }


def notice_modal(text: str, language: Language) -> Json:
    """A view that only says something."""
    return {
        "type": "modal",
        "title": plain("Kotae", 24),
        "close": plain(CLOSE.to(language), 24),
        "blocks": [section(text)],
    }
