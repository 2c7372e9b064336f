"""Votes on an answer, on any platform: the words around them, and which answer a vote is about, which is what the bot
posted there and not what a button says. Source: product.md §4; reliability.md R19.
"""

from typing import Literal

from bot.bot import Bot
from bot.texts import COMPLAINTS
from bot.types import Complaint, Feedback, Place, Post
from retrieval.i18n import Text

TEXT_CHARACTERS = 3_000  # of what was wrong

Vote = Literal["up", "down"]

UP, DOWN = Text(en="Helpful", ja="役に立った"), Text(en="Not helpful", ja="役に立たなかった")

TITLE = Text(en="What was wrong?", ja="どこが問題でしたか？")
WHY = Text(en="Reason", ja="理由")
TEXT = Text(en="What should it say?", ja="正しい内容や補足")
THANKS = Text(en="Thank you, noted.", ja="ありがとうございます。記録しました。")
NOTED = Text(
    en="Thank you. This goes to the people who can answer it.", ja="ありがとうございます。答えられる人に伝えます。"
)
NOT_FOUND = Text(
    en="I no longer know which answer this belongs to.",
    ja="この回答の記録が見つからないため、評価を保存できませんでした。",
)


def reason(chosen: str | None) -> Complaint | None:
    """The reason chosen in the form, if it is one of its reasons."""
    return next((each for each in COMPLAINTS if each == chosen), None)


async def press(bot: Bot, place: Place, message: str, feedback: Feedback) -> bool:
    """A button under `message`: keep the vote. False: that message is not this turn's answer. Raises StoreError."""
    post = await bot.outbox.find(place, message)
    known = post is not None and post.kind == "answer" and post.about == feedback.turn
    return known and await bot.turns.vote(feedback) is not None


async def react(bot: Bot, post: Post | None, author: str, vote: Vote | None, thumb: Vote) -> Post | None:
    """A thumb among the reactions to an answer's `post` is a vote, too; `vote` None: the `thumb` was taken away.

    The post where that has changed something. Raises StoreError.
    """
    if post is None or post.kind != "answer":
        return None
    kept = await bot.turns.vote(Feedback(post.about, author, vote, only=thumb))
    return post if kept == "changed" else None
