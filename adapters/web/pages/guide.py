"""How the bot works, how knowledge flows through it, who may read what, and what this very installation consists of.

Source: seeds/0_agent_rag.md §3 and §6.1; product.md §2-§5.
"""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from urllib.parse import parse_qs, urlsplit

from nicegui import ui
from starlette.requests import Request

from adapters.markdown.events import LABELS
from adapters.web.pages.shared import components
from adapters.web.pages.shared.layout import Page
from adapters.web.visitor import Site, Visitor
from agent.events import Drafted, Reflected, Thought, ToolCalled, ToolReturned
from retrieval.i18n import Text

Pair = tuple[Text, Text]

_TITLE = Text(en="Guide", ja="ガイド")

_ANSWER = Text(en="How an answer comes about", ja="回答ができるまで")
_ANSWER_STEPS: Sequence[Pair] = (
    (
        Text(en="❓ Question", ja="❓ 質問"),
        Text(en="Somebody mentions the bot in a channel.", ja="チャンネルでボットにメンションします。"),
    ),
    (
        LABELS[Thought],
        Text(en="What is needed, and which collection has it?", ja="何が必要か、どのコレクションにあるかを考えます。"),
    ),
    (
        LABELS[ToolCalled],
        Text(en="A search in words and in meaning at once.", ja="語句と意味の両方で検索します。"),
    ),
    (
        LABELS[ToolReturned],
        Text(
            en="Passages with their relevance; if they are not enough, it thinks again.",
            ja="該当箇所と関連度です。足りなければ考え直します。",
        ),
    ),
    (
        LABELS[Drafted],
        Text(
            en="An answer from those passages, not shown yet.",
            ja="見つかった該当箇所から回答を書きます。まだ表示しません。",
        ),
    ),
    (
        LABELS[Reflected],
        Text(
            en="Is every statement in the sources? Any that is not is marked or removed.",
            ja="すべての記述が出典にあるかを確かめ、ないものは明記するか削除します。",
        ),
    ),
    (
        Text(en="✅ Answer", ja="✅ 回答"),
        Text(
            en="In the thread, with sources; or an honest “not found”, which is recorded.",
            ja="出典を添えてスレッドで答えます。見つからなければ正直に伝え、記録します。",
        ),
    ),
)

_FLOW = Text(en="How knowledge flows", ja="ナレッジの流れ")
_FLOWS: Sequence[tuple[Text, Sequence[tuple[Text, str | None]]]] = (
    (
        Text(en="Documents", ja="文書"),
        (
            (Text(en="File, text, thread", ja="ファイル・テキスト・スレッド"), "/documents"),
            (Text(en="Markdown", ja="Markdown"), None),
            (Text(en="Chunks with headings", ja="見出し付きのチャンク"), "/documents"),
            (Text(en="Vectors: meaning, words, characters", ja="ベクトル（意味・単語・文字）"), None),
            (Text(en="Search", ja="検索"), "/search"),
        ),
    ),
    (
        Text(en="Datasets", ja="データセット"),
        (
            (Text(en="Wikipedia, news, your own files", ja="Wikipedia・ニュース・手元のファイル"), "/datasets"),
            (Text(en="Cleaning and limits", ja="前処理と件数の上限"), "/datasets"),
            (Text(en="Documents", ja="文書"), "/documents"),
        ),
    ),
    (
        Text(en="Q/A pairs", ja="Q/A ペア"),
        (
            (Text(en="Chunks", ja="チャンク"), "/documents"),
            (Text(en="A language model writes pairs", ja="言語モデルがペアを作成"), "/pairs"),
            (Text(en="Review", ja="確認"), "/pairs"),
            (Text(en="Search", ja="検索"), "/search"),
        ),
    ),
    (
        Text(en="Unanswered questions", ja="未回答の質問"),
        (
            (Text(en="Not found, unsure answer, 👎", ja="情報なし・確信度の低い回答・👎"), "/unanswered"),
            (Text(en="Weekly digest", ja="週次ダイジェスト"), "/unanswered"),
            (Text(en="An expert answers", ja="詳しい人が回答"), "/unanswered"),
            (Text(en="Q/A pair; the askers are told", ja="Q/A ペアになり、質問者に通知"), None),
        ),
    ),
)

_READ = Text(en="Who may read what", ja="誰が何を読めるか")
_SCOPE, _GIVEN, _READERS = (
    Text(en="Scope", ja="公開範囲"),
    Text(en="Set for documents added in", ja="自動で設定される場所"),
    Text(en="Used in answers in", ja="回答に使われる場所"),
)
_SCOPES: Sequence[tuple[str, Text, Text]] = (
    (
        "everyone",
        Text(en="none; only an editor can choose it", ja="なし（編集者だけが選択できます）"),
        Text(en="everywhere, also where outsiders read along", ja="社外の人が読める場所を含むすべての場所"),
    ),
    (
        "team",
        Text(en="public channels, the terminal, the API", ja="公開チャンネル、ターミナル、API"),
        Text(en="all places that only the team reads", ja="チームだけが読むすべての場所"),
    ),
    (
        "place:…",
        Text(en="a private channel or a direct message", ja="非公開チャンネル、ダイレクトメッセージ"),
        Text(en="that place alone", ja="その場所だけ"),
    ),
)

_HERE = Text(en="This installation", ja="この環境の構成")
_NEEDS_KEY = Text(
    en="quotes sentences of the documents; set GEMINI_API_KEY for a language model",
    ja="文書の文を引用して答えます。言語モデルを使うには GEMINI_API_KEY を設定します",
)
_EMBEDDED = Text(en="embedded, in {home}", ja="組み込み（{home}）")
_SERVER = Text(en="server {host}", ja="サーバー {host}")
_CONNECTED = Text(en="connected", ja="接続中")
_DISCONNECTED = Text(en="not connected", ja="未接続")
_NO_PLATFORM = Text(
    en="Slack and Discord are not set up: kotae setup slack, kotae setup discord",
    ja="Slack と Discord は未設定です（kotae setup slack、kotae setup discord）",
)
_DIGEST_NEXT = Text(
    en="{cron} in {zone}, next on {at} ({here}), to {channel}",
    ja="{cron}（{zone}）、次回 {at}（{here}）、投稿先 {channel}",
)
_NO_CHANNEL = Text(en="the room “general” in the browser", ja="ブラウザーの「全体」")
_HOLDS = Text(
    en="{documents} document{documents:|s}, {chunks} chunk{chunks:|s}", ja="文書 {documents} 件、チャンク {chunks} 件"
)
_FOLDERS = ("documents", "vectors", "uploads", "logs/agent_chat.log")
_IN_DATABASE = ("documents", "uploads")  # where it is on a server
_PROGRAMS = Text(en="For programs", ja="プログラム向け")
_COMMANDS = Text(en="Commands", ja="コマンド")
_COMMAND_TEXTS: Sequence[tuple[str, Text]] = (
    (
        "kotae setup slack · discord · gemini",
        Text(en="connect a platform or a model", ja="プラットフォームやモデルの設定"),
    ),
    ("kotae doctor", Text(en="says what is wrong and what to do", ja="問題と対処方法を表示")),
    (
        "kotae ingest DIR",
        Text(
            en="adds files and folders; --prune forgets what is gone",
            ja="ファイルやフォルダーを追加（--prune で、なくなった文書を削除）",
        ),
    ),
    (
        "kotae evaluate DIR",
        Text(en="measures the search on questions with known answers", ja="正解のある質問で検索の品質を測定"),
    ),
    ("@kotae …", Text(en="asks, in any channel", ja="チャンネルで質問")),
    ("/kotae help", Text(en="all commands in a channel", ja="チャンネルで使えるコマンド")),
    (
        "/ingest",
        Text(
            en="adds a file, a text or a thread from a channel", ja="チャンネルからファイル・テキスト・スレッドを追加"
        ),
    ),
)


async def _build(site: Site, who: Visitor, request: Request) -> None:
    language = who.language
    components.heading(_ANSWER.to(language))
    with ui.element("ol").classes("kotae-steps"):
        for name, what in _ANSWER_STEPS:
            with ui.element("li"):
                ui.label(name.to(language)).classes("text-weight-bold")
                ui.label(what.to(language)).classes("kotae-quiet")
    components.heading(_FLOW.to(language))
    for name, stations in _FLOWS:
        with ui.row().classes("kotae-flow"):
            ui.label(name.to(language)).classes("text-weight-bold")
            for number, (text, target) in enumerate(stations):
                if number:
                    ui.label("→").props("aria-hidden=true")
                if target is None:
                    ui.label(text.to(language)).classes("kotae-station")
                else:
                    ui.link(text.to(language), target).classes("kotae-station")
    components.heading(_READ.to(language))
    with components.table(*(said.to(language) for said in (_SCOPE, _GIVEN, _READERS))):
        for scope, given, read_by in _SCOPES:
            components.row(scope, given.to(language), read_by.to(language))
    components.heading(_HERE.to(language))
    with ui.element("dl").classes("kotae-facts"):
        for name, value in await _facts(site, who):
            with ui.element("dt"):
                ui.label(name.to(language))
            with ui.element("dd"):
                ui.label(value)
    components.heading(_PROGRAMS.to(language))
    with ui.row():
        for path in ("/openapi.json", "/readyz", "/metrics"):
            ui.link(path, f"..{path}", new_tab=True)
    components.heading(_COMMANDS.to(language))
    with ui.element("dl").classes("kotae-facts"):
        for command, what in _COMMAND_TEXTS:
            with ui.element("dt"):
                ui.label(command).classes("kotae-code")
            with ui.element("dd"):
                ui.label(what.to(language))


async def _facts(site: Site, who: Visitor) -> list[tuple[Text, str]]:
    """Facts about what is running here and on what, without secrets: of an address only its host."""
    app, settings, language = site.app, site.app.settings, who.language
    model = settings.model_id
    if model == "extractive":
        model += f" – {_NEEDS_KEY.to(language)}"
    store = settings.qdrant_url
    infos = await app.knowledge.collections(who.readers)
    schedule = await asyncio.to_thread(app.schedule.next, datetime.now(UTC))
    due = schedule.astimezone(who.zone)
    channel = settings.digest_channel or (_NO_CHANNEL.to(language) if not settings.platforms else "–")
    here = _EMBEDDED.to(language, home=str(settings.home))
    facts = [
        (Text(en="Version", ja="バージョン"), version("kotae")),
        (Text(en="Model", ja="モデル"), model),
        (Text(en="Strategy", ja="戦略"), settings.strategy),
        (Text(en="Embedder", ja="埋め込みモデル"), f"{app.embedder.name} ({app.embedder.dimensions})"),
        (
            Text(en="Vector store", ja="ベクトルストア"),
            here if store is None else "Qdrant, " + _SERVER.to(language, host=_host(store)),
        ),
        (
            Text(en="Database", ja="データベース"),
            f"SQLite · {here}"
            if settings.database is None
            else f"{urlsplit(settings.database_url).scheme.split('+')[0]}, "
            + _SERVER.to(language, host=_host(settings.database_url)),
        ),
        (
            Text(en="Folders", ja="フォルダー"),
            "  ".join(
                f"{settings.home / each}" for each in _FOLDERS if not settings.shared or each not in _IN_DATABASE
            ),
        ),
        (
            Text(en="Documents", ja="文書"),
            _HOLDS.to(language, documents=sum(i.documents for i in infos), chunks=sum(i.chunks for i in infos)),
        ),
        (
            Text(en="Digest", ja="ダイジェスト"),
            _DIGEST_NEXT.to(
                language,
                cron=settings.digest_cron,
                zone=settings.timezone_name,
                at=f"{due:{components.MINUTE}}",
                here=who.zone,
                channel=channel,
            ),
        ),
    ]
    for name, there in site.platforms().items():
        facts.append((Text(en=name, ja=name), (_CONNECTED if there else _DISCONNECTED).to(language)))
    if not settings.platforms:
        facts.append((Text(en="Platforms", ja="プラットフォーム"), _NO_PLATFORM.to(language)))
    return facts


def _host(address: str) -> str:
    parts = urlsplit(address)
    return parts.hostname or ", ".join(parse_qs(parts.query).get("host", "–"))


PAGE = Page("/guide", _TITLE, "menu_book", _build)
