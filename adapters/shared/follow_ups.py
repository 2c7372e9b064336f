"""Whether what somebody writes in the bot's own thread, without a mention, goes on with their conversation.

Talk between people is left alone: as soon as somebody else writes there, the bot has to be mentioned again. What is no
follow-up is neither stored nor shown to a model. Source: product.md §1.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from adapters.port import PostError
from agent.routing.router import route
from bot.bot import Bot
from bot.types import Actor, Incoming

log = logging.getLogger(__name__)

LOOKUP_SECONDS = 1.5  # for who writes in the thread: the event waits to be acknowledged

Look = Callable[[], Awaitable[bool]]


async def is_follow_up(bot: Bot, message: Incoming, *, actor: Callable[[], Awaitable[Actor]], shared: Look) -> bool:
    """Whether a message that mentions nobody goes on from an answer. `actor`: its author; `shared`: whether somebody
    else, bots aside, has written in its thread; what cannot be looked up in time is not alone with the bot. Raises
    StoreError."""
    if message.thread == message.message or not says_something(message.text):
        return False
    if not await bot.turns.goes_on(message) or (await bot.channels.preferences(message.place)).follow == "mentions":
        return False
    try:
        async with asyncio.timeout(LOOKUP_SECONDS):
            return (await actor()).role != "outsider" and not await shared()
    except (PostError, TimeoutError) as error:
        log.info("who writes in a thread could not be looked up (%s): it takes a mention there", type(error).__name__)
        return False


def says_something(text: str) -> bool:
    """More than thanks, a greeting, a farewell or emoji."""
    return route(text).kind in ("team", "arithmetic")
