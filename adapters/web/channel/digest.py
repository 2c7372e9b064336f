"""The weekly digest in a room: a card a group of questions, answered, confirmed or dismissed; and telling askers.

A `card` message has what its post has (`row`, `questions`, `closed`) and a `status` once it is closed; a `confirm` one
what `bot.unanswered.card_replies` keeps of it (its `card` as a message), the `questions`, and whether it is `done`; a
`system` one `title`, `lines` and `foot`; a `notice` `who` is told, the `question`, the `answer`, whom it is `by`, and
whether it is `of_page`. Source: product.md §4; reliability.md R6, R11 and R19.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from adapters.markdown.events import shortened
from adapters.shared import digest_cards, expert_answers
from adapters.shared.expert_answers import CardReply, DigestCards
from adapters.web.channel.context import WebContext, name_of
from adapters.web.channel.events import audience_of, link
from adapters.web.channel.rooms import PLATFORM, Member, actor, place, room
from bot.records import BotMessage, MessageKind, RoomMessage
from bot.types import AnswerTaken, Audience, Card, CardRow, Notice, Place, Post
from bot.unanswered import card_replies
from bot.unanswered.card_replies import CardMessage
from retrieval.i18n import Text

log = logging.getLogger(__name__)

_HEARD = 50  # messages of a thread, among which the last confirmation is

_NOT_SAVED = Text(en="Not saved.", ja="保存しませんでした。")
_TAKEN_BACK = Text(
    en="The answer was taken back. Its questions are open again.",
    ja="回答を取り消しました。質問は未回答に戻っています。",
)


async def announce(context: WebContext, where: Place, card: Card, about: str) -> None:
    """Post the digest: its numbers, then a card a group. Raises StoreError; then the same call goes on."""
    if card.title:
        text = "\n".join((card.title, *card.lines, *card.foot))
        head = {"title": card.title, "lines": list(card.lines), "foot": list(card.foot)}
        await _say_once(context, Post(about, "digest", 0, where), "system", text, head)
    for post in await digest_cards.posts_for(context.bot, where, card, about):
        await _say_once(context, post, "card", _text(digest_cards.row_on(post)), post.data)


def cards(context: WebContext) -> DigestCards:
    """The cards in all rooms."""
    drawn, told = partial(_draw, context), partial(tell, context)
    return DigestCards(PLATFORM, context.bot, context.tasks, context.language, _audience, drawn, told)


async def _audience(room: str) -> Audience:
    return audience_of(room)


async def _draw(context: WebContext, card: Post, status: str) -> None:
    """Raises StoreError."""
    text = f"{_text(digest_cards.row_on(card))}\n{status}"
    data = {**card.data, "status": status}
    await context.board.put(BotMessage(card.place.channel, None, card.about, "card", text, card.part, data))


def row_of(card: RoomMessage) -> CardRow:
    """The row of a card, without its buttons when it is closed."""
    return digest_cards.row_on(_as_post(card))


async def tell(context: WebContext, notice: Notice) -> None:
    """Tell an asker where they have asked. Raises StoreError when it could not be told yet."""
    language, thread = notice.language, int(notice.thread)
    if await context.board.has_thread(notice.place.channel, thread):
        who = name_of(notice.by, language) if notice.by else None
        question = shortened(notice.question, 200)
        head = expert_answers.heading(notice, asker=f"@{name_of(notice.author, language)}", question=question, who=who)
        data: dict[str, Any] = {"who": notice.author, "question": question, "of_page": notice.of_page}
        data |= {"answer": notice.answer, "by": notice.by or ""}
        text = f"{head}\n\n{notice.answer}"
        said = BotMessage(notice.place.channel, thread, notice.turn, "notice", text, notice.id, data)
        await context.board.put(said)
    else:
        log.info("an asker's thread is gone")
    await context.bot.experts.notices.said(notice)


async def replied(context: WebContext, reply: RoomMessage) -> None:
    """Somebody wrote in a thread: where that is a card's, ask once whether it is the answer. Raises StoreError."""
    root = await context.board.written(reply.root)
    card = None if root is None or root.kind != "card" else await _post_of(context, root)
    if root is None or card is None or not expert_answers.may_answer(card, reply.text):
        return
    shared = await expert_answers.is_shared(context.bot, card, audience_of(card.place.channel))
    written = CardMessage(str(reply.id), reply.author, reply.text, reply.created_at.timestamp(), shared)

    def more(said: RoomMessage) -> tuple[str, card_replies.Confirmation] | None:
        data = card_replies.extended(said.data, written)
        return None if data is None else (_question(context, card, data), data)

    while True:  # what it would have gone on from may be settled a moment before
        confirms = await _confirms(context, reply)
        asked = card_replies.asked(card, written, [one.data for one in confirms])
        if asked is None:
            return
        if asked["replies"] == [written.message]:
            data = {**asked, "card": root.id, "questions": card.data["questions"], "done": False}
            said = BotMessage(reply.room, reply.root, f"confirm:{reply.id}", "confirm", _question(context, card, data))
            await context.board.put(replace(said, data=data))
            return
        before = next(one for one in confirms if one.data.get("replies") == asked["replies"][:-1])
        if await context.board.amend(before.id, more) is not None:
            return


async def changed(context: WebContext, reply: RoomMessage, *, gone: bool = False) -> None:
    """A message was edited, or is `gone`: where it is a part of a card's answer, ask what is the answer now. Raises
    StoreError."""
    root = await context.board.written(reply.root)
    card = None if root is None or root.kind != "card" else await _post_of(context, root)
    if card is None:
        return

    def asks(said: RoomMessage) -> tuple[str, card_replies.Confirmation] | None:
        data = card_replies.changed(said.data, str(reply.id), gone=gone)
        return None if data is None else (_question(context, card, data), {**data, "done": False})

    confirms = await _confirms(context, reply)
    held = card_replies.holding([one.data for one in confirms], str(reply.id))
    if held is not None:
        await context.board.amend(confirms[held].id, asks)


async def discard(context: WebContext, confirm: RoomMessage) -> None:
    """Let the replies that were asked about be no answer, or the answer as it was. Raises StoreError."""

    def declined(said: RoomMessage) -> tuple[str, card_replies.Confirmation] | None:
        now = card_replies.declined(said.data)
        if now is None:
            return None
        taken = card_replies.taken(now)
        text = _NOT_SAVED.to(context.language) if taken is None else expert_answers.saved(taken, context.language)
        return text, {**now, "done": True}

    await context.board.amend(confirm.id, declined)


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
    post, name = _as_post(card), name_of(member.id, context.language)
    if reference is None:
        reference = digest_cards.reference_of(post)
    url = link(card, context.address)
    return await cards(context).answer(
        post, actor(member), name, answer, url, question=question, reference=reference, chosen=chosen
    )


async def dismiss(context: WebContext, member: Member, card: RoomMessage) -> AnswerTaken:
    """Close all questions on a card without an answer. Raises StoreError."""
    name = name_of(member.id, context.language)
    return await cards(context).dismiss(_as_post(card), actor(member), name)


async def opened(context: WebContext, card: RoomMessage) -> expert_answers.OpenedQuestion | Text:
    """The open questions of a card, for the form; or why nothing. Raises StoreError."""
    post = await _post_of(context, card)
    return (
        expert_answers.GONE if post is None else await expert_answers.opened(context.bot, post, audience_of(card.room))
    )


async def save(context: WebContext, member: Member, confirm: RoomMessage, *, anew: bool = False) -> AnswerTaken:
    """Keep the replies that were asked about as the answer, or those of `card_replies.anew`. Raises StoreError."""

    def taken_back(said: RoomMessage) -> tuple[str, card_replies.Confirmation]:
        return _TAKEN_BACK.to(context.language), {**card_replies.taken_back(said.data), "done": True}

    confirms = await _confirms(context, confirm)
    now = card_replies.up_to_date(confirm.data, [one.data for one in confirms])
    meant = card_replies.anew(now) if anew else now
    earlier, asked = card_replies.replies(meant)
    found = [await context.board.written(int(reply)) for reply in (*earlier, *asked)]
    card = await context.board.written(int(confirm.data["card"]))
    if card is not None and not found and not confirm.data["done"]:
        refusal = await cards(context).take_back(_as_post(card), actor(member), meant)
        if refusal is None:
            await context.board.amend(confirm.id, taken_back)
        return AnswerTaken(refusal=refusal)
    if not any(found[len(earlier) :]):
        await discard(context, confirm)
        return AnswerTaken(refusal=expert_answers.DELETED)
    if card is None or confirm.data["done"]:
        return AnswerTaken(refusal=expert_answers.GONE)
    post = _as_post(card)
    data = {**meant, "reference": confirm.data.get("reference") or digest_cards.reference_of(post)}
    taught = await cards(context).learn(post, actor(member), data, [_reply(context, one) for one in found if one])
    if taught.refusal is None:

        def saved(said: RoomMessage) -> tuple[str, card_replies.Confirmation]:
            now = card_replies.saved(said.data, data, taught)
            if "saved" in now:
                return expert_answers.saved(taught, context.language), {**now, "done": True}
            return _question(context, post, now), now

        await context.board.amend(confirm.id, saved)
    return taught


async def _confirms(context: WebContext, there: RoomMessage) -> list[RoomMessage]:
    """The confirmations in a message's thread, the latest first."""
    heard = await context.board.heard(there.room, there.root, limit=_HEARD)
    return [one for one in reversed(heard) if one.kind == "confirm"]


def _question(context: WebContext, card: Post, data: card_replies.Confirmation) -> str:
    return card_replies.question(data, shortened(digest_cards.question_on(card), 150), context.language)


def _reply(context: WebContext, reply: RoomMessage) -> CardReply:
    return CardReply(reply.text, link(reply, context.address), reply.author, name_of(reply.author, context.language))


# -- parts ----------------------------------------------------------------------------------------------------------


async def _say_once(context: WebContext, post: Post, kind: MessageKind, text: str, data: Mapping[str, Any]) -> None:
    before = await context.bot.outbox.reserve(post)
    if before is None or before.message is None:
        said = BotMessage(post.place.channel, None, post.about, kind, text, post.part, data)
        posted = await context.board.put(said)
        await context.bot.outbox.confirm(replace(post, message=str(posted.id)))


def _as_post(card: RoomMessage) -> Post:
    return Post(card.about or "", "card", card.part, place(room(card.room)), data=card.data, message=str(card.id))


async def _post_of(context: WebContext, card: RoomMessage) -> Post | None:
    return await context.bot.outbox.find(place(room(card.room)), str(card.id))


def _text(row: CardRow) -> str:
    return "\n".join((row.text, *row.details))
