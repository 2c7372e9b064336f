"""👍 and 👎 under an answer; after a 👎 a modal asks what was wrong. The vote counts before the modal is filled in.

What is typed into the modal is read from the event itself, so a restart meanwhile loses nothing.
Source: product.md §4; reliability.md R19 and R34.
"""

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import discord
from discord.ext import commands

from adapters.discord.context import DiscordContext
from adapters.discord.events import Thumb
from adapters.discord.interactions import Gesture, Interactions, pressable, spot_of
from adapters.discord.rendering.components import REPORT, TEMPLATE, given
from adapters.shared import feedback as votes
from bot.texts import COMPLAINTS
from bot.types import Complaint, Feedback, Place
from retrieval.i18n import Language


def register(client: commands.Bot, context: DiscordContext) -> None:
    """Both buttons, under every answer that was ever posted, and the modal behind the second."""
    gestures = Interactions(context, matters=False)  # a vote counts, whatever its author sees of it

    def pressed(gesture: Gesture, found: re.Match[str]) -> None:
        if found["vote"] == "up":
            gestures.do(gesture, partial(_up, context, gesture, found["turn"]))
        else:
            gestures.ask(gesture, partial(_down, context, gesture, found["turn"]))

    client.add_dynamic_items(pressable(TEMPLATE, pressed))

    @client.listen("on_interaction")
    async def submitted(gesture: Gesture) -> None:
        data: Any = gesture.data or {}
        custom_id = str(data.get("custom_id") or "")
        if gesture.type is discord.InteractionType.modal_submit and custom_id.startswith(REPORT):
            filled = given(data)
            work = partial(_report, context, gesture, custom_id.removeprefix(REPORT), filled["reason"], filled["text"])
            gestures.do(gesture, work)


async def react(context: DiscordContext, place: Place, thumb: Thumb) -> None:
    """A thumb among the reactions of an answer is a vote, too. Raises StoreError."""
    post = await context.bot.outbox.find(place, thumb.message)
    await votes.react(context.bot, post, thumb.author, thumb.vote, thumb.thumb)


async def _up(context: DiscordContext, gesture: Gesture, turn: str) -> Sequence[str]:
    kept = await _vote(context, gesture, turn, "up")
    return ((votes.THANKS if kept else votes.NOT_FOUND).to(context.language_of(gesture.locale)),)


async def _down(context: DiscordContext, gesture: Gesture, turn: str) -> discord.ui.Modal | str:
    language = context.language_of(gesture.locale)
    kept = await _vote(context, gesture, turn, "down")
    return _modal(turn, language) if kept else votes.NOT_FOUND.to(language)


async def _report(context: DiscordContext, gesture: Gesture, turn: str, chosen: str, text: str) -> Sequence[str]:
    kept = await _vote(context, gesture, turn, "down", votes.reason(chosen), text)
    return ((votes.NOTED if kept else votes.NOT_FOUND).to(context.language_of(gesture.locale)),)


async def _vote(
    context: DiscordContext,
    gesture: Gesture,
    turn: str,
    vote: votes.Vote,
    reason: Complaint | None = None,
    text: str = "",
) -> bool:
    """Raises StoreError."""
    message = str(gesture.message.id) if gesture.message else ""
    feedback = Feedback(turn, str(gesture.user.id), vote, reason, text)
    return await votes.press(context.bot, spot_of(gesture).place, message, feedback)


def _modal(turn: str, language: Language) -> discord.ui.Modal:
    modal = discord.ui.Modal(title=votes.TITLE.to(language), custom_id=REPORT + turn, timeout=None)
    reasons = [discord.RadioGroupOption(label=said.to(language), value=reason) for reason, said in COMPLAINTS.items()]
    reason: Any = discord.ui.RadioGroup(custom_id="reason", options=reasons, required=False)
    text: Any = discord.ui.TextInput(
        custom_id="text", style=discord.TextStyle.paragraph, max_length=votes.TEXT_CHARACTERS, required=False
    )
    modal.add_item(discord.ui.Label(text=votes.WHY.to(language), component=reason))
    modal.add_item(discord.ui.Label(text=votes.TEXT.to(language), component=text))
    return modal
