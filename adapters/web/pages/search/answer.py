"""An answer from the passages that are ticked on the search page."""

from collections.abc import Sequence
from contextlib import aclosing

from nicegui import ui

from adapters.markdown.events import SOURCES, doubt_line, source_place
from adapters.web.pages.shared import components
from adapters.web.pages.shared.curators import person
from adapters.web.pages.shared.layout import saying
from adapters.web.visitor import Site, Visitor
from agent.events import Answered, Citation, Thought
from retrieval.i18n import Text
from retrieval.types import Hit

_TITLE = Text(en="Answer", ja="回答")
_WORKING = Text(en="Answering from {n} passage{n:|s}…", ja="{n} か所から回答を作成中…")
_MARKED = Text(
    en="A statement could not be confirmed and is marked.", ja="確認できない記述があり、回答に明記しています。"
)


class Answering:
    """Shows one answer at a time."""

    def __init__(self, site: Site, who: Visitor) -> None:
        self._site = site
        self._who = who
        self._ground = ui.column().classes("full-width").props('aria-live="polite"')

    def clear(self) -> None:
        self._ground.clear()

    async def answer(self, question: str, chosen: Sequence[Hit]) -> None:
        """Until it is there, or it is said why not."""
        language, who = self._who.language, person(self._who)
        self._ground.clear()
        with self._ground, ui.column().classes("kotae-card") as card:
            components.heading(_TITLE.to(language))
            with ui.row().classes("items-center") as working:
                ui.spinner(size="sm")
                ui.label(_WORKING.to(language, n=len(chosen)))
            thoughts = ui.column().classes("kotae-thoughts")
            try:
                with saying(language, inline=True):
                    run = self._site.app.answer_from(question, chosen, self._who.readers, who.actor, language)
                    async with aclosing(run) as events:
                        async for event in events:
                            if isinstance(event, Answered) and not card.is_deleted:
                                self._show(event, chosen)
                            elif isinstance(event, Thought) and not card.is_deleted:
                                with thoughts:
                                    ui.label(f"🧠 {event.text}").classes("kotae-quiet kotae-pre")
            finally:
                if not working.is_deleted:
                    working.delete()

    def _show(self, answered: Answered, chosen: Sequence[Hit]) -> None:
        language = self._who.language
        if doubt_line(answered, language):
            components.doubt(language)
        text = components.prose(answered.text)
        text.mark(f"answer-{answered.outcome}")
        if answered.outcome == "failed":
            text.props('role="alert"').classes("kotae-bad")
        if answered.marked:
            ui.label(_MARKED.to(language)).classes("kotae-warn")
        if answered.citations:
            ui.label(SOURCES.to(language)).classes("text-weight-bold")
        for citation in answered.citations:
            self._source(citation, chosen)
        ui.label(components.MADE.to(language, model=answered.model, seconds=answered.seconds)).classes("kotae-quiet")

    def _source(self, citation: Citation, chosen: Sequence[Hit]) -> None:
        language = self._who.language
        passage = next(
            (
                hit.passage
                for hit in chosen
                if (hit.passage.collection, hit.passage.document, hit.passage.chunk)
                == (citation.collection, citation.document, citation.chunk)
            ),
            None,
        )
        with ui.column().classes("kotae-source q-pa-sm"):
            where = source_place(citation.collection, citation.date, language, citation.checked, citation.said_in)
            with ui.row().classes("items-center"):
                ui.label(f"[{citation.n}] {citation.name}{where}").classes("kotae-wrap")
                if passage is not None:
                    components.to_document(passage.document_id, passage.chunk, citation.quote, language)
                components.link("↗", citation.url, new_tab=True)
            ui.label(citation.quote).classes("kotae-quiet kotae-pre")
