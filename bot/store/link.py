"""The way to a database on a server. Loads nothing of the database, since the settings hold one.

Source: PostgreSQL 15, 20.3 (keepalives), 20.11 (time limits) and 34.1 (several hosts).
"""

import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Tls = Literal["off", "prefer", "require", "verify"]

CONNECTIONS = 15
LEAST = 8  # the locks of a process may take six at once, and whoever holds one waits for another to do its work
CONNECT_SECONDS = 10
STATEMENT_SECONDS = 60
IDLE_SECONDS = 30  # of a transaction, whose process stands still then; shorter than who waits for its rows does
SILENT_SECONDS = 10  # beyond the time of a statement, after which a server that says nothing at all is given up
GONE_SECONDS = 25  # after which a machine that is not heard of is taken for gone, on both sides
_NO_END = {"statement_timeout": "0", "idle_session_timeout": "0"}  # also where the server gives this user less
_ISOLATION = {"default_transaction_isolation": "read committed"}  # which all statements are written for
_ALIVE = {"tcp_keepalives_idle": "10", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3"}
_KEEPALIVE = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": GONE_SECONDS * 1000}


@dataclass(frozen=True, slots=True)
class ServerLink:
    """`connections` of a process at most; seconds until a connection, the result of a statement, and a transaction in
    which nothing is done are given up. `tls` None: as the address says; `verify` believes the authorities of the
    system, or those in the file `ca`."""

    connections: int = CONNECTIONS
    connect_seconds: int = CONNECT_SECONDS
    statement_seconds: int = STATEMENT_SECONDS
    tls: Tls | None = None
    ca: Path | None = None
    idle_seconds: int = IDLE_SECONDS

    def arguments(self) -> dict[str, Any]:
        """The driver's arguments for a connection on which a statement takes as long as it takes. Raises OSError for a
        `ca` that cannot be read."""
        given: dict[str, Any] = {
            "timeout": self.connect_seconds,
            "async_creator_fn": _InTurn(),
            "server_settings": {"application_name": "kotae", **_NO_END, **_ISOLATION, **_ALIVE},
        }
        match self.tls:
            case None:
                pass
            case "off":
                given["ssl"] = "disable"
            case "verify":
                given["ssl"] = ssl.create_default_context(cafile=self.ca)
            case mode:
                given["ssl"] = mode
        return given

    def bounded(self) -> dict[str, Any]:
        """`arguments`, with an end to every statement, and to a transaction in which nothing is done."""
        given = self.arguments()
        given["command_timeout"] = self.statement_seconds + SILENT_SECONDS
        given["server_settings"] |= {
            "statement_timeout": f"{self.statement_seconds}s",
            "idle_in_transaction_session_timeout": f"{self.idle_seconds}s",
        }
        return given


def _watch(connection: Any) -> None:
    """Let the system end a connection whose server has not been heard of for `GONE_SECONDS`: by itself it waits for a
    quarter of an hour, and whoever waits for an answer as long. asyncpg 0.32 offers no way to ask for that."""
    line: socket.socket | None = connection._transport.get_extra_info("socket")
    if line is None or line.family == socket.AF_UNIX:
        return
    line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if option := getattr(socket, name, None):  # not every system has each
            line.setsockopt(socket.IPPROTO_TCP, option, value)


class _InTurn:
    """Connects to the first of several servers that does what the address wants, beginning with the one that last did.
    Each is given up by itself: the driver would spend all its time on a machine that is not there any more."""

    def __init__(self) -> None:
        self._last: object = None

    async def __call__(self, *, host: Any = None, port: Any = None, **given: Any) -> Any:
        import asyncpg  # type: ignore[import-untyped]

        servers = list(zip(host, port, strict=True)) if isinstance(host, list) else [(host, port)]
        why: Exception | None = None
        for server in sorted(servers, key=lambda each: each != self._last):
            try:
                made = await asyncpg.connect(host=server[0], port=server[1], **given)
            except asyncpg.TargetServerAttributeNotMatched:
                why = asyncpg.ReadOnlySQLTransactionError("it cannot be written to")
            except (OSError, asyncpg.CannotConnectNowError, asyncpg.PostgresConnectionError) as error:
                why = error
            else:
                self._last = server
                _watch(made)
                return made
        assert why is not None  # there is one at least
        raise why
