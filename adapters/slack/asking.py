"""*Ask a person* under an answer, and what was asked back of whoever pressed it: both are said to them alone.

Source: product.md §4; docs.slack.dev chat.postEphemeral.
"""

import asyncio
from functools import partial

from slack_bolt.app.async_app import AsyncApp

from adapters.shared import asking
from adapters.slack.context import SlackContext
from adapters.slack.rendering.block_kit import ASK, CHOOSE, Json, button, whisper
from adapters.slack.transport.acks import on_press


def register(app: AsyncApp, context: SlackContext) -> None:
    for pressed in (ASK, CHOOSE):
        on_press(app, context, pressed, partial(_ask, context), "slack-ask")


async def _ask(context: SlackContext, body: Json, value: str) -> None:
    """`value`: the turn, and what was chosen of what was asked back."""
    turn, _, choice = value.partition(" ")
    user, channel = body["user"]["id"], body["channel"]["id"]
    thread = body.get("message", {}).get("thread_ts") or body["container"].get("thread_ts")
    language, actor, audience = await asyncio.gather(
        context.language_of(user), context.places.actor(user), context.places.audience(channel, user)
    )
    reply = await asking.press(context.bot, turn, actor, context.place(channel), audience, choice)
    text = reply.text.to(language)
    chosen = f"{turn} {reply.choice}"
    offer = button(reply.offer.to(language), CHOOSE, chosen, style="primary") if reply.offer else None
    await whisper(context, channel, user, text, thread, offer)
