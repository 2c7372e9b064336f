"""Q/A pairs: written from documents by a language model, after it was said what that takes, and reviewed before they
are found.

Source: product.md §3 and §6; seeds/0_agent_rag.md §1.2 and §4.5.
"""

from collections.abc import Mapping

from nicegui import ui

from adapters.web.pages.qa_pairs.jobs import QaJobs
from adapters.web.pages.qa_pairs.review import PairReview
from adapters.web.pages.qa_pairs.start import Starting
from adapters.web.pages.shared.layout import Page, saying
from adapters.web.visitor import Site, Visitor
from retrieval.i18n import Text

_EVERY = 1.0  # seconds between two looks while something is written
_IDLE = 2  # looks of which one is taken while nothing is
_JOBS = 20  # newest ones

_TITLE = Text(en="Generated pairs", ja="Q/A の作成")


class _Pairs:
    """The three parts of the page, kept in step with what other browsers and the work itself do."""

    def __init__(self, site: Site, who: Visitor) -> None:
        self._site = site
        self._who = who
        self._review = PairReview(site, who)
        self._jobs = QaJobs(site, who, self._review.of_job, self._look)
        self._start = Starting(site, who, self._look)
        self._working = False
        self._skipped = 0

    async def build(self, asked: Mapping[str, str]) -> None:
        """`asked`: the document and the filters, as the address has them."""
        document = asked.get("document", "")
        row = await self._site.app.knowledge.document(document, self._who.readers) if document else None
        await self._start.build(row)
        self._jobs.build()
        await self._review.build(row, asked)
        await self._look_at_jobs()
        ui.timer(_EVERY, self._tick, immediate=False)

    async def _look(self) -> None:
        await self._look_at_jobs()
        await self._review.refresh()

    async def _look_at_jobs(self) -> None:
        jobs = await self._site.app.pairs.jobs(self._who.readers, limit=_JOBS)
        self._working = any(job.state == "running" or job.working for job in jobs)
        self._jobs.put(jobs)
        self._review.jobs(jobs)

    async def _tick(self) -> None:
        self._skipped += 1
        if self._working or self._skipped >= _IDLE:
            self._skipped, self._working = 0, False  # what fails is not tried again at once
            with saying(self._who.language):
                await self._look()


PAGE = Page("/pairs", _TITLE, "quiz", lambda site, who, request: _Pairs(site, who).build(request.query_params))
