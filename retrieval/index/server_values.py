"""Our values as a Qdrant server's, and back: points, filters, queries, changes."""

from typing import Any
from uuid import uuid4

from qdrant_client import models

from retrieval.index.base import USING, Part
from retrieval.index.payload import ALIVE, payload_of
from retrieval.types import Point, SparseVector, Vector, View


def point_of(point: Point, more: dict[str, Any]) -> models.PointStruct:
    """The point, with `more` in its payload."""
    vectors: dict[str, Any] = {USING["dense"]: [*point.dense]}
    if point.words.indices:
        vectors[USING["words"]] = sparse(point.words)
    if point.ngrams.indices:
        vectors[USING["ngrams"]] = sparse(point.ngrams)
    return models.PointStruct(id=point.id, vector=vectors, payload=payload_of(point) | more)


def again(record: models.Record, changes: dict[str, Any]) -> models.PointStruct:
    """The record as a new point, with `changes` in its payload."""
    vectors: Any = record.vector or {}
    return models.PointStruct(id=str(uuid4()), vector=vectors, payload=(record.payload or {}) | changes)


def nearest(part: Part | int, vector: Vector | SparseVector, view: View, limit: int) -> models.QueryRequest:
    """The request for one part of a batch; for a term the point that shows its rarity, with its weights."""
    branch, language = ("words", None) if isinstance(part, int) else part[1:]
    return models.QueryRequest(
        query=sparse(vector) if isinstance(vector, SparseVector) else [*vector],
        using=USING[branch],
        filter=seen(view, *([equals("language", language)] if language else [])),
        limit=1 if isinstance(part, int) else limit,
        with_vector=[USING["words"]] if isinstance(part, int) else False,
        with_payload=False,
    )


def sparse(vector: SparseVector) -> models.SparseVector:
    return models.SparseVector(indices=[*vector.indices], values=[*vector.values])


def seen(view: View, *narrower: models.FieldCondition | models.HasIdCondition) -> models.Filter:
    """The filter for what a view shows: the one place where access, generation and collections become a filter."""
    conditions = [
        *narrower,
        models.FieldCondition(key="scope", match=models.MatchAny(any=sorted(view.readers.scopes))),
        number("born", lte=view.generation),
        number("died", gt=view.generation),
    ]
    if view.collections is not None:
        conditions.append(models.FieldCondition(key="collection", match=models.MatchAny(any=[*view.collections])))
    return all_of(*conditions)


def living(document_id: str, *, before: int) -> models.Filter:
    return all_of(equals("document_id", document_id), number("born", lt=before), number("died", gte=ALIVE))


def all_of(*conditions: models.FieldCondition | models.HasIdCondition) -> models.Filter:
    return models.Filter(must=[*conditions])


def equals(field: str, value: str) -> models.FieldCondition:
    return models.FieldCondition(key=field, match=models.MatchValue(value=value))


def number(field: str, **bounds: float) -> models.FieldCondition:
    return models.FieldCondition(key=field, range=models.Range(**bounds))


def setting(which: models.Filter, payload: dict[str, Any]) -> models.SetPayloadOperation:
    return models.SetPayloadOperation(set_payload=models.SetPayload(payload=payload, filter=which))


def deleting(which: models.Filter) -> models.DeleteOperation:
    return models.DeleteOperation(delete=models.FilterSelector(filter=which))
