"""Claim by claim: does the passage that a sentence cites say it? A check in code, which no model can talk its way past.

A claim's numbers and dates must be in the passage; its names too, and its yes or no, when both are in one language.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from agent.citations import Line, lines, put_behind, rewritten
from agent.events import Citation
from agent.grounding.arithmetic import MOST, Equation, equations
from agent.grounding.claims import Claim, OpenClaim, Verdict, read
from agent.grounding.entities import BLANKS, Name, content, denies, is_strong, mentions, spelled_out, turns
from agent.grounding.evidence import Evidence, citation, shared
from agent.grounding.numerals import arabic
from agent.grounding.quantities import Fact, dated, facts, figures, squeeze, units_of, with_capital_months
from agent.grounding.reckoning import Reckoning, possible, shown
from agent.links import GAP, addresses, filled, scrubbed
from retrieval.i18n import Language, Text
from retrieval.types import Hit, Passage

NOT_CONFIRMED = Text(en=" (not confirmed in the sources)", ja="（※ 資料では確認できませんでした）")
LEFT_OUT = Text(
    en="({n} {n:statement was|statements were} left out: the sources do not bear {n:it|them} out.)",
    ja="（資料で裏付けられない記述を {n} 件省きました。）",
)

# Reasons of objections. What is refuted is left out; what is in doubt stays, and is marked where nobody has judged it.
_NUMBER = Text(en="“{what}” is not in the cited passage.", ja="「{what}」は引用した資料にありません。")
_NAME = Text(en="The cited passage does not name “{what}”.", ja="引用した資料に「{what}」という名前は出てきません。")
_SUM = Text(en="{what} is wrong: the result is {result}.", ja="「{what}」は計算が違います。正しくは{result}です。")
_OPPOSITE = Text(
    en="The cited passage seems to say the opposite: “{what}”",
    ja="引用した資料は逆のことを述べているようです：「{what}」",
)
_STRANGER = Text(
    en="The cited passage has nothing in common with this sentence.",
    ja="引用した資料とこの文に共通する内容がありません。",
)
_UNCITED = Text(
    en="No passage is cited for this, and none says it.", ja="出典がなく、同じことを述べる資料もありません。"
)
_ASKED = Text(
    en="Only the question says “{what}”, not the cited passage.",
    ja="「{what}」は質問にあるだけで、引用した資料にはありません。",
)
_RECKONED = Text(
    en="It is not shown what “{what}” is computed from.", ja="「{what}」が何から計算されたのか示されていません。"
)
_ADDRESS = Text(en="No result has the address that stood here.", ja="ここにあったアドレスは検索結果にありません。")
_CODE = Text(en="No result has “{what}” of this code.", ja="このコードの「{what}」は検索結果にありません。")
_REFUTED = Text(en="The cited passage says something else.", ja="引用した資料の内容と食い違っています。")
_NOT_STATED = Text(en="The cited passage does not say this.", ja="引用した資料はこのことを述べていません。")

_CODE_WORD = re.compile(r"[A-Za-z_][\w./:@%+-]*\w", re.ASCII)
_NO_CODE = re.compile(rf"^[ \t]*(?:#|//|--\s).*$|\s#\s.*$|{BLANKS}", re.M)  # remarks and blanks
_DIGITS = re.compile(r"\d+(?:[.,:]\d+)*")
_ENOUGH = 0.6  # share of a claim's content words that a passage must have to be cited for it instead
_STRANGE = 0.15  # under this a cited passage is hardly about what the sentence is about
_KNOWN = 0.5  # and under this a name or a number that only the question has makes the claim doubtful
_SAME = (
    0.75  # from this share of the claim's words on two sentences are about the same thing, and a yes contradicts a no
)
_BOTH = 0.6  # and of the other sentence's


@dataclass(frozen=True, slots=True)
class Objection:
    """An objection of the check to a sentence of the answer. `reason` is one sentence, for the model and for
    people."""

    sentence: str
    reason: str


@dataclass(frozen=True, slots=True)
class Checked:
    """An answer after the check. `text` is empty when nothing is: then the answer is "not found".

    `objections` are for a review of the draft, `open_claims` for the judge: what code can neither prove nor refute.
    """

    text: str
    citations: tuple[Citation, ...] = ()
    removed: tuple[str, ...] = ()
    marked: tuple[str, ...] = ()
    cited: tuple[int, ...] = ()  # the passages' own numbers, in the order of their new ones
    objections: tuple[Objection, ...] = ()
    open_claims: tuple[OpenClaim, ...] = ()


def check(
    text: str,
    hits: Mapping[int, Hit],
    language: Language,
    *,
    question: str = "",
    context: Mapping[int, Sequence[Passage]] | None = None,
    judged: bool = True,
    verdicts: Mapping[str, Verdict] | None = None,
) -> Checked:
    """Hold `text` against the passages it cites by their numbers in `hits`.

    What a check refutes is left out under a line that says so; what it can neither prove nor refute stays, marked where
    it looks doubtful and `judged` is false: nobody who reads has looked at it. `verdicts` are a judge's, by sentence
    (`OpenClaim.sentence`). Citations are renumbered from 1 in order of appearance. `context` are neighbours the model
    saw beside a passage. Pure.
    """
    evidence = {n: Evidence(hit, (context or {}).get(n, ())) for n, hit in hits.items()}
    linked = bool(addresses(text))
    retrieved = {address for each in evidence.values() for address in each.addresses} if linked else ()
    text = scrubbed(text, retrieved, cited=evidence, gap=GAP)
    found = lines(text)
    checker = _Checker(evidence, question, language, verdicts or {})
    claims = [read(line, sentence) for line in found for sentence in line.sentences]
    cites = (_linked(claims, evidence) if linked else {}) | own_citations(claims, evidence)
    for at, claim in enumerate(claims):
        if claim.kind != "glue":
            inherited = {} if at in cites else inherited_citations(claims, at, cites)
            checker.decide(claim, cites.get(at, ()), inherited, claims[:at])
        if GAP in claim.sentence.raw and not claim.refuted:
            checker.lost_address(claim)
    kept = [claim for claim in claims if claim.kept]
    objections = [Objection(c.sentence.plain, c.refuted or c.doubt) for c in claims if c.refuted or c.doubt]
    removed = [claim.sentence.plain for claim in claims if claim.refuted]
    for claim in claims:
        claim.marked = bool(claim.doubt) and (claim.grave or not judged)
        claim.kept = claim.kept or (claim.kind == "glue" and not claim.refuted)
    for heading in _drop_hollow(found, claims, checker) if kept else ():
        removed.append(heading)
        objections.append(Objection(heading, _NUMBER.to(language, what=heading)))
    marked = [claim.sentence.plain for claim in kept if claim.marked]
    for line in (each for each in found if each.kind == "code"):
        if strange := checker.strange_code(line.raw):
            objections.append(Objection(line.raw, _CODE.to(language, what=strange)))
            marked.append(line.raw)
            line.raw += f"\n{NOT_CONFIRMED.to(language).strip()}"
    cited = dict.fromkeys(n for claim in claims if claim.kept for n in claim.shown)
    if not cited:
        uncited = _UNCITED.to(language)  # a short one too, since nothing is left but for it
        objections += [Objection(c.sentence.plain, uncited) for c in kept if c.kind == "claim" and not c.doubt]
        return Checked("", removed=tuple(removed), objections=tuple(objections))
    numbering = {n: at for at, n in enumerate(cited, 1)}
    written = _written(found, claims, numbering, language)
    if removed:
        written += f"\n\n{LEFT_OUT.to(language, n=len(removed))}"
    allowed = {address for n in numbering for address in evidence[n].addresses} if linked else ()
    return Checked(
        text=filled(scrubbed(filled(written, language), allowed, gap=GAP), language),
        citations=tuple(citation(at, evidence[n], [c for c in kept if n in c.cites]) for n, at in numbering.items()),
        removed=tuple(removed),
        marked=tuple(marked),
        cited=tuple(numbering),
        objections=tuple(objections),
        open_claims=tuple(checker.open_claims(kept)),
    )


def own_citations(claims: Sequence[Claim], known: Collection[int]) -> dict[int, tuple[int, ...]]:
    """Of the sentences that cite any of these passages: their places, in order, and which they cite."""
    cited = {at: tuple(n for n in claim.sentence.cited if n in known) for at, claim in enumerate(claims)}
    return {at: own for at, own in cited.items() if own}


def _linked(claims: Sequence[Claim], evidence: Mapping[int, Evidence]) -> dict[int, tuple[int, ...]]:
    """Of the sentences that link to a page: their places, and those of its passages that share most words with each.
    Models that have been taught to search the web cite so."""
    found: dict[int, tuple[int, ...]] = {}
    for at, claim in enumerate(claims):
        there = addresses(claim.sentence.raw)
        shares = {n: each.share(claim) for n, each in evidence.items() if each.hit.passage.url in there}
        if shares:
            found[at] = tuple(n for n, share in shares.items() if share == max(shares.values()))
    return found


def inherited_citations(
    claims: Sequence[Claim], at: int, cited: Mapping[int, tuple[int, ...]]
) -> dict[tuple[int, ...], bool]:
    """The citations that a sentence without its own may lean on: those after it in its line, before it, of its block.

    With each: whether a reader sees that it holds for this sentence too, so that it need not be repeated.
    """
    claim = claims[at]
    block = [place for place in cited if place != at and _of_a_block(claims[place], claim)]
    block.sort(key=lambda place: (place < at, abs(place - at)))
    found: dict[tuple[int, ...], bool] = {}
    for places in ([place for place in block if claims[place].line is claim.line], block):
        for place in places:
            found[cited[place]] = found.get(cited[place], False) or _covers(claims[place], claim)
    return found


def _of_a_block(one: Claim, other: Claim) -> bool:
    return one.line.group == other.line.group


def _covers(one: Claim, other: Claim) -> bool:
    """Whether a reader takes the citation of one sentence for the other's too."""
    if one.line is other.line:
        return True
    quoted = one.line.kind == other.line.kind == "quote"
    return _of_a_block(one, other) and (one.line.bare or one.leads or quoted)


# -- the ruling -------------------------------------------------------------------------------------------------------


class _Checker:
    def __init__(
        self, evidence: Mapping[int, Evidence], question: str, language: Language, verdicts: Mapping[str, Verdict]
    ) -> None:
        self._evidence = evidence
        self._question = with_capital_months(question)
        self._asked = figures(self._question)
        self._digits = {*_DIGITS.findall(arabic(unicodedata.normalize("NFKC", question), claim=True))}
        self._language: Language = language
        self._verdicts = verdicts

    def decide(
        self,
        claim: Claim,
        own: tuple[int, ...],
        inherited: Mapping[tuple[int, ...], bool],
        before: Sequence[Claim],
    ) -> None:
        """Set what supports the claim, or why it is left out. `own`: what it cites; `inherited`: what it may lean on if
        it cites nothing."""
        if self._verdicts.get(claim.sentence.plain) == "contradicted":
            claim.refuted = self._said(_REFUTED)
            return
        if claim.kind == "about":
            claim.refuted = self._refute(claim, own or tuple(self._evidence), before)
            claim.kept, claim.cites, claim.shown = not claim.refuted, own, own
            return
        refuted, doubtful = "", ("", False, ())  # type: tuple[str, tuple[str, bool, tuple[int, ...]]]
        for cites in [own] if own else inherited:
            reason = self._refute(claim, cites, before)
            if reason:
                refuted = refuted or reason
                continue
            doubt, grave = self._doubt(claim, cites)
            if not doubt:
                self._keep(claim, cites, seen=inherited.get(cites, False))
                return
            if not doubtful[0]:
                doubtful = (doubt, grave, cites)
        other = self._elsewhere(claim, own, before)
        if other:
            self._keep(claim, other, seen=False)
        elif doubtful[0]:
            claim.doubt, claim.grave, cites = doubtful
            self._keep(claim, cites, seen=inherited.get(cites, False))
        else:
            claim.refuted = refuted or ("" if own or inherited else self._refute(claim, tuple(self._evidence), before))
            claim.kept = not claim.refuted
            if claim.kept and len(claim.words) >= 4 and self._verdicts.get(claim.sentence.plain) != "entailed":
                claim.doubt = self._said(_UNCITED)

    def lost_address(self, claim: Claim) -> None:
        """Object to a claim that had an invented address; one that only led to it goes too."""
        reason = self._said(_ADDRESS)
        if claim.kind == "glue" or not (claim.facts or claim.names or len(claim.words) > 2):
            claim.kept, claim.refuted = False, reason
        else:
            claim.doubt = claim.doubt or reason

    def _keep(self, claim: Claim, cites: tuple[int, ...], *, seen: bool) -> None:
        """Of several passages that are cited, those that have nothing of the claim are no sources of it."""
        claim.kept, claim.cites = True, tuple(n for n in cites if self._evidence[n].touches(claim)) or cites
        claim.shown = () if seen and not claim.sentence.cited else claim.cites

    def _said(self, reason: Text, what: str = "", result: str = "") -> str:
        return reason.to(self._language, what=what, result=result)

    def _refute(self, claim: Claim, cites: Sequence[int], before: Sequence[Claim]) -> str:
        """Why these passages together cannot say it: a wrong sum, a number or a name that they do not have."""
        sources = [self._evidence[n] for n in cites]
        claim.reckoned = ""
        sums = equations(claim.sentence.plain)
        for each in sums:
            if not each.holds:
                return self._said(_SUM, each.text, each.amount)
        right = set()
        named = any(atom.startswith("wd:") for fact in claim.facts for atom in fact.any_of)
        for day in dated(claim.sentence.plain) if named else ():
            falls = {figures.falls(day) for figures in (self._asked, *(each.figures for each in sources))}
            if True in falls:
                right.add(f"wd:{day.weekday}")
            elif False in falls:
                return self._said(_NUMBER, day.shown)
        missing: list[Fact] = [fact for fact in claim.facts if right.isdisjoint(fact.any_of)]
        for source in sources:
            missing = source.lacks(missing)
        missing = [f for f in missing if not self._asks(f) and not any(each.spells(f) for each in sources)]
        claim.computed = []
        if missing and not self._quoted(claim, sources):
            wrong = self._compute(claim, missing, sources, sums, [each for each in before if each.kept])
            if wrong:
                return self._said(_NUMBER, wrong.shown)
        alike = [each for each in sources if each.language == claim.language]
        strange = [name for name in self._strange_names(claim, sources) if name.kind != "loose"] if alike else []
        return self._said(_NAME, strange[0].text) if strange else ""

    @staticmethod
    def _quoted(claim: Claim, sources: Sequence[Evidence]) -> bool:
        return any(each.quotes(claim.sentence.plain) for each in sources)

    def _compute(
        self,
        claim: Claim,
        missing: Sequence[Fact],
        sources: Sequence[Evidence],
        sums: Sequence[Equation],
        before: Sequence[Claim],
    ) -> Fact | None:
        """Fill in what is computed of those numbers that the passages do not have; give the first that is not."""
        held = [fact for fact in claim.facts if fact not in missing]
        computed = [fact for each in before for fact in each.computed]
        sentence = Reckoning(
            claim.sentence.plain,
            claim.facts,
            held,
            facts(self._question),
            [each.facts for each in before if each.facts],
            computed,
            [each.figures for each in sources],
            sums,
        )
        while missing:
            if len(missing) > MOST:
                return missing[0]
            fact = next((each for each in missing if shown(each, sentence)), None)
            if fact is None:
                fact = next((each for each in missing if possible(each, missing, sentence)), None)
                if fact is None:
                    return missing[0]
                claim.reckoned = fact.shown
            missing = [each for each in missing if each != fact]
            for accounted in (claim.computed, computed, held):
                accounted.append(fact)
        return None

    def _asks(self, fact: Fact) -> bool:
        """Whether the question has the number, in whatever unit: "8" of "8 pm"."""
        digits = _DIGITS.findall(fact.shown)
        return self._asked.hold(fact) or (bool(digits) and self._digits.issuperset(digits))

    def _strange_names(self, claim: Claim, sources: Sequence[Evidence]) -> list[Name]:
        """Those that neither the passages nor the question have."""
        squeezed = squeeze(self._question)
        strange = [
            name
            for name in claim.names
            if not any(each.mentions(name) for each in sources) and not mentions(self._question, squeezed, name)
        ]
        known = [spelled_out(claim.sentence.plain, each.text) for each in sources] if strange else ()
        return [name for name in strange if not any(name.text in each for each in known)]

    def _doubt(self, claim: Claim, cites: Sequence[int]) -> tuple[str, bool]:
        """Why a reader should look at it, and whether it is marked even where one has. The cheapest is asked first."""
        sources = [self._evidence[n] for n in cites]
        plain = claim.sentence.plain
        verdict = self._verdicts.get(plain)
        if verdict == "not_stated":
            return self._said(_NOT_STATED), True
        stated = [fact for fact in claim.facts if fact not in claim.computed]
        missing = [fact for fact in stated if not any(each.figures.hold(fact) for each in sources)]
        said = not claim.computed and any(each.says(plain) for each in sources)
        if verdict == "entailed" or (said and (not missing or self._quoted(claim, sources))):
            return "", False
        alike = [each for each in sources if each.language == claim.language]
        strange = self._strange_names(claim, sources)
        if not alike:
            coded = next((name for name in strange if is_strong(name, claim.language)), None)
            return (self._said(_NAME, coded.text), coded.kind == "person") if coded else ("", False)
        if strange:
            return self._said(_NAME, strange[0].text), False
        if claim.reckoned:
            return self._said(_RECKONED, claim.reckoned), False
        opposite = self._opposite(claim, alike)
        if opposite:
            return self._said(_OPPOSITE, opposite), False
        share = shared(claim, sources)
        unnamed = [name for name in claim.names if not any(each.mentions(name) for each in sources)]
        held = len(claim.facts) > len(missing) or len(claim.names) > len(unnamed)
        if not held and len(claim.words) >= 4 and (not share if claim.sentence.cited else share < _STRANGE):
            return self._said(_STRANGER if claim.sentence.cited else _UNCITED), bool(claim.sentence.cited)
        alone = [] if held else missing
        asked = [*(fact.shown for fact in alone), *(n.text for n in unnamed if n not in strange)]
        if asked and (share < _KNOWN or (not denies(plain) and _otherwise(alone, alike))):
            return self._said(_ASKED, asked[0]), False
        return "", False

    def open_claims(self, claims: Sequence[Claim]) -> Iterator[OpenClaim]:
        """Those that no sentence of a passage says as they stand, and that no judge has seen; doubtful ones first."""
        for claim in sorted(claims, key=lambda claim: not claim.doubt):
            if claim.kind != "claim" or claim.sentence.plain in self._verdicts:
                continue
            cites = claim.cites or self._closest(claim)
            if cites and not any(self._evidence[n].states(claim) for n in cites):
                quote = "\n".join(self._evidence[n].window(claim) for n in cites[:2])
                yield OpenClaim(claim.sentence.plain, cites[0], quote)

    def _closest(self, claim: Claim) -> tuple[int, ...]:
        return tuple(sorted(self._evidence, key=lambda n: (-self._evidence[n].share(claim), n))[:1])

    def _elsewhere(self, claim: Claim, own: tuple[int, ...], before: Sequence[Claim]) -> tuple[int, ...]:
        """A retrieved passage that says what the cited one does not, word for word before in other words. Never two of
        them together: one's number with the other's subject would pass."""
        others = sorted(self._evidence.keys() - set(own))
        verbatim = [n for n in others if self._evidence[n].says(claim.sentence.plain)]
        for n in verbatim:
            if self._bears_out(n, claim, before):
                return (n,)
        best: tuple[float, tuple[int, ...]] = (0.0, ())
        for n in others:
            each = self._evidence[n]
            share = each.share(claim) if n not in verbatim and each.language == claim.language else 0.0
            if share >= _ENOUGH and share > best[0] and self._bears_out(n, claim, before):
                best = (share, (n,))
        return best[1]

    def _bears_out(self, n: int, claim: Claim, before: Sequence[Claim]) -> bool:
        return not self._refute(claim, (n,), before) and not self._doubt(claim, (n,))[0]

    @staticmethod
    def _opposite(claim: Claim, sources: Sequence[Evidence]) -> str:
        """A sentence on the same thing that says yes where the claim says no, if none agrees and nothing turns it."""
        plain = claim.sentence.plain
        no = denies(plain)
        found = ""
        for each in sources:
            for sentence in each.nearest(claim, _SAME):
                if denies(sentence) == no:
                    return ""
                one, other, said = turns(sentence), turns(plain), content(sentence)
                if (one == other or not (one and other)) and len(said & claim.words) >= _BOTH * len(said):
                    found = found or sentence
        return found

    def strange_code(self, block: str) -> str:
        """A word in a block of code that neither a passage nor the question has; "" where there is none."""
        known = (squeeze(self._question), *(each.squeezed for each in self._evidence.values()))
        words = _CODE_WORD.findall(_NO_CODE.sub(" ", block.partition("\n")[2]))
        return next((word for word in words if not any(squeeze(word) in each for each in known)), "")

    def heading_holds(self, heading: str) -> bool:
        return all(any(each.figures.hold(fact) for each in self._evidence.values()) for fact in facts(heading))


def _otherwise(stated: Sequence[Fact], sources: Sequence[Evidence]) -> bool:
    """Whether the passages have another figure of the unit of one of these: who asks "20 minutes?" is told so."""
    units = units_of(stated)
    return any(not units.isdisjoint(each.measured_in) for each in sources)


# -- putting it together ----------------------------------------------------------------------------------------------


def _drop_hollow(found: Sequence[Line], claims: Sequence[Claim], checker: _Checker) -> list[str]:
    """Take out what only led to something that is gone: introductions, headings, a citation on a line of its own.

    Returns the headings that have numbers of their own, which no passage has.
    """
    by_line: dict[int, list[Claim]] = {id(line): [] for line in found}
    for claim in claims:
        by_line[id(claim.line)].append(claim)

    def alive(lines: Iterable[Line]) -> bool:
        return any(
            line.kind == "code" or any(c.kept and re.search(r"\w", c.sentence.plain) for c in by_line[id(line)])
            for line in lines
        )

    for at, line in enumerate(found):
        mine = by_line[id(line)]
        if line.bare:
            told = {n for c in claims if c.kept and c.line.group == line.group and not c.line.bare for n in c.cites}
            for claim in (each for each in mine if not each.refuted):
                claim.shown = tuple(n for n in claim.sentence.cited if n in told)
                claim.kept = bool(claim.shown)
        elif mine and mine[-1].kind == "glue" and mine[-1].leads:
            block = [each for each in found[at + 1 :] if each.group == line.group]
            following = (each for each in found[at + 1 :] if each.kind not in ("blank", "head", "heading"))
            mine[-1].kept = alive(block or islice(following, 1))
    invented: list[str] = []
    for at in reversed(range(len(found))):
        line = found[at]
        if line.kind == "heading" and not checker.heading_holds(line.raw):
            invented.append(line.raw.strip("#* \t"))
            line.raw = ""
        elif line.kind in ("heading", "head") and not alive(_under(found, at)):
            line.raw = ""
    # What a sentence leaned on may have gone: then it carries its citation itself.
    for claim in claims:
        if claim.kept and claim.kind == "claim" and not claim.shown:
            near = [c for c in claims if c.kept and c is not claim and _covers(c, claim)]
            if not any(set(claim.cites) <= set(c.shown) for c in near):
                claim.shown = claim.cites
    return invented


def _under(found: Sequence[Line], at: int) -> Iterator[Line]:
    """The section of a heading, or the rows of a table's head."""
    for line in found[at + 1 :]:
        if line.kind == "heading" or (found[at].kind == "head" and line.kind not in ("row", "head")):
            return
        yield line


def _written(found: Sequence[Line], claims: Sequence[Claim], numbering: Mapping[int, int], language: Language) -> str:
    rows: list[str] = []
    for line in found:
        row = line.kind == "row"
        said = ""
        for claim in (c for c in claims if c.line is line and c.kept):
            raw = rewritten(claim.sentence.raw, numbering, claim.shown, row=row)
            said += put_behind(raw, NOT_CONFIRMED.to(language), row=row) if claim.marked else raw
        if line.kind == "blank" or line.raw or said.strip():
            rows.append(line.raw or (line.prefix + said).rstrip())
    rows = [row for at, row in enumerate(rows) if row != ">" or _between_quotations(rows, at)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(rows)).strip("\n")


def _between_quotations(rows: Sequence[str], at: int) -> bool:
    around = [*rows[max(at - 1, 0) : at], *rows[at + 1 : at + 2]]
    return len(around) == 2 and all(row.startswith(">") for row in around)
