"""Experts' gestures on the cards of the digest: they answer in a modal, confirm a reply as the answer, or dismiss.

Source: product.md §4; reliability.md R3 and R19.
"""

import logging
import re
from collections.abc import Awaitable, Callable
from functools import partial

from slack_bolt.app.async_app import AsyncApp

from adapters.markdown.events import one_line
from adapters.shared import expert_answers
from adapters.shared.expert_answers import CardReply
from adapters.shared.ingestion import FAILED
from adapters.slack import home
from adapters.slack.context import SlackContext
from adapters.slack.digest import ANEW, DISCARD, DISMISS, LINK, SAVE, ask_anew, cards
from adapters.slack.events import is_direct, words
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
    whisper,
)
from adapters.slack.transport.acks import Ack, in_time, on_press, open_in_time
from adapters.slack.transport.errors import GoneError, SlackError
from bot.errors import StoreError
from bot.types import Post
from retrieval.i18n import Language, Text
from retrieval.types import RAGToolError

log = logging.getLogger(__name__)

CLOSES = "closes"  # the modal's ticks
ANSWER_CHARACTERS = 3_000  # that a modal's field takes; a reply in the thread may be longer

Work = Callable[[SlackContext, Json, str], Awaitable[Text | None]]

_SUBMIT = Text(en="Save", ja="保存")
_OUT = Text(
    en="You are not in the channel of this question any more, so you cannot answer it here.",
    ja="この質問のチャンネルに参加していないため、ここからは回答できません。",
)


def register(app: AsyncApp, context: SlackContext) -> None:
    """The buttons of the cards and the modal behind them."""

    @app.action(re.compile(f"^{LINK}:"))
    async def link(ack: Ack) -> None:
        await ack()  # Slack reports that a link was followed

    @app.action(ANSWER)
    async def answer(ack: Ack, body: Json, action: Json) -> None:
        await ack()
        channel = body["channel"]["id"] if "channel" in body else str(body["view"]["private_metadata"])  # App Home
        user = body["user"]["id"]
        view, tell = _view(context, user, channel, str(action["value"])), partial(whisper, context, channel, user)
        context.tasks.start(open_in_time(context, body["trigger_id"], view, user, tell), "slack-answer")

    on_press(app, context, DISMISS, partial(_told, context, _dismiss), "slack-dismiss")
    on_press(app, context, SAVE, partial(_told, context, _save), "slack-save")
    on_press(app, context, ANEW, partial(_told, context, partial(_save, anew=True)), "slack-anew")
    on_press(app, context, DISCARD, partial(_told, context, _discard), "slack-discard")

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
    if await context.places.is_out(channel, user):
        return notice_modal(_OUT.to(language), language)
    try:
        card = await _card(context, name, channel)
        opened = await cards(context).form(card, await context.places.actor(user))
    except StoreError as error:
        return notice_modal(error.text(language), language)
    if isinstance(opened, Text):
        return notice_modal(opened.to(language), language)
    return _answer_modal(opened, f"{channel}:{expert_answers.with_reference(name, opened.reference)}", language)


def _answer_modal(opened: expert_answers.OpenedQuestion, metadata: str, language: Language) -> Json:
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
    name, reference = expert_answers.without_reference(name)
    if await context.places.is_out(channel, user):
        return _OUT.to(language)
    try:
        card = await _card(context, name, channel)
        url = context.slack.permalink(channel, card.message) if card and card.message else ""
        actor, who = await context.places.actor(user), await context.places.name(user)
        taken = await cards(context).answer(
            card, actor, who, answer, url, question=question, reference=reference, chosen=chosen
        )
    except (StoreError, RAGToolError):
        log.exception("an expert's answer could not be stored")
        return FAILED.to(language)
    if taken.refusal is not None:
        return taken.refusal.to(language)
    context.tasks.start(whisper(context, channel, user, expert_answers.saved(taken, language)), "slack-whisper")
    if channel.startswith("D"):  # it may have been listed in the App Home
        context.tasks.start(home.publish(context, user, channel), "slack-home")
    return ""


async def _told(context: SlackContext, work: Work, body: Json, name: str) -> None:
    """Do what a button asks for; what its presser is told about it, if anything."""
    try:
        said = await work(context, body, name)
    except (SlackError, StoreError, RAGToolError):
        log.warning("what a button asked for could not be done", exc_info=True)
        said = FAILED
    if said is not None:
        user, message = body["user"]["id"], body.get("message") or {}
        thread = message.get("thread_ts") if message.get("thread_ts") != message.get("ts") else None
        await whisper(context, body["channel"]["id"], user, said.to(await context.language_of(user)), thread)


async def _save(context: SlackContext, body: Json, name: str, *, anew: bool = False) -> Text | None:
    """Raises StoreError."""
    confirm, actor = await _confirm(context, body, name), await context.places.actor(body["user"]["id"])
    read, show, drop = partial(_read, context), partial(ask_anew, context), partial(_drop, context)
    return await cards(context).save(confirm, actor, read, show, drop, anew=anew)


async def _discard(context: SlackContext, body: Json, name: str) -> Text | None:
    """Raises StoreError."""
    confirm, actor = await _confirm(context, body, name), await context.places.actor(body["user"]["id"])
    if confirm is None:
        return expert_answers.GONE
    return await cards(context).discard(confirm, actor, partial(ask_anew, context), partial(_drop, context))


async def _dismiss(context: SlackContext, body: Json, name: str) -> Text | None:
    """Raises StoreError."""
    user = body["user"]["id"]
    card = await _card(context, name, body["channel"]["id"])
    taken = await cards(context).dismiss(card, await context.places.actor(user), await context.places.name(user))
    return taken.refusal


# -- small parts ----------------------------------------------------------------------------------------------------


async def _card(context: SlackContext, name: str, channel: str) -> Post | None:
    place = context.place(channel)
    card = await expert_answers.card_named(context.bot, name, place, partial(context.places.audience, channel))
    return card if card is not None and card.place == place else None


async def _confirm(context: SlackContext, body: Json, name: str) -> Post | None:
    """The confirmation that the bot asked for with the message whose button was pressed."""
    place, message = context.place(body["channel"]["id"]), str(body["container"]["message_ts"])
    asked = await expert_answers.confirmation(context.bot, name, message)
    return asked if asked is not None and asked.place == place else None


async def _read(context: SlackContext, card: Post, confirm: Post, ts: str) -> CardReply | Text:
    """Raises SlackError."""
    channel = card.place.channel
    try:
        said = await message_at(context.slack, channel, ts, card.message or "")
        if said is None and is_direct(channel):  # written after the card, in no thread
            said = await message_at(context.slack, channel, ts, ts)
    except GoneError:
        said = None
    if said is None:
        return expert_answers.DELETED
    text = await context.places.named(words({**said, "channel": channel}, context.slack.me.user))
    author = str(said["user"])
    name, link = await context.places.name(author), context.slack.permalink(channel, ts, card.message)
    return CardReply(text, link, author, name, bool(said.get("files")))


async def _drop(context: SlackContext, confirm: Post) -> None:
    """Raises SlackError."""
    await context.slack.delete(confirm.place.channel, confirm.message or "")
