"""One column of the search playground: what one kind of search found, in its order, with scores and relevance."""

from collections.abc import Callable, Mapping
from functools import partial

from nicegui import ui

from adapters.web.pages.shared import components
from adapters.web.pages.shared.layout import saying
from adapters.web.visitor import Site, Visitor
from agent.tools import BRANCHES
from retrieval.i18n import Text
from retrieval.types import Found, Hit, Mode, RAGToolError

Key = tuple[str, int]  # a document's id, and the number of a chunk

_TITLES: Mapping[Mode, Text] = {
    "dense": Text(en="Dense", ja="密ベクトル（Dense）"),
    "sparse": Text(en="Sparse", ja="疎ベクトル（Sparse）"),
    "hybrid": Text(en="Hybrid", ja="ハイブリッド（Hybrid）"),
}
_ABOUT: Mapping[Mode, Text] = {
    "dense": Text(en="by meaning", ja="意味で検索"),
    "sparse": Text(en="by words and characters (BM25)", ja="単語と文字で検索（BM25）"),
    "hybrid": Text(en="both, in the order of relevance", ja="両方を合わせ、関連度の高い順"),
}
_TIMING = Text(
    en="{ms:.0f} ms · {good} of {total} candidates relevant enough",
    ja="{ms:.0f} ms · 候補 {total} 件中、十分関連する {good} 件",
)
_NOTHING = Text(en="Nothing found.", ja="見つかりませんでした。")
_REFUSED = Text(en="below the threshold", ja="しきい値未満")
_RELEVANCE = Text(
    en="relevance {relevance:.2f} (threshold {threshold:.2f})", ja="関連度 {relevance:.2f}（しきい値 {threshold:.2f}）"
)
_FAILED = Text(en="Part of this search failed: {branches}.", ja="この検索の一部が失敗しました: {branches}。")
_CHOOSE = Text(en="Answer from this passage", ja="この箇所を回答に使う")
_AROUND = Text(en="Show surrounding chunks", ja="前後のチャンクを表示")
_AGAIN = Text(en="Hide surrounding chunks", ja="前後のチャンクを隠す")
_NO_AROUND = Text(en="There are no chunks around it.", ja="前後のチャンクはありません。")


class Column:
    """`places` says where each passage stands in the other columns, `choose` is told of a tick."""

    def __init__(
        self,
        site: Site,
        who: Visitor,
        mode: Mode,
        *,
        threshold: float,
        places: Mapping[Key, str],
        chosen: Callable[[Key], bool],
        choose: Callable[[Hit, bool], None],
    ) -> None:
        self._site = site
        self._who = who
        self._mode: Mode = mode
        self._threshold = threshold
        self._places = places
        self._chosen = chosen
        self._choose = choose
        self.ticks: dict[Key, ui.checkbox] = {}

    def build(self, found: Found | RAGToolError) -> None:
        language = self._who.language
        with ui.column().classes("kotae-found").mark(f"column-{self._mode}"):
            components.heading(_TITLES[self._mode].to(language))
            ui.label(_ABOUT[self._mode].to(language)).classes("kotae-quiet")
            if isinstance(found, RAGToolError):
                ui.label(found.text(language)).classes("kotae-bad").props('role="alert"')
                return
            timing = _TIMING.to(
                language, ms=found.metrics.latency_ms, good=len(found.hits), total=found.metrics.total_results
            )
            ui.label(timing).classes("kotae-quiet")
            if found.failed:
                names = ("、" if language == "ja" else ", ").join(BRANCHES[one].to(language) for one in found.failed)
                ui.label(_FAILED.to(language, branches=names)).classes("kotae-bad").props('role="alert"')
            hits = ranked(found, self._mode)
            if not hits:
                components.empty(_NOTHING.to(language))
            for rank, hit in enumerate(hits, 1):
                self._hit(rank, hit)

    def _hit(self, rank: int, hit: Hit) -> None:
        language, passage = self._who.language, hit.passage
        refused = hit.relevance < self._threshold
        with ui.column().classes("kotae-card kotae-hit" + (" kotae-refused" if refused else "")):
            with ui.row().classes("no-wrap items-start full-width"):
                tick = ui.checkbox(
                    value=self._chosen(key_of(hit)), on_change=lambda e: self._choose(hit, bool(e.value))
                )
                tick.props(f'dense aria-label="{_CHOOSE.to(language)}"').mark(f"choose-{self._mode}-{rank}")
                self.ticks[key_of(hit)] = tick
                ui.label(f"{rank}.").classes("text-weight-bold")
                with ui.column().classes("kotae-said"):
                    address = components.in_document(passage.document_id, passage.chunk)
                    ui.link(passage.document, address).classes("kotae-wrap")
                    where = " › ".join(filter(None, (passage.collection, *passage.headings, f"#{passage.chunk}")))
                    ui.label(where).classes("kotae-quiet kotae-wrap")
            if passage.question is not None:
                ui.label(f"Q: {passage.question}").classes("kotae-pre text-weight-medium")
            ui.label(passage.text).classes("kotae-pre kotae-passage").props("tabindex=0")
            self._relevance(hit, refused)
            ui.label(components.scores_text(hit.scores)).classes("kotae-quiet kotae-wrap")
            if elsewhere := self._places.get(key_of(hit)):
                ui.label(elsewhere).classes("kotae-quiet")
            with ui.row().classes("items-center"):
                around = ui.column().classes("full-width")
                around.set_visibility(False)
                show = ui.button(_AROUND.to(language), icon="unfold_more").props("flat dense no-caps")
                show.mark(f"around-{self._mode}-{rank}").on_click(partial(self._around, hit, around, show))
                components.original(passage.url, language)
            around.move(target_index=-1)

    def _relevance(self, hit: Hit, refused: bool) -> None:
        language = self._who.language
        share, mark = (100 * max(0.0, min(1.0, value)) for value in (hit.relevance, self._threshold))
        text = _RELEVANCE.to(language, relevance=hit.relevance, threshold=self._threshold)
        with ui.element("div").classes("kotae-meter").props(f'role=img aria-label="{text}"'):
            ui.element("div").classes("kotae-meter-share").style(f"width: {share:.1f}%")
            ui.element("div").classes("kotae-meter-mark").style(f"left: {mark:.1f}%")
        label = f"{text} · {_REFUSED.to(language)}" if refused else text
        ui.label(label).classes("kotae-quiet" if not refused else "kotae-warn")

    async def _around(self, hit: Hit, ground: ui.column, button: ui.button) -> None:
        language = self._who.language
        with saying(language):
            if ground.visible:
                ground.set_visibility(False)
                button.set_text(_AROUND.to(language))
                return
            passages = await self._site.app.knowledge.context(hit, self._who.readers)
            others = [one for one in passages if one.chunk != hit.passage.chunk]
            ground.clear()
            with ground:
                if not others:
                    ui.label(_NO_AROUND.to(language)).classes("kotae-quiet")
                for one in others:
                    ui.label(f"#{one.chunk}").classes("kotae-quiet")
                    ui.label(one.text).classes("kotae-pre")
            ground.set_visibility(True)
            button.set_text(_AGAIN.to(language))


def key_of(hit: Hit) -> Key:
    return hit.passage.document_id, hit.passage.chunk


def ranked(found: Found, mode: Mode) -> list[Hit]:
    """All that was found, relevant or not, in the order of this kind of search."""
    every = [*found.hits, *found.rejected]
    if mode == "hybrid":
        return every
    return sorted(every, key=lambda hit: -hit.scores.get("fused", 0.0))
