"""Messages outside of turns: each said once, whatever happens meanwhile. Source: reliability.md R6."""

from dataclasses import replace

from adapters.discord.context import DiscordContext
from adapters.discord.events import DIRECT
from adapters.discord.transport.api import Buttons, Mark
from bot.types import Post


async def say_once(
    context: DiscordContext,
    post: Post,
    content: str,
    *,
    buttons: Buttons = (),
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
        buttons=buttons,
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
