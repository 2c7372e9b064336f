"""Texts by which experts are told and asked on any platform when they answer a card's questions, and an asker is told
then.

Source: product.md §4; reliability.md R11 and R19.
"""

import asyncio
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from adapters.markdown.events import one_line, shortened
from adapters.shared.digest_cards import reference_of
from bot.bot import Bot
from bot.types import AnswerTaken, Audience, Notice, Post
from bot.unanswered.closing import Choice, Closing, closing
from bot.unanswered.digest_card import what_it_closes
from retrieval.i18n import Language, Text
from retrieval.types import TEAM

QUESTION_CHARACTERS = 1_000
LISTED = 10  # wordings that can be ticked where a form takes no more: Slack's checkboxes, Discord's checkbox group

TITLE = Text(en="Answer this", ja="回答する")
QUESTION = Text(en="Question", ja="質問")
QUESTION_HINT = Text(
    en="It will be found by these words; change them if others are clearer.",
    ja="この文面で検索されます。よりわかりやすい言い方があれば直してください。",
)
ANSWER = Text(en="Answer", ja="回答")
CLOSES = Text(en="Also closes", ja="一緒に閉じる質問")
CLOSES_HINT = Text(
    en="What is ticked says the same. Tick another question only if this answers it, too.",
    ja="同じ内容の質問が選ばれています。ほかの質問は、この回答で答えになる場合だけ選んでください。",
)
READ_BY_TEAM = Text(
    en="Everyone in the team will be able to find this answer, and those who asked are told in their threads.",
    ja="この回答はチームの全員が検索できるようになり、質問した人にはそれぞれのスレッドでお知らせします。",
)
READ_THERE = Text(
    en="Only members of the private places where this was asked will be able to find this answer; they are told in "
    "their threads.",
    ja="この回答は、質問があった非公開の場所のメンバーだけが検索できます。質問した人にはスレッドでお知らせします。",
)
GONE = Text(
    en="These questions have been answered or dismissed meanwhile.",
    ja="この質問はすでに回答されたか、回答せずに閉じられています。",
)
SAVED = Text(
    en="Saved as the answer. Threads that are told: {n}.",
    ja="回答として保存しました。{n} 件のスレッドにお知らせします。",
)
LEFT = Text(en="Questions that stay open: {n}.", ja="{n} 件の質問は、未回答のまま残っています。")
CONFIRM = Text(
    en="Save this reply as the answer to “{question}”?", ja="この返信を「{question}」の回答として保存しますか？"
)
YES, NO = Text(en="Save as the answer", ja="回答として保存"), Text(en="No", ja="いいえ")
DELETED = Text(en="That reply is no longer there.", ja="その返信はすでに削除されています。")
ANSWERED = Text(en="✅ Answered by {who}", ja="✅ {who} さんが回答しました")
DISMISSED = Text(en="➖ Dismissed by {who}", ja="➖ {who} さんが回答せずに閉じました")
PARTLY = Text(
    en="✅ {who} settled other questions of this card", ja="✅ このカードのほかの質問は {who} さんが対応しました"
)
PARTLY_ELSEWHERE = Text(
    en="✅ Other questions of this card were settled elsewhere",
    ja="✅ このカードのほかの質問は、ほかの場所で対応されました",
)
SETTLED = Text(en="✅ Answered or dismissed elsewhere", ja="✅ ほかの場所で回答されたか、回答せずに閉じられました")
TOLD = Text(
    en="{asker} Your question “{question}” has an answer now{by}:",
    ja="{asker} ご質問「{question}」に回答が付きました{by}:",
)
CORRECTED = Text(
    en="{asker} The answer to your question “{question}” has been corrected{by}:",
    ja="{asker} ご質問「{question}」への回答が修正されました{by}:",
)
PAGE_CHANGED = Text(
    en="{asker} A page that my answer to your question “{question}” rests on has changed:",
    ja="{asker} ご質問「{question}」への回答のもとになったページに変更がありました:",
)
BY = Text(en=", from {who}", ja="（{who} さんより）")


BY_EDITOR = Text(en=" by {who}", ja="（{who} さんが編集）")


@dataclass(frozen=True, slots=True)
class OpenedQuestion:
    """The question that an answer is asked for. `question`: the reference's; `shared`: the team may read the answer;
    `choices`: the other wordings, of which those that say the same are ticked to begin with."""

    question: str
    shared: bool
    reference: int
    choices: tuple[Choice, ...] = ()

    def notes(self, language: Language, *, listed: int = LISTED) -> list[str]:
        """The questions beyond those that can be ticked; and who will read the answer."""
        read_by = READ_BY_TEAM if self.shared else READ_THERE
        rest = self.choices[listed:]
        closed, left = ([one.question for one in rest if one.same is same] for same in (True, False))
        return [*what_it_closes(closed, left, language), read_by.to(language)]


@dataclass(frozen=True, slots=True)
class Ticks:
    """The questions that were chosen in a form to be closed, and those that were not; by their ids."""

    closes: frozenset[int] = frozenset()
    leaves: frozenset[int] = frozenset()


NO_TICKS = Ticks()  # where nobody was asked


def ticks(listed: Iterable[int], ticked: Collection[int]) -> Ticks:
    """Of the questions `listed` in a form those `ticked` in it, and the others."""
    there = frozenset(listed)
    return Ticks(there.intersection(ticked), there.difference(ticked))


async def opened(bot: Bot, card: Post, audience: Audience, reference: int | None = None) -> OpenedQuestion | Text:
    """The questions of a card that those who see it can answer, or why there are none. `reference`: the one that is
    answered; None: the one that the card shows. Raises StoreError."""
    asked = await bot.experts.questions(card.data["questions"], card.place, audience)
    still = [question for question in asked if question.resolved_at is None]
    if not still:
        return GONE
    shown = reference_of(card) if reference is None else reference
    found = await asyncio.to_thread(closing, still, shown if shown in {question.id for question in still} else None)
    return GONE if found is None else to_answer(found)


def to_answer(found: Closing) -> OpenedQuestion:
    """The question of a form."""
    question = shortened(one_line(found.reference.question), QUESTION_CHARACTERS) or "?"
    shared = any(one.scope == TEAM for one in found.closes)
    return OpenedQuestion(question, shared, found.reference.id, found.choices)


def saved(taught: AnswerTaken, language: Language) -> str:
    """That an answer was learnt, and what it did."""
    said = SAVED.to(language, n=taught.told)
    return f"{said} {LEFT.to(language, n=taught.left)}" if taught.left else said


def status(card: Post, how: Text, language: Language, who: str = "") -> str:
    """The end of a card, in words for those who see it: `how` it was closed, or that a part of it was settled."""
    said = how if card.data["closed"] else PARTLY if who else PARTLY_ELSEWHERE
    return said.to(language, who=who)


def heading(notice: Notice, *, asker: str, question: str, who: str | None) -> str:
    """The line that an asker reads before the answer itself; `who` it is from."""
    told, by = (CORRECTED, BY_EDITOR) if notice.corrects else (PAGE_CHANGED if notice.of_page else TOLD, BY)
    named = by.to(notice.language, who=who) if who else ""
    return told.to(notice.language, asker=asker, question=question, by=named)


def with_reference(name: str, reference: int) -> str:
    """A card's name for a form that stays open: what it was opened for is what will be answered."""
    return f"{name}#{reference}"


def without_reference(name: str) -> tuple[str, int | None]:
    """The card's name and the question, from `with_reference`."""
    card, _, reference = name.partition("#")
    return card, int(reference) if reference.isdecimal() else None
