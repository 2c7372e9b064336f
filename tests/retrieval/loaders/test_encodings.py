"""Japanese text comes in many encodings; each must be told from the others, in short texts too."""

import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.loaders.encodings import decode, member_name
from retrieval.loaders.limits import FileRefused

PAGE = """# 出張と経費のきまり

出張の申請は、出発の三営業日前までにワークフローから提出してください。承認者は所属する部門の部長です。
宿泊費の上限は一泊 12,000 円（税込）で、これを超える場合は「特別申請書」に理由を書きます。
新幹線は片道 100km 以上のときに指定席を利用できます。グリーン車は使えません。
帰社後は 5 営業日以内に領収書を添えて精算します。領収書をなくしたときは、総務課へ相談してください。
"""
TEXTS = {
    "short": "本日の会議は中止になります",
    "fourteen": "請求書は経理部に送付します。",
    "page": PAGE,
    "csv": "社員番号,氏名,部署\n1001,佐藤太郎,営業部\n1002,鈴木花子,総務部\n",
    "half-width kana": "ﾃｽﾄｶｲｼﾞｮｳﾊ3ｶｲﾃﾞｽ",
    "half-width in csv": "氏名,ﾌﾘｶﾞﾅ\n佐藤太郎,ｻﾄｳ ﾀﾛｳ\n鈴木花子,ｽｽﾞｷ ﾊﾅｺ\n",
    "vendor characters": "①㈱髙橋商店の見積書",
    "kanji only": "東京都港区芝公園四丁目",
    "katakana": "サーバーのメンテナンス",
    "mixed": "VPN の MTU は 1400、DNS は 10.0.0.2 です。",
}


def windows_euc(text: str) -> bytes:
    """EUC-JP as Windows programs write it: CP932's own rows (①, ㈱, 髙) at the same row and cell."""
    out = bytearray()
    for char in text:
        try:
            out += char.encode("euc_jp")
        except UnicodeEncodeError:
            lead, trail = char.encode("cp932")
            row = (lead - (0x81 if lead < 0xA0 else 0xC1)) * 2 + (2 if trail >= 0x9F else 1)
            cell = trail - 0x9E if trail >= 0x9F else trail - 0x3F - (trail >= 0x80)
            out += bytes((row + 0xA0, cell + 0xA0))
    return bytes(out)


def mail_jis(text: str) -> bytes:
    """ISO-2022-JP as mail programs write it, half-width kana and vendor characters included."""
    out = bytearray()
    for char in text:
        code = windows_euc(char)
        if code[0] == 0x8E:
            out += b"\x1b(I" + bytes((code[1] & 0x7F,)) + b"\x1b(B"
        elif code[0] < 0x80:
            out += code
        else:
            out += b"\x1b$B" + bytes(byte & 0x7F for byte in code) + b"\x1b(B"
    return bytes(out)


ENCODERS: dict[str, Callable[[str], bytes]] = {
    "utf-8": str.encode,
    "utf-8 with mark": lambda text: text.encode("utf-8-sig"),
    "cp932": lambda text: text.encode("cp932"),
    "euc-jp": windows_euc,
    "iso-2022-jp": mail_jis,
    "utf-16 with mark": lambda text: text.encode("utf-16"),
    "utf-16-le": lambda text: text.encode("utf-16-le"),
    "utf-16-be": lambda text: text.encode("utf-16-be"),
}


@pytest.mark.parametrize("encoding", ENCODERS)
@pytest.mark.parametrize("kind", TEXTS)
def test_each_text_is_read_back_exactly(encoding: str, kind: str) -> None:
    text = TEXTS[kind]
    read = decode(ENCODERS[encoding](text))
    assert unicodedata.normalize("NFKC", read) == unicodedata.normalize("NFKC", text)


@pytest.mark.parametrize("encoding", ENCODERS)
def test_every_line_of_a_page_is_read_back_on_its_own(encoding: str) -> None:
    for line in PAGE.strip().splitlines():
        for text in (line[:14], line):
            assert decode(ENCODERS[encoding](text)) == text


@pytest.mark.parametrize("codec", ["iso2022_jp", "iso2022_jp_ext", "iso2022_jp_2004", "shift_jis", "euc_jis_2004"])
def test_the_codecs_of_python_are_understood(codec: str) -> None:
    assert decode(PAGE.encode(codec)) == PAGE


@pytest.mark.parametrize(
    "text",
    [
        "Le café est fermé. “Très bien” — à bientôt",
        "Müller GmbH, Straße 5",
        "It’s £5, or 20°C",
        "informação e ação",
        "señor, mañana",
    ],
)
def test_western_text_of_windows_is_read(text: str) -> None:
    assert decode(text.encode("cp1252")) == text


def test_a_few_broken_bytes_are_shown_and_many_are_refused() -> None:
    data = bytearray((PAGE * 3).encode())
    data[100] = 0xFF
    assert decode(bytes(data)).count("\ufffd") in (1, 2, 3)
    data[100:400:3] = b"\xff" * 100
    with pytest.raises(FileRefused, match="encoding"):
        decode(bytes(data))


@pytest.mark.parametrize(
    "data",
    [
        bytes(range(256)) * 4,
        "이것은 인코딩을 확인하기 위한 시험 문서입니다".encode("euc_kr"),
        "Это тестовый документ для проверки кодировки".encode("cp1251"),
        b"\x00\x01\x02\x03" * 50,
    ],
)
def test_what_cannot_be_recognised_is_refused(data: bytes) -> None:
    with pytest.raises(FileRefused, match="encoding"):
        decode(data)


def test_names_in_archives_may_be_cp932() -> None:
    assert member_name("第1章.xhtml".encode("cp932")) == "第1章.xhtml"
    assert member_name("第1章.xhtml".encode()) == "第1章.xhtml"
    assert member_name(b"chapter1.xhtml") == "chapter1.xhtml"


@given(st.binary(max_size=200))
def test_any_bytes_are_text_or_refused(data: bytes) -> None:
    try:
        text = decode(data)
    except FileRefused as refused:
        assert refused.reason == "encoding"
    else:
        assert text.count("\ufffd") <= len(text) * 0.005


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=200))
def test_plain_utf_8_is_never_mistaken(text: str) -> None:
    assert decode(text.encode()) == text.removeprefix("\ufeff")
