"""The frame of every command: settings, what it opens, and how it ends. Nothing heavy is imported before it is needed.

Exit statuses are part of the contract for programs.
"""

import asyncio
import errno
import os
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, NoReturn

import typer

from bot.settings import Settings, SettingsError, interface_language, load
from retrieval.folder import own
from retrieval.text import Said
from retrieval.types import CollectionNotFoundError, RAGToolError

if TYPE_CHECKING:
    from bot.app import Application
    from bot.database import Database

LANGUAGE = interface_language(os.environ)
ANSWERED, FAILED, USAGE, UNANSWERED, INTERRUPTED = 0, 1, 2, 3, 130


def words(en: str, ja: str) -> str:
    """Of the two texts the one in the interface language."""
    return Said(en=en, ja=ja).to(LANGUAGE)


def readable(text: str) -> str:
    """Bytes of an argument or a file's name that are not UTF-8 become U+FFFD."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def settings_or_exit() -> Settings:
    try:
        return load()
    except SettingsError as error:
        complain(error.text(LANGUAGE), USAGE)


def with_application(work: "Callable[[Application], Awaitable[int]]") -> NoReturn:
    """Open the whole application, which owns its home, and exit with what `work` returns."""
    settings = settings_or_exit()

    async def main() -> int:
        settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(own(settings.home))  # another owner is told at once; the rest takes a second to load
        from bot.app import running
        from bot.logs import set_up

        redactor = set_up(settings.log_level or "WARNING", secrets=settings.secrets())
        async with running(settings, redactor) as app:
            return await work(app)

    finish(main)


def with_database(work: "Callable[[Database], Awaitable[int]]") -> NoReturn:
    """Open the database only; a bot that is running on the same home does not mind."""
    settings = settings_or_exit()

    async def main() -> int:
        from bot.database import database
        from bot.logs import set_up

        set_up(settings.log_level or "WARNING", secrets=settings.secrets())
        async with database(settings) as data:
            return await work(data)

    finish(main)


def finish(main: Callable[[], Coroutine[None, None, int]]) -> NoReturn:
    """Run a command to its exit status; what went wrong outside of it is said in one readable text."""
    try:
        status = asyncio.run(main())
    except KeyboardInterrupt:
        status = INTERRUPTED
    except (SettingsError, CollectionNotFoundError) as error:
        complain(error.text(LANGUAGE), USAGE)
    except RAGToolError as error:
        complain(error.text(LANGUAGE), FAILED)
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise  # whoever read our output is gone: Typer ends quietly
        where = f": {error.filename}" if error.filename else ""
        complain(f"{error.strerror or type(error).__name__}{where}", FAILED)
    except Exception as error:
        from bot.store.engine import StoreError  # loads the database
        from migrations import MigrationError

        if not isinstance(error, StoreError | MigrationError):
            raise
        complain(error.text(LANGUAGE), FAILED)
    raise typer.Exit(status)


def complain(text: str, status: int) -> NoReturn:
    print(f"kotae: {text}", file=sys.stderr)
    raise typer.Exit(status)
