"""👍 and 👎 under an answer; after a 👎 a modal asks what was wrong. The vote counts before the modal is filled in.

Which answer it is about is what the bot posted there, not what a button's value says. Source: product.md §4; R19.
"""

import logging
import re
from typing import Literal, cast

from slack_bolt.app.async_app import AsyncApp

from adapters.slack.acks import Ack
from adapters.slack.buttons import VOTE, voted
from adapters.slack.client import SlackError
from adapters.slack.office import Office
from adapters.slack.widgets import CLOSE, Json, input_block, modal, plain, whisper
from bot.messages import Feedback
from bot.store.engine import StoreError
from retrieval.text import Language, Said

log = logging.getLogger(__name__)

REPORT = "kotae_report"
TEXT_CHARACTERS = 3_000

_Reason = Literal["wrong", "outdated", "incomplete", "wrong_source"]
_REASONS: dict[_Reason, Said] = {
    "wrong": Said(en="It is wrong", ja="間違っている"),
    "outdated": Said(en="It is outdated", ja="情報が古い"),
    "incomplete": Said(en="Something is missing", ja="情報が足りない"),
    "wrong_source": Said(en="The source does not fit", ja="出典が合っていない"),
}
_TITLE = Said(en="What was wrong?", ja="どこが問題でしたか？")
_SEND = Said(en="Send", ja="送信")
_WHY = Said(en="Reason", ja="理由")
_TEXT = Said(en="What should it say?", ja="正しい内容や補足")
_THANKS = Said(en="Thank you, noted.", ja="ありがとうございます。記録しました。")
_NOTED = Said(
    en="Thank you. This goes to the people who can answer it.", ja="ありがとうございます。答えられる人に伝えます。"
)
_NOT_FOUND = Said(
    en="I no longer know which answer this belongs to.",
    ja="この回答の記録が見つからないため、評価を保存できませんでした。",
)


def register(app: AsyncApp, office: Office) -> None:
    @app.action(re.compile(rf"^{VOTE}(:(up|down))?$"))
    async def pressed(ack: Ack, body: Json, action: Json) -> None:
        await ack()
        office.tasks.start(_vote(office, body, str(action.get("value") or "")), "slack-vote")

    @app.view(REPORT)
    async def reported(ack: Ack, body: Json, view: Json) -> None:
        """What was typed is stored before it is acknowledged: it would be lost with the modal."""
        values = view["state"]["values"]
        chosen = (values["reason"]["reason"].get("selected_option") or {}).get("value")
        text = str(values["text"]["text"].get("value") or "")
        reason = cast(_Reason, chosen) if chosen in _REASONS else None
        user = body["user"]["id"]
        try:
            kept = await office.desk.vote(Feedback(str(view["private_metadata"]), user, "down", reason, text))
            problem = None if kept else _NOT_FOUND.to(await office.language_of(user))
        except StoreError as error:
            problem = error.text(await office.language_of(user))
        await (ack(response_action="errors", errors={"text": problem}) if problem else ack())


async def _vote(office: Office, body: Json, value: str) -> None:
    user, channel, message = body["user"]["id"], body["channel"]["id"], body["container"]["message_ts"]
    thread = body.get("message", {}).get("thread_ts") or body["container"].get("thread_ts")
    language = await office.language_of(user)
    post = await office.desk.post_at(office.place(channel), message)
    turn, vote = voted(value) or ("", None)
    known = post is not None and post.kind == "answer" and post.about == turn
    if not known or vote is None or not await office.desk.vote(Feedback(turn, user, vote)):
        await whisper(office, channel, user, _NOT_FOUND.to(language), thread)
        return
    if vote == "down":
        try:
            await office.slack.open_view(body["trigger_id"], _report(turn, language))
        except SlackError as error:
            log.info("nobody could be asked what was wrong: %s", error.code)
    await whisper(office, channel, user, (_THANKS if vote == "up" else _NOTED).to(language), thread)


def _report(turn: str, language: Language) -> Json:
    options = [{"text": plain(said.to(language), 75), "value": reason} for reason, said in _REASONS.items()]
    reason = {"type": "radio_buttons", "action_id": "reason", "options": options}
    text = {"type": "plain_text_input", "action_id": "text", "multiline": True, "max_length": TEXT_CHARACTERS}
    blocks = [
        input_block("reason", _WHY.to(language), reason, optional=True),
        input_block("text", _TEXT.to(language), text, optional=True),
    ]
    return modal(REPORT, _TITLE.to(language), _SEND.to(language), CLOSE.to(language), blocks, metadata=turn)
