"""The checks of `kotae doctor` and their findings: each finding says what to do about it."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from bot.config.settings import Settings
from retrieval.i18n import Text

T = TypeVar("T")


Level = Literal["ok", "warning", "fault"]


SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a finding: a word that stays the same, for programs, and one for people."""

    key: str
    title: Text


@dataclass(frozen=True, slots=True)
class Remark:
    """The remark of one check. What is not well always comes with a next step."""

    level: Level
    what: Text
    todo: Text | None = None

    def __post_init__(self) -> None:
        if self.level != "ok" and self.todo is None:
            raise ValueError(f"a {self.level} needs a next step")


def fine(what: Text, todo: Text | None = None) -> Remark:
    return Remark("ok", what, todo)


def warning(what: Text, todo: Text) -> Remark:
    return Remark("warning", what, todo)


def fault(what: Text, todo: Text) -> Remark:
    return Remark("fault", what, todo)


@dataclass(frozen=True, slots=True)
class Finding:
    about: Subject
    level: Level
    what: Text
    todo: Text | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """`run` looks at one subject, for at most `seconds`."""

    about: Subject
    run: Callable[[Settings], Awaitable[Sequence[Remark]]]
    seconds: float = SECONDS


async def aside(work: Callable[[], T]) -> T:
    """Blocking work in a thread that keeps neither a check nor the process waiting when it hangs."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def tell(put: Callable[[], None]) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(lambda: None if done.done() else put())

    def run() -> None:
        try:
            result = work()
        except BaseException as error:
            failure = error
            tell(lambda: done.set_exception(failure))
        else:
            tell(lambda: done.set_result(result))

    threading.Thread(target=run, daemon=True, name="doctor").start()
    return await done
