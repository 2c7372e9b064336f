"""What experts are told and asked on any platform when they answer a card's questions, and what an asker is told then.

Source: product.md §4; reliability.md R11 and R19.
"""

from dataclasses import dataclass

from adapters.markdown import one_line, shortened
from adapters.port import Desk
from bot.messages import Audience, Post
from retrieval.text import Said
from retrieval.types import TEAM

QUESTION_CHARACTERS = 1_000

TITLE = Said(en="Answer this", ja="回答する")
QUESTION = Said(en="Question", ja="質問")
QUESTION_HINT = Said(
    en="It will be found by these words; change them if others are clearer.",
    ja="この文面で検索されます。よりわかりやすい言い方があれば直してください。",
)
ANSWER = Said(en="Answer", ja="回答")
READ_BY_TEAM = Said(
    en="Everyone in the team will be able to find this answer, and those who asked are told in their threads.",
    ja="この回答はチームの全員が検索できるようになり、質問した人にはそれぞれのスレッドでお知らせします。",
)
READ_THERE = Said(
    en="Only members of the private places where this was asked will be able to find this answer; they are told in their "
    "threads.",
    ja="この回答は、質問があった非公開の場所のメンバーだけが検索できます。質問した人にはスレッドでお知らせします。",
)
GONE = Said(
    en="These questions have been answered or dismissed meanwhile.",
    ja="この質問はすでに回答されたか、回答せずに閉じられています。",
)
SAVED = Said(
    en="Saved as the answer. Threads that are told: {n}.",
    ja="回答として保存しました。{n} 件のスレッドにお知らせします。",
)
CONFIRM = Said(
    en="Save this reply as the answer to “{question}”?", ja="この返信を「{question}」の回答として保存しますか？"
)
YES, NO = Said(en="Save as the answer", ja="回答として保存"), Said(en="No", ja="いいえ")
DELETED = Said(en="That reply is no longer there.", ja="その返信はすでに削除されています。")
ANSWERED = Said(en="✅ Answered by {who}", ja="✅ {who} さんが回答しました")
DISMISSED = Said(en="➖ Dismissed by {who}", ja="➖ {who} さんが回答せずに閉じました")
SETTLED = Said(en="✅ Answered or dismissed elsewhere", ja="✅ ほかの場所で回答されたか、回答せずに閉じられました")
TOLD = Said(
    en="{asker} Your question “{question}” has an answer now{by}:",
    ja="{asker} ご質問「{question}」に回答が付きました{by}:",
)
BY = Said(en=", from {who}", ja="（{who} さんより）")


@dataclass(frozen=True, slots=True)
class Opened:
    """What is still open on a card. `question`: as it was asked last; `shared`: the team may read it."""

    question: str
    shared: bool


async def opened(desk: Desk, card: Post, audience: Audience) -> Opened | Said:
    """What can be answered of a card by those who see it, or why nothing. Raises StoreError."""
    asked = await desk.questions(card.data["questions"], card.place, audience)
    still = [question for question in asked if question.resolved_at is None]
    if not still:
        return GONE
    shared = [question for question in still if question.scope == TEAM]
    # What was asked in a private place is not put into words for the team.
    question = one_line((shared or still)[-1].question)
    return Opened(shortened(question, QUESTION_CHARACTERS) or "?", bool(shared))
