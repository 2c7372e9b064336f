"""Chooses the few sentences of the retrieved passages that answer a question, or finds that none of them does."""

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from agent.asking import Asked, asked, denied, offers
from agent.quoting import LONGEST, Unit
from agent.support import Quote, addresses, aliases_of, holds, term_weights, units_of
from agent.vocabulary import translations
from retrieval.text import Language, language_of, normalise
from retrieval.types import Hit

Tokenise = Callable[[str], Sequence[str]]

PASSAGES = 3  # the best passages are read
_REMEMBERED = 1024  # texts whose terms are kept: those of a few turns
MANY = 8  # items of a list that is quoted whole

# How much a word of the question counts when it stands not in the sentence but in a heading, in the sentence before,
# more where the sentence points back there, or only further away: then it speaks for another sentence.
_IN_HEADING, _IN_LEAD, _POINTED_AT, _FAR = 0.5, 0.4, 0.2, -0.3
_NEAR = 2  # sentences to either side
_CHARACTERS = 0.45  # the weight of common character sequences: they carry over inflection, compounds and misspellings
_FORM = 0.35  # of having the form of an answer (a date for "when")
_FORM_DECISIVE = 0.6  # … where little else can be one: an address, a number, a code, a name, a command
_DECISIVE = frozenset(["email", "phone", "code", "name", "command"])
_LENGTH, _USUAL = 0.3, 25  # how hard long sentences are held down; terms of a usual one
# A passage was judged by its relevance before and is read now, so its rank counts for little: a hundredth of the best
# passage's relevance halves a sentence's score. What is under `_DOUBT` is all alike.
_RELEVANCE, _DOUBT = 0.15, 0.01
_GAIN = 1.0  # of a second quotation's having words of the question that the first lacks
_BESIDE, _COMPLETES, _REFERS = 0.03, 0.1, 0.05  # of its standing next to the first; giving the form it lacks
# Of the best quotation's score: what is weaker is left out. From the same passage, from another, from another that
# has not the form of an answer where the first one has.
_WORTH, _WORTH_ELSEWHERE, _WORTH_UNLIKE = 0.3, 0.4, 0.55
_SAME_SCRIPT, _OTHER_SCRIPT = 0.4, 0.7  # with so relevant passages in the asker's script the other one counts less
_UNMEASURED = 0.7  # of a sentence in the other script without the number that was asked for
_FRAGMENT = 0.7  # of a line that is no sentence

_ANAPHOR = re.compile(
    r"^[「『（(]?(?:同[年月日地氏国社]|これ|それ|この|その|ここ|そこ|彼|こうした|そうした|当該|当時|翌[年月日]|また|しかし|さらに|ただし|なお|上記|前述"
    r"|(?:he|she|it|they|this|these|those|that|his|her|their|its|however|most|such|otherwise|in this case)\b)",
    re.IGNORECASE,
)
_POINTS_BACK = re.compile(r"^(?:これ|この|それ|その|同[年月日]|(?:it|this|these|they|that)\b)", re.IGNORECASE)
_INTRODUCES = re.compile(
    r"(?:[:：]|(?:以下|次)の(?:とおり|通り|手順|もの|方法)[^。]*(?:です|ます)?[。．]?|following[^.]*[.:])$"
)
_ANNOUNCES = re.compile(
    r"[:：]$|(?<![0-9０-９一-龯])(?:以下|下記|次)の(?:とおり|通り|手順|もの|方法|コマンド|リンク|表|リスト|ページ)[^。]*[。．]?$"
    r"|\b(?:steps?|process|instructions?|links?|table|list|form|sections?|guide|procedure|details|options|commands?|examples?) below\b|\bbelow[.:]$"
    r"|\bas follows\b[.:]?$|\bthe following (?!(?:years?|months?|weeks?|days?|mornings?|evenings?|nights?|seasons?|decades?|centur\w+)\b)[^.]{0,60}[.:]$|^this page (?:outlines|describes|explains|covers|contains|is about)",
    re.IGNORECASE,
)
_LABEL = re.compile(r"^[^:：。.!?]{1,40}(?:：|: )\s*(\S.*)$")
_WANTS_LINKS = re.compile(
    r"リンク|url|ページ|サイト|フォーム|ドキュメント|資料|トラッカー|\b(?:where|links?|urls?|pages?|sites?|websites?|forms?|docs?|documentation|guides?|trackers?)\b"
)
_ACCENTED, _ACCENT = re.compile(r"[\u00c0-\u024f]"), re.compile(r"[\u0300-\u036f]")
_DIGITS = re.compile(r"\d[\d,.]*")
_CAPITALISED = re.compile(r"\b[A-Z][\w'’-]+")


@dataclass(frozen=True, slots=True)
class _Candidate:
    unit: Unit
    hit: int
    place: int  # in its passage
    score: float
    form: float
    terms: frozenset[str]
    held: Mapping[str, float]  # of each term of the question its share in it, as far as unit, lead or headings have it


def quotable(hits: Sequence[Hit]) -> list[str]:
    """The texts among which `compose` chooses, for a caller that scores them by meaning."""
    return [unit.text for group in _read(hits) for unit in group]


def crosses(question: str, hits: Sequence[Hit]) -> bool:
    """Whether words cannot decide because one of the passages to read is in the other script."""
    read = zip(hits, _read(hits), strict=True)
    return any(group and language_of(hit.passage.text) != language_of(question) for hit, group in read)


def _read(hits: Sequence[Hit]) -> list[tuple[Unit, ...]]:
    """The units of the hits that are read: the best that are more than links. Empty for the others."""
    read: list[tuple[Unit, ...]] = []
    for hit in hits:
        full = sum(map(bool, read)) >= PASSAGES
        found = () if full else units_of(hit)
        read.append(found if any(not unit.leads_away for unit in found) else ())
    return read if any(read) else [units_of(hit) for hit in hits[:PASSAGES]] + [() for _ in hits[PASSAGES:]]


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
    terms = reader(tokenise)
    ranked = choose(question, hits, tokenise=tokenise, idf=idf, similarities=similarities, limit=limit)
    answers = ranked and addresses(question, hits, ranked, tokenise=terms, idf=idf, similarities=similarities)
    return ranked if answers else []


@lru_cache(maxsize=4)
def reader(tokenise: Tokenise) -> Tokenise:
    """`tokenise` as questions and passages are compared: without accents, and remembering what it has read. One turn
    reads the same passages for each of its steps."""
    return lru_cache(maxsize=_REMEMBERED)(lambda text: tuple(tokenise(_plain(text))))


def _plain(text: str) -> str:
    """`text` with Latin letters without their accents: "Céloron" is asked for as "Celeron". Kana keep their marks."""
    if text.isascii() or not _ACCENTED.search(text):
        return text
    return unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFD", text)))


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
    tokenise = reader(tokenise)
    wanted = asked(question)
    read = _read(hits)
    weights = term_weights(question, hits, tokenise, idf)
    candidates = _scored(question, wanted, hits, read, weights, tokenise, similarities or {})
    chosen = _best(candidates, limit)
    quotes: list[Quote] = []
    for candidate in chosen:
        quote = _quote(candidate, read[candidate.hit], hits[candidate.hit], wanted, question, weights)
        if quote.kind == "list" and any(other.kind == "list" and other.hit != quote.hit for other in quotes):
            continue  # one procedure is enough
        if all(quote.hit != other.hit or quote.text not in other.text for other in quotes):
            quotes = [other for other in quotes if other.hit != quote.hit or other.text not in quote.text]
            quotes.append(quote)
    if len(chosen) == len(quotes) == 2 and _POINTS_BACK.match(quotes[0].text):
        first, second = chosen
        if (first.hit, first.place) == (second.hit, second.place + 1):
            quotes.reverse()  # what a sentence points at comes before it
    return quotes


# -- scoring --------------------------------------------------------------------------------------------------------


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
    form_weight = _FORM_DECISIVE if wanted.kinds[0] in _DECISIVE else _FORM
    own_script = any(
        language_of(hit.passage.text) == language and hit.relevance >= _SAME_SCRIPT * best for hit in hits[:PASSAGES]
    )
    links = bool(_WANTS_LINKS.search(normalise(question)))
    characters = _characters(question, language)
    aliases = aliases_of(question, tokenise)
    foreign = frozenset(term for word in translations(question) for term in tokenise(word))
    spread = _spread(similarities.get(unit.text) for group in read for unit in group)
    found: list[_Candidate] = []
    for number, group in enumerate(read):
        hit = hits[number]
        rank = (hit.relevance + _DOUBT) / (best + _DOUBT)
        across = language_of(hit.passage.text) != language
        if not across:
            rank **= _RELEVANCE
        elif own_script:
            rank *= _OTHER_SCRIPT
        told_in = [frozenset(tokenise(unit.text)) for unit in group]
        everywhere = frozenset().union(*told_in)
        for place, (unit, own) in enumerate(zip(group, told_in, strict=True)):
            if not _says_something(unit, place, group, wanted, links=links):
                continue
            heading = frozenset(tokenise(" ".join((hit.passage.title, *unit.headings))))
            lead = frozenset(tokenise(unit.lead)) if unit.lead else frozenset()
            # A pair's question is the best description of its answer.
            lead_weight = 1.0 if unit.kind == "pair" else _IN_LEAD + _POINTED_AT * bool(_ANAPHOR.match(unit.text))
            near = told_in[max(0, place - _NEAR) : place + _NEAR + 1]
            held: dict[str, float] = {}
            covered = 0.0
            for term, weight in weights.items():
                held[term] = (
                    weight
                    / total
                    * max(
                        holds(own, term, aliases),
                        lead_weight * holds(lead, term, aliases),
                        _IN_HEADING * holds(heading, term, aliases),
                    )
                )
                far = not held[term] and term in everywhere and not any(term in terms for terms in near)
                covered += _FAR * weight / total if far else held[term]
            alike = sum(map(_run(unit.text, language).__contains__, characters)) / (len(characters) or 1)
            score = covered + _CHARACTERS * alike
            if across:
                known = len(foreign & (own | heading)) / len(foreign) if foreign else 0.0
                score = 0.6 * spread(similarities.get(unit.text)) + 0.4 * known + covered
            form = offers(_without(unit.text, question), wanted)
            told = score > 0 and _tells(unit, own, weights, wanted, question)
            score /= 1 + _LENGTH * math.log(1 + len(tokenise(unit.text)) / _USUAL)
            weight = _FORM_DECISIVE if across and wanted.counter else form_weight
            score = rank * (score + (weight * form if told else 0.0)) * (1.0 if told else 0.5)
            score *= _UNMEASURED if across and wanted.counter and not form else 1.0
            score *= _FRAGMENT if unit.kind == "sentence" and not _whole(unit.text) else 1.0
            found.append(_Candidate(unit, number, place, score, form, own, held))
    return sorted(found, key=lambda candidate: (-candidate.score, candidate.hit, candidate.place))


def _says_something(unit: Unit, place: int, group: Sequence[Unit], wanted: Asked, *, links: bool) -> bool:
    """Whether a unit can be an answer: not a list of links, not an introduction whose list or command is elsewhere."""
    if unit.leads_away and not links:
        return False
    if unit.kind == "code":
        return len(unit.text) <= LONGEST or "command" in wanted
    return not _ANNOUNCES.search(unit.text) or bool(_follows(unit, place, group))


def _follows(unit: Unit, place: int, group: Sequence[Unit]) -> list[Unit]:
    """What an introduction introduces: the code, the list or the table after it. Empty when it is long or not there."""
    after = group[place + 1 :]
    if (
        not after
        or after[0].kind not in ("code", "item", "row")
        or (unit.kind != "sentence" and after[0].kind == "row")
    ):
        return []
    if after[0].kind == "code":
        return [after[0]] if len(after[0].text) <= 2 * LONGEST else []
    first = after[0]
    if unit.kind == "item" and first.lead != unit.text:
        return []
    members = [other for other in after if other.group == first.group and not other.leads_away]
    if unit.kind == "item":
        end = next((at for at, other in enumerate(members) if other.lead == unit.lead), len(members))
        members = members[:end]
    return members if _short(members) else []


def _short(members: Sequence[Unit]) -> bool:
    return len(members) <= MANY and sum(len(other.text) for other in members) <= 2 * LONGEST


def _tells(unit: Unit, own: frozenset[str], weights: Mapping[str, float], wanted: Asked, question: str) -> bool:
    """Whether a unit says more than the question does: neither its words again nor a label whose value it names."""
    if unit.kind in ("code", "row"):
        return True
    labelled = _LABEL.match(unit.text)
    if labelled and normalise(labelled.group(1)).strip(" 。.") in normalise(question):
        return False
    # "Passwords do not expire." says no in the very words of "do passwords expire?".
    return bool(own - set(weights)) or (bool({"whether", "exists"} & set(wanted.kinds)) and bool(denied(unit.text)))


def _whole(text: str) -> bool:
    """Whether a sentence is one: it ends like one, or is long enough or a label with its value."""
    return bool(re.search(r"[。．.!?！？:：）)」』”\"]$", text)) or bool(_LABEL.match(text)) or len(text) >= 60


def _best(candidates: Sequence[_Candidate], limit: int) -> list[_Candidate]:
    chosen: list[_Candidate] = []
    while len(chosen) < limit:
        said = [each.unit.text for each in chosen]  # the same sentence may stand in another passage, too
        open_ = [each for each in candidates if each.score > 0 and each.unit.text not in said]
        if chosen:
            language = language_of(chosen[0].unit.text)
            open_ = [each for each in open_ if each.hit == chosen[0].hit or language_of(each.unit.text) == language]
            open_ = [
                each for each in open_ if each.score + _gain(each, chosen) >= _worth(each, chosen[0]) * chosen[0].score
            ]
        if not open_:
            break
        chosen.append(max(open_, key=lambda each: each.score + _gain(each, chosen) + _beside(each, chosen)))
    return chosen


def _gain(candidate: _Candidate, chosen: Sequence[_Candidate]) -> float:
    """The share of the question that a candidate has and the chosen ones lack: two that repeat each other say less."""
    if not chosen:
        return 0.0
    return _GAIN * sum(
        max(0.0, share - max(one.held[term] for one in chosen)) for term, share in candidate.held.items()
    )


def _worth(candidate: _Candidate, first: _Candidate) -> float:
    """The share of the first quotation's score that another needs: more from elsewhere."""
    if candidate.hit == first.hit:
        return _WORTH
    return _WORTH_UNLIKE if first.form == 1 and candidate.form < 1 else _WORTH_ELSEWHERE


def _beside(candidate: _Candidate, chosen: Sequence[_Candidate]) -> float:
    """What a candidate gains next to a chosen sentence: it may name what that one only points at."""
    gained = 0.0
    for first in chosen:
        step = candidate.place - first.place
        if candidate.hit == first.hit and abs(step) == 1:
            gained += _BESIDE
            gained += _COMPLETES * (first.form == 0 and candidate.form == 1)
            gained += _REFERS * (step == -1 and bool(_ANAPHOR.match(first.unit.text)))
    return gained


def _without(text: str, question: str) -> str:
    """`text` without the numbers and names the question itself gives: they cannot be its answer."""
    given = set(_DIGITS.findall(question))
    names = {word.lower() for word in re.findall(r"[\w'’-]+", question)}
    text = _DIGITS.sub(lambda number: "" if number.group() in given else number.group(), text)
    return _CAPITALISED.sub(lambda name: "" if name.group().lower() in names else name.group(), text)


def _characters(question: str, language: Language) -> frozenset[str]:
    """The sequences of characters that tell words of any form: pairs in Japanese, threes with the gaps in English."""
    run = _run(question, language)
    length = 2 if language == "ja" else 3
    return frozenset(run[at : at + length] for at in range(len(run) - length + 1))


def _run(text: str, language: Language) -> str:
    return ("" if language == "ja" else " ").join(normalise(_plain(text)).split())


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
        intro = [unit.text] if items[0] is not unit and unit not in items else []
        text, kind = "\n".join(intro + [_line(item) for item in items]), "list"
        if all(item.kind == "code" for item in items):
            kind = "code"
        elif [item.kind for item in items] == ["item", "code"] and not items[0].number:
            text, kind = f"{items[0].text}\n{_line(items[1])}", "code"
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


def _line(unit: Unit) -> str:
    return f"```\n{unit.text}\n```" if unit.kind == "code" else f"{unit.number or '・'} {unit.text}"


def _list_of(candidate: _Candidate, group: Sequence[Unit], wanted: Asked) -> list[Unit]:
    """What has to be quoted together: an introduction's list or command; all steps where steps were asked for."""
    unit, place = candidate.unit, candidate.place
    if unit.kind == "sentence" or (unit.kind == "item" and _INTRODUCES.search(unit.text)):
        following = (
            _follows(unit, place, group) if _INTRODUCES.search(unit.text) or _ANNOUNCES.search(unit.text) else []
        )
        return [unit, *following] if following and unit.kind == "item" else following
    if unit.kind not in ("item", "code") or not (
        "how" in wanted or "command" in wanted or _INTRODUCES.search(unit.lead)
    ):
        return []
    members = [other for other in group if other.group == unit.group and other.kind in ("item", "code")]
    steps = any(other.number for other in members) or bool(_INTRODUCES.search(unit.lead))
    if "command" in wanted:
        steps = steps and any(other.kind == "code" for other in members)
    if len(members) >= 2 and _short(members) and steps and not any(other.leads_away for other in members):
        return members
    # A step with its command, where all steps together are too many.
    if unit.kind == "item" and place + 1 < len(group) and group[place + 1].kind == "code":
        return [unit, group[place + 1]]
    if unit.kind == "code" and place and group[place - 1].kind == "item":
        return [group[place - 1], unit]
    return []
