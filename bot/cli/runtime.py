"""The frame of every command: settings, what it opens, and how it ends. Nothing heavy is imported before it is needed.

Exit statuses are part of the contract for programs.
"""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer

from bot.cli import output
from bot.cli.remote import PATIENCE_SECONDS, OwnerGoneError, OwnerRefusedError, at_home, reach
from bot.config.settings import Settings, interface_language, load, make_home
from bot.errors import SettingsError
from retrieval.folder import own
from retrieval.i18n import Language, Text, readable
from retrieval.types import CollectionNotFoundError, QdrantConnectionError, RAGToolError

if TYPE_CHECKING:
    from bot.app import Application
    from bot.cli.operations import Operations, ReadOperations
    from bot.cli.remote import Owner
    from bot.logs import Redactor

T = TypeVar("T")

LANGUAGE = interface_language(os.environ)
ANSWERED, FAILED, USAGE, UNANSWERED, INTERRUPTED = 0, 1, 2, 3, 130
LATEST_SECONDS = 40.0  # after SIGTERM; beyond what answers and Q/A pairs that are under way are given
CONFIG = 78  # EX_CONFIG of sysexits.h: a platform refuses the settings


def words(en: str, ja: str, **values: object) -> str:
    """Of the two texts the one in the interface language."""
    return Text(en=en, ja=ja).to(LANGUAGE, **values)


AsJson = Annotated[
    bool, typer.Option("--json", help=words("Print JSON for programs.", "プログラム向けに JSON で出力します。"))
]


def _scope_or_exit(scope: str) -> str:
    from bot.access import valid_scope

    if not valid_scope(scope):
        complain(
            words(
                "--scope should be team, everyone or place:PLATFORM:WORKSPACE:CHANNEL, not “{scope}”.",
                "--scope は team、everyone、place:プラットフォーム:ワークスペース:チャンネル "
                "のどれかにしてください（「{scope}」ではなく）。",
                scope=readable(scope),
            ),
            USAGE,
        )
    return scope


InScope = Annotated[
    str,
    typer.Option(
        "--scope",
        help=words("Who may read it: team, everyone, place:…", "公開範囲です: team、everyone、place:…"),
        callback=_scope_or_exit,
    ),
]


def settings_or_exit() -> Settings:
    try:
        return load()
    except SettingsError as error:
        complain(error.text(LANGUAGE), USAGE)


def log_to_stderr(settings: Settings, level: str = "WARNING") -> "Redactor":
    """`level`: of the log, where none is set."""
    from bot.logs import set_up

    return set_up(settings.log_level or level, secrets=settings.secrets())


def with_home(work: "Callable[[Operations | Owner], Awaitable[int]]", *, changes: bool) -> NoReturn:
    """Do the work in the process that owns the home, or open the whole application here; exit with what it returns.

    `changes`: of documents or collections. What only looks cleans nothing up.
    """
    settings = settings_or_exit()
    finish(lambda: in_home(settings, work, changes=changes))


async def in_home(
    settings: Settings,
    work: "Callable[[Operations | Owner], Awaitable[T]]",
    *,
    changes: bool,
    patience: float = PATIENCE_SECONDS,
) -> T:
    """The same inside a command. Raises what `at_home` does."""

    async def alone(lock: int | None) -> T:
        from bot.app import running
        from bot.cli.operations import Operations

        redactor = log_to_stderr(settings)
        async with running(settings, redactor, lock=lock, tidy=changes) as app:
            return await work(Operations(app, LANGUAGE))

    return await at_home(settings.home, LANGUAGE, work, alone, tell=output.warn, patience=patience)


def with_database(work: "Callable[[ReadOperations | Owner], Awaitable[int]]") -> NoReturn:
    """The same for what needs the database only."""
    settings = settings_or_exit()

    async def main() -> int:
        with suppress(OwnerGoneError):
            async with reach(settings.home, LANGUAGE) as owner:
                if owner is not None:
                    return await work(owner)
        from bot.cli.operations import ReadOperations
        from bot.database import database
        from bot.knowledge.identity import refuse_strange

        log_to_stderr(settings)
        async with database(settings, looks=True) as data:
            await refuse_strange(settings, data.engine)
            return await work(ReadOperations(data, LANGUAGE))

    finish(main)


def as_owner(
    work: "Callable[[Application], Awaitable[int]]",
    *,
    first: Callable[[], None] = lambda: None,
    level: str = "WARNING",
    rebuild: Callable[[int, int], None] | None = None,
    aside: Callable[[Path], None] | None = None,
) -> NoReturn:
    """Own the home for as long as `work` runs. `first` is done when the home is owned and nothing heavy is loaded yet.

    `level`: of the log, where none is set. `rebuild`: told the progress when an index that does not fit is made anew;
    without it one of another version of Kotae is so all the same. `aside`: told where to what does not belong to the
    home was moved.
    """
    settings = settings_or_exit()

    async def main() -> int:
        make_home(settings.home)
        try:
            lock = own(settings.home)
        except QdrantConnectionError as error:
            raise OwnerRefusedError(error.text(LANGUAGE), usage=True) from error
        first()
        from bot.app import running

        redactor = log_to_stderr(settings, level)
        async with running(settings, redactor, rebuild, lock=lock, renew=_warn, aside=aside) as app:
            return await work(app)

    finish(main)


def _warn(said: Text) -> None:
    output.warn(said.to(LANGUAGE))


def show(
    command: str,
    listed: Callable[[Any, Language], None],
    *,
    as_json: bool,
    whole: bool = False,
    **arguments: Any,
) -> NoReturn:
    """The frame of every command that shows one document: ask for it, and print it as JSON or by `listed`.

    `whole`: it takes more than the database.
    """
    work = _told(command, listed, as_json, arguments)
    if whole:
        with_home(work, changes=False)
    with_database(work)


def do(command: str, said: Text, *, as_json: bool = False, changes: bool = True, **arguments: Any) -> NoReturn:
    """The frame of every command that changes something: have it done, and print its figures as JSON or in `said`."""
    with_home(_told(command, said, as_json, arguments), changes=changes)


def _told(
    command: str, said: Text | Callable[[Any, Language], None], as_json: bool, arguments: dict[str, Any]
) -> "Callable[[ReadOperations | Owner], Awaitable[int]]":
    sent = {name: readable(value) if isinstance(value, str) else value for name, value in arguments.items()}

    async def work(home: "ReadOperations | Owner") -> int:
        found = await home(command, **sent)
        refusal = found.get("refusal")
        if as_json:
            output.print_json(found)
        elif refusal:
            output.warn(refusal)
        elif isinstance(said, Text):
            output.say(said.to(LANGUAGE, **found))
        else:
            said(found, LANGUAGE)
        return FAILED if refusal else ANSWERED

    return work


@asynccontextmanager
async def aside(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """`work` goes on while the block runs."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def finish(main: Callable[[], Coroutine[None, None, int]]) -> NoReturn:
    """Run a command to its exit status; what went wrong outside of it is said in one readable text."""
    try:
        status = asyncio.run(main())
        sys.stdout.flush()
    except KeyboardInterrupt:
        status = INTERRUPTED
    except (SettingsError, CollectionNotFoundError) as error:
        complain(error.text(LANGUAGE), USAGE)
    except OwnerRefusedError as error:
        complain(error.text, USAGE if error.usage else FAILED)
    except RAGToolError as error:
        complain(error.text(LANGUAGE), FAILED)
    except Exception as error:
        from bot.errors import StoreError
        from bot.operations.backup import BackupError  # these load the database
        from migrations import MigrationError

        if not isinstance(error, BackupError | StoreError | MigrationError):
            raise
        complain(error.text(LANGUAGE), FAILED)
    raise typer.Exit(status)


def end_within(seconds: float) -> None:
    """The process, which is stopping, ends by then: a database that says nothing any more would hold it up for minutes.
    What is cut short is put right at the next start, or by another process."""
    last = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGTERM))
    last.daemon = True
    last.start()


def path_of(text: str) -> Path:
    """A path that was typed; complains of an empty one, as of a shell's variable that is not set: `Path` takes it for
    the folder one is in."""
    if not text:
        complain(words("The path is empty.", "パスが空です。"), USAGE)
    return Path(text)


def complain(text: str, status: int) -> NoReturn:
    print(f"kotae: {text}", file=sys.stderr)
    raise typer.Exit(status)
