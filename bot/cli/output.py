"""Output of the terminal: lists, verdicts and figures from their JSON (`bot/views.py`), progress and warnings."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from agent.segmentation import in_one_line
from bot.config.settings import Settings
from bot.records import SHORT_ID
from bot.texts import MANY_GONE, REASONS, SYNCED, TURN_OUTCOMES, if_meant
from bot.views import Json
from retrieval.i18n import Language, Text
from retrieval.types import CollectionInfo

_EXCERPT = 160


def say(text: str) -> None:
    print(text, flush=True)


def warn(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def banner(settings: Settings, collections: Sequence[CollectionInfo], language: Language) -> None:
    """The version, the model and the stores that are running here, in a few lines."""
    ja = language == "ja"
    model = settings.model_id
    if model == "extractive":
        model += (
            "（キー不要。GEMINI_API_KEY を設定すると言語モデルが答えます）"
            if ja
            else " (no key needed; set GEMINI_API_KEY for a language model)"
        )
    held = ", ".join(f"{info.name} ({info.documents})" for info in collections) or "–"
    say(f"{'ホーム' if ja else 'Home'}: {settings.home}")
    say(f"{'モデル' if ja else 'Model'}: {model}")
    say(f"{'文書' if ja else 'Documents'}: {held}")


def print_json(value: object) -> None:
    """One line; escaped where standard output is not UTF-8."""
    escaped = (sys.stdout.encoding or "ascii").lower().replace("-", "") != "utf8"
    print(json.dumps(value, ensure_ascii=escaped), flush=True)


@contextmanager
def progress(*, quiet: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """`show(what, done, total)`: a bar on a terminal's standard error; what is printed meanwhile stays above it."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        console=console,
        disable=quiet or not console.is_terminal,
        transient=True,
        redirect_stdout=sys.stdout.isatty(),
    ) as bar:
        task = bar.add_task("", total=None)
        yield lambda what, done, total: bar.update(task, description=what, completed=done, total=total)


def open_streams() -> None:
    """Standard streams that came closed lead nowhere. Else the first file that is opened takes their number: the
    database would be what a library prints into."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    sys.stdin = sys.stdin or os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8", closefd=False)


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, wide: int = 0) -> None:
    """A table on standard output; plain lines with tabs where that is not a terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text as RichText

    console = Console()
    if not console.is_terminal:
        for row in rows:
            print("\t".join(cell.replace("\t", " ").replace("\n", " ") for cell in row))
        return
    drawn = Table(box=None, pad_edge=False, header_style="bold")
    for number, heading in enumerate(headings):
        drawn.add_column(heading, overflow="fold", ratio=1 if number == wide else None)
    for row in rows:
        drawn.add_row(*(RichText(cell) for cell in row))  # document text is no markup
    console.print(drawn)


def _list(
    rows: Sequence[Sequence[str]], headings: Text, language: Language, *, wide: int = 0, none: Text | None = None
) -> None:
    """A table; `none` where nothing is in it."""
    if rows or none is None:
        table(headings.to(language).split(","), rows, wide=wide)
    else:
        say(none.to(language))


def _cells(row: Json, names: str) -> list[str]:
    return [str(row[name]) for name in names.split()]


def _moment(at: str) -> str:
    """A moment in ISO form on this machine's clock, to the minute."""
    return datetime.fromisoformat(at).astimezone().strftime("%Y-%m-%d %H:%M")


# -- documents ------------------------------------------------------------------------------------------------------

_STATUS = {
    "added": Text(en="added", ja="追加"),
    "replaced": Text(en="replaced", ja="更新"),
    "unchanged": Text(en="unchanged", ja="変更なし"),
    "refused": Text(en="refused", ja="追加不可"),
}
_GONE = {False: Text(en="gone", ja="フォルダーになし"), True: Text(en="forgotten", ja="削除")}
_CHUNKS = Text(en="{n} chunk{n:|s}", ja="{n} チャンク")


def verdict(one: Json, language: Language) -> None:
    """`messages.Verdict` as JSON."""
    detail = one["reason"] if one["status"] == "refused" else _CHUNKS.to(language, n=one["chunks"])
    say(f"{_STATUS[one['status']].to(language)}  {one['name']}  —  {detail}")


def gone(one: Json, language: Language, *, forgotten: bool) -> None:
    say(f"{_GONE[forgotten].to(language)}  {one['name']}  —  {one['collection']}")


_NO_DOCUMENTS = Text(
    en="No documents yet. Add some with: kotae ingest PATH",
    ja="まだ文書がありません。追加するには: kotae ingest パス",
)
_DOCUMENT_ROW = Text(
    en="collection,name,chunks,scope,added,date,id", ja="コレクション,名前,チャンク,範囲,登録日,日付,ID"
)
_COLLECTION_ROW = Text(en="name,documents,chunks,languages,description", ja="名前,文書,チャンク,言語,説明")


def documents(found: Json, language: Language) -> None:
    rows = [
        (
            *_cells(row, "collection name chunks scope"),
            _moment(row["updated_at"]).split()[0],
            row["date"] or "",
            row["id"][:SHORT_ID],
        )
        for row in found["documents"]
    ]
    _list(rows, _DOCUMENT_ROW, language, wide=1, none=_NO_DOCUMENTS)


def collections(found: Json, language: Language) -> None:
    rows = [
        (*_cells(info, "name documents chunks"), " ".join(info["languages"]), info["description"])
        for info in found["collections"]
    ]
    _list(rows, _COLLECTION_ROW, language, wide=4)


# -- sources --------------------------------------------------------------------------------------------------------

_NO_SOURCES = Text(
    en="Nothing is followed yet. Follow a folder or a repository with: kotae source add folder PATH",
    ja="同期元はまだありません。追加するには: kotae source add folder パス",
)
_SOURCE_ROW = Text(en="name,kind,collection,pages,last checked,state", ja="名前,種類,コレクション,ページ,最終確認,状態")
_SOURCE_STATES = {
    "on": Text(en="on", ja="同期中"),
    "paused": Text(en="paused", ja="一時停止"),
    "asks": Text(
        en="{gone} page{gone: is|s are} gone: kotae source resume NAME --forget or --keep",
        ja="{gone} ページがなくなりました: kotae source resume 名前 に --forget か --keep を付けてください",
    ),
}
_CHANNEL_ASKS = Text(
    en="{gone} thread{gone: is|s are} gone: kotae source resume NAME --forget",
    ja="{gone} 件のスレッドがなくなりました: kotae source resume 名前 に --forget を付けてください",
)


def sources(found: Json, language: Language) -> None:
    """The list; under it why pages are no documents, and why a source could not be seen."""
    rows, notes = [], []
    for one in found["sources"]:
        asks_a_channel = (one["state"], one["kind"]) == ("asks", "channel")
        state = (_CHANNEL_ASKS if asks_a_channel else _SOURCE_STATES[one["state"]]).to(language, gone=one["gone"])
        checked = _moment(one["checked_at"]) if one["checked_at"] else "–"
        rows.append((*_cells(one, "name kind collection pages"), checked, state))
        notes += [f"{one['name']}: {one['trouble']}"] if one["trouble"] else []
        notes += [f"{one['name']}/{page['page']}: {page['reason']}" for page in one["refused"]]
    _list(rows, _SOURCE_ROW, language, wide=5, none=_NO_SOURCES)
    for note in notes:
        say(note)


def synced(report: Json, language: Language) -> None:
    say(SYNCED.to(language, **{name: value for name, value in report.items() if not isinstance(value, list)}))
    for page in (*report["refused"], *report["failed"]):
        say(f"{page['page']}  —  {page['reason']}")
    if report["gone"]:
        for words in (MANY_GONE, if_meant(report["kind"])):
            say(words.to(language, gone=report["gone"], name=report["name"]))


_NO_TOKENS = Text(
    en="There are no tokens. Make one with: kotae token add NAME",
    ja="トークンはありません。発行するには: kotae token add 名前",
)
_TOKEN_ROW = Text(
    en="name,reads,a minute,a day,last used,calls that day", ja="名前,範囲,1 分,1 日,最終利用日,その日の回数"
)


def tokens(found: Json, language: Language) -> None:
    rows = [
        (*_cells(one, "name audience per_minute per_day"), one["used_on"] or "–", str(one["calls"]))
        for one in found["tokens"]
    ]
    _list(rows, _TOKEN_ROW, language, none=_NO_TOKENS)


# -- search ---------------------------------------------------------------------------------------------------------


def search(found: Json, language: Language) -> None:
    if not found["results"]:
        say(Text(en="Nothing relevant was found.", ja="関連する情報は見つかりませんでした。").to(language))
    for number, hit in enumerate(found["results"], 1):
        where = " › ".join(filter(None, (hit["document"], *hit["headings"], hit["question"])))
        say(f"{number}. {hit['relevance']:.2f}  {where}  ({hit['collection']})")
        text = in_one_line(hit["text"])
        say(f"   {text[:_EXCERPT]}{'…' if len(text) > _EXCERPT else ''}")
    if found["rejected"]:
        rejected = Text(
            en="({n} more were not relevant enough; best {best:.2f})", ja="（ほか {n} 件は関連度不足、最高 {best:.2f}）"
        )
        best = max(hit["relevance"] for hit in found["rejected"])
        say(rejected.to(language, n=len(found["rejected"]), best=best))


# -- misses ---------------------------------------------------------------------------------------------------------


_ANSWER_ROW = Text(en="Question,Answer,By,ID", ja="質問,回答,回答者,ID")
_NO_ANSWERS = Text(en="No member has answered anything yet.", ja="メンバーの回答はまだありません。")
_EDITED_BY = Text(en="{author}, edited by {editor}", ja="{author}、編集 {editor}")


def answers(found: Json, language: Language) -> None:
    rows = []
    for one in found["answers"]:
        by = (
            _EDITED_BY.to(language, author=one["author"], editor=one["edited_by"])
            if one["edited_by"]
            else one["author"]
        )
        question = one["questions"][0] if one["questions"] else ""
        rows.append((question, one["answer"][:_EXCERPT], by, one["id"][:SHORT_ID]))
    _list(rows, _ANSWER_ROW, language, wide=1, none=_NO_ANSWERS)


def unanswered(misses: Json, language: Language) -> None:
    if not misses["total"]:
        say(Text(en="No open questions.", ja="未回答の質問はありません。").to(language))
        return
    rows = []
    for one in misses["questions"]:
        reason = REASONS[one["reason"]].to(language) + (f" ({one['detail']})" if one["detail"] else "")
        rows.append((_moment(one["asked_at"]), reason, one["question"], ", ".join(one["searched"])))
    _list(rows, Text(en="asked,reason,question,searched", ja="日時,理由,質問,検索先"), language, wide=2)
    if misses["hidden"]:
        hidden = Text(en="and {n} from private places", ja="ほかに非公開の場所で {n} 件")
        say(hidden.to(language, n=misses["hidden"]))


# -- measurements ---------------------------------------------------------------------------------------------------


def metrics(summary: Json, language: Language) -> None:
    turns, searches, votes, cost = summary["turns"], summary["searches"], summary["feedback"], summary["cost"]
    ja = language == "ja"
    named = {said.to(language): turns["outcomes"].get(name) for name, said in TURN_OUTCOMES.items()}
    outcomes = ("、" if ja else ", ").join(f"{name} {count}" for name, count in named.items() if count)
    rows = [
        ("回答" if ja else "answers", f"{turns['total']}" + (f" ({outcomes})" if outcomes else "")),
        (
            "回答時間 p50 / p95" if ja else "answer time p50 / p95",
            _pair(turns["p50_seconds"], turns["p95_seconds"], "s"),
        ),
        ("評価 👍 / 👎" if ja else "votes 👍 / 👎", f"{votes.get('up', 0)} / {votes.get('down', 0)}"),
        (
            "モデル呼び出し / 入力 / 出力トークン" if ja else "model calls / tokens in / out",
            f"{cost['calls']} / {cost['input_tokens']} / {cost['output_tokens'] + cost['thought_tokens']}",
        ),
        (
            "検索（該当なし / 失敗）" if ja else "searches (empty / failed)",
            f"{searches['total']} ({searches['empty']} / {searches['failed']})",
        ),
        ("検索時間 p50 / p95" if ja else "search time p50 / p95", _pair(searches["p50_ms"], searches["p95_ms"], "ms")),
    ]
    table(("", ""), rows, wide=1)


def _pair(first: float | None, second: float | None, unit: str) -> str:
    return "–" if first is None or second is None else f"{first:.1f} / {second:.1f} {unit}"


def drop_unprinted() -> None:
    """Let go of what standard output does not take, as on a full disk: Python's end would try it once more and print
    its own words about it."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
