"""Rooms of the browser's channel, as the bot is told of them."""

from adapters.web.channel.rooms import audience, place, room
from bot.types import Audience, Place


def spot(name: str) -> tuple[Place, Audience]:
    """A room and who reads it."""
    return place(room(name)), audience(room(name))
