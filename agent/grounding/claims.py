"""A sentence of an answer as a claim: what it states, or that it states nothing (a greeting, an introduction)."""

import re
from dataclasses import dataclass, field
from operator import add
from typing import Literal

from agent.citations import Line, Sentence
from agent.grounding.entities import Name, content, names
from agent.grounding.quantities import Fact, facts, squeeze
from agent.grounding.vocabulary import pattern
from agent.segmentation import clean
from retrieval.i18n import Language
from retrieval.text import language_of

Verdict = Literal["entailed", "contradicted", "not_stated"]


@dataclass(frozen=True, slots=True)
class OpenClaim:
    """A sentence of an answer that code can neither prove nor refute. `n` is the passage it rests on, by its own
    number, `quote` what stands there, its headings first."""

    sentence: str
    n: int
    quote: str


@dataclass(slots=True)
class Claim:
    """`cites` is what supports it, `shown` what is written behind it; both are filled in when it is ruled on."""

    line: Line
    sentence: Sentence
    facts: list[Fact] = field(default_factory=list)
    names: list[Name] = field(default_factory=list)
    words: frozenset[str] = frozenset()
    squeezed: str = ""  # its letters and digits alone
    pairs: frozenset[str] = frozenset()  # of neighbouring characters in `squeezed`
    language: Language = "en"
    kind: Literal["claim", "glue", "about"] = "claim"  # about: what the sources do not say, or that they differ
    kept: bool = False
    refuted: str = ""  # why it is left out, in the language of the turn
    doubt: str = ""  # why a reader should look at it, although code does not refute it
    computed: list[Fact] = field(default_factory=list)  # those of the facts that are computed, not in the passages
    reckoned: str = ""  # a figure that follows from the passages alone: the sentence does not show from what
    grave: bool = False  # and is told so in any case
    marked: bool = False
    cites: tuple[int, ...] = ()
    shown: tuple[int, ...] = ()

    @property
    def leads(self) -> bool:
        """Whether it announces what follows."""
        return self.sentence.plain.rstrip("*_ ").endswith((":", "："))


def pairs(text: str) -> frozenset[str]:
    """Every two characters that stand side by side: what two texts of one language share when they say the same."""
    return frozenset(map(add, text, text[1:]))


def read(line: Line, sentence: Sentence) -> Claim:
    plain = clean(sentence.plain) if "](" in sentence.plain else sentence.plain  # of a link its words
    claim = Claim(line, sentence)
    claim.language = language_of(plain)
    claim.facts, claim.names, claim.words = facts(plain), names(plain), content(plain)
    claim.squeezed = squeeze(plain)
    claim.pairs = pairs(claim.squeezed)
    stated = claim.facts or any(name.kind != "loose" for name in claim.names)
    if not re.search(r"\w", plain):
        claim.kind = "glue"
    elif (absent := pattern("absence").search(plain)) or pattern("conflict").search(plain):
        claim.kind, claim.names = "about", []
        if absent:
            claim.facts = facts(_said_apart(plain))
    elif pattern("courtesy").search(plain) and not (claim.facts or claim.names):
        claim.kind = "glue"  # also with the citation of what was said before it
    elif sentence.cited or (stated and not (claim.leads and not claim.facts)):
        claim.kind = "claim"
    elif claim.leads or any(pattern(name).search(plain) for name in ("lead", "courtesy")) or len(claim.words) < 2:
        claim.kind = "glue"
    return claim


_CLAUSE = re.compile(r"(?<=[,;:、：])|\s(?=(?:but|and|while|although|so)\b)")


def _said_apart(plain: str) -> str:
    """The clauses of a sentence beside those that say that something is not said."""
    return " ".join(clause for clause in _CLAUSE.split(plain) if not pattern("absence").search(clause))
