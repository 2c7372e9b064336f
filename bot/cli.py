"""The `kotae` command. Each command opens what it needs, does one thing and says how it went by its exit status."""

import asyncio
import errno
import json
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot import listing
from bot.frame import (
    ANSWERED,
    FAILED,
    INTERRUPTED,
    LANGUAGE,
    UNANSWERED,
    USAGE,
    complain,
    finish,
    readable,
    settings_or_exit,
    with_application,
    with_database,
)
from bot.frame import words as _
from bot.messages import Upload, Verdict
from retrieval.types import TEAM, Mode

if TYPE_CHECKING:  # what is heavy is imported by the commands that need it
    from bot.app import Application
    from bot.database import Database


cli = typer.Typer(
    name="kotae",
    help=_(
        "A knowledge bot for team channels: it searches your documents and answers with sources.",
        "チームのチャンネルのためのナレッジボットです。文書を検索し、出典を添えて答えます。",
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

AsJson = Annotated[
    bool, typer.Option("--json", help=_("Print JSON for programs.", "プログラム向けに JSON で出力します。"))
]
InCollections = Annotated[
    list[str] | None,
    typer.Option(
        "--collection", help=_("Search only here; may be repeated.", "検索するコレクションです。複数指定できます。")
    ),
]
InCollection = Annotated[str | None, typer.Option("--collection", help=_("The collection.", "コレクションです。"))]


# -- conversation ---------------------------------------------------------------------------------------------------


@cli.command(
    help=_("Run the bot on the platforms that are set up.", "設定されたプラットフォームでボットを動かします。")
)
def run() -> None:
    settings = settings_or_exit()
    complain(
        _(
            "No platform is set up yet, so there is nothing to run. Try the bot in this terminal with: kotae chat\n"
            "For a team channel set SLACK_BOT_TOKEN and SLACK_APP_TOKEN, or DISCORD_TOKEN, in .env (see .env.example).",
            "まだプラットフォームが設定されていないため、動かすものがありません。この端末で試すには: kotae chat\n"
            "チームのチャンネルで使うには、.env に SLACK_BOT_TOKEN と SLACK_APP_TOKEN、または DISCORD_TOKEN を設定してください"
            "（.env.example を参照）。",
        )
        if not settings.platforms
        else _(
            "This version cannot connect to {names} yet. Use kotae chat in the terminal.",
            "このバージョンはまだ {names} に接続できません。端末で kotae chat をお使いください。",
        ).format(names=", ".join(settings.platforms)),
        USAGE,
    )


@cli.command(help=_("Talk with the bot in this terminal.", "この端末でボットと会話します。"))
def chat(as_json: AsJson = False) -> None:
    from adapters.console import Channel

    async def work(app: "Application") -> int:
        quiet = as_json or not (sys.stdin.isatty() and sys.stdout.isatty())
        if await app.wants_sample():
            with listing.progress(quiet=as_json) as show:
                await app.add_sample(
                    lambda done, total: show(_("Adding a sample handbook", "サンプル資料を追加"), done, total)
                )
        if not quiet:
            listing.banner(app.settings, await app.knowledge.collections(app.readers), LANGUAGE)
        return await Channel(app.settings, as_json=as_json).run(app.desk)

    with_application(work)


@cli.command(help=_("Ask one question and watch the steps.", "質問をひとつして、考える過程を見ます。"))
def ask(
    question: Annotated[str, typer.Argument(help=_("The question.", "質問です。"))],
    as_json: AsJson = False,
    model: Annotated[
        str | None, typer.Option(help=_("Another model for this question.", "この質問に使うモデルです。"))
    ] = None,
    strategy: Annotated[
        str | None, typer.Option(help=_("Another strategy: react.", "この質問の戦略です: react"))
    ] = None,
    collections: InCollections = None,
) -> None:
    from adapters.console import ask_once

    if not question.strip():
        complain(_("The question is empty.", "質問が空です。"), USAGE)

    async def work(app: "Application") -> int:
        where = tuple(map(readable, collections)) if collections else None
        await app.check(model, strategy, where)
        outcome = await ask_once(
            app.desk,
            question,
            app.settings,
            as_json=as_json,
            model=model,
            strategy=strategy,
            collections=where,
        )
        return {"answered": ANSWERED, "unknown": UNANSWERED, "declined": UNANSWERED}.get(outcome, FAILED)

    with_application(work)


# -- documents ------------------------------------------------------------------------------------------------------


@cli.command(help=_("Add files and folders.", "ファイルやフォルダーを追加します。"))
def ingest(
    paths: Annotated[list[Path], typer.Argument(help=_("Files and folders.", "ファイルやフォルダーです。"))],
    collection: InCollection = None,
    scope: Annotated[
        str, typer.Option(help=_("Who may read it: team, everyone, place:…", "読める範囲です: team, everyone, place:…"))
    ] = TEAM,
    as_json: AsJson = False,
) -> None:
    from bot.access import valid_scope

    if not valid_scope(scope):
        complain(
            _(
                f"--scope should be team, everyone or place:PLATFORM:WORKSPACE:CHANNEL, not “{scope}”.",
                f"--scope は team、everyone、place:プラットフォーム:ワークスペース:チャンネル のどれかにしてください（「{scope}」ではなく）。",
            ),
            USAGE,
        )
    files = list(_files(paths))
    if not files:
        complain(_("There are no files.", "ファイルがありません。"), FAILED)

    async def work(app: "Application") -> int:
        read = 0
        with listing.progress(quiet=as_json) as show:
            for number, (path, name) in enumerate(files):
                show(name, number, len(files))
                verdict = await _add(app, path, name, collection or app.settings.default_collection, scope)
                read += verdict.status != "refused"
                if as_json:
                    listing.print_json(verdict.as_json())
                else:
                    listing.verdict(verdict, LANGUAGE)
        return ANSWERED if read else FAILED

    with_application(work)


async def _add(app: "Application", path: Path, name: str, collection: str, scope: str) -> Verdict:
    from retrieval.loaders import Limits

    def read() -> bytes:
        if path.exists() and not path.is_file():
            raise OSError(errno.EINVAL, _("it is not a file", "ファイルではありません"))
        with path.open("rb") as file:
            return file.read(Limits().file + 1)  # the loader refuses what is longer

    try:
        data = await asyncio.to_thread(read)
    except OSError as error:
        reason = _("The file cannot be opened: {why}.", "ファイルを開けません: {why}").format(why=error.strerror)
        return Verdict(name, "refused", collection, reason=reason)
    return await app.knowledge.add(Upload(name, data, collection, scope, author="terminal"), LANGUAGE)


def _files(paths: list[Path]) -> list[tuple[Path, str]]:
    """Each file with the name people will know it by: its path below the folder that was given."""
    found: list[tuple[Path, str]] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(one for one in path.rglob("*") if one.is_file() and not _hidden(one.relative_to(path)))
            found += [(one, readable(one.relative_to(path).as_posix())) for one in inside]
        else:
            found.append((path, readable(path.name or str(path))))
    return found


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


@cli.command(help=_("Search the documents.", "文書を検索します。"))
def search(
    query: Annotated[str, typer.Argument(help=_("What to look for.", "探すことばです。"))],
    collections: InCollections = None,
    mode: Annotated[str, typer.Option(help="hybrid | dense | sparse")] = "hybrid",
    limit: Annotated[int, typer.Option(min=1, max=100, help=_("At most so many.", "最大の件数です。"))] = 10,
    as_json: AsJson = False,
) -> None:
    if mode not in ("hybrid", "dense", "sparse"):
        complain(
            _("--mode should be hybrid, dense or sparse.", "--mode は hybrid、dense、sparse のどれかにしてください。"),
            USAGE,
        )

    async def work(app: "Application") -> int:
        chosen: Mode = mode  # type: ignore[assignment]  # one of the three: checked above
        where = tuple(map(readable, collections)) if collections else None
        await app.knowledge.check(where, app.readers, LANGUAGE)
        found = await app.knowledge.search(readable(query), app.readers, where, mode=chosen, limit=limit)
        if as_json:
            listing.print_json(listing.search_json(found))
        else:
            listing.search(found, LANGUAGE)
        return ANSWERED

    with_application(work)


@cli.command(help=_("List the documents.", "文書の一覧を表示します。"))
def documents(collection: InCollection = None, as_json: AsJson = False) -> None:
    async def work(data: "Database") -> int:
        if collection:
            await data.collections.require((readable(collection),), data.readers, LANGUAGE)
        rows = await data.documents.listed(data.readers, collection=collection)
        if as_json:
            listing.print_json(listing.documents_json(rows))
        else:
            listing.documents(rows, LANGUAGE)
        return ANSWERED

    with_database(work)


@cli.command(help=_("Forget documents, by name or id.", "名前または ID で文書を削除します。"))
def forget(
    names: Annotated[list[str], typer.Argument(help=_("Names or ids.", "名前または ID です。"))],
    collection: InCollection = None,
    as_json: AsJson = False,
) -> None:
    async def work(app: "Application") -> int:
        await app.knowledge.check((readable(collection),) if collection else None, app.readers, LANGUAGE)
        rows = await app.knowledge.documents(app.readers, readable(collection) if collection else None)
        status = ANSWERED
        for name in names:
            name = readable(name)
            matching = [row for row in rows if name in (row.id, row.name)]
            if not matching and len(name) >= listing.SHORT_ID:
                matching = [row for row in rows if row.id.startswith(name)]
            if not matching:
                status = FAILED
            for row in matching:
                await app.knowledge.forget(row.id)
            if as_json:
                listing.print_json({"name": name, "forgotten": [row.id for row in matching]})
            elif matching:
                for row in matching:
                    said = _("Forgotten: {name} ({collection})", "削除しました: {name}（{collection}）")
                    listing.say(said.format(name=row.name, collection=row.collection))
            else:
                listing.warn(_("There is no document “{name}”.", "文書「{name}」はありません。").format(name=name))
        return status

    with_application(work)


collections_cli = typer.Typer(
    invoke_without_command=True, help=_("List and change collections.", "コレクションの一覧と変更です。")
)
cli.add_typer(collections_cli, name="collections")


@collections_cli.callback()
def collections(context: typer.Context, as_json: AsJson = False) -> None:
    if context.invoked_subcommand:
        return

    async def work(data: "Database") -> int:
        infos = await data.collections.listed(data.readers)
        if as_json:
            listing.print_json(listing.collections_json(infos))
        else:
            listing.collections(infos, LANGUAGE)
        return ANSWERED

    with_database(work)


@collections_cli.command(
    help=_("Make a collection or change its description.", "コレクションを作るか、説明を変えます。")
)
def describe(name: str, description: str) -> None:
    async def work(app: "Application") -> int:
        await app.knowledge.describe(readable(name), readable(description))
        return ANSWERED

    with_application(work)


@collections_cli.command(
    help=_("Move all documents into another collection.", "すべての文書を別のコレクションに移します。")
)
def merge(source: str, into: str) -> None:
    async def work(app: "Application") -> int:
        moved = await app.knowledge.merge(readable(source), readable(into), app.readers, LANGUAGE)
        listing.say(_("{n} documents moved.", "{n} 件の文書を移しました。").format(n=moved))
        return ANSWERED

    with_application(work)


@collections_cli.command(help=_("Forget a collection and all its documents.", "コレクションをその文書ごと削除します。"))
def delete(name: str) -> None:
    async def work(app: "Application") -> int:
        gone = await app.knowledge.drop_collection(readable(name), app.readers, LANGUAGE)
        listing.say(_("{n} documents forgotten.", "{n} 件の文書を削除しました。").format(n=gone))
        return ANSWERED

    with_application(work)


# -- how it goes ----------------------------------------------------------------------------------------------------


@cli.command(help=_("List the questions nobody could answer yet.", "まだ答えられていない質問の一覧です。"))
def unanswered(as_json: AsJson = False) -> None:
    async def work(data: "Database") -> int:
        misses = await data.questions.open(data.readers.scopes)
        if as_json:
            listing.print_json(listing.unanswered_json(misses))
        else:
            listing.unanswered(misses, LANGUAGE)
        return ANSWERED

    with_database(work)


@cli.command(help=_("Measurements of searches and answers.", "検索と回答の計測値です。"))
def metrics(
    as_json: AsJson = False,
    export: Annotated[
        Path | None,
        typer.Option(help=_("Write every search as JSON lines.", "検索ごとの計測値を JSON Lines で書き出します。")),
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help=_("Forget the measurements.", "計測値を消します。"))] = False,
) -> None:
    async def work(data: "Database") -> int:
        if export:
            rows = await data.searches.listed(data.readers.scopes)
            lines = "".join(json.dumps(listing.search_metrics_json(row), ensure_ascii=False) + "\n" for row in rows)
            await asyncio.to_thread(export.write_text, lines, encoding="utf-8")
        summary = await data.summary()
        if as_json:
            listing.print_json(listing.metrics_json(summary))
        else:
            listing.metrics(summary, LANGUAGE)
        if clear:
            await data.searches.clear()
        return ANSWERED

    with_database(work)


@cli.command(
    help=_(
        "Score the search on questions with known answers (BEIR layout).",
        "答えのわかっている質問で検索を採点します（BEIR 形式）。",
    )
)
def evaluate(
    folder: Annotated[
        Path,
        typer.Argument(
            help=_(
                "corpus.jsonl, queries.jsonl, qrels/test.tsv",
                "corpus.jsonl、queries.jsonl、qrels/test.tsv のフォルダーです。",
            )
        ),
    ],
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, help=_("Only so many queries, spread over the file.", "ファイル全体から選ぶ質問の数です。")
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    from bot.app import make_embedder, min_relevance
    from bot.evaluate import EvaluationError
    from bot.evaluate import evaluate as score
    from bot.logs import set_up

    settings = settings_or_exit()

    async def main() -> int:
        set_up(settings.log_level or "WARNING", secrets=settings.secrets())
        async with AsyncExitStack() as stack:
            progress = stack.enter_context(listing.progress(quiet=as_json))
            report = await score(
                folder,
                await make_embedder(settings, stack),
                limit=limit,
                fusion=settings.fusion,
                hits=settings.search_limit,
                min_relevance=min_relevance(settings),
                max_chars=settings.chunk_size,
                language=LANGUAGE,
                progress=progress,
            )
        if as_json:
            listing.print_json(report.as_json())
        else:
            listing.table(("", ""), report.rows(LANGUAGE), wide=1)
        return ANSWERED

    try:
        finish(main)
    except EvaluationError as error:
        complain(error.text(LANGUAGE), USAGE)


@cli.command(help=_("Bring the database to this version.", "データベースをこのバージョンに更新します。"))
def migrate() -> None:
    from bot.logs import set_up
    from migrations import upgrade

    settings = settings_or_exit()

    async def main() -> int:
        set_up(settings.log_level or "WARNING", secrets=settings.secrets())
        settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        done = await asyncio.to_thread(upgrade, settings.database_url)
        if done.before == done.after:
            listing.say(
                _("The database is up to date ({to}).", "データベースは最新です（{to}）。").format(to=done.after)
            )
        else:
            listing.say(_("The database is now at {to}.", "データベースを {to} に更新しました。").format(to=done.after))
        if done.backup:
            listing.say(_("A copy from before: {path}", "更新前のコピー: {path}").format(path=done.backup))
        return ANSWERED

    finish(main)


def main() -> None:
    """The command; never ends in a traceback for what is outside of it."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without emoji or kana gets `?`
    try:
        cli(prog_name="kotae")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
