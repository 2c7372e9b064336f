"""A list that stays as things are misses nothing, and what could not be shown is shown later."""

from nicegui import ui
from starlette.requests import Request

from adapters.web.pages.shared.layout import Page, register
from adapters.web.pages.shared.live import kept_live
from adapters.web.visitor import Site, Visitor
from bot.errors import StoreError
from retrieval.i18n import Text
from tests.adapters.acting import until
from tests.adapters.web.pages.conftest import Visit
from tests.adapters.web.pages.waiting import sees

WORDS = Text(en="live", ja="live")


async def test_a_change_while_it_is_drawn_and_one_that_could_not_be_shown_are_shown(visit: Visit, site: Site) -> None:
    user = visit()
    await user.open("/app/guide")  # the pages are loaded
    now, broken, refused = "one", False, 0

    async def build(site: Site, who: Visitor, request: Request) -> None:
        shown = ui.label()

        async def state() -> str:
            return now

        async def draw() -> None:
            nonlocal refused
            if broken:
                refused += 1
                raise StoreError(WORDS)
            shown.set_text(f"now: {now}")

        async with kept_live(state, draw, every=0.01):
            await draw()
            change("two")

    def change(to: str) -> None:
        nonlocal now
        now = to

    register(site, Page("/live", WORDS, "bolt", build, listed=False), ())
    await user.open("/app/live")
    await sees(user, "now: two")
    broken = True
    change("three")

    async def tried() -> bool:
        return refused > 0

    await until(tried)
    broken = False
    await sees(user, "now: three")
