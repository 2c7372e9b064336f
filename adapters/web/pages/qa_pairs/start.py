"""Having pairs written: from which collection or document, what that would take, and then the start."""

from collections.abc import Awaitable, Callable

from nicegui import ui

from adapters.shared.ingestion import COLLECTION
from adapters.web.channel.rooms import room
from adapters.web.pages.qa_pairs.reviewer import is_private, standing, standings
from adapters.web.pages.shared import components
from adapters.web.pages.shared.curators import readers_of
from adapters.web.pages.shared.layout import saying
from adapters.web.pages.shared.live import LastAsked
from adapters.web.visitor import Site, Visitor
from bot.qa_pairs.pairs import Estimate, Reviewer
from bot.records import DocumentRow
from retrieval.i18n import Text
from retrieval.types import TEAM

_OFFERED = 50  # documents to choose from at a time

_TITLE = Text(en="Create Q/A pairs", ja="Q/A ペアを作成")
_HOW = Text(
    en="A language model writes questions and answers from the passages of your documents. They are found only after "
    "somebody has approved them here.",
    ja="言語モデルが文書の各箇所から質問と回答を作成します。ここで承認したものだけが検索の対象になります。",
)
_GUIDE = Text(en="How this installation is set up", ja="この環境の構成")
_NO_DOCUMENTS = Text(
    en="There are no documents to create pairs from yet. Add some first.",
    ja="元になる文書がまだありません。先に文書を追加してください。",
)
_TO_DOCUMENTS = Text(en="To the page Documents", ja="「文書」ページへ")
_READ_BY = Text(en="Documents", ja="対象の文書")
_SHARED = Text(en="those that the whole team reads", ja="チーム全員が読めるもの")
_AND_PRIVATE = Text(en="also those that only “{room}” reads", ja="「{room}」のメンバーだけが読めるものも含む")
_COUNT = Text(en="{name} ({n} document{n:|s})", ja="{name}（文書 {n} 件）")
_FIND = Text(en="Words in a document’s name", ja="文書名に含まれる語句")
_DOCUMENT = Text(en="Document", ja="文書")
_WHOLE = Text(en="the whole collection", ja="コレクション全体")
_FIRST = Text(
    en="The first {shown} of {total} documents are listed. Find others by their name.",
    ja="{total} 件中、最初の {shown} 件を表示しています。ほかの文書は文書名で絞り込んでください。",
)
_AGAIN = Text(en="Include passages that already have pairs", ja="すでにペアを作成した箇所からも、もう一度作成する")
_ESTIMATE = Text(en="Estimate", ja="見積もり")
_START = Text(en="Start", ja="作成を開始")
_NUMBERS = (
    Text(en="Passages", ja="対象の箇所"),
    Text(en="Pairs, at most", ja="ペア（最大）"),
    Text(en="Model calls", ja="モデルの呼び出し"),
    Text(en="Tokens, about", ja="トークン（概算）"),
)


class Starting:
    """The form. `started` is called after a start."""

    def __init__(self, site: Site, who: Visitor, started: Callable[[], Awaitable[None]]) -> None:
        self._site = site
        self._who = who
        self._started = started
        self._standings = standings(who)
        self._filling = False
        self._asking = LastAsked()

    async def build(self, document: DocumentRow | None) -> None:
        """`document`: chosen already. Without a language model it says what to set."""
        language = self._who.language
        components.heading(_TITLE.to(language))
        ui.label(_HOW.to(language)).classes("kotae-quiet")
        if (needs := self._site.app.pairs.needs) is not None:
            with ui.column().classes("kotae-card").props('role="note"'):
                ui.label(needs.to(language)).classes("kotae-warn")
                ui.link(_GUIDE.to(language), "/guide")
            return
        if not any(info.documents for info in await self._site.app.knowledge.collections(self._who.readers)):
            components.empty(_NO_DOCUMENTS.to(language))
            ui.link(_TO_DOCUMENTS.to(language), "/documents")
            return
        with ui.column().classes("kotae-card"):
            await self._form(document)

    async def _form(self, document: DocumentRow | None) -> None:
        language = self._who.language
        where = self._standings.index(standing(self._who, document.scope)) if document is not None else 0
        with ui.row().classes("kotae-filters"):
            choices = dict(enumerate(map(self._where_said, self._standings)))
            self._where = ui.select(choices, value=where, label=_READ_BY.to(language), on_change=self._refill)
            self._where.mark("readers").set_visibility(len(choices) > 1)
            self._collection = ui.select({}, label=COLLECTION.to(language), on_change=self._other)
            self._collection.mark("collection")
            self._words = ui.input(_FIND.to(language), on_change=self._other)
            self._words.props("debounce=400 clearable maxlength=200").mark("find")
            self._document = ui.select({}, label=_DOCUMENT.to(language), on_change=self._forget)
            self._document.classes("col-grow").mark("document")
        self._hint = ui.label().classes("kotae-quiet")
        self._again = ui.checkbox(_AGAIN.to(language), on_change=self._forget)
        self._ask = ui.button(_ESTIMATE.to(language), icon="calculate", on_click=self._estimate)
        self._ask.props("outline no-caps").classes("self-start").mark("estimate")
        self._result = ui.column().classes("full-width").props('aria-live="polite"')
        await self._fill(document)

    def _where_said(self, one: Reviewer) -> str:
        language = self._who.language
        if not is_private(one):
            return _SHARED.to(language)
        return _AND_PRIVATE.to(language, room=room(one.place.channel).name.to(language))

    @property
    def _standing(self) -> Reviewer:
        return self._standings[self._where.value or 0]

    # -- what there is to choose from --------------------------------------------------------------------------------

    async def _refill(self) -> None:
        with saying(self._who.language):
            await self._fill(None)

    def _other(self) -> Awaitable[None] | None:
        """Another collection or other words were chosen by hand."""
        return None if self._filling else self._refill_documents()

    async def _refill_documents(self) -> None:
        with saying(self._who.language):
            await self._fill_documents(None)

    async def _fill(self, document: DocumentRow | None) -> None:
        language = self._who.language
        self._forget()
        infos = await self._site.app.knowledge.collections(self._standing.readers)
        names = {
            info.name: _COUNT.to(language, name=info.name, n=f"{info.documents:,}") for info in infos if info.documents
        }
        kept = document.collection if document is not None else self._collection.value
        self._filling = True  # setting a value tells its handler, too
        try:
            self._collection.set_options(names, value=kept if kept in names else next(iter(names), None))
        finally:
            self._filling = False
        await self._fill_documents(document)

    async def _fill_documents(self, document: DocumentRow | None) -> None:
        """Until they are there, the whole collection is chosen: never a document of another one."""
        language, words = self._who.language, (self._words.value or "").strip()
        self._forget()
        is_last, whole = self._asking.ask(), {"": _WHOLE.to(language)}
        self._document.set_options(whole, value="")
        found, total = await self._site.app.data.documents.page(
            self._standing.readers, collection=self._collection.value or "", containing=words, limit=_OFFERED
        )
        if not is_last():
            return  # something else is chosen meanwhile
        if document is not None and all(row.id != document.id for row in found):
            found = [document, *found]
        value = document.id if document is not None else ""
        self._document.set_options(whole | {row.id: self._named(row) for row in found}, value=value)
        self._hint.set_text(_FIRST.to(language, shown=len(found), total=f"{total:,}"))
        self._hint.set_visibility(total > len(found))

    def _named(self, row: DocumentRow) -> str:
        return row.name if row.scope == TEAM else f"{row.name} – {readers_of(row.scope, self._who)}"

    # -- what it takes, and the start --------------------------------------------------------------------------------

    def _forget(self) -> None:
        """The count is not of what is chosen now."""
        self._result.clear()

    async def _estimate(self) -> None:
        language, pairs = self._who.language, self._site.app.pairs
        who, again = self._standing, bool(self._again.value)
        document, collection = self._document.value or None, self._collection.value
        self._forget()
        self._ask.props("loading")
        try:
            with saying(language):
                cost = await pairs.estimate(who, document=document, collection=collection, again=again)
                self._forget()  # of a second press
                with self._result:
                    self._show(cost)

                    async def start() -> None:
                        button.disable()
                        with saying(language):
                            await pairs.start(who, document=document, collection=collection, again=again)
                            ui.notify(components.STARTED.to(language), type="positive")
                            await self._started()
                        self._forget()

                    button = ui.button(_START.to(language), icon="play_arrow", on_click=start)
                    button.props("unelevated no-caps").classes("self-start").mark("start")
        finally:
            self._ask.props(remove="loading")

    def _show(self, cost: Estimate) -> None:
        language = self._who.language
        figures = (cost.chunks, cost.pairs, cost.calls, cost.tokens)
        components.numbers([(said.to(language), f"{n:,}") for said, n in zip(_NUMBERS, figures, strict=True)])
        ui.label(cost.said.to(language)).classes("kotae-pre")
