"""*Ask a person* under an answer, and what was asked back of whoever pressed it: both are said to them alone.

Source: product.md §4; docs.slack.dev chat.postEphemeral.
"""

from functools import partial

from slack_bolt.app.async_app import AsyncApp

from adapters.shared import asking
from adapters.slack.context import SlackContext
from adapters.slack.rendering.block_kit import ASK, CHOOSE, Json, button, whisper
from adapters.slack.transport.acks import on_press, thread_of


def register(app: AsyncApp, context: SlackContext) -> None:
    for pressed in (ASK, CHOOSE):
        on_press(app, context, pressed, partial(_ask, context), "slack-ask")


async def _ask(context: SlackContext, body: Json, value: str) -> None:
    """`value`: the turn, and what was chosen of what was asked back."""
    turn, _, choice = value.partition(" ")
    user, channel = body["user"]["id"], body["channel"]["id"]
    language, actor, audience = await context.author(channel, user)
    reply = await asking.press(context.bot, turn, actor, context.place(channel), audience, choice)
    text = reply.text.to(language)
    chosen = f"{turn} {reply.choice}"
    offer = button(reply.offer.to(language), CHOOSE, chosen, style="primary") if reply.offer else None
    await whisper(context, channel, user, text, thread_of(body), offer)
