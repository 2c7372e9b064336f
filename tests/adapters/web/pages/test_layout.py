"""What goes wrong on a page is said by the frame, in words; what nobody foresaw is in the log alone."""

import logging
import re

import pytest
from nicegui import ui
from starlette.requests import Request

from adapters.web.pages.shared.layout import Page, register, saying
from adapters.web.visitor import Site, Visitor
from bot.errors import StoreError
from retrieval.i18n import Text
from tests.adapters.web.pages.conftest import Visit
from tests.adapters.web.pages.hands import press
from tests.adapters.web.pages.waiting import sees

FULL = Text(en="The disk is full.", ja="ディスクがいっぱいです。")
ERRORS = {
    "full": (StoreError(FULL), FULL.ja),
    "gone": (LookupError("canary"), "見つからないか、閲覧できません。"),
    "late": (TimeoutError("canary"), "現在利用できません。"),
    "bug": (RuntimeError("canary"), "こちらの問題で処理できませんでした。"),
}


async def test_what_goes_wrong_is_said_in_words_and_its_own_words_are_in_the_log(
    visit: Visit, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    user = visit("aki", "ja")
    await user.open("/app/guide")  # the pages are loaded

    async def build(site: Site, who: Visitor, request: Request) -> None:
        def fails(name: str) -> None:
            with saying(who.language):
                raise ERRORS[name][0]

        for name in ERRORS:
            ui.button(on_click=lambda name=name: fails(name)).mark(name)
        raise ERRORS[request.path_params["how"]][0]

    title = Text(en="Broken", ja="故障")
    register(site, Page("/broken/{how}", title, "bug_report", build, listed=False), ())
    for name, (_, said) in ERRORS.items():
        await user.open(f"/app/broken/{name}")
        await sees(user, said)  # where the content would stand
        press(user, name)
        assert user.notify.messages[-1].startswith(said)  # as a notice
        await user.should_not_see("canary", retries=1)
    assert not any("canary" in text for text in user.notify.messages)
    number = re.search(r"番号 ([0-9a-f]{8}) で", user.notify.messages[-1])
    assert number is not None and caplog.messages[-1] == f"a page failed ({number[1]})" and "canary" in caplog.text
    assert len([one for one in caplog.records if one.levelno >= logging.ERROR]) == 2  # the bug, here and there


async def test_a_page_and_what_is_open_in_it_outlive_a_network_that_is_away_for_a_while(visit: Visit) -> None:
    user = visit()
    await user.open("/app/")
    assert user.client is not None and user.client.page.resolve_reconnect_timeout() >= 60
