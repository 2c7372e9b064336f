"""Values that a point carries beside its vectors: its passage, its reading, and the generations that see it."""

from array import array
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from retrieval.types import Indexed, Passage, Point, Reading, View

ALIVE = 2**53 - 1
"""`died` of a point that nothing has replaced; engines compare integers as doubles."""

STAGED = 2**52
"""`born` of a point that waits to be published: later than any generation, so nobody sees it."""

_FIELDS = tuple(field.name for field in fields(Passage) if field.name != "updated")
_DATE = "dated"  # `updated` of earlier versions was the day on which the document was added


def payload_of(point: Point) -> dict[str, Any]:
    passage = {name: getattr(point.passage, name) for name in _FIELDS} | {_DATE: point.passage.updated}
    reading = {"language": point.reading.language, "terms": _packed(point.reading)}
    return passage | reading | {"headings": [*point.passage.headings], "born": point.born, "died": ALIVE}


def changes_of(about: Mapping[str, str | None]) -> dict[str, Any]:
    """Other values for fields of a passage that all of a document's have in common."""
    return {_DATE if name == "updated" else name: value for name, value in about.items()}


def passage_of(payload: Mapping[str, Any]) -> Passage:
    """Fields that a later version may have added are left out."""
    known = {name: payload[name] for name in _FIELDS if name in payload}
    return Passage(**{**known, "headings": tuple(known["headings"]), "updated": payload.get(_DATE, "")})


def indexed_of(payload: Mapping[str, Any]) -> Indexed:
    heads, *lines = map(frozenset, _unpacked(payload["terms"]))
    return Indexed(passage_of(payload), Reading(payload["language"], heads, tuple(lines)))


def shows(view: View, payload: Mapping[str, Any]) -> bool:
    """The index's filter, applied to the payload of a point that was read by its id."""
    return (
        payload["scope"] in view.readers.scopes
        and payload["born"] <= view.generation < payload["died"]
        and (view.collections is None or payload["collection"] in view.collections)
    )


def _packed(reading: Reading) -> str:
    """Each group of term ids after its length, as numbers of 32 bits: a third of what JSON would take."""
    numbers = array("I")
    for group in (reading.heads, *reading.lines):
        numbers.append(len(group))
        numbers.extend(sorted(group))
    return b64encode(numbers.tobytes()).decode()


def _unpacked(text: str) -> list[Sequence[int]]:
    numbers = array("I", b64decode(text))
    groups: list[Sequence[int]] = []
    start = 0
    while start < len(numbers):
        end = start + 1 + numbers[start]
        groups.append(numbers[start + 1 : end])
        start = end
    return groups
