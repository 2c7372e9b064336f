"""Why a dataset cannot be read, in words; what the hub or a file really said is chained and belongs in the log."""

from retrieval.i18n import Text
from retrieval.types import RAGToolError


class DatasetError(RAGToolError):
    """A dataset that cannot be read, or not now; `reason` says why, in words."""


UNREACHABLE = Text(
    en="The Hugging Face hub ({host}) could not be reached. Check the connection, or set HF_ENDPOINT in the "
    "environment to a mirror that this machine reaches.",
    ja="Hugging Face Hub（{host}）に接続できませんでした。接続を確認するか、環境変数 HF_ENDPOINT "
    "にこのマシンから届くミラーを設定してください。",
)
OFFLINE = Text(
    en="HF_HUB_OFFLINE is set, so the Hugging Face hub is not asked. Unset it to read datasets from there.",
    ja="HF_HUB_OFFLINE が設定されているため、Hugging Face Hub には接続しません。"
    "データセットを読み込むには設定を外してください。",
)
UNAVAILABLE = Text(
    en="The Hugging Face hub ({host}) has trouble at the moment (status {status}). Try again later.",
    ja="Hugging Face Hub（{host}）で障害が起きているようです（ステータス {status}）。"
    "しばらくしてからもう一度お試しください。",
)
CUT = Text(
    en="The connection to the hub ({host}) broke off again and again. What was added stays; start again to "
    "continue from there.",
    ja="Hub（{host}）との接続が何度も切れました。追加済みの文書は残っています。もう一度開始すると続きから再開します。",
)
BUSY = Text(
    en="The hub ({host}) asks to wait {seconds} seconds before the next request. Start again after that; with "
    "HF_TOKEN set in the environment it allows more.",
    ja="Hub（{host}）から、次のリクエストまで {seconds} 秒待つよう求められています。"
    "そのあとでもう一度開始してください。環境変数 HF_TOKEN を設定すると、"
    "より多くのリクエストが許可されます。",
)
MISSING = Text(
    en="There is no dataset “{repository}” on {host}, or it is private. If it is yours, set HF_TOKEN in the "
    "environment.",
    ja="「{repository}」というデータセットは {host} にないか、非公開です。自分のデータセットの場合は環境変数 HF_TOKEN "
    "を設定してください。",
)
GATED = Text(
    en="“{repository}” is gated: accept its conditions on https://huggingface.co/datasets/{repository}, then set "
    "HF_TOKEN in the environment to a token of that account.",
    ja="「{repository}」の利用には同意が必要です。https://huggingface.co/datasets/{repository} で条件に同意してから、"
    "そのアカウントのトークンを環境変数 HF_TOKEN に設定してください。",
)
DISABLED = Text(
    en="The hub has disabled the dataset “{repository}”.",
    ja="データセット「{repository}」は Hub 側で無効にされています。",
)
TOKEN = Text(
    en="The hub does not accept the token in HF_TOKEN. Make a new one at https://huggingface.co/settings/tokens, or "
    "unset it: public datasets need none.",
    ja="HF_TOKEN のトークンが Hub に受け付けられませんでした。https://huggingface.co/settings/tokens で作り直すか、"
    "設定を外してください（公開データセットには不要です）。",
)
DENIED = Text(
    en="The hub refuses access to “{repository}” (status {status}).",
    ja="Hub が「{repository}」へのアクセスを拒否しました（ステータス {status}）。",
)
NO_FILES = Text(
    en="“{repository}” has no Parquet files{where}, neither of its own nor converted by the hub, so it cannot be read "
    "row by row.",
    ja="「{repository}」{where}には Parquet ファイルがありません（Hub による変換もされていません）。そのため 1 "
    "行ずつ読み込めません。",
)
UNEXPECTED = Text(
    en="The answer of the hub ({host}) about “{repository}” cannot be understood. A mirror or proxy in "
    "between may be at fault.",
    ja="「{repository}」に対する Hub（{host}）の応答を解釈できませんでした。"
    "途中のミラーやプロキシが原因かもしれません。",
)
DAMAGED = Text(
    en="“{file}” is not a Parquet file that can be read; it may be damaged.",
    ja="「{file}」を Parquet ファイルとして読み込めません。壊れている可能性があります。",
)
NO_TEXT = Text(
    en="“{name}” has no column that holds text. Its columns: {columns}.",
    ja="「{name}」に本文の列が見つかりません。列: {columns}",
)
NO_COLUMN = Text(
    en="“{name}” has no column “{column}”. Its columns: {columns}.",
    ja="「{name}」に「{column}」という列はありません。列: {columns}",
)
LIBRARY = Text(
    en="Reading datasets needs the library arro3-io, which is not installed. Run: pip install arro3-io",
    ja="データセットの読み込みには arro3-io が必要ですが、インストールされていません。pip install arro3-io "
    "を実行してください。",
)

# -- local files ------------------------------------------------------------------------------------------------------

KIND = Text(
    en="“{name}” cannot be read row by row. Give a csv, tsv, txt, json or jsonl file.",
    ja="「{name}」は 1 行ずつ読み込めません。csv、tsv、txt、json、jsonl のいずれかにしてください。",
)
EMPTY = Text(en="There is nothing to read in “{name}”.", ja="「{name}」には読み取れる内容がありません。")
LARGE = Text(
    en="“{name}” is larger than {limit}. Split it and add the parts.",
    ja="「{name}」が上限の {limit} を超えています。分割して追加してください。",
)
ENCODING = Text(
    en="The character encoding of “{name}” could not be recognised. Save it as UTF-8 and try again.",
    ja="「{name}」の文字コードを判別できませんでした。UTF-8 で保存し直してもう一度お試しください。",
)
BROKEN = Text(
    en="“{name}” is not correct {kind} near line {line}.",
    ja="「{name}」の {line} 行目付近が正しい {kind} ではありません。",
)
LONG_ROW = Text(
    en="A row of “{name}” near line {line} is longer than {limit}.",
    ja="「{name}」の {line} 行目付近に、{limit} を超える行があります。",
)
NOT_ROWS = Text(
    en="“{name}” is not a list of records. A JSON file should hold a list of objects.",
    ja="「{name}」はレコードの一覧ではありません。JSON ファイルにはオブジェクトの配列を入れてください。",
)
GONE = Text(
    en="The file “{name}” can no longer be read: {why}.",
    ja="ファイル「{name}」を読み込めなくなりました: {why}",
)
