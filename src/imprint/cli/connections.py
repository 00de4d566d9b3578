"""Connections: a bound on how long the head of a request may be, and how long it may take.

The head is the request line and the headers. The server below neither counts nor times it: a
client that never ends it would be listened to for ever, and everything it sends would be kept.
"""

import asyncio
from typing import Any

from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from imprint.domain.refusals import Code, Refusal
from imprint.web.intake import DRAIN_SECONDS, MAX_DRAINED
from imprint.web.problems import problem_answer

MAX_HEAD_BYTES = 64 * 1024
"""How long a request line and its headers may be together; what browsers send is far below."""

HEAD_SECONDS = 10.0
"""How long a client may take from its first byte, or its connection, to the end of the headers."""

_AROUND_HEADER = len(b": \r\n")


class _HeadTooLong(Exception):
    """The head of a request has more bytes than are read."""


class BoundedConnection(HttpToolsProtocol):
    """A connection whose requests begin within bounds, or it is closed."""

    head_seconds = HEAD_SECONDS

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._is_in_head = True
        self._is_refused = False
        self._taken = 0
        self._told = 0
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._taken += len(data)
        if self._is_refused:
            if self._taken > MAX_DRAINED:
                self.transport.close()
            return
        super().data_received(data)
        if self.transport.is_closing() or self._is_refused or not self._is_in_head:
            return
        if self._taken > MAX_HEAD_BYTES:
            # A header that has not ended yet is counted nowhere else.
            self.send_400_response("")
        elif self._deadline is None:
            self._await_head()

    def on_message_begin(self) -> None:
        self._told = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        # Also those that follow a body in chunks.
        self._count(len(name) + len(value) + _AROUND_HEADER)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        self._cancel_deadline()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._is_in_head = True
        self._taken = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        if not self.pipeline and not self._is_in_head:
            # Who has its answer and goes on sending the same body would be listened to for ever.
            self.transport.close()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Tell a client that its request cannot be read, in the body that all refusals have."""
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            detail = "The request cannot be read."
            if max(self._taken, self._told) > MAX_HEAD_BYTES:
                detail = f"The request line and headers have at most {MAX_HEAD_BYTES} bytes."
            self.transport.write(_spell(problem_answer(Refusal(Code.INVALID_REQUEST, detail))))
        self._let_go()

    def _let_go(self) -> None:
        # Closed while the client still sends, the answer would be lost: its system discards it.
        self._is_refused = True
        self._cancel_deadline()
        self._deadline = self.loop.call_later(DRAIN_SECONDS, self.transport.close)
        if self.cycle is not None and not self.cycle.response_complete:
            # Whoever answers this request has nobody to answer to any more.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.write_eof()

    def _count(self, size: int) -> None:
        self._told += size
        if self._told > MAX_HEAD_BYTES:
            raise _HeadTooLong

    def _await_head(self) -> None:
        self._deadline = self.loop.call_later(self.head_seconds, self._give_up)

    def _give_up(self) -> None:
        self._deadline = None
        if self.pipeline or (self.cycle is not None and not self.cycle.response_complete):
            # An earlier request is still being answered, and its client is waiting for that.
            self._await_head()
        else:
            self.transport.close()

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _spell(answer: Response) -> bytes:
    lines = [name + b": " + value + b"\r\n" for name, value in answer.raw_headers]
    head = STATUS_LINE[answer.status_code] + b"".join(lines) + b"connection: close\r\n\r\n"
    return head + bytes(answer.body)
