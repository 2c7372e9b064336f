"""Tells the questions of a message that asks more than one, so that each is looked up for itself.

Together they fit no page: of 90 messages of two questions that share their pages' words (`benchmarks.asks --two`) both
facts are shown of 81, and of 51 if they are searched for as one; 47 of 49 sure answers are right, and none of 8. Of 420
messages 6 are taken for two questions, of which 5 need two pages.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

from agent.routing.follow_up import leans, says_little
from agent.routing.patterns import words
from agent.routing.router import asks_what, begins_asking, requests
from agent.segmentation import without_mark
from retrieval.text import sentences

_ENOUGH = 3  # words about a subject that a further question has to say: with two it may go on from the one before it,
# as the password does from the Wi-Fi
_MARK = re.compile(r"(?<=[?？])\s+")


@lru_cache(maxsize=64)  # a turn asks several times
def parts(question: str) -> tuple[str, ...]:
    """The questions of a message that each stand alone, in order, with what is said of them; itself where it is one."""
    found: list[list[str]] = []
    asked = False  # the last of them holds a question
    for piece in _pieces(question):
        own = _own(piece)
        if not found or (asked and _asks(own) and not _goes_on(own)):
            found.append([own])
            asked = _asks(own)
        else:
            found[-1].append(piece)
            asked = asked or _asks(piece)
    return tuple(map(" ".join, found)) if len(found) > 1 else (question,)


def asking(message: str) -> list[str]:
    """All its questions, also those that only go on from the one before them."""
    return [own for piece in _pieces(message) if _asks(own := _own(piece))]


def _pieces(message: str) -> Iterator[str]:
    """Its sentences; of one that asks two things, each."""
    for sentence in chain.from_iterable(map(_MARK.split, sentences(message))):
        yield from filter(None, (clause.strip(" ,、") for clause in words("and_asks").split(sentence)))


def _own(piece: str) -> str:
    """Without the mark of a list, and the words that only join it to what stands before it."""
    piece = without_mark(piece)
    joint = words("joins").match(piece)
    return piece[joint.end() :].lstrip(" ,、:：") if joint else piece


def _asks(piece: str) -> bool:
    return piece.endswith(("?", "？")) or asks_what(piece) or requests(piece) or begins_asking(piece)


def _goes_on(piece: str) -> bool:
    return leans(piece) or says_little(piece, _ENOUGH)
