"""The weekly digest in a channel: a card a group of questions, with buttons while somebody can answer; and telling askers.

Source: product.md §4; reliability.md R6 and R15.
"""

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from adapters.markdown import harmless
from adapters.slack.client import GoneError, SlackError
from adapters.slack.dialect import escaped
from adapters.slack.events import Replied
from adapters.slack.office import Office
from adapters.slack.widgets import Json, button, context, plain, say, say_once, section, shortened
from bot.cards import Action, Card, Link, Row
from bot.messages import Notice, Place, Post
from retrieval.text import Said

log = logging.getLogger(__name__)

ANSWER, DISMISS, SAVE, DISCARD, LINK = "kotae_answer", "kotae_dismiss", "kotae_save", "kotae_discard", "kotae_link"
_ACTIONS = {"answer": ANSWER, "dismiss": DISMISS}
_NUMBER = re.compile(r"^\d+\. ")  # of a row
_PIECE = 2_900  # characters of a block

_CONFIRM = Said(
    en="Save this reply as the answer to “{question}”?", ja="この返信を「{question}」の回答として保存しますか？"
)
_YES, _NO = Said(en="Save as the answer", ja="回答として保存"), Said(en="No", ja="いいえ")
_TOLD = Said(
    en="{asker} Your question “{question}” has an answer now{by}:",
    ja="{asker} ご質問「{question}」に回答が付きました{by}:",
)
_BY = Said(en=", from {who}", ja="（{who} さんより）")


async def announce(office: Office, place: Place, card: Card, about: str) -> None:
    """Post the digest: its numbers, then a card a group. Raises SlackError, StoreError; then the same call goes on.

    What was posted already is left, and known by its questions: groups change their places when one is answered meanwhile.
    """
    lines = "\n".join((*card.lines, *card.foot))
    head: list[Json] = [{"type": "header", "text": plain(card.title, 150)}, *([section(lines)] if lines else [])]
    await say_once(office, Post(about, "digest", 0, place), text=line(card.title), blocks=head)
    earlier = [post for post in await office.desk.posts(about) if post.kind == "card"]
    for post in earlier:
        await _post(office, post)
    rows = [row for row in card.rows if not any(_is_on(row, post) for post in earlier)]
    for part, row in enumerate(rows, start=len(earlier)):
        data = {"questions": _questions(row), "row": _kept(row), "closed": False}
        await _post(office, Post(about, "card", part, place, data=data))


async def _post(office: Office, post: Post) -> None:
    row = row_on(post)
    await say_once(office, post, text=line(row.text), blocks=blocks_of(row, post))


async def tell(office: Office, notice: Notice) -> None:
    """Tell an asker, and nobody else, in their thread that there is an answer. Raises SlackError, StoreError when it
    could not be told yet."""
    by = _BY.to(notice.language, who=line(await office.places.name(notice.by))) if notice.by else ""
    head = _TOLD.to(notice.language, asker=f"<@{notice.author}>", question=line(shortened(notice.question, 200)), by=by)
    blocks: list[Json] = [{"type": "section", "text": {"type": "mrkdwn", "text": head, "verbatim": True}}]
    blocks += map(section, _pieces(notice.answer))
    post = Post(f"notice:{notice.id}", "notice", 0, notice.place, notice.thread)
    try:
        await say_once(office, post, text=head, blocks=blocks)
    except GoneError as error:
        log.info("an asker's thread is gone (%s)", error.code)
    await office.desk.said(notice)


async def replied(office: Office, reply: Replied, card: Post) -> None:
    """Somebody wrote in a card's thread: ask them once whether it is the answer."""
    if card.data["closed"] or reply.stranger or not reply.text.strip():
        return
    if (await office.places.actor(reply.author)).role == "outsider":
        return
    language = office.language
    text = _CONFIRM.to(language, question=shortened(_NUMBER.sub("", row_on(card).text), 150))
    about = f"confirm:{reply.place.channel}:{reply.message}"
    yes = button(_YES.to(language), SAVE, about, style="primary")
    blocks = [section(text), {"type": "actions", "elements": [yes, button(_NO.to(language), DISCARD, about)]}]
    data = {"card": [card.about, card.part], "reply": reply.message}
    post = Post(about, "confirm", 0, reply.place, reply.thread, data=data)
    if await office.desk.intend(post) is None:  # an event may come twice at the same time
        await say(office, post, text=line(text), blocks=blocks)


async def redraw(office: Office, card: Post, status: str) -> None:
    """The card without its buttons, and what became of it. Raises StoreError."""
    message = card.message
    if message is None:
        return
    card = replace(card, data={**card.data, "closed": True})
    await office.desk.placed(card)
    row = replace(row_on(card), actions=())
    blocks = [*blocks_of(row, card), context(status)]
    try:
        await office.slack.update(card.place.channel, message, text=line(row.text), blocks=blocks, last=True)
    except SlackError as error:
        log.warning("a card could not be redrawn: %s", error.code)


def row_on(card: Post) -> Row:
    """What a card shows, as it was stored with its post."""
    kept: Mapping[str, Any] = card.data["row"]
    questions = tuple(card.data["questions"])
    return Row(
        kept["text"],
        tuple(kept["details"]),
        tuple(Link(*link) for link in kept["links"]),
        tuple(Action(text, questions, kind) for text, kind in kept["actions"]),
    )


def _kept(row: Row) -> Json:
    return {
        "text": row.text,
        "details": list(row.details),
        "links": [[link.text, link.url] for link in row.links],
        "actions": [[action.text, action.kind] for action in row.actions],
    }


def blocks_of(row: Row, card: Post) -> list[Json]:
    value = f"{card.about}:{card.part}"  # only a name: which questions it is about is in the database
    blocks = [section(row.text)]
    if row.details:
        blocks.append(context(*row.details))
    elements = [
        button(action.text, _ACTIONS[action.kind], value, **({"style": "primary"} if action.kind == "answer" else {}))
        for action in row.actions
    ]
    elements += [button(link.text, f"{LINK}:{n}", str(n), url=link.url) for n, link in enumerate(row.links, 1)]
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


def _questions(row: Row) -> list[int]:
    return sorted({number for action in row.actions for number in action.questions})


def _is_on(row: Row, card: Post) -> bool:
    questions = set(_questions(row))
    return questions <= set(card.data["questions"]) if questions else row.text == card.data["row"]["text"]
