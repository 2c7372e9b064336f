"""Documents, questions and figures as the commands, the HTTP API and the socket show them: JSON for programs."""

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from bot.records import Changed, DocumentRow, ExpertAnswer, ProgramToken, Summary
from bot.types import OpenQuestions, Question
from retrieval.i18n import Language, Text
from retrieval.types import CollectionInfo, Found, Hit, SearchMetrics

if TYPE_CHECKING:  # git and folders are not needed to show what is there
    from bot.sources.sources import SourceStatus
    from bot.sources.sync import SyncReport
    from bot.store.followed import FollowedSource

Json = dict[str, Any]


def _fields(value: object, names: str) -> Json:
    """These attributes, as JSON has them."""
    return {name: _plain(getattr(value, name)) for name in names.split()}


def _plain(value: Any) -> Any:
    match value:
        case date():
            return value.isoformat()
        case tuple():
            return list(value)
        case _:
            return value


def documents_json(rows: Sequence[DocumentRow]) -> Json:
    names = "id name title collection scope chunks language url hash added_at updated_at"
    return {"documents": [_fields(row, names) | {"date": row.changed_at} for row in rows]}


def collections_json(infos: Sequence[CollectionInfo]) -> Json:
    return {"collections": [_fields(info, "name description languages documents chunks") for info in infos]}


def hit_json(hit: Hit) -> Json:
    return {
        **_fields(hit.passage, "collection document document_id chunk title headings text question url"),
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
    return _fields(question, "id turn question reason detail searched confidence link asked_at")


def answer_json(one: ExpertAnswer) -> Json:
    """`edited_at` and `edited_by` are None for an answer as it was given."""
    return {
        "id": one.row.id,
        "questions": list(one.wordings),
        "answer": one.answer,
        **_fields(one.row, "author scope url added_at"),
        "edited_at": one.edited.at.isoformat() if one.edited and one.edited.at else None,
        "edited_by": one.edited.actor if one.edited else None,
    }


def source_json(one: "SourceStatus", language: Language) -> Json:
    """`trouble` is None where the last look succeeded; `gone`: so many pages wait for a word (`state` is then asks)."""
    source = one.source
    return {
        **_fields(source, "id name kind location collection scope every state"),
        **_fields(one, "syncing pages"),
        "gone": source.gone,
        "refused": _reasons(one.refused, language),
        **_fields(source, "checked_at failures"),
        "trouble": source.trouble.to(language) if source.trouble else None,
    }


def sync_json(source: "FollowedSource", report: "SyncReport", language: Language) -> Json:
    return {
        **_fields(source, "name kind"),
        **_fields(report, "pages added replaced renamed removed gone"),
        "refused": _reasons(report.refused, language),
        "failed": _reasons(report.failed, language),
    }


def _reasons(found: Sequence[tuple[str, Text]], language: Language) -> list[Json]:
    return [{"page": ref, "reason": reason.to(language)} for ref, reason in found]


def token_json(one: ProgramToken) -> Json:
    """`calls` and `misses` are those of the day it was last used."""
    return _fields(one, "name audience per_minute per_day added_at used_on calls misses")


def changed_json(changed: Changed, language: Language) -> Json:
    """`refusal` is None where it was done."""
    refusal = changed.refusal.to(language) if changed.refusal is not None else None
    return {"told": changed.told, "reopened": changed.reopened, "refusal": refusal}


def unanswered_json(misses: OpenQuestions) -> Json:
    return {"questions": [question_json(one) for one in misses.questions]} | _fields(misses, "total hidden")


def search_metrics_json(row: SearchMetrics) -> Json:
    names = "query collection_name latency_ms total_results filtered_results top_score scores error timestamp"
    return _fields(row, names)


def metrics_json(summary: Summary) -> Json:
    turns, searches = summary.turns, summary.searches
    recent = [search_metrics_json(row) for row in summary.recent]
    return {
        "turns": {"total": turns.turns, **_fields(turns, "outcomes p50_seconds p95_seconds")},
        "feedback": dict(summary.votes),
        "cost": _fields(turns.cost, "calls input_tokens output_tokens thought_tokens"),
        "searches": {"total": searches.searches, **_fields(searches, "failed empty p50_ms p95_ms"), "recent": recent},
    }
