"""Messages outside of turns: each said once, whatever happens meanwhile. Source: reliability.md R6."""

from dataclasses import replace

import discord

from adapters.discord.context import DiscordContext
from adapters.discord.events import DIRECT, PLATFORM
from adapters.discord.rendering.components import heading
from adapters.discord.transport.api import Buttons, Mark
from adapters.markdown.events import shortened
from bot.types import Card, Place, Post

_POST_TITLE = 100  # characters. Source: discord-api-docs, resources/channel


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
    return await context.bot.outbox.posted(replace(post, message=sent.id))


async def say_alone(context: DiscordContext, about: str, user: str, content: str, *, part: int = 0) -> None:
    """Say it once to one person, in their conversation with the bot. Raises PostError, StoreError."""
    direct = Place(PLATFORM, DIRECT, await context.rest.direct(user))
    await say_once(context, Post(about, "notice", part, direct), content)


async def post_once(context: DiscordContext, forum: discord.ForumChannel, card: Card, about: str) -> None:
    """A card as a forum's post, unless one of the bot's with its title is open there. Raises PostError, StoreError."""
    post = Post(about, "digest", 0, Place(PLATFORM, str(forum.guild.id), str(forum.id)))
    before = await context.bot.outbox.reserve(post)
    if before is not None and before.message is not None:
        return
    title = shortened(card.title, _POST_TITLE)
    tags = [each for each in forum.available_tags if not each.moderated][:1] if forum.flags.require_tag else []

    async def begin() -> int:
        for one in await forum.guild.active_threads():
            if (one.parent_id, one.owner_id, one.name) == (forum.id, context.me, title):
                return one.id
        nobody = discord.AllowedMentions.none()
        made = await forum.create_thread(
            name=title, content=heading(card), applied_tags=tags, allowed_mentions=nobody, suppress_embeds=True
        )
        return made.thread.id

    made = await context.rest.call("post", str(forum.id), begin)
    await context.bot.outbox.confirm(replace(post, message=str(made)))


def channel_of(post: Post) -> str:
    """The channel that a post stands in; a thread is one, and in direct messages there are none."""
    return post.thread if post.thread and post.place.workspace != DIRECT else post.place.channel
