"""Tags on a forum's post: whether its question is answered. A forum without such tags, or one in which the bot may not
change them, keeps its posts as they are.

Source: product.md §1; discord.com/developers/docs/resources/channel (`applied_tags`, at most 5)."""

import logging

import discord

from adapters.discord.transport.api import DiscordApi
from adapters.port import PostError

log = logging.getLogger(__name__)

ANSWERED = frozenset({"answered", "solved", "resolved", "回答済み", "解決済み", "解決"})
OPEN = frozenset({"open", "unanswered", "unsolved", "unresolved", "未回答", "未解決", "受付中"})
_MOST = 5


def post_of(client: discord.Client, thread: str) -> discord.Thread | None:
    """The thread as a forum's post; None: it is none."""
    found = client.get_channel(int(thread)) if thread.isdecimal() else None
    return found if isinstance(found, discord.Thread) and isinstance(found.parent, discord.ForumChannel) else None


async def tag(client: discord.Client, rest: DiscordApi, thread: str, *, answered: bool) -> None:
    """Say so with the tags that the forum has, whose names are its own. Never raises."""
    post = post_of(client, thread)
    if post is None or not isinstance(post.parent, discord.ForumChannel):
        return
    wanted, other = (ANSWERED, OPEN) if answered else (OPEN, ANSWERED)
    new = [each for each in post.parent.available_tags if _name(each) in wanted][:1]
    kept = [each for each in post.applied_tags if _name(each) not in wanted | other]
    tags = [*kept[: _MOST - len(new)], *new]
    if {each.id for each in tags} == {each.id for each in post.applied_tags}:
        return
    try:
        await rest.call("tag", thread, lambda: post.edit(applied_tags=tags))
    except PostError as error:
        log.info("a forum's post keeps its tags: %s", error.code)


def _name(one: discord.ForumTag) -> str:
    return one.name.strip().casefold()
