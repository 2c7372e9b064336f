"""*Ask a person* under an answer, and what was asked back of whoever pressed it: both are said to them alone.

Source: product.md §4.
"""

import re
from collections.abc import Sequence
from functools import partial

import discord
from discord.ext import commands

from adapters.discord.context import DiscordContext
from adapters.discord.interactions import Gesture, Interactions, Told, pressable, spot_of
from adapters.discord.rendering.components import ASK, ask_button
from adapters.discord.rendering.markdown import escaped
from adapters.shared import asking


def register(client: commands.Bot, context: DiscordContext) -> None:
    """The button under every answer that was ever posted, and the one that goes on from it."""
    gestures = Interactions(context)

    def pressed(gesture: Gesture, found: re.Match[str]) -> None:
        gestures.do(gesture, partial(_ask, context, gesture, found["turn"], found["choice"]))

    client.add_dynamic_items(pressable(ASK, pressed))


async def _ask(context: DiscordContext, gesture: Gesture, turn: str, choice: str) -> Sequence[Told]:
    language, place = context.language_of(gesture.locale), spot_of(gesture).place
    actor = await context.places.actor(gesture)
    audience = await context.places.audience(place.channel, str(gesture.user.id))
    reply = await asking.press(context.bot, turn, actor, place, audience, choice)
    text = escaped(reply.text.to(language))
    if reply.offer is None:
        return (text,)
    view = discord.ui.View(timeout=None)
    view.add_item(ask_button(turn, reply.offer.to(language), reply.choice))
    return ((text, view),)
