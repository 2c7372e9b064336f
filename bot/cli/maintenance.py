"""The commands that look after a home: is it well, is it safe, does it still fit, whom does it still know."""

import asyncio
import os
import sys
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args
from urllib.parse import quote

import typer

from bot.cli import output
from bot.cli.help import Commands
from bot.cli.remote import at_home
from bot.cli.runtime import (
    ANSWERED,
    LANGUAGE,
    USAGE,
    AsJson,
    as_owner,
    complain,
    finish,
    log_to_stderr,
    settings_or_exit,
)
from bot.cli.runtime import words as _
from bot.config.settings import make_home
from bot.views import Json

if TYPE_CHECKING:
    from bot.app import Application
    from bot.cli.remote import Owner

cli = Commands()


@cli.command(
    help=_(
        "Check settings, database, index, embedder, model and platforms, each finding with what to do.",
        "設定、データベース、インデックス、埋め込みモデル、モデル、プラットフォームを点検し、対処を示します。",
    )
)
def doctor(as_json: AsJson = False) -> None:
    from adapters.discord.setup import check as discord
    from adapters.slack.setup import check as slack
    from adapters.web.server import check as web
    from bot.config.settings import LogLevel
    from bot.doctor.run import as_json as in_json
    from bot.doctor.run import diagnose, report, status
    from bot.logs import set_up

    async def main() -> int:
        level = os.environ.get("KOTAE_LOG_LEVEL", "").strip().upper()
        set_up(level if level in get_args(LogLevel) else "ERROR")  # settings that do not load are a finding
        found = await diagnose((*web.CHECKS, *slack.CHECKS, *discord.CHECKS))
        if as_json:
            output.print_json(in_json(found, LANGUAGE))
        else:
            for line in report(found, LANGUAGE):
                output.say(line)
        return status(found)

    finish(main)


@cli.command(
    help=_(
        "Set up Slack, Discord or Gemini: asks, checks each token at once, and writes .env.",
        "Slack、Discord、Gemini を設定します。質問に答えるとトークンをその場で確認し、.env に書き込みます。",
    )
)
def setup(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="slack|discord|gemini", help=_("What to set up.", "設定するものです。"), show_default=False
        ),
    ] = None,
    bot_token: Annotated[
        str | None,
        typer.Option(
            help=_("Slack: bot token (xoxb-); - reads it from stdin.", "Slack のボットトークン（- で標準入力から）。")
        ),
    ] = None,
    app_token: Annotated[
        str | None,
        typer.Option(
            help=_("Slack: app-level token (xapp-); - as above.", "Slack のアプリレベルトークン（- で標準入力から）。")
        ),
    ] = None,
    signing_secret: Annotated[
        str | None,
        typer.Option(
            help=_(
                "Slack over HTTP: signing secret; - as above.",
                "HTTP で使う Slack の Signing Secret（- で標準入力から）。",
            )
        ),
    ] = None,
    http: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help=_(
                "Slack: events over HTTP, at this address of kotae run (https://…), instead of Socket Mode.",
                "Socket Mode の代わりに、このアドレス（https://…）で Slack のイベントを受け取ります。",
            ),
        ),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            help=_("Discord: the bot's token; - as above.", "Discord のボットのトークン（- で標準入力から）。")
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(help=_("Gemini: the API key; - as above.", "Gemini の API キー（- で標準入力から）。")),
    ] = None,
    embeddings: Annotated[
        bool | None,
        typer.Option(
            "--embeddings/--no-embeddings",
            help=_(
                "Gemini: search by its embeddings too; all documents' text is sent to Google.",
                "検索にも Gemini を使います（すべての文書の本文を Google に送ります）。",
            ),
            show_default=False,
        ),
    ] = None,
    guilds: Annotated[
        str | None,
        typer.Option(
            help=_("Discord: servers whose members are the team.", "メンバーをチームとするサーバーの ID です。")
        ),
    ] = None,
    digest_channel: Annotated[
        str | None,
        typer.Option(
            help=_("Channel for the weekly digest: its name or id.", "週次ダイジェストのチャンネルの名前か ID です。")
        ),
    ] = None,
    timezone: Annotated[
        str | None, typer.Option(help=_("Time zone, such as Asia/Tokyo.", "タイムゾーンです（例: Asia/Tokyo）。"))
    ] = None,
    language: Annotated[
        str | None, typer.Option(help=_("Language of the interface: ja, en.", "画面の言語です: ja、en"))
    ] = None,
    no_check: Annotated[
        bool,
        typer.Option(
            "--no-check",
            help=_(
                "Save without checking the tokens at the platform.",
                "トークンをプラットフォームに確認せずに保存します。",
            ),
        ),
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help=_("Ask nothing; take every default.", "質問せず、すべて既定値にします。"))
    ] = False,
    wait: Annotated[
        bool | None,
        typer.Option(
            "--wait/--no-wait",
            help=_("Slack: wait for the first mention.", "Slack で最初のメンションが届くまで待ちます。"),
            show_default=False,
        ),
    ] = None,
    manifest: Annotated[
        Path | None,
        typer.Option(
            readable=False,
            help=_(
                "Slack: write the app's manifest to this file, to paste it.",
                "Slack アプリのマニフェストを貼り付け用にこのファイルへ書き出します。",
            ),
        ),
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help=_("Open no browser.", "ブラウザーを開きません。"))
    ] = False,
) -> None:
    from adapters.setup.platforms import set_up as ask
    from adapters.setup.wizard import FlagValues, Terminal, browser, hyperlinks
    from bot.logs import set_up

    values = {
        "SLACK_BOT_TOKEN": bot_token,
        "SLACK_APP_TOKEN": app_token,
        "SLACK_SIGNING_SECRET": signing_secret,
        "DISCORD_TOKEN": token,
        "GEMINI_API_KEY": key,
        "KOTAE_DISCORD_GUILDS": guilds,
        "KOTAE_DIGEST_CHANNEL": digest_channel,
        "KOTAE_TIMEZONE": timezone,
        "KOTAE_LANGUAGE": language,
    }
    given = FlagValues(
        {name: value for name, value in values.items() if value is not None},
        not no_check,
        yes,
        wait,
        manifest,
        embeddings,
        http,
    )

    def read(prompt: str, hidden: bool) -> str:
        return str(typer.prompt(prompt, default="", show_default=False, hide_input=hidden))

    somebody = sys.stdin.isatty() and sys.stdout.isatty()
    terminal = Terminal(
        LANGUAGE,
        read if somebody else None,
        browser() if somebody and not no_browser else None,
        follows=sys.stdout.isatty() and hyperlinks(),
    )

    async def main() -> int:
        set_up("ERROR")
        return await ask(what, given, terminal, os.environ)

    finish(main)


@cli.command(
    help=_(
        "Copy database and documents into one file, also while the bot runs. Settings are not in it.",
        "データベースと文書を 1 つのファイルにバックアップします（起動中でも可）。設定は含みません。",
    )
)
def backup(
    target: Annotated[
        Path,
        typer.Argument(
            readable=False, help=_("A new file, or a folder for it.", "新しいファイルか、保存先のフォルダーです。")
        ),
    ],
    as_json: AsJson = False,
) -> None:
    from bot.operations.backup import back_up

    settings = settings_or_exit()

    def tell(made: Json) -> int:
        if as_json:
            output.print_json(made)
        else:
            output.say(made["text"])
        return ANSWERED

    async def through(owner: "Owner") -> int:
        """Only the owner can read the index, where the pairs of questions and answers are."""
        return tell(await owner("backup", path=quote(os.fsencode(target.absolute()))))

    async def alone(lock: int | None) -> int:
        log_to_stderr(settings)
        try:
            return tell((await back_up(settings, target.absolute())).as_json(LANGUAGE))
        finally:
            if lock is not None:
                os.close(lock)

    finish(lambda: at_home(settings.home, LANGUAGE, through, alone, tell=output.warn))


@cli.command(
    help=_(
        "Restore a backup into an empty home; the index is built anew.",
        "バックアップを空のホームに復元し、インデックスを作り直します。",
    )
)
def restore(
    source: Annotated[Path, typer.Argument(readable=False, help=_("The backup.", "バックアップのファイルです。"))],
) -> None:
    from bot.config.models import make_embedder
    from bot.operations.restore import restore as bring_back

    settings = settings_or_exit()

    async def main() -> int:
        log_to_stderr(settings)
        async with AsyncExitStack() as stack:
            show = stack.enter_context(output.progress(quiet=False))
            done = await bring_back(
                source,
                settings,
                await make_embedder(settings, stack),
                progress=lambda done, total: show(_("Indexing", "インデックスを作成中"), done, total),
            )
        output.say(done.text(LANGUAGE))
        return ANSWERED

    finish(main)


@cli.command(
    help=_(
        "Build the search index anew from the kept documents: for another embedder, or after it was lost.",
        "保存してある文書から検索インデックスを作り直します（埋め込みモデルの変更後や、失われたとき）。",
    )
)
def reindex(
    set_aside: Annotated[
        bool,
        typer.Option(
            "--set-aside",
            help=_(
                "First move away what the database does not know, or nobody can read: nothing is deleted.",
                "データベースに記録のないものや読み込めないものを、削除せずに別のフォルダーへ移してから作り直します。",
            ),
        ),
    ] = False,
) -> None:
    what = _("Indexing", "インデックスを作成中")

    async def work(app: "Application") -> int:
        rows = await app.data.documents.listed()
        output.say(_("The index fits: {n} document{n:|s}.", "インデックスは最新です（文書 {n} 件）。", n=len(rows)))
        if lost := sorted(row.name for row in rows if not row.chunks):
            output.warn(
                _(
                    "Nothing is left of {n} document{n:|s}, neither text nor index: {names}. Add {n:it|them} again"
                    " (kotae ingest PATH), or forget {n:it|them} (kotae forget NAME).",
                    "本文もインデックスも失われた文書が {n} 件あります: {names}。もう一度登録するか"
                    "（kotae ingest パス）、削除してください（kotae forget 名前）。",
                    n=len(lost),
                    names=", ".join(lost[:10]) + (" …" if len(lost) > 10 else ""),
                )
            )
        return ANSWERED

    with output.progress(quiet=False) as progress:
        as_owner(
            work,
            rebuild=lambda done, total: progress(what, done, total),
            aside=_say_where if set_aside else None,
        )


def _say_where(folder: Path) -> None:
    output.say(
        _(
            "What does not belong to this database was moved to {folder}, where no search and no erasure reaches it."
            " Delete that folder when nobody needs it any more.",
            "このデータベースに属さないものを {folder} に移しました。検索にも削除コマンドにも含まれないため、"
            "不要になったらフォルダーごと削除してください。",
            folder=folder,
        )
    )


@cli.command(help=_("Bring the database to this version.", "データベースをこのバージョンに更新します。"))
def migrate() -> None:
    from bot.operations.restore_marker import refuse_unfinished
    from migrations import upgrade

    settings = settings_or_exit()

    async def main() -> int:
        log_to_stderr(settings)
        refuse_unfinished(settings.home)
        make_home(settings.home)
        done = await asyncio.to_thread(upgrade, settings.database_url, link=settings.link.arguments())
        if done.before == done.after:
            output.say(_("The database is up to date ({to}).", "データベースは最新です（{to}）。", to=done.after))
        else:
            output.say(_("The database is now at {to}.", "データベースを {to} に更新しました。", to=done.after))
        if done.backup:
            output.say(_("A copy from before: {path}", "更新前のコピー: {path}", path=done.backup))
        return ANSWERED

    finish(main)


def forget_person(name: str, *, as_json: bool) -> None:
    """`kotae forget --user slack:U012AB3CD`: in this process, also beside a running bot."""
    from bot.app import running
    from bot.config.own_files import ASIDE
    from bot.database import database
    from bot.operations.copies import sweep
    from bot.operations.retention import Person, WhoError
    from bot.operations.retention import forget as erase
    from retrieval.types import QdrantConnectionError

    settings = settings_or_exit()
    try:
        who = Person.named(name)
    except WhoError as error:
        complain(error.text(LANGUAGE), USAGE)

    async def main() -> int:
        redactor = log_to_stderr(settings)
        async with database(settings) as data:
            gone = await erase(data.engine, settings.chat_log, who)
        if gone.erased.threads:
            with suppress(QdrantConnectionError):  # a bot that runs forgets their documents by itself
                async with running(settings, redactor):
                    pass
        if as_json:
            output.print_json(gone.as_json())
        else:
            output.say(gone.text(LANGUAGE))
        if left := await asyncio.to_thread(sweep, settings.home):
            output.warn(
                _(
                    "A backup that is being made, or was cut off, has a copy of the database that could not be deleted:"
                    " {folders}. Delete it when no backup runs.",
                    "作成中または中断されたバックアップのデータベースのコピーを削除できませんでした: {folders}"
                    "。バックアップが動いていないときに削除してください。",
                    folders=", ".join(map(str, left)),
                )
            )
        if moved := sorted(path for path in settings.home.glob("aside-*") if ASIDE.fullmatch(path.name)):
            output.warn(
                _(
                    "What kotae reindex --set-aside moved away may have words of the person: {folders}. Delete it when"
                    " nobody needs it any more.",
                    "kotae reindex --set-aside が移した {folders} に、本人の発言が残っている可能性があります。"
                    "不要になったらフォルダーごと削除してください。",
                    folders=", ".join(map(str, moved)),
                )
            )
        return ANSWERED

    finish(main)
