"""The datasets page: named ones from a hub on loopback and files of one's own, looked at, limited, added, cancelled."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import close_session
from nicegui import ui
from nicegui.elements.upload_files import SmallFileUpload
from nicegui.testing import User

from adapters.web.channel.rooms import MEMBERS, ROOMS, place, readers_of
from adapters.web.visitor import Site
from bot.access import scope_of
from bot.knowledge.dataset_uploads import DatasetUploads
from bot.knowledge.datasets import DatasetJob, Datasets, Order, Upstream
from retrieval.datasets import NAMED
from retrieval.datasets.hub import Hub
from retrieval.types import EVERYONE
from tests.adapters.acting import until
from tests.adapters.web.pages.conftest import Visit
from tests.adapters.web.pages.hands import agree, choose_new, fill, newest, press
from tests.adapters.web.pages.waiting import sees
from tests.fakes.hub import FakeHub, Hang, Refuse, parquet

AKI = readers_of(MEMBERS[0])
LEADS = scope_of(place(next(room for room in ROOMS if room.private)))
WIKIPEDIA = NAMED["wikipedia_ja"]
HOSTILE = "<script>alert(1)</script>"


def article(number: int, text: str = "") -> dict[str, str]:
    words = f"港町の図書館第{number}号館は、{number}年前の春に開館しました。毎週月曜日は休館です。" * 2
    return {"id": str(number), "title": f"図書館{number}", "text": text or words, "url": ""}


ROWS = [
    article(
        1,
        f"港の図書館{HOSTILE}は朝に開館します。毎週月曜日は休館です。利用は無料で、誰でも入れます。静かな場所です。\n\n脚注\n出典のない一覧",
    ),
    article(2, "短い。"),
    *map(article, range(3, 9)),
]


@pytest.fixture
async def hub() -> AsyncIterator[FakeHub]:
    data = parquet(ROWS, group=2)
    async with FakeHub({WIKIPEDIA.repository: {"main": {"20231101.ja/train-00000-of-00001.parquet": data}}}) as server:
        yield server
        await asyncio.to_thread(close_session)


@pytest.fixture
async def site(site: Site, hub: FakeHub, tmp_path: Path) -> AsyncIterator[Site]:
    app = site.app
    client = Hub(hub.url, False, pause=lambda reading, seconds: None)
    datasets = Datasets(
        app.knowledge,
        app.data.engine,
        DatasetUploads(tmp_path / "own", free=lambda _: 10**12),
        owner="page",
        hub=client,
    )
    yield replace(site, app=replace(app, datasets=datasets))
    await datasets.close()


async def kept(site: Site, collection: str) -> list[str]:
    return [row.name for row in await site.app.knowledge.documents(AKI, collection)]


async def ended(site: Site, state: str = "done") -> DatasetJob:
    async def over() -> bool:
        jobs = await site.app.datasets.jobs()
        return bool(jobs) and jobs[0].state == state

    await until(over)
    return (await site.app.datasets.jobs())[0]


async def upload(user: User, name: str, data: bytes) -> None:
    (field,) = user.find(kind=ui.upload).elements
    await field.handle_uploads([SmallFileUpload(name, "", data)])


async def test_a_named_dataset_is_looked_at_and_added_within_its_limits(visit: Visit, site: Site) -> None:
    user = visit("aki")
    await user.open("/app/datasets")
    for words in ("Wikipedia (Japanese)", "1.39 million", "CC BY-SA 3.0", "CC-News", "7,367 Japanese news articles"):
        await user.should_see(words)
    press(user, "wikipedia_ja")
    await sees(user, "Start adding")
    press(user, "preview")
    await sees(user, "Left out: too short")
    await user.should_see("出典のない一覧")  # before cleaning
    shown = [str(one.text) for one in user.find(kind=ui.label).elements if HOSTILE in str(one.text)]
    assert len(shown) == 2 and sum("脚注" in text for text in shown) == 1
    assert await site.app.datasets.jobs() == ()

    fill(user, "documents", 0)
    press(user, "start")
    await sees(user, "“Documents, at most” must be a whole number from 1 to 100,000.")
    fill(user, "documents", 4)
    press(user, "start")
    job = await ended(site)
    await sees(user, "Done. The document limit was reached.")
    await user.should_see("4 of at most 4 documents · added 4")
    await user.should_see("left out: too short 1")
    await user.should_see("who may find it: Everyone in the team")
    assert len(await kept(site, "wikipedia_ja")) == 4 and job.order.author == "web:aki"

    other = visit("ben", language="ja")
    await other.open("/app/datasets")
    await other.should_see("完了しました。 文書数の上限に達しました。")
    press(other, "wikipedia_ja")
    await sees(other, "追加を開始")
    press(other, "start")
    await sees(other, "変更なし 4 件")


async def test_a_hub_that_does_not_answer_is_said_with_what_to_do(visit: Visit, site: Site, hub: FakeHub) -> None:
    user = visit("aki")
    await user.open("/app/datasets")
    press(user, "livedoor")
    await sees(user, "Start adding")
    press(user, "preview")
    await sees(user, "There is no dataset “llm-book/livedoor-news-corpus”")
    hub.fail("info", *[Refuse(503)] * 8)
    press(user, "preview")
    await sees(user, "has trouble at the moment (status 503). Try again later.")
    assert newest(user, "start").visible
    press(user, "start")
    await ended(site, "failed")
    await sees(user, "Interrupted. What was added stays.")


async def test_a_job_is_stopped_and_gone_on_with(visit: Visit, site: Site, hub: FakeHub) -> None:
    user = visit("aki")
    await user.open("/app/datasets")
    press(user, "wikipedia_ja")
    await sees(user, "Start adding")
    hub.fail("info", Hang())
    press(user, "start")
    await sees(user, "Adding…")
    again = visit("aki")
    await again.open("/app/datasets")  # as after a reload
    await again.should_see("Adding…")
    press(again, "cancel")
    await sees(again, "Stop adding? What was added stays")
    assert (await site.app.datasets.jobs())[0].state == "running"
    agree(again, "Stop adding")
    await ended(site, "cancelled")
    await sees(again, "Stopped. What was added stays.")
    await sees(user, "Stopped. What was added stays.")
    press(again, "resume")
    await ended(site)
    await sees(again, "Done. All rows were read.")
    assert len(await kept(site, "wikipedia_ja")) == 7


async def test_a_job_is_gone_on_with_by_who_may_add_for_its_readers(visit: Visit, site: Site) -> None:
    await site.app.datasets.start(Order(Upstream("livedoor"), "news", EVERYONE, "web:aki", "en"))
    await ended(site, "failed")
    for member, may in (("aki", True), ("ben", False)):
        user = visit(member)
        await user.open("/app/datasets")
        await user.should_see("Interrupted. What was added stays.")
        if may:
            assert newest(user, "resume").visible
        else:
            await user.should_not_see(marker="resume", retries=1)


async def test_a_file_of_one_s_own_with_its_columns_for_a_private_room(visit: Visit, site: Site) -> None:
    table = "番号,件名,中身,備考\n1,港,港の図書館は朝に開館します。毎週月曜日は休館です。,利用は無料で、誰でも入れます。静かな場所です。\n"
    user, ben = visit("aki"), visit("ben")
    await user.open("/app/datasets")
    await upload(user, "写真.png", b"\x89PNG")
    await sees(user, "cannot be read row by row. Give a csv, tsv, txt, json or jsonl file.")
    await upload(user, "図書館.csv", table.encode("cp932"))
    await sees(user, "read as cp932, columns: 番号, 件名, 中身, 備考")
    await user.should_see(marker="preview")
    fill(user, "text", [])
    press(user, "preview")
    await sees(user, "Choose at least one text column.")
    fill(user, "text", ["中身", "備考"])
    press(user, "preview")
    await sees(user, "After cleaning · 50 characters")
    choose_new(user, "collection", "leads-shelf")
    fill(user, "scope", LEADS)
    press(user, "start")
    job = await ended(site)
    await sees(user, "Members of “leads” only")
    assert dict(job.counts) == {"added": 1} and job.order.scope == LEADS
    assert await kept(site, "leads-shelf") == ["図書館/1.md"]
    await ben.open("/app/datasets")
    await ben.should_see("Nothing has been added here yet.")
    for words in ("図書館.csv", "leads"):
        await ben.should_not_see(words, retries=1)
    await upload(ben, "notes.txt", ("The harbour opens at six in the morning, and closes late. " * 2).encode())
    await sees(ben, "One document is")
    await ben.should_see(marker="scope")
    assert list(newest(ben, "scope").options) == ["team"]  # type: ignore[attr-defined]
    press(ben, "preview")
    await sees(ben, "After cleaning")


async def test_a_file_that_is_not_added_is_not_kept(visit: Visit, site: Site, tmp_path: Path) -> None:
    user = visit("aki")
    await user.open("/app/datasets")
    await upload(user, "a.jsonl", b'{"text": "The harbour opens at six."}\n')
    await sees(user, "a.jsonl: read as utf-8")
    assert len(list((tmp_path / "own").iterdir())) == 1
    press(user, "close")

    async def nothing() -> bool:
        return not any((tmp_path / "own").iterdir())

    await until(nothing)
