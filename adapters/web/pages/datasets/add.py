"""Adding a dataset, on its page: which columns of a file, how much, where to and for whom; looked at before it is
added."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from nicegui import ui

from adapters.shared.ingestion import SCOPE
from adapters.web.pages.datasets.jobs import DROPPED
from adapters.web.pages.shared import components
from adapters.web.pages.shared.curators import person, readers_of
from adapters.web.pages.shared.layout import saying
from adapters.web.visitor import Site, Visitor
from bot.knowledge.collections import check_name
from bot.knowledge.dataset_uploads import DatasetUpload
from bot.knowledge.datasets import MOST, Choice, Order, Sample, Upstream
from retrieval.datasets import Columns, Dataset, Inspected, Sieve, Split, StreamLimits
from retrieval.i18n import Text
from retrieval.types import RAGToolError

_ROWS = 5  # of a preview
_SHOWN = 700  # characters of a text in it
_USUAL = StreamLimits(documents=200, characters=5_000_000)  # what a small machine embeds while somebody waits for it

_FILE = Text(en="{name}: read as {encoding}, columns: {columns}", ja="{name}: 文字コード {encoding}、列: {columns}")
_TEXT = Text(en="Text columns", ja="本文の列")
_TITLE, _URL = Text(en="Title column", ja="タイトルの列"), Text(en="URL column", ja="URL の列")
_ID = Text(en="Row ID column", ja="行 ID の列")
_NO_COLUMN = Text(en="none", ja="なし")
_CHOOSE_TEXT = Text(en="Choose at least one text column.", ja="本文の列を 1 つ以上選択してください。")
_SPLIT = Text(en="One document is", ja="1 つの文書とする単位")
_SPLITS: dict[Split, Text] = {
    "file": Text(en="the whole file", ja="ファイル全体"),
    "paragraph": Text(en="each paragraph (between empty lines)", ja="段落（空行区切り）"),
    "line": Text(en="each line", ja="1 行"),
}
_DOCUMENTS = Text(en="Documents, at most", ja="文書数の上限")
_CHARACTERS = Text(en="Characters, at most", ja="合計文字数の上限")
_SHORTEST = Text(en="Shortest document", ja="1 文書の最小文字数")
_LONGEST = Text(en="Longest document", ja="1 文書の最大文字数")
_NUMBER = Text(
    en="“{name}” must be a whole number from {least} to {most}.",
    ja="「{name}」には {least}～{most} の整数を入力してください。",
)
_PREVIEW = Text(en="Preview", ja="プレビュー")
_START = Text(en="Start adding", ja="追加を開始")
_CLOSE = Text(en="Close", ja="閉じる")
_BEFORE, _AFTER = Text(en="Before cleaning", ja="前処理の前"), Text(en="After cleaning", ja="前処理の後")
_LEFT_OUT = Text(en="Left out: {why}", ja="除外: {why}")
_LENGTH = Text(en="{n} characters", ja="{n} 文字")
_NO_ROWS = Text(en="It has no rows.", ja="行がありません。")


class AddDatasets:
    """The choices of somebody who is about to add datasets. `started` is called after a start."""

    def __init__(self, site: Site, who: Visitor, started: Callable[[], Awaitable[None]]) -> None:
        self._site = site
        self._who = who
        self._started = started
        self._file: DatasetUpload | None = None  # that nothing else would give up
        self._columns: tuple[ui.select, ...] = ()
        self._split: ui.select | None = None

    def build(self) -> None:
        self._ground = ui.column().classes("full-width")

    async def dataset(self, dataset: Dataset) -> None:
        """A dataset of the hub was chosen."""
        await self.drop()
        self._ground.clear()
        with self._ground, ui.column().classes("kotae-card"):
            self._head(dataset.title.to(self._who.language))
            self._columns, self._split = (), None
            await self._rest(dataset.name, lambda: Upstream(dataset.name))
        self._ground.run_method("scrollIntoView", {"behavior": "smooth", "block": "nearest"})

    async def file(self, file: DatasetUpload, found: Inspected) -> None:
        """A file has come."""
        await self.drop()
        self._file = file
        language = self._who.language
        self._ground.clear()
        with self._ground, ui.column().classes("kotae-card"):
            self._head(file.name)
            columns = ", ".join(found.columns)
            shown = _FILE.to(language, name=file.name, encoding=found.encoding, columns=columns)
            ui.label(shown).classes("kotae-quiet kotae-pre")
            self._columns, self._split = (), None
            with ui.row().classes("kotae-filters"):
                if found.split is not None:
                    splits = {name: said.to(language) for name, said in _SPLITS.items()}
                    self._split = ui.select(splits, value=found.split, label=_SPLIT.to(language))
                else:
                    self._columns = self._choose_columns(found)
            name = file.name.rpartition(".")[0] or file.name
            await self._rest(name[:60], lambda: self._own(file))

    async def close(self) -> None:
        """Nothing is to be added any more."""
        self._ground.clear()
        await self.drop()

    async def drop(self) -> None:
        """A file that was only looked at is not kept."""
        file, self._file = self._file, None
        if file is not None:
            await self._site.app.datasets.drop(file)

    # -- the form ----------------------------------------------------------------------------------------------------

    def _head(self, name: str) -> None:
        language = self._who.language

        async def close() -> None:
            with saying(language):
                await self.close()

        with ui.row().classes("items-center full-width no-wrap"):
            ui.label(name).classes("text-h6 kotae-pre")
            ui.space()
            ui.button(icon="close", on_click=close).props(f'flat dense round aria-label="{_CLOSE.to(language)}"').mark(
                "close"
            )

    def _choose_columns(self, found: Inspected) -> tuple[ui.select, ...]:
        language, guess, names = self._who.language, found.guess, list(found.columns)
        text = ui.select(names, value=list(guess.text) if guess else [], multiple=True, label=_TEXT.to(language))
        text.props("use-chips").mark("text")
        others = {"": _NO_COLUMN.to(language)} | {name: name for name in names}
        wanted = (
            (_TITLE, guess.title if guess else None),
            (_URL, guess.url if guess else None),
            (_ID, guess.id if guess else None),
        )
        return (text, *(ui.select(others, value=name or "", label=said.to(language)) for said, name in wanted))

    async def _rest(self, name: str, choice: Callable[[], Choice]) -> None:
        """Limits, where to, for whom; and the buttons."""
        language, app = self._who.language, self._site.app
        with ui.row().classes("kotae-filters"):
            limits = (
                self._number("documents", _DOCUMENTS, _USUAL.documents, MOST),
                self._number("characters", _CHARACTERS, _USUAL.characters, 1_000_000_000),
                self._number("shortest", _SHORTEST, _USUAL.sieve.shortest, 100_000),
                self._number("longest", _LONGEST, _USUAL.sieve.longest, 1_000_000),
            )
        infos = await app.knowledge.collections(self._who.readers)
        names = list(dict.fromkeys([name, *(info.name for info in infos)]))
        scopes = {scope: readers_of(scope, self._who) for scope in app.curating.scopes(person(self._who))}
        with ui.row().classes("kotae-filters"):
            where = components.collection_select(names, name, language)
            where.classes("col-grow").mark("collection")
            scope = (
                ui.select(scopes, value=next(iter(scopes)), label=SCOPE.to(language)).classes("col-grow").mark("scope")
            )

        def given() -> StreamLimits:
            documents, characters, shortest, longest = (read() for read in limits)
            return replace(_USUAL, documents=documents, characters=characters, sieve=Sieve(shortest, longest))

        async def look() -> None:
            seen.clear()
            preview.props("loading")
            try:
                with seen, saying(language, inline=True):
                    self._show(await app.datasets.preview(choice(), _ROWS, given()))
            finally:
                preview.props(remove="loading")

        async def start() -> None:
            with saying(language):
                collection = (where.value or "").strip()
                check_name(collection)
                author = person(self._who).actor.full_id
                await app.datasets.start(Order(choice(), collection, scope.value, author, language, given()))
                self._file = None  # the job gives it up
                ui.notify(components.STARTED.to(language), type="positive")
                await self.close()
                await self._started()

        with ui.row():
            preview = (
                ui.button(_PREVIEW.to(language), icon="visibility", on_click=look)
                .props("outline no-caps")
                .mark("preview")
            )
            ui.button(_START.to(language), icon="play_arrow", on_click=components.once(start)).props(
                "unelevated no-caps"
            ).mark("start")
        seen = ui.column().classes("full-width").props('aria-live="polite"')

    def _number(self, mark: str, said: Text, value: int, most: int) -> Callable[[], int]:
        """A field; what is returned reads it, or raises RAGToolError."""
        name = said.to(self._who.language)
        field = ui.number(name, value=value, min=1, max=most, precision=0).classes("col-grow").mark(mark)

        def read() -> int:
            if field.value is None or not 1 <= field.value <= most or field.value != int(field.value):
                raise RAGToolError(_NUMBER, name=name, least=1, most=f"{most:,}")
            return int(field.value)

        return read

    def _own(self, file: DatasetUpload) -> DatasetUpload:
        """The file with what was chosen for it. Raises RAGToolError."""
        if self._split is not None:
            return replace(file, split=self._split.value)
        text, title, url, key = (each.value for each in self._columns)
        if not text:
            raise RAGToolError(_CHOOSE_TEXT)
        return replace(file, columns=Columns(tuple(text), title or None, url or None, key or None))

    # -- the preview -------------------------------------------------------------------------------------------------

    def _show(self, samples: Sequence[Sample]) -> None:
        language = self._who.language
        if not samples:
            components.empty(_NO_ROWS.to(language))
        for sample in samples:
            title = sample.after.title if sample.after is not None else sample.before.title
            with ui.column().classes("kotae-card"):
                ui.label(title or f"#{sample.before.number}").classes("text-weight-bold kotae-pre")
                with ui.element("div").classes("kotae-beside"):
                    self._text(_BEFORE, sample.before.text)
                    if sample.after is not None:
                        self._text(_AFTER, sample.after.text)
                    elif sample.reason is not None:
                        why = DROPPED[sample.reason].to(language)
                        ui.label(_LEFT_OUT.to(language, why=why)).classes("kotae-warn")

    def _text(self, said: Text, text: str) -> None:
        language = self._who.language
        with ui.element("div"):
            ui.label(f"{said.to(language)} · {_LENGTH.to(language, n=f'{len(text):,}')}").classes("kotae-quiet")
            ui.label(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…").classes("kotae-pre kotae-raw")
