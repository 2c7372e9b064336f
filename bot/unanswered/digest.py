"""The misses of a week, for people who can answer them: similar questions together, counted, with what lies closest.

Everything in a digest may be read by everyone who sees the place it is made for; of the rest it holds only how many.
Source: product.md §3 and §4; reliability.md R61.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from bot.records import PROGRAM, Period
from bot.store.digests import Digests, PublicQuestion, Totals
from bot.store.unanswered import AskedQuestion, UnansweredQuestions
from bot.types import MissReason
from bot.unanswered.closing import closing, says_all
from bot.unanswered.clustering import Clustering
from retrieval.i18n import Text
from retrieval.types import TEAM, Found, RAGToolError, Readers

log = logging.getLogger(__name__)

TOP = 10  # groups that are shown
READ = 5_000  # questions that are grouped, the newest
COMPARED = 1_000  # answered or not, of which those asked most are found, the newest
MOST = 3
LINKS = 5  # threads of a group
CLOSEST = 3  # documents of a group
_REASONS: tuple[MissReason, ...] = ("reported", "unknown", "low_confidence")  # what is shown first

SearchDocuments = Callable[[str, Readers], Awaitable[Found]]
"""`KnowledgeBase.search`, as far as it is needed here."""


@dataclass(frozen=True, slots=True)
class Closest:
    """A document that comes nearest to a question, though not near enough. `relevance` 0..1."""

    document: str
    collection: str
    url: str | None
    relevance: float
    id: str


@dataclass(frozen=True, slots=True)
class Group:
    """Questions on one thing. `ids` are all their rows; an answer to `reference` closes those that say the same."""

    question: str  # the reference's: as most people put it
    count: int  # how often it was asked
    askers: int  # people
    reasons: tuple[tuple[MissReason, int], ...]
    documents: tuple[Closest, ...]
    links: tuple[str, ...]  # to their threads, the newest first, at most LINKS
    ids: tuple[int, ...]
    reference: int
    programs: int = 0  # such as coding assistants, that asked it too
    closes: tuple[str, ...] = ()  # other wordings that an answer closes
    others: tuple[str, ...] = ()  # those that it leaves open
    before: str = ""  # what it leans on in its thread
    earlier: tuple[str, ...] = ()  # the turns that `before` may have words of
    details: tuple[str, ...] = ()  # what people complained of, as the reported misses have it, the newest first


@dataclass(frozen=True, slots=True)
class MostAsked:
    """A question that was asked several times where the whole team reads, answered or not."""

    question: str
    count: int
    link: str | None  # to the newest thread
    turns: tuple[str, ...]  # those that put it in these words


@dataclass(frozen=True, slots=True)
class Digest:
    """A period's misses as the readers of one place may see them; `before` are the totals of the time before."""

    period: Period
    totals: Totals
    before: Totals
    groups: tuple[Group, ...]
    more_groups: int  # that are not shown
    more_questions: int  # in those, and beyond what is read
    hidden: int  # open questions from places that these readers do not see
    most: tuple[MostAsked, ...] = ()
    troubled: tuple[tuple[str, Text], ...] = ()  # sources that documents follow and that need somebody, and why


async def make_digest(
    period: Period,
    readers: Readers,
    *,
    questions: UnansweredQuestions,
    digests: Digests,
    grouping: Clustering,
    search: SearchDocuments,
    top: int = TOP,
) -> Digest:
    """The digest of a period for those readers. Questions resolved meanwhile are left out of the groups.

    A search that fails costs its group the documents, not the digest. Raises StoreError.
    """
    asked, shown, hidden = await questions.asked_between(readers.scopes, period.since, period.until, limit=READ)
    texts = [one.question.question for one in asked]
    groups = [[asked[at] for at in places] for places in await grouping(texts)]
    groups.sort(key=urgency)  # stable: of equals the one with the newest question first
    return Digest(
        period=period,
        totals=await digests.totals(period),
        before=await digests.totals(period.before),
        groups=tuple([await as_group(group, readers, search) for group in groups[:top]]),
        more_groups=len(groups[top:]),
        more_questions=sum(len(_turns(group)) for group in groups[top:]) + shown - len(asked),
        hidden=hidden,
        most=await _most_asked(await digests.asked(period, limit=COMPARED), grouping) if TEAM in readers.scopes else (),
    )


async def _most_asked(asked: Sequence[PublicQuestion], grouping: Clustering) -> tuple[MostAsked, ...]:
    asked = await asyncio.to_thread(_alone, asked)
    groups = [[asked[at] for at in places] for places in await grouping([one.text for one in asked])]
    often = sorted((group for group in groups if len(group) > 1), key=len, reverse=True)[:MOST]
    return tuple(map(_as_asked, often))


def _alone(asked: Sequence[PublicQuestion]) -> list[PublicQuestion]:
    return [one for one in asked if says_all(one.text, follows=one.follows)]


def _as_asked(group: Sequence[PublicQuestion]) -> MostAsked:
    said = Counter(one.text for one in group).most_common(1)[0][0]
    link = next((one.link for one in group if one.link), None)
    return MostAsked(said, len(group), link, tuple(one.turn for one in group if one.text == said))


async def as_group(asked: Sequence[AskedQuestion], readers: Readers, search: SearchDocuments) -> Group:
    """Questions on one thing, newest first and at least one, as one."""
    found = await asyncio.to_thread(closing, [one.question for one in asked])
    assert found is not None
    reference = found.reference
    reasons = Counter(one.question.reason for one in asked)
    return Group(
        question=reference.question,
        count=len(_turns(asked)),
        askers=len({one.asker for one in asked if not _by_program(one)}),
        programs=len({one.asker for one in asked if _by_program(one)}),
        reasons=tuple((reason, reasons[reason]) for reason in _REASONS if reasons[reason]),
        documents=await _closest(reference.whole, readers, search),
        links=tuple(dict.fromkeys(one.question.link for one in asked if one.question.link))[:LINKS],
        ids=tuple(sorted(one.question.id for one in asked)),
        reference=reference.id,
        before=reference.before,
        earlier=reference.earlier,
        closes=found.too,
        others=found.left,
        details=tuple(one.question.detail for one in asked if one.question.detail),
    )


def urgency(asked: Sequence[AskedQuestion]) -> tuple[bool, int, int]:
    """The order of groups: those of programs alone come last; complaints come before what was not found, and that
    before what was doubted; then what most asked."""
    reason = min(_REASONS.index(one.question.reason) for one in asked)
    return all(map(_by_program, asked)), reason, -len(_turns(asked))


def _by_program(one: AskedQuestion) -> bool:
    """Whether it came over MCP; people's ids on platforms have no colon."""
    return one.asker[2].startswith(PROGRAM)


def _turns(asked: Sequence[AskedQuestion]) -> set[str]:
    """One question may have been missed for two reasons: not found, and reported too."""
    return {one.question.turn for one in asked}


async def _closest(question: str, readers: Readers, search: SearchDocuments) -> tuple[Closest, ...]:
    """The nearest documents that these readers may read, also those too far off to answer from."""
    try:
        found = await search(question, readers)
    except RAGToolError:
        log.warning("a question of the digest could not be searched for", exc_info=True)
        return ()
    nearest: dict[str, Closest] = {}
    for hit in (*found.hits, *found.rejected):
        passage = hit.passage
        near = round(hit.relevance, 2)
        one = Closest(passage.document, passage.collection, passage.url, near, passage.document_id)
        nearest.setdefault(passage.document_id, one)
    return tuple(nearest.values())[:CLOSEST]
