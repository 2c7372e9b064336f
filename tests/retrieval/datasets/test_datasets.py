"""Datasets as a stream of cleaned documents: from the hub's own client against a hub on loopback, and from files."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest
from huggingface_hub import close_session
from hypothesis import given
from hypothesis import strategies as st

from retrieval.datasets import (
    NAMED,
    Columns,
    DatasetError,
    DatasetReading,
    DatasetSource,
    End,
    Left,
    LocalSource,
    Prepared,
    Sieve,
    Step,
    StreamLimits,
    steps,
)
from retrieval.datasets.cleaning import cleaned
from retrieval.datasets.hub import TRIES, Hub, HubSource
from retrieval.datasets.rows import guess
from tests.adapters.acting import until
from tests.fakes.hub import (
    BAD_TOKEN,
    CONVERTED,
    DISABLED,
    TOKEN,
    Cut,
    FakeHub,
    Hang,
    Order,
    Refuse,
    busy,
    limited,
    parquet,
)

WIKIPEDIA, CC_NEWS, LIVEDOOR = NAMED["wikipedia_ja"], NAMED["cc_news"], NAMED["livedoor"]
SHARD = "20231101.ja/train-00000-of-00002.parquet"
SECOND = "20231101.ja/train-00001-of-00002.parquet"
ANY = StreamLimits(sieve=Sieve(shortest=1))


def article(number: int, text: str = "") -> dict[str, str]:
    body = text or f"これは{number}番目の記事です。港町の図書館は{number}年に開館しました。" * 3
    return {
        "id": str(number),
        "url": f"https://ja.wikipedia.org/wiki/{number}",
        "title": f"記事{number}",
        "text": body + "\n\n脚注\n\n外部リンク\n公式サイト\n",
    }


def wikipedia(*numbers: int) -> bytes:
    return parquet([article(number) for number in numbers], group=10)


@pytest.fixture(autouse=True)
async def client() -> AsyncIterator[None]:
    """The hub's client is one for the whole process."""
    yield
    await asyncio.to_thread(close_session)


@pytest.fixture
async def hub() -> AsyncIterator[FakeHub]:
    files = {SHARD: wikipedia(*range(1, 31)), SECOND: wikipedia(31, 32), "20231101.en/x.parquet": b"", "README.md": b""}
    async with FakeHub({WIKIPEDIA.repository: {"main": files}}) as fake:
        yield fake


def asked_of(fake: FakeHub, *, token: str | bool = False, waits: list[float] | None = None) -> Hub:
    """The real client, which does not wait between two tries but notes how long it would have."""

    def pause(reading: DatasetReading, seconds: float) -> None:
        reading.check()
        (waits if waits is not None else []).append(seconds)

    return Hub(fake.url, token, pause=pause)


async def all_of(
    source: DatasetSource, limits: StreamLimits = ANY, reading: DatasetReading | None = None
) -> list[Step]:
    async with aclosing(steps(source, limits, reading)) as seen:
        return [step async for step in seen]


async def refusal(source: DatasetSource) -> DatasetError:
    with pytest.raises(DatasetError) as raised:
        await all_of(source)
    assert "Traceback" not in raised.value.text("ja") and "{" not in raised.value.text("ja")
    return raised.value


# -- the hub ----------------------------------------------------------------------------------------------------------


async def test_articles_come_named_titled_linked_and_credited_from_every_shard(hub: FakeHub) -> None:
    seen = await all_of(HubSource(asked_of(hub), WIKIPEDIA))
    documents = [step for step in seen if isinstance(step, Prepared)]
    assert [document.name for document in documents] == [f"wikipedia_ja/{number}.md" for number in range(1, 33)]
    assert seen[-1] == End("all")
    first = documents[0]
    assert first.title == "記事1" and first.url == "https://ja.wikipedia.org/wiki/1" and "脚注" not in first.text
    markdown = first.data.decode()
    assert markdown.startswith("# 記事1\n\nこれは1番目の記事です。")
    assert markdown.endswith("出典: Wikipedia 日本語版「記事1」（CC BY-SA 3.0） https://ja.wikipedia.org/wiki/1\n")
    again = [step for step in await all_of(HubSource(asked_of(hub), WIKIPEDIA)) if isinstance(step, Prepared)]
    assert [document.data for document in again] == [document.data for document in documents]


async def test_no_more_of_a_file_is_fetched_than_the_documents_need() -> None:
    rows = [
        article(number, "".join(chr(0x4E00 + (number * 7 + at * at) % 5000) for at in range(3_000)))
        for number in range(1_000)
    ]
    big = parquet(rows, group=100)
    assert len(big) > 5_000_000
    async with FakeHub({WIKIPEDIA.repository: {"main": {SHARD: big, SECOND: big}}}) as fake:
        seen = await all_of(HubSource(asked_of(fake), WIKIPEDIA), StreamLimits(documents=20))
        assert len(seen) == 21 and seen[-1] == End("documents")
        assert fake.fetched() < 2_500_000
        assert not any(SECOND in asked.path for asked in fake.asked)


async def test_columns_are_found_by_name_in_each_named_dataset() -> None:
    news = [
        {
            "title": "Rain",
            "text": "It rained in the harbour. " * 5,
            "domain": "example.com",
            "url": "https://example.com/rain",
        }
    ]
    door = [
        {
            "url": "http://news.livedoor.com/article/detail/5978741/",
            "date": "2011",
            "title": "傘",
            "content": "傘が売れています。" * 9,
            "category": "it-life-hack",
        }
    ]
    async with FakeHub(
        {
            CC_NEWS.repository: {"main": {"plain_text/train-00000-of-00001.parquet": parquet(news)}},
            LIVEDOOR.repository: {
                "main": {"livedoor-news-corpus.py": b"import os"},
                CONVERTED: {"default/train/0000.parquet": parquet(door, compression="zstd(3)")},
            },
        },
        redirects=False,
    ) as fake:
        (rain, _) = await all_of(HubSource(asked_of(fake), CC_NEWS))
        (umbrella, _) = await all_of(HubSource(asked_of(fake), LIVEDOOR))
    assert isinstance(rain, Prepared) and rain.title == "Rain" and rain.name.startswith("cc_news/")
    assert "Source: CC-News, “Rain” https://example.com/rain" in rain.data.decode()
    assert isinstance(umbrella, Prepared) and umbrella.name == "livedoor/5978741.md"
    assert "CC BY-ND 2.1 JP" in umbrella.data.decode()


async def test_the_token_goes_to_the_hub_alone_and_is_never_said(
    hub: FakeHub, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    await all_of(HubSource(asked_of(hub, token=TOKEN), WIKIPEDIA))
    assert {asked.host for asked in hub.asked} == {"hub", "cdn"}
    assert all(
        (asked.headers.get("authorization") == f"Bearer {TOKEN}") == (asked.host == "hub") for asked in hub.asked
    )
    hub.fail("info", BAD_TOKEN)
    refused = await refusal(HubSource(asked_of(hub, token=TOKEN), WIKIPEDIA))
    assert "HF_TOKEN" in refused.text("en") and TOKEN not in repr(refused) + str(refused.__cause__) + caplog.text
    assert not any("torch" in asked.headers["user-agent"] for asked in hub.asked)


@pytest.mark.parametrize(
    ("what", "orders", "said"),
    [
        ("info", [Refuse(401)], "There is no dataset"),
        ("info", [DISABLED], "has disabled"),
        ("info", [Refuse(403)], "refuses access"),
        ("info", [busy(300)], "wait 300 seconds"),
        ("info", [limited(3)] * TRIES, "wait 3 seconds"),
        ("info", [Refuse(503)] * TRIES, "has trouble at the moment (status 503)"),
        ("info", [Refuse(200, body="<html>Login</html>")], "cannot be understood"),
        ("info", [Refuse(200, body="[]")], "cannot be understood"),
        ("head", [Refuse(502, body="")] * TRIES, "has trouble"),
        ("head", [Refuse(200, body="")], "cannot be understood"),
        ("bytes", [Cut()] * TRIES, "broke off"),
        ("bytes", [Cut(openly=True)] * TRIES, "broke off"),
        ("bytes", [Refuse(200, body="x" * 50)], "cannot be understood"),
        ("bytes", [Refuse(404, {"X-Error-Code": "EntryNotFound"})], "There is no dataset"),
    ],
)
async def test_what_the_hub_refuses_is_said_in_words(hub: FakeHub, what: str, orders: list[Order], said: str) -> None:
    hub.fail(what, *orders)  # type: ignore[arg-type]
    assert said in (await refusal(HubSource(asked_of(hub), WIKIPEDIA))).text("en")


async def test_a_gated_a_missing_and_a_script_only_dataset_are_told_apart(hub: FakeHub) -> None:
    files = {WIKIPEDIA.repository: {"main": {SHARD: wikipedia(1)}}, LIVEDOOR.repository: {"main": {"x.py": b""}}}
    async with FakeHub(files, gated=[WIKIPEDIA.repository]) as fake:
        assert "is gated" in (await refusal(HubSource(asked_of(fake), WIKIPEDIA))).text("en")
        assert "is gated" in (await refusal(HubSource(asked_of(fake, token="hf_other"), WIKIPEDIA))).text("en")
        assert len(await all_of(HubSource(asked_of(fake, token=TOKEN), WIKIPEDIA))) == 2
        assert "or it is private" in (await refusal(HubSource(asked_of(fake), CC_NEWS))).text("en")
        assert "has no Parquet files" in (await refusal(HubSource(asked_of(fake), LIVEDOOR))).text("en")
    unreachable = await refusal(HubSource(asked_of(fake), WIKIPEDIA))
    assert "could not be reached" in unreachable.text("en") and "HF_ENDPOINT" in unreachable.text("ja")


async def test_what_passes_is_waited_for_and_the_stream_is_whole(hub: FakeHub) -> None:
    waits: list[float] = []
    hub.fail("info", busy(7), limited(5))
    hub.fail("head", Refuse(500))
    hub.fail("bytes", Cut(), Refuse(504), Cut(0))
    seen = await all_of(HubSource(asked_of(hub, waits=waits), WIKIPEDIA))
    assert len(seen) == 33
    assert waits == [7, 5, 1, 1, 2, 4]


async def test_a_pass_that_waits_for_a_busy_hub_ends_as_soon_as_it_is_stopped(hub: FakeHub) -> None:
    hub.fail("info", busy(60))
    reading = DatasetReading()
    task = asyncio.create_task(all_of(HubSource(Hub(hub.url, False), WIKIPEDIA), reading=reading))
    await until(lambda: asyncio.sleep(0, bool(hub.asked)))
    reading.stop.set()
    assert await asyncio.wait_for(task, 30) == [] and len(hub.asked) == 1


_FIRST = """
import asyncio
from retrieval.datasets import NAMED, steps, StreamLimits
from retrieval.datasets.hub import Hub, HubSource
async def main():
    async for step in steps(HubSource(Hub(), NAMED["wikipedia_ja"]), StreamLimits(documents=1)):
        print(step)
asyncio.run(main())
"""


async def test_the_clients_own_variables_name_the_hub_and_the_token(hub: FakeHub, tmp_path: Path) -> None:
    named = {"HF_ENDPOINT": hub.url, "HF_TOKEN": TOKEN, "HF_HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", _FIRST, stdout=PIPE, stderr=PIPE, env=named)
    out, errors = await asyncio.wait_for(process.communicate(), 30)
    assert b"wikipedia_ja/1.md" in out and b"why='documents'" in out, errors
    assert hub.asked[0].headers["authorization"] == f"Bearer {TOKEN}"
    assert TOKEN.encode() not in out + errors


async def test_a_server_without_ranges_is_refused_not_misread() -> None:
    async with FakeHub({WIKIPEDIA.repository: {"main": {SHARD: wikipedia(1)}}}, ranges=False) as fake:
        assert "cannot be understood" in (await refusal(HubSource(asked_of(fake), WIKIPEDIA))).text("en")


async def test_a_damaged_file_is_refused_after_what_could_be_read() -> None:
    whole = parquet([article(number) for number in range(60)], group=20)
    middle = whole.index("記事40".encode()) - 200
    damaged = whole[:middle] + b"\xff" * 900 + whole[middle + 900 :]
    for data in (damaged, b"PAR1" + b"\0" * 50 + b"PAR1", b"<html>" * 9):
        async with FakeHub({WIKIPEDIA.repository: {"main": {SHARD: data}}}, redirects=False) as fake:
            assert "may be damaged" in (await refusal(HubSource(asked_of(fake), WIKIPEDIA))).text("en"), data[:20]


async def test_closing_the_stream_ends_a_request_that_hangs(hub: FakeHub) -> None:
    hub.fail("bytes", Hang())
    reading = DatasetReading()
    stream = steps(HubSource(asked_of(hub), WIKIPEDIA), ANY, reading)
    waiting = asyncio.ensure_future(anext(stream))
    await asyncio.to_thread(hub.waiting.wait, 30)
    waiting.cancel()
    await asyncio.wait({waiting}, timeout=30)
    assert waiting.cancelled() and reading.stop.is_set()


async def test_what_comes_before_a_failure_is_handed_over(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("".join(json.dumps({"text": f"row {number}"}) + "\n" for number in range(24)) + "{\n")
    seen: list[Step] = []
    with pytest.raises(DatasetError, match="near line 25"):
        async for step in steps(LocalSource(path, "x.jsonl"), ANY):
            seen.append(step)
    assert [step.text for step in seen if isinstance(step, Prepared)] == [f"row {number}" for number in range(24)]


# -- limits -----------------------------------------------------------------------------------------------------------


async def test_a_stream_ends_at_the_first_limit_it_reaches(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("".join(json.dumps({"text": f"{number} " + "word " * 20}) + "\n" for number in range(5_000)))
    source = LocalSource(path, "x.jsonl")
    for limits, why, count in (
        (StreamLimits(documents=7), "documents", 7),
        (StreamLimits(rows=9), "rows", 9),
        (StreamLimits(characters=1_000), "characters", 9),
        (StreamLimits(bytes=10), "bytes", 1),
    ):
        seen = await all_of(source, limits)
        assert (seen[-1], len(seen) - 1) == (End(why), count)  # type: ignore[arg-type]


# -- cleaning ---------------------------------------------------------------------------------------------------------


def test_each_kind_loses_its_own_boilerplate_and_keeps_its_text() -> None:
    wiki = "東京（とうきょう、）は都市（）。\nthumb|200px|夜景\n概要\n出典のある話。\n\n脚注\n\n注釈\n関連項目\n"
    assert cleaned(wiki, "wikipedia") == "東京（とうきょう、）は都市。\n概要\n出典のある話。"
    news = "Prices rose &amp; fell.\nADVERTISEMENT\nRead more: What now?\nShare this article on Facebook\nSubscribers rose by two.\n© 2019 Example"
    assert cleaned(news, "news") == "Prices rose & fell.\nSubscribers rose by two."
    door = "傘が売れた。\n記事一覧へ\n関連記事の多い話題だ。\n■関連記事\n・別の話\n"
    assert cleaned(door, "livedoor") == "傘が売れた。\n関連記事の多い話題だ。"
    assert cleaned("a\u200bb\r\n\r\n\r\n　c　　d\n-----\n", "") == "ab\n\nc d"


@given(
    st.text(alphabet="あ（、）\n 脚注|x-=｛{\u200b&;amp", max_size=60), st.sampled_from(["", "wikipedia", "livedoor"])
)
def test_cleaning_twice_is_cleaning_once(text: str, chrome: str) -> None:
    once = cleaned(text, chrome)
    assert cleaned(once, chrome) == once


async def test_what_says_nothing_says_it_twice_or_is_garbled_stays_out_with_its_reason(tmp_path: Path) -> None:
    long = "港の図書館は毎週月曜日に休みます。" * 4
    texts = [
        long,
        "短い",
        "",
        "！？…",
        long.replace("港", "港 "),
        "\ufffd" * 40 + long,
        long * 5,
        "ほかの本文です。" * 9,
    ]
    path = tmp_path / "x"
    path.write_text(json.dumps([{"text": text} for text in texts], ensure_ascii=False), encoding="utf-8")
    seen = await all_of(LocalSource(path, "rows.json"), StreamLimits(sieve=Sieve(shortest=20, longest=200)))
    reasons = [step.reason for step in seen if isinstance(step, Left)]
    assert reasons == ["short", "empty", "empty", "duplicate", "encoding", "long"]
    documents = [step for step in seen if isinstance(step, Prepared)]
    assert [document.row.number for document in documents] == [1, 8]
    assert documents[0].title == "港の図書館は毎週月曜日に休みます"


async def test_names_are_safe_stable_and_never_given_twice(tmp_path: Path) -> None:
    path = tmp_path / "x"
    rows = [("../etc/passwd", "一"), ("a b", "二"), ("a_b", "三"), ("7", "四"), ("7", "五"), ("", "六")]
    path.write_text("id,text\n" + "".join(f"{key},{text}番の本文\n" for key, text in rows), encoding="utf-8")
    names = [step.name for step in await all_of(LocalSource(path, "社内 FAQ.csv"), ANY) if isinstance(step, Prepared)]
    assert len(set(names)) == 6 and all(name.startswith("社内_FAQ/") and name.count("/") == 1 for name in names)
    assert names[2] == "社内_FAQ/a_b.md" and names[3] == "社内_FAQ/7.md"
    assert names == [
        step.name for step in await all_of(LocalSource(path, "社内 FAQ.csv"), ANY) if isinstance(step, Prepared)
    ]


async def test_signs_of_markup_in_a_text_stay_text(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(json.dumps({"title": "a < b", "text": "if a <b> && c: use &amp;\n===\nend"}))
    (document, _) = await all_of(LocalSource(path, "x.jsonl"), ANY)
    assert isinstance(document, Prepared)
    assert document.data == b"# a &lt; b\n\nif a &lt;b&gt; &amp;&amp; c: use &amp;amp;\nend\n"


# -- files ------------------------------------------------------------------------------------------------------------

TABLE = '番号,件名,本文,リンク\n1,休館日,図書館は月曜日に休みます。①～③階も閉まります。,https://example.com/1\n2,駐車場,"駐車場は\n二階です。",\n'


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "cp932", "euc_jp", "iso2022_jp_2", "utf-16", "utf-16-le"])
async def test_a_table_is_read_in_each_japanese_encoding(tmp_path: Path, codec: str) -> None:
    path = tmp_path / "kept"
    text = TABLE if codec in ("utf-8", "utf-8-sig", "cp932", "utf-16", "utf-16-le") else TABLE.replace("①～③", "全")
    path.write_bytes(text.replace("\n", "\r\n").encode(codec))
    source = LocalSource(path, "案内.csv")
    inspected = source.inspect()
    assert inspected.columns == ("番号", "件名", "本文", "リンク")
    assert inspected.guess == Columns(("本文",), title="件名", url="リンク", id="番号")
    first, second, end = await all_of(source)
    assert isinstance(first, Prepared) and isinstance(second, Prepared) and end == End("all")
    assert (first.name, first.title, first.url) == ("案内/1.md", "休館日", "https://example.com/1")
    assert first.text == text.split("\n")[1].split(",")[2] and second.text == "駐車場は\n二階です。"


async def test_the_columns_people_choose_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_text("q;a;memo\nWhen?;On Mondays.;x\n")
    assert LocalSource(path, "x.csv").inspect().guess == Columns(("a",))
    (document, _) = await all_of(LocalSource(path, "x.csv", Columns(("q", "a"), title="memo")))
    assert isinstance(document, Prepared) and (document.title, document.text) == ("x", "When?\n\nOn Mondays.")
    refused = await refusal(LocalSource(path, "x.csv", Columns(("body",))))
    assert "no column “body”" in refused.text("en") and "q, a, memo" in refused.text("ja")


def test_the_longest_column_is_the_text_when_no_name_says_so() -> None:
    rows = [{"code": "A-1", "memo": "It is closed on Mondays.", "URL": "https://example.com/" + "x" * 90}]
    assert guess(["code", "memo", "URL"], rows) == Columns(("memo",), url="URL")
    assert guess(["ＴＥＸＴ", "memo"]) == Columns(("ＴＥＸＴ",))
    assert guess(["code"], [{"code": ""}]) is None


@pytest.mark.parametrize(
    ("split", "texts"),
    [
        (None, ["一段落目。\n続き。\n\n二段落目。"]),
        ("paragraph", ["一段落目。\n続き。", "二段落目。"]),
        ("line", ["一段落目。", "続き。", "二段落目。"]),
    ],
)
async def test_a_text_is_one_document_or_one_a_paragraph_or_line(tmp_path: Path, split: str, texts: list[str]) -> None:
    path = tmp_path / "kept"
    path.write_bytes("一段落目。\n続き。\n\n\n二段落目。\n".encode("cp932"))
    seen = await all_of(LocalSource(path, "手順書.txt", split=split))  # type: ignore[arg-type]
    documents = [step for step in seen if isinstance(step, Prepared)]
    assert [document.text for document in documents] == texts
    assert documents[0].title == ("手順書" if split is None else "一段落目")


async def test_json_is_read_value_by_value_however_it_is_laid_out(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    rows = [{"text": f'{number} \\" ] }} {"港" * (number % 700)}', "n": [1, {"a": None}]} for number in range(1_500)]
    for text in (json.dumps(rows), json.dumps(rows, indent=1, ensure_ascii=False), json.dumps({"v": 1, "data": rows})):
        path.write_text(text, encoding="utf-8")
        seen = [row.text for row in LocalSource(path, "x.json").rows(DatasetReading())]
        assert seen == [row["text"] for row in rows]


@pytest.mark.parametrize(
    "form", ['[{"text": "港", "n": %s}]', '{"text": "港", "n": %s}\n', '{"v": [{"text": "港", "n": %s}]}']
)
async def test_a_number_may_have_any_digits(tmp_path: Path, form: str) -> None:
    path = tmp_path / "kept"
    path.write_text(form % ("1" * 5_000), encoding="utf-8")
    source = LocalSource(path, "x.jsonl" if form.endswith("\n") else "x.json")
    assert [row.text for row in source.rows(DatasetReading())] == ["港"]


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("x.pdf", b"%PDF-", "Give a csv, tsv, txt, json or jsonl file"),
        ("x.csv", b"", "nothing to read"),
        ("x.csv", b"text\n", "nothing to read"),
        ("x.txt", bytes(range(1, 256)) * 40, "encoding"),
        ("x.jsonl", b'{"text": "a"}\n{"text": \n', "correct JSON near line 2"),
        ("x.json", b'[\n{"text": "a"},\n{"text" "b"}]', "correct JSON near line 3"),
        ("x.json", b'[{"text": "a"}', "correct JSON near line 1"),
        ("x.json", b"[" * 100_000, "correct JSON near line 1"),
        ("x.json", b'{"a": 1}', "not a list of records"),
        ("x.jsonl", b'{"text": "' + b"a" * 1_400_000 + b'"}', "longer than 1 MiB"),
        ("x.csv", b'text\n"' + b"a" * 600_000 + b"\n" + b"a" * 600_000, "longer than 1 MiB"),
        ("x.csv", b"id,url\n1,https://example.com\n", "no column that holds text"),
    ],
)
async def test_a_file_that_cannot_be_read_is_refused_in_words(
    tmp_path: Path, name: str, data: bytes, said: str
) -> None:
    path = tmp_path / "kept"
    path.write_bytes(data)
    assert said in (await refusal(LocalSource(path, name))).text("en")
    path.unlink()
    assert "can no longer be read" in (await refusal(LocalSource(path, "x.csv"))).text("en")


@pytest.mark.parametrize(("codec", "shift"), [("utf-8", 0), ("utf-8", 1), ("utf-8", 2), ("cp932", 0), ("euc_jp", 1)])
async def test_a_file_without_line_ends_is_cut_between_characters(tmp_path: Path, codec: str, shift: int) -> None:
    path = tmp_path / "kept"
    rows = [{"text": "x" * (number % 3 + shift * (number == 0)) + "駐車場は二階です。" * 40} for number in range(1_500)]
    path.write_bytes(json.dumps(rows, ensure_ascii=False).encode(codec))
    assert [row.text for row in LocalSource(path, "x.json").rows(DatasetReading())] == [row["text"] for row in rows]


async def test_a_japanese_part_far_into_a_plain_file_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    plain = "".join(f"{number},plain words\n" for number in range(60_000))
    path.write_bytes(("id,text\n" + plain + "x,駐車場は二階です。\n").encode("cp932"))
    *_, last = LocalSource(path, "x.csv").rows(DatasetReading())
    assert last.text == "駐車場は二階です。"
