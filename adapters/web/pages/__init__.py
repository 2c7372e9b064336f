"""The pages of the web interface: each a module that builds what stands in the frame. Imported with the first visit."""

from fastapi import FastAPI
from nicegui import core, ui

from adapters.web.pages import channel, datasets, documents, guide, metrics, pairs, search, trace, unanswered
from adapters.web.pages.frame import Page, register
from adapters.web.site import ROOT, Site

PAGES: tuple[Page, ...] = (
    channel.PAGE,
    unanswered.PAGE,
    documents.PAGE,
    search.PAGE,
    pairs.PAGE,
    datasets.PAGE,
    metrics.PAGE,
    guide.PAGE,
    trace.PAGE,
)


def mount(shell: FastAPI, site: Site) -> None:
    """Put all pages under `/app` of `shell`, whose lifespan is then NiceGUI's. Once a process."""
    core.app.config.endpoint_documentation = "none"
    for page in PAGES:
        register(site, page, [each for each in PAGES if each.listed])
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
