"""One document: what is known of it, and its chunks, a page at a time, by words or from a number on."""

import asyncio
from datetime import datetime

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from adapters.shared.expert_answers import ANSWER, QUESTION
from adapters.web.pages.documents.add import AddDocuments
from adapters.web.pages.documents.list import Acts
from adapters.web.pages.shared import components
from adapters.web.pages.shared.curators import person, readers_of
from adapters.web.pages.shared.dialogs import SAVE, buttons, form
from adapters.web.pages.shared.layout import saying, titled
from adapters.web.pages.shared.live import kept_live
from adapters.web.quotations import found
from adapters.web.visitor import Site, Visitor
from bot.records import DocumentRow
from retrieval.i18n import Text, date_words
from retrieval.types import Passage

PAGE = 10  # chunks
_LOOKED_THROUGH = 50  # at once, for a quotation

# To what the address points at.
_ARRIVED = """const there = document.querySelector(".kotae-pointed mark") ?? document.querySelector(".kotae-pointed");
there?.scrollIntoView({block: "center"}); there?.closest(".kotae-pointed").focus({preventScroll: true});"""

_ALL = Text(en="All documents", ja="文書の一覧へ")
_CHUNKS = Text(en="Chunks", ja="チャンク")
_WORDS = Text(en="Only chunks with these words", ja="この語句を含むチャンクのみ表示")
_NONE = Text(en="No chunk has these words.", ja="この語句を含むチャンクはありません。")
_MORE = Text(en="More", ja="さらに表示")
_FIRST = Text(en="From the beginning", ja="最初から表示")
_OWN = Text(en="Owner", ja="担当者")
_OWNER = Text(
    en="Who looks after it, such as slack:U012AB3CD; empty: who added it",
    ja="担当者（例: slack:U012AB3CD。空欄なら登録した人）",
)
_NOT_FOUND = Text(
    en="The quoted words were not found in this document. It may have changed since.",
    ja="引用された文はこの文書に見つかりません。その後、更新された可能性があります。",
)
_DESCRIBED = {
    "collection": Text(en="Collection", ja="コレクション"),
    "readers": Text(en="Who may find it", ja="公開範囲"),
    "title": Text(en="Title", ja="タイトル"),
    "chunks": Text(en="Chunks", ja="チャンク数"),
    "language": Text(en="Language", ja="言語"),
    "author": Text(en="Added by", ja="登録者"),
    "source": Text(en="Follows", ja="同期元"),
    "owner": Text(en="Looked after by", ja="担当者"),
    "added": Text(en="Added", ja="登録日時"),
    "changed": Text(en="This version added", ja="この版の登録日時"),
    "date": Text(en="Date of the document", ja="文書の日付"),
    "id": Text(en="ID", ja="ID"),
}


class OneDocument:
    def __init__(self, site: Site, who: Visitor, document_id: str, chunk: int | None, quote: str = "") -> None:
        self._site = site
        self._who = who
        self._id = document_id
        self._chunk = chunk  # is pointed at
        self._quote = quote
        self._next: int | None = None
        self._drawing = asyncio.Lock()  # what is asked for while chunks are fetched comes after them

    async def build(self) -> None:
        """Raises LookupError."""
        language = self._who.language
        ui.link(_ALL.to(language), "/documents")
        row = await self._row()
        if self._chunk is not None and self._chunk >= row.chunks:  # it has become shorter
            self._chunk = None
        titled(row.name)
        self._head = ui.column().classes("full-width")
        self._dialogs = ui.element("div")
        self._acts = Acts(self._site, self._who, self.show)
        AddDocuments(self._site, self._who, self.show).watch()
        components.heading(_CHUNKS.to(language))
        self._words = ui.input(_WORDS.to(language), on_change=self._again).classes("full-width")
        self._words.props("outlined dense clearable debounce=300 maxlength=200").mark("words")
        if self._quote and not await self._find(row):
            ui.label(_NOT_FOUND.to(language)).classes("kotae-warn").props("role=status")
        self._ground = ui.column().classes("full-width")
        self._foot = ui.row()
        async with kept_live(self._now, self.show):
            await self.show()
        if self._chunk is not None:
            ui.run_javascript(_ARRIVED)

    async def _now(self) -> DocumentRow | None:
        return await self._site.app.knowledge.document(self._id, self._who.readers)

    async def _find(self, row: DocumentRow) -> bool:
        """Point at the chunk that has the quotation: the one of the address, unless it stands in another by now."""
        knowledge, readers = self._site.app.knowledge, self._who.readers
        for start, limit in (
            (self._chunk or 0, 1),
            *((at, _LOOKED_THROUGH) for at in range(0, row.chunks, _LOOKED_THROUGH)),
        ):
            passages, _ = await knowledge.chunks(self._id, readers, start=start, limit=limit)
            for passage in passages:
                if found(self._quote, passage.text):
                    self._chunk = passage.chunk
                    return True
        return False

    async def _row(self) -> DocumentRow:
        row = await self._now()
        if row is None:
            raise LookupError(self._id)
        return row

    async def show(self) -> None:
        """Draw the document as it is now: facts, and the chunks from the one that is pointed at on."""
        try:
            row = await self._row()
        except LookupError:  # forgotten, or for others now
            ui.navigate.to("/documents")
            return
        await self._facts(row)
        async with self._drawing:
            await self._page(max(0, (self._chunk or 0) - 1), fresh=True)

    async def _facts(self, row: DocumentRow) -> None:
        language = self._who.language
        owner = await self._site.app.bot.asking.name(row.owner) if row.owner else ""
        followed = await self._site.app.sources.name_of(row.author, self._who.readers)
        values: dict[str, str | datetime] = {
            "collection": row.collection,
            "readers": readers_of(row.scope, self._who),
            "title": row.title,
            "chunks": str(row.chunks),
            "language": components.LANGUAGES[row.language].to(language),
            "author": row.author if followed is None else "",
            "source": followed.to(language) if followed else "",
            "owner": owner,
            "added": row.added_at,
            "changed": row.updated_at,
            "date": date_words(row.changed_at or "", language),
            "id": row.id,
        }
        self._head.clear()
        with self._head:
            with ui.element("dl").classes("kotae-facts"):
                for name, value in values.items():
                    if value:
                        with ui.element("dt"):
                            ui.label(_DESCRIBED[name].to(language))
                        with ui.element("dd"):
                            if isinstance(value, datetime):
                                components.When(self._who, value)
                            else:
                                ui.label(value)
            components.original(row.url, language)
            if self._site.app.curating.may_change(person(self._who), row):
                with ui.row():
                    self._acts.buttons(lambda: [row], done=lambda: ui.navigate.to("/documents"))
                    ui.button(_OWN.to(language), icon="person", on_click=lambda: self._own(row)).props(
                        "outline no-caps dense"
                    ).mark("own")

    def _own(self, row: DocumentRow) -> None:
        language = self._who.language
        with form(self._dialogs, _OWN, language) as dialog:
            owner = ui.input(_OWNER.to(language), value=row.owner or "").classes("full-width")
            owner.props("outlined maxlength=120").mark("owner")

            async def save() -> None:
                with saying(language):
                    await self._site.app.curating.own(person(self._who), row, owner.value or "")
                    dialog.close()
                    await self.show()

            buttons(dialog, SAVE, save, language)

    async def _again(self) -> None:
        self._chunk = None
        with saying(self._who.language):
            async with self._drawing:
                await self._page(0, fresh=True)

    async def _page(self, start: int, *, fresh: bool) -> None:
        language, words = self._who.language, (self._words.value or "").strip()
        found, self._next = await self._site.app.knowledge.chunks(
            self._id, self._who.readers, start=start, limit=PAGE, containing=words
        )
        if fresh:
            self._ground.clear()
        with self._ground:
            if fresh and not found:
                components.empty(_NONE.to(language))
            for passage in found:
                self._card(passage)
        self._foot.clear()
        with self._foot:
            if fresh and start:
                first = ui.button(_FIRST.to(language), on_click=self._again).props("outline no-caps")
                first.mark("first")
            if self._next is not None:
                ui.button(_MORE.to(language), on_click=self._more).props("outline no-caps").mark("more")

    async def _more(self) -> None:
        with saying(self._who.language):
            async with self._drawing:
                if self._next is not None:
                    await self._page(self._next, fresh=False)

    def _card(self, passage: Passage) -> None:
        language = self._who.language
        with ui.column().classes("kotae-card") as card:
            if passage.chunk == self._chunk:
                card.classes("kotae-pointed").props("tabindex=-1")
            where = " › ".join(filter(None, (f"#{passage.chunk}", *passage.headings)))
            ui.label(where).classes("kotae-quiet kotae-wrap")
            if passage.question is not None:
                ui.label(f"{QUESTION.to(language)}: {passage.question}").classes("kotae-pre text-weight-medium")
            self._text(passage, "" if passage.question is None else f"{ANSWER.to(language)}: ")

    def _text(self, passage: Passage, before: str) -> None:
        """With the quoted words marked, where it is pointed at."""
        marked = found(self._quote, passage.text) if passage.chunk == self._chunk else None
        start, end = marked or (0, 0)
        with ui.element("div").classes("kotae-pre"):
            for text, tag in (
                (before + passage.text[:start], "span"),
                (passage.text[start:end], "mark"),
                (passage.text[end:], "span"),
            ):
                if text:
                    TextElement(tag=tag, text=text)
