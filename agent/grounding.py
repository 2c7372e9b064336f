"""Claim by claim: does the passage that a sentence cites say it? A check in code, which no model can talk its way past.

A claim's numbers and dates must be in the passage; its names too, and its yes or no, when both are in one language.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from agent.citing import Line, lines, rewritten
from agent.claims import Fact, Figures, facts, figures, squeeze
from agent.events import Citation
from agent.evidence import Evidence, citation, shared
from agent.links import addresses, scrubbed
from agent.statements import Claim, pairs, read
from agent.words import Name, denies, is_strong, mentions, turns
from retrieval.text import Language, Said
from retrieval.types import Hit, Passage

NOT_CONFIRMED = Said(en=" (not confirmed in the sources)", ja="（※ 資料では確認できませんでした）")
_GAP = "\ue000"  # where an address was taken out: a sentence that only led to it goes too
_ATTACH = 0.6  # share of an uncited claim's content words that a passage must have to be cited for it
_REPLACE = 0.6  # and of a claim whose own citation does not hold
_STRANGE = 0.15  # under this a cited passage is hardly about what the sentence is about
_HARDLY = 0.4  # under this a word that may be a name, and is not in the passage, makes the claim doubtful
_KNOWN = 0.5  # and under this a name that only the question has; a larger share makes no difference
_ANY = 0.001  # one word in common: the passage has to do with the claim
_LOOKED_AT = 4  # other passages that a claim may have its words from
_SAME = 0.75  # from here on two sentences are about the same thing, and a yes contradicts a no

Ruling = Literal["yes", "unsure", "no"]


@dataclass(frozen=True, slots=True)
class Checked:
    """What is left of an answer. `text` is empty when nothing is: then the answer is "not found"."""

    text: str
    citations: tuple[Citation, ...] = ()
    removed: tuple[str, ...] = ()
    marked: tuple[str, ...] = ()
    cited: tuple[int, ...] = ()  # the passages' own numbers, in the order of their new ones


def check(
    text: str,
    hits: Mapping[int, Hit],
    language: Language,
    *,
    question: str = "",
    context: Mapping[int, Sequence[Passage]] | None = None,
    judged: bool = True,
) -> Checked:
    """Hold `text` against the passages it cites by their numbers in `hits`.

    What fails is removed, or marked where only a reader can tell; citations are renumbered from 1 in order of
    appearance. `context` are neighbours the model saw beside a passage. `judged` says that a reflection has looked at
    it: without one, names that cannot be compared across languages are marked. Pure.
    """
    evidence = {n: Evidence(hit, (context or {}).get(n, ())) for n, hit in hits.items()}
    linked = bool(addresses(text))
    retrieved = {address for each in evidence.values() for address in each.addresses} if linked else ()
    text = scrubbed(text, retrieved, gap=_GAP)
    found = lines(text)
    checker = _Checker(evidence, figures(question), question, judged)
    claims = [read(line, sentence) for line in found for sentence in line.sentences]
    removed: list[str] = []
    for at, claim in enumerate(claims):
        if claim.kind == "claim":
            checker.decide(claim, _inherited(claims, at, frozenset(evidence)))
            if not claim.kept:
                removed.append(claim.sentence.plain)
    kept = [claim for claim in claims if claim.kept]
    if not kept:
        return Checked("", removed=tuple(removed))
    for claim in claims:
        claim.kept = claim.kept or (claim.kind != "claim" and _GAP not in claim.sentence.raw)
    _drop_hollow(found, claims, checker)
    numbering = {
        n: at for at, n in enumerate(dict.fromkeys(n for claim in claims if claim.kept for n in claim.shown), 1)
    }
    if not numbering:
        return Checked("", removed=tuple(removed))
    written = _written(found, claims, numbering, language)
    allowed = {address for n in numbering for address in evidence[n].addresses} if linked else ()
    return Checked(
        text=scrubbed(re.sub(rf"[ \t]?{_GAP}", "", written), allowed),
        citations=tuple(citation(at, evidence[n], [c for c in kept if n in c.cites]) for n, at in numbering.items()),
        removed=tuple(removed),
        marked=tuple(claim.sentence.plain for claim in kept if claim.unsure),
        cited=tuple(numbering),
    )


def _inherited(claims: Sequence[Claim], at: int, known: frozenset[int]) -> dict[tuple[int, ...], bool]:
    """The citations that a sentence without its own may lean on: those after it in its line, before it, of its block.

    With each: whether a reader sees that it holds for this sentence too, so that it need not be repeated.
    """
    claim = claims[at]
    here = [c for c in claims if c.line is claim.line]
    place = next(i for i, c in enumerate(here) if c is claim)
    group = [c for c in claims if c.line.group == claim.line.group]
    position = next(i for i, c in enumerate(group) if c is claim)
    found: dict[tuple[int, ...], bool] = {}
    for one in (*here[place + 1 :], *reversed(here[:place]), *group[position + 1 :], *reversed(group[:position])):
        cited = tuple(n for n in one.sentence.cited if n in known)
        if cited:
            found[cited] = found.get(cited, False) or _covers(one, claim)
    return found


def _covers(one: Claim, other: Claim) -> bool:
    """Whether a reader takes the citation of one sentence for the other's too."""
    same_block = one.line.group == other.line.group
    leads = one.sentence.plain.rstrip().endswith((":", "："))
    return one.line is other.line or (same_block and (one.line.bare or leads))


# -- the ruling ---------------------------------------------------------------------------------------------------------


class _Checker:
    def __init__(self, evidence: Mapping[int, Evidence], asked: Figures, question: str, judged: bool) -> None:
        self._evidence = evidence
        self._asked = asked
        self._question = question
        self._judged = judged

    def decide(self, claim: Claim, inherited: Mapping[tuple[int, ...], bool]) -> None:
        """Set what supports the claim, or leave it out."""
        own = tuple(n for n in claim.sentence.cited if n in self._evidence)
        doubt: tuple[int, ...] = ()
        for cites in [own] if own else inherited:
            ruling = self.rule(claim, cites)
            if ruling == "yes":
                claim.kept, claim.cites = True, self._useful(claim, cites)
                claim.shown = () if self._seen(claim, inherited.get(cites, False)) else claim.cites
                return
            if ruling == "unsure" and not doubt:
                doubt = cites
        other = self._elsewhere(claim, own)
        if other:
            claim.kept, claim.cites, claim.shown = True, other, other
        elif doubt:
            claim.kept, claim.unsure, claim.cites = True, True, doubt
            claim.shown = () if self._seen(claim, inherited.get(doubt, False)) else doubt

    @staticmethod
    def _seen(claim: Claim, covered: bool) -> bool:
        return covered and not claim.sentence.cited

    def rule(self, claim: Claim, cites: Sequence[int]) -> Ruling:
        """Whether these passages together say it. What costs least is asked first."""
        sources = [self._evidence[n] for n in cites]
        missing: list[Fact] = claim.facts
        for each in sources:
            missing = each.lacks(claim, missing)
        if any(not self._asked.hold(fact) for fact in missing):
            return "no"
        if not missing and any(each.says(claim.sentence.plain) for each in sources):
            return "yes"
        alike = [each for each in sources if each.language == claim.language]
        unnamed = [name for name in claim.names if not any(each.mentions(name) for each in sources)]
        unasked = [name for name in unnamed if not self._asks_for(name)]
        if alike and any(name.kind != "word" for name in unasked):
            return "no"
        if not alike:
            doubtful = any(is_strong(name) or not self._judged for name in unasked)
            return "unsure" if missing or doubtful else "yes"
        if self._contradicted(claim, alike):
            return "no"
        share = shared(claim, sources, _KNOWN)
        held = len(claim.facts) > len(missing) or len(claim.names) > len(unnamed)
        if not share and not held and len(claim.words) >= 2:
            return "no" if len(claim.words) >= 4 else "unsure"
        strange = share < _STRANGE and not held and len(claim.words) >= 6
        misnamed = share < _KNOWN and any(name.kind != "word" for name in unnamed)
        unknown = share < _HARDLY and any(name.kind == "word" for name in unasked)
        return "unsure" if missing or strange or misnamed or unknown else "yes"

    def _asks_for(self, name: Name) -> bool:
        return mentions(self._question, squeeze(self._question), name)

    def _elsewhere(self, claim: Claim, own: tuple[int, ...]) -> tuple[int, ...]:
        """A retrieved passage that says what the cited one does not. Never two of them together: one's number with the
        other's subject would pass."""
        best: tuple[float, tuple[int, ...]] = (0.0, ())
        others = [n for n in self._evidence if n not in own]
        wanted = pairs(claim.sentence.plain.lower())
        others.sort(key=lambda n: (-self._evidence[n].likeness(wanted), n))
        for n in others[:_LOOKED_AT]:
            each = self._evidence[n]
            bonus = each.hit.relevance / 100
            if each.language == claim.language:
                share = each.share(claim, max(_REPLACE if own else _ATTACH, best[0] - bonus))
            else:
                share = 0.4 if self._tells(claim, each) else 0.0
            if share and share + bonus > best[0] and self.rule(claim, (n,)) == "yes":
                best = (share + bonus, (n,))
        return best[1]

    @staticmethod
    def _tells(claim: Claim, each: Evidence) -> bool:
        """Whether the numbers and names alone connect a claim with a passage in the other language."""
        named = [name for name in claim.names if is_strong(name) and each.mentions(name)]
        coded = [fact for fact in claim.facts if any(atom.startswith("id:") for atom in fact.any_of)]
        return len({fact.any_of for fact in claim.facts}) + len(named) + len(coded) >= 2

    def _useful(self, claim: Claim, cites: tuple[int, ...]) -> tuple[int, ...]:
        """Of several citations those that have anything to do with the claim."""
        if len(cites) < 2:
            return cites
        useful = tuple(
            n
            for n in cites
            if (each := self._evidence[n]).language != claim.language
            or (claim.words and shared(claim, [each], _ANY))
            or len(each.lacks(claim, claim.facts)) < len(claim.facts)
        )
        return useful or cites

    @staticmethod
    def _contradicted(claim: Claim, sources: Sequence[Evidence]) -> bool:
        """Whether a sentence on the same thing says yes where the claim says no, with no word that may turn it, and none
        agrees."""
        plain = claim.sentence.plain
        no = denies(plain, claim.language)
        contradicted = False
        for each in sources:
            for sentence in each.nearest(claim, _SAME):
                if denies(sentence, each.language) == no:
                    return False
                contradicted |= not (turns(sentence) and turns(plain) and _differ(sentence, plain))
        return contradicted

    def heading_holds(self, heading: str) -> bool:
        return all(any(each.figures.hold(fact) for each in self._evidence.values()) for fact in facts(heading))


_CONVERSE = re.compile(
    r"以内|まで|以降|後に|経過|過ぎ|超え|以外|のみ|だけ|限|除|しか|未満|前|only|unless|until|after|before|beyond|exceed|within|over|above|past|except|outside|expire|without|more than",
    re.IGNORECASE,
)


def _differ(one: str, other: str) -> bool:
    """Whether two sentences limit what they say in different words: "within 30 days" and "not after 30 days"."""
    return {m.lower() for m in _CONVERSE.findall(one)} != {m.lower() for m in _CONVERSE.findall(other)}


# -- putting it together ------------------------------------------------------------------------------------------------


def _drop_hollow(found: Sequence[Line], claims: Sequence[Claim], checker: _Checker) -> None:
    """Take out what only led to something that is gone: introductions, headings, a citation on a line of its own."""
    by_line = {id(line): [c for c in claims if c.line is line] for line in found}

    def alive(line: Line) -> bool:
        return line.kind == "code" or any(c.kept and re.search(r"\w", c.sentence.plain) for c in by_line[id(line)])

    for at, line in enumerate(found):
        if line.bare:
            group = [c for c in claims if c.line.group == line.group and c.kept and c.line is not line]
            cited = tuple(n for c in by_line[id(line)] for n in c.sentence.cited)
            wanted = tuple(n for n in dict.fromkeys(cited) if any(n in c.cites for c in group))
            for claim in by_line[id(line)]:
                claim.kept = bool(wanted)
                claim.shown = tuple(n for n in claim.sentence.cited if n in wanted)
            continue
        last = by_line[id(line)][-1] if by_line[id(line)] else None
        if last and last.kind == "glue" and last.sentence.plain.rstrip("*_ ").endswith((":", "：")):
            following = next((each for each in found[at + 1 :] if each.kind not in ("blank", "head")), None)
            lines_after = [each for each in found[at + 1 :] if each.group == line.group] or (
                [following] if following else []
            )
            if not any(alive(each) for each in lines_after):
                last.kept = False
    for at in range(len(found) - 1, -1, -1):
        line = found[at]
        if line.kind in ("heading", "head"):
            after: list[Line] = []
            for each in found[at + 1 :]:
                if each.kind == "heading" or (line.kind == "head" and each.kind not in ("row", "head")):
                    break
                after.append(each)
            if not any(alive(each) for each in after) or (
                line.kind == "heading" and not checker.heading_holds(line.raw)
            ):
                line.raw = ""
    # What a sentence leaned on may have gone: then it carries its citation itself.
    for claim in claims:
        if claim.kept and claim.kind == "claim" and not claim.shown:
            near = [c for c in claims if c.kept and c is not claim and _covers(c, claim)]
            if not any(set(claim.cites) <= set(c.shown) for c in near):
                claim.shown = claim.cites


def _written(found: Sequence[Line], claims: Sequence[Claim], numbering: Mapping[int, int], language: Language) -> str:
    rows: list[str] = []
    for line in found:
        if line.kind == "blank":
            rows.append("")
        elif line.kind in ("heading", "head", "code"):
            rows += [line.raw] if line.raw else []
        else:
            mine = [c for c in claims if c.line is line and c.kept]
            parts = []
            for claim in mine:
                raw = rewritten(claim.sentence.raw, numbering, claim.shown, row=line.kind == "row")
                if claim.unsure:
                    raw = _with_mark(raw, NOT_CONFIRMED.to(language), row=line.kind == "row")
                parts.append(raw)
            if any(part.strip() for part in parts):
                rows.append(line.prefix + "".join(parts).rstrip())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(rows)).strip("\n")


def _with_mark(raw: str, mark: str, *, row: bool) -> str:
    body = raw.rstrip()
    if row:
        return f"{body.rstrip('|').rstrip()}{mark} |"
    return f"{body}{mark}{raw[len(body) :]}"
