"""A draft that is made of quotations, held against the passages it quotes."""

import re
from collections.abc import Mapping

from agent.quoting import clean
from retrieval.text import normalise
from retrieval.types import Hit

_CITED = re.compile(r"\s*((?:\[\d+\])+)\s*$")


def quotations(draft: str) -> list[tuple[str, int]]:
    """The texts of a draft with the passage each cites."""
    found: list[tuple[str, int]] = []
    for line in draft.splitlines():
        cited = _CITED.search(line)
        if cited:
            found += [(line[: cited.start()], int(n)) for n in re.findall(r"\d+", cited.group(1))]
    return found


def verified(draft: str, passages: Mapping[int, Hit]) -> tuple[str, int, list[int]]:
    """The draft without the lines whose quotation its passage does not hold, how many those are, and what is cited."""
    kept: list[str] = []
    cited: list[int] = []
    dropped = 0
    for line in draft.splitlines():
        mark = _CITED.search(line)
        if not mark:
            kept.append(line)
            continue
        numbers = [int(n) for n in re.findall(r"\d+", mark.group(1))]
        inner = re.search(r"[「“](.+)[」”]", line[: mark.start()])
        text = inner.group(1) if inner else ""
        if any(n in passages and (not text or _stands_in(text, passages[n])) for n in numbers):
            kept.append(line)
            cited += [n for n in numbers if n in passages and n not in cited]
        else:
            dropped += 1
    return "\n".join(kept), dropped, cited


def _stands_in(text: str, hit: Hit) -> bool:
    passage = hit.passage
    whole = " ".join((clean(passage.text), passage.text, passage.title, *passage.headings))
    # A table row is quoted with its column names in between: then each of its cells must be there.
    pieces = [_squeezed(piece) for piece in re.split(r" / |: ", text)] if " / " in text else [_squeezed(text)]
    plain = _squeezed(whole)
    return all(piece in plain for piece in pieces)


def _squeezed(text: str) -> str:
    return "".join(character for character in normalise(text) if character.isalnum())
