"""A retrieved passage as evidence: what claims are held against, and the words it is quoted with.

A turn retrieves far more than it cites, and a citation is mostly about one sentence. So nothing is read before a claim
needs it, sentences that look like the claim come first, and the dear measures (words in dictionary form, numbers in
their normal form) are taken of those alone when they settle it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from agent.events import Citation
from agent.grounding.claims import Claim, pairs
from agent.grounding.entities import Name, content, denies, mentions, turns, without_code
from agent.grounding.quantities import Fact, Figures, facts, figures, squeeze, units_of
from agent.grounding.transliteration import heard
from agent.links import addresses
from agent.segmentation import clean, link_spans, units, unwrapped
from retrieval.i18n import Language
from retrieval.text import language_of, sentences
from retrieval.types import Hit, Passage

QUOTE = 300  # characters
WINDOW = 500  # and of what a judge reads
_FEWEST = 8  # letters, or signs, that are no accident
_HELD, _WORDS, _VERBATIM = 2.0, 3.0, 5.0  # what a figure, all words and every letter of a claim support it
_MARGIN = 0.5  # by which a neighbour has to support a claim better than the passage itself, to be quoted
_WORDY = re.compile(r"\d{0,3}[A-Z][a-z]{3,}\d{0,3}")  # a word that happens to have a number: 1Password
_CHARACTER = re.compile(r"[A-Z\u4e00-\u9fff]")  # 「市内」 and 「市外」 are one word to `content`
_BUT = re.compile(
    r"(?<=が)、|ものの、?|けれども?、?|(?<=し)、|[;；]\s*|ただし、?|一方(?:で|、)"
    r"|,?\s\b(?:and|but|however|while|whereas|although|though|except)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class PassageSentence:
    """One of a passage: `start` and `end` are offsets in the unwrapped passage, `squeezed` its letters and digits."""

    text: str
    start: int
    end: int
    squeezed: str


@lru_cache(maxsize=512)
def sentences_of(text: str) -> tuple[str, tuple[PassageSentence, ...]]:
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
    return text, tuple(PassageSentence(text[a:b], a, b, squeeze(text[a:b])) for a, b in spans)


class Evidence:
    """A passage (with the neighbours the model was shown) as something to hold claims against."""

    def __init__(self, hit: Hit, context: Sequence[Passage] = ()) -> None:
        self.hit = hit
        self.passages = (hit.passage, *context)
        p = hit.passage
        self._head = " / ".join(
            part for part in (p.document, p.title, *p.headings, p.question or "", p.updated) if part
        )

    @cached_property
    def text(self) -> str:
        """As it is read: 「8時」 at the end of a line goes on with 「間」."""
        return "\n".join([self._head, *(sentences_of(each.text)[0] for each in self.passages)])

    @cached_property
    def language(self) -> Language:
        return language_of(self.hit.passage.text)

    @cached_property
    def figures(self) -> Figures:
        return figures(self.text)

    @cached_property
    def measured_in(self) -> frozenset[str]:
        """The units of its amounts."""
        return units_of(facts(self.text))

    @cached_property
    def squeezed(self) -> str:
        linked = (clean(each.text) for each in self.passages if "](" in each.text)  # as it is read: no address between
        return "".join([squeeze(self._head), *(squeeze(each.text) for each in self.passages), *map(squeeze, linked)])

    @cached_property
    def _named(self) -> str:
        """With the passages as names are read in an answer."""
        return self.squeezed + "".join(squeeze(without_code(clean(each.text))) for each in self.passages)

    @cached_property
    def _rows(self) -> frozenset[str]:
        """The rows of its tables as they are read out, each cell behind the name of its column."""
        tabled = (each for each in self.passages if "|" in each.text)
        read = (unit for each in tabled for unit in units(each.text, each.headings, each.question))
        return frozenset(squeeze(unit.text) for unit in read if unit.kind == "row")

    @cached_property
    def _said(self) -> tuple[str, ...]:
        """The passages as they are read out, in one line."""
        return tuple(" ".join(clean(sentences_of(each.text)[0]).split()) for each in self.passages)

    @cached_property
    def addresses(self) -> set[str]:
        own = {each.url for each in self.passages if each.url}
        return own.union(addresses(self._head), *(addresses(each.text) for each in self.passages))

    # -- what a claim asks of it --------------------------------------------------------------------------------------

    def says(self, sentence: str) -> bool:
        """Whether the passage has the sentence word for word."""
        said = squeeze(sentence)
        return len(said) >= _FEWEST and (said in self.squeezed or said in self._rows)

    def quotes(self, sentence: str) -> bool:
        """Whether the passage has the sentence sign for sign, its numbers whole: however they are read in the lines
        around it, they are its own."""
        whole = rf"(?<![\d.,]){re.escape(sentence)}(?![.,]?\d)"
        return len(sentence) >= _FEWEST and any(re.search(whole, each) for each in self._said)

    def lacks(self, facts: Iterable[Fact]) -> list[Fact]:
        """Those of a claim's numbers that the passage does not have."""
        return [fact for fact in facts if not self.figures.hold(fact)]

    def mentions(self, name: Name) -> bool:
        return mentions(self.text, self._named, name)

    def spells(self, fact: Fact) -> bool:
        """Whether it writes an identifier (「1Password」) in katakana."""
        named = any(atom.startswith("id:") for atom in fact.any_of) and bool(_WORDY.fullmatch(fact.shown))
        return named and self.language == "ja" and heard(fact.shown, self.text)

    @cached_property
    def words(self) -> frozenset[str]:
        """Its content words, with those of its name, title and headings."""
        return content(self._head).union(*(content(each.text) for each in _sentences(self.passages)))

    def nearest(self, claim: Claim, share: float) -> Iterator[str]:
        """The sentences that have `share` of the claim's content words; of one that says a thing "but" another, the
        half that is closer to the claim."""
        for sentence in _sentences(self.passages) if claim.words else ():
            halves = [half for half in _BUT.split(sentence.text) if half] or [sentence.text]
            best = max(halves, key=lambda half: (_shared(claim, half), len(claim.pairs & pairs(squeeze(half)))))
            said = next((each for each in (best, sentence.text) if _shared(claim, each) >= share), None)
            if said is not None:
                yield said

    def states(self, claim: Claim) -> bool:
        """Whether one sentence has all the claim's words and numbers and no other number, and says yes or no under the
        same conditions, or says it word for word: then there is nothing to judge."""
        plain = claim.sentence.plain
        no, conditions = denies(plain), turns(plain)
        return self.says(plain) or any(
            denies(sentence) == no
            and {*_CHARACTER.findall(plain.upper())} <= {*sentence.upper()}
            and turns(sentence) == conditions
            and all(figures(sentence).hold(fact) for fact in claim.facts)
            and len(facts(sentence)) <= len(claim.facts)
            for sentence in self.nearest(claim, 1.0)
        )

    def window(self, claim: Claim) -> str:
        """The sentence that supports the claim best, with those around it up to `WINDOW` characters, headings first."""
        _, passage, at = _best(claim, self.passages)
        text, found = sentences_of(passage.text)
        first = last = at
        while found and (first > 0 or last < len(found) - 1):
            wider = max(0, first - 1), min(len(found) - 1, last + 1)
            if found[wider[1]].end - found[wider[0]].start > WINDOW:
                break
            first, last = wider
        said = text[found[first].start : found[last].end] if found else text
        path = dict.fromkeys((passage.title or passage.document, *passage.headings))
        return f"{' > '.join(path)}: {said[:WINDOW]}"

    def touches(self, claim: Claim) -> bool:
        """Whether it has a number, a name or, in its language, a word of the claim; of one without numbers and names,
        which may be in other words altogether, that is not known."""
        if not (claim.facts or claim.names) or (self.language == claim.language and self.share(claim) > 0):
            return True
        return any(map(self.figures.hold, claim.facts)) or any(map(self.mentions, claim.names))

    def share(self, claim: Claim) -> float:
        """The share of the claim's content words that it has; 1 if it says the claim."""
        return 1.0 if self.says(claim.sentence.plain) else shared(claim, [self]) if claim.words else 0.0


def shared(claim: Claim, sources: Sequence[Evidence]) -> float:
    """The share of the claim's content words that these passages have together."""
    words: frozenset[str] = frozenset().union(*(source.words for source in sources))
    return len(claim.words & words) / len(claim.words) if claim.words else 1.0


def _sentences(passages: Sequence[Passage]) -> Iterator[PassageSentence]:
    for passage in passages:
        yield from sentences_of(passage.text)[1]


def _shared(claim: Claim, text: str) -> float:
    return len(claim.words & content(text)) / max(1, len(claim.words))


# -- the quotation ----------------------------------------------------------------------------------------------------


def citation(n: int, evidence: Evidence, claims: Sequence[Claim]) -> Citation:
    """The citation `n`, quoted with what supports these claims."""
    passage, quote = _quote(evidence, claims)
    found = evidence.hit.passage
    url, date = passage.url or found.url, passage.updated or found.updated or None
    name = passage.name or found.name
    place = (passage.document, passage.collection, passage.chunk)
    return Citation(n, *place, quote, url, date, name, said_in=found.said_in, document_id=found.document_id)


def _quote(evidence: Evidence, claims: Sequence[Claim]) -> tuple[Passage, str]:
    """The sentence of the passage that supports the first claim best, with its neighbours if they support others."""
    passage, at = evidence.hit.passage, 0
    if claims:
        _, passage, at = _best(claims[0], evidence.passages)
    text, found = sentences_of(passage.text)
    if not found:
        return passage, text[:QUOTE]
    first = last = at
    wanted = {at}
    for claim in claims[1:] if passage is evidence.hit.passage else claims:
        score, _, place = _best(claim, (passage,))
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


def _best(claim: Claim, passages: Sequence[Passage]) -> _Place:
    """The sentence that supports the claim best, of the first passage rather than of its neighbours."""
    own = passages[0]
    best: _Place = (0.0, own, 0)
    for passage in passages:
        found = sentences_of(passage.text)[1]
        for at in _worth(claim, found):
            score = support(claim, found[at])
            if score > best[0] + (_MARGIN if passage is not own else 0.0):
                best = (score, passage, at)
    return best


def _worth(claim: Claim, found: Sequence[PassageSentence]) -> Sequence[int]:
    """Those of a passage's sentences of which one supports the claim best: where one has it word for word, and more of
    it than any other could, those that do."""
    verbatim = [at for at, sentence in enumerate(found) if _has(claim, sentence)]
    if verbatim and support(claim, found[verbatim[0]]) > _HELD * len(claim.facts) + _WORDS + _MARGIN:
        return verbatim
    return range(len(found))


def _has(claim: Claim, sentence: PassageSentence) -> bool:
    return len(claim.squeezed) > 7 and claim.squeezed in sentence.squeezed


def support(claim: Claim, sentence: PassageSentence) -> float:
    held = sum(figures(sentence.text).hold(fact) for fact in claim.facts)
    verbatim = _VERBATIM if _has(claim, sentence) else 0.0
    return _HELD * held + _WORDS * _shared(claim, sentence.text) + verbatim
