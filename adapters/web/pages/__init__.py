"""The pages of the web interface: each a module that builds what stands in the frame. Imported with the first visit."""

import logging

from fastapi import FastAPI
from nicegui import core, ui
from starlette.requests import Request
from starlette.responses import Response

from adapters.web.api import errors
from adapters.web.api.errors import Problem
from adapters.web.pages import answers, changed, guide, metrics, sources, trace, unanswered
from adapters.web.pages.channel import page as channel
from adapters.web.pages.datasets import page as datasets
from adapters.web.pages.documents import page as documents
from adapters.web.pages.qa_pairs import page as qa_pairs
from adapters.web.pages.search import page as search
from adapters.web.pages.shared.layout import Page, missing, register
from adapters.web.paths import ROOT
from adapters.web.visitor import Site

PAGES: tuple[Page, ...] = (
    channel.PAGE,
    unanswered.PAGE,
    answers.PAGE,
    documents.PAGE,
    sources.PAGE,
    changed.PAGE,
    search.PAGE,
    qa_pairs.PAGE,
    datasets.PAGE,
    metrics.PAGE,
    guide.PAGE,
    trace.PAGE,
)


def mount(shell: FastAPI, site: Site) -> None:
    """Put all pages under `/app` of `shell`, whose lifespan is then NiceGUI's. Once a process."""
    core.app.config.endpoint_documentation = "none"
    listed = [each for each in PAGES if each.listed]
    for page in PAGES:
        register(site, page, listed)
    _in_our_words(shell, site, listed)
    ui.run_with(
        shell,
        mount_path=ROOT,
        title="Kotae",
        favicon="💡",
        dark=None,
        tailwind=False,
        reconnect_timeout=10.0,
        gzip_middleware_factory=None,
        show_welcome_message=False,
    )


def _in_our_words(shell: FastAPI, site: Site, listed: list[Page]) -> None:
    """Instead of what NiceGUI says by itself, to readers and to other sites, and of what browsers make it log."""

    @core.app.exception_handler(404)
    async def not_found(request: Request, error: Exception) -> Response:
        if "/_nicegui" in request.url.path:
            return Problem(404, "not_found", errors.NOT_FOUND).response(site.app.settings.language)
        return await missing(site, listed, request)

    @shell.exception_handler(Exception)
    @core.app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> Response:
        raise error  # `Guard` says so; a page of NiceGUI's would show it

    @core.sio.on("log")  # type: ignore[untyped-decorator]
    async def ignored(*said: object) -> None:
        """Browsers write nothing into our log."""

    core.sio.eio.cors_allowed_origins = []  # it would let every origin read; `Guard` knows ours
    for name in ("engineio.server", "socketio.server"):
        noisy = logging.getLogger(name)
        noisy.handlers.clear()  # they would write to stderr, whatever is set up
        noisy.setLevel(logging.CRITICAL)  # what they log as an error is what a stranger sends
