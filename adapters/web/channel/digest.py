"""The weekly digest in a room: a card a group of questions, answered, confirmed or dismissed; and telling askers.

A `card` message has what its post has (`row`, `questions`, `closed`) and a `status` once it is closed; a `confirm` one
which `card` and `reply` it is about, and whether it is `done`; a `system` one `title`, `lines` and `foot`; a `notice`
`who` is told, the `question`, the `answer` and whom it is `by`. Source: product.md §4; reliability.md R6, R11 and R19.
"""

import logging
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from adapters.markdown.events import shortened
from adapters.shared import digest_cards, expert_answers
from adapters.web.channel.context import WebContext, name_of
from adapters.web.channel.events import audience_of, link
from adapters.web.channel.rooms import PLATFORM, Member, actor, audience, place, room
from bot.records import BotMessage, MessageKind, RoomMessage
from bot.types import AnswerGiven, AnswerTaken, Audience, Card, CardRow, Notice, Place, Post
from retrieval.i18n import Text

log = logging.getLogger(__name__)


async def announce(context: WebContext, where: Place, card: Card, about: str) -> None:
    """Post the digest: its numbers, then a card a group. Raises StoreError; then the same call goes on."""
    if card.title:
        text = "\n".join((card.title, *card.lines, *card.foot))
        head = {"title": card.title, "lines": list(card.lines), "foot": list(card.foot)}
        await _say_once(context, Post(about, "digest", 0, where), "system", text, head)
    for post in await digest_cards.posts_for(context.bot, where, card, about):
        await _say_once(context, post, "card", _text(digest_cards.row_on(post)), post.data)


async def redraw(context: WebContext, card: Post, status: str) -> None:
    """The card as it is now, and what became of it. Raises StoreError."""
    if card.message is None:
        return
    await context.bot.outbox.confirm(card)
    text = f"{_text(digest_cards.row_on(card))}\n{status}"
    data = {**card.data, "status": status}
    await context.board.put(BotMessage(card.place.channel, None, card.about, "card", text, card.part, data))


def row_of(card: RoomMessage) -> CardRow:
    """The row of a card, without its buttons when it is closed."""
    where = Place(PLATFORM, "", card.room)
    return digest_cards.row_on(Post(card.about or "", "card", card.part, where, data=card.data))


async def tell(context: WebContext, notice: Notice) -> None:
    """Tell an asker where they have asked. Raises StoreError when it could not be told yet."""
    language, thread = notice.language, int(notice.thread)
    if await context.board.has_thread(notice.place.channel, thread):
        who = name_of(notice.by, language) if notice.by else None
        question = shortened(notice.question, 200)
        head = expert_answers.heading(notice, asker=f"@{name_of(notice.author, language)}", question=question, who=who)
        data = {"who": notice.author, "question": question, "answer": notice.answer, "by": notice.by or ""}
        text = f"{head}\n\n{notice.answer}"
        said = BotMessage(notice.place.channel, thread, f"notice:{notice.id}", "notice", text, data=data)
        await context.board.put(said)
    else:
        log.info("an asker's thread is gone")
    await context.bot.experts.notices.said(notice)


async def replied(context: WebContext, reply: RoomMessage) -> None:
    """Somebody wrote in a thread: where that is a card's, ask once whether it is the answer. Raises StoreError."""
    root = await context.board.written(reply.root)
    card = None if root is None or root.kind != "card" else await _post_of(context, root)
    if card is None or card.data["closed"] or not reply.text.strip():
        return
    question = shortened(digest_cards.question_on(card), 150)
    data = {"card": root.id if root else 0, "reply": reply.id, "questions": card.data["questions"], "done": False}
    data["reference"] = digest_cards.reference_of(card)
    text = expert_answers.CONFIRM.to(context.language, question=question)
    await context.board.put(BotMessage(reply.room, reply.root, f"confirm:{reply.id}", "confirm", text, data=data))


async def teach(
    context: WebContext,
    member: Member,
    card: RoomMessage,
    answer: str,
    question: str,
    reference: int | None,
    chosen: expert_answers.Ticks,
) -> AnswerTaken:
    """A member's answer to a card's question (None: the one it shows). Raises StoreError."""
    url = link(card, context.address)
    return await _teach(context, member, card, answer, url, question=question, reference=reference, ticks=chosen)


async def dismiss(
    context: WebContext, member: Member, card: RoomMessage, questions: Collection[int] = ()
) -> AnswerTaken:
    """Close questions on a card without an answer. Raises StoreError."""
    where = room(card.room)
    ids = _chosen(card, questions)
    taught = await context.bot.experts.dismiss(actor(member), ids, place(where), audience(where))
    if taught.refusal is None:
        _settle(context, member.id, card, expert_answers.DISMISSED)
    return taught


async def opened(context: WebContext, card: RoomMessage) -> expert_answers.OpenedQuestion | Text:
    """The open questions of a card, for the form; or why nothing. Raises StoreError."""
    post = await _post_of(context, card)
    return (
        expert_answers.GONE if post is None else await expert_answers.opened(context.bot, post, audience_of(card.room))
    )


async def save(context: WebContext, member: Member, confirm: RoomMessage) -> AnswerTaken:
    """The reply that was asked about is the answer. Raises StoreError."""
    reply = await context.board.written(int(confirm.data["reply"]))
    card = await context.board.written(int(confirm.data["card"]))
    if reply is None:
        await context.board.drop([confirm])
        return AnswerTaken(refusal=expert_answers.DELETED)
    if card is None or confirm.data["done"]:
        return AnswerTaken(refusal=expert_answers.GONE)
    url, reference = link(reply, context.address), confirm.data.get("reference")
    taught = await _teach(context, member, card, reply.text, url, reference=reference, author=reply.author)
    if taught.refusal is None:
        text = expert_answers.saved(taught, context.language)
        said = BotMessage(confirm.room, confirm.thread, confirm.about or "", "confirm", text)
        await context.board.put(replace(said, data={**confirm.data, "done": True}))
    return taught


async def tell_all(context: WebContext) -> None:
    """Say what is to be said now. Raises StoreError."""
    for notice in await context.bot.experts.notices(PLATFORM):
        context.tasks.start(tell(context, notice), "web-notice")


# -- parts ----------------------------------------------------------------------------------------------------------


async def _say_once(context: WebContext, post: Post, kind: MessageKind, text: str, data: Mapping[str, Any]) -> None:
    before = await context.bot.outbox.reserve(post)
    if before is None or before.message is None:
        said = BotMessage(post.place.channel, None, post.about, kind, text, post.part, data)
        posted = await context.board.put(said)
        await context.bot.outbox.confirm(replace(post, message=str(posted.id)))


async def _teach(
    context: WebContext,
    member: Member,
    card: RoomMessage,
    answer: str,
    url: str | None,
    *,
    question: str = "",
    reference: int | None = None,
    author: str = "",
    ticks: expert_answers.Ticks = expert_answers.NO_TICKS,
) -> AnswerTaken:
    where = room(card.room)
    lesson = AnswerGiven(
        actor(member),
        place(where),
        audience(where),
        _chosen(card),
        answer,
        question,
        url,
        reference if reference is not None else card.data.get("reference"),
        author,
        closes=ticks.closes,
        leaves=ticks.leaves,
    )
    taught = await context.bot.experts.answer(lesson)
    if taught.refusal is None:
        _settle(context, author or member.id, card, expert_answers.ANSWERED)
    return taught


def _settle(context: WebContext, who: str, card: RoomMessage, how: Text) -> None:
    """Cards whose question is not open any more say so, and the askers are told."""
    name = name_of(who, context.language)

    async def settle() -> None:
        post = await _post_of(context, card)
        for now in (
            await digest_cards.changed(context.bot, post, audience_at, context.language) if post is not None else ()
        ):
            await redraw(context, now, expert_answers.status(now, how, context.language, name))
        await tell_all(context)

    context.tasks.start(settle(), "web-cards")


async def _post_of(context: WebContext, card: RoomMessage) -> Post | None:
    return await context.bot.outbox.find(place(room(card.room)), str(card.id))


async def audience_at(card: Post) -> Audience:
    """The readers of a card now."""
    return audience_of(card.place.channel)


def _chosen(card: RoomMessage, questions: Collection[int] = ()) -> tuple[int, ...]:
    """Which questions a card is about is what the database says."""
    there = tuple(card.data["questions"])
    return tuple(each for each in there if each in questions) if questions else there


def _text(row: CardRow) -> str:
    return "\n".join((row.text, *row.details))
