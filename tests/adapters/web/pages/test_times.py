"""Every time on a page is on the clock of the browser that shows it, and says so; days that are counted say whose they
are."""

import re
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement
from nicegui.testing import User

from adapters.web.channel.rooms import MEMBERS, ROOMS
from adapters.web.pages.shared.components import When
from adapters.web.visitor import Site
from tests.adapters.acting import until
from tests.adapters.web.pages.conftest import Visit
from tests.adapters.web.pages.waiting import sees
from tests.adapters.web.spots import spot

AKI, _ = MEMBERS
FAR = "Pacific/Kiritimati"  # 14 hours before the server
CLOCK = re.compile(r"\d\d-\d\d \d\d:\d\d")


def times(user: User) -> list[When]:
    return list(user._gather_elements(When, None, None, None))


async def drawn(user: User, least: int) -> None:
    """Until so many times are shown."""

    async def there() -> bool:
        return len(times(user)) >= least

    await until(there)


def on_the_clock_of(user: User, zone: str) -> int:
    """How many times are shown. Each is a `<time>`, in that zone, and no other text has one."""
    for one in times(user):
        at = datetime.fromisoformat(one.props["datetime"])
        there = at.astimezone(ZoneInfo(zone))
        assert at.utcoffset() is not None and one.tag == "time"
        assert one.props["title"] == f"{there:%Y-%m-%d %H:%M:%S} ({zone})"
        assert one.text and one.text in one.props["title"]
    texts = [one.text for one in user._gather_elements(TextElement, None, None, None) if not isinstance(one, When)]
    assert not [text for text in texts if CLOCK.search(str(text))]
    return len(times(user))


async def test_times_are_on_the_clock_of_the_browser(visit: Visit, site: Site) -> None:
    user = visit(zone=FAR)
    await site.web.say(AKI, ROOMS[0], "@kotae What did the zoo in Reykjavik charge for a ticket in 1987?")
    await user.open("/app/")
    await sees(user, "What did the zoo in Reykjavik")

    async def missed() -> bool:
        return (await site.app.bot.experts.open(*spot("general"))).total == 1

    await until(missed)
    await drawn(user, 1)
    assert on_the_clock_of(user, FAR) >= 1
    for path, least in (("/app/unanswered", 1), ("/app/documents", 7), ("/app/search", 1), ("/app/metrics", 1)):
        await user.open(path)
        for closed in user._gather_elements(ui.expansion, None, None, None):
            with user:
                closed.set_value(True)
        await drawn(user, least)
        assert on_the_clock_of(user, FAR) >= least, path
    (row, *_) = await site.app.knowledge.documents(site.app.readers)
    await user.open(f"/app/documents?document={row.id}")
    await drawn(user, 2)
    assert on_the_clock_of(user, FAR) == 2
    await user.open("/app/guide")
    await user.should_see("0 9 * * mon in UTC, next on ")
    await user.should_see(f" 23:00 ({FAR}), to ")


@pytest.mark.parametrize("zone", ["", "Nowhere/Land", "../../etc/passwd", "America", "x" * 3000])
async def test_a_browser_that_says_no_zone_has_that_of_the_settings(visit: Visit, zone: str) -> None:
    user = visit(zone=zone)
    await user.open("/app/documents")
    await drawn(user, 7)
    assert on_the_clock_of(user, "UTC") >= 7


async def test_days_that_are_counted_say_whose_they_are(visit: Visit) -> None:
    user = visit(language="ja", zone=FAR)
    await user.open("/app/metrics")
    await user.should_see("日付は UTC の日付です。")
    await user.open("/app/unanswered")
    await user.should_see("各週は月曜日から始まります（UTC）。")
    assert user.find(kind=ui.echart).elements
