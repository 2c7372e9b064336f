"""The misses as a page shows them: found by what matters, alike ones together, with what lies closest; and as a file.

What was asked in a place that the readers do not see is a number. Source: product.md §3, §4 and §6.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from bot.records import MissState, WantedQuestions
from bot.store.time_spans import TimeSpan
from bot.store.unanswered import AskedQuestion, UnansweredQuestions, Week
from bot.texts import REASONS, STATES
from bot.turns.trace import Trace, TracedHit
from bot.types import Question
from bot.unanswered import spreadsheet
from bot.unanswered.clustering import Clustering
from bot.unanswered.digest import Group, SearchDocuments, as_group, urgency
from retrieval.embeddings.base import EmbeddingClient
from retrieval.i18n import Language, Text
from retrieval.types import Hit, Readers, Vector, Vectors

PAGE = 50  # questions
GROUPS = 20  # groups of a page
GROUPED = 1_000  # questions that are grouped, the newest that match
CLOSEST = 5  # passages
WEEKS = 12
EXPORTED = 20_000  # questions in a file, the newest

LookAtTrace = Callable[[str, Readers], Awaitable[Trace | None]]
"""`Application.trace`."""


@dataclass(frozen=True, slots=True)
class QuestionPage:
    """A page of misses, newest first; `shown` match on all pages. `hidden` are in places that are not seen here,
    whatever their words and wherever they were searched."""

    questions: tuple[Question, ...]
    shown: int
    hidden: int
    pages: int


@dataclass(frozen=True, slots=True)
class QuestionGroup:
    """Questions that ask for the same thing, newest first, and what the digest says of them."""

    group: Group
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class GroupPage:
    """A page of groups, in the digest's order; `beyond` matching questions are older than those that were grouped."""

    groups: tuple[QuestionGroup, ...]
    beyond: int
    hidden: int
    pages: int


@dataclass(frozen=True, slots=True)
class Nearest:
    """The passages closest to a question: when it was asked, as far as it is readable still, and now, relevant or
    not."""

    then: tuple[TracedHit, ...]
    now: tuple[Hit, ...]


@dataclass
class Unanswered:
    """`grouping` on an embedder that is `Remembering`: a page that is looked at again groups at once."""

    questions: UnansweredQuestions
    grouping: Clustering
    _: KW_ONLY
    search: SearchDocuments
    trace: LookAtTrace
    timezone: tzinfo

    async def page(self, wanted: WantedQuestions, readers: Readers, *, page: int = 1, size: int = PAGE) -> QuestionPage:
        """`page` counts from 1; one beyond the last is empty. Raises StoreError."""
        found = await self.questions.find(wanted, readers.scopes, limit=size, offset=(max(page, 1) - 1) * size)
        listed = tuple(one.question for one in found.asked)
        return QuestionPage(listed, found.shown, found.hidden, _pages(found.shown, size))

    async def groups(
        self, wanted: WantedQuestions, readers: Readers, *, page: int = 1, size: int = GROUPS
    ) -> GroupPage:
        """The same questions, together as the digest has them. The first time it takes as long as embedding the
        questions.

        Raises StoreError; a search that fails costs its group the closest documents.
        """
        found = await self.questions.find(wanted, readers.scopes, limit=GROUPED)
        places = await self.grouping([one.question.question for one in found.asked])
        groups = [[found.asked[at] for at in members] for members in places]
        groups.sort(key=urgency)
        first = (max(page, 1) - 1) * size
        return GroupPage(
            groups=tuple([await self._group(group, readers) for group in groups[first : first + size]]),
            beyond=found.shown - len(found.asked),
            hidden=found.hidden,
            pages=_pages(len(groups), size),
        )

    async def _group(self, asked: Sequence[AskedQuestion], readers: Readers) -> QuestionGroup:
        questions = tuple(one.question for one in asked)
        return QuestionGroup(await as_group(asked, readers, self.search), questions)

    async def nearest(self, question: int, readers: Readers) -> Nearest | None:
        """The closest passages; None for a question that these readers do not see. Raises StoreError, RAGToolError."""
        known = await self.questions.get([question], readers.scopes)
        if not known:
            return None
        traced = await self.trace(known[0].turn, readers)
        then: dict[tuple[str, int], TracedHit] = {}
        for hit in (hit for step in traced.steps for hit in step.hits) if traced else ():
            then.setdefault((hit.document_id, hit.chunk), hit)
        found = await self.search(known[0].whole, readers)
        return Nearest(
            then=tuple(sorted(then.values(), key=lambda hit: -hit.relevance)[:CLOSEST]),
            now=(*found.hits, *found.rejected)[:CLOSEST],
        )

    async def trend(self, *, weeks: int = WEEKS, now: datetime | None = None) -> tuple[Week, ...]:
        """The last weeks, each from Monday, this one among them; all places together. Raises StoreError."""
        today = (now or datetime.now(UTC)).astimezone(self.timezone).date()
        monday = today - timedelta(days=today.weekday())
        return await self.questions.weeks(
            [
                TimeSpan(day, self._midnight(day), self._midnight(day + timedelta(weeks=1)))
                for day in (monday - timedelta(weeks=back) for back in reversed(range(weeks)))
            ]
        )

    def _midnight(self, day: date) -> datetime:
        return datetime.combine(day, time(), self.timezone).astimezone(UTC)

    async def csv(self, wanted: WantedQuestions, readers: Readers, language: Language, timezone: tzinfo) -> bytes:
        """The matching questions that these readers may see, the newest EXPORTED, as `as_csv` has it. Raises
        StoreError."""
        found = await self.questions.find(wanted, readers.scopes, limit=EXPORTED)
        questions = [one.question for one in found.asked]
        return await asyncio.to_thread(as_csv, questions, language, timezone)


def _pages(total: int, size: int) -> int:
    return max(1, -(-total // size))


# -- vectors that were made already ---------------------------------------------------------------------------------


class Remembering:
    """A `DocumentEmbedder` that knows the last texts again."""

    def __init__(self, embedder: EmbeddingClient, *, most: int = 2 * GROUPED) -> None:
        self._embedder = embedder
        self._most = most
        self._known: OrderedDict[str, Vector] = OrderedDict()

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        found = {text: self._known[text] for text in texts if text in self._known}
        new = [text for text in dict.fromkeys(texts) if text not in found]
        if new:
            found |= zip(new, await self._embedder.embed_documents(new), strict=True)
        for text in found:
            self._known[text] = found[text]
            self._known.move_to_end(text)
        while len(self._known) > self._most:
            self._known.popitem(last=False)
        return [found[text] for text in texts]


# -- a file for a spreadsheet ---------------------------------------------------------------------------------------

_HEADINGS = Text(
    en="number,asked,state,reason,question,detail,searched,best relevance,link,closed",
    ja="番号,日時,状態,理由,質問,補足,検索先,最高関連度,リンク,対応日時",
)


def as_csv(questions: Sequence[Question], language: Language, timezone: tzinfo) -> bytes:
    """A question a line."""
    rows = (
        (
            str(one.id),
            _moment(one.asked_at, timezone),
            STATES[state_of(one)].to(language),
            REASONS[one.reason].to(language),
            one.whole,
            one.detail,
            " / ".join(one.searched),
            "" if one.confidence is None else f"{one.confidence:.2f}",
            one.link or "",
            _moment(one.resolved_at, timezone),
        )
        for one in questions
    )
    return spreadsheet.table(_HEADINGS.to(language).split(","), rows)


def _moment(at: datetime | None, timezone: tzinfo) -> str:
    return at.astimezone(timezone).strftime("%Y-%m-%d %H:%M") if at is not None else ""


def state_of(question: Question) -> MissState:
    if question.resolved_at is None:
        return "open"
    return "dismissed" if question.resolution == "dismissed" else "closed"
