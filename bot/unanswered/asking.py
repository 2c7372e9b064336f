"""A question that got no sure answer is brought to a person at once: to whoever looks after what lies closest, else to
whoever answered most like it, else to the digest's channel. One card, once a question; its answer is learnt as any
expert's.

What is asked in a private place goes to nobody before its asker has seen who gets what; nobody is asked at night, too
often, or against their will. Source: product.md §4.
"""

import hashlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import UTC, datetime, time, timedelta
from typing import Protocol

from agent.segmentation import in_one_line
from bot.access import default_scope, person, reaches_team, readers, role
from bot.config.settings import Settings
from bot.errors import SettingsError
from bot.store.asks import Asks, PersonAsk, Reason
from bot.store.conversations import Conversation, Conversations
from bot.store.documents import Documents
from bot.store.unanswered import MissedQuestion, UnansweredQuestions
from bot.types import PUBLIC, Actor, Audience, Card, CardRow, Link, Place, Post, Question, Recipient
from bot.unanswered.digest import SearchDocuments
from bot.unanswered.digest_card import follows, offers, safe_link, shortened
from bot.unanswered.expert_answers import ANSWERS, UNTOLD
from bot.waiting import again_and_again
from retrieval.i18n import Language, Text, filled
from retrieval.types import TEAM, Hit, RAGToolError, Readers

log = logging.getLogger(__name__)

A_DAY = 5  # questions that one person has brought to others, and as many that are brought to one person
QUIET, MORNING = time(21), time(8)  # where the person is
PASSAGES, PASSAGE, NAME, QUESTION = 3, 240, 80, 1_000  # on a card; characters of each
EVERY_SECONDS = 20.0
GIVE_UP = timedelta(days=1)  # on a platform that takes no card: the question stays among the unanswered ones

NOW = "now"  # a choice: not to wait for the morning

_MEMBERS = Text(
    en="Only members of the team can have somebody asked.", ja="担当者への質問を頼めるのはチームのメンバーだけです。"
)
_OUTSIDERS = Text(
    en="People from outside the team read along here, so nobody is asked from here.",
    ja="ここは社外の人も読めるため、ここから担当者に質問を届けることはできません。",
)
_GONE = Text(en="I no longer know this question.", ja="この質問の記録が見つかりません。")
_SETTLED = Text(
    en="This question has been answered or dismissed already.",
    ja="この質問はすでに回答されたか、回答せずに閉じられています。",
)
_THEIRS = Text(
    en="This was asked in a private place: only whoever asked can bring it to somebody else.",
    ja="非公開の場所での質問なので、ほかの人に届けられるのは質問した本人だけです。",
)
_ENOUGH = Text(
    en="You have had {n} questions brought to people since yesterday. The others are in the weekly digest.",
    ja="1 日に届けられる質問は {n} 件までです。ほかの質問は週次ダイジェストで届きます。",
)
_NOBODY = Text(
    en="I found nobody to ask. The question stays among the unanswered ones.",
    ja="聞ける担当者が見つかりませんでした。質問は未回答の一覧に残ります。",
)
_NOT_RUNNING = Text(
    en="People are asked while `kotae run` serves the channels.",
    ja="担当者への質問は `kotae run` の実行中に届けられます。",
)
_ASKED = Text(
    en="I have asked {name}. {told}",
    ja="{name}に質問を届けました。{told}",
)
_ALREADY = Text(
    en="{name} has been asked this already. {told}",
    ja="この質問はすでに {name}に届いています。{told}",
)
_TOLD = Text(
    en="You will read the answer in this thread.",
    ja="回答はこのスレッドにお知らせします。",
)
_ASK_AGAIN = Text(
    en="Ask your question again later: once they have written an answer, you get it.",
    ja="後でもう一度同じ質問をすると、その回答をお伝えします。",
)
_WAITS = Text(
    en="It is night for {name}: the question waits until {time} ({zone}).",
    ja="{name}は夜間のため、{time}（{zone}）まで待ってから届けます。",
)
_SEND_NOW = Text(en="Send it now", ja="今すぐ届ける")
_CONFIRM = Text(
    en="{name} would read your question “{question}”, a link to this thread, and {pages}. Nobody else gets it.",
    ja="{name}に、ご質問「{question}」とこのスレッドへのリンク、{pages}を届けます。ほかの人には届きません。",
)
_CONFIRM_CHANNEL = Text(
    en="Everyone in {name} would read your question “{question}”, a link to this thread, and {pages}.",
    ja="{name}の全員に、ご質問「{question}」とこのスレッドへのリンク、{pages}を届けます。",
)
_PAGES = Text(
    en="the closest passages that may be read there, such as of {names}", ja="そこで読める近い文書（{names} など）"
)
_NO_PAGES = Text(
    en="the closest passages that may be read there, if there are any", ja="そこで読める近い文書（あれば）"
)
_ASK_THEM = Text(en="Ask {name}", ja="{name}に聞く")

_FROM = Text(
    en="{name} asks this, and I was not sure of an answer.",
    ja="{name} さんからの質問です。確実な回答ができませんでした。",
)
_FROM_SOMEBODY = Text(en="I was not sure of an answer to this.", ja="この質問に、確実な回答ができませんでした。")
_NOTHING_FROM = Text(
    en="{name} asks this, and I found nothing about it.", ja="{name} さんからの質問です。答えが見つかりませんでした。"
)
_NOTHING_FROM_SOMEBODY = Text(en="I found nothing about this.", ja="この質問の答えが見つかりませんでした。")
_WHY: dict[Reason, Text] = {
    "owner": Text(
        en="You are asked because you look after the closest documents.", ja="近い文書の担当者としてお聞きしています。"
    ),
    "answered": Text(
        en="You are asked because you have answered something like it.",
        ja="似た質問に回答されたことがあるため、お聞きしています。",
    ),
}
_NOT_ANY_MORE = Text(en="To stop being asked: {command}", ja="今後このような質問を受け取らない場合: {command}")
_OPT_OUT = {"slack": "/kotae asks off", "discord": "/asks"}
_PASSAGE = Text(en="“{text}” — {name} ({collection})", ja="「{text}」— {name}（{collection}）")
_THREAD = Text(en="thread", ja="スレッド")


OpenCards = Callable[[Collection[int]], Awaitable[Sequence[Post]]]
"""`Outbox.cards`: those that offer one of these questions still."""


class Reach(Protocol):
    """The platforms that run, as far as somebody can be asked there. People and channels are as in
    `PersonAsk.recipient`."""

    async def find(self, recipient: str) -> Recipient:
        """Raises LookupError for who cannot be asked there (unknown, deactivated, a bot, an outsider),
        ConnectionError."""
        ...

    async def digest_channel(self) -> str | None:
        """The channel of the digest; None: there is none. Raises what `find` raises, SettingsError."""
        ...

    async def post(self, to: Recipient, card: Card, *, about: str) -> None:
        """Post a card once, whatever was posted of it before. Raises what `find` raises."""
        ...


@dataclass(frozen=True, slots=True)
class AskReply:
    """The words for whoever wants a person asked; with `offer`, a button's label, which brings back `choice`."""

    text: Text
    offer: Text | None = None
    choice: str = ""


@dataclass(frozen=True, slots=True)
class _Candidate:
    recipient: str
    reason: Reason


@dataclass
class Asking:
    """Brings questions to people. `reach` is there while platforms run. All raise StoreError, RAGToolError."""

    settings: Settings
    asks: Asks
    questions: UnansweredQuestions
    conversations: Conversations
    documents: Documents
    search: SearchDocuments
    cards: OpenCards
    _: KW_ONLY
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    reach: Reach | None = field(init=False, default=None)

    async def ask(self, turn: str, actor: Actor, place: Place, audience: Audience, choice: str = "") -> AskReply:
        """Somebody at `place`, now read by `audience`, wants a person asked. `choice`: what an earlier reply
        offered."""
        if self.reach is None:
            return AskReply(_NOT_RUNNING)
        if role(actor, self.settings) == "outsider":
            return AskReply(_MEMBERS)
        if not reaches_team(audience):
            return AskReply(_OUTSIDERS)
        kept = await self.conversations.get(turn)
        if kept is None or kept.asked.place != place:
            return AskReply(_GONE)
        async with self.asks.asking.held():  # a card is posted once, whoever wants it meanwhile
            question = await self._question(kept, audience)
            if question.resolved_at is not None:
                return AskReply(_SETTLED)
            known = await self.asks.get(turn)
            if known is not None and await self._stands(known):
                return await self._known(self.reach, known, place, choice)
            if question.scope != TEAM and kept.asked.author != actor.id:
                return AskReply(_THEIRS)
            by = actor.full_id
            if (await self.asks.count(by, self.clock() - timedelta(days=1)))[0] >= A_DAY:
                return AskReply(filled(_ENOUGH, n=str(A_DAY)))
            return await self._bring(self.reach, kept, question, audience, by, choice, instead=known)

    async def deliver(self) -> None:
        """Send what was kept for its time, or what could not be sent at once."""
        if self.reach is None:
            return
        async with self.asks.asking.free() as mine:
            for ask in await self.asks.due(self.clock()) if mine else ():
                await self._deliver(self.reach, ask)

    async def watch(self) -> None:
        """Until cancelled: `deliver` again and again."""
        await again_and_again(self.deliver, EVERY_SECONDS, "questions for people could not be sent")

    async def opt_out(self, person: str) -> None:
        """`person` (`platform:id`) is not asked any more."""
        await self.asks.opt_out(person, self.clock())

    async def opt_in(self, person: str) -> None:
        await self.asks.opt_in(person)

    async def opted_out(self, person: str) -> bool:
        return bool(await self.asks.opted_out([person]))

    async def name(self, person: str) -> str:
        """The name by which people call somebody (`platform:id`); the id where no platform tells it."""
        try:
            return (await self.reach.find(person)).name if self.reach else person
        except (LookupError, ConnectionError):
            return person

    async def reaches(self, person: str) -> bool:
        """Whether somebody can be asked, as far as a platform says."""
        try:
            return self.reach is None or bool(await self.reach.find(person))
        except ConnectionError:
            return True
        except LookupError:
            return False

    # -- one question -------------------------------------------------------------------------------------------------

    async def _question(self, kept: Conversation, audience: Audience) -> Question:
        """The miss of a turn; an answer that the bot was only not sure of becomes one."""
        found = await self.questions.of_turn(kept.turn)
        if not found:
            asked = kept.asked
            miss = MissedQuestion(
                turn=kept.turn,
                question=asked.text,
                reason="low_confidence",
                searched=kept.answered.searched,
                confidence=kept.answered.confidence,
                scope=default_scope(asked.place, audience),
                link=asked.link,
                asked_at=kept.answered_at,
                reopened_at=self.clock(),
            )
            await self.questions.add(miss)
            found = await self.questions.of_turn(kept.turn)
        return next((one for one in found if one.resolved_at is None), found[0])

    async def _stands(self, ask: PersonAsk) -> bool:
        """Whether a question that was brought to somebody waits for their answer still: not one that they have answered
        or dismissed, also if it is open again."""
        own = next((one for one in await self.questions.of_turn(ask.turn) if one.id == ask.question), None)
        if ask.sent_at is None or own is None:
            return ask.sent_at is None
        return own.resolved_at is None and (own.reopened_at is None or own.reopened_at <= ask.sent_at)

    async def _known(self, reach: Reach, ask: PersonAsk, place: Place, choice: str) -> AskReply:
        """The state of a question that was brought to somebody, or waits for their morning."""
        try:
            to = await reach.find(ask.recipient)
        except (LookupError, ConnectionError):
            return _said(_ALREADY, ask.recipient.partition(":")[2], place)
        if ask.sent_at is None and choice == NOW:
            now = self.clock()
            await self.asks.hurry(ask.turn, now)
            await self._deliver(reach, replace(ask, due_at=now))
            return _said(_ASKED, _called(to), place)
        if ask.sent_at is None and (due := self._due(ask, to)) > self.clock():
            return self._waits(to, due)
        return _said(_ALREADY, _called(to), place)

    async def _bring(
        self,
        reach: Reach,
        kept: Conversation,
        question: Question,
        audience: Audience,
        by: str,
        choice: str = "",
        besides: Collection[str] = (),
        instead: PersonAsk | None = None,
    ) -> AskReply:
        """To the first who can be asked, `instead` of whoever was asked before: that holds until somebody is found, or
        nobody is there. What is private needs the choice of exactly that one."""
        asker = f"{kept.asked.place.platform}:{kept.asked.author}"
        async for one in self._candidates(reach, question, kept.asked.place, audience, {by, asker, *besides}):
            try:
                to = await reach.find(one.recipient)
            except (LookupError, ConnectionError) as error:
                log.info("somebody cannot be asked: %s", error)
                continue
            if one.reason == "channel" and not _may_go_to(to, question, kept.asked.place):
                continue
            if to.place in [card.place for card in await self.cards([question.id])]:  # such as the digest's
                await self.asks.drop(kept.turn)
                return _said(_ALREADY, _called(to), kept.asked.place)
            if question.scope != TEAM and choice != one.recipient:
                return await self._confirm(question, one, to, readers(kept.asked.place, audience))
            now = self.clock()
            due = now if one.reason == "channel" else self._awake(to, now)
            ask = PersonAsk(kept.turn, question.id, by, one.recipient, one.reason, to.place, now, due)
            if not await self.asks.add(ask, instead):  # by another process meanwhile
                return _said(_ALREADY, _called(to), kept.asked.place)
            if due > now:
                return self._waits(to, due)
            try:
                await self._send(reach, ask, question, kept, to)
            except LookupError as error:
                log.info("somebody cannot be asked: %s", error)
                await self.asks.drop(ask.turn)
                continue
            except ConnectionError as error:
                log.warning("a question for somebody could not be sent (%s); trying again", error)
            return _said(_ASKED, _called(to), kept.asked.place)
        await self.asks.drop(kept.turn)
        return AskReply(_NOBODY)

    async def _deliver(self, reach: Reach, ask: PersonAsk) -> None:
        """Whoever cannot be asked any more gives way to the next, as far as the question is the team's; a private one
        goes to nobody whom its asker has not seen."""
        kept = await self.conversations.get(ask.turn)
        found = {one.id: one for one in await self.questions.of_turn(ask.turn)}
        question = found.get(ask.question)
        if kept is None or question is None or question.resolved_at is not None:
            await self.asks.drop(ask.turn)
            return
        try:
            to = await reach.find(ask.recipient)
            if await self.opted_out(ask.recipient):
                raise LookupError("they do not want to be asked any more")
            if self._due(ask, to) > self.clock():
                return
            if ask.reason == "channel" and not _may_go_to(to, question, kept.asked.place):
                raise LookupError("more people read the channel by now")
            await self._send(reach, ask, question, kept, to)
        except LookupError as error:
            log.warning("somebody cannot be asked any more: %s", error)
            if question.scope != TEAM:
                await self.asks.drop(ask.turn)
                return
            try:
                await self._bring(reach, kept, question, PUBLIC, ask.by, besides={ask.recipient}, instead=ask)
            except RAGToolError as failed:  # nobody can be looked for now
                await self._try_later(ask, failed)
        except ConnectionError as error:
            await self._try_later(ask, error)

    async def _try_later(self, ask: PersonAsk, error: Exception) -> None:
        log.warning("a question for somebody could not be sent (%s); trying again", error)
        if self.clock() - ask.due_at > GIVE_UP:
            await self.asks.drop(ask.turn)

    async def _send(self, reach: Reach, ask: PersonAsk, question: Question, kept: Conversation, to: Recipient) -> None:
        """Raises LookupError, ConnectionError."""
        asker = "" if ask.reason == "channel" else await self._asker(reach, kept)  # a channel is told no names
        # Whoever is asked instead gets a card of their own, and so does what is asked again.
        whom = hashlib.sha256(f"{ask.recipient} {question.id} {question.reopened_at}".encode()).hexdigest()
        await reach.post(to, await self._card(ask.reason, question, to, asker), about=f"ask:{ask.turn}:{whom[:8]}")
        await self.asks.sent(ask.turn, self.clock())

    async def _candidates(
        self, reach: Reach, question: Question, place: Place, audience: Audience, not_these: Collection[str]
    ) -> AsyncIterator[_Candidate]:
        """Whoever could be asked, the best first. Only what the search itself calls relevant counts as close."""
        allowed = readers(place, audience)
        found = await self.search(question.whole, allowed)
        near = await self._people(found.hits, "owner")
        near += await self._people([hit for hit in found.hits if hit.passage.collection == ANSWERS], "answered")
        seen = set(not_these)
        out = await self.asks.opted_out({one.recipient for one in near})
        for one in near:
            if one.recipient in seen or one.recipient in out:
                continue
            seen.add(one.recipient)
            if (await self.asks.count(one.recipient, self.clock() - timedelta(days=1)))[1] < A_DAY:
                yield one
        try:
            channel = await reach.digest_channel()
        except (LookupError, ConnectionError, SettingsError) as error:
            log.warning("nobody can be asked in the digest's channel: %s", error)
            return
        if channel is not None and channel not in seen:
            yield _Candidate(channel, "channel")

    async def _people(self, hits: Sequence[Hit], reason: Reason) -> list[_Candidate]:
        """The owners of the documents, in their order; of answers, who gave them."""
        ids = list(dict.fromkeys(hit.passage.document_id for hit in hits))
        owned = await self.documents.owners(ids)
        answers = {hit.passage.document_id for hit in hits if hit.passage.collection == ANSWERS}
        people = []
        for id in ids:
            owner, author = owned.get(id, (None, ""))
            who = owner or person(author)
            if who is not None and (id in answers and owner is None) == (reason == "answered"):
                people.append(_Candidate(who, reason))
        return people

    # -- in words -----------------------------------------------------------------------------------------------------

    async def _confirm(self, question: Question, one: _Candidate, to: Recipient, asker: Readers) -> AskReply:
        """Names no document that is not the `asker`'s to read, and says the same whether there is one."""
        hits = [hit for hit in await self._closest(question, to) if hit.passage.scope in asker.scopes]
        names = list(dict.fromkeys(shortened(hit.passage.name, NAME) for hit in hits))
        listed = Text(en=", ".join(names), ja="、".join(names))
        text = filled(
            _CONFIRM_CHANNEL if one.reason == "channel" else _CONFIRM,
            name=_called(to),
            question=shortened(question.question, PASSAGE),
            pages=filled(_PAGES, names=listed) if names else _NO_PAGES,
        )
        return AskReply(text, filled(_ASK_THEM, name=_called(to)), one.recipient)

    def _waits(self, to: Recipient, due: datetime) -> AskReply:
        zone = to.timezone or self.settings.timezone
        said = filled(_WAITS, name=_called(to), time=due.astimezone(zone).strftime("%H:%M"), zone=str(zone))
        return AskReply(said, _SEND_NOW, NOW)

    def _awake(self, to: Recipient, now: datetime) -> datetime:
        """The first moment from now on that is not in the recipient's night."""
        zone = to.timezone or self.settings.timezone
        local = now.astimezone(zone)
        if MORNING <= local.time() < QUIET:
            return now
        day = local.date() + timedelta(days=local.time() >= QUIET)
        return datetime.combine(day, MORNING, zone).astimezone(UTC)

    def _due(self, ask: PersonAsk, to: Recipient) -> datetime:
        """When one that is not sent yet will be: not in a night that began before it could be."""
        if ask.reason == "channel" or self._awake(to, ask.due_at) > ask.due_at:  # or its asker would not wait
            return ask.due_at
        return max(ask.due_at, self._awake(to, self.clock()))

    async def _closest(self, question: Question, to: Recipient) -> list[Hit]:
        """The passages on the card: relevant ones that everyone who gets it may read."""
        allowed: Readers = readers(to.place, to.audience)
        try:
            found = await self.search(question.whole, allowed)
        except RAGToolError:
            log.warning("a card for somebody has no passages", exc_info=True)
            return []
        return list(found.hits[:PASSAGES])

    async def _card(self, reason: Reason, question: Question, to: Recipient, asker: str) -> Card:
        language: Language = to.language or self.settings.language
        hits = await self._closest(question, to)
        passages = [
            _PASSAGE.to(
                language,
                text=shortened(in_one_line(hit.passage.text), PASSAGE),
                name=shortened(hit.passage.name, NAME),
                collection=shortened(hit.passage.collection, NAME),
            )
            for hit in hits
        ]
        nothing = question.reason == "unknown"
        with_name, without = (_NOTHING_FROM, _NOTHING_FROM_SOMEBODY) if nothing else (_FROM, _FROM_SOMEBODY)
        said = with_name.to(language, name=asker) if asker else without.to(language)
        command = _OPT_OUT.get(to.place.platform, "/kotae asks off")
        why = [_WHY[reason].to(language), _NOT_ANY_MORE.to(language, command=command)] if reason in _WHY else []
        link = safe_link(question.link)
        public = question.before if question.scope == TEAM else ""  # its asker was shown only the question itself
        before, words = follows(public, question.earlier, language)
        row = CardRow(
            text=shortened(question.question, QUESTION),
            details=(said, *before, *passages, *why),
            links=(Link(_THREAD.to(language), link),) if link else (),
            actions=offers((question.id,), question.id, language),
            sources=("", *words, *(hit.passage.document_id for hit in hits)),
        )
        return Card("", rows=(row,))

    async def _asker(self, reach: Reach, kept: Conversation) -> str:
        try:
            return (await reach.find(f"{kept.asked.place.platform}:{kept.asked.author}")).name
        except (LookupError, ConnectionError):
            return ""


def _said(what: Text, name: Text | str, place: Place) -> AskReply:
    """With how the asker will know the answer."""
    return AskReply(filled(what, name=name, told=_ASK_AGAIN if place.platform in UNTOLD else _TOLD))


def _called(to: Recipient) -> Text:
    """The name in a sentence; in Japanese also what parts it from the particle behind it."""
    name = to.called or Text(en=to.name, ja=to.name)
    return Text(en=name.en, ja=f"{name.ja} " if name.ja.startswith("#") else f"{name.ja} さん")


def _may_go_to(to: Recipient, question: Question, place: Place) -> bool:
    """Whether a channel has no more readers than the place where this was asked."""
    return to.place == place or (question.scope == TEAM and reaches_team(to.audience))
