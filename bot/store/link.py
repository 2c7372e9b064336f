"""The way to a database on a server. Loads nothing of the database, since the settings hold one."""

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Tls = Literal["off", "prefer", "require", "verify"]

CONNECTIONS = 15
CONNECT_SECONDS = 10
STATEMENT_SECONDS = 60


@dataclass(frozen=True, slots=True)
class ServerLink:
    """`connections` of a process at most; seconds until a connection and until the result of a statement are given up.
    `tls` None: as the address says; `verify` believes the authorities of the system, or those in the file `ca`."""

    connections: int = CONNECTIONS
    connect_seconds: int = CONNECT_SECONDS
    statement_seconds: int = STATEMENT_SECONDS
    tls: Tls | None = None
    ca: Path | None = None

    def arguments(self) -> dict[str, Any]:
        """The driver's arguments for a connection on which a statement takes as long as it takes. Raises OSError for a
        `ca` that cannot be read."""
        given: dict[str, Any] = {"timeout": self.connect_seconds}
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
        """`arguments`, with an end to every statement."""
        limits = {"application_name": "kotae", "statement_timeout": str(self.statement_seconds * 1000)}
        return self.arguments() | {"server_settings": limits}
