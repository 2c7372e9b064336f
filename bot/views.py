"""Documents, questions and figures as the commands, the HTTP API and the socket show them: JSON for programs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bot.records import Changed, DocumentRow, ExpertAnswer, ProgramToken, Summary
from bot.types import OpenQuestions, Question
from retrieval.i18n import Language, Text
from retrieval.types import CollectionInfo, Found, Hit, SearchMetrics

if TYPE_CHECKING:  # git and folders are not needed to show what is there
    from bot.sources.sources import SourceStatus
    from bot.sources.sync import SyncReport

Json = dict[str, Any]

SHORT_ID = 8  # characters of an id that the list of documents shows, and that forget takes


def documents_json(rows: Sequence[DocumentRow]) -> Json:
    return {
        "documents": [
            {
                "id": row.id,
                "name": row.name,
                "title": row.title,
                "collection": row.collection,
                "scope": row.scope,
                "chunks": row.chunks,
                "language": row.language,
                "url": row.url,
                "hash": row.hash,
                "added_at": row.added_at.isoformat(),
                "updated_at": row.updated_at.isoformat(),
                "date": row.changed_at,
            }
            for row in rows
        ]
    }


def collections_json(infos: Sequence[CollectionInfo]) -> Json:
    return {
        "collections": [
            {
                "name": info.name,
                "description": info.description,
                "languages": list(info.languages),
                "documents": info.documents,
                "chunks": info.chunks,
            }
            for info in infos
        ]
    }


def hit_json(hit: Hit) -> Json:
    passage = hit.passage
    return {
        "collection": passage.collection,
        "document": passage.document,
        "document_id": passage.document_id,
        "chunk": passage.chunk,
        "title": passage.title,
        "headings": list(passage.headings),
        "text": passage.text,
        "question": passage.question,
        "url": passage.url,
        "relevance": round(hit.relevance, 4),
        "scores": {name: round(score, 4) for name, score in hit.scores.items()},
    }


def search_json(found: Found) -> Json:
    return {
        "results": [hit_json(hit) for hit in found.hits],
        "rejected": [hit_json(hit) for hit in found.rejected],
        "failed": list(found.failed),
        "latency_ms": round(found.metrics.latency_ms, 2),
    }


def question_json(question: Question) -> Json:
    return {
        "id": question.id,
        "turn": question.turn,
        "question": question.question,
        "reason": question.reason,
        "detail": question.detail,
        "searched": list(question.searched),
        "confidence": question.confidence,
        "link": question.link,
        "asked_at": question.asked_at.isoformat(),
    }


def answer_json(one: ExpertAnswer) -> Json:
    """`edited_at` and `edited_by` are None for an answer as it was given."""
    return {
        "id": one.row.id,
        "questions": list(one.wordings),
        "answer": one.answer,
        "author": one.row.author,
        "scope": one.row.scope,
        "url": one.row.url,
        "added_at": one.row.added_at.isoformat(),
        "edited_at": one.edited.at.isoformat() if one.edited and one.edited.at else None,
        "edited_by": one.edited.actor if one.edited else None,
    }


def source_json(one: "SourceStatus", language: Language) -> Json:
    """`trouble` is None where the last look succeeded; `gone`: so many pages wait for a word (`state` is then asks)."""
    source = one.source
    return {
        "id": source.id,
        "name": source.name,
        "kind": source.kind,
        "location": source.location,
        "collection": source.collection,
        "scope": source.scope,
        "every": source.every,
        "state": source.state,
        "syncing": one.syncing,
        "pages": one.pages,
        "gone": source.gone,
        "refused": [{"page": ref, "reason": reason.to(language)} for ref, reason in one.refused],
        "checked_at": source.checked_at.isoformat() if source.checked_at else None,
        "failures": source.failures,
        "trouble": source.trouble.to(language) if source.trouble else None,
    }


def sync_json(name: str, report: "SyncReport", language: Language) -> Json:
    def reasons(found: Sequence[tuple[str, Text]]) -> list[Json]:
        return [{"page": ref, "reason": reason.to(language)} for ref, reason in found]

    return {
        "name": name,
        "pages": report.pages,
        "added": report.added,
        "replaced": report.replaced,
        "renamed": report.renamed,
        "removed": report.removed,
        "gone": report.gone,
        "refused": reasons(report.refused),
        "failed": reasons(report.failed),
    }


def token_json(one: ProgramToken) -> Json:
    """`calls` and `misses` are those of the day it was last used."""
    return {
        "name": one.name,
        "audience": one.audience,
        "per_minute": one.per_minute,
        "per_day": one.per_day,
        "added_at": one.added_at.isoformat(),
        "used_on": one.used_on.isoformat() if one.used_on else None,
        "calls": one.calls,
        "misses": one.misses,
    }


def changed_json(changed: Changed, language: Language) -> Json:
    """`refusal` is None where it was done."""
    refusal = changed.refusal.to(language) if changed.refusal is not None else None
    return {"told": changed.told, "reopened": changed.reopened, "refusal": refusal}


def unanswered_json(misses: OpenQuestions) -> Json:
    return {
        "questions": [question_json(one) for one in misses.questions],
        "total": misses.total,
        "hidden": misses.hidden,
    }


def search_metrics_json(row: SearchMetrics) -> Json:
    return {
        "query": row.query,
        "collection_name": row.collection_name,
        "latency_ms": row.latency_ms,
        "total_results": row.total_results,
        "filtered_results": row.filtered_results,
        "top_score": row.top_score,
        "scores": list(row.scores),
        "error": row.error,
        "timestamp": row.timestamp.isoformat(),
    }


def metrics_json(summary: Summary) -> Json:
    cost = summary.turns.cost
    return {
        "turns": {
            "total": summary.turns.turns,
            "outcomes": summary.turns.outcomes,
            "p50_seconds": summary.turns.p50_seconds,
            "p95_seconds": summary.turns.p95_seconds,
        },
        "feedback": dict(summary.votes),
        "cost": {
            "calls": cost.calls,
            "input_tokens": cost.input_tokens,
            "output_tokens": cost.output_tokens,
            "thought_tokens": cost.thought_tokens,
        },
        "searches": {
            "total": summary.searches.searches,
            "failed": summary.searches.failed,
            "empty": summary.searches.empty,
            "p50_ms": summary.searches.p50_ms,
            "p95_ms": summary.searches.p95_ms,
            "recent": [search_metrics_json(row) for row in summary.recent],
        },
    }
