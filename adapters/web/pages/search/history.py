"""Past searches on the search page: what was measured of each, as a list, a file, and gone on request."""

from collections.abc import Callable
from functools import partial

from nicegui import ui

from adapters.web.pages.shared import components
from adapters.web.pages.shared.curators import person
from adapters.web.pages.shared.dialogs import confirmed
from adapters.web.pages.shared.layout import saying
from adapters.web.visitor import Site, Visitor
from bot.operations.metrics import as_csv
from retrieval.i18n import Text
from retrieval.types import SearchMetrics

SHOWN = 20  # the latest
EXPORTED = 20_000  # the latest, in a file

_TITLE = Text(en="Past searches", ja="これまでの検索")
_NONE = Text(en="Nothing has been searched yet.", ja="検索はまだ行われていません。")
_ALL_OF = Text(
    en="{n} search{n:|es} by everyone, {empty} without a relevant result, {failed} failed; {p50} ms (median), "
    "{p95} ms (95th percentile).",
    ja="全体で {n} 回（関連する結果なし {empty} 回、失敗 {failed} 回）。応答時間は中央値 {p50} ms、95 パーセンタイル "
    "{p95} ms です。",
)
_HEADINGS = (
    Text(en="Time", ja="日時"),
    Text(en="Query", ja="検索語"),
    Text(en="Collection", ja="コレクション"),
    Text(en="ms", ja="ms"),
    Text(en="Relevant / found", ja="関連 / 候補"),
    Text(en="Top relevance", ja="最高関連度"),
    Text(en="Error", ja="エラー"),
)
_EXPORT = Text(en="Save as CSV", ja="CSV で保存")
_CLEAR = Text(en="Clear", ja="消去")
_SURE = Text(
    en="Clear the records of all searches by everyone? Figures made from them go too.",
    ja="全員の検索の記録をすべて消去しますか？記録から集計した数値も消えます。",
)
_CLEARED = Text(en="{n} records cleared.", ja="記録 {n} 件を消去しました。")


class PastSearches:
    def __init__(self, site: Site, who: Visitor) -> None:
        self._site = site
        self._who = who

    async def build(self) -> None:
        language = self._who.language
        with ui.expansion(_TITLE.to(language), icon="history").classes("kotae-card").mark("past"):
            with ui.row():
                export = ui.button(_EXPORT.to(language), icon="download", on_click=self._export)
                export.props("outline no-caps dense").mark("export")
                if self._site.app.curating.edits(person(self._who)):
                    clear = ui.button(_CLEAR.to(language), icon="delete", on_click=self._clear)
                    clear.props("outline no-caps dense").mark("clear")
            self._ground = ui.column().classes("full-width")
            self._dialogs = ui.element("div")
        await self.show()

    async def show(self) -> None:
        """Draw them as they are now."""
        language, searches = self._who.language, self._site.app.data.searches
        rows = await searches.listed(self._who.readers.scopes, limit=SHOWN)
        totals = await searches.totals()
        self._ground.clear()
        with self._ground:
            if not rows:
                components.empty(_NONE.to(language))
                return
            said = _ALL_OF.to(
                language,
                n=totals.searches,
                empty=totals.empty,
                failed=totals.failed,
                p50=_rounded(totals.p50_ms),
                p95=_rounded(totals.p95_ms),
            )
            ui.label(said).classes("kotae-quiet")
            with components.table(*(said.to(language) for said in _HEADINGS)):
                for row in rows:
                    components.row(*self._cells(row))

    def _cells(self, row: SearchMetrics) -> tuple[str | Callable[[], object], ...]:
        return (
            partial(components.When, self._who, row.timestamp, "%m-%d %H:%M:%S"),
            row.query,
            row.collection_name,
            f"{row.latency_ms:.0f}",
            f"{row.filtered_results} / {row.total_results}",
            f"{row.top_score:.2f}",
            row.error or "",
        )

    async def _export(self) -> None:
        with saying(self._who.language):
            rows = await self._site.app.data.searches.listed(self._who.readers.scopes, limit=EXPORTED)
            data = as_csv(rows, self._who.language, self._who.zone)
            ui.download.content(data, "searches.csv", "text/csv")

    async def _clear(self) -> None:
        language = self._who.language
        with self._dialogs, saying(language):
            if await confirmed(_SURE.to(language), _CLEAR.to(language), language):
                cleared = await self._site.app.curating.clear_measurements(person(self._who))
                ui.notify(_CLEARED.to(language, n=cleared), type="positive")
                await self.show()


def _rounded(ms: float | None) -> str:
    return "–" if ms is None else f"{ms:.0f}"
