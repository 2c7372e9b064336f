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
from adapters.discord.events import DIRECT, PLATFORM, link, name_of, words
from adapters.discord.interactions import Gesture, Interactions, spot_of
from adapters.discord.rendering.components import ModalInput, answer_modal, pieces
from adapters.discord.rendering.markdown import escaped
from adapters.discord.transport.errors import GoneError
from adapters.discord.transport.message_links import channel_at, message_at
from adapters.discord.transport.outbox import channel_of
from adapters.shared import digest_cards, expert_answers
from adapters.shared.expert_answers import CardReply
from adapters.shared.ingestion import FAILED
from bot.types import Post
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
        case digest.ANEW:
            gestures.do(gesture, partial(_save, context, gesture, name, anew=True))
        case digest.DISCARD:
            gestures.do(gesture, partial(_discard, context, gesture, name))


async def _form(context: DiscordContext, gesture: Gesture, name: str) -> discord.ui.Modal | str:
    """The modal for an answer, or why there is nothing to answer. Raises StoreError."""
    language = context.language_of(gesture.locale)
    card = await _card(context, gesture, name)
    opened = await digest.cards(context).form(card, await context.places.actor(gesture))
    if isinstance(opened, Text):
        return opened.to(language)
    about = expert_answers.with_reference(name, opened.reference)
    return answer_modal(language, f"kotae:{digest.ANSWER}:{about}", opened)


async def take_submitted(context: DiscordContext, gesture: Gesture, name: str, given: ModalInput) -> Sequence[str]:
    """An answer from the modal; what to say about it."""
    language = context.language_of(gesture.locale)
    name, reference = expert_answers.without_reference(name)
    card = await _card(context, gesture, name)
    url = _link(card, card.message) if card and card.message else ""
    try:
        chosen = await _ticks(context, card, reference, given) if card else expert_answers.NO_TICKS
        taken = await digest.cards(context).answer(
            card,
            await context.places.actor(gesture),
            name_of(gesture.user),
            given["answer"],
            url,
            question=given["question"],
            reference=reference,
            author=str(gesture.user.id),
            chosen=chosen,
        )
    except Exception:
        log.exception("an expert's answer could not be stored")
        problem = FAILED
    else:
        if taken.refusal is None:
            return (expert_answers.saved(taken, language),)
        problem = taken.refusal
    head = f"{escaped(problem.to(language))}\n\n{_YOURS.to(language)}\n"
    return pieces(head, given["answer"])  # not to be typed again


async def _ticks(context: DiscordContext, card: Post, reference: int | None, given: ModalInput) -> expert_answers.Ticks:
    """The ticks of a submitted modal, which tells only those that are set: the others are looked up. Raises
    StoreError."""
    asked = await expert_answers.opened(context.bot, card, await context.places.audience(card.place.channel), reference)
    if isinstance(asked, Text):
        return expert_answers.NO_TICKS
    listed = [one.id for one in asked.choices[: expert_answers.LISTED]]
    return expert_answers.ticks(listed, [int(each) for each in given.chosen.get("closes", ())])


async def _dismiss(context: DiscordContext, gesture: Gesture, name: str) -> Sequence[str]:
    card, actor = await _card(context, gesture, name), await context.places.actor(gesture)
    taken = await digest.cards(context).dismiss(card, actor, name_of(gesture.user))
    return _said(context, gesture, taken.refusal)


async def _save(context: DiscordContext, gesture: Gesture, name: str, *, anew: bool = False) -> Sequence[str]:
    confirm, actor = await _confirm(context, gesture, name), await context.places.actor(gesture)
    read, show, drop = partial(_read, context), partial(digest.ask_anew, context), partial(_drop, context)
    why_not = await digest.cards(context).save(confirm, actor, read, show, drop, anew=anew)
    return _said(context, gesture, why_not)


async def _discard(context: DiscordContext, gesture: Gesture, name: str) -> Sequence[str]:
    confirm, actor = await _confirm(context, gesture, name), await context.places.actor(gesture)
    show, drop = partial(digest.ask_anew, context), partial(_drop, context)
    return _said(context, gesture, await digest.cards(context).discard(confirm, actor, show, drop))


def _said(context: DiscordContext, gesture: Gesture, why_not: Text | None) -> Sequence[str]:
    return () if why_not is None else (escaped(why_not.to(context.language_of(gesture.locale))),)


# -- small parts ----------------------------------------------------------------------------------------------------


async def _card(context: DiscordContext, gesture: Gesture, name: str) -> Post | None:
    """The card that a button or modal belongs to."""
    place = spot_of(gesture).place
    audience = partial(context.places.audience, place.channel, str(gesture.user.id))
    card = await expert_answers.card_named(context.bot, name, place, audience)
    if card is None or card.about == digest_cards.LISTED:
        return card
    if card.place.platform != PLATFORM or channel_of(card) != str(gesture.channel_id):
        return None
    return card if gesture.message is None or card.message == str(gesture.message.id) else None


async def _confirm(context: DiscordContext, gesture: Gesture, name: str) -> Post | None:
    """The confirmation that the bot asked for with the message whose button was pressed."""
    pressed_on = str(gesture.message.id) if gesture.message else ""
    return await expert_answers.confirmation(context.bot, f"confirm:{name}", pressed_on)


async def _read(context: DiscordContext, card: Post, confirm: Post, reply: str) -> CardReply | Text:
    """Raises PostError."""
    channel = channel_of(confirm)
    try:
        said = await message_at(context.rest, await channel_at(context.rest, context.client, int(channel)), int(reply))
    except GoneError:
        return expert_answers.DELETED
    text = words(said, context.me, direct=card.place.workspace == DIRECT)
    if not text:
        return _UNREAD
    files = bool(said.attachments)
    return CardReply(text, _link(card, reply, channel), str(said.author.id), name_of(said.author), files)


async def _drop(context: DiscordContext, confirm: Post) -> None:
    """Raises PostError."""
    await context.rest.delete(channel_of(confirm), confirm.message or "")


def _link(card: Post, message: str, channel: str = "") -> str:
    return link(card.place.workspace, channel or channel_of(card), message)
