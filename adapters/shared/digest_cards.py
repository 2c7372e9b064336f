"""Cards of open questions on any platform: what one shows is kept with its post, so it is drawn from there whenever it
changes. Source: product.md §4; reliability.md R6.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from bot.bot import Bot
from bot.types import UNKNOWN, Action, Audience, Card, CardRow, Link, Place, Post, is_wordless
from bot.unanswered import card_replies
from bot.unanswered.closing import closing
from bot.unanswered.digest_card import remaining
from retrieval.i18n import Language, Text

_TAKEN_BACK = Text(
    en="Whoever asked this has changed or deleted the question, or a 👎 on its answer was taken back.",
    ja="この質問は、質問した人が変更または削除したか、回答への 👎 が取り消されました。",
)
LISTED = "listed"  # instead of the digest in a card's name: the question is one of a list
_NUMBER = re.compile(r"^\d+\. ")  # of a row


async def posts_for(bot: Bot, place: Place, card: Card, about: str) -> list[Post]:
    """A post a group of questions, those first that were begun before: known by their questions, as groups change their
    places when one of them is answered meanwhile. Raises StoreError."""
    earlier = [post for post in await bot.outbox.of(about) if post.kind == "card"]
    rows = [row for row in card.rows if not any(_is_on(row, post) for post in earlier)]
    return earlier + [
        Post(about, "card", part, place, data=_data(row)) for part, row in enumerate(rows, start=len(earlier))
    ]


async def find(bot: Bot, about: str, part: str) -> Post | None:
    """The card of this name; those of `listed` ones are not posts. Raises StoreError."""
    found = (post for post in await bot.outbox.of(about) if post.kind == "card" and str(post.part) == part)
    return next(found, None)


async def listed(bot: Bot, number: str, place: Place, audience: Audience) -> Post | None:
    """The card of a question that stands in a list, by its id, as if the card were there: with the others that say the
    same. None: it is not open any more, or not for those who read the place. Raises StoreError."""
    if not number.isdecimal():
        return None
    asked = (await bot.experts.open(place, audience)).questions
    found = await asyncio.to_thread(closing, asked, int(number))
    if found is None:
        return None
    data = {"questions": [one.id for one in found.closes], "reference": found.reference.id, "closed": False}
    return Post(LISTED, "card", found.reference.id, place, data=data)


async def changed(
    bot: Bot, card: Post, audience_of: Callable[[str], Awaitable[Audience]], language: Language
) -> list[Post]:
    """The cards of the same questions, on the card's platform, whose question is not open any more, as they are now.
    Raises StoreError."""
    found = [
        await renewed(bot, other, await audience_of(other.place.channel), language)
        for other in await bot.outbox.cards(card.data["questions"])
        if other.place.platform == card.place.platform
    ]
    return [card for card in found if card is not None]


async def renewed(bot: Bot, card: Post, audience: Audience, language: Language) -> Post | None:
    """A card that is to be drawn anew, as it is now: closed, or with what it leaves open, and without the words of what
    its asker has changed or deleted, or of a document that was withdrawn. None: it stays as it is, as while nobody can
    tell who reads it. Raises StoreError."""
    if card.data.get("stale"):  # a document that it quoted was withdrawn
        return replace(card, data={name: value for name, value in card.data.items() if name != "stale"})
    gone = await bot.experts.missing(card.data["questions"])
    asked = await bot.experts.questions(card.data["questions"], card.place, audience)
    still = [question for question in asked if question.resolved_at is None]
    shown, wordless = reference_of(card), is_wordless(card.data)
    if card.data["closed"] or (not still and (asked or gone) and audience != UNKNOWN):
        return _closed(card, gone, language)
    if not (gone or wordless) and (not asked or shown in {question.id for question in still}):
        return None
    if not (gone or wordless) and shown is None and len(still) == len(asked):
        return None
    found = await asyncio.to_thread(closing, still)
    return None if found is None else replace(card, data=_data(remaining(row_on(card), found, language)))


async def taken_back(bot: Bot, card: Post, language: Language) -> list[Post]:
    """The questions whether a reply is the answer to what its asker has changed or deleted, as they are from now on:
    without its words, and settled. Raises StoreError."""
    gone = await bot.experts.missing(card.data["questions"])
    asked = [one for thread in (card.message, None) for one in await bot.outbox.confirms(card.place, thread)]
    found = []
    for one in asked if gone else ():
        its = one.data.get("card") == [card.about, card.part] and one.data.get("reference") in gone
        if its and not card_replies.is_settled(one.data):
            row = {"text": _TAKEN_BACK.to(language), "details": [], "links": [], "actions": []}
            data = {**one.data, "discarded": True, "row": row, "questions": [], "closed": True}
            found.append(replace(one, data=data))
    return found


def _closed(card: Post, gone: Collection[int], language: Language) -> Post:
    row = dict(card.data["row"])
    if gone:  # what it lists besides may be theirs
        row |= {"details": [], "links": []}
        row.pop("sources", None)  # of the details
    taken_back = bool(gone) and (reference_of(card) in gone or gone == set(card.data["questions"]))
    if taken_back:
        number = _NUMBER.match(row["text"])
        row["text"] = (number[0] if number else "") + _TAKEN_BACK.to(language)
    return replace(card, data={**card.data, "row": row, "closed": True, "taken_back": taken_back})


def reference_of(card: Post) -> int | None:
    """The question that a card shows and that is answered; None: of a card from before this was kept."""
    reference: int | None = card.data.get("reference")
    return reference


def row_on(card: Post) -> CardRow:
    """The row of a card; without its buttons when it is closed."""
    kept: Mapping[str, Any] = card.data["row"]
    questions = tuple(card.data["questions"])
    actions = () if card.data["closed"] else kept["actions"]
    return CardRow(
        kept["text"],
        tuple(kept["details"]),
        tuple(Link(*link) for link in kept["links"]),
        tuple(
            Action(text, questions, kind, reference_of(card) if kind == "answer" else None) for text, kind in actions
        ),
    )


def question_on(card: Post) -> str:
    """The question on a card, without its number."""
    return _NUMBER.sub("", str(card.data["row"]["text"]))


def _data(row: CardRow) -> dict[str, Any]:
    reference = next((action.reference for action in row.actions if action.reference is not None), None)
    return {"questions": _questions(row), "reference": reference, "row": _kept(row), "closed": False}


def _kept(row: CardRow) -> dict[str, Any]:
    return {
        "text": row.text,
        "details": list(row.details),
        "links": [[link.text, link.url] for link in row.links],
        "actions": [[action.text, action.kind] for action in row.actions],
        **({"sources": [*row.sources, *[""] * (len(row.details) - len(row.sources))]} if any(row.sources) else {}),
    }


def _questions(row: CardRow) -> list[int]:
    return sorted({number for action in row.actions for number in action.questions})


def _is_on(row: CardRow, card: Post) -> bool:
    questions = set(_questions(row))
    return questions <= set(card.data["questions"]) if questions else row.text == card.data["row"]["text"]
