"""Parts of all pages: the frame with its navigation, the choices of this browser, and how what goes wrong is
said."""

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from copy import copy
from dataclasses import dataclass
from urllib.parse import quote

from nicegui import Client, ElementFilter, ui
from starlette.requests import Request
from starlette.responses import Response

from adapters.web.channel.rooms import MEMBERS
from adapters.web.paths import ROOT
from adapters.web.server.login import COOKIE
from adapters.web.visitor import YEAR, ZONE, Site, Theme, Visitor, visitor
from bot.errors import SettingsError, StoreError
from retrieval.i18n import Language, Text
from retrieval.types import RAGToolError

log = logging.getLogger(__name__)

BUILD_SECONDS = 15.0  # of a page; what is there by then is shown
AWAY_SECONDS = 60.0  # without its browser until a page, and what is open in it, is given up; a reload takes its place

_SKIP = Text(en="Skip to the content", ja="本文へ")
_ACTING = Text(en="You act as", ja="操作するメンバー")
_LANGUAGE = Text(en="Language", ja="言語")
_MENU, _PAGES = Text(en="Menu", ja="メニュー"), Text(en="Pages", ja="ページ")
_THEMES: dict[Theme, tuple[str, Text]] = {
    "auto": ("brightness_auto", Text(en="Colours: as set in the system", ja="配色: システムの設定")),
    "light": ("light_mode", Text(en="Colours: light", ja="配色: ライト")),
    "dark": ("dark_mode", Text(en="Colours: dark", ja="配色: ダーク")),
}
CLOSE = Text(en="Close", ja="閉じる")
_LOG_OUT = Text(en="Log out", ja="ログアウト")
_NOT_ALLOWED = Text(
    en="These pages need JavaScript and cookies. Allow them for this address, then load the page again.",
    ja="このページには JavaScript と Cookie が必要です。このアドレスで許可してから、もう一度読み込んでください。",
)
_NO_PAGE = Text(en="There is no such page.", ja="このページはありません。")
_HOME = Text(en="To the channel", ja="チャンネルへ")
_NOT_THERE = Text(en="That is not there, or you cannot see it.", ja="見つからないか、閲覧できません。")
_NOT_NOW = Text(
    en="That is not available at the moment. Try again soon.",
    ja="現在利用できません。しばらくしてからもう一度お試しください。",
)
_FAILED = Text(
    en="Something went wrong on our side; the log has the reason under {number}.",
    ja="こちらの問題で処理できませんでした。理由はログに番号 {number} で記録されています。",
)

# A page may have changed its address since it was loaded.
_BACK_HERE = """(event) => { const link = event.currentTarget, to = new URL(link.href);
 to.searchParams.set("back", location.pathname + location.search); link.href = to.href; }"""

# Times are shown as on the reader's clock. A browser that keeps no cookies has those of the settings.
_IN_THEIR_ZONE = f"""<script>(() => {{
 const choice = "{ZONE}=" + Intl.DateTimeFormat().resolvedOptions().timeZone;
 const kept = () => document.cookie.split("; ").includes(choice);
 if (kept()) return;
 document.cookie = `${{choice}}; Path={ROOT}; Max-Age={YEAR}; SameSite=Lax`;
 if (kept()) location.reload();
}})()</script>"""

# What is being written is the browser's own: it outlives its form, the page and the bot's process. Each tab has its
# own, and a new one what was written last. `start` is what the field begins with.
_DRAFTS = """<script>
window.kotaeKeep = (field, key, start) => {
 field.addEventListener("input", () => [sessionStorage, localStorage].map((kept) => kept.setItem(key, field.value)));
 const draft = sessionStorage.getItem(key) ?? localStorage.getItem(key);
 if (draft && field.value === start) field.value = draft;
 if (field.value !== start) field.dispatchEvent(new Event("input"));
};
</script>"""

# Half an emoji, as of a text that was cut before it was pasted, is no JSON: nothing of its field would arrive. Of what
# is typed the other half may be coming.
_WHOLE_SIGNS = """<script>document.addEventListener("input", ({target, inputType}) => {
 if (/^insert(Composition)?Text$/.test(inputType) || target.value?.isWellFormed?.() !== false) return;
 target.value = target.value.toWellFormed();
}, true);</script>"""

# Files that are dropped anywhere, or pasted, go to the field for them that is nearest, or nowhere: a browser would
# leave the page for the file. What is copied from a table or a text has a picture of it along with its words: those
# are pasted.
_FILES_ANYWHERE = """<script>(() => {
 const take = (event) => {
  const carried = event.dataTransfer ?? event.clipboardData;
  const field = event.target.closest(".kotae-pane")?.querySelector(".q-uploader input[type=file]")
   ?? document.querySelector(".q-uploader input[type=file]");
  if (!carried.types.includes("Files") || event.target.closest(".q-uploader")) return;
  if (event.type === "paste" && carried.types.includes("text/plain")) return;
  event.preventDefault();
  if (!field || event.type === "dragover" || event.target.closest(".q-dialog")) return;
  field.files = carried.files;
  field.dispatchEvent(new Event("change"));
 };
 for (const kind of ["dragover", "drop", "paste"]) document.addEventListener(kind, take);
})()</script>"""


# NiceGUI cannot begin in a browser that keeps nothing, and shows that the connection is lost to the eye only, and tries
# for ever. A page whose browser is logged in no longer is not let in again: it shows the form for the token.
_LOST = f"""<script>document.addEventListener("DOMContentLoaded", () => {{
 try {{ localStorage.length; sessionStorage.length; }}
 catch {{ document.body.innerHTML = document.querySelector("noscript").textContent; return; }}
 document.getElementById("popup").setAttribute("role", "alert");
 socket.on("connect_error", async () => {{
  const asked = await fetch("{ROOT}/kotae.css", {{cache: "no-store"}}).catch(() => null);
  if (asked?.status === 401) location.reload();
 }});
}});</script>"""

# Instead of NiceGUI's words on an old browser.
_FORBIDDEN = """<noscript><style>#esm-fallback {{ display: none !important; }}</style>
<p class="kotae-empty">{text}</p></noscript>"""


@dataclass(frozen=True, slots=True)
class Page:
    """One page. `build` puts its content into the frame; it may await. `listed`: the navigation has it."""

    path: str  # under /app, such as `/documents`
    title: Text
    icon: str  # of Material's icons
    build: Callable[[Site, Visitor, Request], Awaitable[None]]
    listed: bool = True


def register(site: Site, page: Page, listed: Sequence[Page]) -> None:
    """Make NiceGUI serve a page."""

    @ui.page(page.path, response_timeout=BUILD_SECONDS + 5, reconnect_timeout=AWAY_SECONDS)
    async def show(request: Request) -> None:
        who = visitor(request, site.app.settings)
        with _frame(page, who, listed, request), saying(who.language, inline=True):
            async with asyncio.timeout(BUILD_SECONDS):
                await page.build(site, who, request)


async def missing(site: Site, listed: Sequence[Page], request: Request) -> Response:
    """The page for an address where there is none."""
    who = visitor(request, site.app.settings)
    with Client(ui.page(""), request=request) as client, _frame(_MISSING, who, listed, request):
        await _MISSING.build(site, who, request)
    return client.build_response(request, 404)


async def _no_page(site: Site, who: Visitor, request: Request) -> None:
    ui.label(_NO_PAGE.to(who.language)).classes("kotae-empty")
    ui.link(_HOME.to(who.language), "/")


_MISSING = Page("", _NO_PAGE, "search_off", _no_page, listed=False)


@contextmanager
def saying(language: Language, *, inline: bool = False) -> Iterator[None]:
    """Says what goes wrong in the block to whoever did it, in words; what is not known goes to the log with a number.

    `inline`: where the content would stand, else as a passing notice.
    """
    # What a button stands in may be drawn anew while it works; the page stays.
    with nullcontext() if inline else ui.context.client:
        try:
            yield
        except (RAGToolError, StoreError, SettingsError) as error:
            _say(error.text(language), language, inline)
        except LookupError:
            _say(_NOT_THERE.to(language), language, inline)
        except (ConnectionError, TimeoutError):
            _say(_NOT_NOW.to(language), language, inline)
        except Exception:
            number = uuid.uuid4().hex[:8]
            log.exception("a page failed (%s)", number)
            _say(_FAILED.to(language, number=number), language, inline)


def titled(text: str) -> None:
    """Call the page that is being built after what it shows, which may be anybody's words."""
    ui.page_title(f"{text} – Kotae")
    for label in ElementFilter(kind=ui.label, marker="title"):
        label.set_text(text)


def skip(text: str, focus: str) -> None:
    """A link at the top of the page, shown to who comes to it by the Tab key: `focus` is a script's expression for the
    element that it leads to."""
    handler = f"(event) => {{ event.preventDefault(); ({focus})?.focus(); }}"
    link = ui.link(text, "#content").classes("kotae-skip").on("click", js_handler=handler)
    link.move(ui.context.client.layout, 1)  # after the one to the content


def _say(text: str, language: Language, inline: bool) -> None:
    if inline:
        with ui.row().classes("kotae-problem").props('role="alert"'):
            ui.icon("error_outline")
            ui.label(text)
    else:
        ui.notify(text, type="negative", timeout=8_000, close_button=CLOSE.to(language))


@contextmanager
def _frame(page: Page, who: Visitor, listed: Sequence[Page], request: Request) -> Iterator[None]:
    language = who.language
    ui.page_title(f"{page.title.to(language)} – Kotae")
    ui.add_head_html(_IN_THEIR_ZONE)
    ui.add_head_html(_DRAFTS)
    ui.add_head_html(_WHOLE_SIGNS)
    ui.add_head_html(_FILES_ANYWHERE)
    ui.add_head_html(_LOST)
    ui.add_body_html(_FORBIDDEN.format(text=_NOT_ALLOWED.to(language)))
    ui.add_head_html(f'<link rel="stylesheet" href="{ROOT}/kotae.css">')
    client = ui.context.client
    client.page = copy(client.page)  # NiceGUI has one for all who look at this address
    client.page.language = "ja" if language == "ja" else "en-US"
    client.page.dark = who.dark
    here = f"{ROOT}{request.url.path.removeprefix(ROOT)}"
    here += f"?{request.url.query}" if request.url.query else ""
    drawer = ui.left_drawer(value=False, bordered=True).classes("kotae-nav")
    drawer.props(f'role=navigation aria-label="{_PAGES.to(language)}"')
    with drawer.props("width=230 breakpoint=900 show-if-above"):  # whether it is open is the browser's matter
        for each in listed:
            with ui.link(target=each.path).classes("kotae-nav-item") as item:
                ui.icon(each.icon)
                ui.label(each.title.to(language))
            if each is page:
                item.classes("kotae-here").props('aria-current="page"')
    with ui.header(elevated=False).classes("kotae-header"):
        ui.button(icon="menu", on_click=lambda: drawer.run_method("toggle")).props(
            f'flat dense aria-label="{_MENU.to(language)}"'
        )
        ui.link("Kotae 答え", "/").classes("kotae-brand")
        ui.space()
        with ui.row().classes("kotae-choices").props(f'role=group aria-label="{_ACTING.to(language)}"'):
            for member in MEMBERS:
                chosen = member is who.member
                link = _choice(member.name.to(language), here, chosen, **{"as": member.id})
                link.tooltip(_ACTING.to(language))
        with ui.row().classes("kotae-choices").props(f'role=group aria-label="{_LANGUAGE.to(language)}"'):
            _choice("日本語", here, language == "ja", language="ja")
            _choice("English", here, language == "en", language="en")
        themes = list(_THEMES)
        icon, said = _THEMES[who.theme]
        following = themes[(themes.index(who.theme) + 1) % len(themes)]
        with ui.link(target=_address(here, theme=following)).classes("kotae-theme") as link:
            link.props(f'aria-label="{said.to(language)}"').tooltip(said.to(language))
            ui.icon(icon)
        link.on("click", js_handler=_BACK_HERE)
        if COOKIE in request.cookies:
            with ui.link(target="/logout").classes("kotae-theme") as link:
                link.props(f'aria-label="{_LOG_OUT.to(language)}"').tooltip(_LOG_OUT.to(language))
                ui.icon("logout")
    ui.link(_SKIP.to(language), "#content").classes("kotae-skip").move(client.layout, 0)
    with ui.column().classes("kotae-content").props("id=content tabindex=-1"):
        with ui.element("h1").classes("kotae-title"):
            ui.label(page.title.to(language)).mark("title")
        yield


def _choice(text: str, here: str, chosen: bool, **choice: str) -> ui.link:
    link = ui.link(text, _address(here, **choice)).classes("kotae-choice").on("click", js_handler=_BACK_HERE)
    return link.classes("kotae-chosen").props('aria-current="true"') if chosen else link


def _address(back: str, **choice: str) -> str:
    (name, value), *_ = choice.items()
    return f"/choose?{name}={value}&back={quote(back, safe='')}"
