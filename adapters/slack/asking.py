"""*Ask a person* under an answer, and what was asked back of whoever pressed it: both are said to them alone.

Source: product.md §4; docs.slack.dev chat.postEphemeral.
"""

import logging
from functools import partial

from slack_bolt.app.async_app import AsyncApp

from adapters.shared import asking
from adapters.slack.context import SlackContext
from adapters.slack.rendering.block_kit import ASK, CHOOSE, Json, button, section, whisper
from adapters.slack.rendering.markdown import escaped
from adapters.slack.transport.acks import on_press
from adapters.slack.transport.api import SlackError

log = logging.getLogger(__name__)


def register(app: AsyncApp, context: SlackContext) -> None:
    for pressed in (ASK, CHOOSE):
        on_press(app, context, pressed, partial(_ask, context), "slack-ask")


async def _ask(context: SlackContext, body: Json, value: str) -> None:
    """`value`: the turn, and what was chosen of what was asked back."""
    turn, _, choice = value.partition(" ")
    user, channel = body["user"]["id"], body["channel"]["id"]
    thread = body.get("message", {}).get("thread_ts") or body["container"].get("thread_ts")
    language = await context.language_of(user)
    actor, audience = await context.places.actor(user), await context.places.audience(channel, user)
    reply = await asking.press(context.bot, turn, actor, context.place(channel), audience, choice)
    text = reply.text.to(language)
    if reply.offer is None:
        await whisper(context, channel, user, text, thread)
        return
    offer = button(reply.offer.to(language), CHOOSE, f"{turn} {reply.choice}", style="primary")
    blocks = [section(text), {"type": "actions", "elements": [offer]}]
    try:
        await context.slack.ephemeral(channel, user, text=escaped(text), blocks=blocks, thread=thread)
    except SlackError as error:
        log.info("somebody could not be asked back: %s", error.code)
