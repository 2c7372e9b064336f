"""The date that a file states of itself, in whatever form people and programs write it."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from pptx import Presentation

from retrieval.index.payload import passage_of, payload_of
from retrieval.loaders.dates import iso_date, stated
from retrieval.loaders.limits import ParsingLimits
from retrieval.loaders.markdown import front_matter
from retrieval.loaders.worker import reader_of
from tests.retrieval.index.test_index import point

FILES = Path(__file__).parents[2] / "files"


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2026-04-01", "2026-04-01"),
        ("2026-04-01T23:30:00+09:00", "2026-04-01"),
        ('"2026/4/1" # reviewed', "2026-04-01"),
        ("２０２６．４．１", "2026-04-01"),
        ("20260401", "2026-04-01"),
        ("2026-04", "2026-04"),
        ("2026年4月1日（水）", "2026-04-01"),
        ("2026年4月", "2026-04"),
        ("令和8年4月1日", "2026-04-01"),
        ("令和元年5月", "2019-05"),
        ("April 1, 2026", "2026-04-01"),
        ("1st Apr 2026", "2026-04-01"),
        ("Wed, 01 Apr 2026 10:00:00 GMT", "2026-04-01"),
        ("Apr 2026", "2026-04"),
        *((text, "") for text in ("05/04/2026", "2026-13-01", "2026-02-30", "2026", "soon", "", "0001-01-01", "1.2.3")),
        ("2026-040", ""),
    ],
)
def test_what_can_be_read_without_guessing_is_a_date(text: str, date: str) -> None:
    assert iso_date(text) == date


def test_the_last_change_comes_before_the_beginning() -> None:
    assert stated([("date", "2020-01-01"), ("Last-Modified", "2026-04-01")]) == "2026-04-01"
    assert stated([("作成日", "2020年1月1日"), ("最終更新日", "2026年4月1日")]) == "2026-04-01"
    assert stated([("updated", "soon"), ("created_at", "2020-01-01")]) == "2020-01-01"
    assert stated([("due", "2026-04-01"), ("version", "2026-04-01")]) == ""


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("---\ntitle: A\ndate: 2020-01-01\nlastmod: 2026-04-01\n---\nText", "2026-04-01"),
        ("---\n更新日: 2026年4月1日\n---\n本文", "2026-04-01"),
        ('+++\ndate = 2026-04-01T00:00:00Z\ntitle = "A"\n+++\nText', "2026-04-01"),
        ("---\nauthor:\n  updated: 2026-04-01\n---\nText", ""),
        ("Text\n\nupdated: 2026-04-01\n", ""),
    ],
)
def test_front_matter_gives_the_date(text: str, date: str) -> None:
    assert front_matter(text)[1] == date


@pytest.mark.parametrize(
    "head",
    [
        '<meta property="article:published_time" content="2020-01-01"><meta property="article:modified_time" content="2026-04-01">',
        '<meta name="dcterms.modified" content="2026-04-01T10:00">',
        '<meta http-equiv="last-modified" content="Wed, 01 Apr 2026 10:00:00 GMT">',
        '<script type="application/ld+json">{"datePublished": "2020-01-01", "dateModified": "2026-04-01"}</script>',
        '</head><body><time itemprop="dateModified" datetime="2026-04-01">yesterday</time>',
    ],
)
def test_a_page_gives_the_date(head: str) -> None:
    page = f"<html><head><title>Leave</title>{head}<p>Twenty days.</p></html>"
    assert reader_of(".html")(page.encode(), ParsingLimits()).date == "2026-04-01"
    assert reader_of(".html")(b"<p>On 2026-04-01 <time>2026-04-01</time> it began.</p>", ParsingLimits()).date == ""


@pytest.mark.parametrize(
    ("name", "date"), [("test.docx", "2025-03-20"), ("test.pptx", "2025-03-05"), ("test.xlsx", "2024-03-15")]
)
def test_office_files_give_the_date_of_their_last_change(name: str, date: str) -> None:
    path = FILES / name
    assert reader_of(path.suffix)(path.read_bytes(), ParsingLimits()).date == date


def test_the_date_of_a_librarys_template_is_none() -> None:
    made = Presentation()
    made.slides.add_slide(made.slide_layouts[0]).shapes.title.text = "Twenty days"
    file = io.BytesIO()
    made.save(file)
    assert reader_of(".pptx")(file.getvalue(), ParsingLimits()).date == ""


def test_a_pdf_gives_the_date_of_its_last_change() -> None:
    assert reader_of(".pdf")((FILES / "test.pdf").read_bytes(), ParsingLimits()).date == "2023-10-05"


def test_what_earlier_versions_stored_as_a_date_is_none() -> None:
    """It was the day on which the document was added."""
    dated = point(text="Twenty days.")
    dated = replace(dated, passage=replace(dated.passage, updated="2026-04"))
    payload = payload_of(dated)
    assert passage_of(payload).updated == "2026-04"
    del payload["dated"]
    assert passage_of(payload | {"updated": "2026-11-22"}).updated == ""
