"""A network in front of a PostgreSQL server: it can be cut, fall silent with its connections open, lose the answer to a
commit, and swallow notices as a pool of connections in between does that gives each transaction another one; and such a
pool, of a single session."""

import asyncio
import itertools
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


# -- a pool ---------------------------------------------------------------------------------------------------------

_READY, _IDLE, _END, _TERMINATE = b"Z", b"I", b"S", b"X"
_NAMED = b"PBDC"  # Parse, Bind, Describe, Close


class Pool:
    """As PgBouncer in transaction mode: all clients have the one session in turn, each until its transaction is over.
    Source: pgbouncer.org/config.html, pool_mode, ignore_startup_parameters, max_prepared_statements."""

    def __init__(self, *, keeps_statements_apart: bool, takes_limits: bool) -> None:
        """`keeps_statements_apart`: since 1.21 clients may give statements the same name. `takes_limits`: it is told to
        ignore parameters of the startup that it does not know."""
        self._apart = keeps_statements_apart
        self._takes = takes_limits
        self._free = asyncio.Lock()
        self._numbers = itertools.count()
        self._server: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._greeting = b""

    async def serve(self, server: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One client, from its startup to its end."""
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            startup, number = await _body(reader), next(self._numbers)
            if not self._takes and b"statement_timeout" in startup:
                writer.write(b"E" + _sized(b"SFATAL\0C08P01\0Munsupported startup parameter: statement_timeout\0\0"))
                last = _TERMINATE
            else:
                async with self._free:
                    writer.write(await self._greet(server, startup))
                last = b""
            while last != _TERMINATE:
                last = await self._transaction(reader, writer, number)
        writer.close()

    async def close(self) -> None:
        if self._server is not None:
            self._server[1].transport.abort()

    async def _greet(self, server: str, startup: bytes) -> bytes:
        """The server's answer to the first startup, which all clients get."""
        if self._server is None:
            self._server = there, to_server = await asyncio.open_unix_connection(server)
            to_server.write(_sized(startup))
            kind = b""
            while kind != _READY:
                kind, said = await _message(there)
                self._greeting += kind + _sized(said)
        return self._greeting

    async def _transaction(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> bytes:
        """From a client's first message until the server is idle again; the kind of the last one."""
        kind, said = await _message(reader)
        if kind == _TERMINATE or self._server is None:
            return _TERMINATE
        there, to_server = self._server
        async with self._free:
            answers = asyncio.ensure_future(self._answers(there, writer))
            while True:
                to_server.write(kind + _sized(self._renamed(kind, said, number)))
                if kind in (b"Q", _END) and await answers == _IDLE:
                    return kind
                if answers.done():
                    answers = asyncio.ensure_future(self._answers(there, writer))
                kind, said = await _message(reader)

    async def _answers(self, there: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        """Passed on until the server is ready for more; the state it is in then."""
        while True:
            kind, said = await _message(there)
            writer.write(kind + _sized(said))
            if kind == _READY:
                return said

    def _renamed(self, kind: bytes, said: bytes, number: int) -> bytes:
        """The message with the client's own name for a statement, in the place of the one that it gave."""
        if not self._apart or kind not in _NAMED or (kind in b"DC" and said[:1] != b"S"):
            return said
        head = said[: said.index(b"\0") + 1] if kind == b"B" else said[:1] if kind in b"DC" else b""
        rest = said[len(head) :]
        return head + (b"%d-" % number if rest[:1] != b"\0" else b"") + rest


async def _body(reader: asyncio.StreamReader) -> bytes:
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big") - 4)


async def _message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    return await reader.readexactly(1), await _body(reader)


def _sized(said: bytes) -> bytes:
    return (len(said) + 4).to_bytes(4, "big") + said


@asynccontextmanager
async def pooled(
    address: str, folder: Path, *, keeps_statements_apart: bool = True, takes_limits: bool = True
) -> AsyncIterator[str]:
    """The address of the same database behind a pool, whose socket is in `folder`."""
    pool, there = Pool(keeps_statements_apart=keeps_statements_apart, takes_limits=takes_limits), make_url(address)
    server = f"{there.query['host']}/{_SOCKET}"

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await pool.serve(server, reader, writer)

    listening = await asyncio.start_unix_server(serve, folder / _SOCKET)
    try:
        yield there.update_query_dict({"host": str(folder)}).render_as_string(hide_password=False)
    finally:
        listening.close()
        await pool.close()
        await listening.wait_closed()
