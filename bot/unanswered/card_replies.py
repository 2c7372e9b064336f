"""Replies to a card, and the question whether they are its answer: one person's messages in a row are one answer,
also those that follow once the first of them was saved.

Kept of a confirmation are its `card`, the `replies` it asks about, `by` whom they are, the last of them `at` what time,
which question they answer (`reference`), and whether it stays `alone`. Once they are the answer, `saved` has its
documents, by their ids, and their versions, `told` and `left` how many threads are told and questions stay open; one
that asks whether to add to these has them in `answers`, and in `earlier` the replies that they consist of. One that was
declined is `discarded`, one that is saved never. Several processes may change and show it at the same time: its row
says what holds, and whoever has shown it looks again whether it still does. Source: product.md §4.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from bot.store.outbox import Outbox
from bot.types import AnswerTaken, Post
from retrieval.i18n import Language, Text

TOGETHER = 600.0  # seconds between two messages of one answer, at most
MOST = 20  # messages of one answer

_QUESTION = re.compile(r"([?？]|か[。.]?)\s*$")
_COMMAND = re.compile(r"[/!]\w")

_SAVE = Text(
    en="Save this reply as the answer to “{question}”?", ja="この返信を「{question}」の回答として保存しますか？"
)
_SAVE_ALL = Text(
    en="Save these {n} replies together as the answer to “{question}”?",
    ja="この {n} 件の返信を、まとめて「{question}」の回答として保存しますか？",
)
_ADD = Text(en="Add this reply to the answer to “{question}”?", ja="この返信を「{question}」の回答に追加しますか？")
_ADD_ALL = Text(
    en="Add these {n} replies to the answer to “{question}”?",
    ja="この {n} 件の返信を「{question}」の回答に追加しますか？",
)
_YES = Text(en="Save as the answer", ja="回答として保存")
_YES_ADD = Text(en="Add to the answer", ja="回答に追加")

Confirmation = Mapping[str, Any]
Say = Callable[[Post], Awaitable[Post | None]]


@dataclass(frozen=True, slots=True)
class CardMessage:
    """A reply to a card as it was written. `at`: POSIX seconds."""

    message: str
    author: str
    text: str
    at: float


def asked(card: Post, reply: CardMessage, earlier: Sequence[Confirmation]) -> Confirmation | None:
    """The confirmation that a reply to a card takes: one of its own, or the one that asks about what its author wrote
    just before, with this reply too. None: nothing is asked. `earlier`: the card's, the latest first."""
    if any(reply.message in (*one.get("replies", ()), *one.get("earlier", ())) for one in earlier):
        return None
    closed, reference = bool(card.data["closed"]), card.data.get("reference")
    new = {"card": [card.about, card.part], "replies": [reply.message], "by": reply.author, "at": reply.at}
    before = _before(reply, earlier)
    if before and (closed or before["reference"] == reference):
        if "saved" in before:
            so_far = [*before.get("earlier", ()), *before["replies"]]
            return {**new, "reference": before["reference"], "answers": before["saved"], "earlier": so_far}
        if "answers" in before or not closed:
            return extended(before, reply)
    return None if closed else {**new, "reference": reference, "alone": _alone(reply.text)}


def extended(before: Confirmation, reply: CardMessage) -> Confirmation | None:
    """A confirmation that asks about one more reply; None: it is settled by now."""
    if is_settled(before):
        return None
    return {**before, "replies": [*before["replies"], reply.message], "at": max(before["at"], reply.at)}


def saved(now: Confirmation, asked: Confirmation, taken: AnswerTaken) -> Confirmation:
    """The confirmation once the replies it `asked` about are the answer: saved, or, where it asks about more by `now`,
    the question whether to add these."""
    more = [one for one in now.get("replies", ()) if one not in asked.get("replies", ())]
    if not more or "discarded" in now:
        kept = {name: value for name, value in now.items() if name != "discarded"}
        return {**kept, **asked, "saved": dict(taken.documents), "told": taken.told, "left": taken.left}
    earlier = [*asked.get("earlier", ()), *asked["replies"]]
    return {**now, **asked, "replies": more, "answers": dict(taken.documents), "earlier": earlier}


def declined(now: Confirmation) -> Confirmation | None:
    """The confirmation once its replies are let be no answer; None: they are the answer by now."""
    return None if "saved" in now else {**now, "discarded": True}


def _before(reply: CardMessage, earlier: Sequence[Confirmation]) -> Confirmation | None:
    """The confirmation of what a reply goes on from, if it does: its author wrote that just before, and nobody else has
    written since."""
    for one in () if _alone(reply.text) else earlier:
        if one.get("by") != reply.author or abs(reply.at - one["at"]) > TOGETHER or len(one["replies"]) >= MOST:
            return None
        if "discarded" not in one:
            return None if one.get("alone") else one
    return None


def _alone(text: str) -> bool:
    """Whether it is no part of an answer in several messages: a question, or a command."""
    return bool(_QUESTION.search(text) or _COMMAND.match(text.lstrip()))


async def confirm(
    outbox: Outbox,
    card: Post,
    reply: CardMessage,
    thread: str | None,
    channel: str,
    say: Say,
    change: Callable[[Post], Awaitable[None]],
) -> None:
    """Ask once about a reply to a card, or about more with the question that is there already. `channel`: in which the
    reply stands; `say`: posts the question, and returns it with what is known of it then, or None if it is posted
    already; `change`: puts its words in the place of older ones, again if there is more by then. Raises StoreError,
    and what these do."""
    named = [card.about, card.part]
    new, now = False, None
    while not new and now is None:  # what it would have gone on from may be settled a moment before
        found = [one for one in await outbox.confirms(card.place, thread) if one.data.get("card") == named]
        data = asked(card, reply, [one.data for one in found])
        if data is None:
            return
        new = data["replies"] == [reply.message]
        if new:
            post = Post(f"confirm:{channel}:{reply.message}", "confirm", 0, card.place, thread, data=data)
            now = await say(post)
        else:
            post = next(one for one in found if one.data.get("replies") == data["replies"][:-1])
            now = await outbox.amend(post, partial(extended, reply=reply))
    if now is not None:
        await show(outbox, post, change, shown=post.data if new else None)


async def show(
    outbox: Outbox, confirm: Post, change: Callable[[Post], Awaitable[None]], *, shown: Confirmation | None = None
) -> None:
    """Bring what people see of a confirmation, perhaps `shown` already, in line with what is kept of it. Whoever else
    does so at the same time may come later with what is older, and then does it once more. Raises StoreError, and what
    `change` raises."""
    while (now := await _kept(outbox, confirm)) is not None:
        message = now.message or confirm.message  # it was pressed, and may not be written down yet
        if message is None or now.data == shown or "discarded" in now.data:
            return
        await change(replace(now, message=message))
        shown = now.data


async def _kept(outbox: Outbox, confirm: Post) -> Post | None:
    return next((one for one in await outbox.of(confirm.about) if one.kind == "confirm"), None)


def is_settled(data: Confirmation) -> bool:
    return "saved" in data or "discarded" in data


def taken(data: Confirmation) -> AnswerTaken | None:
    """The outcome of the answer that a confirmation's replies have become; None: they have not, or not yet."""
    return AnswerTaken(told=data.get("told", 0), left=data.get("left", 0)) if "saved" in data else None


def question(data: Confirmation, about: str, language: Language) -> str:
    """Its words, `about` the question of the card."""
    n = len(data["replies"])
    said = (_ADD if n == 1 else _ADD_ALL) if "answers" in data else _SAVE if n == 1 else _SAVE_ALL
    return said.to(language, question=about, n=n)


def yes(data: Confirmation, language: Language) -> str:
    """The label of its button."""
    return (_YES_ADD if "answers" in data else _YES).to(language)


def replies(data: Confirmation) -> tuple[list[str], list[str]]:
    """The messages that the answer consists of so far, and those that it asks about: by their ids, which grow, in the
    order in which they were written."""
    found = data.get("earlier", ()), data.get("replies") or [str(data["reply"])]
    earlier, asked = (sorted(some, key=lambda id: (len(id), id)) for some in found)
    return earlier, asked
