"""Measured searches as a file for a spreadsheet. Source: seeds/3_agent_tools.md §4 (export of the metrics)."""

import csv
import io
from collections.abc import Sequence
from datetime import tzinfo

from bot.unanswered import harmless
from retrieval.text import Language, Said
from retrieval.types import SearchMetrics

_HEADINGS = Said(
    en="time,query,collection,latency ms,found,relevant enough,top relevance,relevances,error",
    ja="日時,検索語,コレクション,応答時間(ms),候補数,十分関連する件数,最高関連度,関連度,エラー",
)


def as_csv(rows: Sequence[SearchMetrics], language: Language, timezone: tzinfo) -> bytes:
    """In UTF-8 with a byte order mark, for Excel; a search a line. No cell is a formula."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerow(_HEADINGS.to(language).split(","))
    for row in rows:
        cells = (
            f"{row.timestamp.astimezone(timezone):%Y-%m-%d %H:%M:%S}",
            row.query,
            row.collection_name,
            f"{row.latency_ms:.1f}",
            str(row.total_results),
            str(row.filtered_results),
            f"{row.top_score:.3f}",
            " ".join(f"{score:.3f}" for score in row.scores),
            row.error or "",
        )
        writer.writerow([harmless(cell) for cell in cells])
    return b"\xef\xbb\xbf" + text.getvalue().encode("utf-8", "replace")
