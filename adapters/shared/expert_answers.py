"""Experts answer a card's questions in a form or by a reply, or dismiss them, on any platform: what they are asked and
told, what becomes of the cards, and what an asker is told then.

Source: product.md §4; reliability.md R11 and R19.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from adapters.markdown.events import one_line, shortened
from adapters.port import PostError
from adapters.shared import digest_cards
from adapters.shared.follow_ups import says_something
from adapters.shared.ingestion import FAILED
from adapters.shared.tasks import Tasks
from agent.routing.router import approves, asks_what, puts_off, requests
from bot.access import readers
from bot.bot import Bot
from bot.texts import MEMBERS
from bot.turns.withdrawal import WITHDRAWN
from bot.types import Actor, AnswerGiven, AnswerTaken, Audience, Notice, Place, Post, Question
from bot.unanswered import card_replies
from bot.unanswered.closing import Choice, Closing, closing
from bot.unanswered.digest_card import what_it_closes
from retrieval.i18n import Language, Text
from retrieval.text import sentences
from retrieval.types import TEAM

log = logging.getLogger(__name__)

_QUOTED = re.compile(r"\s*[>＞]")
_CLAUSE = re.compile(r":[\w+-]+:|[,、;；:：—–]\s*|\s-+\s")  # Slack writes an emoji ":eyes:"

Choosing = Literal["save", "anew", "discard"]

NAME = 80  # characters of whoever settled a card
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
NO = Text(en="No", ja="いいえ")
DELETED = Text(en="That reply is no longer there.", ja="その返信はすでに削除されています。")
WITHOUT_FILES = Text(
    en="Saved without the files of the reply: an answer is only text. To have them found, too, choose “Add to "
    "knowledge” in the menu of the reply, or use /ingest.",
    ja="文章だけを保存しました。添付ファイルは回答に含まれません。ファイルも検索できるようにするには、返信のメニューの"
    "「Add to knowledge」（「ナレッジに追加」）か /ingest で追加してください。",
)
ANSWERED = Text(en="✅ Answered by {who}", ja="✅ {who} さんが回答しました")
DISMISSED = Text(en="➖ Dismissed by {who}", ja="➖ {who} さんが回答せずに閉じました")
PARTLY = Text(
    en="✅ {who} settled other questions of this card", ja="✅ このカードのほかの質問は {who} さんが対応しました"
)
PARTLY_ELSEWHERE = Text(
    en="✅ Other questions of this card were settled elsewhere",
    ja="✅ このカードのほかの質問は、ほかの場所で対応されました",
)
_TAKEN_BACK = Text(
    en="(A question that was changed or deleted is left out.)", ja="（変更または削除された質問は表示していません。）"
)
CLOSED = Text(en="✅ Closed", ja="✅ 終了しました")
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
NOT_HERE = Text(
    en="People who may not read the answer can read this thread now, so it is not shown here. Ask me "
    "again in a direct message.",
    ja="このスレッドは、回答の閲覧権限がない人にも見えるようになったため、ここには表示しません。"
    "ダイレクトメッセージで、もう一度質問してください。",
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


@dataclass(frozen=True, slots=True)
class CardReply:
    """A reply to a card that was confirmed as its answer, as it is now. `author` by id, `name` for people; `files`: it
    has some, which no answer keeps."""

    text: str
    url: str | None
    author: str
    name: str
    files: bool = False


@dataclass(frozen=True, slots=True)
class DigestCards:
    """The cards of one platform, which brings who reads a channel, how one is drawn (with what became of it; raises
    PostError), and how an asker is told. Raises StoreError; of an answer also RAGToolError."""

    platform: str
    bot: Bot
    tasks: Tasks
    language: Language  # of what everybody reads
    audience_of: Callable[[str], Awaitable[Audience]]
    draw: Callable[[Post, str], Awaitable[None]]
    tell: Callable[[Notice], Coroutine[Any, Any, None]]

    async def form(self, card: Post | None, actor: Actor) -> OpenedQuestion | Text:
        """The questions of a card, for a form; or why there is none. A card without an open one says so then."""
        if card is None:
            return GONE
        if actor.role == "outsider":
            return MEMBERS
        found = await opened(self.bot, card, await self.audience_of(card.place.channel))
        if isinstance(found, Text):
            self.tasks.start(self._close(card, found), f"{self.platform}-cards")
        return found

    async def answer(
        self,
        card: Post | None,
        actor: Actor,
        name: str,
        answer: str,
        url: str | None,
        *,
        question: str = "",
        reference: int | None = None,
        author: str = "",
        chosen: Ticks = NO_TICKS,
    ) -> AnswerTaken:
        """Answer a card's question (None: the one that speaks for them). `name`: of whom its card will show; `author`:
        who wrote the answer, where it was a reply."""
        if card is None:
            return AnswerTaken(refusal=GONE)
        lesson = AnswerGiven(
            actor,
            card.place,
            await self.audience_of(card.place.channel),
            tuple(card.data["questions"]),
            answer,
            question,
            url,
            reference,
            author,
            closes=chosen.closes,
            leaves=chosen.leaves,
        )
        taken = await self.bot.experts.answer(lesson)
        if taken.refusal is None:
            self._settle(card, ANSWERED, name)
        return taken

    async def dismiss(self, card: Post | None, actor: Actor, name: str) -> AnswerTaken:
        """Close all questions of a card without an answer."""
        if card is None:
            return AnswerTaken(refusal=GONE)
        questions = card.data["questions"]
        taken = await self.bot.experts.dismiss(actor, questions, card.place, await self.audience_of(card.place.channel))
        if taken.refusal is None:
            self._settle(card, DISMISSED, name)
        return taken

    async def save(
        self,
        confirm: Post | None,
        actor: Actor,
        read: Callable[[Post, Post, str], Awaitable[CardReply | Text]],
        show: Callable[[Post, Post], Awaitable[None]],
        drop: Callable[[Post], Awaitable[None]],
        *,
        anew: bool = False,
    ) -> Text | None:
        """Keep the replies that were asked about as the answer, or those of `card_replies.anew`; returned is why not,
        or what of them is not kept. `read`: a reply by its id, from the card and the question about it, or why it
        cannot be; `show`: of the card the question as it is kept by now; `drop`: takes that away. All may raise
        PostError."""
        about, part = confirm.data["card"] if confirm else ("", "")
        card = await digest_cards.find(self.bot, about, str(part))
        if confirm is None or card is None or card_replies.is_settled(confirm.data):
            return GONE
        found = await self.bot.outbox.confirms(confirm.place, confirm.thread)
        now = card_replies.up_to_date(confirm.data, [one.data for one in found])
        meant = card_replies.anew(now) if anew else now
        if not any(card_replies.replies(meant)):
            refusal = await self.take_back(card, actor, meant)
            if refusal is None:
                await self.bot.outbox.amend(confirm, card_replies.taken_back)
                await _shown(drop(confirm))
            return refusal
        try:
            said = await self._read(card, replace(confirm, data=meant), read)
        except PostError as error:
            log.warning("a reply could not be read: %s", error.code)
            return FAILED
        if isinstance(said, Text):
            if said is DELETED:
                await self._let_go(confirm, drop)
            return said
        taken = await self.learn(card, actor, meant, said)
        if taken.refusal is None:
            await self.bot.outbox.amend(confirm, partial(card_replies.saved, asked=meant, taken=taken))
            await _shown(card_replies.show(self.bot.outbox, confirm, partial(show, card)))
        return taken.refusal or (WITHOUT_FILES if any(one.files for one in said) else None)

    async def _read(
        self, card: Post, confirm: Post, read: Callable[[Post, Post, str], Awaitable[CardReply | Text]]
    ) -> list[CardReply] | Text:
        """The replies that are the answer together, those that are still there; or why there is none. Raises what
        `read` raises."""
        earlier, asked = card_replies.replies(confirm.data)
        found = [await read(card, confirm, reply) for reply in (*earlier, *asked)]
        why_not = [one for one in found if isinstance(one, Text)]
        unread = next((one for one in why_not if one is not DELETED), None)
        gone = all(one is DELETED for one in found[len(earlier) :])
        return unread or (DELETED if gone else [one for one in found if isinstance(one, CardReply)])

    async def learn(
        self, card: Post, actor: Actor, asked: card_replies.Confirmation, replies: Sequence[CardReply]
    ) -> AnswerTaken:
        """These replies, which a confirmation `asked` about, are the answer together; or what it consists of by now."""
        first, text = replies[0], "\n".join(reply.text for reply in replies)
        if "answers" not in asked:
            reference = asked.get("reference")
            return await self.answer(card, actor, first.name, text, first.url, reference=reference, author=first.author)
        allowed, told, documents = readers(card.place, await self.audience_of(card.place.channel)), 0, {}
        for id, version in asked["answers"].items():
            changed = await self.bot.answers.edit(
                actor, allowed, id, text, version=version, author=first.author, url=first.url
            )
            if changed.refusal is not None:
                return AnswerTaken(refusal=changed.refusal)
            told, documents[id] = told + changed.told, changed.version
        self.tasks.start(self.tell_all(), f"{self.platform}-cards")
        return AnswerTaken(told=told, documents=documents)

    async def take_back(self, card: Post, actor: Actor, asked: card_replies.Confirmation) -> Text | None:
        """Take the answer back of which no reply is left; returned is why not."""
        allowed = readers(card.place, await self.audience_of(card.place.channel))
        take_back = self.bot.answers.take_back
        taken = [await take_back(actor, allowed, id, version=version) for id, version in asked["answers"].items()]
        return next((one.refusal for one in taken if one.refusal is not None), None)

    async def _let_go(self, confirm: Post, drop: Callable[[Post], Awaitable[None]]) -> Text | None:
        if await self.bot.outbox.amend(confirm, card_replies.declined) is None:
            return GONE
        await _shown(drop(confirm))
        return None

    async def discard(
        self,
        confirm: Post | None,
        actor: Actor,
        show: Callable[[Post, Post], Awaitable[None]],
        drop: Callable[[Post], Awaitable[None]],
    ) -> Text | None:
        """Let the replies that were asked about be no answer, or the answer as it was; returned is why not. `show`,
        `drop`: as for `save`."""
        if actor.role == "outsider":
            return MEMBERS
        if confirm is not None and "before" in confirm.data:
            if await self.bot.outbox.amend(confirm, card_replies.declined) is None:
                return GONE
            await self._shown_again(confirm, show)
            return None
        return await self._let_go(confirm, drop) if confirm is not None else None

    async def changed(
        self,
        found: Sequence[Post],
        reply: str,
        show: Callable[[Post, Post], Awaitable[None]],
        *,
        gone: bool = False,
    ) -> bool:
        """A message has new words, or is `gone`: where it is a part of an answer that was saved, ask what the answer is
        now. Returned is whether it belongs to one, saved or not. `found`: the confirmations in its thread, the latest
        first; `show`: as for `save`. Raises StoreError."""
        kept = [one.data for one in found]
        held = card_replies.holding(kept, reply)
        change = partial(card_replies.changed, reply=reply, gone=gone)
        if held is not None and await self.bot.outbox.amend(found[held], change) is not None:
            self.tasks.start(self._shown_again(found[held], show), f"{self.platform}-cards")
        return card_replies.belongs(kept, reply)

    async def _shown_again(self, confirm: Post, show: Callable[[Post, Post], Awaitable[None]]) -> None:
        about, part = confirm.data["card"]
        card = await digest_cards.find(self.bot, about, str(part))
        if card is not None:
            await _shown(card_replies.show(self.bot.outbox, confirm, partial(show, card)))

    async def renew(self, card: Post) -> None:
        """Draw a card that was closed elsewhere, or that quoted what was withdrawn."""
        for confirm in await digest_cards.taken_back(self.bot, card, self.language):
            await self._redraw(confirm, CLOSED.to(self.language))
        now = await digest_cards.renewed(self.bot, card, await self.audience_of(card.place.channel), self.language)
        if now is not None and card.data.get("stale"):
            await self._redraw(now, (WITHDRAWN if card.data["questions"] else _TAKEN_BACK).to(self.language))
        elif now is not None:
            how = CLOSED if now.data.get("taken_back") else SETTLED
            await self._redraw(now, status(now, how, self.language))

    async def tell_all(self) -> None:
        """Tell those who are to be told now."""
        for notice in await self.bot.experts.notices(self.platform):
            self.tasks.start(self._tell(notice), f"{self.platform}-notice")

    async def _tell(self, notice: Notice) -> None:
        """Others may read its thread than when somebody asked there: what is not theirs to read is not told there, only
        that there is something. While nobody can say who they are, it waits."""
        audience = await self.audience_of(notice.place.channel)
        if audience.visibility == "unknown":
            log.info("who reads the thread of a notice is not known; trying again")
        elif await self.bot.experts.notices.readable(notice, audience):
            await self.tell(notice)
        elif notice.of_page:
            await self.bot.experts.notices.said(notice)
        else:
            await self.tell(replace(notice, answer=NOT_HERE.to(notice.language), by=None))

    def _settle(self, card: Post, how: Text, name: str) -> None:
        """Cards whose question is not open any more say so, and the askers are told."""

        async def settle() -> None:
            await self._close(card, how, shortened(name, NAME))
            await self.tell_all()

        self.tasks.start(settle(), f"{self.platform}-cards")

    async def _close(self, card: Post, how: Text, who: str = "") -> None:
        for now in await digest_cards.changed(self.bot, card, self.audience_of, self.language):
            await self._redraw(now, status(now, how, self.language, who))

    async def _redraw(self, card: Post, status: str) -> None:
        if card.message is None:
            return
        await self.bot.outbox.confirm(card)
        try:
            await self.draw(card, status)
        except PostError as error:
            log.warning("a card could not be redrawn: %s", error.code)


async def _shown(showing: Awaitable[None]) -> None:
    try:
        await showing
    except PostError as error:
        log.info("what became of a reply could not be shown: %s", error.code)


async def card_named(bot: Bot, name: str, place: Place, audience: Callable[[], Awaitable[Audience]]) -> Post | None:
    """The card of this name: which questions it is about is what the database says. `place` and its `audience`: where
    its button was pressed, for a question of a list. Raises StoreError."""
    about, _, part = name.rpartition(":")
    if about == digest_cards.LISTED:
        return await digest_cards.listed(bot, part, place, await audience())
    return await digest_cards.find(bot, about, part)


async def confirmation(bot: Bot, name: str, message: str) -> Post | None:
    """The question about a reply that this message asks, which may not be written down yet. Raises StoreError."""
    asked = (post for post in await bot.outbox.of(name) if post.kind == "confirm" and post.message in (None, message))
    found = next(asked, None)
    return replace(found, message=message) if found else None


async def takes(post: Post, text: str, actor: Callable[[], Awaitable[Actor]]) -> bool:
    """Whether what somebody wrote in reply to a post can be a card's answer, or add to it."""
    if post.kind != "card" or not may_answer(post, text):
        return False
    return (await actor()).role != "outsider"


def may_answer(card: Post, text: str) -> bool:
    """Whether a reply to a card has more than courtesy, "I'll check", a question back or lines that it quotes. A word
    that lets somebody do what they ask for is an answer, too, and so is one in doubt: "Kyoto, no?"."""
    own = "\n".join(line for line in text.splitlines() if not _QUOTED.match(line))
    if not card.data["closed"] and approves(own):
        return True
    return any(
        says_something(clause)
        and not puts_off(clause)
        and not (card_replies.QUESTION.search(clause) and asks_what(clause))
        for sentence in sentences(own)
        for clause in _CLAUSE.split(sentence)  # "20 days, does that help?" says something
    )


async def card_before(bot: Bot, place: Place, text: str, at: float) -> Post | None:
    """In a conversation with one person the card that they may answer outside its thread `at` that time (POSIX
    seconds): the last that was said there is an open one, or asks about a reply to one of a moment ago. A question is
    one to the bot. Raises StoreError."""
    last = None if _asks(text) else await bot.outbox.last(place)
    if last is not None and last.kind == "confirm":
        if "discarded" in last.data or at - last.data.get("at", 0.0) > card_replies.TOGETHER:
            return None
        card = await digest_cards.find(bot, *map(str, last.data["card"]))
        saved = "saved" in last.data or "answers" in last.data  # else it was answered elsewhere
        return card if card is not None and (saved or not card.data["closed"]) else None
    return last if last is not None and last.kind == "card" and not last.data["closed"] else None


async def adds(bot: Bot, card: Post, thread: str | None, text: str) -> bool | None:
    """Whether what somebody writes to a card that is settled may add to an answer that was saved there (`thread`: None
    where there are none). None: the card is open, or this is nothing but a question to the bot, as in a direct message.
    Raises StoreError."""
    if not card.data["closed"] or _asks(text) or not may_answer(card, text):
        return None
    found = await bot.outbox.confirms(card.place, thread)
    its = [one.data for one in found if one.data.get("card") == [card.about, card.part]]
    return any(card_replies.standing(its))


def _asks(text: str) -> bool:
    return card_replies.stands_alone(text) or requests(text)


async def is_shared(bot: Bot, card: Post, audience: Audience) -> bool:
    """Whether the team will read an answer to what a card asks. Raises StoreError."""
    asked = await bot.experts.questions(card.data["questions"], card.place, audience)
    still = [question for question in asked if question.resolved_at is None] or asked
    found = await _closing(still, digest_cards.reference_of(card))
    return found is None or _reaches_team(found)


async def opened(bot: Bot, card: Post, audience: Audience, reference: int | None = None) -> OpenedQuestion | Text:
    """The questions of a card that those who see it can answer, or why there are none. `reference`: the one that is
    answered; None: the one that the card shows. Raises StoreError."""
    asked = await bot.experts.questions(card.data["questions"], card.place, audience)
    still = [question for question in asked if question.resolved_at is None]
    if not still:
        return GONE
    found = await _closing(still, digest_cards.reference_of(card) if reference is None else reference)
    return GONE if found is None else to_answer(found)


async def _closing(asked: Sequence[Question], reference: int | None) -> Closing | None:
    """The questions that an answer closes; `reference` is the one that is answered, if it is among those `asked`."""
    return await asyncio.to_thread(closing, asked, reference if reference in {one.id for one in asked} else None)


def _reaches_team(found: Closing) -> bool:
    return any(one.scope == TEAM for one in found.closes)


def to_answer(found: Closing) -> OpenedQuestion:
    """The question of a form."""
    question = shortened(one_line(found.reference.whole), QUESTION_CHARACTERS) or "?"
    return OpenedQuestion(question, _reaches_team(found), found.reference.id, found.choices)


def choices(data: card_replies.Confirmation, language: Language) -> list[tuple[Choosing, str]]:
    """The buttons below the question whether replies are the answer, in their order, with their labels."""
    labels: tuple[tuple[Choosing, str | None], ...] = (
        ("save", card_replies.yes(data, language)),
        ("anew", card_replies.only(data, language)),
        ("discard", NO.to(language)),
    )
    return [(kind, label) for kind, label in labels if label is not None]


def saved(taught: AnswerTaken, language: Language) -> str:
    """That an answer was learnt, and what it did."""
    said = SAVED.to(language, n=taught.told)
    return f"{said} {LEFT.to(language, n=taught.left)}" if taught.left else said


def status(card: Post, how: Text, language: Language, who: str = "") -> str:
    """The end of a card, in words for those who see it: `how` it was closed, or that a part of it was settled."""
    said = how if card.data["closed"] else PARTLY if who else PARTLY_ELSEWHERE
    return said.to(language, who=who)


def heading(notice: Notice, *, asker: str, question: str, who: str | None) -> str:
    """The line that an asker reads before the answer itself; `who` it is from. Whose an old question was is not known
    any more: then it calls nobody."""
    told, by = (CORRECTED, BY_EDITOR) if notice.corrects else (PAGE_CHANGED if notice.of_page else TOLD, BY)
    named = by.to(notice.language, who=who) if who else ""
    return told.to(notice.language, asker=asker if notice.author else "", question=question, by=named).lstrip()


def with_reference(name: str, reference: int) -> str:
    """A card's name for a form that stays open: what it was opened for is what will be answered."""
    return f"{name}#{reference}"


def without_reference(name: str) -> tuple[str, int | None]:
    """The card's name and the question, from `with_reference`."""
    card, _, reference = name.partition("#")
    return card, int(reference) if reference.isdecimal() else None
