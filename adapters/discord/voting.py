"""👍 and 👎 under an answer; after a 👎 a modal asks what was wrong. The vote counts before the modal is filled in.

Which answer it is about is what the bot posted there, not what a button says. What is typed into the modal is read from
the event itself, so a restart meanwhile loses nothing. Source: product.md §4; reliability.md R19 and R34.
"""

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import discord
from discord.ext import commands

from adapters.discord.buttons import REPORT, TEMPLATE, Vote, vote_button
from adapters.discord.events import Thumb
from adapters.discord.gestures import Gesture, Gestures, spot_of
from adapters.discord.modals import given
from adapters.discord.office import Office
from bot.messages import Feedback, Place
from retrieval.text import Language, Said

log = logging.getLogger(__name__)

TEXT_CHARACTERS = 3_000

_Reason = Literal["wrong", "outdated", "incomplete", "wrong_source"]
_REASONS: dict[_Reason, Said] = {
    "wrong": Said(en="It is wrong", ja="間違っている"),
    "outdated": Said(en="It is outdated", ja="情報が古い"),
    "incomplete": Said(en="Something is missing", ja="情報が足りない"),
    "wrong_source": Said(en="The source does not fit", ja="出典が合っていない"),
}
_TITLE = Said(en="What was wrong?", ja="どこが問題でしたか？")
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


def register(bot: commands.Bot, office: Office) -> None:
    """Both buttons, under every answer that was ever posted, and the modal behind the second."""
    gestures = Gestures(office)

    class VoteButton(discord.ui.DynamicItem["discord.ui.Button[Any]"], template=TEMPLATE):
        def __init__(self, turn: str, vote: Vote) -> None:
            super().__init__(vote_button(turn, vote, office.language))
            self.turn = turn
            self.vote = vote

        @classmethod
        async def from_custom_id(cls, gesture: Gesture, item: discord.ui.Item[Any], match: Any, /) -> "VoteButton":
            return cls(match["turn"], match["vote"])

        async def callback(self, gesture: Gesture) -> None:
            if self.vote == "up":
                gestures.do(gesture, partial(_up, office, gesture, self.turn))
            else:
                gestures.ask(gesture, partial(_down, office, gesture, self.turn))

    bot.add_dynamic_items(VoteButton)

    @bot.listen("on_interaction")
    async def submitted(gesture: Gesture) -> None:
        data: Any = gesture.data or {}
        custom_id = str(data.get("custom_id") or "")
        if gesture.type is discord.InteractionType.modal_submit and custom_id.startswith(REPORT):
            filled = given(data)
            work = partial(_report, office, gesture, custom_id.removeprefix(REPORT), filled["reason"], filled["text"])
            gestures.do(gesture, work)


async def react(office: Office, place: Place, thumb: Thumb) -> None:
    """A thumb among the reactions of an answer is a vote, too. Raises StoreError."""
    post = await office.desk.post_at(place, thumb.message)
    if post is not None and post.kind == "answer":
        await office.desk.vote(Feedback(post.about, thumb.author, thumb.vote, only=thumb.thumb))


async def _up(office: Office, gesture: Gesture, turn: str) -> Sequence[str]:
    kept = await _vote(office, gesture, turn, "up")
    return ((_THANKS if kept else _NOT_FOUND).to(office.language_of(gesture.locale)),)


async def _down(office: Office, gesture: Gesture, turn: str) -> discord.ui.Modal | str:
    language = office.language_of(gesture.locale)
    kept = await _vote(office, gesture, turn, "down")
    return _modal(turn, language) if kept else _NOT_FOUND.to(language)


async def _report(office: Office, gesture: Gesture, turn: str, chosen: str, text: str) -> Sequence[str]:
    reason = chosen if chosen in _REASONS else None
    kept = await _vote(office, gesture, turn, "down", reason, text)
    return ((_NOTED if kept else _NOT_FOUND).to(office.language_of(gesture.locale)),)


async def _vote(
    office: Office, gesture: Gesture, turn: str, vote: Vote, reason: _Reason | None = None, text: str = ""
) -> bool:
    """Raises StoreError."""
    message = gesture.message
    post = await office.desk.post_at(spot_of(gesture).place, str(message.id)) if message else None
    if post is None or post.kind != "answer" or post.about != turn:
        return False
    return await office.desk.vote(Feedback(turn, str(gesture.user.id), vote, reason, text))


def _modal(turn: str, language: Language) -> discord.ui.Modal:
    modal = discord.ui.Modal(title=_TITLE.to(language), custom_id=REPORT + turn, timeout=None)
    reasons = [discord.RadioGroupOption(label=said.to(language), value=reason) for reason, said in _REASONS.items()]
    reason: Any = discord.ui.RadioGroup(custom_id="reason", options=reasons, required=False)
    text: Any = discord.ui.TextInput(
        custom_id="text", style=discord.TextStyle.paragraph, max_length=TEXT_CHARACTERS, required=False
    )
    modal.add_item(discord.ui.Label(text=_WHY.to(language), component=reason))
    modal.add_item(discord.ui.Label(text=_TEXT.to(language), component=text))
    return modal
