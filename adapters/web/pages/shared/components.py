"""Pieces that several pages draw alike: headings, moments, numbers, passages, tables, charts; and cards that follow
what they show without being drawn anew, so that what somebody has opened or pressed stays."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Generic, Protocol, TypeVar
from urllib.parse import quote, urlencode

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from adapters.markdown.events import UNSURE
from adapters.web import markdown
from adapters.web.paths import ROOT
from adapters.web.visitor import Visitor
from bot.unanswered.digest_card import safe_link
from retrieval.i18n import Language, Text

DAY, MINUTE = "%Y-%m-%d", "%Y-%m-%d %H:%M"
BACK, NEXT = Text(en="Previous page", ja="前のページ"), Text(en="Next page", ja="次のページ")
LANGUAGES = {"ja": Text(en="Japanese", ja="日本語"), "en": Text(en="English", ja="英語")}
MADE = Text(en="{model}, {seconds:.1f} s", ja="{model}、{seconds:.1f} 秒")
WORDS = Text(en="Words in the question, answer or document name", ja="質問・回答・文書名に含まれる語句")
_INTO = Text(en="Collection (a new name creates one)", ja="コレクション（新しい名前なら新規作成）")
STARTED = Text(
    en="Started. You can leave this page; the work continues.", ja="開始しました。このページを離れても処理は続きます。"
)
RANGE = Text(en="{first}–{last} of {total}", ja="{total} 件中 {first}～{last} 件")
_NOT_SENT = Text(
    en="The files could not be sent. Try again. For a folder, choose the files in it.",
    ja="ファイルを送信できませんでした。もう一度お試しください。フォルダーの場合は、中のファイルを選んでください。",
)
_IN_DOCUMENT = Text(en="Show in the document", ja="文書で表示")
_ORIGINAL = Text(en="Open the original", ja="元の文書を開く")
_MESSAGE = re.compile(rf"(?:https?://[^/]+)?{ROOT}(/\?room=.*)")  # in our rooms, by whatever name
# Of a chart's words and axes, as this browser has it (NiceGUI evaluates names that begin with a colon); then of its
# series: 3 : 1 on light and on dark.
_QUIET = {":color": "getComputedStyle(document.body).getPropertyValue('--k-quiet')"}
_COLOURS = ("#4a86d8", "#c77b22", "#2f9a78", "#c9506e", "#8b6fd0", "#7d8794")


def heading(text: str) -> None:
    with ui.element("h2").classes("kotae-heading"):
        ui.label(text)


def empty(text: str) -> None:
    """The words in a place where there is nothing yet."""
    ui.label(text).classes("kotae-empty")


def doubt(language: Language) -> None:
    """The line in front of an answer that the bot is not sure of."""
    ui.label(UNSURE.to(language)).classes("kotae-warn text-weight-bold").mark("unsure")


class When(TextElement):
    """A moment (aware), as on the clock of who looks: `<time>`, which tells the zone when it is pointed at."""

    def __init__(self, who: Visitor, at: datetime | None = None, form: str = MINUTE) -> None:
        super().__init__(tag="time", text="")
        self._who = who
        self._form = form
        if at is not None:
            self.put(at)

    def put(self, at: datetime) -> None:
        """Show this one."""
        theirs = at.astimezone(self._who.zone)
        self.props["datetime"] = at.astimezone(UTC).isoformat(timespec="seconds")
        self.props["title"] = f"{theirs:%Y-%m-%d %H:%M:%S} ({self._who.zone})"
        self.set_text(theirs.strftime(self._form))
        self.update()


def numbers(values: Sequence[tuple[str, str]]) -> None:
    """Names and figures, large."""
    with ui.element("div").classes("kotae-numbers"):
        for name, value in values:
            with ui.element("div").classes("kotae-card kotae-number"):
                ui.label(name).classes("kotae-quiet")
                with ui.element("b"):
                    ui.label(value)


@contextmanager
def table(*names: str) -> Iterator[None]:
    """A table in a box that scrolls by itself; its rows are made in the block, by `row`."""
    with ui.element("div").classes("kotae-scroll"), ui.element("table").classes("kotae-table"):
        with ui.element("thead"), ui.element("tr"):
            for name in names:
                with ui.element("th").props("scope=col"):
                    ui.label(name)
        with ui.element("tbody"):
            yield


def row(*cells: str | Callable[[], object]) -> None:
    """Of texts, and of what draws itself."""
    with ui.element("tr"):
        for cell in cells:
            with ui.element("td"):
                if isinstance(cell, str):
                    ui.label(cell)
                else:
                    cell()


def prose(text: str) -> ui.html:
    """Markdown as it reads."""
    return ui.html(markdown.html(text)).classes("kotae-prose")


def collection_select(names: list[str], value: str | None, language: Language, label: Text = _INTO) -> ui.select:
    """One of these collections, or a new one."""
    return ui.select(names, value=value, label=label.to(language), new_value_mode="add-unique").props(
        "use-input hide-selected fill-input input-debounce=0 maxlength=80"
    )


def once(do: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """`do`, which does nothing while it is at work: of a double click, one does it."""
    doing = asyncio.Lock()

    async def unless_doing(*given: object) -> None:
        if not doing.locked():
            async with doing:
                await do(*given)

    return unless_doing


def tells_failure(upload: ui.upload, language: Language) -> None:
    """Files that do not arrive: the field shows no list of them, and would send them again with the next ones."""

    def failed() -> None:
        upload.reset()
        ui.notify(_NOT_SENT.to(language), type="negative")

    upload.on("failed", failed, args=[])


def passage(text: str, url: str | None, language: Language) -> None:
    """The words of a document, and the way to it."""
    prose(text)
    original(url, language)


def original(url: str | None, language: Language) -> None:
    """The way to where a document came from, if it has an address there."""
    link(_ORIGINAL.to(language), url, new_tab=True)


def link(text: str, url: str | None, *, new_tab: bool = False) -> None:
    """The way to an address, if it is a safe one; to a message of our rooms by whatever name this page was reached."""
    if (address := safe_link(url)) is not None:
        ours = _MESSAGE.fullmatch(address)
        ui.link(text, ours[1] if ours else address, new_tab=new_tab)


def to_document(document_id: str, chunk: int, quoted: str, language: Language) -> None:
    """The way into a document, to the words that are quoted of it."""
    with ui.link(target=in_document(document_id, chunk, quoted)).classes("kotae-to-document") as link:
        link.tooltip(_IN_DOCUMENT.to(language)).props(f'aria-label="{_IN_DOCUMENT.to(language)}"')
        ui.icon("find_in_page")


def in_document(document_id: str, chunk: int, quoted: str = "") -> str:
    """The address of a document at a chunk of it, where the quoted words are marked."""
    at = {"document": document_id, "chunk": str(chunk)} | ({"quote": quoted} if quoted else {})
    return f"/documents?{urlencode(at, quote_via=quote, errors='replace')}"


def pager(turn: Callable[[int], Awaitable[None]], where: str, language: Language) -> tuple[ui.row, ui.label]:
    """The buttons that `turn` pages, by -1 and by 1, and between them `where` one is; the row, and that label."""
    with ui.row().classes("items-center") as row:
        ui.button("←", on_click=lambda: turn(-1)).props(f'flat aria-label="{BACK.to(language)}"')
        label = ui.label(where)
        ui.button("→", on_click=lambda: turn(1)).props(f'flat aria-label="{NEXT.to(language)}"')
    return row, label


def scores_text(scores: Mapping[str, float]) -> str:
    """`dense 0.83 · text-sparse 12.1`."""
    return " · ".join(f"{name} {score:.3g}" for name, score in scores.items())


def chart(
    label: str,
    days: Sequence[str],
    series: Mapping[str, Sequence[float | None]],
    *,
    kind: str = "bar",
    stacked: bool = False,
    unit: str = "",
) -> None:
    """A chart over time; `label` tells those who do not see it what it is."""
    shown: list[dict[str, Any]] = [
        {
            "name": name,
            "type": kind,
            "data": list(values),
            "stack": "all" if stacked else None,
            "connectNulls": True,
            "symbolSize": 5,
        }
        for name, values in series.items()
    ]
    axis = {"axisLabel": _QUIET, "axisLine": {"lineStyle": _QUIET}}
    ui.echart(
        {
            "animation": False,
            "backgroundColor": "transparent",
            "color": list(_COLOURS),
            "tooltip": {"trigger": "axis", "confine": True},
            "legend": {"textStyle": _QUIET, "type": "scroll", "top": 0},
            "grid": {"left": 48, "right": 12, "top": 40, "bottom": 28},
            "xAxis": {"type": "category", "data": list(days), **axis},
            "yAxis": {
                "type": "value",
                "name": unit,
                "minInterval": 0 if unit else 1,  # without a unit they are counted
                "nameTextStyle": _QUIET,
                "splitLine": {"lineStyle": {**_QUIET, "opacity": 0.25}},
                **axis,
            },
            "series": shown,
        }
    ).classes("kotae-chart").props(f'role=img aria-label="{_plain(label)}"')


def _plain(text: str) -> str:
    """For an attribute: our own words, without what would end it."""
    return text.replace('"', "”")


Value = TypeVar("Value")
Shown = TypeVar("Shown", contravariant=True)


class LiveCard(Protocol[Shown]):
    @property
    def root(self) -> ui.element: ...

    def put(self, value: Shown) -> None:
        """Show it as it is now."""
        ...


class LiveCards(Generic[Value]):
    """The cards in a column, by their key. `make` makes one where it is called; it is filled by `put`."""

    def __init__(self, column: ui.element, make: Callable[[], LiveCard[Value]]) -> None:
        self._column = column
        self._make = make
        self._cards: dict[str, LiveCard[Value]] = {}

    def show(self, values: Mapping[str, Value]) -> None:
        """These, in this order; those that stay keep theirs among themselves."""
        for key in [key for key in self._cards if key not in values]:
            self._cards.pop(key).root.delete()
        for at, (key, value) in enumerate(values.items()):
            card = self._cards.get(key)
            if card is None:
                with self._column:
                    card = self._cards[key] = self._make()
                if at < len(self._cards) - 1:
                    card.root.move(target_index=at)
            card.put(value)
