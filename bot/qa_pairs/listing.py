"""All Q/A pairs that are found, whoever wrote them: experts, rows of files, and the model's approved ones; in one
list, as a CSV file, and to be edited where they stand. Source: product.md §6."""

from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Literal

from agent.qa_generation import tidy
from bot.knowledge.curation import Curation, Curator
from bot.knowledge.documents import KnowledgeBase
from bot.knowledge.pair_documents import WrittenPair
from bot.qa_pairs.documents import AUTHOR
from bot.qa_pairs.pairs import UNFIT, Pairs, PairsError, Reviewer
from bot.records import DocumentRow
from bot.store.documents import Documents
from bot.unanswered import spreadsheet
from bot.unanswered.expert_answers import ANSWERS, LONGEST, NAMED, QUESTION, parse
from retrieval.i18n import filled
from retrieval.loaders.file_types import suffix_of
from retrieval.text import normalise
from retrieval.types import QAPair, Readers

Kind = Literal["expert", "file", "model"]

_TABLES = frozenset({".csv", ".tsv", ".json", ".jsonl", ".xlsx", ".xlsm"})
_KEPT = 20_000  # pairs in memory


@dataclass(frozen=True, slots=True)
class ListedPair:
    """A pair with its document. `also`: other wordings of an expert's question."""

    row: DocumentRow
    kind: Kind
    written: WrittenPair
    also: tuple[str, ...] = ()

    @property
    def pair(self) -> QAPair:
        return self.written.pair


class AllPairs:
    """All raise StoreError and RAGToolError."""

    def __init__(self, documents: Documents, knowledge: KnowledgeBase, curating: Curation, pairs: Pairs) -> None:
        self._documents = documents
        self._knowledge = knowledge
        self._curating = curating
        self._pairs = pairs
        self._read: OrderedDict[tuple[str, str], tuple[ListedPair, ...]] = OrderedDict()

    async def listed(
        self, readers: Readers, *, kind: Kind | None = None, containing: str = "", start: int = 0, limit: int = 20
    ) -> tuple[list[ListedPair], int]:
        """A page of the pairs that these readers may find, those of the latest document first, and how many there are.
        `containing`: in the question, the answer or the document's name, whatever their width or case."""
        found = [one async for one in self._all(readers, kind, containing)]
        return found[start : start + limit], len(found)

    async def table(self, readers: Readers, *, kind: Kind | None = None, containing: str = "") -> bytes:
        """The same pairs as a CSV file, a row a wording, which can be added as a document anywhere."""
        rows: list[Sequence[str]] = []
        async for one in self._all(readers, kind, containing):
            row = one.row
            about = (one.pair.answer, one.kind, row.collection, row.name, row.url or "", row.changed_at or "")
            for question in (one.pair.question, *one.also):
                rows.append((question, *about))
        headings = ("question", "answer", "kind", "collection", "document", "url", "date")
        return spreadsheet.table(headings, rows, cell=spreadsheet.harmless_lines)

    async def edit(self, who: Reviewer, person: Curator, one: ListedPair, question: str, answer: str) -> None:
        """Put a file's pair or a model's into other words, which are found at once. Raises NotAllowedError; LookupError
        where its document is not there for them."""
        if one.kind == "model":
            await self._pairs.edit(await self._numbered(one), question, answer, who)
            return
        pair = tidy(question, answer)
        if not (0 < len(pair.question) <= QUESTION and 0 < len(pair.answer) <= max(LONGEST, len(one.pair.answer))):
            raise PairsError(filled(UNFIT, question=str(QUESTION), answer=str(LONGEST)))
        if pair != one.pair:
            await self._curating.edit_pair(person, one.row.id, one.written, pair)

    async def remove(self, who: Reviewer, person: Curator, one: ListedPair) -> None:
        """Have it found no more: a model's is rejected, a file's leaves the document. Raises as `edit`."""
        if one.kind == "model":
            decided = await self._pairs.reject([await self._numbered(one)], who)
            for refusal in decided.refused:
                raise PairsError(refusal)
        else:
            await self._curating.edit_pair(person, one.row.id, one.written, None)

    async def _numbered(self, one: ListedPair) -> int:
        number = await self._pairs.rows.found_as(one.row.id, one.pair)
        if number is None:
            raise LookupError(one.row.id)
        return number

    async def _all(self, readers: Readers, kind: Kind | None, containing: str) -> AsyncIterator[ListedPair]:
        words = normalise(containing)
        rows = [row for row in await self._documents.listed(readers) if suffix_of(row.name) in _TABLES]
        for row in sorted(rows, key=lambda row: row.updated_at, reverse=True):
            if kind in (None, _kind(row)):
                for one in await self._of(row):
                    if not words or words in _searched(one):
                        yield one

    async def _of(self, row: DocumentRow) -> tuple[ListedPair, ...]:
        key = (row.id, f"{row.hash} {row.scope} {row.collection} {row.updated_at}")
        if key not in self._read:
            written = await self._knowledge.pairs(row)
            kind = _kind(row)
            listed = tuple(ListedPair(row, kind, one) for one in written)
            if kind == "expert" and written:
                wordings, _ = parse(await self._knowledge.markdown(row))
                listed = (ListedPair(row, kind, written[0], tuple(wordings[1:])),)
            self._read[key] = listed
            while sum(map(len, self._read.values())) > _KEPT and len(self._read) > 1:
                self._read.popitem(last=False)
        self._read.move_to_end(key)
        return self._read[key]


def _kind(row: DocumentRow) -> Kind:
    if row.author == AUTHOR:
        return "model"
    return "expert" if row.collection == ANSWERS and NAMED.fullmatch(row.name) else "file"


def _searched(one: ListedPair) -> str:
    return normalise("\n".join((one.pair.question, *one.also, one.pair.answer, one.row.name)))
