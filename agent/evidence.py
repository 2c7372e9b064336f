"""A retrieved passage as evidence: what claims are held against, and the words it is quoted with."""

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

from agent.claims import Figures, figures, squeeze
from agent.events import Citation
from agent.links import addresses
from agent.quoting import clean
from agent.statements import Claim
from agent.words import content
from retrieval.text import Language, language_of, sentences
from retrieval.types import Hit, Passage

QUOTE = 300  # characters
_QUOTED = re.compile(r"\W*?[「“\"](.+)[」”\"][。.]?\s*(?:[（(][^（()）]*[)）])?[。.]?\s*$", re.DOTALL)
_BUT = re.compile(
    r"(?<=が)、|ものの、?|けれども?、?|(?<=し)、|[;；]\s*|ただし、?|一方(?:で|、)|,?\s\b(?:and|but|however|while|whereas|although|though|except)\b",
    re.IGNORECASE,
)


class Evidence:
    """A passage (with the neighbours the model was shown) as something to hold claims against."""

    def __init__(self, hit: Hit, context: Sequence[Passage] = ()) -> None:
        self.hit = hit
        self.passages = (hit.passage, *context)
        p = hit.passage
        head = " / ".join(part for part in (p.document, p.title, *p.headings, p.question or "", p.updated) if part)
        self.text = "\n".join([head, *(each.text for each in self.passages)])

    # Each of these is read when a claim needs it: most of what was retrieved is not cited.

    @cached_property
    def language(self) -> Language:
        return language_of(self.hit.passage.text)

    @cached_property
    def figures(self) -> Figures:
        return figures(self.text)

    @cached_property
    def words(self) -> frozenset[str]:
        return content(self.text)

    @cached_property
    def sentences(self) -> list[str]:
        return [s for passage in self.passages for s in sentences(_unwrapped(passage.text))]

    @cached_property
    def _verbatim(self) -> tuple[str, str]:
        return self.figures.squeezed, squeeze(clean(self.text))

    def says(self, sentence: str) -> bool:
        """Whether the passage has the sentence word for word, or what the sentence quotes (and where it stands)."""
        quoted = _QUOTED.match(sentence)
        for each in (sentence, quoted[1] if quoted else ""):
            said = squeeze(each)
            if len(said) >= 8 and any(said in text for text in self._verbatim):
                return True
        return False

    def nearest(self, claim: Claim, share: float) -> list[str]:
        """The sentences that have `share` of the claim's content words; of one that says a thing "but" another, the
        half that is closer to the claim."""
        if not claim.words:
            return []
        near: list[str] = []
        for sentence in self.sentences:
            halves = [half for half in _BUT.split(sentence) if half] or [sentence]
            best = max(halves, key=lambda half: (_shared(claim, half), _alike(claim.sentence.plain, half)))
            for each in (best, sentence):
                if _shared(claim, each) >= share:
                    near.append(each)
                    break
        return near

    def likeness(self, claim: Claim) -> int:
        """How many pairs of characters the claim shares with the passage: cheap, and enough to tell where to look."""
        return len(_pairs(claim.sentence.plain) & self._pairs)

    @cached_property
    def _pairs(self) -> frozenset[str]:
        return _pairs(self.text)

    @cached_property
    def addresses(self) -> set[str]:
        own = {each.url for each in self.passages if each.url}
        return own.union(*(addresses(each.text) for each in self.passages))


def _shared(claim: Claim, text: str) -> float:
    return len(claim.words & content(text)) / max(1, len(claim.words))


def _alike(one: str, other: str) -> int:
    """How many pairs of characters two texts have in common."""
    return len(_pairs(squeeze(one)) & _pairs(squeeze(other)))


def _pairs(text: str) -> frozenset[str]:
    return frozenset(a + b for a, b in pairwise(text.lower()))


def citation(n: int, evidence: Evidence, claims: Sequence[Claim]) -> Citation:
    """The citation `n`, quoted with what supports these claims."""
    passage, quote = _quote(evidence, claims)
    return Citation(
        n, passage.document, passage.collection, passage.chunk, quote, passage.url or evidence.hit.passage.url
    )


def _quote(evidence: Evidence, claims: Sequence[Claim]) -> tuple[Passage, str]:
    """The sentence of the passage that supports the first claim best, with its neighbours if they support others."""

    def support(sentence: str, claim: Claim) -> float:
        held = sum(figures(sentence).hold(fact) for fact in claim.facts)
        shared = _shared(claim, sentence)
        verbatim = squeeze(claim.sentence.plain)
        return 2.0 * held + 3.0 * shared + (5.0 if len(verbatim) > 7 and verbatim in squeeze(sentence) else 0.0)

    best: tuple[float, Passage, int] = (0.0, evidence.hit.passage, 0)
    for passage in evidence.passages:
        for at, sentence in enumerate(sentences(_unwrapped(passage.text))):
            score = support(sentence, claims[0]) if claims else 0.0
            if score > best[0] + (0.5 if passage is not evidence.hit.passage else 0.0):
                best = (score, passage, at)
    _, passage, at = best
    text = _unwrapped(passage.text)
    spans = _spans(text)
    if not spans:
        return passage, text[:QUOTE]
    first = last = at
    wanted = {at}
    for claim in claims:
        scores = [support(text[start:end], claim) for start, end in spans]
        if max(scores) > 0.5:
            wanted.add(scores.index(max(scores)))
    while last + 1 in wanted and spans[last + 1][1] - spans[first][0] <= QUOTE:
        last += 1
    while first - 1 in wanted and spans[last][1] - spans[first - 1][0] <= QUOTE:
        first -= 1
    return passage, text[spans[first][0] : spans[last][1]][:QUOTE].strip()


# A line that was wrapped at a margin: long, not ended, and the next one opens no list, heading, table or fence.
_WRAP = re.compile(r"(?<=[^\n]{40})(?<![。.!?！？:：|`\n])\n[ \t]*(?=[^\s#>|*+`\-\d])")


def _unwrapped(text: str) -> str:
    return _WRAP.sub(" ", text)


def _spans(text: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    position = 0
    for sentence in sentences(text):
        start = text.index(sentence, position)
        position = start + len(sentence)
        found.append((start, position))
    return found
