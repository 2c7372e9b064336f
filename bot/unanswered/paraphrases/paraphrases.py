"""Whether two questions say the same, so that one answer serves both: for teaching, where a wrong guess teaches a wrong
answer. (`bot.unanswered.clustering` puts questions together to be looked at; it may err.)

Both questions are read word by word into what they say. They say the same if each part has its like in the other: words
that mean the same (`paraphrase_words`), numbers, what is asked, who does what to whom, before and after, yes and no.
Only grammar and politeness are left out, so a word that nobody listed keeps two questions apart. Source: product.md §4.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations

from bot.unanswered.paraphrases.english import reading as english
from bot.unanswered.paraphrases.japanese import reading as japanese
from bot.unanswered.paraphrases.parts import ParsedQuestion, Part
from retrieval.text import language_of, normalise

LONGEST = 500  # characters of a question that are read; what is longer says the same as its equal only
_MARKS = re.compile(r"[\s?!、。…'’‘\"“”「」『』]+|[.,]+(?=\s|$)")  # of sentences
_SIGNS = re.compile(r"[<>≤≥≦≧±](?==?\s*\d)|(?<![^\s(])-(?=\d)|(?<=[a-z])(?:\+\+|#)(?![a-z0-9])")  # "<500", "C++"
_FREE = frozenset({"limit", "minimum", "new", "old", "+may", "+need", "+exist", "+past", "+case", "+should", "-not"})
_GIVEN = frozenset({"to", "object"})  # 顧客に返金する: to refund a customer
_DOING = frozenset({"subject", "topic", "of", ""})  # インターンの有給: the leave that interns get
_APART = frozenset({"object", "to", "in", "with"})  # 「Google で」 is not 「Google に」
_CHANGED = frozenset({"subject", "object"})  # 「サーバーを再起動」, 「サーバーが再起動」


def same(a: str, b: str) -> bool:
    """Whether both say the same. Questions in the same words do, whatever they are."""
    if wording(a) == wording(b):
        return True
    if max(len(a), len(b)) > LONGEST or _signs(a) != _signs(b):
        return False
    ours, theirs = _read(a), _read(b)
    if not ours.parts or ours.asked != theirs.asked or _said(ours) != _said(theirs):
        return False
    across = ours.language != theirs.language
    if across and ours.main and theirs.main and ours.main != theirs.main:
        return False
    there = {part.key: part for part in theirs.parts}
    pairs = [(part, there[part.key]) for part in ours.parts]
    return all(_fits(*pair, ours, theirs) for pair in pairs) and not any(
        _turned(x, y, ours, theirs) for x, y in combinations(pairs, 2)
    )


def alike(question: str, others: Sequence[str]) -> list[bool]:
    """Of each of the others, whether it says the same as the question."""
    return [same(question, other) for other in others]


@lru_cache(maxsize=4096)
def _read(text: str) -> ParsedQuestion:
    return japanese(text) if language_of(text) == "ja" else english(text)


def wording(text: str) -> str:
    """Equal for questions in the same words: case, width, spaces and the marks of sentences make no difference, those
    of a number or a name do ("3.5", "C++")."""
    return _MARKS.sub("", normalise(text)) or text


def _signs(text: str) -> list[str]:
    return sorted(_SIGNS.findall(normalise(text)))


def _said(reading: ParsedQuestion) -> Counter[tuple[str, str]]:
    return Counter(part.key for part in reading.parts)


def _fits(ours: Part, theirs: Part, us: ParsedQuestion, them: ParsedQuestion) -> bool:
    """Whether somebody or something has the same part in both questions."""
    roles = {ours.role, theirs.role}
    across = us.language != them.language
    if ours.person:
        return len(roles) == 1 or roles <= _DOING or (across and roles <= _GIVEN)
    if len(roles) == 1 or across:
        return True
    return not roles <= _APART and not (us.language == "ja" and roles == _CHANGED)


def _turned(x: tuple[Part, Part], y: tuple[Part, Part], us: ParsedQuestion, them: ParsedQuestion) -> bool:
    """Whether two parts have changed their places, so that it is the other way round: a training's evaluation, and the
    training of evaluating."""
    (x1, x2), (y1, y2) = x, y
    if x1.case != y1.case and (x1.case, y1.case) == (y2.case, x2.case):
        return True
    here, there = _modifies(us, x1, y1), _modifies(them, x2, y2)
    if here and there:
        return here != there
    inverted = (x1.place < y1.place) != (x2.place < y2.place)
    split = x1.case != y1.case and (x1.case, y1.case) == (x2.case, y2.case)
    if not inverted or split or {x1.meaning, y1.meaning} & _FREE:
        return not inverted and _exchanged(x, y)
    if x1.swappable and y1.swappable:
        return True
    if us.language != them.language:
        return False
    if us.language == "ja":
        return _exchanged(x, y) or (x1.verb and y1.verb and x2.verb and y2.verb)
    phrased = any(one.phrase and two.phrase and one.role == two.role for one, two in (x, y))
    return not phrased and x1.passive == x2.passive and y1.passive == y2.passive


def _exchanged(x: tuple[Part, Part], y: tuple[Part, Part]) -> bool:
    """Whether each has the role that the other had."""
    roles = [("subject" if part.role == "topic" else part.role) for part in (*x, *y)]
    return "" not in roles and roles[0] != roles[1] and roles[0] == roles[3] and roles[1] == roles[2]


def _modifies(reading: ParsedQuestion, x: Part, y: Part) -> int:
    """1: x says which y; -1: y says which x; 0: neither."""
    return ((x.place, y.place) in reading.modifies) - ((y.place, x.place) in reading.modifies)
