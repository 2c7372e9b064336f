"""Pages that changed, or went from their source, under answers that rest on them, those with the most answers first.
Source: sources.md §4."""

from functools import partial

from nicegui import ui

from adapters.web.pages.shared.components import prose
from adapters.web.pages.shared.layout import Page
from adapters.web.pages.shared.live import live_list
from adapters.web.visitor import Site, Visitor
from bot.records import ChangedPage
from bot.texts import changes_text
from retrieval.i18n import Text

MOST = 20  # answers of a page that are named

_TITLE = Text(en="Changed", ja="変更")
_ABOUT = Text(
    en="Pages that have changed since an answer cited them. Each of those answers now says so at its top.",
    ja="回答が引用したあとで、内容が変わったページです。該当する回答には、その場で先頭に変更点を表示しています。",
)
_OFF = Text(
    en="Answers stay as they were given: KOTAE_LIVING=off.", ja="KOTAE_LIVING=off のため、回答は更新されません。"
)
_NONE = Text(
    en="No answer rests on a page that has changed.", ja="変更されたページをもとにした回答は、いまのところありません。"
)
_ANSWERS = Text(en="{n} answer{n:|s} rest{n:s|} on it", ja="このページをもとにした回答 {n} 件")
_MORE = Text(en="and {n} more", ja="ほか {n} 件")


class _Changed:
    """Of questions that this browser's member may see."""

    def __init__(self, site: Site, who: Visitor) -> None:
        self._living = site.app.living
        self._off = site.app.settings.living == "off"
        self._who = who

    async def build(self) -> None:
        ui.label(_ABOUT.to(self._who.language)).classes("kotae-quiet")
        if self._off:
            ui.label(_OFF.to(self._who.language)).mark("off")
        await live_list(partial(self._living.listed, self._who.readers), self._card, _NONE.to(self._who.language))

    def _card(self, one: ChangedPage) -> None:
        language = self._who.language
        with ui.element("div").classes("kotae-card"):
            prose(changes_text([one.change], language))
            ui.label(_ANSWERS.to(language, n=len(one.answers))).classes("text-weight-medium")
            for turn, question in one.answers[:MOST]:
                ui.link(question, f"/trace/{turn}").classes("kotae-wrap")
            if len(one.answers) > MOST:
                ui.label(_MORE.to(language, n=len(one.answers) - MOST)).classes("kotae-quiet")


PAGE = Page("/changed", _TITLE, "published_with_changes", lambda site, who, request: _Changed(site, who).build())
