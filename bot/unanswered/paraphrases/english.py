"""English questions for `bot.unanswered.paraphrases.paraphrases`, word by word."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from agent.grounding.numerals import arabic
from bot.unanswered.paraphrases.lexicon import RELATIONS, Lexicon
from bot.unanswered.paraphrases.parts import ParsedQuestion, Part, settled
from retrieval.text import normalise

_WORD = re.compile(r"\d+(?:[.:/]\d+)*|'s\b|[^\W\d_]+[+#]*|[?!.,;:\n]")
_MONEY = re.compile(r"([$€¥£])\s?(\d+(?:\.\d+)?)")
_MONEYS = {"$": "dollar", "€": "euro", "¥": "yen", "£": "pound"}
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()  # noqa: SIM905
_ORDINAL = re.compile(rf"(?<!per )(?<!a )(?<!each )(?<!\d )\b(?:({'|'.join(_ORDINALS)})|(\d+)(?:st|nd|rd|th))\b")
_FULL = (
    (re.compile(r"(?<=\d),(?=\d{3}(?!\d))"), ""),
    (re.compile(r"\bcan't\b|\bcannot\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"\b(what|where|who|when|how|why|it|that|there|here|which)'s\b"), r"\1 is"),
    (re.compile(r"'ll\b"), " will"),
    (re.compile(r"'(?:re|m|ve|d)\b"), ""),
    (re.compile(r"%"), " percent "),
    (re.compile(r"<=|≤|≦"), " at most "),
    (re.compile(r">=|≥|≧"), " at least "),
    (re.compile(r"<"), " under "),
    (re.compile(r"->|→|=>"), " to "),
    (re.compile(r">"), " over "),
    (re.compile(r"&"), " and "),
)
_POLITE = re.compile(
    r"^(?:(?:hi|hello|hey|sorry|quick question|thanks|thank you|excuse me)\b(?: "
    r"(?:all|everyone|team|there|folks))?[\s,.!:-]*)+"
    r"|^(?:could|can|would|will) (?:you|someone|anyone|somebody|anybody)(?: please)? (?:tell|show|remind) (?:me|us) "
    r"|^(?:does|do) (?:anyone|anybody|someone|you) (?:here )?(?:happen to )?know |^(?:anyone|anybody) knows? "
    r"|^(?:please )?(?:tell|show|remind) (?:me|us)[ :,]+|^(?:i|we)(?: would| just)? (?:like|want|need|wanted) to know "
    r"|^(?:i am|i was|i|we are) (?:just )?wonder(?:ing)? |\b(?:please|kindly|(?:many )?thanks|thank you)\b"
    r"(?: (?:in advance|so much|very much|a lot))?"
)
_WISH = re.compile(r"^(?:i|we)(?: would)? (?:want|like) to ")
_UPPER = ((re.compile(r"\bIT\b"), "itdepartment"), (re.compile(r"\bUS\b"), "usa"))  # not "it" and "us"

_BE = frozenset({"is", "am", "are", "was", "were", "be", "been", "being"})
_AUXILIARY = _BE | {"do", "does", "did", "would", "shall", "has", "have", "had"}
_MODAL = frozenset({"can", "may", "could", "must", "might", "will", "should", "need"})
_PAST = frozenset({"did", "was", "were", "had"})
_DETERMINERS = frozenset({"a", "an", "the", "my", "our", "your", "this", "that", "these", "those", "any", "some"})
_PRONOUNS = frozenset({"i", "we", "you", "it", "me", "us"})
_PREPOSITIONS = {"of": "of", "to": "to", "into": "to", "onto": "to", "for": "for", "in": "in", "on": "in", "at": "in"}
_PREPOSITIONS |= {"about": "about", "regarding": "about", "during": "in", "as": "as"}
_CASES = frozenset({"if", "when", "while", "whenever"})
_OTHER = frozenset(
    {"and", "then", "so", "because", "but", "also", "too", "there", "what", "that", "per", "just", "case"}
)
_GRAMMAR = _AUXILIARY | _DETERMINERS | _PRONOUNS | frozenset(_PREPOSITIONS) | _CASES | _OTHER
_STOPS = frozenset("?!.,;:\n")
_PARTICLES = frozenset({"over", "back", "up", "out", "off", "down", "in", "on"})
# Not of a noun's phrase.
_BESIDE = frozenset({"+may", "+need", "-not", "+exist", "+past", "+should", "+future", "+case"})
_ADJECTIVES = frozenset({"limit", "minimum", "new", "old"})
_IRREGULAR = {"children": "child", "monthly": "month", "weekly": "week", "yearly": "year", "daily": "day"}
_SINGULAR = frozenset(
    {"customs", "sales", "goods", "savings", "earnings", "terms", "glasses", "news", "taxis", "means"}
)


def words(text: str) -> list[str]:
    """The words of normalised English text, nouns in the singular; marks that end a clause stay."""
    return [lemma(word) for word in _WORD.findall(text)]


@lru_cache(maxsize=8192)
def lemma(word: str) -> str:
    """The singular alone: what else is made of a word (manage, manager, management) is another word."""
    if word in _GRAMMAR or word in _SINGULAR or len(word) < 4 or not word.isalpha():
        return word
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes", "zes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _inflected(verb: str) -> Iterator[str]:
    """A regular verb's forms, with what belongs to it; one too many does no harm."""
    verb, space, rest = verb.partition(" ")
    yield from (form + space + rest for form in _forms(verb))


def _forms(verb: str) -> Iterator[str]:
    stem = verb[:-1] if verb.endswith("e") else verb
    yield verb
    if verb.endswith("y") and verb[-2] not in "aeiou":
        yield from (f"{stem[:-1]}ied", f"{stem}ing")
    else:
        yield from (f"{stem}ed", f"{stem}ing", f"{verb}{verb[-1]}ed", f"{verb}{verb[-1]}ing")


@lru_cache(maxsize=1)
def _lexicon() -> Lexicon:
    return Lexicon("en", lambda form: words(_plain(form)), _inflected)


def _plain(text: str) -> str:
    for pattern, name in _UPPER:
        text = text if text.isupper() else pattern.sub(name, text)
    text = normalise(text).replace("\u2019", "'")
    for pattern, full in _FULL:
        text = pattern.sub(full, text)
    text = _MONEY.sub(lambda found: f"{found[2]} {_MONEYS[found[1]]}", text)
    text = _ORDINAL.sub(lambda found: f"ordinal {_ORDINALS.index(found[1]) + 1 if found[1] else found[2]}", text)
    return arabic(text, claim=False)


def reading(text: str) -> ParsedQuestion:
    """The reading of an English question."""
    plain = _plain(text).strip()
    while (shorter := " ".join(_POLITE.sub(" ", plain).split())) != " ".join(plain.split()):
        plain = shorter
    return _Reader(words(_WISH.sub("how do i ", plain))).read()


class _Reader:
    """One question, read from its first word to its last."""

    def __init__(self, found: list[str]) -> None:
        self._words = found
        self._parts: list[Part] = []
        self._modifies: set[tuple[int, int]] = set()
        self._asked: set[str] = set()
        self._aside: set[int] = set()  # words that were read before their turn
        self._clause = self._start = 0  # where it began, in parts and in words
        self._begin()

    def _begin(self) -> None:
        """A clause begins."""
        self._role, self._phrase, self._relation = "subject", False, ""  # of the next noun
        self._run: list[int] = []  # the places of parts with nothing between them: each says which one the next is
        self._heads: list[int] = []  # those of which the next phrase says which one they are
        self._passive = self._case = False

    def read(self) -> ParsedQuestion:
        at = 0
        while at < len(self._words):
            at += 1 if at in self._aside else self._step(at)
        self._unbound()
        if not self._asked and self._words[:1] in (["i"], ["we"]) and "?" not in self._words:
            self._asked.add("statement")
        return settled("en", self._asked, self._parts, self._modifies)

    def _step(self, at: int) -> int:
        """Read what stands at a place; how many words it was."""
        word = self._words[at]
        if word in _STOPS:
            self._stop(at, word)
            return 1
        ordinal = word == "ordinal" and "".join(self._words[at + 1 : at + 2]).isdigit()
        if ordinal or word[0].isdigit():
            return self._number(at, ordinal)
        if word == "take" and self._words[at - 1 : at] == ["it"]:
            return 1  # how long it takes
        if word == "get" and self._words[at + 1 : at + 2] and self._words[at + 1].endswith("ed"):
            return 1  # to get rejected
        known = self._known(at)
        if known is not None:
            return self._take(at, *known)
        if word in _GRAMMAR or word == "'s":
            self._grammar(at, word)
        elif word in ("will", "should"):
            self._aids(at, "+future" if word == "will" else "+should")
        else:
            self._part(word, name=True)
        return 1

    def _stop(self, at: int, word: str) -> None:
        """A clause that asked for nothing says in which case."""
        self._unbound()
        if word != "?" and not self._asked and at + 1 < len(self._words):
            if self._words[self._start] in _PRONOUNS | {"my", "our"}:  # I lost my badge, who …
                self._part("+case")
            self._parts[self._clause :] = [replace(part, case=True) for part in self._parts[self._clause :]]
        self._clause, self._start = len(self._parts), at + 1
        self._begin()

    def _unbound(self) -> None:
        if self._relation:
            self._part(self._relation)

    # -- words of the tables ------------------------------------------------------------------------------------------

    def _known(self, at: int) -> tuple[str, int] | None:
        """The entry here in the tables; a verb's particle may follow a few words later: carry them over."""
        known = _lexicon().at(self._words, at)
        if known is not None and known[1] > 1 and self._words[at + known[1] - 1] == "company":
            following = self._words[at + known[1] : at + known[1] + 1]
            if following and following[0] not in _GRAMMAR | _STOPS and following[0] not in RELATIONS:
                return _lexicon().at(self._words[: at + 1], at)  # to join the company's gym is not to join the company
        if known is not None and known[1] > 1:
            return known
        for form, meaning in _lexicon().beginning(self._words[at]):
            if len(form) == 2 and form[1] in _PARTICLES:
                for gap in range(at + 2, min(at + 7, len(self._words))):
                    following = self._words[gap + 1 : gap + 2]
                    ends = not following or following[0] in _STOPS | {"to", "for", "from"}
                    if self._words[gap] == form[1] and ends:
                        self._aside.add(gap)
                        return meaning, 1
        return known

    def _take(self, at: int, meaning: str, length: int) -> int:
        if meaning == "only":
            self._part(meaning)
        elif meaning in RELATIONS:
            self._unbound()
            self._relation, self._run, self._phrase = meaning, [], True
        elif meaning[0] == "?":
            self._question(at, meaning, length)
        elif meaning[0] in "+-":
            self._aids(at, meaning)
        else:
            self._part(meaning, verb=meaning in _lexicon().verbs)
            if (last := self._words[at + length - 1]) in _PREPOSITIONS and length > 1:
                self._grammar(at + length - 1, last)
        return length

    def _question(self, at: int, meaning: str, length: int) -> None:
        after = self._words[at + length : at + length + 2]
        asks = at == 0 or self._words[at - 1] in _STOPS | {"and", "or", "so", "but", "to", "for"}
        if length == 1 and meaning == "?when" and not (asks and after and after[0] in _AUXILIARY | _MODAL):
            self._grammar(at, "when")
            return
        if length == 1 and meaning in ("?who", "?where", "?which") and not asks:
            self._part(meaning)  # those who
            return
        done = self._words[at] == "whom" or after[:1] in (["do"], ["did"], ["does"])
        if meaning == "?who" and (done or after[1:] in (["i"], ["we"], ["you"])):
            meaning = "?who to"
        self._asked.add(meaning)
        self._begin()

    def _aids(self, at: int, meaning: str) -> None:
        """Can, need, not …: beside what is said of things."""
        if (self._words[at] in _MODAL or meaning == "+exist") and self._opens(at):
            self._asked.add("yes or no")
        self._part(meaning)

    def _number(self, at: int, ordinal: bool) -> int:
        end = at + 1 + ordinal
        number, unit = self._words[end - 1], ""
        if end < len(self._words) and self._words[end] not in _GRAMMAR | _STOPS:
            known = _lexicon().counted(self._words, end)
            if known is not None:
                unit, end = known[0], end + known[1]
            elif _lexicon().at(self._words, end) is None:
                unit, end = self._words[end], end + 1
        if unit in ("floor", "quarter"):
            ordinal = False
        self._part(f"{number}{'th' if ordinal else ''} {unit}".strip())
        if self._words[end : end + 1] == ["or"] and self._words[end + 1 : end + 2] in (["more"], ["less"], ["fewer"]):
            bound = "at least" if self._words[end + 1] == "more" else "at most"
            self._parts[-1] = replace(self._parts[-1], bound=bound)
            end += 2
        return end - at

    # -- grammar ------------------------------------------------------------------------------------------------------

    def _grammar(self, at: int, word: str) -> None:
        opens = self._opens(at)
        if word in _AUXILIARY and opens:
            self._asked.add("yes or no")
        if word in _PAST or (word in ("has", "have") and opens):
            self._part("+past")
        if word == "'s":
            if self._parts:
                self._parts[-1] = replace(self._parts[-1], role="of")
            return  # a manager's approval: the manager says which
        run, self._run = self._run, []
        if word in _CASES:
            self._unbound()
            self._begin()
            self._part("+case")
            self._case = True
        elif word in _PREPOSITIONS:
            self._role, self._phrase = _PREPOSITIONS[word], True
            self._heads = run if word not in ("about", "as") else []
        elif word in _AUXILIARY:
            self._role, self._phrase, self._heads = "subject", False, []
            self._passive = word in _BE

    def _opens(self, at: int) -> bool:
        """Whether a question of yes or no begins here."""
        free = not any(one[0] == "?" for one in self._asked) and not self._case
        return free and (at == 0 or self._words[at - 1] in _STOPS | {"so", "but", "and"})

    def _part(self, meaning: str, *, verb: bool = False, name: bool = False) -> None:
        place = len(self._parts)
        beside = meaning in _BESIDE
        role = "" if beside or verb else self._role
        part = Part(meaning, "" if beside else self._relation, role, place, self._phrase, verb, name)
        self._parts.append(replace(part, case=self._case, passive=verb and self._passive))
        if beside:
            self._role, self._phrase, self._run = "subject" if meaning != "+need" else "object", False, []
            return
        self._relation = ""
        self._modifies |= {(place, one) for one in self._heads} | {(one, place) for one in self._run}
        if verb:
            self._role, self._phrase, self._heads, self._run = "object", False, [], []
        elif meaning not in _ADJECTIVES:
            for one in self._run:
                self._parts[one] = replace(self._parts[one], role="")
            self._run = [*self._run, place]
            if not self._phrase:
                self._role = "object"
