"""The commands about sources that documents follow. Source: sources.md §3."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli import output
from bot.cli.help import Commands
from bot.cli.runtime import ANSWERED, FAILED, LANGUAGE, USAGE, AsJson, InScope, complain, do, path_of, show, with_home
from bot.cli.runtime import words as _
from bot.views import Json
from retrieval.i18n import Text, readable
from retrieval.types import TEAM

if TYPE_CHECKING:  # what is heavy is imported by the commands that need it
    from bot.cli.operations import Operations
    from bot.cli.remote import Owner

cli = Commands()
source_cli = Commands(
    help=_(
        "Follow folders, repositories, websites and channels.",
        "フォルダー、リポジトリ、ウェブサイト、チャンネルを同期します。",
    )
)
cli.add_typer(source_cli, name="source")

Name = Annotated[str, typer.Argument(help=_("The source's name.", "同期元の名前です。"))]


@cli.command(
    "sources",
    help=_("List the sources that documents follow.", "文書の同期元の一覧です。"),
)
def listed(as_json: AsJson = False) -> None:
    show("sources", output.sources, as_json=as_json, whole=True)


@source_cli.command(
    help=_(
        "Follow a folder of this machine, a repository, a website or a channel (slack:C…): its pages or threads are "
        "added, and change and go with it.",
        "このマシンのフォルダー、git リポジトリ、ウェブサイト、チャンネル（slack:C…）を同期します。"
        "ページやスレッドの追加・変更・削除に文書が従います。",
    )
)
def add(
    kind: Annotated[
        str, typer.Argument(help=_("folder, git, website or channel.", "種類です（folder、git、website、channel）。"))
    ],
    location: Annotated[
        str,
        typer.Argument(
            help=_("The folder, the address, or the channel.", "フォルダー、アドレス、またはチャンネルです。")
        ),
    ],
    name: Annotated[
        str,
        typer.Option(
            "--name", help=_("Its name; without it, the last part of the location.", "名前です（省略時は場所の末尾）。")
        ),
    ] = "",
    collection: Annotated[
        str,
        typer.Option(
            "--collection",
            help=_("Its collection; without it, the same as the name.", "コレクションです（省略時は名前と同じ）。"),
        ),
    ] = "",
    scope: InScope = TEAM,
    every: Annotated[
        str,
        typer.Option("--every", help=_("How often to look: 30s, 10m, 1h, 1d.", "確認の間隔です（30s、10m、1h、1d）。")),
    ] = "",
    branch: Annotated[
        str,
        typer.Option(
            "--branch",
            help=_(
                "Branch of a repository; without it, its default branch.",
                "リポジトリのブランチです（省略時は既定のブランチ）。",
            ),
        ),
    ] = "",
    folder: Annotated[
        str,
        typer.Option(
            "--folder", help=_("Only this folder of a repository.", "リポジトリのこのフォルダーだけを同期します。")
        ),
    ] = "",
    glob: Annotated[
        list[str] | None,
        typer.Option("--glob", help=_("Only such files; may be repeated.", "対象のファイルです（複数指定可）。")),
    ] = None,
    as_json: AsJson = False,
) -> None:
    if kind not in ("folder", "git", "website", "channel"):
        complain(
            _(
                "The kind should be folder, git, website or channel.",
                "種類は folder、git、website、channel のどれかにしてください。",
            ),
            USAGE,
        )
    where = readable(location)
    path = os.path.expanduser(where)  # noqa: PTH111 (raises nothing)
    if kind == "folder" or (kind == "git" and os.path.isdir(path)):  # noqa: PTH112 (raises nothing)
        where = str(path_of(path).absolute())  # the bot may run elsewhere

    async def work(home: "Operations | Owner") -> int:
        from bot.cli.remote import Owner

        options = {
            "branch": readable(branch),
            "folder": readable(folder),
            "globs": [readable(each) for each in glob or ()],
        }
        added = await home(
            "add_source", kind=kind, location=where, name=readable(name), collection=readable(collection),
            scope=scope, every=_seconds(every), **options,
        )  # fmt: skip
        if isinstance(home, Owner):  # which syncs it at once by itself
            if as_json:
                output.print_json(added)
            else:
                output.say(
                    _(
                        "“{name}” is being synced; `kotae sources` shows how it goes.",
                        "「{name}」を同期しています。状況は kotae sources で確認できます。",
                        name=added["name"],
                    )
                )
            return ANSWERED
        try:
            done = await home("sync_source", name=added["name"])
        except Exception:
            if added["checked_at"] is None:  # what was never seen at all is not followed
                await home("remove_source", name=added["name"])
            raise
        return _told(added | {"sync": done} if as_json else done, as_json)

    with_home(work, changes=True)


@source_cli.command(help=_("Sync a source now.", "いま同期します。"))
def sync(name: Name, as_json: AsJson = False) -> None:
    async def work(home: "Operations | Owner") -> int:
        return _told(await home("sync_source", name=readable(name)), as_json)

    with_home(work, changes=True)


@source_cli.command(help=_("Pause a source.", "同期を一時停止します。"))
def pause(name: Name) -> None:
    do("pause_source", Text(en="Paused.", ja="一時停止しました。"), name=name)


@source_cli.command(
    help=_(
        "Resume a source; if it asks about pages that are gone, say what becomes of their documents.",
        "同期を再開します。確認待ちの場合は、なくなったページの扱いを指定します。",
    )
)
def resume(
    name: Name,
    forget: Annotated[
        bool,
        typer.Option(
            "--forget", help=_("Forget the documents of pages that are gone.", "なくなったページの文書を削除します。")
        ),
    ] = False,
    keep: Annotated[
        bool,
        typer.Option(
            "--keep",
            help=_(
                "Keep the documents of pages that are gone (not a channel's).",
                "なくなったページの文書を残します（チャンネルを除く）。",
            ),
        ),
    ] = False,
) -> None:
    if forget and keep:
        complain(_("Give --forget or --keep, not both.", "--forget と --keep は同時に指定できません。"), USAGE)
    gone = "forget" if forget else "keep" if keep else ""
    do("resume_source", Text(en="Resumed.", ja="再開しました。"), name=name, gone=gone)


@source_cli.command(help=_("Stop following a source, and forget its documents.", "同期をやめ、その文書を削除します。"))
def remove(
    name: Name,
    keep: Annotated[
        bool,
        typer.Option("--keep", help=_("Keep its documents (not a channel's).", "文書は残します（チャンネルを除く）。")),
    ] = False,
    as_json: AsJson = False,
) -> None:
    kept = Text(
        en="Removed; {documents} document{documents:|s} stay{documents:s|}.",
        ja="同期元を削除しました（文書 {documents} 件は残ります）。",
    )
    gone = Text(
        en="Removed, with {documents} document{documents:|s}.", ja="同期元と文書 {documents} 件を削除しました。"
    )
    do("remove_source", kept if keep else gone, as_json=as_json, name=name, keep=keep)


def _told(done: Json, as_json: bool) -> int:
    report = done.get("sync", done)
    if as_json:
        output.print_json(done)
    else:
        output.synced(report, LANGUAGE)
    return FAILED if report["failed"] and not report["pages"] else ANSWERED


def _seconds(text: str) -> int | None:
    """`30s`, `10m`, `1h` or `1d`; nothing: as the kind has it."""
    if not text:
        return None
    units = {"s": 1, "m": 60, "h": 3600, "d": 24 * 3600}
    number, unit = text[:-1], text[-1:]
    if not (number.isascii() and number.isdigit() and unit in units):
        complain(
            _(
                "--every should be a time such as 30s, 10m, 1h or 1d.",
                "--every は 30s、10m、1h、1d のように指定してください。",
            ),
            USAGE,
        )
    return int(number) * units[unit]
