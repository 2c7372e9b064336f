"""Messages outside of turns: each said once, whatever happens meanwhile, with buttons as Discord's payloads have them.

Source: reliability.md R6; discord.com/developers/docs/components/reference.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from adapters.discord.context import DiscordContext
from adapters.discord.events import DIRECT
from adapters.discord.transport.api import Mark
from adapters.markdown.events import shortened
from bot.types import Post

Json = dict[str, Any]
PRIMARY, SECONDARY, LINK = 1, 2, 5  # styles of buttons
LABEL, URL, ROW = 80, 512, 5


async def say_once(
    context: DiscordContext,
    post: Post,
    content: str,
    *,
    components: Sequence[Mapping[str, Any]] = (),
    reply_to: str | None = None,
    ping: str | None = None,
) -> Post:
    """Post it, unless it is there already; with its message's id. `ping`: the one person who is called by it.

    Raises PostError, StoreError.
    """
    before = await context.bot.outbox.reserve(post)
    if before is not None and before.message is not None:
        return before
    mark = Mark(post.about, post.kind, post.part)
    sent = await context.rest.post(
        channel_of(post),
        content,
        mark=mark,
        components=components,
        reply_to=reply_to,
        ping=ping,
        maybe_sent=before is not None,
    )
    posted = replace(post, message=sent.id)
    await context.bot.outbox.confirm(posted)
    return posted


def channel_of(post: Post) -> str:
    """The channel it stands in; a thread is one, and in direct messages there are none."""
    return post.thread if post.thread and post.place.workspace != DIRECT else post.place.channel


def button(label: str, custom_id: str, style: int = SECONDARY) -> Json:
    """`custom_id` has at most 100 characters."""
    return {"type": 2, "style": style, "label": shortened(label, LABEL), "custom_id": custom_id}


def link_button(label: str, url: str) -> Json:
    return {"type": 2, "style": LINK, "label": shortened(label, LABEL), "url": url}


def rows(buttons: Sequence[Json]) -> list[Json]:
    """Five to a row, five rows."""
    return [{"type": 1, "components": list(buttons[at : at + ROW])} for at in range(0, min(len(buttons), 25), ROW)]
