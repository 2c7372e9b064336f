"""A network in front of a PostgreSQL server: it can be cut, fall silent with its connections open, lose the answer to a
commit, and swallow notices as a pool of connections in between does that gives each transaction another one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from sqlalchemy.engine import make_url

_SOCKET = ".s.PGSQL.5432"
_NOTICE = b"A"
_COMMITTED = b"C", b"COMMIT\0"


class Network:
    """What the connections through it meet."""

    def __init__(self) -> None:
        self.passes_notices = True
        self.loses_commit = False  # the next one takes effect, and its connection ends before that is said
        self.is_away = False
        self._connections: set[asyncio.StreamWriter] = set()
        self._silent: set[asyncio.StreamWriter] = set()

    def cut(self) -> None:
        """Ends the connections there are."""
        for one in self._connections:
            one.transport.abort()

    def fall_silent(self) -> None:
        """The connections there are stay open and pass nothing on any more."""
        self._silent |= self._connections

    async def carry(self, server: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.is_away:
            writer.transport.abort()
            return
        from_server, to_server = await asyncio.open_unix_connection(server)
        self._connections |= {writer, to_server}
        questions = asyncio.create_task(self._questions(reader, to_server))
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                kind, size = await from_server.readexactly(1), await from_server.readexactly(4)
                said = await from_server.readexactly(int.from_bytes(size, "big") - 4)
                if self.loses_commit and (kind, said) == _COMMITTED:
                    self.loses_commit = False
                    break
                if writer not in self._silent and (self.passes_notices or kind != _NOTICE):
                    writer.write(kind + size + said)
                    await writer.drain()
        questions.cancel()
        await asyncio.gather(questions, return_exceptions=True)
        self._connections -= {writer, to_server}
        for one in (writer, to_server):
            one.transport.abort()

    async def _questions(self, reader: asyncio.StreamReader, to_server: asyncio.StreamWriter) -> None:
        while said := await reader.read(65_536):
            if to_server not in self._silent:
                to_server.write(said)
        to_server.transport.abort()


@asynccontextmanager
async def behind(address: str, folder: Path) -> AsyncIterator[tuple[str, Network]]:
    """The address of the same database through a network, whose socket is in `folder`."""
    network, there = Network(), make_url(address)
    server = f"{there.query['host']}/{_SOCKET}"

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await network.carry(server, reader, writer)

    listening = await asyncio.start_unix_server(carry, folder / _SOCKET)
    try:
        yield there.update_query_dict({"host": str(folder)}).render_as_string(hide_password=False), network
    finally:
        listening.close()
        network.cut()
        await listening.wait_closed()
