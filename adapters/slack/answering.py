"""What experts do with the cards of the digest: they answer in a modal, confirm a reply as the answer, or dismiss.

Source: product.md §4; reliability.md R3 and R19.
"""

import logging
import re
from dataclasses import replace

from slack_bolt.app.async_app import AsyncApp

from adapters.markdown import one_line
from adapters.slack.acks import Ack, in_time, open_in_time
from adapters.slack.client import SlackError
from adapters.slack.digest import ANSWER, DISCARD, DISMISS, LINK, SAVE, redraw, tell
from adapters.slack.events import PLATFORM, readable
from adapters.slack.intake import message_at
from adapters.slack.office import Office
from adapters.slack.widgets import Json, context, input_block, modal, notice_modal, section, shortened, whisper
from bot.messages import Actor, Audience, Lesson, Post, Taught
from bot.store.engine import StoreError
from retrieval.text import Language, Said
from retrieval.types import TEAM, RAGToolError

log = logging.getLogger(__name__)

ANSWER_CHARACTERS = 3_000  # that a modal's field takes; a reply in the thread may be longer
QUESTION_CHARACTERS = 1_000

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
_MEMBERS = Said(
    en="Only members of the team can answer or dismiss questions.",
    ja="質問に回答したり、質問を閉じたりできるのはチームのメンバーだけです。",
)
_GONE = Said(
    en="These questions have been answered or dismissed meanwhile.",
    ja="この質問はすでに回答済みか、対応不要になりました。",
)
_SAVED = Said(
    en="Saved as the answer. Threads that are told: {n}.",
    ja="回答として保存しました。{n}件のスレッドにお知らせします。",
)
_DELETED = Said(en="That reply is not there any more.", ja="その返信はすでに削除されています。")
_ANSWERED = Said(en="✅ Answered by {who}", ja="✅ {who} さんが回答しました")
_DISMISSED = Said(en="➖ Dismissed by {who}", ja="➖ {who} さんが対応不要としました")
_FAILED = Said(
    en="Sorry, that could not be stored. Please try again.",
    ja="申し訳ありません。保存できませんでした。もう一度お試しください。",
)


def register(app: AsyncApp, office: Office) -> None:
    """The buttons of the cards and the modal behind them."""

    @app.action(re.compile(f"^{LINK}:"))
    async def link(ack: Ack) -> None:
        await ack()  # Slack reports that a link was followed

    @app.action(ANSWER)
    async def answer(ack: Ack, body: Json, action: Json) -> None:
        await ack()
        view = _view(office, body["user"]["id"], body["channel"]["id"], str(action["value"]))
        office.tasks.start(open_in_time(office, body["trigger_id"], view), "slack-answer")

    @app.action(DISMISS)
    async def dismiss(ack: Ack, body: Json, action: Json) -> None:
        await ack()
        office.tasks.start(_dismiss(office, body, str(action["value"])), "slack-dismiss")

    @app.action(SAVE)
    async def save(ack: Ack, body: Json, action: Json) -> None:
        await ack()
        office.tasks.start(_save(office, body, str(action["value"])), "slack-save")

    @app.action(DISCARD)
    async def discard(ack: Ack, body: Json, action: Json) -> None:
        await ack()
        office.tasks.start(_discard(office, body, str(action["value"])), "slack-discard")

    @app.view(ANSWER)
    async def submitted(ack: Ack, body: Json, view: Json) -> None:
        user, channel, _, card = body["user"]["id"], *str(view["private_metadata"]).partition(":")
        values = view["state"]["values"]
        question, answer = (str(values[block]["text"].get("value") or "") for block in ("question", "answer"))

        async def late(problem: str) -> None:
            if problem:
                await whisper(office, channel, user, f"{problem}\n\n{answer}")  # not to be typed again

        work = _submitted(office, user, card, channel, question, answer)
        problem = await in_time(office, work, late, _FAILED.to(office.language), "slack-lesson")
        await (ack(response_action="errors", errors={"answer": problem}) if problem else ack())


async def _view(office: Office, user: str, channel: str, name: str) -> Json:
    """The modal for an answer, or one that says why there is nothing to answer."""
    language = await office.language_of(user)
    try:
        return await _answer_modal(office, user, channel, name, language)
    except StoreError as error:
        return notice_modal(error.text(language), language)


async def _answer_modal(office: Office, user: str, channel: str, name: str, language: Language) -> Json:
    card = await _card(office, name, channel)
    if card is None:
        return notice_modal(_GONE.to(language), language)
    actor, audience = await _who(office, user, card)
    if actor.role == "outsider":
        return notice_modal(_MEMBERS.to(language), language)
    asked = await office.desk.questions(card.data["questions"], card.place, audience)
    still = [question for question in asked if question.resolved_at is None]
    if not asked:  # nothing that everyone here may read
        return notice_modal(_GONE.to(language), language)
    if not still:
        await redraw(office, card, _GONE.to(office.language))
        return notice_modal(_GONE.to(language), language)
    shared = [question for question in still if question.scope == TEAM]
    question = {
        "type": "plain_text_input",
        "action_id": "text",
        # What was asked in a private place is not put into words for the team.
        "initial_value": shortened(one_line((shared or still)[-1].question), QUESTION_CHARACTERS) or "?",
        "max_length": QUESTION_CHARACTERS,
    }
    text = {"type": "plain_text_input", "action_id": "text", "multiline": True, "max_length": ANSWER_CHARACTERS}
    blocks = [
        input_block("question", _QUESTION.to(language), question, hint=_QUESTION_HINT.to(language)),
        input_block("answer", _ANSWER.to(language), text),
        context((_READ_BY_TEAM if shared else _READ_THERE).to(language)),
    ]
    metadata = f"{channel}:{name}"
    return modal(ANSWER, _TITLE.to(language), _SUBMIT.to(language), _CLOSE.to(language), blocks, metadata)


async def _submitted(office: Office, user: str, name: str, channel: str, question: str, answer: str) -> str:
    """What is wrong with an answer, in words; "" when it is learnt."""
    language = await office.language_of(user)
    try:
        card = await _card(office, name, channel)
        if card is None:
            return _GONE.to(language)
        taught = await _teach(office, card, user, question, answer, office.slack.permalink(channel, card.message or ""))
    except (StoreError, RAGToolError):
        log.exception("an expert's answer could not be stored")
        return _FAILED.to(language)
    if taught.refusal is not None:
        return taught.refusal.to(language)
    said = _SAVED.to(language, n=taught.told)
    office.tasks.start(whisper(office, channel, user, said), "slack-whisper")
    return ""


async def _save(office: Office, body: Json, name: str) -> None:
    """A reply in a card's thread was confirmed as the answer."""
    user, channel = body["user"]["id"], body["channel"]["id"]
    confirm = await _confirm(office, body, name)
    about, part = confirm.data["card"] if confirm else ("", 0)
    card = await _card(office, f"{about}:{part}", channel)
    if confirm is None or confirm.message is None or card is None or card.message is None:
        return
    language = await office.language_of(user)
    try:
        taught = await _learn(office, card, user, str(confirm.data["reply"]))
    except (SlackError, StoreError, RAGToolError):
        log.warning("a reply could not be saved as an answer", exc_info=True)
        await whisper(office, channel, user, _FAILED.to(language), card.message)
        return
    if taught is None:
        await office.slack.delete(channel, confirm.message)
        await whisper(office, channel, user, _DELETED.to(language), card.message)
    elif taught.refusal is not None:
        await whisper(office, channel, user, taught.refusal.to(language), card.message)
    else:
        text = _SAVED.to(office.language, n=taught.told)
        await office.slack.update(channel, confirm.message, text=text, blocks=[section(text)], last=True)


async def _learn(office: Office, card: Post, user: str, ts: str) -> Taught | None:
    """The lesson in a reply to a card, as the reply is now. None: it is not there any more."""
    channel = card.place.channel
    said = await message_at(office.slack, channel, ts, card.message or "")
    if said is None:
        return None
    answer = await office.places.named(readable(str(said.get("text") or ""), office.slack.me.user))
    return await _teach(office, card, user, "", answer, office.slack.permalink(channel, ts, card.message))


async def _discard(office: Office, body: Json, name: str) -> None:
    confirm = await _confirm(office, body, name)
    if confirm is not None and confirm.message is not None:
        await office.slack.delete(confirm.place.channel, confirm.message)


async def _dismiss(office: Office, body: Json, name: str) -> None:
    user, channel = body["user"]["id"], body["channel"]["id"]
    card = await _card(office, name, channel)
    if card is None:
        return
    actor, audience = await _who(office, user, card)
    taught = await office.desk.dismiss(actor, card.data["questions"], card.place, audience)
    if taught.refusal is not None:
        await whisper(office, channel, user, taught.refusal.to(await office.language_of(user)))
    else:
        await _settle(office, card, user, _DISMISSED)


async def _teach(office: Office, card: Post, user: str, question: str, answer: str, url: str) -> Taught:
    actor, audience = await _who(office, user, card)
    lesson = Lesson(actor, card.place, audience, tuple(card.data["questions"]), answer, question, url)
    taught = await office.desk.teach(lesson)
    if taught.refusal is None:
        office.tasks.start(_settle(office, card, user, _ANSWERED), "slack-cards")
    return taught


async def _settle(office: Office, card: Post, user: str, how: Said) -> None:
    """Cards that offer nothing any more say so, and the askers are told."""
    status = how.to(office.language, who=shortened(await office.places.name(user), 80))
    for other in await office.desk.cards(card.data["questions"]):
        if other.place.platform == PLATFORM:
            audience = await office.places.audience(other.place.channel)
            asked = await office.desk.questions(other.data["questions"], other.place, audience)
            if asked and all(question.resolved_at for question in asked):
                await redraw(office, other, status)
    for notice in await office.desk.notices(PLATFORM):
        office.tasks.start(tell(office, notice), "slack-notice")


# -- small parts ----------------------------------------------------------------------------------------------------


async def _card(office: Office, name: str, channel: str) -> Post | None:
    """The card behind a button of this channel: which questions it is about is what the database says."""
    about, _, part = name.rpartition(":")
    cards = [post for post in await office.desk.posts(about) if post.kind == "card" and str(post.part) == part]
    return next((card for card in cards if card.place == office.place(channel)), None)


async def _confirm(office: Office, body: Json, name: str) -> Post | None:
    """What the bot asked with the message whose button was pressed."""
    place, message = office.place(body["channel"]["id"]), str(body["container"]["message_ts"])
    asked = next((post for post in await office.desk.posts(name) if post.kind == "confirm"), None)
    if asked is None or asked.place != place or asked.message not in (None, message):
        return None
    return replace(asked, message=message)  # which may not be written down yet


async def _who(office: Office, user: str, card: Post) -> tuple[Actor, Audience]:
    return await office.places.actor(user), await office.places.audience(card.place.channel)
