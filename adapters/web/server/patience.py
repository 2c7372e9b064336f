"""Connections whose requests do not come to an end: each is given some seconds, and so many are borne with at once.

uvicorn waits for a request for ever, as slow as it comes. Bodies are the guard's to time; here are the heads before
them, what is left of a body after its answer, and how many there are of all these together. Source: reliability.md R20;
uvicorn's protocols/http/h11_impl.py, whose class this one grows from."""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from adapters.web.api import errors
from retrieval.i18n import Language, Text

HEAD_SECONDS = 10.0  # for a head, since its first byte or since the connection
LINGER_SECONDS = 2.0  # after a refusal, for its reader
UNFINISHED = 256  # at a time. One more, and that of which nothing came for longest is closed


@dataclass(slots=True)
class Patience:
    """Of one server. `language`: of what is said to who has not said theirs."""

    language: Language
    head_seconds: float = HEAD_SECONDS
    unfinished: int = UNFINISHED
    waiting: "OrderedDict[PatientConnection, None]" = field(default_factory=OrderedDict)  # the latest to have sent last


class PatientConnection(H11Protocol):
    """One connection."""

    patience: Patience

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self._timer: asyncio.TimerHandle | None = None
        self._handed_on = False  # to the protocol of sockets
        self._refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._wait(timed=True)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        if self in self.patience.waiting:
            self.patience.waiting.move_to_end(self)
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        self._handed_on = True
        super().handle_websocket_upgrade(event)

    def connection_lost(self, exc: Exception | None) -> None:
        self._done()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "not_http", errors.NOT_HTTP)

    def _look(self) -> None:
        """Whether a request is under way that has not come whole."""
        match self.conn.their_state:
            case _ if self._handed_on or self._refused or self.transport.is_closing():
                self._done()
            case h11.SEND_BODY:
                self._wait(timed=self.cycle.response_complete)
            case h11.IDLE if self.conn.trailing_data[0]:
                self._wait(timed=True)
            case h11.IDLE if self.cycle is None:
                pass  # nothing has come so far
            case _:
                self._done()

    def _wait(self, *, timed: bool) -> None:
        waiting = self.patience.waiting
        waiting.setdefault(self)
        if timed and self._timer is None:
            self._timer = self.loop.call_later(self.patience.head_seconds, self._too_slow)
        elif not timed:
            self._stop()
        if len(waiting) > self.patience.unfinished:
            stillest, _ = waiting.popitem(last=False)
            stillest.transport.close()

    def _done(self) -> None:
        self.patience.waiting.pop(self, None)
        self._stop()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        if self.conn.our_state is h11.IDLE and self.conn.trailing_data[0]:
            self._refuse(408, "too_slow", errors.TOO_SLOW, seconds=round(self.patience.head_seconds))
        else:
            self.transport.close()

    def _refuse(self, status: int, error: str, said: Text, **values: object) -> None:
        """The answer to what never became a request; then the connection is closed: at once it would be reset where
        more is still coming, and the answer lost with it. Source: RFC 9112 §9.6."""
        if self._refused or self.transport.is_closing():
            return
        self._refused = True
        self._done()
        refusal = errors.refusal(status, error, said.to(self.patience.language, **values), {"Connection": "close"})
        reason = HTTPStatus(status).phrase.encode()
        for event in (
            h11.Response(status_code=status, headers=refusal.raw_headers, reason=reason),
            h11.Data(data=bytes(refusal.body)),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.write_eof()
        self._timer = self.loop.call_later(LINGER_SECONDS, self.transport.close)


def patient(patience: Patience) -> type[PatientConnection]:
    """The protocol of a server, whose connections share its patience."""

    class Patient(PatientConnection):
        pass

    Patient.patience = patience
    return Patient
