"""👍 and 👎 under an answer; after a 👎 a modal asks what was wrong. The vote counts before the modal is filled in.

Which answer it is about is what the bot posted there, not what a button's value says. Source: product.md §4; R19.
"""

import re
from collections.abc import Awaitable, Callable
from typing import Any, Literal, cast

from slack_bolt.app.async_app import AsyncApp

from adapters.slack.buttons import VOTE, voted
from adapters.slack.office import Office
from adapters.slack.widgets import Json, input_block, modal
from bot.messages import Feedback
from retrieval.text import Language, Said

REPORT = "kotae_report"

_Reason = Literal["wrong", "outdated", "incomplete", "wrong_source"]
_REASONS: dict[_Reason, Said] = {
    "wrong": Said(en="It is wrong", ja="間違っている"),
    "outdated": Said(en="It is outdated", ja="情報が古い"),
    "incomplete": Said(en="Something is missing", ja="情報が足りない"),
    "wrong_source": Said(en="The source does not fit", ja="出典が合っていない"),
}
_TITLE = Said(en="What was wrong?", ja="どこが問題でしたか？")
_SEND, _CLOSE = Said(en="Send", ja="送信"), Said(en="Close", ja="閉じる")
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

Ack = Callable[..., Awaitable[Any]]


def register(app: AsyncApp, office: Office) -> None:
    @app.action(re.compile(rf"^{VOTE}(:(up|down))?$"))
    async def pressed(ack: Ack, body: Json, action: Json) -> None:
        await ack()
        office.tasks.start(_vote(office, body, str(action.get("value") or "")), "slack-vote")

    @app.view(REPORT)
    async def reported(ack: Ack, body: Json, view: Json) -> None:
        values = view["state"]["values"]
        chosen = (values["reason"]["reason"].get("selected_option") or {}).get("value")
        text = str(values["text"]["text"].get("value") or "")
        reason = cast(_Reason, chosen) if chosen in _REASONS else None
        kept = Feedback(str(view["private_metadata"]), body["user"]["id"], "down", reason, text)
        await office.desk.vote(kept)  # before the acknowledgement: what was typed is not lost
        await ack()


async def _vote(office: Office, body: Json, value: str) -> None:
    user, channel, message = body["user"]["id"], body["channel"]["id"], body["container"]["message_ts"]
    thread = body.get("message", {}).get("thread_ts") or body["container"].get("thread_ts")
    language = await office.language_of(user)
    post = await office.desk.post_at(office.place(channel), message)
    chosen = voted(value)
    known = post is not None and post.kind == "answer" and chosen is not None
    kept = known and await office.desk.vote(Feedback(post.about, user, chosen[1]))  # type: ignore[union-attr, index]
    if not kept or post is None or chosen is None:
        await office.slack.ephemeral(channel, user, text=_NOT_FOUND.to(language), thread=thread)
    elif chosen[1] == "up":
        await office.slack.ephemeral(channel, user, text=_THANKS.to(language), thread=thread)
    else:
        await office.slack.open_view(body["trigger_id"], _report(post.about, language))
        await office.slack.ephemeral(channel, user, text=_NOTED.to(language), thread=thread)


def _report(turn: str, language: Language) -> Json:
    options = [
        {"text": {"type": "plain_text", "text": said.to(language)}, "value": reason}
        for reason, said in _REASONS.items()
    ]
    reason = {"type": "radio_buttons", "action_id": "reason", "options": options}
    text = {"type": "plain_text_input", "action_id": "text", "multiline": True, "max_length": 3_000}
    blocks = [
        input_block("reason", _WHY.to(language), reason, optional=True),
        input_block("text", _TEXT.to(language), text, optional=True),
    ]
    return modal(REPORT, _TITLE.to(language), _SEND.to(language), _CLOSE.to(language), blocks, metadata=turn)
