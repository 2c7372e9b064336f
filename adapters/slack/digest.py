"""The weekly digest in a channel: a card a group of questions, with buttons while somebody can answer; and telling
askers.

Source: product.md §4; reliability.md R6 and R15.
"""

import logging
from collections.abc import Iterator
from functools import partial

from adapters.markdown.events import harmless, shortened
from adapters.shared import digest_cards, expert_answers
from adapters.shared.expert_answers import DigestCards
from adapters.slack.context import SlackContext
from adapters.slack.events import PLATFORM, Replied, is_direct
from adapters.slack.rendering.block_kit import ANSWER, Json, button, context_block, plain, say, say_once, section
from adapters.slack.rendering.mrkdwn import escaped
from adapters.slack.transport.errors import GoneError
from bot.types import Card, Incoming, Notice, Place, Post
from bot.unanswered import card_replies
from bot.unanswered.card_replies import CardMessage

log = logging.getLogger(__name__)

DISMISS, SAVE, ANEW, DISCARD, LINK = "kotae_dismiss", "kotae_save", "kotae_anew", "kotae_discard", "kotae_link"
_ACTIONS = {"answer": ANSWER, "dismiss": DISMISS}
_CHOICES = {"save": SAVE, "anew": ANEW, "discard": DISCARD}
_PIECE = 2_900  # characters of a block
URL = 3_000  # of a button; Source: docs.slack.dev button element


async def announce(context: SlackContext, place: Place, card: Card, about: str) -> None:
    """Post the digest: its numbers, then a card a group. Raises SlackError, StoreError; then the same call goes on."""
    if card.title:
        lines = "\n".join((*card.lines, *card.foot))
        head: list[Json] = [{"type": "header", "text": plain(card.title, 150)}, *([section(lines)] if lines else [])]
        await say_once(context, Post(about, "digest", 0, place), text=line(card.title), blocks=head)
    for post in await digest_cards.posts_for(context.bot, place, card, about):
        await say_once(context, post, text=_title(post), blocks=_blocks(post))


async def tell(context: SlackContext, notice: Notice) -> None:
    """Tell an asker, and nobody else, in their thread that there is an answer. Raises SlackError, StoreError when it
    could not be told yet."""
    who = line(await context.places.name(notice.by)) if notice.by else None
    question = line(shortened(notice.question, 200))
    head = expert_answers.heading(notice, asker=f"<@{notice.author}>", question=question, who=who)
    blocks: list[Json] = [{"type": "section", "text": {"type": "mrkdwn", "text": head, "verbatim": True}}]
    blocks += map(section, _pieces(notice.answer))
    data = {"of_page": notice.of_page}
    post = Post(notice.turn, "notice", notice.id, notice.place, notice.thread, data=data)
    try:
        await say_once(context, post, text=head, blocks=blocks)
    except GoneError as error:
        log.info("an asker's thread is gone (%s)", error.code)
    await context.bot.experts.notices.said(notice)


async def replied(context: SlackContext, reply: Replied, card: Post) -> None:
    """Ask once whether what was written in a card's thread is its answer. Raises SlackError, StoreError."""

    async def ask(post: Post) -> Post | None:
        text, blocks = _question(context, card, post)
        if await context.bot.outbox.reserve(post) is None:  # an event may come twice at the same time
            return await say(context, post, text=text, blocks=blocks)
        return None

    shared = await expert_answers.is_shared(context.bot, card, await context.places.audience(card.place.channel))
    written = CardMessage(reply.message, reply.author, reply.text, float(reply.message), shared)
    change = partial(ask_anew, context, card)
    await card_replies.confirm(context.bot.outbox, card, written, reply.thread, reply.place.channel, ask, change)


async def changed(context: SlackContext, message: Incoming, *, gone: bool = False) -> bool:
    """A message was edited, or is `gone`: whether it belongs to a card's answer. Raises StoreError."""
    direct = is_direct(message.place.channel)  # there it need not be in the card's thread
    if not direct and message.thread == message.message:
        return False
    found = await context.bot.outbox.confirms(message.place, message.thread, everywhere=direct)
    return await cards(context).changed(found, message.message, partial(ask_anew, context), gone=gone)


async def ask_anew(context: SlackContext, card: Post, confirm: Post) -> None:
    """Put the question about the replies to a card that there are by now, or that they are saved, in the place of its
    older words. Raises SlackError."""
    text, blocks = _question(context, card, confirm)
    await context.slack.update(confirm.place.channel, confirm.message or "", text=text, blocks=blocks, last=True)


def _question(context: SlackContext, card: Post, confirm: Post) -> tuple[str, list[Json]]:
    if (taken := card_replies.taken(confirm.data)) is not None:
        text = expert_answers.saved(taken, context.language)
        return line(text), [section(text)]
    about = shortened(digest_cards.question_on(card), 150)
    text = card_replies.question(confirm.data, about, context.language)
    elements = [
        button(label, _CHOICES[kind], confirm.about, **({"style": "primary"} if kind == "save" else {}))
        for kind, label in expert_answers.choices(confirm.data, context.language)
    ]
    return line(text), [section(text), {"type": "actions", "elements": elements}]


def cards(context: SlackContext) -> DigestCards:
    """The cards of this workspace."""
    audience, drawn, told = context.places.audience, partial(_draw, context), partial(tell, context)
    return DigestCards(PLATFORM, context.bot, context.tasks, context.language, audience, drawn, told)


async def _draw(context: SlackContext, card: Post, status: str) -> None:
    """Raises SlackError."""
    blocks = [*_blocks(card), context_block(status)]
    await context.slack.update(card.place.channel, card.message or "", text=_title(card), blocks=blocks, last=True)


def _title(card: Post) -> str:
    """For where blocks are not shown."""
    return line(digest_cards.row_on(card).text)


def _blocks(card: Post) -> list[Json]:
    row = digest_cards.row_on(card)
    value = f"{card.about}:{card.part}"  # only a name: which questions it is about is in the database
    blocks = [section(row.text)]
    if row.details:
        blocks.append(context_block(*row.details))
    elements = [
        button(action.text, _ACTIONS[action.kind], value, **({"style": "primary"} if action.kind == "answer" else {}))
        for action in row.actions
    ]
    links = [link for link in row.web_links if len(link.url) <= URL]
    elements += [button(link.text, f"{LINK}:{n}", str(n), url=link.url) for n, link in enumerate(links, 1)]
    if elements:
        blocks.append({"type": "actions", "elements": elements[:25]})
    return blocks


def _pieces(text: str) -> Iterator[str]:
    """A text in as many blocks as it takes, cut between lines, sentences or words."""
    while len(text) > _PIECE:
        cuts = (text.rfind(mark, _PIECE // 2, _PIECE) for mark in "\n。 ")
        at = next((cut + 1 for cut in cuts if cut >= 0), _PIECE)
        yield text[:at].rstrip()
        text = text[at:]
    yield text


def line(text: str) -> str:
    """One line of Slack's markup in which nothing is a mention or a link."""
    return escaped(harmless(shortened(text, 300)))
