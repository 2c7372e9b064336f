"""Whether quoted passages speak of what was asked, so that a true quotation about something else is not an answer."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from agent.asking import Asked, asked, has_number, measures, states
from agent.queries import FILLER, keywords, stripped
from agent.quoting import Unit, units
from agent.vocabulary import synonyms, unknown
from retrieval.text import language_of, normalise
from retrieval.types import Hit

Tokenise = Callable[[str], Sequence[str]]

_SAMPLE = 5  # passages that serve to estimate how rare a word is
_PRIOR = 20  # units without any word, added so that a handful of hits does not make common words look rare
_SYNONYM = 0.8  # of a word that stands there only as another word for it
_FILLER_WEIGHT = 0.15  # of words that only ask
# Share of the question, by rarity, that the passages together and one quotation with its headings must mention. Low:
# relevance has judged before, and people and documents name things differently. Measured: what answers is above.
_ENOUGH, _ENOUGH_QUOTED = 0.25, 0.25
# Across scripts: the share of what can be compared that must be there, and the least if similarity speaks for it too.
_COMPARED, _COMPARED_ALIKE = 0.5, 0.25
_TRUSTED = 0.5  # relevance from which a passage in the other script is believed though no word can be compared
_OUTSTANDS = 1.2  # standard deviations by which a sentence must be nearer than the passages' others

# Words that most questions of an office could have: alone they connect nothing.
_COMMON = frozenset(
    [
        "社員",
        "従業員",
        "申請",
        "手続き",
        "手順",
        "方法",
        "連絡",
        "連絡先",
        "質問",
        "利用者",
        "ユーザー",
        "登録",
        "提出",
        "更新",
        "変更",
        "担当者",
        "担当",
        "部署",
        "部門",
        "社内",
        "オフィス",
        "事務所",
        "書類",
        "文書",
        "チーム",
        "employee",
        "staff",
        "request",
        "application",
        "apply",
        "process",
        "procedure",
        "contact",
        "question",
        "user",
        "registration",
        "register",
        "submit",
        "update",
        "change",
        "person",
        "department",
        "division",
        "internal",
        "office",
        "document",
        "team",
        "how",
        "to",
        "steps",
        "form",
        "date",
    ]
)
_IDENTIFIER = re.compile(
    r"(?<![a-z0-9])(?:[a-z]{1,6}[-_]?\d{2,}(?:[-.]\d+)*|[a-z]+_[a-z_]+|\d+(?:\.\d+){2,})"
    r"|(?:(?:error|code|port|room|エラー|コード|ポート|会議室)[ :#]?)(\d{3,})(?!\d)"
)
_YEAR = re.compile(r"(?<!\d)(?:(19\d\d|20\d\d)(?=年|[^\d,.円]|$)|(令和|平成)(\d{1,2}|元)年)")
_EXISTS = re.compile(
    r"\b(?:is|are) there (?:an? |any |some )?(?P<of>.+)|\bdo (?:we|you|they) (?:have|get|offer|provide) (?:an? |any |some )?(?P<ours>.+)"
)


@dataclass(frozen=True, slots=True)
class Quote:
    """What is quoted of `hits[hit]`, as it stands there. `context` is the heading it needs to be understood."""

    text: str
    hit: int
    score: float
    kind: str  # sentence · item · row · list · code · pair
    context: str = ""


def addresses(
    question: str,
    hits: Sequence[Hit],
    quotes: Sequence[Quote],
    *,
    tokenise: Tokenise,
    idf: Mapping[str, float] | None = None,
    similarities: Mapping[str, float] | None = None,
) -> bool:
    """Whether the quoted passages speak of what was asked: its rare words, its identifiers, a number for "how many".

    Across scripts names, numbers and general workplace words are compared; where there are none, relevance and
    `similarities` (quotable text → cosine) tell.
    """
    quoted = [hits[quote.hit].passage for quote in quotes]
    read = [" ".join((p.title, *p.headings, p.question or "", p.text)) for p in quoted]
    if _names_another(question, " ".join(read + [p.document for p in quoted])):
        return False
    wanted = asked(question)
    if not any(states(quote.text, wanted) for quote in quotes):
        return False
    if wanted.kinds[0] == "amount" and not any(has_number(text) for text in read):
        return False
    if all(language_of(p.text) != language_of(question) for p in quoted):
        return _across(question, wanted, hits, quotes, tokenise, similarities or {})
    aliases = aliases_of(question, tokenise)
    weights = term_weights(question, hits, tokenise, idf)
    filler = _filler(tokenise)
    weights = {term: weight for term, weight in weights.items() if term not in filler} or weights
    total = sum(weights.values())
    if not total:
        return True
    passage = frozenset(term for text in read for term in tokenise(text))
    near = [
        frozenset(tokenise(" ".join((quote.text, p.title, *p.headings, p.question or ""))))
        for quote, p in zip(quotes, quoted, strict=True)
    ]
    things = {term for word in keywords(stripped(question)).split() for term in tokenise(word)}
    if language_of(question) == "ja" and things and not any(holds(passage, thing, aliases) for thing in things):
        return False
    if not _exists(question, " ".join(" ".join((quote.text, quote.context)) for quote in quotes), aliases, tokenise):
        return False
    mentioned = sum(weight * holds(passage, term, aliases) for term, weight in weights.items()) / total
    said = max(sum(weight * holds(terms, term, aliases) for term, weight in weights.items()) for terms in near) / total
    return mentioned >= _ENOUGH and said >= _ENOUGH_QUOTED


def _exists(question: str, quoted: str, aliases: Mapping[str, list[frozenset[str]]], tokenise: Tokenise) -> bool:
    """For "is there a company car?": whether two words of the thing stand side by side, as they are asked for."""
    found = _EXISTS.search(normalise(question))
    if not found:
        return True
    thing = re.split(
        r"\b(?:for|in|at|on|to|of|when|if|that|which|from|with|about)\b", found.group("of") or found.group("ours")
    )[0]
    terms = [term for term in tokenise(thing) if term not in _filler(tokenise)]
    if len(terms) < 2:
        return True
    told = list(tokenise(quoted))
    pairs = {(one, other) for at, one in enumerate(told) for other in told[at + 1 : at + 3]}
    if any(pair in pairs for pair in pairwise(terms)):
        return True
    others = [other for term in terms for other in aliases.get(term, ()) if not other <= set(terms)]
    return any(other <= frozenset(told) for other in others)


def _across(
    question: str,
    wanted: Asked,
    hits: Sequence[Hit],
    quotes: Sequence[Quote],
    tokenise: Tokenise,
    similarities: Mapping[str, float],
) -> bool:
    """Whether passages in the other script are about it: words that can be compared, else meaning alone."""
    if wanted.counter and not any(measures(quote.text, wanted) for quote in quotes):
        return False
    parts = [
        " ".join((quote.text, quote.context, p.title, *p.headings, p.question or "", p.document))
        for quote in quotes
        for p in (hits[quote.hit].passage,)
    ]
    near = max((compared(question, text, tokenise) for text in parts), key=lambda pair: pair[0], default=(0.0, 0.0))
    whole = compared(question, " ".join(parts + [hits[quote.hit].passage.text for quote in quotes]), tokenise)
    relevance = max(hits[quote.hit].relevance for quote in quotes)
    alike = outstanding(quotes[0].text, similarities)
    if not whole[1]:
        return relevance >= _TRUSTED and alike >= _OUTSTANDS
    if whole[0] >= _COMPARED and near[0] > 0:
        return True
    return whole[0] >= _COMPARED_ALIKE and relevance >= _TRUSTED and alike >= _OUTSTANDS


def compared(question: str, text: str, tokenise: Tokenise) -> tuple[float, float]:
    """The share of the question's comparable words that `text` in the other script has, and how much there was to compare.

    Known words count for their translations, names and numbers as written; unknown words count as missing, but less.
    """
    terms = frozenset(tokenise(text))
    plain = normalise(text)
    held = total = 0.0
    for word, forms in synonyms(question):
        weight = 0.3 if word in _COMMON else 1.0
        total += weight
        held += weight * any(frozenset(found) <= terms for form in forms if (found := tokenise(form)))
    if not total and not any(word.isascii() for word in unknown(question)):
        return 0.0, 0.0
    for word in unknown(question):
        # Names and numbers are written alike; other words simply are not in the vocabulary.
        there = word.isascii() and word in plain
        weight = 1.0 if there else 0.4
        total += weight
        held += weight * there
    return (held / total if total else 0.0), total


def outstanding(text: str, similarities: Mapping[str, float]) -> float:
    """By how many standard deviations a quotable text is nearer to the question than the others. 0 where unknown."""
    values = list(similarities.values())
    own = max((value for known, value in similarities.items() if known in text or text in known), default=None)
    if own is None or len(values) < 3:
        return 0.0
    mean = sum(values) / len(values)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    return (own - mean) / deviation if deviation else 0.0


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


# -- the question's words -------------------------------------------------------------------------------------------


def units_of(hit: Hit) -> tuple[Unit, ...]:
    return units(hit.passage.text, hit.passage.headings, hit.passage.question)


def term_weights(
    question: str, hits: Sequence[Hit], tokenise: Tokenise, idf: Mapping[str, float] | None
) -> dict[str, float]:
    """The question's terms and how rare each is, among all units of the hits unless `idf` knows better."""
    terms = dict.fromkeys(tokenise(stripped(question))) or dict.fromkeys(tokenise(question))
    filler = _filler(tokenise)
    if idf is not None:
        rarest = max(idf.values(), default=1.0)
        return {term: idf.get(term, rarest) * (_FILLER_WEIGHT if term in filler else 1.0) for term in terms}
    texts = [
        frozenset(tokenise(" ".join((unit.text, *unit.headings)))) for hit in hits[:_SAMPLE] for unit in units_of(hit)
    ]
    count = len(texts)
    return {
        term: math.log(1 + (count + _PRIOR - seen) / (seen + 1)) * (_FILLER_WEIGHT if term in filler else 1.0)
        for term in terms
        for seen in (sum(term in text for text in texts),)
    }


@lru_cache(maxsize=4)
def _filler(tokenise: Tokenise) -> frozenset[str]:
    return frozenset(tokenise(FILLER))


def aliases_of(question: str, tokenise: Tokenise) -> dict[str, list[frozenset[str]]]:
    """For the question's terms the terms of other general words for the same thing, in either language."""
    found: dict[str, list[frozenset[str]]] = {}
    for word, forms in synonyms(question):
        others = [frozenset(terms) for form in forms if (terms := tokenise(form))]
        for term in tokenise(word):
            found.setdefault(term, []).extend(others)
    return found


def holds(terms: frozenset[str], term: str, aliases: Mapping[str, list[frozenset[str]]]) -> float:
    """1 when `term` is among `terms`, less when only another word for it is, else 0."""
    if term in terms:
        return 1.0
    return _SYNONYM if any(other <= terms for other in aliases.get(term, ())) else 0.0
