"""An answer held against a page that has changed since: which of its statements the page does not bear out any more.

Both versions of the page are read, so that only what a statement rested on counts: a sentence that still stands,
however it is marked up or punctuated, proves what it proved. Where one does not, another may say the same in other
words.
Source: sources.md §4.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from heapq import nlargest

from agent.citations import lines
from agent.grounding.check import inherited_citations, own_citations
from agent.grounding.claims import Claim, read
from agent.grounding.entities import content, denies, mentions
from agent.grounding.evidence import PassageSentence, sentences_of, support
from agent.grounding.quantities import Fact, facts, figures, squeeze

_LEAST = 8  # letters and digits, from which on their place in a text says that it is the same sentence
_ABOUT = 0.3  # share of a statement's words, from which on a sentence is about the same
_REWORDED = 0.6  # of what a sentence had of the statement's words, with its numbers: it says the same in other words
_WORDED = 0.85  # and without any number, where the words are all there is
_REPLACES = 0.5  # of the words of a sentence that is gone: what has them now stands in its place
_CANDIDATES = 5
SHOWN = 160  # characters of a sentence that people are shown


@dataclass(frozen=True, slots=True)
class Outdated:
    """A statement that the page does not bear out any more. `was`, `now`: the figures that differ; without `was`, `now`
    is the sentence that says something else of it; without both the page says nothing of it."""

    said: str
    rested: str  # the sentence of the page that it rested on
    was: str = ""
    now: str = ""


@dataclass(frozen=True, slots=True)
class PageRechecked:
    """`quotes`: sentences that say in other words what an older one of the page said."""

    outdated: tuple[Outdated, ...] = ()
    quotes: tuple[str, ...] = ()


def recheck(text: str, numbers: Collection[int], before: str, now: str) -> PageRechecked:
    """Hold the statements of an answer's `text` that cite a page by one of these `numbers` against what it says `now`;
    `before` is what it said when it was cited (Markdown, both). Pure, and slow for long pages."""
    squeezed = squeeze(now)
    old, new = sentences_of(before)[1], sentences_of(now)[1]
    outdated: list[Outdated] = []
    quotes: list[str] = []
    for claim in _resting(text, frozenset(numbers)):
        if _stands(claim.squeezed, squeezed):
            continue
        for rested in _rested_on(claim, old):
            if _stands(rested.squeezed, squeezed):
                continue
            closest = nlargest(_CANDIDATES, range(len(new)), key=lambda at: support(claim, new[at]))
            same = next((new[at].text for at in closest if _still(claim, rested.text, new, at)), None)
            if same is None:
                instead = _instead(claim, rested.text, [new[at].text for at in closest], [each.text for each in new])
                outdated.append(_difference(claim, rested.text, instead))
                break
            quotes.append(same)
    return PageRechecked(tuple(outdated), tuple(dict.fromkeys(quotes)))


def _resting(text: str, numbers: frozenset[int]) -> Iterator[Claim]:
    """The statements that cite one of these, or lean on a sentence that does."""
    found = lines(text)
    claims = [read(line, sentence) for line in found for sentence in line.sentences]
    cites = own_citations(claims, {n for claim in claims for n in claim.sentence.cited})
    for at, claim in enumerate(claims):
        if claim.kind == "claim":
            cited = cites.get(at) or next(iter(inherited_citations(claims, at, cites)), ())
            if not numbers.isdisjoint(cited):
                yield claim


def _stands(said: str, squeezed: str) -> bool:
    return len(said) >= _LEAST and said in squeezed


def _rested_on(claim: Claim, sentences: Sequence[PassageSentence]) -> Iterator[PassageSentence]:
    """The sentences that it rested on: the one that supports it best, and for each number which that does not have the
    best that does. None where it rested on something else, such as another page."""
    ranked = sorted(sentences, key=lambda sentence: -support(claim, sentence))
    if not ranked:
        return
    best, left = ranked[0], [*claim.facts]
    if _share(claim, best.text) < _ABOUT and not _stands(claim.squeezed, best.squeezed):
        return
    yield best
    left = [fact for fact in left if not figures(best.text).hold(fact)]
    for fact in left:
        other = next((each for each in ranked[:_CANDIDATES] if figures(each.text).hold(fact)), None)
        if other is not None and _share(claim, other.text) >= _ABOUT:
            yield other


def _share(claim: Claim, sentence: str) -> float:
    return len(claim.words & content(sentence)) / max(1, len(claim.words))


def _still(claim: Claim, before: str, sentences: Sequence[PassageSentence], at: int) -> bool:
    """Whether a sentence says of the claim what one said before: the same numbers and names, yes or no, and words that
    it has in common with the claim, which may also stand beside it."""
    now = sentences[at].text
    near = "\n".join(each.text for each in sentences[max(0, at - 1) : at + 2])
    held = [fact for fact in claim.facts if figures(before).hold(fact)]
    if not all(figures(now).hold(fact) for fact in held) or denies(now) != denies(before):
        return False
    named = [name for name in claim.names if mentions(before, squeeze(before), name)]
    if not all(mentions(near, squeeze(near), name) for name in named):
        return False
    words = claim.words & content(before)
    return len(words & content(near)) >= (_REWORDED if held else _WORDED) * len(words)


def _instead(claim: Claim, before: str, closest: Sequence[str], sentences: Sequence[str]) -> str:
    """The sentence that is about the same now as the claim, else as what the page said before; nothing without one."""
    near = next((text for text in closest if _share(claim, text) >= _ABOUT), None)
    if near is not None:
        return near
    words = content(before)
    best = max(sentences, key=lambda text: len(words & content(text)), default="")
    return best if words and len(words & content(best)) >= _REPLACES * len(words) else ""


def _difference(claim: Claim, before: str, now: str) -> Outdated:
    """In figures where one stands for another, else with the sentence that is about the same now."""
    said = _short(claim.sentence.plain)
    was = [fact for fact in claim.facts if figures(before).hold(fact) and not figures(now).hold(fact)]
    new = [fact for fact in facts(now) if not figures(before).hold(fact)]
    if was and len(new) == 1:
        return Outdated(said, before, _figure(was[0]), _figure(new[0]))
    return Outdated(said, before, now=_short(now))


def _figure(fact: Fact) -> str:
    return " ".join(fact.shown.split()).rstrip(".,;:。、")


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= SHOWN else text[: SHOWN - 1].rstrip() + "…"
