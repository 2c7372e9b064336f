"""Documents of Q/A pairs (csv, tsv, xlsx and JSON rows, and those of experts and of the model): their pairs one by
one, and the document with one of them in other words. Source: product.md §6 (Q/A pairs: all of them)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from retrieval.chunking import NEXT_PAIR, beside_pairs, pair_begins, row_end
from retrieval.i18n import Text
from retrieval.types import Document, Passage, QAPair, RAGToolError

_CHANGED = Text(
    en="This pair is not there any more as it was shown: somebody has changed it, or its document. Look again.",
    ja="この Q/A は、表示した後に編集されたか、文書が更新されました。もう一度ご確認ください。",
)


@dataclass(frozen=True, slots=True)
class WrittenPair:
    """A pair of a document. `start` and `end` delimit its `Q: … A: …` in the Markdown, up to `row` the other columns of
    its row follow; `chunk` is its first passage."""

    pair: QAPair
    chunk: int
    start: int
    end: int
    row: int


def read_pairs(markdown: str, stored: Sequence[Passage]) -> list[WrittenPair]:
    """The pairs of a document whose passages these are, in order; none where one is not found as it was written.

    A long answer is several passages with one question; the Markdown has it whole.
    """
    found: list[WrittenPair] = []
    at = 0
    for passage in stored:
        if passage.question is None:
            continue
        text = passage.text.strip()
        if found and passage.question == " ".join(found[-1].pair.question.split()):
            end = _goes_on(markdown, found[-1], text)
            if end is not None:
                found[-1] = _until(markdown, found[-1], end)
                at = found[-1].end
                continue
        begins = pair_begins(passage.question, markdown, at)
        if begins is None or not markdown.startswith(text, begins.end()):
            return []
        question = markdown[begins.start() + len("Q: ") : begins.end() - len("\nA: ")].rstrip()
        one = WrittenPair(QAPair(question, ""), passage.chunk, begins.start(), begins.end(), begins.end())
        found.append(_until(markdown, one, begins.end() + len(text)))
        at = found[-1].end
    return found


def with_pair(document: Document, stored: Sequence[Passage], was: WrittenPair, pair: QAPair | None) -> Document | None:
    """The document with other words for a pair, or without its row; None where nothing is left of it.

    Raises RAGToolError where the pair is not there (any more).
    """
    pairs = read_pairs(document.markdown, stored)
    if was not in pairs:
        raise RAGToolError(_CHANGED)
    kept = tuple(new for one in pairs if (new := pair if one == was else one.pair) is not None)
    before, after = document.markdown[: was.start], document.markdown[was.row if pair is None else was.end :]
    words = "" if pair is None else f"Q: {pair.question}\nA: {pair.answer}"
    markdown = before + words + (after.lstrip("\n") if pair is None else after)
    left = kept or beside_pairs(document.markdown, [one.pair for one in pairs])
    return replace(document, markdown=markdown.strip("\n"), pairs=kept) if left else None


def _goes_on(markdown: str, one: WrittenPair, text: str) -> int | None:
    """The end of an answer's next passage, which may repeat the last sentences; None where another pair begins."""
    following = pair_begins(one.pair.question, markdown, one.end)
    if following is not None and markdown.startswith(text, following.end()):
        return None
    at = markdown.find(text, one.start, following.start() if following else len(markdown))
    if at >= 0:
        return max(one.end, at + len(text))
    rest = NEXT_PAIR.search(markdown, one.end)  # it was cut in the middle of what the Markdown has otherwise
    return rest.start() if rest else len(markdown)


def _until(markdown: str, one: WrittenPair, end: int) -> WrittenPair:
    """The pair with its answer up to `end`."""
    start = one.start + markdown[one.start : end].index("\nA: ") + len("\nA: ")
    answer = markdown[start:end].strip()
    return replace(one, pair=QAPair(one.pair.question, answer), end=end, row=row_end(markdown, end))
