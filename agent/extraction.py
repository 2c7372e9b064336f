"""Chooses the few sentences of the retrieved passages that answer a question, or finds that none of them does."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from agent.asking import Asked, asked, has_number, offers
from agent.queries import keywords, stripped
from agent.quoting import LONGEST, Unit, units
from agent.vocabulary import synonyms, translations
from retrieval.text import language_of, normalise
from retrieval.types import Hit

Tokenise = Callable[[str], Sequence[str]]

PASSAGES = 3  # the best passages are read
_SAMPLE = 5  # and this many serve to estimate how rare a word is
MANY = 8  # items of a list that is quoted whole

# How much a word of the question counts when it stands not in the sentence but …
_IN_HEADING, _IN_LEAD, _IN_PASSAGE = 0.7, 0.5, 0.15
_SYNONYM = 0.8  # … or only in another word for it
_PRIOR = 20  # units without any word, added so that a handful of hits does not make common words look rare
_BIGRAMS = 0.5  # the weight of common character pairs: they carry over inflection and compounds
_FORM = 0.25  # of having the form of an answer (a date for "when")
_LENGTH, _USUAL = 0.3, 25  # how hard long sentences are held down; terms of a usual one
_BESIDE, _COMPLETES, _REFERS = 0.03, 0.1, 0.05  # a second quotation next to the first; giving the form it lacks
# Share of the question, by rarity, that the passages and that the quotations with their headings must mention. Low:
# relevance has judged before, and people and documents name things differently.
_ENOUGH, _ENOUGH_QUOTED = 0.2, 0.1
_TRUSTED = 0.5  # relevance from which a passage in the other script is believed though no word can be compared
_WORTH = 0.4  # of the best quotation's score: what is weaker is left out

_ANAPHOR = re.compile(
    r"^[「『（(]?(?:同[年月日地氏国社]|これ|それ|この|その|ここ|そこ|彼|こうした|そうした|当該|当時|翌[年月日]|また|しかし|さらに|ただし|なお|上記|前述"
    r"|(?:he|she|it|they|this|these|those|that|his|her|their|its|however|most|such|otherwise|in this case)\b)",
    re.IGNORECASE,
)
_INTRODUCES = re.compile(
    r"(?:[:：]|(?:以下|次)の(?:とおり|通り|手順|もの|方法)[^。]*(?:です|ます)?[。．]?|following[^.]*[.:])$"
)
_DIGITS = re.compile(r"\d[\d,.]*")
_CAPITALISED = re.compile(r"\b[A-Z][\w'’-]+")
_IDENTIFIER = re.compile(
    r"(?<![a-z0-9])(?:[a-z]{1,6}[-_]?\d{2,}(?:[-.]\d+)*|[a-z]+_[a-z_]+|\d+(?:\.\d+){2,})"
    r"|(?:(?:error|code|port|room|エラー|コード|ポート|会議室)[ :#]?)(\d{3,})(?!\d)"
)
_YEAR = re.compile(r"(?<!\d)(?:(19\d\d|20\d\d)(?=年|[^\d,.円]|$)|(令和|平成)(\d{1,2}|元)年)")


@dataclass(frozen=True, slots=True)
class Quote:
    """What is quoted of `hits[hit]`, as it stands there. `context` is the heading it needs to be understood."""

    text: str
    hit: int
    score: float
    kind: str  # sentence · item · row · list · code · pair
    context: str = ""


@dataclass(frozen=True, slots=True)
class _Candidate:
    unit: Unit
    hit: int
    place: int  # in its passage
    score: float
    form: float
    terms: frozenset[str]
    covered: float  # share of the question in unit, lead and headings


def quotable(hits: Sequence[Hit]) -> list[str]:
    """The texts among which `compose` chooses, for a caller that scores them by meaning."""
    return [unit.text for hit in hits[:PASSAGES] for unit in _units(hit)]


def crosses(question: str, hits: Sequence[Hit]) -> bool:
    """Whether words cannot decide because one of the passages to read is in the other script."""
    return any(language_of(hit.passage.text) != language_of(question) for hit in hits[:PASSAGES])


def compose(
    question: str,
    hits: Sequence[Hit],
    *,
    tokenise: Tokenise,
    idf: Mapping[str, float] | None = None,
    similarities: Mapping[str, float] | None = None,
    limit: int = 2,
) -> list[Quote]:
    """At most `limit` quotations of `hits` (best first) that answer `question`; none when they do not answer it.

    `idf` (term → weight) is estimated from the hits when absent: measured, it chooses as well. `similarities`
    (quotable text → cosine with the question) decides where question and passage differ in script.
    """
    tokenise = cache(tokenise)
    ranked = choose(question, hits, tokenise=tokenise, idf=idf, similarities=similarities, limit=limit)
    return ranked if ranked and addresses(question, hits, ranked, tokenise=tokenise, idf=idf) else []


def choose(
    question: str,
    hits: Sequence[Hit],
    *,
    tokenise: Tokenise,
    idf: Mapping[str, float] | None = None,
    similarities: Mapping[str, float] | None = None,
    limit: int = 2,
) -> list[Quote]:
    """The best quotations, whether or not they answer."""
    wanted = asked(question)
    read = [_units(hit) for hit in hits[:PASSAGES]]
    weights = _weights(question, hits, tokenise, idf)
    candidates = _scored(question, wanted, hits, read, weights, tokenise, similarities or {})
    chosen = _best(candidates, limit)
    quotes: list[Quote] = []
    for candidate in chosen:
        quote = _quote(candidate, read[candidate.hit], hits[candidate.hit], wanted, question, weights)
        if all(quote.hit != other.hit or quote.text not in other.text for other in quotes):
            quotes = [other for other in quotes if other.hit != quote.hit or other.text not in quote.text]
            quotes.append(quote)
    return quotes


def addresses(
    question: str,
    hits: Sequence[Hit],
    quotes: Sequence[Quote],
    *,
    tokenise: Tokenise,
    idf: Mapping[str, float] | None = None,
) -> bool:
    """Whether the quoted passages speak of what was asked: its rare words, its identifiers, a number for "how many".

    Across scripts only names and general workplace words can be compared; where they do not tell, relevance does.
    """
    quoted = [hits[quote.hit].passage for quote in quotes]
    read = [" ".join((p.title, *p.headings, p.question or "", p.text)) for p in quoted]
    if _names_another(question, " ".join(read + [p.document for p in quoted])):
        return False
    wanted = asked(question)
    if wanted.kinds[0] == "amount" and not any(has_number(text) for text in read):
        return False
    aliases = _aliases(question, tokenise)
    if all(language_of(p.text) != language_of(question) for p in quoted):
        return (
            _speaks_of(question, " ".join(read), aliases, tokenise)
            or max(hits[quote.hit].relevance for quote in quotes) >= _TRUSTED
        )
    weights = _weights(question, hits, tokenise, idf)
    total = sum(weights.values())
    if not total:
        return True
    passage = frozenset(term for text in read for term in tokenise(text))
    near = frozenset(
        term
        for quote, p in zip(quotes, quoted, strict=True)
        for term in tokenise(" ".join((quote.text, p.title, *p.headings, p.question or "")))
    )
    things = {term for word in keywords(stripped(question)).split() for term in tokenise(word)}
    if language_of(question) == "ja" and things and not any(_holds(passage, thing, aliases) for thing in things):
        return False
    mentioned = sum(weight * _holds(passage, term, aliases) for term, weight in weights.items()) / total
    said = sum(weight * _holds(near, term, aliases) for term, weight in weights.items()) / total
    return mentioned >= _ENOUGH and said >= _ENOUGH_QUOTED


def _speaks_of(question: str, passages: str, aliases: Mapping[str, list[frozenset[str]]], tokenise: Tokenise) -> bool:
    """Whether passages in the other script share at least half of what can be compared: general words and names."""
    terms = frozenset(tokenise(passages))
    comparable = set(aliases) | {
        term for term in tokenise(question) if term.isascii() and language_of(question) == "ja"
    }
    return sum(bool(_holds(terms, term, aliases)) for term in comparable) * 2 >= len(comparable) > 0


def _names_another(question: str, passages: str) -> bool:
    """Whether the question names a code the passages lack, or a year while the passages speak of other years only."""
    asked_, told = normalise(question), normalise(passages)
    if any((found.group(1) or found.group()) not in told for found in _IDENTIFIER.finditer(asked_)):
        return True
    years = _years(asked_)
    return bool(years and _years(told) and not years & _years(told))


def _years(text: str) -> frozenset[int]:
    found = set()
    for western, era, number in _YEAR.findall(text):
        found.add(
            int(western) if western else {"令和": 2018, "平成": 1988}[era] + (1 if number == "元" else int(number))
        )
    return frozenset(found)


# -- scoring --------------------------------------------------------------------------------------------------------


def _units(hit: Hit) -> tuple[Unit, ...]:
    return units(hit.passage.text, hit.passage.headings, hit.passage.question)


def _weights(
    question: str, hits: Sequence[Hit], tokenise: Tokenise, idf: Mapping[str, float] | None
) -> dict[str, float]:
    """The question's terms and how rare each is, among all units of the hits unless `idf` knows better."""
    terms = dict.fromkeys(tokenise(stripped(question))) or dict.fromkeys(tokenise(question))
    if idf is not None:
        rarest = max(idf.values(), default=1.0)
        return {term: idf.get(term, rarest) for term in terms}
    texts = [
        frozenset(tokenise(" ".join((unit.text, *unit.headings)))) for hit in hits[:_SAMPLE] for unit in _units(hit)
    ]
    count = len(texts)
    return {
        term: math.log(1 + (count + _PRIOR - seen) / (seen + 1))
        for term in terms
        for seen in (sum(term in text for text in texts),)
    }


def _aliases(question: str, tokenise: Tokenise) -> dict[str, list[frozenset[str]]]:
    """For the question's terms the terms of other general words for the same thing, in either language."""
    found: dict[str, list[frozenset[str]]] = {}
    for word, forms in synonyms(question):
        others = [frozenset(terms) for form in forms if (terms := tokenise(form))]
        for term in tokenise(word):
            found.setdefault(term, []).extend(others)
    return found


def _holds(terms: frozenset[str], term: str, aliases: Mapping[str, list[frozenset[str]]]) -> float:
    if term in terms:
        return 1.0
    return _SYNONYM if any(other <= terms for other in aliases.get(term, ())) else 0.0


def _scored(
    question: str,
    wanted: Asked,
    hits: Sequence[Hit],
    read: Sequence[Sequence[Unit]],
    weights: Mapping[str, float],
    tokenise: Tokenise,
    similarities: Mapping[str, float],
) -> list[_Candidate]:
    total = sum(weights.values()) or 1.0
    best = max((hit.relevance for hit in hits), default=0.0) or 1.0
    language = language_of(question)
    pairs = _pairs(question)
    aliases = _aliases(question, tokenise)
    foreign = frozenset(term for word in translations(question) for term in tokenise(word))
    spread = _spread(similarities.get(unit.text) for group in read for unit in group)
    found: list[_Candidate] = []
    for number, group in enumerate(read):
        hit = hits[number]
        rank = hit.relevance / best
        across = language_of(hit.passage.text) != language
        unit_terms = [tuple(tokenise(unit.text)) for unit in group]
        everywhere = frozenset(term for terms in unit_terms for term in terms)
        for place, (unit, terms) in enumerate(zip(group, unit_terms, strict=True)):
            own = frozenset(terms)
            heading = frozenset(tokenise(" ".join((hit.passage.title, *unit.headings))))
            lead = frozenset(tokenise(unit.lead)) if unit.lead else frozenset()
            # A pair's question is the best description of its answer.
            lead_weight = 1.0 if unit.kind == "pair" else _IN_LEAD
            covered = 0.0
            for term, weight in weights.items():
                covered += weight * max(
                    _holds(own, term, aliases),
                    lead_weight * _holds(lead, term, aliases),
                    _IN_HEADING * _holds(heading, term, aliases),
                    _IN_PASSAGE * (term in everywhere),
                )
            covered /= total
            score = covered + _BIGRAMS * (len(pairs & _pairs(unit.text)) / len(pairs) if pairs else 0.0)
            if across:
                known = len(foreign & (own | heading)) / len(foreign) if foreign else 0.0
                score = 0.6 * spread(similarities.get(unit.text)) + 0.4 * known + covered
            form = offers(_without(unit.text, question), wanted)
            told = score > 0 and bool(own - set(weights) or unit.kind in ("code", "row"))
            score /= 1 + _LENGTH * math.log(1 + len(terms) / _USUAL)
            score = rank * (score + (_FORM * form if told else 0.0)) * (1.0 if told else 0.5)
            found.append(_Candidate(unit, number, place, score, form, own, covered))
    return sorted(found, key=lambda candidate: (-candidate.score, candidate.hit, candidate.place))


def _best(candidates: Sequence[_Candidate], limit: int) -> list[_Candidate]:
    chosen: list[_Candidate] = []
    while len(chosen) < limit:
        open_ = [candidate for candidate in candidates if candidate not in chosen and candidate.score > 0]
        if chosen:
            open_ = [candidate for candidate in open_ if candidate.score >= _WORTH * chosen[0].score]
        if not open_:
            break
        chosen.append(max(open_, key=lambda candidate: candidate.score + _beside(candidate, chosen)))
    return chosen


def _beside(candidate: _Candidate, chosen: Sequence[_Candidate]) -> float:
    """What a candidate gains next to a chosen sentence: it may name what that one only points at."""
    gained = 0.0
    for first in chosen:
        step = candidate.place - first.place
        if candidate.hit == first.hit and abs(step) == 1:
            gained += _BESIDE
            gained += _COMPLETES * (first.form == 0 and candidate.form == 1)
            gained += _REFERS * (step == -1 and bool(_ANAPHOR.match(first.unit.text)))
        if first.terms and candidate.terms == first.terms:
            gained -= 1.0  # the same sentence out of another passage
    return gained


def _without(text: str, question: str) -> str:
    """`text` without the numbers and names the question itself gives: they cannot be its answer."""
    given = set(_DIGITS.findall(question))
    names = {word.lower() for word in re.findall(r"[\w'’-]+", question)}
    text = _DIGITS.sub(lambda number: "" if number.group() in given else number.group(), text)
    return _CAPITALISED.sub(lambda name: "" if name.group().lower() in names else name.group(), text)


def _pairs(text: str) -> frozenset[str]:
    plain = re.sub(r"\s+", "", normalise(text))
    return frozenset(plain[at : at + 2] for at in range(len(plain) - 1))


def _spread(values: Iterable[float | None]) -> Callable[[float | None], float]:
    """Cosines stretched to 0..1: an embedder's own range says nothing."""
    known = [value for value in values if value is not None]
    low, high = (min(known), max(known)) if known else (0.0, 0.0)
    return lambda value: 0.0 if value is None else (value - low) / (high - low) if high > low else 1.0


# -- quoting --------------------------------------------------------------------------------------------------------


def _quote(
    candidate: _Candidate,
    group: Sequence[Unit],
    hit: Hit,
    wanted: Asked,
    question: str,
    weights: Mapping[str, float],
) -> Quote:
    unit = candidate.unit
    text, kind = unit.text, str(unit.kind)
    items = _list_of(candidate, group, wanted)
    if items:
        intro = [unit.text] if unit.kind == "sentence" else []
        text, kind = "\n".join(intro + [f"{item.number or '・'} {item.text}" for item in items]), "list"
    elif unit.kind == "sentence" and _INTRODUCES.search(unit.text) and _kind_at(group, candidate.place + 1) == "code":
        text, kind = f"{unit.text}\n```\n{group[candidate.place + 1].text}\n```", "code"
    elif unit.kind == "code":
        text = f"```\n{unit.text}\n```"
    context = ""
    unclear = (
        kind in ("item", "row", "list", "code")
        or bool(_ANAPHOR.match(unit.text))
        or not (candidate.terms & set(weights))
        or len(unit.text) < (25 if language_of(unit.text) == "ja" else 60)
    )
    if unclear and unit.kind != "pair":
        context = next(
            (name for name in reversed((hit.passage.title, *unit.headings)) if name and name not in text), ""
        )
    return Quote(text, candidate.hit, candidate.score, kind, context)


def _kind_at(group: Sequence[Unit], place: int) -> str:
    return group[place].kind if place < len(group) else ""


def _list_of(candidate: _Candidate, group: Sequence[Unit], wanted: Asked) -> list[Unit]:
    """The whole list when it is the answer: it was introduced by the chosen sentence, or steps were asked for."""
    unit, place = candidate.unit, candidate.place
    if unit.kind == "sentence" and _INTRODUCES.search(unit.text) and _kind_at(group, place + 1) == "item":
        members = [other for other in group if other.kind == "item" and other.group == group[place + 1].group]
    elif unit.kind == "item" and ("how" in wanted or _INTRODUCES.search(unit.lead)):
        members = [other for other in group if other.kind == "item" and other.group == unit.group]
        if "how" in wanted and not any(other.number for other in members) and not _INTRODUCES.search(unit.lead):
            return []
    else:
        return []
    whole = 2 <= len(members) <= MANY and sum(len(other.text) for other in members) <= 2 * LONGEST
    return members if whole else []
