"""Limits on reading one file, and the words in which a file is refused."""

from dataclasses import dataclass

from retrieval.i18n import Text

KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True, slots=True)
class ParsingLimits:
    """The caps on one file; sizes in bytes, times in seconds. Reaching a cap is allowed, passing it is refused."""

    file: int = 25 * MIB
    text: int = 5 * MIB  # of the Markdown, as UTF-8
    pages: int = 1_000
    rows: int = 100_000
    json_depth: int = 100
    json_line: int = 1 * MIB
    entries: int = 1_000  # parts of a docx, pptx, xlsx or epub
    part: int = 10 * MIB  # one XML part; 9 MiB of XML already cost half a minute
    parts: int = 25 * MIB  # all XML parts
    ratio: int = 100
    ratio_from: int = 1 * MIB
    memory: int = 1_024 * MIB  # above what the idle child occupies
    cpu: int = 30
    wall: float = 60.0
    files_per_child: int = 20


class FileRefused(Exception):
    """A file that will not be read; `reason` is a key of `REASONS`, `values` fill its words."""

    def __init__(self, reason: str, **values: int | str) -> None:
        super().__init__(reason, values)
        self.reason = reason
        self.values = values


def size(count: int) -> str:
    """`26214400` → `25 MiB`."""
    if count >= MIB:
        return f"{count / MIB:.4g} MiB"
    return f"{count / KIB:.4g} KiB" if count >= KIB else f"{count} B"


REASONS: dict[str, Text] = {
    # what it is
    "nameless": Text(
        en="The file has no name: there is nothing, or nothing but an ending.",
        ja="ファイルに名前がありません（空であるか、拡張子だけです）。",
    ),
    "type": Text(
        en="Files of type “{suffix}” cannot be read. These can: {known}.",
        ja="「{suffix}」形式のファイルは読み込めません。読み込める形式: {known}",
    ),
    "mail": Text(
        en="Mail files cannot be read. Save the message as PDF or text and add that.",
        ja="メールファイルは読み込めません。PDF またはテキストとして保存してから追加してください。",
    ),
    "image": Text(
        en="Images cannot be read: there is no text recognition (OCR). Add the text, or a PDF with a text layer.",
        ja="画像は読み込めません（文字認識 (OCR) には対応していません）。テキスト、または文字情報を含む PDF "
        "を追加してください。",
    ),
    "legacy": Text(
        en="Old Office, RTF, OpenDocument and iWork cannot be read. Save it as .docx, .pptx, .xlsx or PDF.",
        ja="古い Office、RTF、OpenDocument、iWork の形式は読み込めません。"
        ".docx、.pptx、.xlsx または PDF で保存し直してから追加してください。",
    ),
    "packed": Text(
        en="Archives are not opened. Unpack it and add the files inside.",
        ja="圧縮ファイルは展開しません。展開してから中のファイルを追加してください。",
    ),
    "mismatch": Text(
        en="The file is named “{suffix}” but its content is {found}. Rename it, or export it again.",
        ja="ファイル名は「{suffix}」ですが、中身は {found} です。名前を直すか、書き出し直してください。",
    ),
    "webpage": Text(
        en="The file is named “{suffix}” but its content is a web page (HTML), often a sign-in page that was"
        " downloaded in place of the file. Download it again while signed in.",
        ja="ファイル名は「{suffix}」ですが、中身はウェブページ（HTML）です。ファイルの代わりにログイン画面が保存された"
        "可能性があります。ログインした状態でダウンロードし直してください。",
    ),
    # what is in it
    "empty": Text(en="There is no text in the file.", ja="ファイルに文字がありません。"),
    "scan": Text(
        en="This PDF is a scan: {scanned} of {pages} pages are pictures without a text layer. Run text recognition"
        " (OCR) over it first.",
        ja="この PDF はスキャン画像です（{pages} ページ中 {scanned} ページに文字情報がありません）。"
        "先に文字認識 (OCR) を行ってください。",
    ),
    "unmapped": Text(
        en="The fonts of this PDF do not say which characters they show, so its text cannot be taken out."
        " Export it again, or run text recognition (OCR) over it.",
        ja="この PDF のフォントには文字コードの対応表がなく、文字を取り出せません。書き出し直すか、文字認識 (OCR) を"
        "行ってください。",
    ),
    "encrypted": Text(
        en="The file is encrypted or protected by a password. Save it without protection and add that.",
        ja="ファイルが暗号化されているか、パスワードで保護されています。保護を外して保存してから追加してください。",
    ),
    "corrupt": Text(
        en="The file is damaged or incomplete: it cannot be read as {kind}.",
        ja="ファイルが壊れているか不完全なため、{kind} として読み込めません。",
    ),
    "json": Text(en="Not valid JSON (line {line}).", ja="JSON として正しくありません（{line} 行目）。"),
    "encoding": Text(
        en="The character encoding could not be recognised. Save the file as UTF-8.",
        ja="文字コードを判別できませんでした。UTF-8 で保存し直してください。",
    ),
    # how much it is
    "size": Text(en="The file is larger than {limit}.", ja="ファイルが {limit} を超えています。"),
    "text": Text(
        en="The file holds more than {limit} of text. Split it.",
        ja="文字の量が {limit} を超えています。ファイルを分割してください。",
    ),
    "pages": Text(
        en="The PDF has {pages} pages; at most {limit} are read. Split it.",
        ja="PDF が {pages} ページあります。読み込めるのは {limit} ページまでです。分割してください。",
    ),
    "rows": Text(
        en="The file has more than {limit} rows. Split it.",
        ja="行数が {limit} 行を超えています。ファイルを分割してください。",
    ),
    "depth": Text(
        en="The JSON is nested more than {limit} levels deep.",
        ja="JSON の入れ子が {limit} 段を超えています。",
    ),
    "line": Text(
        en="Line {line} is longer than {limit}.",
        ja="{line} 行目が {limit} を超えています。",
    ),
    # archives that would harm the reader
    "entries": Text(
        en="The file is packed from more than {limit} parts, which looks like an archive bomb.",
        ja="ファイルの内部構成が {limit} 個を超えており、圧縮爆弾の疑いがあるため読み込みません。",
    ),
    "part": Text(
        en="A part of the file holds more than {limit} of XML, or all parts more than {total}.",
        ja="ファイル内部の XML が大きすぎます（1 つにつき {limit}、合計 {total} まで）。",
    ),
    "ratio": Text(
        en="A part of the file is compressed more than {limit}-fold, which looks like an archive bomb.",
        ja="ファイルの一部が {limit} 倍を超えて圧縮されており、圧縮爆弾の疑いがあるため読み込みません。",
    ),
    "nested": Text(
        en="The file holds another archive inside, which is not opened.",
        ja="ファイルの中に別の圧縮ファイルが含まれているため、読み込みません。",
    ),
    "names": Text(
        en="The names of the parts inside the file are not safe (duplicate, absolute or leading outside).",
        ja="ファイル内部の名前が安全ではありません（重複、絶対パス、または外部を指すパス）。",
    ),
    "lying": Text(
        en="The parts inside the file overlap or are not as large as they claim; such a file is not opened.",
        ja="ファイル内部の領域が重なっているか、記載された大きさと一致しないため、読み込みません。",
    ),
    "entities": Text(
        en="The file defines XML entities, a known way to attack readers; such a file is not opened.",
        ja="ファイルに XML エンティティの定義が含まれています。攻撃に使われる手口のため、読み込みません。",
    ),
    # what went wrong
    "time": Text(
        en="Reading the file took too long and was stopped. Split it, or save it in a simpler form.",
        ja="読み込みに時間がかかりすぎたため中止しました。分割するか、より単純な形式で保存してください。",
    ),
    "memory": Text(
        en="Reading the file needs too much memory and was stopped. Split it, or save it in a simpler form.",
        ja="読み込みに必要なメモリーが多すぎるため中止しました。分割するか、より単純な形式で保存してください。",
    ),
    "crash": Text(
        en="The reader stopped unexpectedly on this file; it may be damaged. Export it again.",
        ja="このファイルの読み込み中に処理が異常終了しました。ファイルが壊れている可能性があります。書き出し直してください。",
    ),
}
