"""Experts' gestures on the cards of the digest: they answer in a modal, confirm a reply as the answer, or dismiss.

Source: product.md §4; reliability.md R3 and R19.
"""

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any

import discord

from adapters.discord import digest
from adapters.discord.context import DiscordContext
from adapters.discord.events import PLATFORM, link, readable
from adapters.discord.interactions import Gesture, Interactions, spot_of
from adapters.discord.rendering.components import ModalInput, answer_modal, pieces
from adapters.discord.rendering.markdown import escaped
from adapters.discord.transport.errors import GoneError
from adapters.discord.transport.message_links import channel_at, message_at
from adapters.discord.transport.outbox import channel_of
from adapters.markdown.events import shortened
from adapters.port import PostError
from adapters.shared import digest_cards, expert_answers
from adapters.shared.ingestion import FAILED
from bot.texts import MEMBERS
from bot.types import AnswerGiven, AnswerTaken, Post
from retrieval.i18n import Text

log = logging.getLogger(__name__)

_UNREAD = Text(
    en="I cannot read that reply: Discord gives me its text only if it mentions me, or with the Message Content "
    "Intent. Please use the button “Answer this” on the card.",
    ja="その返信の内容を読めません（Discord では、私へのメンションがあるか、Message Content Intent が有効でないと本文を"
    "取得できません）。カードの「回答する」ボタンをお使いください。",
)
_YOURS = Text(en="Your answer was:", ja="入力された回答:")


def pressed(context: DiscordContext, gestures: Interactions, gesture: Gesture, what: str, name: str) -> None:
    """A button of this module's was pressed; `name`: of the card, or of what it asks about. Others are left alone."""
    match what:
        case digest.ANSWER:
            gestures.ask(gesture, partial(_form, context, gesture, name))
        case digest_cards.LISTED:
            data: Any = gesture.data or {}
            chosen = next(iter(data.get("values") or ()), "")
            gestures.ask(gesture, partial(_form, context, gesture, f"{digest_cards.LISTED}:{chosen}"))
        case digest.DISMISS:
            gestures.do(gesture, partial(_dismiss, context, gesture, name))
        case digest.SAVE:
            gestures.do(gesture, partial(_save, context, gesture, name))
        case digest.DISCARD:
            gestures.do(gesture, partial(_discard, context, gesture, name))


async def _form(context: DiscordContext, gesture: Gesture, name: str) -> discord.ui.Modal | str:
    """The modal for an answer, or why there is nothing to answer. Raises StoreError."""
    language = context.language_of(gesture.locale)
    card = await _card(context, gesture, name)
    if card is None:
        return expert_answers.GONE.to(language)
    if (await context.places.actor(gesture)).role == "outsider":
        return MEMBERS.to(language)
    opened = await expert_answers.opened(context.bot, card, await digest.audience_of(context, card))
    if isinstance(opened, Text):
        context.tasks.start(_close(context, card, opened), "discord-cards")
        return opened.to(language)
    about = expert_answers.with_reference(name, opened.reference)
    return answer_modal(language, f"kotae:{digest.ANSWER}:{about}", opened)


async def take_submitted(context: DiscordContext, gesture: Gesture, name: str, given: ModalInput) -> Sequence[str]:
    """An answer from the modal; what to say about it."""
    language = context.language_of(gesture.locale)
    name, reference = expert_answers.without_reference(name)
    card = await _card(context, gesture, name)
    if card is None:
        problem = expert_answers.GONE.to(language)
    else:
        url = _link(card, card.message) if card.message else ""
        try:
            chosen = await _ticks(context, card, reference, given)
            taught = await _teach(
                context, gesture, card, reference, given["answer"], url, question=given["question"], chosen=chosen
            )
        except Exception:
            log.exception("an expert's answer could not be stored")
            problem = FAILED.to(language)
        else:
            if taught.refusal is None:
                return (expert_answers.saved(taught, language),)
            problem = taught.refusal.to(language)
    return pieces(f"{escaped(problem)}\n\n{_YOURS.to(language)}\n", given["answer"])  # not to be typed again


async def _ticks(context: DiscordContext, card: Post, reference: int | None, given: ModalInput) -> expert_answers.Ticks:
    """The ticks of a submitted modal, which tells only those that are set: the others are looked up. Raises
    StoreError."""
    audience = await digest.audience_of(context, card)
    asked = await expert_answers.opened(context.bot, card, audience, reference)
    if isinstance(asked, Text):
        return expert_answers.NO_TICKS
    listed = [one.id for one in asked.choices[: expert_answers.LISTED]]
    return expert_answers.ticks(listed, [int(each) for each in given.chosen.get("closes", ())])


async def _dismiss(context: DiscordContext, gesture: Gesture, name: str) -> Sequence[str]:
    card = await _card(context, gesture, name)
    if card is None:
        return (expert_answers.GONE.to(context.language_of(gesture.locale)),)
    actor = await context.places.actor(gesture)
    audience = await digest.audience_of(context, card)
    taught = await context.bot.experts.dismiss(actor, card.data["questions"], card.place, audience)
    if taught.refusal is not None:
        return (escaped(taught.refusal.to(context.language_of(gesture.locale))),)
    _settle(context, card, expert_answers.DISMISSED, gesture.user.display_name)
    return ()


async def _save(context: DiscordContext, gesture: Gesture, name: str) -> Sequence[str]:
    """A reply to a card was confirmed as the answer. Raises StoreError."""
    language = context.language_of(gesture.locale)
    confirm = await _confirm(context, gesture, name)
    about, part = confirm.data["card"] if confirm else ("", "")
    card = await digest_cards.find(context.bot, about, str(part))
    if confirm is None or card is None:
        return (expert_answers.GONE.to(language),)
    channel, reply = str(confirm.data["channel"]), str(confirm.data["reply"])
    try:
        said = await message_at(context.rest, await channel_at(context.rest, context.client, int(channel)), int(reply))
    except GoneError:
        await _take_away(context, confirm)
        return (expert_answers.DELETED.to(language),)
    except PostError as error:
        log.warning("a reply could not be read: %s", error.code)
        return (FAILED.to(language),)
    answer = readable(said, context.me)
    if not answer:
        return (_UNREAD.to(language),)
    reference, url = confirm.data.get("reference"), _link(card, reply, channel)
    taught = await _teach(context, gesture, card, reference, answer, url, author=said.author)
    if taught.refusal is not None:
        return (escaped(taught.refusal.to(language)),)
    try:
        await context.rest.edit(
            channel_of(confirm), confirm.message or "", expert_answers.saved(taught, context.language)
        )
    except PostError as error:
        log.info("that a reply was saved could not be shown: %s", error.code)
    return ()


async def _discard(context: DiscordContext, gesture: Gesture, name: str) -> Sequence[str]:
    confirm = await _confirm(context, gesture, name)
    if (await context.places.actor(gesture)).role == "outsider":
        return (MEMBERS.to(context.language_of(gesture.locale)),)
    if confirm is not None:
        await _take_away(context, confirm)
    return ()


async def _teach(
    context: DiscordContext,
    gesture: Gesture,
    card: Post,
    reference: int | None,
    answer: str,
    url: str,
    *,
    question: str = "",
    author: discord.User | discord.Member | None = None,
    chosen: expert_answers.Ticks = expert_answers.NO_TICKS,
) -> AnswerTaken:
    """`author`: who wrote the answer, where it was a reply."""
    who = author or gesture.user
    actor, audience = await context.places.actor(gesture), await digest.audience_of(context, card)
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
        str(who.id),
        closes=chosen.closes,
        leaves=chosen.leaves,
    )
    taught = await context.bot.experts.answer(lesson)
    if taught.refusal is None:
        _settle(context, card, expert_answers.ANSWERED, who.display_name)
    return taught


def _settle(context: DiscordContext, card: Post, how: Text, who: str) -> None:
    """Cards whose question is not open any more say so, and the askers are told."""

    async def settle() -> None:
        await _close(context, card, how, shortened(who, 80))
        for notice in await context.bot.experts.notices(PLATFORM):
            context.tasks.start(digest.tell(context, notice), "discord-notice")

    context.tasks.start(settle(), "discord-cards")


async def _close(context: DiscordContext, card: Post, how: Text, who: str = "") -> None:
    for now in await digest_cards.changed(context.bot, card, partial(digest.audience_of, context), context.language):
        await digest.redraw(context, now, expert_answers.status(now, how, context.language, who))


# -- small parts ----------------------------------------------------------------------------------------------------


async def _card(context: DiscordContext, gesture: Gesture, name: str) -> Post | None:
    """The card that a button or modal belongs to: which questions it is about is what the database says."""
    about, _, part = name.rpartition(":")
    if about == digest_cards.LISTED:
        place = spot_of(gesture).place
        audience = await context.places.audience(place.channel, str(gesture.user.id))
        return await digest_cards.listed(context.bot, part, place, audience)
    card = await digest_cards.find(context.bot, about, part)
    if card is None or card.place.platform != PLATFORM or channel_of(card) != str(gesture.channel_id):
        return None
    return card if gesture.message is None or card.message == str(gesture.message.id) else None


async def _confirm(context: DiscordContext, gesture: Gesture, name: str) -> Post | None:
    """The confirmation that the bot asked for with the message whose button was pressed."""
    pressed_on = str(gesture.message.id) if gesture.message else ""
    found = (post for post in await context.bot.outbox.of(f"confirm:{name}") if post.kind == "confirm")
    return next((post for post in found if post.message == pressed_on), None)


async def _take_away(context: DiscordContext, confirm: Post) -> None:
    try:
        await context.rest.delete(channel_of(confirm), confirm.message or "")
    except PostError as error:
        log.info("a question could not be taken away: %s", error.code)


def _link(card: Post, message: str, channel: str = "") -> str:
    return link(card.place.workspace, channel or channel_of(card), message)
