"""The weekly digest in a channel: a card a group of questions, on which experts answer, dismiss and find the threads.

An answer comes by a modal, or as a reply in the card's thread that is confirmed once. Source: product.md §4.
"""

import json
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from slack_bolt.app.async_app import AsyncApp

from adapters.markdown import harmless, one_line
from adapters.slack.client import GoneError, SlackError
from adapters.slack.dialect import escaped
from adapters.slack.events import PLATFORM, Replied, readable
from adapters.slack.office import Office
from adapters.slack.widgets import Json, button, input_block, modal, plain, say_once, section, shortened
from bot.cards import Card, Link, Row
from bot.messages import Actor, Audience, Lesson, Notice, Place, Post, Taught
from bot.store.engine import StoreError
from retrieval.text import Said
from retrieval.types import TEAM, RAGToolError

log = logging.getLogger(__name__)

ANSWER, DISMISS, SAVE, DISCARD, LINK = "kotae_answer", "kotae_dismiss", "kotae_save", "kotae_discard", "kotae_link"
ANSWER_CHARACTERS = 3_000  # that a modal's field takes; a reply in the thread may be longer
_ACTIONS = {"answer": ANSWER, "dismiss": DISMISS}

_TITLE = Said(en="Answer this", ja="回答する")
_SUBMIT = Said(en="Save", ja="保存")
_CLOSE = Said(en="Cancel", ja="キャンセル")
_QUESTION = Said(en="Question", ja="質問")
_QUESTION_HINT = Said(
    en="As it will be found later; change it where other words are clearer.",
    ja="この文面で検索されます。よりわかりやすい言い方があれば直してください。",
)
_ANSWER = Said(en="Answer", ja="回答")
_READ_BY_TEAM = Said(
    en="Everyone in the team will be able to find this answer, and those who asked are told in their threads.",
    ja="この回答はチームの全員が検索できるようになり、質問した人にはそれぞれのスレッドでお知らせします。",
)
_READ_THERE = Said(
    en="Only members of the private places where this was asked will be able to find this answer; they are told in their "
    "threads.",
    ja="この回答は、質問があった非公開の場所のメンバーだけが検索できます。質問した人にはスレッドでお知らせします。",
)
_GONE = Said(
    en="These questions have been answered or dismissed meanwhile.",
    ja="この質問はすでに回答済みか、対応不要になりました。",
)
_CONFIRM = Said(
    en="Save this reply as the answer to “{question}”?", ja="この返信を「{question}」の回答として保存しますか？"
)
_YES, _NO = Said(en="Save as the answer", ja="回答として保存"), Said(en="No", ja="いいえ")
_SAVED = Said(
    en="Saved as the answer. Threads that are told: {n}.",
    ja="回答として保存しました。{n}件のスレッドにお知らせします。",
)
_ANSWERED = Said(en="✅ Answered by {who}", ja="✅ {who} さんが回答しました")
_DISMISSED = Said(en="➖ Dismissed by {who}", ja="➖ {who} さんが対応不要としました")
_TOLD = Said(
    en="{asker} Your question “{question}” has an answer now{by}:",
    ja="{asker} ご質問「{question}」に回答が付きました{by}:",
)
_BY = Said(en=", from {who}", ja="（{who} さんより）")
_FAILED = Said(
    en="Sorry, that could not be stored. Please try again.",
    ja="申し訳ありません。保存できませんでした。もう一度お試しください。",
)


# -- posting --------------------------------------------------------------------------------------------------------


async def announce(office: Office, place: Place, card: Card, about: str) -> None:
    """Post the digest: its numbers, then a card a group. What was posted already is left. Raises SlackError, StoreError."""
    lines = "\n".join((*card.lines, *card.foot))
    head: list[Json] = [{"type": "header", "text": plain(card.title, 150)}, *([section(lines)] if lines else [])]
    await say_once(office, Post(about, "digest", 0, place), text=_line(card.title), blocks=head)
    for part, row in enumerate(card.rows):
        questions = [number for action in row.actions for number in action.questions]
        data = {"questions": sorted(set(questions)), "row": _kept(row), "closed": False}
        post = Post(about, "card", part, place, data=data)
        await say_once(office, post, text=_line(row.text), blocks=_blocks(row, f"{about}:{part}"))


async def tell(office: Office, notice: Notice) -> None:
    """Tell an asker in their thread that there is an answer. Raises SlackError when it could not be told yet."""
    who = _BY.to(notice.language, who=f"<@{notice.by}>") if notice.by else ""
    question = escaped(harmless(shortened(notice.question, 200)))
    head = _TOLD.to(notice.language, asker=f"<@{notice.author}>", question=question, by=who)
    quoted = [
        {"type": "section", "text": {"type": "mrkdwn", "text": head, "verbatim": True}},
        *(section(part) for part in _pieces(notice.answer)),
    ]
    post = Post(f"notice:{notice.id}", "notice", 0, notice.place, notice.thread)
    try:
        await say_once(office, post, text=head, blocks=quoted)
    except GoneError as error:
        log.info("an asker's thread is gone (%s)", error.code)
    await office.desk.said(notice)


async def replied(office: Office, reply: Replied, card: Post) -> None:
    """Somebody wrote in a card's thread: ask them once whether it is the answer."""
    if card.data.get("closed") or reply.stranger or not reply.text.strip():
        return
    language = await office.language_of(reply.author)
    question = shortened(str(card.data["row"]["text"]), 150)
    text = _CONFIRM.to(language, question=question)
    value = json.dumps([card.about, card.part, reply.message])
    blocks = [
        section(text),
        {
            "type": "actions",
            "elements": [
                button(_YES.to(language), SAVE, value, style="primary"),
                button(_NO.to(language), DISCARD, value),
            ],
        },
    ]
    about = f"confirm:{reply.place.channel}:{reply.message}"
    await say_once(office, Post(about, "confirm", 0, reply.place, reply.thread), text=_line(text), blocks=blocks)


# -- what experts press ---------------------------------------------------------------------------------------------

Ack = Callable[..., Awaitable[Any]]


def register(app: AsyncApp, office: Office) -> None:
    """The buttons of the cards and the modal behind them. Each is acknowledged before anything is looked up."""

    @app.action(re.compile(f"^{LINK}:"))
    async def link(ack: Ack) -> None:
        await ack()  # Slack reports that a link was followed

    @app.action(ANSWER)
    async def answer(ack: Ack, body: Json, action: Json) -> None:
        await ack()
        office.tasks.start(_open(office, body, str(action["value"])), "slack-answer")

    @app.action(DISMISS)
    async def dismiss(ack: Ack, body: Json, action: Json) -> None:
        await ack()
        office.tasks.start(_dismiss(office, body, str(action["value"])), "slack-dismiss")

    @app.action(SAVE)
    async def save(ack: Ack, body: Json, action: Json) -> None:
        await ack()
        office.tasks.start(_save(office, body, str(action["value"])), "slack-save")

    @app.action(DISCARD)
    async def discard(ack: Ack, body: Json) -> None:
        await ack()
        office.tasks.start(_discard(office, body), "slack-discard")

    @app.view(ANSWER)
    async def submitted(ack: Ack, body: Json, view: Json) -> None:
        await ack()
        values = view["state"]["values"]
        question, answer = (str(values[block]["text"]["value"] or "") for block in ("question", "answer"))
        work = _submitted(office, body["user"]["id"], str(view["private_metadata"]), question, answer)
        office.tasks.start(work, "slack-lesson")


async def _open(office: Office, body: Json, value: str) -> None:
    user, channel = body["user"]["id"], body["channel"]["id"]
    language = await office.language_of(user)
    card = await _card(office, value)
    audience = await office.places.audience(channel)
    asked = await office.desk.questions(card.data["questions"], card.place, audience) if card else []
    still = [question for question in asked if question.resolved_at is None]
    if card is None or not still:
        await office.slack.ephemeral(channel, user, text=_GONE.to(language))
        return
    team = any(question.scope == TEAM for question in still)
    question = {
        "type": "plain_text_input",
        "action_id": "text",
        "initial_value": shortened(one_line(still[-1].question), 1_000),
        "max_length": 1_000,
    }
    text = {"type": "plain_text_input", "action_id": "text", "multiline": True, "max_length": ANSWER_CHARACTERS}
    blocks = [
        input_block("question", _QUESTION.to(language), question, hint=_QUESTION_HINT.to(language)),
        input_block("answer", _ANSWER.to(language), text),
        {"type": "context", "elements": [plain((_READ_BY_TEAM if team else _READ_THERE).to(language))]},
    ]
    view = modal(ANSWER, _TITLE.to(language), _SUBMIT.to(language), _CLOSE.to(language), blocks, metadata=value)
    await office.slack.open_view(body["trigger_id"], view)


async def _submitted(office: Office, user: str, value: str, question: str, answer: str) -> None:
    card = await _card(office, value)
    if card is None:
        return
    try:
        await _teach(office, card, user, question, answer, url=_link(office, card))
    except (StoreError, RAGToolError):
        log.exception("an expert's answer could not be stored")
        text = f"{_FAILED.to(await office.language_of(user))}\n\n{escaped(answer)}"  # not to be typed again
        await office.slack.ephemeral(card.place.channel, user, text=text)


async def _save(office: Office, body: Json, value: str) -> None:
    about, part, ts = json.loads(value)
    user, channel = body["user"]["id"], body["channel"]["id"]
    card = await _card(office, f"{about}:{part}")
    if card is None or card.message is None:
        return
    thread = await office.slack.replies(channel, card.message, limit=200)
    said = next((one for one in thread if one.get("ts") == ts), None)
    if said is None:  # it was deleted
        await office.slack.delete(channel, body["message"]["ts"])
        return
    url = office.slack.permalink(channel, ts, card.message)
    taught = await _teach(office, card, user, "", readable(str(said.get("text") or ""), office.slack.me.user), url=url)
    if taught is not None:
        text = _SAVED.to(await office.language_of(user), n=taught.told)
        await office.slack.update(channel, body["message"]["ts"], text=text, blocks=[section(text)], last=True)


async def _discard(office: Office, body: Json) -> None:
    with suppress(GoneError):
        await office.slack.delete(body["channel"]["id"], body["message"]["ts"])


async def _dismiss(office: Office, body: Json, value: str) -> None:
    user, card = body["user"]["id"], await _card(office, value)
    if card is not None:
        actor, audience = await _who(office, user, card)
        closed = await office.desk.dismiss(actor, card.data["questions"], card.place, audience)
        await _close(office, card, user, closed, _DISMISSED)


async def _teach(office: Office, card: Post, user: str, question: str, answer: str, *, url: str) -> Taught | None:
    """The lesson's outcome; None when it was refused, which the expert is told."""
    actor, audience = await _who(office, user, card)
    lesson = Lesson(actor, card.place, audience, tuple(card.data["questions"]), answer, question, url)
    return await _close(office, card, user, await office.desk.teach(lesson), _ANSWERED)


async def _close(office: Office, card: Post, user: str, taught: Taught, how: Said) -> Taught | None:
    if taught.refusal is not None:
        language = await office.language_of(user)
        await office.slack.ephemeral(card.place.channel, user, text=taught.refusal.to(language))
        return None
    for other in await office.desk.cards(card.data["questions"]):
        done = set(other.data["questions"]) <= set(card.data["questions"])
        if done and other.place.platform == PLATFORM and other.message is not None:
            await _redraw(office, other, how.to(office.language, who=f"<@{user}>"))
    return taught


async def _redraw(office: Office, card: Post, status: str) -> None:
    """The card without its buttons, and what became of it."""
    assert card.message is not None
    await office.desk.placed(replace(card, data={**card.data, "closed": True}))
    row = _row(card.data["row"])
    blocks = _blocks(replace(row, actions=()), f"{card.about}:{card.part}")
    blocks.append({"type": "context", "elements": [{"type": "mrkdwn", "text": status, "verbatim": True}]})
    try:
        await office.slack.update(card.place.channel, card.message, text=_line(row.text), blocks=blocks, last=True)
    except SlackError as error:
        log.warning("a card could not be redrawn: %s", error.code)


# -- small parts ----------------------------------------------------------------------------------------------------


async def _card(office: Office, value: str) -> Post | None:
    """The card behind a button: what its value says is only a name; the questions are the database's."""
    about, _, part = value.rpartition(":")
    posts = await office.desk.posts(about)
    return next((post for post in posts if post.kind == "card" and str(post.part) == part), None)


async def _who(office: Office, user: str, card: Post) -> tuple[Actor, Audience]:
    return await office.places.actor(user), await office.places.audience(card.place.channel)


def _link(office: Office, card: Post) -> str:
    return office.slack.permalink(card.place.channel, card.message or "", None)


def _blocks(row: Row, value: str) -> list[Json]:
    blocks: list[Json] = [section(row.text)]
    if row.details:
        blocks.append({"type": "context", "elements": [plain(detail) for detail in row.details[:10]]})
    elements = [
        button(action.text, _ACTIONS[action.kind], value, **({"style": "primary"} if action.kind == "answer" else {}))
        for action in row.actions
    ]
    several = len(row.links) > 1
    elements += [
        button(f"{link.text} {n}" if several else link.text, f"{LINK}:{n}", str(n), url=link.url)
        for n, link in enumerate(row.links, 1)
    ]
    if elements:
        blocks.append({"type": "actions", "elements": elements[:25]})
    return blocks


def _kept(row: Row) -> Json:
    """A row to be drawn again, in the form that is stored with its post."""
    return {"text": row.text, "details": list(row.details), "links": [[link.text, link.url] for link in row.links]}


def _row(kept: Mapping[str, Any]) -> Row:
    return Row(kept["text"], tuple(kept["details"]), tuple(Link(*link) for link in kept["links"]))


def _pieces(text: str) -> list[str]:
    """An expert's text in as many blocks as it takes."""
    return [text[at : at + 2_900] for at in range(0, min(len(text), 11_000), 2_900)]


def _line(text: str) -> str:
    """For notifications: one line in which nothing is a mention or a link."""
    return escaped(harmless(shortened(text, 300)))
