"""Files and folders into a collection, and what is gone from a folder since: documents that an ingest of that very
folder wrote last, in the same collection and for the same readers, whose files are not there any more.
"""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from bot.cli import output
from bot.cli.runtime import ANSWERED, FAILED, LANGUAGE, complain, settings_or_exit, with_home
from bot.cli.runtime import words as _
from bot.views import Json
from retrieval.i18n import readable

if TYPE_CHECKING:  # what is heavy is imported by the commands that need it
    from bot.cli.operations import Operations
    from bot.cli.remote import Owner
    from retrieval.loaders.local_files import LocalFile

_AT_ONCE = 200  # documents forgotten in one request


def ingest(paths: Sequence[Path], collection: str | None, scope: str, *, prune: bool, as_json: bool) -> NoReturn:
    from bot.config.own_files import given_files
    from retrieval.loaders.local_files import folder_id

    home = settings_or_exit().home
    folders = {path: folder_id(path) for path in paths if os.path.isdir(path)}  # noqa: PTH112 (this raises nothing)
    given = [(path, folders.get(path), given_files(path, home)) for path in paths]
    files = [(file, folder) for _, folder, found in given for file in found]
    if not files:
        where = ", ".join(map(readable, map(str, paths)))
        complain(_(f"There are no files in {where}.", f"{where} にファイルがありません。"), FAILED)

    async def work(at: "Operations | Owner") -> int:
        read = 0
        with output.progress(quiet=as_json) as show:
            for number, (file, folder) in enumerate(files):
                show(readable(file.name), number, len(files))
                verdict = await _add(at, file, collection, scope, folder)
                read += verdict["status"] != "refused"
                if as_json:
                    output.print_json(verdict)
                else:
                    output.verdict(verdict, LANGUAGE)
        for path, folder, found in given:
            if folder is not None:
                await _gone(at, path, folder, found, collection, scope, prune=prune, as_json=as_json)
        return ANSWERED if read else FAILED

    with_home(work, changes=True)


async def _add(
    home: "Operations | Owner", file: "LocalFile", collection: str | None, scope: str, folder: str | None
) -> Json:
    """The verdict on one file, as JSON."""
    from bot.types import Verdict
    from retrieval.loaders.local_files import NotReadError

    name = readable(file.name)
    try:
        data = await asyncio.to_thread(file.read)
    except NotReadError as error:
        where = collection or settings_or_exit().default_collection
        return dict(Verdict(name, "refused", where, reason=error.text(LANGUAGE)).as_json())
    return await home.ingest(name, data, collection, scope, await asyncio.to_thread(file.changed_at), folder)


async def _gone(
    home: "Operations | Owner",
    path: Path,
    folder: str,
    found: "Sequence[LocalFile]",
    collection: str | None,
    scope: str,
    *,
    prune: bool,
    as_json: bool,
) -> None:
    """Say what is gone, and forget it where that is wanted. What could not be looked into may hold anything, and a
    folder without a file may be a disk that is away."""
    from retrieval.loaders.sanitize import clean_name

    if not found or any(file.unseen for file in found):
        output.warn(
            _(
                "Nothing or not all of {path} could be read, so it is not known what is gone from it.",
                "{path} が空であるか一部を読み込めないため、なくなった文書を確認できません。",
                path=path,
            )
        )
        return
    there = {clean_name(readable(file.name)) for file in found}
    known = await home("of_folder", folder=folder, collection=collection, scope=scope)
    gone = [row for row in known["documents"] if row["name"] not in there]
    forgotten: set[str] = set()
    for start in range(0, len(gone) if prune else 0, _AT_ONCE):
        ids = [row["id"] for row in gone[start : start + _AT_ONCE]]
        forgotten |= set((await home("prune", folder=folder, ids=ids))["forgotten"])
    for row in gone:
        about = {"name": row["name"], "status": "gone", "collection": row["collection"], "id": row["id"]}
        if as_json:
            output.print_json(about | {"forgotten": row["id"] in forgotten})
        else:
            output.gone(about, LANGUAGE, forgotten=row["id"] in forgotten)
    if gone and not prune and not as_json:
        output.say(
            _(
                "They are not in {path} any more. The same command with --prune forgets them.",
                "これらは {path} にはもうありません。同じコマンドに --prune を付けると削除します。",
                path=path,
            )
        )
