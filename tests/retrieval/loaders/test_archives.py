"""Archives made to harm their reader are refused before a parser sees them, and the bot does not feel it."""

import io
import struct
import zipfile
import zlib
from collections.abc import Callable

import psutil  # type: ignore[import-untyped]
import pytest

from retrieval.loaders.archives import open_archive, pack
from retrieval.loaders.limits import KIB, MIB, FileRefused, ParsingLimits
from retrieval.loaders.loader import Loader
from retrieval.types import UnreadableError

TYPES = b"""<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml"
ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>"""
RELS = b"""<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
<Relationship Id="r1" Target="word/document.xml"
Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"/></Relationships>"""


def document(body: str = "<w:p><w:r><w:t>text</w:t></w:r></w:p>", prolog: str = "") -> bytes:
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    return f'<?xml version="1.0"?>{prolog}<w:document xmlns:w="{space}"><w:body>{body}</w:body></w:document>'.encode()


def docx(extra: dict[str, bytes] | None = None, body: bytes | None = None, packed: int = zipfile.ZIP_DEFLATED) -> bytes:
    parts = {"[Content_Types].xml": TYPES, "_rels/.rels": RELS, "word/document.xml": body or document()}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", packed) as archive:
        for name, content in (parts | (extra or {})).items():
            archive.writestr(name, content)
    return file.getvalue()


def reason(data: bytes, limits: ParsingLimits | None = None, suffix: str = ".docx") -> str:
    try:
        open_archive(data, suffix, limits or ParsingLimits())
    except FileRefused as refused:
        return refused.reason
    return "opened"


LAUGHS = (
    '<!DOCTYPE w:document [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;">]>'
)
XXE = '<!DOCTYPE w:document [<!ENTITY x SYSTEM "file:///etc/passwd">]>'


def many_parts() -> bytes:
    return docx({f"word/{number}.xml": b"<a/>" for number in range(1_000)})


def one_huge_part() -> bytes:
    return docx(body=document("<w:p/>" * 2_000_000))


def nested() -> bytes:
    return docx({"word/inner.zip": docx({"a.bin": bytes(MIB)})})


def nested_without_a_name() -> bytes:
    return docx({"customXml/item1.dat": docx()})


def deeply_compressed_text() -> bytes:
    return docx(body=document("<w:p/>" * 300_000))


def two_names_alike() -> bytes:
    return docx({"WORD/document.xml": document("other")})


def leading_outside() -> bytes:
    return docx({"word/../../evil.xml": b"<a/>"})


def absolute() -> bytes:
    return docx({"/etc/evil.xml": b"<a/>"})


def laughing() -> bytes:
    return docx(body=document("<w:p><w:r><w:t>&c;</w:t></w:r></w:p>", LAUGHS))


def laughing_in_utf_16() -> bytes:
    text = document("<w:p><w:r><w:t>&c;</w:t></w:r></w:p>", LAUGHS).decode().replace('"1.0"', '"1.0" encoding="UTF-16"')
    return docx(body=text.encode("utf-16"))


def external_entity() -> bytes:
    return docx(body=document("<w:p><w:r><w:t>&x;</w:t></w:r></w:p>", XXE))


def encrypted() -> bytes:
    data = bytearray(docx())
    at = data.index(b"PK\x01\x02")
    data[at + 8] |= 1
    return bytes(data)


def larger_than_it_claims() -> bytes:
    """The directory says 100 bytes; the stream holds 20 MiB."""
    data = bytearray(docx(body=document("<w:p/>" * 3_000_000)))
    for at in (at for at in range(len(data)) if data[at : at + 4] == b"PK\x01\x02"):
        (length,) = struct.unpack("<H", data[at + 28 : at + 30])
        if data[at + 46 : at + 46 + length] == b"word/document.xml":
            data[at + 24 : at + 28] = struct.pack("<I", 100)
    return bytes(data)


def overlapping() -> bytes:
    """Every part of the directory points at the same compressed bytes."""
    data = bytearray(docx({"word/a.xml": document(), "word/b.xml": document()}))
    places = [at for at in range(len(data)) if data[at : at + 4] == b"PK\x01\x02"]
    offset = data[places[2] + 42 : places[2] + 46]
    for at in places[3:]:
        data[at + 42 : at + 46] = offset
    return bytes(data)


BOMBS: list[tuple[Callable[[], bytes], str]] = [
    (many_parts, "entries"),
    (one_huge_part, "part"),
    (deeply_compressed_text, "ratio"),
    (nested, "nested"),
    (nested_without_a_name, "nested"),
    (two_names_alike, "names"),
    (leading_outside, "names"),
    (absolute, "names"),
    (laughing, "entities"),
    (laughing_in_utf_16, "entities"),
    (external_entity, "entities"),
    (encrypted, "encrypted"),
    (larger_than_it_claims, "lying"),
    (overlapping, "lying"),
]


@pytest.mark.parametrize(("bomb", "why"), BOMBS, ids=[bomb.__name__ for bomb, _ in BOMBS])
def test_bombs_are_refused(bomb: Callable[[], bytes], why: str) -> None:
    assert reason(bomb()) == why


async def test_the_bot_survives_every_bomb() -> None:
    bombs = [bomb() for bomb, _ in BOMBS]
    here = psutil.Process()
    async with Loader() as loader:
        assert (await loader.load("ok.docx", docx())).markdown == "text"
        before = here.memory_info().rss
        for bomb in bombs:
            with pytest.raises(UnreadableError) as caught:
                await loader.load("bomb.docx", bomb)
            assert caught.value.text("en") and caught.value.text("ja") != caught.value.text("en")
        assert here.memory_info().rss - before <= 50 * MIB
        assert (await loader.load("ok.docx", docx())).markdown == "text"


def test_ordinary_archives_open() -> None:
    parts = open_archive(docx({"word/media/photo.png": b"\x89PNG" + bytes(100)}), ".docx", ParsingLimits())
    assert parts["word/document.xml"] == document()
    assert parts["word/media/photo.png"] == b""  # pictures are not read
    assert zipfile.ZipFile(io.BytesIO(pack(parts))).read("_rels/.rels") == RELS


def test_the_picture_of_an_embedded_file_is_no_bomb() -> None:
    """Windows draws it without compression, and most of it is white: `word/media/image1.emf`."""
    preview = {"word/media/image1.emf": bytes(60 * MIB), "word/embeddings/oleObject1.bin": bytes(60 * MIB)}
    parts = open_archive(docx(preview), ".docx", ParsingLimits())
    assert parts["word/document.xml"] == document() and not any(map(parts.get, preview))


def test_a_workbook_behind_a_chart_is_no_bomb() -> None:
    parts = open_archive(docx({"word/embeddings/Sheet1.xlsx": docx()}), ".docx", ParsingLimits())
    assert parts["word/embeddings/Sheet1.xlsx"] == b""


def test_names_in_cp932_are_read() -> None:
    data = docx({"word/AAAA.xml": b"<a/>"}).replace(b"AAAA", "章名".encode("cp932"))
    assert open_archive(data, ".docx", ParsingLimits())["word/章名.xml"] == b"<a/>"


def test_damaged_archives_are_refused() -> None:
    assert reason(docx()[:-30]) == "corrupt"
    assert reason(docx()[:200]) == "corrupt"
    broken = bytearray(docx(packed=zipfile.ZIP_STORED))
    broken[broken.index(b"<w:t>text") + 5] ^= 0xFF
    assert reason(bytes(broken)) == "lying"  # its checksum does not match


def test_another_kind_inside_is_named() -> None:
    with pytest.raises(FileRefused) as caught:
        open_archive(docx(), ".xlsx", ParsingLimits())
    assert caught.value.values == {"suffix": ".xlsx", "found": "DOCX"}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.txt", "a")
    with pytest.raises(FileRefused) as caught:
        open_archive(file.getvalue(), ".docx", ParsingLimits())
    assert caught.value.values == {"suffix": ".docx", "found": "ZIP"}


def sizes(data: bytes) -> list[int]:
    return [info.file_size for info in zipfile.ZipFile(io.BytesIO(data)).infolist()]


def test_each_cap_holds_exactly() -> None:
    data = docx({"word/a.bin": zlib.compress(bytes(range(256)) * 40)})
    for name, exact, why in (
        ("entries", 4, "entries"),
        ("part", max(sizes(data)[:3]), "part"),
        ("parts", sum(sizes(data)[:3]), "part"),
    ):
        assert reason(data, ParsingLimits(**{name: exact})) == "opened"
        assert reason(data, ParsingLimits(**{name: exact - 1})) == why


def test_the_ratio_counts_from_its_size_on() -> None:
    data = docx({"word/a.xml": bytes(64 * KIB)})  # about 800-fold
    assert reason(data) == "opened"
    assert reason(data, ParsingLimits(ratio_from=64 * KIB)) == "opened"
    assert reason(data, ParsingLimits(ratio_from=64 * KIB - 1)) == "ratio"
    assert reason(data, ParsingLimits(ratio_from=1, ratio=2_000)) == "opened"
