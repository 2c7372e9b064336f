"""The documents on the documents page: filtered, a page at a time, and what can be done with those that are ticked."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import get_args

from nicegui import ui

from adapters.shared.ingestion import COLLECTION, SCOPE
from adapters.web.pages.shared import components
from adapters.web.pages.shared.address import chosen, note
from adapters.web.pages.shared.curators import person, readers_of
from adapters.web.pages.shared.dialogs import buttons, confirmed, form
from adapters.web.pages.shared.layout import saying
from adapters.web.pages.shared.live import LastAsked
from adapters.web.visitor import Site, Visitor
from bot.knowledge.curation import Curator
from bot.records import DocumentOrder, DocumentRow
from retrieval.i18n import Language, Text, date_words
from retrieval.types import EVERYONE, TEAM

PAGE = 20  # documents

_TITLE = Text(en="Documents", ja="文書")
_FILTER = Text(en="Name or title", ja="名前・タイトルで絞り込み")
_MOVE, _DO_MOVE = Text(en="Move", ja="移動"), Text(en="Move here", ja="ここに移動")
_INTO = Text(en="Collection (an existing or a new one)", ja="コレクション（新しい名前も可）")
_MOVED = Text(en="{n} document{n: is|s are} now in “{name}”.", ja="文書 {n} 件を「{name}」に移しました。")
_ALL = Text(en="All", ja="すべて")
_ORDER = Text(en="Order", ja="並び順")
_ORDERS: dict[DocumentOrder, Text] = {
    "name": Text(en="by name", ja="名前順"),
    "newest": Text(en="newest first", ja="新しい順"),
    "largest": Text(en="largest first", ja="大きい順"),
}
_EMPTY = Text(
    en="There are no documents here yet. Add files or a text above.",
    ja="文書はまだありません。上のフォームからファイルやテキストを追加できます。",
)
_NO_MATCH = Text(en="No documents match.", ja="条件に合う文書はありません。")
_HIDDEN = Text(en="{n} more belong to places you are not in.", ja="ほかに、参加していない場所の文書が {n} 件あります。")
_FACTS = Text(
    en="{collection} · {chunks} chunk{chunks:|s} · {readers} · added",
    ja="{collection} · チャンク {chunks} 件 · {readers} · 登録",
)
_DATED = Text(en="· dated {date}", ja="· 文書の日付 {date}")
_TICK = Text(en="Select this document", ja="この文書を選択")
_TICKED = Text(en="{n} selected:", ja="{n} 件を選択中:")
_FORGET = Text(en="Forget", ja="削除")
_SURE = Text(
    en="Forget these documents? They disappear from every search at once and cannot be restored.\n\n{names}",
    ja="次の文書を削除しますか？すぐに検索されなくなり、元に戻せません。\n\n{names}",
)
_FORGOTTEN = Text(en="“{name}” is forgotten.", ja="「{name}」を削除しました。")
_FORGOTTEN_ALL = Text(en="{n} document{n: is|s are} forgotten.", ja="文書 {n} 件を削除しました。")
_RESCOPE = Text(en="Change who may find it", ja="公開範囲を変更")
_RESCOPED = Text(en="Changed: {readers}", ja="公開範囲を変更しました: {readers}")
_NO_CHOICE = Text(
    en="There is no other audience you may choose for all of these.",
    ja="選択した文書すべてに指定できる、ほかの公開範囲がありません。",
)
_REINDEX = Text(en="Re-index", ja="再インデックス")
_STARTED = Text(
    en="The work continues in the background; see above.",
    ja="バックグラウンドで処理しています。進み具合は上に表示されます。",
)
_SEVERAL = Text(en="{n} document{n:|s}", ja="文書 {n} 件")
_NAMED = 10  # in a question


class Acts:
    """Actions on documents, from the list and from the page of one. `changed` is called after it."""

    def __init__(self, site: Site, who: Visitor, changed: Callable[[], Awaitable[None]]) -> None:
        self._site = site
        self._who = who
        self._person = person(who)
        self._changed = changed
        self._ground = ui.element("div")  # dialogs must not vanish with what they were opened from

    def allowed(self, row: DocumentRow) -> bool:
        return self._site.app.curating.may_change(self._person, row)

    async def forget(self, rows: list[DocumentRow]) -> bool:
        """Whether they are gone."""
        language = self._who.language
        with self._ground, saying(language):
            names = "\n".join(f"・{row.name}" for row in rows[:_NAMED]) + ("\n…" if len(rows) > _NAMED else "")
            if not await confirmed(_SURE.to(language, names=names), _FORGET.to(language), language):
                return False
            one = len(rows) == 1
            text = _FORGOTTEN.to(language, name=rows[0].name) if one else _FORGOTTEN_ALL.to(language, n=len(rows))
            await self._each(rows, self._site.app.curating.forget, text)
            return True
        return False

    def rescope(self, rows: list[DocumentRow]) -> None:
        """Ask for whom, and do it."""
        language, curating = self._who.language, self._site.app.curating
        with self._ground, saying(language):
            choices = [curating.scopes_for(self._person, row) for row in rows]
            common = [scope for scope in curating.scopes(self._person) if all(scope in each for each in choices)]
            if not common:
                ui.notify(_NO_CHOICE.to(language), type="warning")
                return
            with form(self._ground, _RESCOPE, language) as dialog:
                ui.label("\n".join(row.name for row in rows[:_NAMED])).classes("kotae-pre kotae-quiet")
                # Narrow ones first, and none chosen: nothing is shown to outsiders by a slip.
                common.sort(key=lambda scope: (TEAM, EVERYONE).index(scope) if scope in (TEAM, EVERYONE) else -1)
                chosen = ui.radio({scope: readers_of(scope, self._who) for scope in common})
                chosen.props(f'aria-label="{SCOPE.to(language)}"').mark("rescope-to")

                async def do() -> None:
                    with self._ground, saying(language):
                        dialog.close()
                        said = _RESCOPED.to(language, readers=readers_of(chosen.value, self._who))
                        await self._each(rows, partial(curating.rescope, scope=chosen.value), said)

                buttons(dialog, _RESCOPE, do, language).mark("do").bind_enabled_from(chosen, "value", bool)

    async def move(self, rows: list[DocumentRow]) -> None:
        """Ask for the collection, and put them there."""
        language = self._who.language
        with self._ground, saying(language):
            names = [info.name for info in await self._site.app.knowledge.collections(self._who.readers)]
            with form(self._ground, _MOVE, language) as dialog:
                ui.label("\n".join(row.name for row in rows[:_NAMED])).classes("kotae-pre kotae-quiet")
                to = ui.input(_INTO.to(language), autocomplete=names).classes("full-width")
                to.props("outlined maxlength=80").mark("move-to")

                async def do() -> None:
                    into = (to.value or "").strip()
                    with self._ground, saying(language):
                        moved = _MOVED.to(language, n=len(rows), name=into)
                        await self._each(rows, partial(self._site.app.curating.move, collection=into), moved)
                        dialog.close()

                buttons(dialog, _DO_MOVE, do, language)

    async def _each(self, rows: list[DocumentRow], act: Callable[[Curator, str], Awaitable[object]], done: str) -> None:
        """Do it to each, and say that it is `done`; what was done until something went wrong is shown, too."""
        try:
            for row in rows:
                await act(self._person, row.id)
            ui.notify(done, type="positive")
        finally:
            await self._changed()

    async def reindex(self, rows: list[DocumentRow]) -> None:
        language = self._who.language
        with self._ground, saying(language):
            name = rows[0].name if len(rows) == 1 else _SEVERAL.to(language, n=len(rows))
            self._site.app.curating.reindex(self._person, rows, name)
            ui.notify(_STARTED.to(language))
            await self._changed()

    def buttons(self, rows: Callable[[], list[DocumentRow]], *, done: Callable[[], None] = lambda: None) -> None:
        """The three acts on what `rows` gives then; `done` is called when the documents are gone."""
        language = self._who.language

        async def forget() -> None:
            if await self.forget(rows()):
                done()

        ui.button(_FORGET.to(language), icon="delete", on_click=forget).props("outline no-caps dense").mark("forget")
        change = ui.button(_RESCOPE.to(language), icon="visibility", on_click=lambda: self.rescope(rows()))
        change.props("outline no-caps dense").mark("rescope")
        move = ui.button(_MOVE.to(language), icon="drive_file_move", on_click=lambda: self.move(rows()))
        move.props("outline no-caps dense").mark("move")
        again = ui.button(_REINDEX.to(language), icon="refresh", on_click=lambda: self.reindex(rows()))
        again.props("outline no-caps dense").mark("reindex")


class DocumentTable:
    def __init__(self, site: Site, who: Visitor, acts: Acts, asked: Mapping[str, str]) -> None:
        """`asked`: the filters, as the address has them."""
        self._site = site
        self._who = who
        self._acts = acts
        self._wanted = asked
        self._start = 0
        self._asking = LastAsked()
        self._ticked: dict[str, DocumentRow] = {}

    @property
    def _language(self) -> Language:
        return self._who.language

    async def build(self, collections: list[str]) -> None:
        language = self._language
        components.heading(_TITLE.to(language))
        scopes = {scope: readers_of(scope, self._who) for scope in self._scopes()}
        with ui.row().classes("kotae-filters"):
            words = self._wanted.get("words", "")[:200]
            self._words = ui.input(_FILTER.to(language), value=words, on_change=self._filter).classes("col-grow")
            self._words.props("outlined dense clearable debounce=300 maxlength=200").mark("filter")
            names = {"": _ALL.to(language)} | {name: name for name in collections}
            self._from = ui.select(
                names,
                value=chosen(self._wanted, "collection", names, ""),
                label=COLLECTION.to(language),
                on_change=self._filter,
            ).props("outlined dense")
            self._from.mark("filter-collection")
            readable = {"": _ALL.to(language)} | scopes
            self._scope = ui.select(
                readable,
                value=chosen(self._wanted, "scope", readable, ""),
                label=SCOPE.to(language),
                on_change=self._filter,
            ).props("outlined dense")
            orders = {order: _ORDERS[order].to(language) for order in get_args(DocumentOrder)}
            self._order = ui.select(
                orders,
                value=chosen(self._wanted, "order", orders, "name"),
                label=_ORDER.to(language),
                on_change=self._filter,
            ).props("outlined dense")
        self._bar = ui.row().classes("items-center")
        self._ground = ui.column().classes("full-width kotae-documents")
        await self.show()

    def choose_from(self, collections: list[str]) -> None:
        """There are other collections now."""
        chosen = self._from.value if self._from.value in collections else ""
        options = {"": _ALL.to(self._language)} | {name: name for name in collections}
        if options != self._from.options:
            self._from.set_options(options, value=chosen)

    def _scopes(self) -> list[str]:
        private = sorted(self._who.readers.scopes - {TEAM, EVERYONE})
        return [TEAM, EVERYONE, *private]

    async def _filter(self) -> None:
        self._start = 0
        note(
            words=(self._words.value or "").strip(),
            collection=str(self._from.value or ""),
            scope=str(self._scope.value or ""),
            order="" if self._order.value == "name" else str(self._order.value),
        )
        with saying(self._language):
            await self.show()

    async def show(self) -> None:
        """Draw the page of the list as it is now."""
        language, documents = self._language, self._site.app.data.documents
        is_last = self._asking.ask()
        rows, total = await documents.page(
            self._who.readers,
            collection=self._from.value or None,
            scope=self._scope.value or None,
            containing=(self._words.value or "").strip(),
            order=self._order.value,
            start=self._start,
            limit=PAGE,
        )
        if not rows and self._start and is_last():
            self._start = max(0, (total - 1) // PAGE * PAGE)
            await self.show()
            return
        hidden = await documents.hidden(self._who.readers)
        if not is_last():
            return
        self._ticked = {row.id: row for row in rows if row.id in self._ticked}
        self._ground.clear()
        with self._ground:
            if not rows:
                filtered = self._words.value or self._from.value or self._scope.value
                components.empty((_NO_MATCH if filtered else _EMPTY).to(language))
            for row in rows:
                self._row(row)
            self._foot(len(rows), total)
            if hidden:
                ui.label(_HIDDEN.to(language, n=hidden)).classes("kotae-quiet")
        self._tools()

    def _row(self, row: DocumentRow) -> None:
        language = self._language
        with ui.row().classes("kotae-document no-wrap"):
            if self._acts.allowed(row):
                tick = ui.checkbox(value=row.id in self._ticked, on_change=partial(self._tick, row))
                tick.props(f'dense aria-label="{_TICK.to(language)}"').mark(f"tick-{row.id}")
            with ui.column().classes("kotae-said"):
                ui.link(row.name, f"/documents?document={row.id}").classes("kotae-wrap")
                facts = _FACTS.to(
                    language,
                    collection=row.collection,
                    chunks=row.chunks,
                    readers=readers_of(row.scope, self._who),
                )
                with ui.row().classes("kotae-quiet kotae-facts-line"):
                    ui.label(facts).classes("kotae-wrap")
                    components.When(self._who, row.updated_at, components.DAY)
                    if row.changed_at:
                        ui.label(_DATED.to(language, date=date_words(row.changed_at, language)))

    def _foot(self, shown: int, total: int) -> None:
        language = self._language
        if total <= PAGE:
            return
        with ui.row().classes("items-center"):
            back = ui.button(icon="chevron_left", on_click=lambda: self._turn(-PAGE)).props("flat dense round")
            back.props(f'aria-label="{components.BACK.to(language)}"').set_enabled(self._start > 0)
            ui.label(components.RANGE.to(language, first=self._start + 1, last=self._start + shown, total=total))
            on = ui.button(icon="chevron_right", on_click=lambda: self._turn(PAGE)).props("flat dense round")
            on.props(f'aria-label="{components.NEXT.to(language)}"').mark("next").set_enabled(
                self._start + shown < total
            )

    async def _turn(self, by: int) -> None:
        self._start = max(0, self._start + by)
        with saying(self._language):
            await self.show()

    def _tick(self, row: DocumentRow) -> None:
        if row.id in self._ticked:
            del self._ticked[row.id]
        else:
            self._ticked[row.id] = row
        self._tools()

    def _tools(self) -> None:
        self._bar.clear()
        if self._ticked:
            with self._bar:
                ui.label(_TICKED.to(self._language, n=len(self._ticked)))
                self._acts.buttons(lambda: list(self._ticked.values()))
