"""Tells a question that leans on the one before it from a new one, which that would only lead astray.

17 of 20 follow-ups are told; together with what they lean on all 20 find their page first, alone 6. Of 610 questions
that stand alone 18 seem to lean; in a thread 4 more of 400 would be searched with what was asked before, too.
"""

import re
from collections.abc import Sequence
from functools import lru_cache, partial

from agent.routing.patterns import words
from agent.routing.router import asks_what, comments, question_in, route
from retrieval.relevance import QuestionSubject
from retrieval.sparse import SparseEncoder, term_id
from retrieval.text import normalise

_ITS_OWN = 2  # words about its subject that a question has to say, and before it refers to anything
_FRAGMENT = 3  # of those that one has to say which is no sentence, and words of an English one
_CHARACTERS = 200  # of each
_JOINED = re.compile(r"(?<=[A-Za-z0-9])[-._](?=[A-Za-z0-9])")
_TELL = re.compile(r"を?(?:教えて(?:ください|下さい)?|(?:知りたい|お願いし(?:たい|ます))(?:です)?)$")
_CODE = re.compile(r"\b[A-Za-z]+(?:[-.]?\d+)+\b|\b\d+(?:\.\d+)+\b", re.ASCII)
_DIGITS = re.compile(r"\d+")
_DEPARTMENT = re.compile(r"(?<![A-Za-z])IT(?![A-Za-z])")  # is no pronoun


def leant_on(question: str, earlier: Sequence[str]) -> str:
    """The questions among `earlier` (oldest first) that `question` leans on: the last, and where that leans too the one
    at which this began before it, whose subject the others go on from. Empty where it stands alone."""
    found: list[str] = []
    asked = [one for one in earlier if route(one).search and not comments(one)]
    if len(asked) > 1 and words("corrects").match(normalise(question)) and _names_another(asked[-1]):
        asked.pop()  # what it puts right is not asked any more
    while asked and goes_on(found[0] if found else question):
        found.insert(0, asked.pop()[-_CHARACTERS:])
    return _joined((found[0], found[-1]) if len(found) > 1 else found, question)


def _joined(earlier: Sequence[str], question: str) -> str:
    """One after the other, each with the code (E5, SEV-2) that a later one names in the place of one of that form."""
    said = question
    for text in reversed(earlier):
        said = f"{_CODE.sub(partial(_latest, _CODE.findall(said)), text)} {said}"
    return said.removesuffix(question).strip()


def _latest(later: Sequence[str], code: re.Match[str]) -> str:
    named = [one for one in later if _form(one) == _form(code[0])]
    return code[0] if not named or any(one in code.string for one in named) else named[0]


def _form(code: str) -> str:
    return _DIGITS.sub("0", code.lower())


def goes_on(question: str) -> bool:
    """Whether it may lean on a question that was asked before it in its thread: there what is no sentence names only
    what is another than in that ("without a contract?", 「課長以上は？」), a condition without what follows from it at
    any length."""
    text = question_in(question)
    return leans(text) or _conditional(text) or _names_another(text) or _of_something(text)


def _names_another(text: str) -> bool:
    return _fragment(text) and says_little(text, _FRAGMENT)


def _of_something(text: str) -> bool:
    """Whether all that it names is what anything may have: a form, a deadline, a fee."""
    return says_little(words("attribute").sub(" ", normalise(text)), 1)


def _conditional(text: str) -> bool:
    return words("conditional").search(_bare(text)) is not None


def _fragment(text: str) -> bool:
    bare = _bare(text)
    if words("fragment").search(bare):
        return True
    return bare.isascii() and len(bare.split()) <= _FRAGMENT and not asks_what(bare)


def _bare(text: str) -> str:
    """Without the marks at its end, and without what only asks to be told."""
    return _TELL.sub("", normalise(text).rstrip(" ?。.!、~〜…"))


def leans(question: str) -> bool:
    """Whether it goes on from something said before: by its first words, or because it says too little of its own
    before it refers to something."""
    text = " ".join(normalise(_DEPARTMENT.sub("computers", question)).split())
    while not (words("continues").match(text) or words("corrects").match(text)):
        courtesy = (words(kind).match(text) for kind in ("greeting", "thanks", "hesitates"))
        end = max((found.end() for found in courtesy if found), default=0)
        if not end:
            found = words("refers").search(text)
            return says_little(text[: found.start()] if found else text)
        text = text[end:].lstrip(" ,.!、。！~〜…")
    return True


def says_little(text: str, enough: int = _ITS_OWN) -> bool:
    """Whether there are fewer words about a subject in it than are `enough`, to be searched for alone unless another
    number is given. An identifier is one."""
    encoder, subject = reading()
    terms, _ = encoder.query(_JOINED.sub("", text))
    return len(subject(terms.indices)) < enough


def about(text: str) -> frozenset[str]:
    """The terms of its words about a subject."""
    encoder, subject = reading()
    return frozenset(term for term in encoder.terms(text) if subject([term_id(term)]))


@lru_cache(maxsize=1)
def reading() -> tuple[SparseEncoder, QuestionSubject]:
    """Tells a text's words, and which of them say what a question is about."""
    encoder = SparseEncoder()
    return encoder, QuestionSubject(encoder)
