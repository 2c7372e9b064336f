"""*Ask a person* under an answer, and what was asked back of whoever pressed it: both are said to them alone.

Source: product.md §4.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import discord
from discord.ext import commands

from adapters.discord.context import DiscordContext
from adapters.discord.interactions import Gesture, Interactions, Told, spot_of
from adapters.discord.rendering.components import ASK, ask_button
from adapters.discord.rendering.markdown import escaped
from adapters.shared import asking


def register(client: commands.Bot, context: DiscordContext) -> None:
    """The button under every answer that was ever posted, and the one that goes on from it."""
    gestures = Interactions(context)

    class AskButton(discord.ui.DynamicItem["discord.ui.Button[Any]"], template=ASK):
        def __init__(self, turn: str, choice: str) -> None:
            super().__init__(ask_button(turn, asking.LABEL.to(context.language), choice))
            self.turn = turn
            self.choice = choice

        @classmethod
        async def from_custom_id(cls, gesture: Gesture, item: discord.ui.Item[Any], match: Any, /) -> "AskButton":
            return cls(match["turn"], match["choice"] or "")

        async def callback(self, gesture: Gesture) -> None:
            gestures.do(gesture, partial(_ask, context, gesture, self.turn, self.choice))

    client.add_dynamic_items(AskButton)


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
