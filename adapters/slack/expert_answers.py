"""Experts' gestures on the cards of the digest: they answer in a modal, confirm a reply as the answer, or dismiss.

Source: product.md §4; reliability.md R3 and R19.
"""

import logging
import re
from collections.abc import Coroutine
from dataclasses import replace
from functools import partial
from typing import Any

from slack_bolt.app.async_app import AsyncApp

from adapters.markdown.events import one_line, shortened
from adapters.shared import digest_cards, expert_answers
from adapters.shared.ingestion import FAILED
from adapters.slack import home
from adapters.slack.context import SlackContext
from adapters.slack.digest import DISCARD, DISMISS, LINK, SAVE, audience_of, redraw, tell
from adapters.slack.events import PLATFORM, readable
from adapters.slack.ingestion import message_at
from adapters.slack.rendering.block_kit import (
    ANSWER,
    CANCEL,
    Json,
    context_block,
    input_block,
    modal,
    notice_modal,
    plain,
    section,
    whisper,
)
from adapters.slack.transport.acks import Ack, in_time, open_in_time
from adapters.slack.transport.api import GoneError, SlackError
from bot.errors import StoreError
from bot.texts import MEMBERS
from bot.types import Actor, AnswerGiven, AnswerTaken, Audience, Post
from retrieval.i18n import Language, Text
from retrieval.types import RAGToolError

log = logging.getLogger(__name__)

CLOSES = "closes"  # the modal's ticks
ANSWER_CHARACTERS = 3_000  # that a modal's field takes; a reply in the thread may be longer

_SUBMIT = Text(en="Save", ja="保存")


def register(app: AsyncApp, context: SlackContext) -> None:
    """The buttons of the cards and the modal behind them."""

    @app.action(re.compile(f"^{LINK}:"))
    async def link(ack: Ack) -> None:
        await ack()  # Slack reports that a link was followed

    @app.action(ANSWER)
    async def answer(ack: Ack, body: Json, action: Json) -> None:
        await ack()
        channel = body["channel"]["id"] if "channel" in body else str(body["view"]["private_metadata"])  # App Home
        view = _view(context, body["user"]["id"], channel, str(action["value"]))
        context.tasks.start(open_in_time(context, body["trigger_id"], view), "slack-answer")

    @app.action(DISMISS)
    async def dismiss(ack: Ack, body: Json, action: Json) -> None:
        await ack()
        context.tasks.start(_told(context, body, _dismiss(context, body, str(action["value"]))), "slack-dismiss")

    @app.action(SAVE)
    async def save(ack: Ack, body: Json, action: Json) -> None:
        await ack()
        context.tasks.start(_told(context, body, _save(context, body, str(action["value"]))), "slack-save")

    @app.action(DISCARD)
    async def discard(ack: Ack, body: Json, action: Json) -> None:
        await ack()
        context.tasks.start(_told(context, body, _discard(context, body, str(action["value"]))), "slack-discard")

    @app.view(ANSWER)
    async def submitted(ack: Ack, body: Json, view: Json) -> None:
        user, channel, _, name = body["user"]["id"], *str(view["private_metadata"]).partition(":")
        values = view["state"]["values"]
        question, answer = (str(values[block]["text"].get("value") or "") for block in ("question", "answer"))

        async def late(problem: str) -> None:
            if problem:
                await whisper(context, channel, user, f"{problem}\n\n{answer}")  # not to be typed again

        work = _submitted(context, user, name, channel, question, answer, _ticks(view))
        problem = await in_time(context, work, late, FAILED.to(context.language), "slack-lesson")
        await (ack(response_action="errors", errors={"answer": problem}) if problem else ack())


async def _view(context: SlackContext, user: str, channel: str, name: str) -> Json:
    """The modal for an answer, or one that says why there is nothing to answer."""
    language = await context.language_of(user)
    try:
        return await _answer_modal(context, user, channel, name, language)
    except StoreError as error:
        return notice_modal(error.text(language), language)


async def _answer_modal(context: SlackContext, user: str, channel: str, name: str, language: Language) -> Json:
    card = await _card(context, name, channel)
    if card is None:
        return notice_modal(expert_answers.GONE.to(language), language)
    actor, audience = await _who(context, user, card)
    if actor.role == "outsider":
        return notice_modal(MEMBERS.to(language), language)
    opened = await expert_answers.opened(context.bot, card, audience)
    if isinstance(opened, Text):
        context.tasks.start(_close(context, card, opened), "slack-cards")
        return notice_modal(opened.to(language), language)
    question = {
        "type": "plain_text_input",
        "action_id": "text",
        "initial_value": opened.question,
        "max_length": expert_answers.QUESTION_CHARACTERS,
    }
    text = {"type": "plain_text_input", "action_id": "text", "multiline": True, "max_length": ANSWER_CHARACTERS}
    blocks = [
        input_block(
            "question", expert_answers.QUESTION.to(language), question, hint=expert_answers.QUESTION_HINT.to(language)
        ),
        input_block("answer", expert_answers.ANSWER.to(language), text),
        *_choices(opened, language),
        context_block(*opened.notes(language)),
    ]
    metadata = f"{channel}:{expert_answers.with_reference(name, opened.reference)}"
    return modal(ANSWER, expert_answers.TITLE.to(language), _SUBMIT.to(language), CANCEL.to(language), blocks, metadata)


def _choices(opened: expert_answers.OpenedQuestion, language: Language) -> list[Json]:
    """The other questions, to be ticked."""
    listed = opened.choices[: expert_answers.LISTED]
    if not listed:
        return []
    options = [{"text": plain(one_line(one.question), 75), "value": str(one.id)} for one in listed]
    ticked = [option for option, one in zip(options, listed, strict=True) if one.same]
    boxes: Json = {"type": "checkboxes", "action_id": CLOSES, "options": options}
    element: Json = boxes | ({"initial_options": ticked} if ticked else {})
    label, hint = expert_answers.CLOSES.to(language), expert_answers.CLOSES_HINT.to(language)
    return [input_block(CLOSES, label, element, optional=True, hint=hint)]


def _ticks(view: Json) -> expert_answers.Ticks:
    """The ticks of a submitted modal."""
    boxes: Json = next((block["element"] for block in view["blocks"] if block.get("block_id") == CLOSES), {})
    chosen = view["state"]["values"].get(CLOSES, {}).get(CLOSES, {}).get("selected_options") or ()
    listed, ticked = ([int(option["value"]) for option in options] for options in (boxes.get("options", ()), chosen))
    return expert_answers.ticks(listed, ticked)


async def _submitted(
    context: SlackContext,
    user: str,
    name: str,
    channel: str,
    question: str,
    answer: str,
    chosen: expert_answers.Ticks,
) -> str:
    """The fault of an answer, in words; "" when it is learnt."""
    language = await context.language_of(user)
    try:
        name, reference = expert_answers.without_reference(name)
        card = await _card(context, name, channel)
        if card is None:
            return expert_answers.GONE.to(language)
        url = context.slack.permalink(channel, card.message) if card.message else ""
        taught = await _teach(context, card, user, reference, answer, url, question=question, chosen=chosen)
    except (StoreError, RAGToolError):
        log.exception("an expert's answer could not be stored")
        return FAILED.to(language)
    if taught.refusal is not None:
        return taught.refusal.to(language)
    context.tasks.start(whisper(context, channel, user, expert_answers.saved(taught, language)), "slack-whisper")
    if channel.startswith("D"):  # it may have been listed in the App Home
        context.tasks.start(home.publish(context, user, channel), "slack-home")
    return ""


async def _told(context: SlackContext, body: Json, work: Coroutine[Any, Any, Text | None]) -> None:
    """Do what a button asks for; what its presser is told about it, if anything."""
    try:
        said = await work
    except (SlackError, StoreError, RAGToolError):
        log.warning("what a button asked for could not be done", exc_info=True)
        said = FAILED
    if said is not None:
        user, message = body["user"]["id"], body.get("message") or {}
        thread = message.get("thread_ts") if message.get("thread_ts") != message.get("ts") else None
        await whisper(context, body["channel"]["id"], user, said.to(await context.language_of(user)), thread)


async def _save(context: SlackContext, body: Json, name: str) -> Text | None:
    """A reply in a card's thread was confirmed as the answer. Raises SlackError, StoreError."""
    user, channel = body["user"]["id"], body["channel"]["id"]
    confirm = await _confirm(context, body, name)
    about, part = confirm.data["card"] if confirm else ("", 0)
    card = await _card(context, f"{about}:{part}", channel)
    if confirm is None or card is None:
        return expert_answers.GONE
    taught = await _learn(context, card, user, str(confirm.data["reply"]), confirm.data.get("reference"))
    if taught is None:
        await _take_away(context, confirm)
        return expert_answers.DELETED
    if taught.refusal is not None:
        return taught.refusal
    text = expert_answers.saved(taught, context.language)
    try:
        await context.slack.update(channel, confirm.message or "", text=text, blocks=[section(text)], last=True)
    except SlackError as error:
        log.info("that a reply was saved could not be shown: %s", error.code)
    return None


async def _learn(context: SlackContext, card: Post, user: str, ts: str, reference: int | None) -> AnswerTaken | None:
    """The lesson in a reply to a card, as the reply is now, by who wrote it. None: it is not there any more. Raises
    SlackError, StoreError."""
    channel = card.place.channel
    try:
        said = await message_at(context.slack, channel, ts, card.message or "")
    except GoneError:
        return None
    if said is None:
        return None
    answer = await context.places.named(readable(str(said.get("text") or ""), context.slack.me.user))
    url = context.slack.permalink(channel, ts, card.message)
    return await _teach(context, card, user, reference, answer, url, author=str(said.get("user") or user))


async def _discard(context: SlackContext, body: Json, name: str) -> Text | None:
    """Raises StoreError."""
    confirm = await _confirm(context, body, name)
    if confirm is None:
        return expert_answers.GONE
    if (await context.places.actor(body["user"]["id"])).role == "outsider":
        return MEMBERS
    await _take_away(context, confirm)
    return None


async def _dismiss(context: SlackContext, body: Json, name: str) -> Text | None:
    """Raises StoreError."""
    user, channel = body["user"]["id"], body["channel"]["id"]
    card = await _card(context, name, channel)
    if card is None:
        return expert_answers.GONE
    actor, audience = await _who(context, user, card)
    taught = await context.bot.experts.dismiss(actor, card.data["questions"], card.place, audience)
    if taught.refusal is None:
        context.tasks.start(_settle(context, card, user, expert_answers.DISMISSED), "slack-cards")
    return taught.refusal


async def _teach(
    context: SlackContext,
    card: Post,
    user: str,
    reference: int | None,
    answer: str,
    url: str,
    *,
    question: str = "",
    author: str = "",
    chosen: expert_answers.Ticks = expert_answers.NO_TICKS,
) -> AnswerTaken:
    actor, audience = await _who(context, user, card)
    questions = tuple(card.data["questions"])
    lesson = AnswerGiven(
        actor,
        card.place,
        audience,
        questions,
        answer,
        question,
        url,
        reference,
        author,
        closes=chosen.closes,
        leaves=chosen.leaves,
    )
    taught = await context.bot.experts.answer(lesson)
    if taught.refusal is None:
        context.tasks.start(_settle(context, card, author or user, expert_answers.ANSWERED), "slack-cards")
    return taught


async def _settle(context: SlackContext, card: Post, user: str, how: Text) -> None:
    """Cards whose question is not open any more say so, and the askers are told."""
    await _close(context, card, how, shortened(await context.places.name(user), 80))
    for notice in await context.bot.experts.notices(PLATFORM):
        context.tasks.start(tell(context, notice), "slack-notice")


async def _close(context: SlackContext, card: Post, how: Text, who: str = "") -> None:
    for now in await digest_cards.changed(context.bot, card, partial(audience_of, context), context.language):
        await redraw(context, now, expert_answers.status(now, how, context.language, who))


# -- small parts ----------------------------------------------------------------------------------------------------


async def _card(context: SlackContext, name: str, channel: str) -> Post | None:
    """The card behind a button of this channel: which questions it is about is what the database says."""
    about, _, part = name.rpartition(":")
    if about == digest_cards.LISTED:
        place = context.place(channel)
        return await digest_cards.listed(context.bot, part, place, await context.places.audience(channel))
    card = await digest_cards.find(context.bot, about, part)
    return card if card is not None and card.place == context.place(channel) else None


async def _confirm(context: SlackContext, body: Json, name: str) -> Post | None:
    """The confirmation that the bot asked for with the message whose button was pressed."""
    place, message = context.place(body["channel"]["id"]), str(body["container"]["message_ts"])
    asked = next((post for post in await context.bot.outbox.of(name) if post.kind == "confirm"), None)
    if asked is None or asked.place != place or asked.message not in (None, message):
        return None
    return replace(asked, message=message)  # which may not be written down yet


async def _take_away(context: SlackContext, confirm: Post) -> None:
    try:
        await context.slack.delete(confirm.place.channel, confirm.message or "")
    except SlackError as error:
        log.info("a question could not be taken away: %s", error.code)


async def _who(context: SlackContext, user: str, card: Post) -> tuple[Actor, Audience]:
    return await context.places.actor(user), await audience_of(context, card)
