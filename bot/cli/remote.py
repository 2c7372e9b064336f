"""The other end of a home's socket: how a command finds the process that owns the home, and has it do the work.

Source: architecture.md "One process, or many"; reliability.md R49.
"""

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

from retrieval.folder import OwnedError, own
from retrieval.i18n import Language, Text
from retrieval.types import QdrantConnectionError

if TYPE_CHECKING:  # loaded where there is somebody to talk to
    import httpx

    from agent.events import Events
    from bot.types import Incoming

T = TypeVar("T")

SOCKET = "kotae.sock"

_ADDRESS_BYTES = 100  # a socket's address holds 108 with its end on Linux, 104 elsewhere
_CONNECT_SECONDS = 2.0
PATIENCE_SECONDS = 30.0  # for another that is starting or stopping; it drains for 20 s at most
_LOOK_SECONDS = 0.1
_QUIET_SECONDS = 60.0  # a stream of events says at least that it lives every 15 s
_WORK_SECONDS = 900.0  # a long document is embedded for minutes

_STOPPED = Text(
    en="The Kotae that runs on this home stopped or went silent before it was done.",
    ja="このホームで動いている Kotae が、処理の途中で停止したか応答しなくなりました。",
)
_WAITING = Text(
    en="Another Kotae is starting, stopping or at work on this home; waiting for it, for {seconds} seconds at most …",
    ja="このホームでは別の Kotae が起動中、終了中、または処理中です。最大 {seconds} 秒待ちます…",
)
_STAYS = Text(
    en="Another Kotae has kept this home ({folder}) for {seconds} seconds and does not answer. Stop it first, or set "
    "KOTAE_HOME to another folder.",
    ja="このホーム（{folder}）は別の Kotae が {seconds} 秒以上使っており、応答がありません。先にそれを止めるか、"
    "KOTAE_HOME に別のフォルダーを指定してください。",
)
_OTHER_VERSION = Text(
    en="The Kotae that runs on this home is of another version. Restart it, or stop it and try again.",
    ja="このホームで動いている Kotae はバージョンが違います。再起動するか、止めてからもう一度お試しください。",
)
_USAGE = frozenset({"collection_not_found", "not_offered"})  # what the command line says is wrong


class OwnerRefusedError(Exception):
    """The owner of the home refused, or did not answer. `usage`: because of what it was asked for."""

    def __init__(self, text: str, *, usage: bool = False) -> None:
        super().__init__(text)
        self.text = text
        self.usage = usage


class OwnerGoneError(OwnerRefusedError):
    """The owner went away before it answered anything."""


@contextmanager
def short(path: Path) -> Iterator[str]:
    """A name of this path that fits into a socket's address, for as long as the block lasts."""
    name = os.fspath(path)
    if len(os.fsencode(name)) <= _ADDRESS_BYTES:
        yield name
        return
    with TemporaryDirectory(prefix="kotae-") as folder:  # mode 0700: nobody else can put something in its place
        link = Path(folder, "home")
        link.symlink_to(path.parent.absolute())
        yield str(link / path.name)


async def at_home(
    home: Path,
    language: Language,
    through: "Callable[[Owner], Awaitable[T]]",
    alone: Callable[[int | None], Awaitable[T]],
    *,
    tell: Callable[[str], None],
    patience: float = PATIENCE_SECONDS,
) -> T:
    """Have it done by the process that owns `home`, or do it `alone`, which is given the lock of the home to close;
    None where there is no such folder yet, or one that nobody can lock, as on a disk that is read-only.

    An owner that does not answer yet or any more is waited for, as `tell` is told, for `patience` seconds. Raises
    OwnerRefusedError then, QdrantConnectionError when the home cannot be used, and what the work raises.
    """
    loop = asyncio.get_running_loop()
    end: float | None = None
    while True:
        try:
            async with reach(home, language) as owner:
                if owner is not None:
                    return await through(owner)
        except OwnerGoneError:
            if (home / SOCKET).exists():  # it takes it away before it stops
                raise
        try:
            lock = _lock(home)
        except OwnedError as error:
            if end is None:
                end = loop.time() + patience
                tell(_WAITING.to(language, seconds=round(patience)))
            elif loop.time() > end:
                raise OwnerRefusedError(_STAYS.to(language, folder=home, seconds=round(patience))) from error
            await asyncio.sleep(_LOOK_SECONDS)
        else:
            return await alone(lock)


def _lock(home: Path) -> int | None:
    try:
        return own(home) if home.is_dir() else None
    except OwnedError:
        raise
    except QdrantConnectionError:
        return None


@asynccontextmanager
async def reach(home: Path, language: Language) -> "AsyncIterator[Owner | None]":
    """The process that owns `home` and serves its socket; None where nobody does."""
    path = home / SOCKET
    with short(path) as address:
        if not await asyncio.to_thread(_answers, address):
            yield None
            return
        import httpx

        async with httpx.AsyncClient(
            transport=httpx.AsyncHTTPTransport(uds=address, verify=False),  # no TLS: no certificates to load
            base_url="http://kotae",
            headers={"Accept-Language": language},
            timeout=httpx.Timeout(_WORK_SECONDS, connect=_CONNECT_SECONDS),
            trust_env=False,
        ) as http:
            yield Owner(http, language)


def _answers(address: str) -> bool:
    """Whether somebody listens there: a process that was killed leaves its socket behind."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(_CONNECT_SECONDS)
        try:
            probe.connect(address)
        except (BlockingIOError, TimeoutError):  # it lives, and many wait already
            return True
        except OSError:
            return False
    return True


class Owner:
    """The process that owns the home. Does what `Operations` does; everything raises OwnerRefusedError,
    OwnerGoneError where it has not answered anything yet."""

    def __init__(self, http: "httpx.AsyncClient", language: Language) -> None:
        self._http = http
        self._language = language
        self._answered = False

    async def __call__(self, command: str, **arguments: Any) -> dict[str, Any]:
        return await self._done("POST", f"/commands/{command}", json=arguments)

    async def ingest(
        self,
        name: str,
        data: bytes,
        collection: str | None,
        scope: str,
        changed_at: str | None = None,
        folder: str | None = None,
    ) -> dict[str, Any]:
        given = {"name": name, "scope": scope, "collection": collection, "changed_at": changed_at, "folder": folder}
        about = {key: value for key, value in given.items() if value}
        kind = {"Content-Type": "application/octet-stream"}
        return await self._done("POST", "/commands/ingest", params=about, content=data, headers=kind)

    @property
    def turns(self) -> "RemoteTurns":
        return RemoteTurns(self._http, self._language)

    async def _done(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        import httpx

        try:
            response = await self._http.request(method, path, **request)
        except httpx.TransportError as error:
            raise (OwnerRefusedError if self._answered else OwnerGoneError)(_STOPPED.to(self._language)) from error
        self._answered = True
        return _result(response, self._language)


class RemoteTurns:
    """As much of the owner's `Turns` as one question needs. Leaving a reply early withdraws its question there."""

    def __init__(self, http: "httpx.AsyncClient", language: Language) -> None:
        self._http = http
        self._language = language

    async def reply(self, message: "Incoming") -> "Events":
        """The owner's events. Raises OwnerRefusedError."""
        import httpx

        from bot.turns.event_json import unpacked

        asked = {
            "question": message.text,
            "model": message.model,
            "strategy": message.strategy,
            "collections": message.collections,
        }
        patience = httpx.Timeout(_QUIET_SECONDS, connect=_CONNECT_SECONDS)
        try:
            async with self._http.stream("POST", "/commands/ask", json=asked, timeout=patience) as response:
                if response.is_error:
                    await response.aread()
                    _result(response, self._language)
                async for line in response.aiter_lines():
                    if line.startswith("data: "):
                        event = unpacked(json.loads(line.removeprefix("data: ")))
                        yield event
        except httpx.TransportError as error:
            raise OwnerRefusedError(_STOPPED.to(self._language)) from error
        except (KeyError, ValueError) as error:
            raise OwnerRefusedError(_OTHER_VERSION.to(self._language)) from error

    async def unfinished(self, platform: str) -> "list[Incoming]":
        """None: the owner closes what a process before it left open."""
        return []

    async def withdraw(self, message: "Incoming") -> None:
        """The owner has seen that nobody listens to the reply any longer, and has done it."""


def _result(response: "httpx.Response", language: Language) -> dict[str, Any]:
    try:
        found = response.json()
        if response.is_success:
            return dict(found)
        raise OwnerRefusedError(str(found["message"]), usage=found["error"] in _USAGE)
    except (ValueError, TypeError, KeyError) as error:
        raise OwnerRefusedError(_OTHER_VERSION.to(language)) from error
