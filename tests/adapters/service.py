"""The HTTP API of a real application, served on its home's socket and on an address by a thread with a loop of its
own."""

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self, TypeVar

import httpx
from pydantic import SecretStr
from sqlalchemy import create_engine, text

from adapters.port import Webhook
from adapters.web.channel.adapter import web_adapter
from adapters.web.server.patience import Patience
from adapters.web.server.server import serving
from adapters.web.server.sockets import Address, listen
from bot.app import Application, running
from bot.cli.remote import SOCKET
from bot.logs import ChatLog, Redactor
from bot.store.turns import TurnStore
from bot.turns.queue import TurnQueue
from bot.turns.turns import Turns
from tests.bot.acting import Act, Agent
from tests.bot.sample_turns import settings

T = TypeVar("T")


class Service:
    """`with Service(home) as service:`; with acts the agent plays those, one a question."""

    def __init__(
        self,
        home: Path,
        *acts: Act,
        host: str = "127.0.0.1",
        token: str | None = None,
        front: str | None = None,
        platforms: Callable[[], Mapping[str, bool]] = dict,
        change: Callable[[Application], Application] = lambda app: app,
        pages: bool = False,
        patience: Patience | None = None,
        webhooks: Mapping[str, Webhook] = MappingProxyType({}),
        **given: Any,
    ) -> None:
        self.home = home
        self._acts = acts
        self._settings = settings(home, **given)
        self._platforms = platforms
        self._change = change
        self._pages = pages
        self._patience = patience
        self._webhooks = webhooks
        self._address: Address = listen(host, 0, token=SecretStr(token) if token else None, front=front)
        self.port, self.url = self._address.port, self._address.url  # also when it has stopped
        self._started = threading.Event()
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._started.wait(60)
        if self._failed is not None:
            raise self._failed
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self._thread.join(60)
        assert not self._thread.is_alive()

    def stop(self) -> None:
        """Begin to; leaving the block waits for it."""
        with suppress(RuntimeError):  # it has stopped since an earlier call, and its loop is closed
            self._loop.call_soon_threadsafe(self._stopped.set)

    def client(self, **headers: str) -> httpx.Client:
        """Through the address, as a program; without TLS there are no certificates to load, 45 ms."""
        return httpx.Client(base_url=self.url, headers=headers, timeout=60, trust_env=False, verify=False)

    def commands(self, **headers: str) -> httpx.Client:
        """Through the home's socket, as a command."""
        transport = httpx.HTTPTransport(uds=str(self.home / SOCKET), verify=False)
        return httpx.Client(base_url="http://kotae", transport=transport, headers=headers, timeout=60)

    def raw(self, sent: bytes) -> bytes:
        """What comes back for these bytes, until the server closes."""
        with closing(socket.create_connection(("127.0.0.1", self.port), timeout=30)) as connection:
            connection.sendall(sent)
            received = b""
            with suppress(ConnectionResetError):  # the server closes with bytes of ours unread, after its answer
                while part := connection.recv(65536):
                    received += part
            return received

    def do(self, work: Callable[[Application], Coroutine[Any, Any, T]]) -> T:
        """Something with the application itself, on its loop."""
        return asyncio.run_coroutine_threadsafe(work(self.app), self._loop).result(60)

    def turns(self) -> list[tuple[str, str]]:
        """Questions and their states, in order."""
        engine = create_engine(f"sqlite:///{self.home / 'kotae.db'}")
        with engine.connect() as db:
            found = [
                (row.text, row.state) for row in db.execute(text("SELECT text, state FROM turns ORDER BY sequence"))
            ]
        engine.dispose()
        return found

    def _serve(self) -> None:
        try:
            asyncio.run(self._main())
        except BaseException as error:
            self._failed = error
        finally:
            self._started.set()

    async def _main(self) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        async with running(self._settings, Redactor()) as app:
            inbox = TurnQueue(TurnStore(app.data.engine))
            self.app = self._change(self._acting(app, inbox) if self._acts else app)
            try:
                web = web_adapter(self.app, self.url) if self._pages else None
                how: dict[str, Any] = {"web": web, "platforms": self._platforms, "patience": self._patience}
                async with serving(self.app, self._address, webhooks=self._webhooks, **how):
                    self._started.set()
                    await self._stopped.wait()
            finally:
                await inbox.close()

    def _acting(self, app: Application, inbox: TurnQueue) -> Application:
        turns = Turns(
            inbox,
            app.data.conversations,
            app.data.votes,
            make_agent=Agent(list(self._acts)).make,
            list_collections=lambda message, readers: app.knowledge.collections(readers),
            chat_log=ChatLog(app.settings.chat_log, Redactor()),
        )
        return replace(app, bot=replace(app.bot, turns=turns))
