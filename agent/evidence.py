"""A retrieved passage as evidence: what claims are held against, and the words it is quoted with.

A turn retrieves far more than it cites, and a citation is mostly about one sentence. So nothing is read before a claim
needs it, sentences that look like the claim come first, and the dear measures (words in dictionary form, numbers in
their normal form) are taken of those alone when they settle it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from heapq import nlargest
from itertools import chain

from agent.claims import Fact, Figures, figures, squeeze
from agent.events import Citation
from agent.links import addresses
from agent.quoting import clean, link_spans, marked, unwrapped
from agent.statements import Claim, pairs
from agent.words import Name, content, mentions
from retrieval.text import Language, language_of, sentences
from retrieval.types import Hit, Passage

QUOTE = 300  # characters
_CLOSEST = 4  # sentences that are measured before all of them are
_MARGIN = 0.5  # by which a neighbour has to support a claim better than the passage itself, to be quoted
_QUOTED = re.compile(r"\W*?[「“\"](.+)[」”\"][。.]?\s*(?:[（(][^（()）]*[)）])?[。.]?\s*$", re.DOTALL)
_BUT = re.compile(
    r"(?<=が)、|ものの、?|けれども?、?|(?<=し)、|[;；]\s*|ただし、?|一方(?:で|、)|,?\s\b(?:and|but|however|while|whereas|although|though|except)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Sentence:
    """One of a passage: `start` and `end` are offsets in the unwrapped passage, `squeezed` its letters and digits."""

    text: str
    start: int
    end: int
    squeezed: str

    def alike(self, claim: Claim) -> int:
        return _alike(claim.pairs, self.squeezed)


@lru_cache(maxsize=512)
def _squeezed(text: str) -> str:
    return squeeze(text)


@lru_cache(maxsize=512)
def _read(text: str) -> tuple[str, tuple[_Sentence, ...]]:
    """A passage without its line wraps, and its sentences; a link is never cut in two."""
    text = unwrapped(text)
    together = link_spans(text)
    spans: list[tuple[int, int]] = []
    end = 0
    for sentence in sentences(text):
        start = text.index(sentence, end)
        inside = any(opens < start < closes for opens, closes in together)
        end = start + len(sentence)
        spans.append((spans.pop()[0] if inside and spans else start, end))
    return text, tuple(_Sentence(text[a:b], a, b, squeeze(text[a:b])) for a, b in spans)


class Evidence:
    """A passage (with the neighbours the model was shown) as something to hold claims against."""

    def __init__(self, hit: Hit, context: Sequence[Passage] = ()) -> None:
        self.hit = hit
        self.passages = (hit.passage, *context)
        p = hit.passage
        self._head = " / ".join(
            part for part in (p.document, p.title, *p.headings, p.question or "", p.updated) if part
        )
        self.text = "\n".join([self._head, *(each.text for each in self.passages)])
        self._orders: dict[str, list[Passage]] = {}

    @cached_property
    def language(self) -> Language:
        return language_of(self.hit.passage.text)

    @cached_property
    def figures(self) -> Figures:
        return figures(self.text)

    @cached_property
    def squeezed(self) -> str:
        return "".join([squeeze(self._head), *(_squeezed(each.text) for each in self.passages)])

    @cached_property
    def _cleaned(self) -> str:
        return squeeze(clean(self.text)) if marked(self.text) else self.squeezed

    @cached_property
    def _lowered(self) -> str:
        return self.text.lower()

    @cached_property
    def addresses(self) -> set[str]:
        own = {each.url for each in self.passages if each.url}
        return own.union(*(addresses(each.text) for each in self.passages))

    # -- what a claim asks of it ----------------------------------------------------------------------------------------

    def says(self, sentence: str) -> bool:
        """Whether the passage has the sentence word for word, or what the sentence quotes (and where it stands)."""
        quoted = _QUOTED.match(sentence)
        for each in (sentence, quoted[1] if quoted else ""):
            said = squeeze(each)
            if len(said) >= 8 and (said in self.squeezed or said in self._cleaned):
                return True
        return False

    def lacks(self, claim: Claim, facts: Iterable[Fact]) -> list[Fact]:
        """Those of the claim's numbers that the passage does not have."""
        wanted = list(facts)
        for sentence in self._near(claim) if wanted else ():
            atoms = _certain(figures(sentence.text).atoms)
            wanted = [fact for fact in wanted if not fact.any_of & atoms]
            if not wanted or not sentence.alike(claim):
                break
        return [fact for fact in wanted if not self.figures.hold(fact)]

    def mentions(self, name: Name) -> bool:
        return mentions(self.text, self.squeezed, name)

    def texts(self, claim: Claim) -> Iterator[str]:
        """Everything it says in pieces, those that are most like the claim first."""
        for at, passage in enumerate(self._order(claim)):
            for sentence in _by_likeness(_read(passage.text)[1], claim):
                yield sentence.text
            if at == 0:
                yield self._head

    def nearest(self, claim: Claim, share: float) -> Iterator[str]:
        """The sentences that have `share` of the claim's content words, the most alike first; of one that says a thing
        "but" another, the half that is closer to the claim."""
        for passage in self._order(claim) if claim.words else ():
            if not _may_share(claim, _squeezed(passage.text), share):
                continue
            for sentence in _by_likeness(_read(passage.text)[1], claim):
                if not _may_share(claim, sentence.squeezed, share):
                    continue
                halves = [half for half in _BUT.split(sentence.text) if half] or [sentence.text]
                best = max(halves, key=lambda half: (_shared(claim, half), _alike(claim.pairs, squeeze(half))))
                for each in (best, sentence.text):
                    if _shared(claim, each) >= share:
                        yield each
                        break

    def likeness(self, wanted: frozenset[str]) -> int:
        """How many of these pairs of lower-case characters it has: cheap, and enough to tell where to look."""
        return _alike(wanted, self._lowered)

    def share(self, claim: Claim, least: float) -> float:
        """The share of the claim's content words that it has, 1 if it says the claim; 0 for less than `least`. Only
        sentences that by their characters may have a word are read."""
        if not claim.words or not _may_share(claim, self.squeezed, least):
            return 0.0
        if self.says(claim.sentence.plain):
            return 1.0
        missing = set(claim.words)
        for text in self.texts(claim):
            squeezed = squeeze(text)
            if any(_traced(word, squeezed) for word in missing):
                missing -= content(text)
        share = 1 - len(missing) / len(claim.words)
        return share if share >= least else 0.0

    def closest(self, claim: Claim) -> tuple[Passage, ...]:
        """Of its passages its own and the one most like the claim."""
        most = self._order(claim)[0]
        return (self.hit.passage,) if most is self.hit.passage else (self.hit.passage, most)

    def _near(self, claim: Claim) -> list[_Sentence]:
        """The few sentences of its most alike passage that are most like the claim."""
        return _by_likeness(_read(self._order(claim)[0].text)[1], claim)[:2]

    def _order(self, claim: Claim) -> list[Passage]:
        """Its passages, those that are most like the claim first."""
        if len(self.passages) == 1:
            return [*self.passages]
        if claim.squeezed not in self._orders:
            alike = {id(each): _alike(claim.pairs, _squeezed(each.text)) for each in self.passages}
            self._orders[claim.squeezed] = sorted(self.passages, key=lambda each: -alike[id(each)])
        return self._orders[claim.squeezed]


def shared(claim: Claim, sources: Sequence[Evidence], enough: float = 1.0) -> float:
    """The share of the claim's content words that these passages have together: exact below `enough`, where it stops."""
    if not claim.words:
        return 1.0
    missing = set(claim.words)
    for text in chain.from_iterable(source.texts(claim) for source in sources):
        missing -= content(text)
        if len(claim.words) - len(missing) >= enough * len(claim.words):
            break
    return 1 - len(missing) / len(claim.words)


def _may_share(claim: Claim, squeezed: str, share: float) -> bool:
    """Whether a text may have `share` of the claim's words, by its characters alone.

    English stems are all there or they are not. Japanese words can be spelt in ways that have no character in common
    (「こども」, 「子供」): there half of `share` is enough, or a third of the claim's pairs of characters.
    """
    traced = sum(_traced(word, squeezed) for word in claim.words)
    if claim.language == "en":
        return traced >= share * len(claim.words)
    return traced * 2 >= share * len(claim.words) or _alike(claim.pairs, squeezed) * 3 >= len(claim.pairs)


@lru_cache(maxsize=4096)
def _traces(word: str) -> tuple[str, ...]:
    """Strings of which a text with this word (in dictionary form) will have one: its stem, its kanji, its pairs."""
    word = squeeze(word)
    if word.isascii():
        return (word[: max(2, len(word) - 2)],)
    spoken = [c for c in word if not "\u3040" <= c <= "\u309f"]
    if spoken and len(spoken) < len(word):
        return tuple(spoken)  # what is inflected keeps its kanji
    return tuple(pairs(word)) or (word,)


def _traced(word: str, squeezed: str) -> bool:
    return any(trace in squeezed for trace in _traces(word))


def _certain(atoms: frozenset[str]) -> frozenset[str]:
    """Without the hours that may be before or after noon: only the whole passage tells whether it counts to 24."""
    return frozenset(atom for atom in atoms if not atom.startswith("either:"))


def _by_likeness(found: Sequence[_Sentence], claim: Claim) -> list[_Sentence]:
    return sorted(found, key=lambda each: -each.alike(claim))


def _shared(claim: Claim, text: str) -> float:
    return len(claim.words & content(text)) / max(1, len(claim.words))


def _alike(wanted: frozenset[str], squeezed: str) -> int:
    """How many of these pairs of characters a text has."""
    return sum(map(squeezed.__contains__, wanted))


# -- the quotation ------------------------------------------------------------------------------------------------------


def citation(n: int, evidence: Evidence, claims: Sequence[Claim]) -> Citation:
    """The citation `n`, quoted with what supports these claims."""
    passage, quote = _quote(evidence, claims)
    return Citation(
        n, passage.document, passage.collection, passage.chunk, quote, passage.url or evidence.hit.passage.url
    )


def _quote(evidence: Evidence, claims: Sequence[Claim]) -> tuple[Passage, str]:
    """The sentence of the passage that supports the first claim best, with its neighbours if they support others."""
    passage, at = evidence.hit.passage, 0
    if claims:
        _, passage, at = _best(claims[0], evidence.passages, evidence.closest(claims[0]))
    text, found = _read(passage.text)
    if not found:
        return passage, text[:QUOTE]
    first = last = at
    wanted = {at}
    for claim in claims:
        score, _, place = _best(claim, (passage,), (passage,))
        if score > 0.5:
            wanted.add(place)
    while last + 1 in wanted and found[last + 1].end - found[first].start <= QUOTE:
        last += 1
    while first - 1 in wanted and found[last].end - found[first - 1].start <= QUOTE:
        first -= 1
    return passage, _short(text[found[first].start : found[last].end])


def _short(quote: str) -> str:
    """At most QUOTE characters, cut before a link rather than inside it (unless it begins with the link)."""
    if len(quote) <= QUOTE:
        return quote.strip()
    end = next((opens for opens, closes in link_spans(quote) if opens < QUOTE < closes), QUOTE)
    return quote[: end or QUOTE].strip()


_Place = tuple[float, Passage, int]  # how well it supports a claim, and which sentence of which passage it is


def _best(claim: Claim, passages: Sequence[Passage], closest: Sequence[Passage]) -> _Place:
    """The sentence that supports the claim best: one that has it word for word; or one of the most alike in `closest` if
    it holds all its numbers and most of its words; or else the best of all."""
    if _verbatim(claim):
        for passage in passages:
            if claim.squeezed in _squeezed(passage.text):
                for at, sentence in enumerate(_read(passage.text)[1]):
                    if claim.squeezed in sentence.squeezed:
                        return 10.0, passage, at
    near = _places(closest)
    alike = [sentence.alike(claim) for _, _, sentence in near]
    least = max(alike, default=0) / 2
    likely = [at for at in nlargest(_CLOSEST, range(len(near)), key=alike.__getitem__) if alike[at] >= least]
    found = _best_of(claim, [near[at] for at in sorted(likely)], passages[0])
    return found if found[0] >= 2.0 * len(claim.facts) + 1.5 else _best_of(claim, _places(passages), passages[0])


def _places(passages: Sequence[Passage]) -> list[tuple[Passage, int, _Sentence]]:
    return [(passage, at, sentence) for passage in passages for at, sentence in enumerate(_read(passage.text)[1])]


def _best_of(claim: Claim, every: Sequence[tuple[Passage, int, _Sentence]], own: Passage) -> _Place:
    best: _Place = (0.0, own, 0)
    for passage, at, sentence in every:
        score = _support(claim, sentence)
        if score > best[0] + (_MARGIN if passage is not own else 0.0):
            best = (score, passage, at)
    return best


def _support(claim: Claim, sentence: _Sentence) -> float:
    held = sum(figures(sentence.text).hold(fact) for fact in claim.facts)
    verbatim = 5.0 if _verbatim(claim) and claim.squeezed in sentence.squeezed else 0.0
    return 2.0 * held + 3.0 * _shared(claim, sentence.text) + verbatim


def _verbatim(claim: Claim) -> bool:
    """Whether the claim is long enough to be told by its letters alone."""
    return len(claim.squeezed) > 7
