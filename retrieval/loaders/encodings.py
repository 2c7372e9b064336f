"""Bytes of unknown encoding → text. Japanese files come in six encodings, and each can be mistaken for another."""

import codecs
import re
import unicodedata
from contextlib import suppress

from retrieval.loaders.limits import FileRefused

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: it begins with that mark
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# What a page or its server calls an encoding, and Python's name of how it is written today (encoding.spec.whatwg.org).
_CODECS = {"shift_jis": "cp932", "x-sjis": "cp932", "sjis": "cp932", "windows-31j": "cp932", "ms_kanji": "cp932"}
_CODECS |= {"iso-8859-1": "cp1252", "latin1": "cp1252", "us-ascii": "cp1252", "iso-8859-9": "cp1254"}
_CODECS |= {"gb2312": "gb18030", "gbk": "gb18030", "big5": "cp950", "windows-874": "cp874", "tis-620": "cp874"}
_CODECS |= {"euc-kr": "cp949", "ks_c_5601-1987": "cp949", "windows-949": "cp949"}
_NAMED = re.compile(
    r"utf-8|utf8|windows-125\d|iso-8859-\d+|koi8-[ru]|big5-hkscs|gb18030|euc-jp|cp(?:874|932|949|950|125\d)"
)
_DECLARED = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?\s*([\w-]+)|<\?xml[^>]+encoding\s*=\s*[\"']([\w-]+)", re.I)
_ESCAPE = re.compile(rb"(\x1b(?:\$[@B]|\$\([DOQ]|\([BIJH]))")
_STRAY = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_SAMPLE = 4_000  # characters that are judged
_TOLERATED = 0.005  # share of U+FFFD
_CREDIBLE = 0.4
_PUNCTUATION = frozenset("、。「」『』【】（）〈〉《》・ー〜～：；！？／＝－＋％＆＃＊＠…―“”　※→")
_VOICED_BASE = frozenset("ｳｶｷｸｹｺｻｼｽｾｿﾀﾁﾂﾃﾄﾊﾋﾌﾍﾎ")
# The thousand most frequent kanji of encyclopaedic and office Japanese: nine of ten in any text.
_FREQUENT = frozenset(
    "一万三上下不与世両並中丸丹主久之乗乱了予争事二五井亡交京人今介仏仕他付代令以件任企伊伏休会伝伯伴位低"
    "住佐体何余作併使例供依価侵便係保信修倉個候借値側備催傷働像億償優元兄先光児党入全八公共兵具典内円冊再"
    "写冠処出分切刊刑列初判別利到制刻則削前副割創劇力功加助労効動務勝勢勤包化北区医十千午半卒協南単博占危"
    "即却厚原去参及友反収取受口古可台史右号司各合吉同名向君否含吸告周味呼命和品員唯唱商問善喜営器四回因団"
    "困囲図固国園土圧在地型城域培基堂報場塗塚塩境増壇壊士声売変外多夜大天太夫央失奈奏契奥奨奪女奴好始委姫"
    "姿婚子字存学宇守安完宗官宙定宝実客宣室宮害家容宿寄密寛察審寺対射将尋導小少就尾局居屋展属層山岐岡岩岳"
    "岸島崎崩川州巡工左差巻市布帝師席帯帰常幅幕平年幼庁広床底店府度座庫康廃延廷建式引弟弱張強弾当形影役彼"
    "征待後徒従得御復徳徴心必志忘応念思急性息恵悪情惑想意愛感態慣慮慶成戦戸戻所手打払扱承技投抗折抜択抵押"
    "担招拠拡持指挙振挿捕授排掘採探接推掲描提換揮援損搭携摘摩撃操支改攻放政故敗教散数整敵敷文料断新方施旅"
    "族既日旧早明易星映春昭時普景暗曜曲更書替最月有望朝期木未末本材村条来東松板析林枚果染査校株核根格栽案"
    "植検業極楽概構様標模権横樹橋機欠次欧歌止正武歩歳歴死残段殺母毎毒比氏民気水永求江池決沢河治沿況法波注"
    "洋洞津活派流浅浜海消深混清済渉渋減渡温測港満源準滅滑漁漏演漢激火炭点為無然焼煙照熊熱爆爵父版牛物特状"
    "独献獣獲率王現球理環生産用田由甲申男町画界留略番異病発登白百的皇益盛盟監盤目直相省県真着督矢知短石砂"
    "研破確示礼社祖神票祭禁福秀私秋科称移程税種稿積究空突立章端競竹第等答策算管節範築簡籍米粘精系紀約紋級"
    "素索細終組経結絡給統絶継続維網緊総線締編練縁縦縮績繁織罪置美群義羽翌習翻翼老考者耐聖聞職肉育背胞胸能"
    "脂脆脱腕膜臣自至興舎舞航般船艦良色芥花芸芽若苦英茶草落葉著蔵薬藤藩血衆行術街衛表被裁装補製複襲西要見"
    "規視覧親観角解触言計討記訪設許訳証評試話該詳認語説読誰調談請論諸識警議護谷豊象負財貢貨販貫責貴買貸費"
    "賀資賞質購赤走起超越足距跡路身車軌軍転軽較載輪輸農辺込近返述追退送逃逆途通速造連週進遇運過道達違遠遣"
    "適選遺避還邦郎郡部郷都配酵酸重野量金鉄鉱銀銅鋼錬録長門閉開間関闘阜阪防降限院陣除陥陳陸険陽隊階際隠隣"
    "隷雄集雇離難雪電霊霞露青静非面革音響頃項順領頭頼題額願類顧風飛食飼養館首香馬駅駆騎験骨高魚鮮鳥鹿黄黒"
)


def decode(data: bytes) -> str:
    """The text of `data`, at most half a percent of it unreadable (U+FFFD).

    Order: byte order mark; ISO-2022-JP escapes; UTF-16 by its NULs; UTF-8; then whichever of EUC-JP, CP932, UTF-16 and
    Windows-1252 reads most like text. Raises `FileRefused("encoding")`.
    """
    for mark, codec in _BOMS:
        if data.startswith(mark):
            return _checked(data[len(mark) :].decode(codec, "replace"))
    if _ESCAPE.search(data) and not re.search(rb"[\x80-\xff]", data):
        return _checked(_from_iso_2022_jp(data))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        if not _STRAY.search(text):
            return text
        wide = max(_wide(data), key=_quality, default="")
        if wide and _quality(wide) >= 0.6:
            return _checked(wide)
        if len(_STRAY.findall(text)) <= len(text) * _TOLERATED:
            return text
        raise FileRefused("encoding")
    readings = [_from_euc_jp(data), *(data.decode(codec, "replace") for codec in ("cp932", "cp1252", "utf-8"))]
    scores = [_quality(text) for text in readings]
    if _is_half_width_euc(data):
        scores[0] += 1
    best = max(zip(scores, readings, strict=True), key=lambda pair: pair[0])
    for wide in _wide(data):
        if (score := _quality(wide)) > best[0]:
            best = score, wide
    if best[0] < _CREDIBLE:
        raise FileRefused("encoding")
    return _checked(best[1])


def decode_named(data: bytes, name: str) -> str | None:
    """The text of a page by the encoding that it or its server names; None: that is not known, the bytes do not agree
    with it, or a byte order mark goes before."""
    name = _CODECS.get(name.lower(), name.lower())
    if _NAMED.fullmatch(name) and not data.startswith(tuple(mark for mark, _ in _BOMS)):
        with suppress(UnicodeDecodeError, LookupError):
            return data.decode(name)
    return None


def decode_page(data: bytes) -> str:
    """The text of an HTML file: by the encoding it declares if its bytes agree, else by what they look like."""
    found = _DECLARED.search(data[:4096])
    text = decode_named(data, (found[1] or found[2]).decode("ascii")) if found else None
    return decode(data) if text is None else text


def member_name(raw: bytes) -> str:
    """The name of a part in a ZIP file that does not say it is UTF-8: Japanese Windows tools write CP932."""
    for codec in ("utf-8", "cp932"):
        try:
            return raw.decode(codec)
        except UnicodeDecodeError:
            continue
    return raw.decode("cp437")


def _checked(text: str) -> str:
    if text.count("\ufffd") > len(text) * _TOLERATED:
        raise FileRefused("encoding")
    return text


def _wide(data: bytes) -> list[str]:
    if len(data) % 2:
        return []
    return [data.decode(codec, "replace") for codec in ("utf-16-le", "utf-16-be")]


# -- the Japanese encodings where Python's own codecs stop short ------------------------------------------------------


def _from_euc_jp(data: bytes) -> str:
    """EUC-JP with the rows that Windows added to it (①, ㈱, 髙), as CP51932 has them."""
    return data.decode("euc_jp", "kotae-windows-rows")


def _windows_row(error: UnicodeError) -> tuple[str, int]:
    """A pair of bytes that EUC-JP does not know, looked up at the same row and cell of CP932."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    pair = error.object[error.start : error.start + 2]
    if len(pair) == 2 and all(0xA1 <= byte <= 0xFE for byte in pair):
        row, cell = pair[0] - 0xA0, pair[1] - 0xA0
        lead = (row - 1) // 2 + (0x81 if row <= 62 else 0xC1)
        trail = cell + 0x9E if row % 2 == 0 else cell + 0x3F + (cell >= 64)
        try:
            return bytes((lead, trail)).decode("cp932"), error.start + 2
        except UnicodeDecodeError:
            pass
    return "\ufffd", error.start + 1


codecs.register_error("kotae-windows-rows", _windows_row)


def _from_iso_2022_jp(data: bytes) -> str:
    """ISO-2022-JP and what mail programs add to it: half-width kana, JIS X 0213 and Windows' own rows."""
    text: list[str] = []
    mode = b"\x1b(B"
    for piece in _ESCAPE.split(data):
        if _ESCAPE.fullmatch(piece):
            mode = piece
            continue
        high = bytes(byte | 0x80 if byte > 0x20 else byte for byte in piece)
        if mode in (b"\x1b$@", b"\x1b$B"):
            text.append(_from_euc_jp(high))
        elif mode in (b"\x1b$(O", b"\x1b$(Q"):
            text.append(high.decode("euc_jis_2004", "replace"))
        elif mode == b"\x1b$(D":
            pairs = (b"\x8f" + high[at : at + 2] for at in range(0, len(high), 2))
            text.append(b"".join(pairs).decode("euc_jp", "replace"))
        elif mode == b"\x1b(I":
            text.append(high.decode("cp932", "replace"))
        else:
            text.append(piece.decode("ascii", "replace"))
    return "".join(text)


def _is_half_width_euc(data: bytes) -> bool:
    """EUC-JP writes half-width kana as 8E + kana; in CP932 the same pairs are common kanji."""
    pairs = len(re.findall(rb"\x8e[\xa1-\xdf]", data))
    return pairs >= 3 and pairs * 4 >= len(re.findall(rb"[\x80-\xff]", data))


# -- does it read like text? -----------------------------------------------------------------------------------------


def _quality(text: str) -> float:
    """How much `text` looks like Japanese or Western writing: about 1 for real text, under 0.4 for a wrong decoding."""
    total = 0.0
    judged = kanji = kana = 0
    for at, char in enumerate(text):
        if " " <= char <= "~" or char in "\t\n\r\f\x1b":
            continue
        total += _likelihood(char, text[at - 1] if at else "\n", text[at + 1] if at + 1 < len(text) else "\n")
        judged += 1
        kana += "\u3041" <= char <= "\u30ff" or "\uff66" <= char <= "\uff9f"
        kanji += "\u4e00" <= char <= "\u9fff"
        if judged == _SAMPLE:
            break
    if not judged:
        return 1.0
    return total / judged - (0.25 if kanji >= 5 and not kana else 0.0)  # Korean read as Japanese is all kanji


def _likelihood(char: str, before: str, after: str) -> float:
    code = ord(char)
    between_letters = before.isascii() and before.isalpha() and after.isascii() and after.isalpha()
    if char in _PUNCTUATION or 0xFF01 <= code <= 0xFF5E:
        return 0.8
    if 0x3041 <= code <= 0x30FF:
        return -0.3 if between_letters else 1.0
    if 0x4E00 <= code <= 0x9FFF:
        return -0.7 if between_letters else _kanji(char)
    if 0xFF61 <= code <= 0xFF9F:
        return _half_width(char, before, after)
    if code < 0xA0 or 0xE000 <= code <= 0xF8FF or char == "\ufffd":
        return -3.0
    if code < 0x2100:
        return _western(char, before, after)
    if 0x2160 <= code <= 0x217F or 0x2460 <= code <= 0x24FF or 0x3200 <= code <= 0x33FF or 0xF900 <= code <= 0xFAFF:
        return 0.5  # Ⅳ, ①, ㈱ and the like
    if 0x1F000 <= code <= 0x1FAFF or 0x2190 <= code <= 0x27BF:
        return 0.3
    return -2.0 if unicodedata.category(char) in ("Cn", "Cs", "Cc") else -0.5


def _kanji(char: str) -> float:
    if char in _FREQUENT:
        return 1.0
    try:
        lead = char.encode("euc_jp")[0]
    except UnicodeEncodeError:
        return -0.6
    return -0.3 if lead >= 0xD0 or lead == 0x8F else 0.3  # JIS levels 2 and 1


def _half_width(char: str, before: str, after: str) -> float:
    if char in "ﾞﾟ":
        return 0.5 if before in _VOICED_BASE else -0.5
    if char <= "･":
        return -0.2
    alone = not ("\uff61" <= before <= "\uff9f" or "\uff61" <= after <= "\uff9f")
    return -0.2 if alone else 0.5


def _western(char: str, before: str, after: str) -> float:
    """Letters with accents stand among plain ones; typographic marks stand next to plain text."""
    plain = before.isascii() and after.isascii()
    if char == "ÿ":
        return -0.5  # rare in any language, but every second byte of half-width kana in UTF-16
    if char.isalpha():
        beside = (before.isascii() and before.isalpha()) or (after.isascii() and after.isalpha())
        if ord(char) > 0x24F:
            return 0.2 if char.isalpha() and ord(char) < 0x460 else -0.5  # Greek and Cyrillic are in JIS too
        return 0.9 if beside else 0.2 if plain else -0.5
    return 0.6 if plain else 0.1 if ord(char) >= 0x2010 else -0.3
