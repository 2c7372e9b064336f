"""Documents: the collections, what is in them, chunk by chunk, and the ways in and out.

`/documents?collection=…` begins with one collection, `/documents?document=…&chunk=…&quote=…` shows a document at a
chunk of it, with the quoted words marked. Source: product.md §3 and §6; seeds/0_agent_rag.md (CSVデータ登録,
Qdrantデータ管理)."""

from nicegui import ui
from starlette.requests import Request

from adapters.web.pages.documents.add import AddDocuments
from adapters.web.pages.documents.collections import CollectionCards
from adapters.web.pages.documents.detail import OneDocument
from adapters.web.pages.documents.list import Acts, DocumentTable
from adapters.web.pages.shared import components
from adapters.web.pages.shared.layout import Page
from adapters.web.pages.shared.live import kept_live
from adapters.web.visitor import Site, Visitor
from retrieval.i18n import Text

QUOTE = 1_000  # characters

_TO_LIST = """[...document.querySelectorAll(".kotae-filters")].at(-1)?.previousElementSibling.scrollIntoView();"""

_TITLE = Text(en="Documents", ja="文書")
_NUMBERS = (
    Text(en="Collections", ja="コレクション"),
    Text(en="Documents", ja="文書"),
    Text(en="Chunks", ja="チャンク"),
)


async def _build(site: Site, who: Visitor, request: Request) -> None:
    asked = request.query_params
    if document := asked.get("document"):
        chunk = asked.get("chunk", "")
        at = int(chunk) if chunk.isascii() and chunk.isdigit() and len(chunk) < 10 else None
        await OneDocument(site, who, document, at, asked.get("quote", "")[:QUOTE]).build()
        return
    figures = ui.column().classes("full-width")

    async def count() -> list[str]:
        infos = await site.app.knowledge.collections(who.readers)
        counted = (len(infos), sum(info.documents for info in infos), sum(info.chunks for info in infos))
        figures.clear()
        with figures:
            named = zip(_NUMBERS, counted, strict=True)
            components.numbers([(said.to(who.language), f"{number:,}") for said, number in named])
        return [info.name for info in infos]

    async def changed() -> None:
        found.choose_from(await count())
        adding.redraw()
        await cards.show()
        await found.show()

    async with kept_live(site.app.knowledge.generation, changed):
        names = await count()
        adding = AddDocuments(site, who, changed)
        adding.build(list(dict.fromkeys((site.app.settings.default_collection, *names))))
        cards = CollectionCards(site, who, changed)
        await cards.build()
        found = DocumentTable(site, who, Acts(site, who, changed), asked)
        await found.build(names)
    if asked.get("collection"):  # it was chosen among the cards above, and its documents are far below them
        ui.run_javascript(_TO_LIST)


PAGE = Page("/documents", _TITLE, "description", _build)
