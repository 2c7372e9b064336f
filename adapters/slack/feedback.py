"""👍 and 👎 under an answer; after a 👎 a modal asks what was wrong. The vote counts before the modal is filled in.
A reaction opens no modal: whoever gave it is offered one, alone.

Source: product.md §4; reliability.md R19.
"""

import re
from functools import partial

from slack_bolt.app.async_app import AsyncApp

from adapters.shared import feedback as votes
from adapters.slack.context import SlackContext
from adapters.slack.events import Reacted
from adapters.slack.rendering.block_kit import CLOSE, VOTE, Json, button, input_block, modal, plain, voted, whisper
from adapters.slack.transport.acks import Ack, on_press, open_in_time, thread_of
from bot.errors import StoreError
from bot.texts import COMPLAINTS
from bot.types import Feedback
from retrieval.i18n import Text

REPORT, TELL_WHY = "kotae_report", "kotae_tell_why"

_SEND = Text(en="Send", ja="送信")
_TELL_WHY = Text(en="Tell us why", ja="理由を伝える")


def register(app: AsyncApp, context: SlackContext) -> None:
    on_press(app, context, re.compile(rf"^{VOTE}(:(up|down))?$"), partial(_vote, context), "slack-vote")
    on_press(app, context, TELL_WHY, partial(_ask_why, context), "slack-tell-why")

    @app.view(REPORT)
    async def reported(ack: Ack, body: Json, view: Json) -> None:
        """The typed reason is stored before it is acknowledged: it would be lost with the modal."""
        values = view["state"]["values"]
        chosen = (values["reason"]["reason"].get("selected_option") or {}).get("value")
        text = str(values["text"]["text"].get("value") or "")
        user, turn = body["user"]["id"], str(view["private_metadata"])
        try:
            kept = await context.bot.turns.vote(Feedback(turn, user, "down", votes.reason(chosen), text))
            problem = None if kept else votes.NOT_FOUND.to(await context.language_of(user))
        except StoreError as error:
            problem = error.text(await context.language_of(user))
        await (ack(response_action="errors", errors={"text": problem}) if problem else ack())


async def react(context: SlackContext, event: Reacted) -> None:
    """A thumb is a person's vote: the event does not say whether a bot has given it (R8). Raises StoreError."""
    place, user = event.place, event.author
    post = await context.bot.outbox.find(place, event.message)
    if post is None or await context.places.is_bot(user):  # for what is not ours nobody is looked up
        return
    answer = await votes.react(context.bot, post, user, event.vote, event.thumb)
    if answer is None or event.vote != "down":
        return
    language = await context.language_of(user)
    offer = button(_TELL_WHY.to(language), TELL_WHY, answer.about)
    await whisper(context, place.channel, user, votes.NOTED.to(language), answer.thread, offer)


async def _ask_why(context: SlackContext, body: Json, turn: str) -> None:
    user, channel = body["user"]["id"], body["channel"]["id"]
    tell = partial(whisper, context, channel, user, thread=thread_of(body))
    await open_in_time(context, body["trigger_id"], _report(context, user, turn), user, tell)


async def _vote(context: SlackContext, body: Json, value: str) -> None:
    user, channel, message = body["user"]["id"], body["channel"]["id"], body["container"]["message_ts"]
    turn, vote = voted(value) or ("", None)
    feedback = Feedback(turn, user, vote)
    try:
        kept = vote is not None and await votes.press(context.bot, context.place(channel), message, feedback)
    except StoreError as error:
        await whisper(context, channel, user, error.text(await context.language_of(user)), thread_of(body))
        return
    if kept and vote == "down":
        await _ask_why(context, body, turn)
    said = votes.NOT_FOUND if not kept else votes.THANKS if vote == "up" else votes.NOTED
    await whisper(context, channel, user, said.to(await context.language_of(user)), thread_of(body))


async def _report(context: SlackContext, user: str, turn: str) -> Json:
    language = await context.language_of(user)
    options = [{"text": plain(said.to(language), 75), "value": reason} for reason, said in COMPLAINTS.items()]
    reasons = {"type": "radio_buttons", "action_id": "reason", "options": options}
    text = {"type": "plain_text_input", "action_id": "text", "multiline": True, "max_length": votes.TEXT_CHARACTERS}
    blocks = [
        input_block("reason", votes.WHY.to(language), reasons, optional=True),
        input_block("text", votes.TEXT.to(language), text, optional=True),
    ]
    return modal(REPORT, votes.TITLE.to(language), _SEND.to(language), CLOSE.to(language), blocks, metadata=turn)
