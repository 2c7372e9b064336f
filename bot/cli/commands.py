"""The `kotae` command. Each command opens what it needs, does one thing and says how it went by its exit status."""

import asyncio
import json
import logging
import os
import signal
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli import ingesting, maintenance, output, programs, sources
from bot.cli.help import Commands, obey
from bot.cli.runtime import (
    ANSWERED,
    CONFIG,
    FAILED,
    LANGUAGE,
    LATEST_SECONDS,
    UNANSWERED,
    USAGE,
    AsJson,
    InScope,
    as_owner,
    aside,
    complain,
    do,
    end_within,
    finish,
    log_to_stderr,
    path_of,
    settings_or_exit,
    show,
    with_database,
    with_home,
)
from bot.cli.runtime import words as _
from bot.config.settings import unknown_names
from retrieval.i18n import Text, readable
from retrieval.types import TEAM

if TYPE_CHECKING:  # what is heavy is imported by the commands that need it
    from adapters.port import Adapter
    from adapters.terminal.channel import Channel
    from bot.app import Application
    from bot.cli.operations import Operations, ReadOperations
    from bot.cli.remote import Owner
    from bot.config.settings import Settings
    from bot.doctor.findings import Finding, Remark


log = logging.getLogger(__name__)

BROWSER_ROOM = "web:general"  # has the digest where no platform is set up

cli = Commands(
    name="kotae",
    help=_(
        "A knowledge bot for team channels: it searches your documents and answers with sources.",
        "チームのチャンネルで質問に答えるナレッジボットです。文書を検索し、出典を添えて答えます。",
    ),
    no_args_is_help=True,
)

InCollections = Annotated[
    list[str] | None,
    typer.Option(
        "--collection",
        help=_("Search only this collection; may be repeated.", "検索するコレクションです。複数指定できます。"),
    ),
]
InCollection = Annotated[str | None, typer.Option("--collection", help=_("The collection.", "コレクションです。"))]


# -- conversation ---------------------------------------------------------------------------------------------------


@cli.command(
    help=_(
        "Run the bot: the platforms that are set up, the pages and a channel in the browser, and one in this terminal.",
        "ボットを動かします（設定済みのプラットフォーム、ブラウザーのページとチャンネル、このターミナルのチャンネル）。",
    )
)
def run(
    sample: Annotated[
        bool,
        typer.Option(
            "--sample",
            help=_(
                "Put a sample handbook into a home that nobody has used yet.",
                "まだ使われていないホームにサンプル資料を追加します。",
            ),
        ),
    ] = False,
) -> None:
    settings = settings_or_exit()
    from adapters.web.server.sockets import Address, listen

    address: Address | None = None

    def first() -> None:
        nonlocal address
        address = listen(settings.web_host, settings.web_port, token=settings.web_token, front=settings.web_url)
        _say_unknown()

    async def work(app: "Application") -> int:
        from adapters.runner import PeopleReach, announcing, connected, digest_target, posting
        from adapters.terminal.channel import Channel
        from adapters.web.channel.adapter import web_adapter
        from adapters.web.server.server import serving, until_stopped
        from bot.app import make_adapters

        assert address is not None  # `first` has run
        others, webhooks = make_adapters(settings)
        web = web_adapter(app, address.links(shared=bool(others)))
        adapters = [*others, web]
        async with AsyncExitStack() as stack:
            stopped = await stack.enter_async_context(until_stopped())
            if sample:
                await _add_sample(app)
            await stack.enter_async_context(app.looked_after())
            if others:
                await app.warm()  # nobody's first question waits for it
                await stack.enter_async_context(aside(_say_problems(settings)))
            platforms = await stack.enter_async_context(connected(adapters, app.bot, _say_who))
            served = serving(app, address, web=web, webhooks=webhooks, platforms=lambda: platforms.connected)
            await stack.enter_async_context(served)
            await stack.enter_async_context(aside(app.watch_embedder()))
            posted_to = settings.digest_channel or (None if others else BROWSER_ROOM)
            app.bot.commands.post_digest = posting(adapters, posted_to, app.digest_card, app.clock)
            app.bot.asking.reach = PeopleReach(adapters, posted_to)
            await stack.enter_async_context(aside(app.bot.asking.watch()))
            if posted_to is not None:
                adapter, channel = digest_target(adapters, posted_to)
                clock = app.clock(announcing(adapter, channel, app.digest_card), adapter.ready.is_set)
                await stack.enter_async_context(aside(clock.run()))
            output.banner(app.settings, await app.knowledge.collections(app.readers), LANGUAGE)
            if app.sample_folder.exists():
                output.say(
                    _(
                        "Sample pages to edit: {folder}",
                        "編集して試せるサンプル資料: {folder}",
                        folder=app.sample_folder.absolute(),
                    )
                )
            output.say(address.banner(LANGUAGE))
            terminal = Channel(app.settings)
            if terminal.there:
                await stack.enter_async_context(aside(_talk(terminal, app, stopped, alone=not others)))
            async with aside(platforms.until_refused(stopped)):
                await stopped.wait()
            if platforms.refusal is not None:
                complain(platforms.refusal.text(LANGUAGE), CONFIG)
            output.say(_("Stopping …", "終了しています…"))
            end_within(LATEST_SECONDS)
        return ANSWERED

    as_owner(work, first=first, level="INFO" if settings.platforms else "WARNING")


async def _talk(terminal: "Channel", app: "Application", stopped: asyncio.Event, *, alone: bool) -> None:
    """The terminal's channel, or the lines of a pipe. `alone`: nobody else uses the bot, so its end is the bot's
    too."""
    try:
        await terminal.run(app.bot)
    except Exception:
        if alone and (terminal.interactive or terminal.used):
            raise
        log.exception("the terminal's channel ended")
    finally:
        if terminal.interactive:  # the channel had Ctrl-C; now it does what SIGTERM does
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGINT, signal.raise_signal, signal.SIGTERM)
        if alone and (terminal.interactive or terminal.used):
            stopped.set()
    if terminal.interactive and not stopped.is_set():
        output.say(_("The bot keeps running; Ctrl-C stops it.", "ボットは動き続けます。Ctrl-C で終了します。"))


async def _add_sample(app: "Application") -> None:
    """A home that nobody has used yet gets a sample handbook, so that there is something to ask about."""
    if await app.wants_sample():
        with output.progress() as show:
            await app.add_sample(
                lambda done, total: show(_("Adding a sample handbook", "サンプル資料を追加"), done, total)
            )


def _say_unknown() -> None:
    """Says which names in the environment and `.env` no setting has, as after a slip or an upgrade."""
    if names := unknown_names(os.environ):
        from bot.doctor.run import unknown_settings

        for one in unknown_settings(names):
            _say(one)


async def _say_problems(settings: "Settings") -> None:
    """Says the problems that the platforms themselves report, before anybody asks; no answer waits for it."""
    from adapters.discord.setup import check as discord
    from adapters.slack.setup import check as slack

    for looked in (slack.problems, discord.problems):
        for remark in await looked(settings):
            _say(remark)


def _say(problem: "Finding | Remark") -> None:
    output.warn(problem.what.to(LANGUAGE))
    if problem.todo is not None:
        output.warn(f"    → {problem.todo.to(LANGUAGE)}")


def _say_who(adapter: "Adapter") -> None:
    output.say(
        _(
            "{platform}: connected as {who}.",
            "{platform}: {who} として接続しました。",
            platform=adapter.platform.capitalize(),
            who=adapter.who,
        )
    )


@cli.command(help=_("Talk with the bot in this terminal.", "このターミナルでボットと会話します。"))
def chat(as_json: AsJson = False) -> None:
    from adapters.terminal.channel import Channel

    async def work(app: "Application") -> int:
        from adapters.web.server.server import serving

        quiet = as_json or not (sys.stdin.isatty() and sys.stdout.isatty())
        if not quiet:  # somebody sits there, and sees that it is one
            await _add_sample(app)
        async with app.looked_after(), serving(app):
            if not quiet:
                output.banner(app.settings, await app.knowledge.collections(app.readers), LANGUAGE)
            return await Channel(app.settings, as_json=as_json).run(app.bot)

    as_owner(work)


@cli.command(help=_("Ask one question and watch the steps.", "質問を 1 つ送り、途中経過と回答を表示します。"))
def ask(
    question: Annotated[str, typer.Argument(help=_("The question.", "質問です。"))],
    as_json: AsJson = False,
    model: Annotated[
        str | None, typer.Option(help=_("Another model for this question.", "この質問に使うモデルです。"))
    ] = None,
    strategy: Annotated[
        str | None, typer.Option(help=_("Another strategy: react, synthesis.", "この質問の戦略です: react、synthesis"))
    ] = None,
    collections: InCollections = None,
) -> None:
    from adapters.terminal.channel import ask_once

    if not question.strip():
        complain(_("The question is empty.", "質問が空です。"), USAGE)

    async def work(home: "Operations | Owner") -> int:
        where = _readable(collections)
        with_, how = model and readable(model), strategy and readable(strategy)
        await home("check", model=with_, strategy=how, collections=where)
        outcome = await ask_once(
            home.turns,
            question,
            settings,
            as_json=as_json,
            model=with_,
            strategy=how,
            collections=where,
        )
        return {"answered": ANSWERED, "unknown": UNANSWERED, "declined": UNANSWERED}.get(outcome, FAILED)

    settings = settings_or_exit()
    with_home(work, changes=False)


def _readable(names: list[str] | None) -> tuple[str, ...] | None:
    return tuple(map(readable, names)) if names else None


# -- documents ------------------------------------------------------------------------------------------------------


@cli.command(
    help=_(
        "Add files and folders, and say what is gone from a folder.",
        "ファイルやフォルダーを追加し、フォルダーからなくなった文書を示します。",
    )
)
def ingest(
    paths: Annotated[list[str], typer.Argument(help=_("Files and folders.", "ファイルやフォルダーです。"))],
    collection: InCollection = None,
    scope: InScope = TEAM,
    prune: Annotated[
        bool,
        typer.Option(
            "--prune",
            help=_(
                "Forget what earlier runs added from the folder and what is not in it any more.",
                "以前このフォルダーから追加し、今はフォルダーにない文書を削除します。",
            ),
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    given = [*map(path_of, paths)]
    ingesting.ingest(given, collection and readable(collection), scope, prune=prune, as_json=as_json)


@cli.command(help=_("Search the documents.", "文書を検索します。"))
def search(
    query: Annotated[str, typer.Argument(help=_("What to look for.", "検索する語句です。"))],
    collections: InCollections = None,
    mode: Annotated[str, typer.Option(help="hybrid | dense | sparse")] = "hybrid",
    limit: Annotated[int, typer.Option(min=1, max=100, help=_("At most this many.", "件数の上限です。"))] = 10,
    as_json: AsJson = False,
) -> None:
    if mode not in ("hybrid", "dense", "sparse"):
        complain(
            _("--mode should be hybrid, dense or sparse.", "--mode は hybrid、dense、sparse のどれかにしてください。"),
            USAGE,
        )
    if not query.strip():
        complain(_("The query is empty.", "検索語が空です。"), USAGE)

    show(
        "search",
        output.search,
        as_json=as_json,
        whole=True,
        query=query,
        collections=_readable(collections),
        mode=mode,
        limit=limit,
    )


@cli.command(help=_("List the documents.", "文書の一覧を表示します。"))
def documents(collection: InCollection = None, as_json: AsJson = False) -> None:
    show("documents", output.documents, as_json=as_json, collection=collection)


@cli.command(help=_("Forget documents, by name or id.", "名前または ID で文書を削除します。"))
def forget(
    names: Annotated[list[str] | None, typer.Argument(help=_("Names or ids.", "名前または ID です。"))] = None,
    collection: InCollection = None,
    user: Annotated[
        str | None,
        typer.Option(
            "--user",
            help=_(
                "Erase a person instead: platform:id, such as slack:U012AB3CD.",
                "文書ではなく人の記録を消します。slack:U012AB3CD のように指定します。",
            ),
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    if (user is None) == (not names):
        complain(_("Name documents, or a person with --user.", "文書の名前か、--user で人を指定してください。"), USAGE)
    if user is not None:
        maintenance.forget_person(readable(user), as_json=as_json)
        return

    async def work(home: "Operations | Owner") -> int:
        status = ANSWERED
        for name in map(readable, names or ()):
            gone = await home("forget", name=name, collection=readable(collection) if collection else None)
            if not gone["forgotten"]:
                status = FAILED
            if as_json:
                output.print_json({"name": name, "forgotten": [row["id"] for row in gone["forgotten"]]})
            elif gone["forgotten"]:
                for row in gone["forgotten"]:
                    output.say(
                        _(
                            "Forgotten: {name} ({collection})",
                            "削除しました: {name}（{collection}）",
                            name=row["name"],
                            collection=row["collection"],
                        )
                    )
            else:
                output.warn(_("There is no document “{name}”.", "文書「{name}」はありません。", name=name))
        return status

    with_home(work, changes=True)


collections_cli = Commands(
    invoke_without_command=True, help=_("List and change collections.", "コレクションの一覧と変更です。")
)
cli.add_typer(collections_cli, name="collections")


@collections_cli.callback()
def collections(context: typer.Context, as_json: AsJson = False) -> None:
    if not context.invoked_subcommand:
        show("collections", output.collections, as_json=as_json)


@collections_cli.command(
    help=_("Make a collection or change its description.", "コレクションを作るか、説明を変えます。")
)
def describe(name: str, description: str, as_json: AsJson = False) -> None:
    do("describe", Text(en="Saved.", ja="保存しました。"), as_json=as_json, name=name, description=description)


@collections_cli.command(
    help=_("Move all documents into another collection.", "すべての文書を別のコレクションに移します。")
)
def merge(source: str, into: str, as_json: AsJson = False) -> None:
    said = Text(en="{moved} document{moved:|s} moved.", ja="{moved} 件の文書を移しました。")
    do("merge", said, as_json=as_json, source=source, into=into)


@collections_cli.command(help=_("Forget a collection and all its documents.", "コレクションをその文書ごと削除します。"))
def delete(name: str, as_json: AsJson = False) -> None:
    said = Text(en="{forgotten} document{forgotten:|s} forgotten.", ja="{forgotten} 件の文書を削除しました。")
    do("delete", said, as_json=as_json, name=name)


# -- how it goes ----------------------------------------------------------------------------------------------------


@cli.command(help=_("List the questions nobody could answer yet.", "未回答の質問の一覧です。"))
def unanswered(as_json: AsJson = False) -> None:
    show("unanswered", output.unanswered, as_json=as_json)


answers_cli = Commands(
    invoke_without_command=True,
    help=_(
        "List what members answered; correct an answer or take it back.", "メンバーの回答の一覧・編集・取り消しです。"
    ),
)
cli.add_typer(answers_cli, name="answers")

AnswerId = Annotated[str, typer.Argument(metavar="ID", help=_("Its id, from the list.", "一覧にある回答の ID です。"))]


@answers_cli.callback()
def answers(context: typer.Context, as_json: AsJson = False) -> None:
    if not context.invoked_subcommand:
        show("answers", output.answers, as_json=as_json, whole=True)


@answers_cli.command(
    help=_(
        "Correct an answer; those who were told the old one are told the new one.",
        "回答を修正します。以前の回答をお知らせした人に、新しい回答をお知らせします。",
    )
)
def edit(
    id: AnswerId,
    answer: Annotated[str, typer.Argument(help=_("What it should say.", "新しい回答です。"))],
    as_json: AsJson = False,
) -> None:
    said = Text(
        en="Corrected. Threads that are told: {told}.", ja="修正しました。{told} 件のスレッドにお知らせします。"
    )
    do("edit_answer", said, as_json=as_json, id=id, answer=answer)


@answers_cli.command(
    "forget",
    help=_("Take an answer back; its questions are open again.", "回答を取り消します。その質問は未回答に戻ります。"),
)
def take_back(id: AnswerId, as_json: AsJson = False) -> None:
    said = Text(
        en="Taken back. Questions that are open again: {reopened}.",
        ja="取り消しました。{reopened} 件の質問が未回答に戻りました。",
    )
    do("take_back_answer", said, as_json=as_json, id=id)


@cli.command(
    help=_(
        "Show the digest: what was not answered since the last one.",
        "ダイジェスト（前回以降に答えられなかった質問）を表示します。",
    )
)
def digest(as_json: AsJson = False) -> None:
    async def work(home: "Operations | Owner") -> int:
        made = await home("digest")
        if as_json:
            output.print_json(made["digest"])
        else:
            output.say(made["text"])
        return ANSWERED

    with_home(work, changes=False)


@cli.command(help=_("Measurements of searches and answers.", "検索と回答の計測値です。"))
def metrics(
    as_json: AsJson = False,
    export: Annotated[
        Path | None,
        typer.Option(
            readable=False,
            help=_("Write every search as JSON lines.", "検索ごとの計測値を JSON Lines で書き出します。"),
        ),
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help=_("Forget the measurements.", "計測値を消します。"))] = False,
) -> None:
    async def work(home: "ReadOperations | Owner") -> int:
        if export:
            rows = (await home("searches"))["searches"]
            lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            await asyncio.to_thread(export.write_text, lines, encoding="utf-8")
        summary = await home("metrics")
        if as_json:
            output.print_json(summary)
        else:
            output.metrics(summary, LANGUAGE)
        if clear:
            await home("clear_metrics")
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
            readable=False,
            help=_(
                "corpus.jsonl, queries.jsonl, qrels/test.tsv",
                "corpus.jsonl、queries.jsonl、qrels/test.tsv のフォルダーです。",
            ),
        ),
    ],
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, help=_("Only this many queries, spread over the file.", "ファイル全体から選ぶ質問の数です。")
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    from bot.config.models import make_embedder, min_relevance
    from bot.operations.beir import EvaluationError
    from bot.operations.evaluation import evaluate as score

    settings = settings_or_exit()

    async def main() -> int:
        log_to_stderr(settings)
        async with AsyncExitStack() as stack:
            progress = stack.enter_context(output.progress(quiet=as_json))
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
            output.print_json(report.as_json())
        else:
            output.table(("", ""), report.rows(LANGUAGE), wide=1)
        return ANSWERED

    try:
        finish(main)
    except EvaluationError as error:
        complain(error.text(LANGUAGE), USAGE)


cli.add_typer(sources.cli)
cli.add_typer(programs.cli)
cli.add_typer(maintenance.cli)


def main() -> None:
    """The command; never ends in a traceback for what is outside of it."""
    output.open_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without emoji or kana gets `?`
    obey(cli)
