"""The verdict on a file that somebody added, in a line."""

from typing import Literal

from bot.types import Verdict
from retrieval.i18n import Language, Text

VERDICTS: dict[Literal["added", "replaced", "unchanged", "refused"], Text] = {
    "added": Text(
        en="{name}: added to {collection} ({chunks} chunk{chunks:|s})",
        ja="{name}: {collection} に追加しました（{chunks} チャンク）",
    ),
    "replaced": Text(
        en="{name}: replaced in {collection} ({chunks} chunk{chunks:|s})",
        ja="{name}: {collection} の文書を更新しました（{chunks} チャンク）",
    ),
    "unchanged": Text(en="{name}: unchanged", ja="{name}: 変更はありません"),
    "refused": Text(en="{name}: refused. {reason}", ja="{name}: 追加できませんでした。{reason}"),
}
_MARKS = {"added": "✅", "replaced": "✅", "unchanged": "➖", "refused": "⚠️"}


def verdict_line(verdict: Verdict, language: Language) -> str:
    """`✅ rules.pdf: added to handbook (12 chunks)`. Names and reasons are as they came: escape the line."""
    said = VERDICTS[verdict.status].to(
        language,
        name=verdict.name,
        collection=verdict.collection,
        chunks=verdict.chunks,
        reason=verdict.reason,
    )
    return f"{_MARKS[verdict.status]} {said}"
