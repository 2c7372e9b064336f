"""What a point carries beside its vectors: its passage, and the generations that see it."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from retrieval.types import Passage, Point

ALIVE = 2**53 - 1
"""`died` of a point that nothing has replaced; engines compare integers as doubles."""

STAGED = 2**52
"""`born` of a point that waits to be published: later than any generation, so nobody sees it."""

_FIELDS = tuple(field.name for field in fields(Passage))


def payload_of(point: Point) -> dict[str, Any]:
    passage = {name: getattr(point.passage, name) for name in _FIELDS}
    return passage | {"headings": [*point.passage.headings], "born": point.born, "died": ALIVE}


def passage_of(payload: Mapping[str, Any]) -> Passage:
    """Fields that a later version may have added are left out."""
    known = {name: payload[name] for name in _FIELDS if name in payload}
    return Passage(**{**known, "headings": tuple(known["headings"])})
