"""The weekly digest in a channel: a message a group of questions, with buttons while somebody can answer; and telling
askers.

Text with buttons, no LayoutView: such a message has no `content`, by which a lost one is found again (R6) and a thread
is read. Source: product.md §4; reliability.md R6 and R15."""

import logging
from collections.abc import Sequence
from functools import partial

import discord
from discord import ButtonStyle

from adapters.discord.context import DiscordContext
from adapters.discord.events import DIRECT, PLATFORM, Replied
from adapters.discord.rendering.components import LABEL, URL, Button, button, heading, pieces, row_text
from adapters.discord.rendering.markdown import escaped
from adapters.discord.transport.errors import GoneError
from adapters.discord.transport.forum_tags import tag
from adapters.discord.transport.outbox import channel_of, say_once
from adapters.markdown.events import shortened
from adapters.shared import digest_cards, expert_answers
from adapters.shared.expert_answers import DigestCards
from bot.types import Card, Notice, Place, Post
from bot.unanswered import card_replies
from bot.unanswered.card_replies import CardMessage

log = logging.getLogger(__name__)

_NO_SUCH_CHANNEL = "10003"

ANSWER, DISMISS, SAVE, ANEW, DISCARD = "answer", "dismiss", "save", "anew", "discard"


async def announce(context: DiscordContext, place: Place, card: Card, about: str) -> None:
    """Post the digest: its numbers, then a card a group. Raises PostError, StoreError; then the same call goes on."""
    if card.title:
        await say_once(context, Post(about, "digest", 0, place), heading(card))
    for post in await digest_cards.posts_for(context.bot, place, card, about):
        await say_once(context, post, _text(post), buttons=_buttons(post))


async def tell(context: DiscordContext, notice: Notice) -> None:
    """Tell an asker, and nobody else, where they have asked that there is an answer. Raises PostError, StoreError when
    it could not be told yet."""
    who = escaped(await context.places.name(notice.by)) if notice.by else None
    question = escaped(shortened(notice.question, 200))
    head = expert_answers.heading(notice, asker=f"<@{notice.author}>", question=question, who=who)
    texts = pieces(head, notice.answer)
    direct = notice.place.workspace == DIRECT
    try:
        try:
            await _tell(context, notice, texts, thread=None if direct else notice.thread)
        except GoneError as error:
            if direct or error.code != _NO_SUCH_CHANNEL:
                raise
            await context.rest.exists(notice.place.channel, notice.thread)  # there never was a thread on the question
            await _tell(context, notice, texts, thread=None)
        await tag(context.client, context.rest, notice.thread, answered=True)
    except GoneError as error:
        log.info("an asker's thread is gone (%s)", error.code)
    await context.bot.experts.notices.said(notice)


async def _tell(context: DiscordContext, notice: Notice, texts: Sequence[str], *, thread: str | None) -> None:
    """In the thread, or in reply to the question where it has none."""
    for part, text in enumerate(texts):
        data = {"of_page": notice.of_page}
        post = Post(notice.turn, "notice", notice.id - part, notice.place, thread, data=data)
        reply_to = None if thread or part else notice.thread
        await say_once(context, post, text, reply_to=reply_to, ping=None if part else notice.author)


async def replied(context: DiscordContext, reply: Replied, card: Post) -> None:
    """Ask once whether what was written in a card's thread, or in reply to it, is its answer. Raises PostError,
    StoreError."""

    async def ask(post: Post) -> Post:
        text, buttons = _question(context, card, post)
        return await say_once(context, post, text, buttons=buttons, reply_to=reply.message)

    at, channel = discord.utils.snowflake_time(int(reply.message)).timestamp(), reply.thread or reply.place.channel
    shared = await expert_answers.is_shared(context.bot, card, await context.places.audience(card.place.channel))
    written, change = CardMessage(reply.message, reply.author, reply.text, at, shared), partial(ask_anew, context, card)
    await card_replies.confirm(context.bot.outbox, card, written, reply.thread, channel, ask, change)


async def changed(
    context: DiscordContext, place: Place, thread: str | None, message: str, *, gone: bool = False
) -> bool:
    """A message was edited, or is `gone`: whether it belongs to a card's answer. Raises StoreError."""
    found = await context.bot.outbox.confirms(place, thread)
    return await cards(context).changed(found, message, partial(ask_anew, context), gone=gone)


async def ask_anew(context: DiscordContext, card: Post, confirm: Post) -> None:
    """Put the question about the replies to a card that there are by now, or that they are saved, in the place of its
    older words. Raises PostError."""
    text, buttons = _question(context, card, confirm)
    await context.rest.edit(channel_of(confirm), confirm.message or "", text, buttons=buttons)


def _question(context: DiscordContext, card: Post, confirm: Post) -> tuple[str, list[Button]]:
    if (taken := card_replies.taken(confirm.data)) is not None:
        return expert_answers.saved(taken, context.language), []
    name, about = confirm.about.removeprefix("confirm:"), escaped(shortened(digest_cards.question_on(card), 150))
    buttons = [
        button(label, f"kotae:{kind}:{name}", ButtonStyle.primary if kind == SAVE else ButtonStyle.secondary)
        for kind, label in expert_answers.choices(confirm.data, context.language)
    ]
    return card_replies.question(confirm.data, about, context.language), buttons


def cards(context: DiscordContext) -> DigestCards:
    """The cards in all servers, and in direct messages."""
    audience, drawn, told = context.places.audience, partial(_draw, context), partial(tell, context)
    return DigestCards(PLATFORM, context.bot, context.tasks, context.language, audience, drawn, told)


async def _draw(context: DiscordContext, card: Post, status: str) -> None:
    """Raises PostError."""
    text = f"{_text(card)}\n-# {escaped(status)}"
    await context.rest.edit(channel_of(card), card.message or "", text, buttons=_buttons(card))


def _text(card: Post) -> str:
    return row_text(digest_cards.row_on(card), linked=False)


def _buttons(card: Post) -> list[Button]:
    """Their ids are only a name: which questions the card is about is in the database."""
    row = digest_cards.row_on(card)
    styles = {ANSWER: ButtonStyle.primary, DISMISS: ButtonStyle.secondary}
    actions = [
        button(action.text, f"kotae:{action.kind}:{card.about}:{card.part}", styles[action.kind])
        for action in row.actions
    ]
    links = [link for link in row.web_links if len(link.url) <= URL]
    return [*actions, *(Button(label=shortened(link.text, LABEL), url=link.url) for link in links)]
