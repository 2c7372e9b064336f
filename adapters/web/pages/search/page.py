"""Search playground: one query searched by meaning, by words and by both, side by side; and answers from what it found.

`/search?q=…&collection=…&limit=…` searches at once. Source: product.md §3 and §6; seeds/0_agent_rag.md (Qdrant検索),
seeds/3_agent_tools.md §5.6.
"""

import asyncio
from collections.abc import Mapping

from nicegui import ui
from starlette.requests import Request

from adapters.web.pages.search.answer import Answering
from adapters.web.pages.search.history import PastSearches
from adapters.web.pages.search.hits import Column, Key, key_of, ranked
from adapters.web.pages.shared import components
from adapters.web.pages.shared.address import note
from adapters.web.pages.shared.layout import Page, saying
from adapters.web.visitor import Site, Visitor
from bot.config.models import min_relevance
from bot.turns.selected_passages import MOST
from retrieval.i18n import Language, Text
from retrieval.types import Found, Hit, Mode, RAGToolError

MODES: tuple[Mode, ...] = ("dense", "sparse", "hybrid")
LIMIT, LIMITS = 5, (3, 5, 10, 20)
QUERY = 1_000  # characters

_TITLE = Text(en="Search", ja="検索")
_QUERY = Text(en="What to search for", ja="検索する語句や質問")
_COLLECTIONS = Text(en="Collections (empty: all)", ja="コレクション（空欄: すべて）")
_LIMIT = Text(en="Results", ja="件数")
_THRESHOLD = Text(en="Threshold", ja="関連度のしきい値")
_SEARCH = Text(en="Search", ja="検索")
_NO_QUERY = Text(en="Enter something to search for first.", ja="先に検索する語句を入力してください。")
_BAD_THRESHOLD = Text(en="The threshold must be a number from 0 to 1.", ja="しきい値は 0～1 の数値で入力してください。")
_HINT = Text(
    en="Enter a question or words and see what each kind of search finds. Then let the bot answer from the "
    "passages you choose.",
    ja="質問や語句を入力すると、検索方式ごとの結果を並べて確認できます。選択した箇所だけを使った回答も試せます。",
)
_ANSWER = Text(en="Answer from the chosen passages ({n})", ja="選択した {n} か所から回答")
_PLACE = Text(en="also found: {places}", ja="ほかの列でも: {places}")
_NAMES: Mapping[Mode, Text] = {
    "dense": Text(en="dense #{rank}", ja="Dense {rank} 位"),
    "sparse": Text(en="sparse #{rank}", ja="Sparse {rank} 位"),
    "hybrid": Text(en="hybrid #{rank}", ja="Hybrid {rank} 位"),
}


class Playground:
    def __init__(self, site: Site, who: Visitor) -> None:
        self._site = site
        self._who = who
        self._asked = ""
        self._chosen: dict[Key, Hit] = {}
        self._columns: list[Column] = []
        self._searches = 0

    @property
    def _language(self) -> Language:
        return self._who.language

    async def build(self, query: str, collections: list[str], limit: int) -> None:
        language, app = self._language, self._site.app
        names = [info.name for info in await app.knowledge.collections(self._who.readers)]
        with ui.row().classes("kotae-filters"):
            self._query = ui.input(_QUERY.to(language), value=query).classes("col-grow kotae-query")
            self._query.props(f"outlined maxlength={QUERY}").mark("query")
            # A Japanese word is confirmed with Enter, too: that one is not for us (keyCode 229).
            self._query.on("keydown.enter", self.search, js_handler="(e) => { if (e.keyCode !== 229) emit() }")
            self._collections = ui.select(
                names, label=_COLLECTIONS.to(language), multiple=True, value=[n for n in collections if n in names]
            )
            self._collections.props("outlined use-chips").classes("col-grow kotae-among").mark("collections")
            self._limit = ui.select(list(LIMITS), value=limit if limit in LIMITS else LIMIT, label=_LIMIT.to(language))
            self._limit.props("outlined").mark("limit")
            threshold = min_relevance(app.settings)
            self._threshold = ui.number(
                _THRESHOLD.to(language), value=threshold, min=0, max=1, step=0.05, format="%.2f"
            ).props("outlined")
            self._threshold.mark("threshold")
            go = ui.button(_SEARCH.to(language), icon="search", on_click=self.search)
            go.props("unelevated no-caps").mark("search")
        self._bar = ui.row().classes("items-center")
        self._answering = Answering(self._site, self._who)
        self._ground = ui.element("div").classes("kotae-side-by-side")
        with self._ground:
            components.empty(_HINT.to(language))
        self._past = PastSearches(self._site, self._who)
        await self._past.build()
        if query.strip():
            await self.search()

    async def search(self) -> None:
        """Search in all three ways at once; whoever searches again meanwhile sees the later one."""
        language = self._language
        with saying(language):
            query = (self._query.value or "").strip()[:QUERY]
            threshold = self._threshold.value
            if not query:
                ui.notify(_NO_QUERY.to(language), type="warning")
                return
            if threshold is None or not 0 <= threshold <= 1:
                ui.notify(_BAD_THRESHOLD.to(language), type="warning")
                return
            limit = "" if self._limit.value == LIMIT else str(self._limit.value)
            note(q=query, collection=list(self._collections.value), limit=limit)
            self._searches += 1
            mine = self._searches
            results = await asyncio.gather(*(self._found(query, mode, threshold) for mode in MODES))
            if mine != self._searches:
                return
            self._asked = query
            self._show(dict(zip(MODES, results, strict=True)), threshold)
            await self._past.show()

    async def _found(self, query: str, mode: Mode, threshold: float) -> Found | RAGToolError:
        try:
            return await self._site.app.knowledge.search(
                query,
                self._who.readers,
                tuple(self._collections.value) or None,
                mode=mode,
                limit=self._limit.value,
                min_relevance=threshold,
            )
        except RAGToolError as error:
            return error

    def _show(self, results: Mapping[Mode, Found | RAGToolError], threshold: float) -> None:
        hybrid = results["hybrid"]
        best = hybrid.hits if isinstance(hybrid, Found) else ()
        self._chosen = {key_of(hit): hit for hit in best[:MOST]}
        self._answering.clear()
        self._ground.clear()
        places = self._places(results)
        with self._ground:
            self._columns = [
                Column(
                    self._site,
                    self._who,
                    mode,
                    threshold=threshold,
                    places=places[mode],
                    chosen=lambda key: key in self._chosen,
                    choose=self._choose,
                )
                for mode in results
            ]
            for column, found in zip(self._columns, results.values(), strict=True):
                column.build(found)
        self._offer()

    def _places(self, results: Mapping[Mode, Found | RAGToolError]) -> dict[Mode, dict[Key, str]]:
        """For each kind of search, where its passages stand in the others."""
        ranks = {
            mode: {key_of(hit): rank for rank, hit in enumerate(ranked(found, mode), 1)}
            for mode, found in results.items()
            if isinstance(found, Found)
        }
        shown: dict[Mode, dict[Key, str]] = {}
        for own in MODES:
            shown[own] = {}
            for key in ranks.get(own, {}):
                others = [
                    _NAMES[other].to(self._language, rank=ranked_there[key])
                    for other, ranked_there in ranks.items()
                    if other != own and key in ranked_there
                ]
                if others:
                    shown[own][key] = _PLACE.to(self._language, places=" · ".join(others))
        return shown

    def _choose(self, hit: Hit, ticked: bool) -> None:
        """A passage is chosen in all columns at once."""
        key = key_of(hit)
        if ticked == (key in self._chosen):
            return
        if ticked:
            self._chosen[key] = hit
        else:
            del self._chosen[key]
        for column in self._columns:
            if key in column.ticks:
                column.ticks[key].set_value(ticked)
        self._offer()

    def _offer(self) -> None:
        self._bar.clear()
        with self._bar:
            text = _ANSWER.to(self._language, n=len(self._chosen))
            self._button = ui.button(text, icon="auto_awesome", on_click=self._answer)
            self._button.props("unelevated no-caps").mark("answer").set_enabled(bool(self._chosen))

    async def _answer(self) -> None:
        button, chosen = self._button, list(self._chosen.values())
        button.disable()
        try:
            await self._answering.answer(self._asked, chosen)
        finally:
            if not button.is_deleted:
                button.enable()


async def _build(site: Site, who: Visitor, request: Request) -> None:
    asked = request.query_params
    limit = asked.get("limit", "")
    await Playground(site, who).build(
        asked.get("q", "")[:QUERY],
        asked.getlist("collection"),
        int(limit) if limit.isascii() and limit.isdigit() else LIMIT,
    )


PAGE = Page("/search", _TITLE, "manage_search", _build)
