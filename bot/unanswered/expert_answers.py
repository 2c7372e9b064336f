"""An expert's answer to a question nobody could answer: it becomes a Q/A pair, the question and those that say the same
are closed, and their askers are told. Source: product.md §3 (who may read it) and §4; reliability.md R11 and R19."""

import asyncio
import hashlib
import json
import logging
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from agent.routing.follow_up import leans
from agent.routing.router import puts_off
from bot.access import readers, role
from bot.config.settings import Settings
from bot.knowledge.documents import KnowledgeBase
from bot.logs import holds_secret, without_secrets
from bot.records import AuditRecord, DocumentRow
from bot.store.documents import Documents
from bot.store.notifications import Notices, Telling
from bot.store.outbox import Outbox
from bot.store.unanswered import UnansweredQuestions
from bot.texts import MEMBERS
from bot.types import (
    Actor,
    AnswerGiven,
    AnswerTaken,
    Audience,
    OpenQuestions,
    Place,
    Post,
    Question,
    Upload,
    is_wordless,
)
from bot.unanswered.closing import Closing, closing, stands_alone
from bot.unanswered.notices import Due
from bot.unanswered.paraphrases.paraphrases import alike, wording
from retrieval.i18n import Text, filled
from retrieval.loaders.sanitize import clean, clean_line
from retrieval.text import language_of, normalise
from retrieval.types import TEAM, RAGToolError, Readers

log = logging.getLogger(__name__)

ANSWERS = "answers"  # the collection of what people answered
LONGEST = 8_000  # characters of an answer
QUESTION = 1_000  # of a question
NEAR = 50  # passages among which an older answer to a question is looked for
WORDINGS = 5  # of one question, each a pair, so that whoever asks like one of them finds the answer
UNTOLD = frozenset({"terminal", "api"})  # platforms where nobody looks at a thread again
NAME = 80  # characters of a question in its document's name
SETTLED = timedelta(seconds=10)  # by then whoever closed a card's questions has redrawn it, and said who it was
NAMED = re.compile(r"Q&A: .+\.json")  # its documents
_PAIR = re.compile(r"Q: ([^\n]*)\nA: ")

_ABOUT = Text(
    en="What members of the team answered to questions the documents had no answer to.",
    ja="文書では答えられなかった質問に、チームのメンバーが回答した内容です。",
)
_GONE = Text(
    en="These questions are not there any more, or they were asked in a place that cannot be read here.",
    ja="この質問はすでに削除されたか、ここからは閲覧できない場所で聞かれたものです。",
)
_CLOSED = Text(
    en="These questions have been answered or dismissed already.",
    ja="この質問はすでに回答されたか、回答せずに閉じられています。",
)
_EMPTY = Text(en="The answer is empty.", ja="回答が空です。")
NO_ANSWER = Text(
    en="This says that there is no answer yet, so I keep none: the question stays open until somebody answers it. If "
    "nobody needs to, dismiss it.",
    ja="答えがまだないという内容なので、回答としては保存しません。質問は未回答のまま残ります。回答が不要なら「回答せずに"
    "閉じる」を使ってください。",
)
_LONG = Text(
    en="The answer has {n} characters; I can keep at most {most}. Please shorten it, or add it as a document with "
    "/ingest.",
    ja="回答が {n} 文字あります。保存できるのは {most} 文字までです。短くするか、/ingest "
    "で文書として追加してください。",
)
_SECRET = Text(
    en="The answer holds what looks like a key or a password, which everyone who may read it would find. Please take "
    "it out, and say where it is kept.",
    ja="回答に、キーやパスワードのような文字列が含まれています。保存すると、閲覧できる人全員が検索できてしまいます。"
    "取り除いて、代わりに保管場所を書いてください。",
)
NOT_KEPT = Text(
    en="The answer could not be stored: {reason}",
    ja="回答を保存できませんでした: {reason}",
)


class Experts:
    """Open questions, their answers and who is told. All raise StoreError.

    The pair is stored first, then one transaction closes the questions and leaves a notice for each asker: a lesson
    that was cut short and is given again ends as it would have."""

    def __init__(
        self,
        settings: Settings,
        knowledge: KnowledgeBase,
        questions: UnansweredQuestions,
        notices: Notices,
        documents: Documents,
        outbox: Outbox,
        *,
        owner: str,
    ) -> None:
        """`owner` names this process in the leases."""
        self._settings = settings
        self._knowledge = knowledge
        self._questions = questions
        self._rows = notices
        self._documents = documents
        self._outbox = outbox
        self.notices = Due(notices, owner=owner)  # what is to be said to askers now

    async def open(self, place: Place, audience: Audience) -> OpenQuestions:
        """The misses that everyone who sees `place` may read, newest first, and how many more there are."""
        return await self._questions.open(readers(place, audience).scopes)

    async def questions(self, ids: Collection[int], place: Place, audience: Audience) -> list[Question]:
        """Of these misses those that everyone who sees `place` may read, and those that were brought there."""
        return await self._questions.get(ids, readers(place, audience).scopes, place=place)

    async def missing(self, ids: Collection[int]) -> set[int]:
        """Which of these misses are not there any more: their askers have changed or deleted them, or a 👎 was taken
        back."""
        return await self._questions.missing(ids)

    async def settled(self, platform: str) -> list[Post]:
        """The cards of a platform whose question was closed elsewhere, or of which one is not there any more, or the
        words; `closed` where none of theirs is open any more; and those that had the words of what was withdrawn
        (`stale`)."""
        found = await self._outbox.open_cards(platform)
        stale = [card for card in found if card.data.get("stale")]
        found = [card for card in found if card.data.get("questions") and card not in stale]
        ids = {question for card in found for question in card.data["questions"]}
        closed = await self._questions.closed(ids, before=datetime.now(UTC) - SETTLED)
        gone = await self._questions.missing(ids)
        over = [card for card in found if closed.issuperset(card.data["questions"])]
        changed = (
            card
            for card in found
            if card.data.get("reference") in closed or gone & {*card.data["questions"]} or is_wordless(card.data)
        )
        partly = [card for card in changed if card not in over]
        return [*stale, *(replace(card, data={**card.data, "closed": True}) for card in over), *partly]

    async def answer(self, lesson: AnswerGiven) -> AnswerTaken:
        """Learn an answer: it becomes a Q/A pair, the questions are closed, their askers will be told.

        Who may read the answer follows from who may read the questions: the team, or the private place they are of.
        """
        answer = cleaned(lesson.answer)
        refusal = unfit(answer)
        if refusal is not None:
            return AnswerTaken(refusal=refusal)
        async with self._questions.answering.held():  # of two answers to one question the second is told so
            ids = {*lesson.questions} | ({lesson.reference} if lesson.reference is not None else set())
            asked = await self._theirs(lesson.actor, ids, lesson.place, lesson.audience)
            if isinstance(asked, Text):
                return AnswerTaken(refusal=asked)
            found = await asyncio.to_thread(
                closing, asked, lesson.reference, closes=lesson.closes, leaves=lesson.leaves
            )
            if found is None:
                return AnswerTaken(refusal=_GONE)
            if found.reference.resolved_at is not None:
                return await self._again(lesson, answer, found)
            return await self._learn(lesson, answer, found)

    async def _learn(self, lesson: AnswerGiven, answer: str, found: Closing) -> AnswerTaken:
        asked = [one for one in found.closes if one.resolved_at is None]
        fresh, documents = _pairs(lesson, answer, found.reference, asked), dict[str, str]()
        versions = dict[str, str]()
        placed = [await self._in_place(pair, answer) for pair in fresh]
        pairs, older = [pair for pair, _ in placed], [one for _, some in placed for one in some]
        changed = [id for one in (*pairs, *older) if (id := await self._says_else(one)) is not None]
        for pair in pairs:
            await self._introduce()
            said = replace(pair, changed_at=today(self._settings))
            verdict = await self._knowledge.add(said, language_of(answer))
            if verdict.document_id is None:
                return AnswerTaken(refusal=filled(NOT_KEPT, reason=verdict.reason))
            documents[pair.scope] = verdict.document_id
            versions[verdict.document_id] = _version(pair)
        for one in older:
            await self._knowledge.add(one, language_of(answer))
        who, author = (f"{lesson.actor.platform}:{one}" for one in (lesson.actor.id, _author(lesson)))
        kept = f"{ANSWERS} ({', '.join(pair.scope for pair in pairs)})"
        closed = await self._rows.close(
            [one.id for one in asked],
            {one.scope for one in asked},
            now=datetime.now(UTC),
            trace=AuditRecord(
                who, "teach", _subject(asked, pairs), kept if who == author else f"{kept}, written by {author}"
            ),
            telling=Telling(answer, author, here=lesson.url, silent=UNTOLD, documents=documents, changed=changed),
        )
        log.info("learnt an answer: %d questions closed, %d threads to be told", len(closed.ids), closed.told)
        left = sum(one.resolved_at is None for one in found.others)
        if not closed.ids:
            return AnswerTaken(refusal=_CLOSED)
        return AnswerTaken(closed.ids, closed.told, left, documents=versions)

    async def dismiss(self, actor: Actor, ids: Collection[int], place: Place, audience: Audience) -> AnswerTaken:
        """Close questions without an answer; nobody is told."""
        async with self._questions.answering.held():  # not while an answer to them is being kept
            asked = await self._theirs(actor, ids, place, audience)
            if isinstance(asked, Text):
                return AnswerTaken(refusal=asked)
            closed = await self._rows.close(
                [one.id for one in asked],
                {one.scope for one in asked},
                now=datetime.now(UTC),
                trace=AuditRecord(actor.full_id, "dismiss", _subject(asked), "closed"),
            )
            return AnswerTaken(closed.ids) if closed.ids else AnswerTaken(refusal=_CLOSED)

    async def _theirs(
        self, actor: Actor, ids: Collection[int], place: Place, audience: Audience
    ) -> list[Question] | Text:
        """Of these questions those that this person may close here, or why there are none."""
        if role(actor, self._settings) == "outsider":
            return MEMBERS
        return await self.questions(ids, place, audience) or _GONE

    async def _again(self, lesson: AnswerGiven, answer: str, found: Closing) -> AnswerTaken:
        """An answer to questions that are closed: by this very lesson, whose outcome then got lost on its way, or by
        somebody else."""
        asked, versions = found.closes, dict[str, str]()
        for fresh in _pairs(lesson, answer, found.reference, asked):
            pair, _ = await self._in_place(fresh, answer)
            known = await self._documents.find(ANSWERS, pair.scope, pair.name)
            if known is None or (known.hash, known.author) != (_version(pair), pair.author):
                return AnswerTaken(refusal=_CLOSED)
            versions[known.id] = known.hash
        told = await self._rows.waiting({one.turn for one in asked})
        left = sum(one.resolved_at is None for one in found.others)
        return AnswerTaken(tuple(sorted(one.id for one in asked)), told, left, documents=versions)

    async def _in_place(self, pair: Upload, answer: str) -> tuple[Upload, list[Upload]]:
        """The answer in the place of an older one to the same question of the same readers, however it was worded: two
        would contradict each other. And older ones that answer something else, too: without what this one answers."""
        said = [str(one["question"]) for one in json.loads(pair.data)]
        free, changed = await self._documents.find(ANSWERS, pair.scope, pair.name) is None, list[Upload]()
        for row in (row for row in await self._near(said, pair.scope) if row.name != pair.name):
            try:
                wordings, older = parse(await self._knowledge.markdown(row))
            except RAGToolError:
                log.warning("an older answer cannot be read", exc_info=True)
                continue
            rest = await asyncio.to_thread(_besides, said, wordings)
            if len(rest) == len(wordings):
                continue
            if rest:
                kept = written(rest, older)
                changed.append(Upload(row.name, kept, ANSWERS, row.scope, row.author, row.url, row.changed_at))
            elif free:
                known, free = {*map(normalise, said)}, False
                all_said = [*said, *(text for text in wordings if normalise(text) not in known)][:WORDINGS]
                pair = replace(pair, name=row.name, data=written(all_said, answer))
            else:
                changed.append(replace(pair, name=row.name, data=written(wordings, answer)))
        return pair, changed

    async def _says_else(self, upload: Upload) -> str | None:
        """The document whose place an answer takes, by its id, if it says something else until then."""
        row = await self._documents.find(ANSWERS, upload.scope, upload.name)
        if row is None:
            return None
        try:
            _, before = parse(await self._knowledge.markdown(row))
        except RAGToolError:
            return row.id  # its text is lost
        return None if before == json.loads(upload.data)[0]["answer"] else row.id

    async def _near(self, said: Sequence[str], scope: str) -> list[DocumentRow]:
        """The answers of people that lie near these wordings, by name: who asks so does not find the others."""
        readers, near = Readers(frozenset({scope})), set[str]()
        for question in said:
            near |= {one.document_id for one in await self._knowledge.nearest(question, readers, ANSWERS, limit=NEAR)}
        rows = [row for row in [await self._documents.get(id) for id in near] if row is not None]
        return sorted(
            (row for row in rows if NAMED.fullmatch(row.name) and row.author != "kotae"), key=lambda row: row.name
        )

    async def _introduce(self) -> None:
        """Say what the collection is about before its first document is in; people's own words for it stay."""
        empty = {info.name for info in await self._knowledge.collections(Readers(frozenset()))}
        if ANSWERS not in empty and not await self._documents.listed(collection=ANSWERS):
            await self._knowledge.stored.describe(ANSWERS, _ABOUT.to(self._settings.language))


def today(settings: Settings) -> str:
    """The day on which an answer is given or edited: the date of its document."""
    return datetime.now(settings.timezone).date().isoformat()


def cleaned(answer: str) -> str:
    return clean(answer).strip()


def unfit(answer: str) -> Text | None:
    """Why an answer cannot be kept, in words."""
    if not any(character.isalnum() for character in answer):
        return _EMPTY
    if len(answer) > LONGEST:
        return filled(_LONG, n=str(len(answer)), most=str(LONGEST))
    if puts_off(answer):
        return NO_ANSWER
    return _SECRET if holds_secret(answer) else None


def _author(lesson: AnswerGiven) -> str:
    return lesson.author or lesson.actor.id


def _pairs(lesson: AnswerGiven, answer: str, reference: Question, asked: Sequence[Question]) -> list[Upload]:
    """Whoever may read the team's questions reads the answer to them; else each private place has its own."""
    asked = sorted(asked, key=lambda one: one.id != reference.id)
    scopes = {one.scope for one in asked}
    return [_pair(lesson, answer, scope, asked) for scope in ([TEAM] if TEAM in scopes else sorted(scopes))]


def _pair(lesson: AnswerGiven, answer: str, scope: str, asked: Sequence[Question]) -> Upload:
    """The document of one scope. Only what was asked in that scope is in it: a private question's words stay private,
    also where they were taken over as the better ones. What only goes on from another question is no wording if there
    is a better one."""
    theirs = [one for one in asked if one.scope == scope]
    own = {normalise(_line(text)) for one in theirs for text in (one.question, one.whole)}
    others = {normalise(_line(text)) for one in asked if one.scope != scope for text in (one.question, one.whole)} - own
    leaning = {normalise(_line(one.question)): one.turn for one in theirs if not stands_alone(one)}
    better = _line(lesson.question)
    distinct: dict[str, str] = {}
    for text in ([] if normalise(better) in others else [better]) + [_line(one.question) for one in theirs]:
        distinct.setdefault(normalise(text), text)
    distinct.pop("", None)
    alone = [text for key, text in distinct.items() if key not in leaning]
    wordings = (alone or [*distinct.values()])[:WORDINGS] or ["?"]
    name = _name(wordings[0], leaning.get(normalise(wordings[0]), ""))
    return Upload(name, written(wordings, answer), ANSWERS, scope, _author(lesson), lesson.url)


def written(wordings: Sequence[str], answer: str) -> bytes:
    """The document of an answer: a pair a wording."""
    return json.dumps(
        [{"question": text, "answer": answer} for text in wordings], ensure_ascii=False, indent=1
    ).encode()


def parse(markdown: str) -> tuple[Sequence[str], str]:
    """The wordings, each another, and the one answer of kept pairs. The answer may hold lines that look like another
    pair: it is what all have in common."""
    starts = [*_PAIR.finditer(markdown)]
    for end in [*(start.start() for start in starts[1:]), len(markdown)] if starts else ():
        answer = markdown[starts[0].end() : end].rstrip("\n")
        pairs = [start for start in starts if markdown.startswith(answer, start.end())]
        wordings = [start[1] for start in pairs]
        whole = markdown.rstrip("\n") == "\n\n".join(f"Q: {wording}\nA: {answer}" for wording in wordings)
        if whole and len(set(wordings)) == len(wordings):
            return wordings, answer
    return [], markdown


def _besides(said: Sequence[str], wordings: Sequence[str]) -> list[str]:
    """Those of an older answer's wordings that ask for something else than these; what goes on from another question
    may."""
    known = {wording(text) for text in said if not leans(text)}
    same = alike(said[0], wordings) if not leans(said[0]) else [False] * len(wordings)
    return [
        text
        for text, is_same in zip(wordings, same, strict=True)
        if leans(text) or not (is_same or wording(text) in known)
    ]


def _line(question: str) -> str:
    """In the one line of a wording; whoever asks pastes keys, too, which would be everybody's then."""
    return without_secrets(clean_line(question, QUESTION))


def _name(question: str, turn: str = "") -> str:
    """One question, one name: who answers it anew replaces the answer. `turn`: of one that others word alike."""
    plain = question.replace("/", "／").replace("\\", "＼")
    if len(plain) > NAME or turn:
        number = hashlib.sha256(f"{question}{turn}".encode()).hexdigest()[:8]
        plain = f"{plain[: NAME - 10].rstrip()}… {number}" if len(plain) > NAME else f"{plain} {number}"
    return f"Q&A: {plain}.json"


def _version(pair: Upload) -> str:
    """As its document's row has it."""
    return hashlib.sha256(pair.data).hexdigest()


def _subject(asked: Sequence[Question], pairs: Sequence[Upload] = ()) -> str:
    """By number: whoever reads the trace may not be allowed to read the questions."""
    numbers = ", ".join(str(one.id) for one in asked)
    hashes = "".join(f" sha256:{_version(pair)}" for pair in pairs)
    return f"questions {numbers}{hashes}"
