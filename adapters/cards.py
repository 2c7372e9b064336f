"""Cards of open questions on any platform: what one shows is kept with its post, so it is drawn from there whenever it
changes. Source: product.md §4; reliability.md R6.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from adapters.port import Desk
from bot.cards import Action, Card, Link, Row
from bot.messages import Audience, Place, Post

_NUMBER = re.compile(r"^\d+\. ")  # of a row


async def posts_for(desk: Desk, place: Place, card: Card, about: str) -> list[Post]:
    """A post a group of questions, those first that were begun before: known by their questions, as groups change their
    places when one of them is answered meanwhile. Raises StoreError."""
    earlier = [post for post in await desk.posts(about) if post.kind == "card"]
    rows = [row for row in card.rows if not any(_is_on(row, post) for post in earlier)]
    return earlier + [
        Post(about, "card", part, place, data={"questions": _questions(row), "row": _kept(row), "closed": False})
        for part, row in enumerate(rows, start=len(earlier))
    ]


async def find(desk: Desk, about: str, part: str) -> Post | None:
    """The card of this name. Raises StoreError."""
    found = (post for post in await desk.posts(about) if post.kind == "card" and str(post.part) == part)
    return next(found, None)


async def done_with(desk: Desk, card: Post, audience_of: Callable[[Post], Awaitable[Audience]]) -> list[Post]:
    """The cards of the same questions, on the card's platform, on which nothing is open any more. Raises StoreError."""
    done = []
    for other in await desk.cards(card.data["questions"]):
        if other.place.platform == card.place.platform:
            asked = await desk.questions(other.data["questions"], other.place, await audience_of(other))
            if asked and all(question.resolved_at for question in asked):
                done.append(other)
    return done


def closed(card: Post) -> Post:
    return replace(card, data={**card.data, "closed": True})


def row_on(card: Post) -> Row:
    """What a card shows; without its buttons when it is closed."""
    kept: Mapping[str, Any] = card.data["row"]
    questions = tuple(card.data["questions"])
    actions = () if card.data["closed"] else kept["actions"]
    return Row(
        kept["text"],
        tuple(kept["details"]),
        tuple(Link(*link) for link in kept["links"]),
        tuple(Action(text, questions, kind) for text, kind in actions),
    )


def question_on(card: Post) -> str:
    """What a card asks, without its number."""
    return _NUMBER.sub("", str(card.data["row"]["text"]))


def _kept(row: Row) -> dict[str, Any]:
    return {
        "text": row.text,
        "details": list(row.details),
        "links": [[link.text, link.url] for link in row.links],
        "actions": [[action.text, action.kind] for action in row.actions],
    }


def _questions(row: Row) -> list[int]:
    return sorted({number for action in row.actions for number in action.questions})


def _is_on(row: Row, card: Post) -> bool:
    questions = set(_questions(row))
    return questions <= set(card.data["questions"]) if questions else row.text == card.data["row"]["text"]
