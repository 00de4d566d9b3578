"""One HTTP connection: limits on what it may send, buffer and wait for.

uvicorn limits neither the head of a request (the request line and the headers), nor the number of
requests waiting behind the running one, nor the time that a client takes to read a response. A
client could hold its connection, and the memory for the data it sent, forever.
"""

import asyncio
import contextlib
import logging
import socket
import struct
from collections.abc import Iterable
from typing import Any, cast

import httptools
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from imprint.domain.drafts.files import new_id
from imprint.domain.errors import Code, Problem, Refusal, Unavailable
from imprint.metrics import CONNECTIONS_CLOSED, RESPONSES
from imprint.server.connection_limits import Admission, OpenConnections
from imprint.web.http.middleware import (
    DRAIN_SECONDS,
    MAX_DRAINED,
    OTHER_PATHS,
    RAW_SECURITY_HEADERS,
    request_id,
)
from imprint.web.http.problems import problem_response

log = logging.getLogger("imprint.request")


MAX_HEAD_BYTES = 64 * 1024
"""Maximum number of bytes of a request line and its headers together. Browsers send far less."""

MAX_HEADERS = 128
"""Maximum number of headers. Even a short header takes many times its length in memory."""

MAX_QUEUED = 16
"""Maximum number of requests per connection that wait for the running one."""

MAX_UNPARSED_BYTES = 64 * 1024
"""Maximum number of bytes buffered behind a full queue. If there are more, the connection is
closed once the queue is empty."""

MAX_UNSENT = 4096
"""Number of unsent bytes above which writing is paused and a timer runs.

This is enough for the head of a response, which is sent together with the body. A
connection therefore buffers about one chunk of a response.
"""

WRITE_CHECKS = 4
"""Number of times per write timeout that the progress of a reading client is checked."""

_DISCARD_UNSENT = struct.pack("ii", 1, 0)
"""The `SO_LINGER` value for a socket that is to be reset when it is closed."""

_HEADER_SEPARATORS = len(b": \r\n")

_SHORTEST_REQUEST = len(b"GET / HTTP/1.1\r\n\r\n")
"""Length of the shortest request. A slice this long contains the end of at most one request."""

_LINES_OF_REQUEST = 3
"""Minimum number of lines in a request: the request line, `Host` and the empty line."""

_UNQUEUED_BYTES = MAX_QUEUED * _SHORTEST_REQUEST
"""Number of bytes that contain at most as many requests as the queue may hold."""

_HOST, _AUTHORIZATION, _TRANSFER_ENCODING, _CONTENT_LENGTH, _EXPECT = 1, 2, 4, 8, 16
_INSPECTED = {
    b"host": _HOST,
    b"authorization": _AUTHORIZATION,
    b"transfer-encoding": _TRANSFER_ENCODING,
    b"content-length": _CONTENT_LENGTH,
    b"expect": _EXPECT,
}
"""A bit flag for each header that is checked here."""

_UNREPEATABLE = _HOST | _AUTHORIZATION


class _Unreadable(Exception):
    """The request breaks a rule. The connection has stored the refusal to send."""


class _Flow(FlowControl):
    """Flow control that resumes reading only while it is not `held`.

    uvicorn resumes whenever the application waits for a message or has sent a response, no matter
    how full the queue is.
    """

    held = False

    def resume_reading(self) -> None:
        if not self.held:
            super().resume_reading()


_CONTINUE = b"HTTP/1.1 100 "
"""The start of an interim response, after which the client sends the body of its request."""


class _JoiningTransport:
    """The transport of one response, which sends the head together with the start of the body.

    uvicorn writes them separately. On loopback, the additional system call, and waking a client
    that cannot do anything with the head alone, take a quarter of the time of a short request.
    """

    __slots__ = ("_has_head", "_head", "_transport")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head: bytes | None = None
        self._has_head = False

    def write(self, data: bytes) -> None:
        if self._head is not None:
            data = self._head + data
            self._head = None
        elif not self._has_head and not data.startswith(_CONTINUE):
            self._has_head = True
            self._head = data
            return
        self._transport.write(data)

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def close(self) -> None:
        if self._head is not None:
            self.write(b"")
        self._transport.close()


class HttpConnection(HttpToolsProtocol):
    """A connection with limits on everything that its client can make it buffer or wait for.

    Requests that arrive while one is running wait in `pipeline`. Reading is paused while any
    request is waiting, and bytes that were read beyond the queue stay in `_unparsed`. The next
    request is started once the client has read the response to the previous one.
    """

    flow: _Flow

    def __init__(self, *args: Any, opened: OpenConnections, **named: Any) -> None:
        super().__init__(*args, **named)
        self._opened = opened
        self._limits = opened.limits
        self._is_counted = False
        self._running: RequestResponseCycle | None = None
        # The request that is being received.
        self._in_head = True
        self._received = 0
        self._head_size = 0
        self._seen = 0
        self._body_left = 0
        self._problem: Problem | None = None
        self._deadline: asyncio.TimerHandle | None = None
        # Pending actions for when no request is running or waiting.
        self._unparsed = b""
        self._refusal: Problem | None = None
        self._is_last = False
        self._ignores_input = False
        # Bytes that the client has not read yet.
        self._progress_check: asyncio.TimerHandle | None = None
        self._unsent = 0
        self._stalled_checks = 0

    # The transport

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = _Flow(transport)
        transport.set_write_buffer_limits(high=MAX_UNSENT)
        admission = self._opened.add(self._address)
        self._is_counted = admission is not Admission.FULL
        if admission is Admission.ADMITTED:
            self._start_deadline()
            return
        self._ignores_input = True
        if admission is Admission.FULL:
            transport.abort()
            return
        detail = "There are too many connections from this address."
        self._send_refusal(Unavailable(Code.OVERLOADED, detail))
        if admission is Admission.DROPPED:
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_deadline()
        self._stop_progress_checks()
        if self._is_counted:
            self._opened.remove(self._address)
        self.pipeline.clear()
        self._unparsed = b""
        if self._running is not None and not self._running.response_complete:
            # uvicorn notifies only the last request.
            self._running.disconnected = True
            self._running.message_event.set()
        super().connection_lost(exc)

    def eof_received(self) -> bool:  # type: ignore[override]
        """Keep a half-closed connection open until every complete request has its response."""
        if not self._drop_incomplete() or not self._is_busy:
            return False
        self._is_last = self.flow.held = True
        return True

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_unsent()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_progress_checks()
        if self._running is not None and self._running.response_complete:
            self._go_on()

    # The parser

    def data_received(self, data: bytes) -> None:
        size = len(data)
        self._received += size
        if self._ignores_input:
            if self._received > MAX_DRAINED:
                self._close()
            return
        self._unset_keepalive_if_required()
        room = MAX_QUEUED - len(self.pipeline)
        if (
            size <= _UNQUEUED_BYTES
            or size <= self._body_left
            or data.count(b"\r") < room * _LINES_OF_REQUEST
        ):
            self._parse(data)
        else:
            self._parse_within_queue(data)
        if self.pipeline:
            self.flow.held = True
        if self._in_head and self._received and not self._ignores_input:
            self._limit_head()

    def _parse(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # The response closes the connection, so nothing after this request is read.
            self._ignores_input = True
        except httptools.HttpParserError:
            self._refuse(self._problem or _unreadable("The request cannot be read."))

    def _parse_within_queue(self, data: bytes) -> None:
        """Parse requests until the queue is full, and buffer the remaining bytes."""
        start = 0
        while start < len(data) and not self._ignores_input:
            if len(self.pipeline) >= MAX_QUEUED:
                self._unparsed = data[start:]
                break
            end = start + max(self._body_left, _SHORTEST_REQUEST)
            self._parse(data[start:end])
            start = end
        if len(self._unparsed) > MAX_UNPARSED_BYTES:
            CONNECTIONS_CLOSED.labels("pipelining").inc()
            self._unparsed = b""
            self._ignores_input = self._is_last = True
            self._drop_incomplete()

    def _limit_head(self) -> None:
        if self.transport.is_closing():
            return
        if self._received > MAX_HEAD_BYTES:
            # The callback that counts a header is called only at the end of the header.
            self._refuse(_head_too_long())
        elif self._deadline is None:
            self._start_deadline()

    def on_message_begin(self) -> None:
        self._head_size = self._seen = self._body_left = 0
        # Not zero, even if the read that brings this request also completed the previous one.
        self._received = self._received or 1
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value) + _HEADER_SEPARATORS)
        if not self._in_head:
            # A trailer of a chunked body: the application already has the headers.
            return
        name = name.lower()
        value = value.rstrip(b" \t")
        if name in _INSPECTED:
            self._inspect(name, value)
        self.headers.append((name, value))
        if len(self.headers) > MAX_HEADERS:
            self._fail(_unreadable(f"A request may have at most {MAX_HEADERS} headers."))

    def on_headers_complete(self) -> None:
        if not self._seen & _HOST and self.parser.get_http_version() >= "1.1":
            self._fail(_unreadable("The header Host is missing."))
        is_upgrade = self.parser.should_upgrade()
        if is_upgrade and (self._body_left or self._seen & _TRANSFER_ENCODING):
            # The parser mistakes the body for bytes of the upgraded protocol.
            self._fail(_unreadable("A request with a body cannot upgrade the connection."))
        super().on_headers_complete()
        if is_upgrade:
            self.cycle.keep_alive = False
        self._in_head = False
        self._cancel_deadline()

    def on_body(self, body: bytes) -> None:
        self._body_left -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_head = True
        self._received = self._body_left = 0
        super().on_message_complete()

    def _inspect(self, name: bytes, value: bytes) -> None:
        bit = _INSPECTED[name]
        if self._seen & bit & _UNREPEATABLE:
            self._fail(_unreadable(f"The header {name.decode().title()} is repeated."))
        self._seen |= bit
        if bit == _CONTENT_LENGTH:
            self._body_left = int(value)
        elif bit == _EXPECT:
            self.expect_100_continue = value.lower() == b"100-continue"
        elif bit == _TRANSFER_ENCODING and value.lower() != b"chunked":
            detail = "The only supported Transfer-Encoding is chunked."
            self._fail(Refusal(Code.NOT_IMPLEMENTED, detail))

    def _count(self, size: int) -> None:
        self._head_size += size
        if self._head_size > MAX_HEAD_BYTES:
            self._fail(_head_too_long())

    def _fail(self, problem: Problem) -> None:
        self._problem = problem
        raise _Unreadable

    # Responses

    @property
    def _is_busy(self) -> bool:
        """Whether a request is running or waiting."""
        running = self._running
        return bool(self.pipeline) or (running is not None and not running.response_complete)

    @property
    def _holds_reading(self) -> bool:
        return bool(self.pipeline or self._unparsed or self._refusal or self._is_last)

    def _drop_incomplete(self) -> bool:
        """Discard the last request if its body is incomplete. Returns False if it is already
        running."""
        if self.cycle is None or not self.cycle.more_body or not self._is_busy:
            return True
        if not self.pipeline:
            return False
        self.pipeline.popleft()
        self._in_head = True
        return True

    def close_after_response(self) -> None:
        """Close the connection after the response to the running request, if it has not begun."""
        if self._running is not None and not self._running.response_started:
            self._running.keep_alive = False

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        if self._opened.is_draining:
            cycle.keep_alive = False
        # A response to HEAD has no body that its head could wait for.
        if cycle.scope["method"] != "HEAD":
            cycle.transport = cast(asyncio.Transport, _JoiningTransport(self.transport))
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        if not self.pipeline and not self._in_head:
            # A client that has its response and is still sending the body could send forever.
            self.transport.close()
        if self.transport.is_closing():
            self._watch_unsent()
        elif self.flow.write_paused:
            # The client has not read this response yet. `resume_writing` continues.
            self.flow.pause_reading()
        else:
            self._go_on()

    def _go_on(self) -> None:
        """Start the next request. If no request is waiting, close the connection or wait."""
        if self.transport.is_closing():
            return
        self._unset_keepalive_if_required()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        if self._unparsed and not self.pipeline:
            unparsed, self._unparsed = self._unparsed, b""
            self._parse_within_queue(unparsed)
        self.flow.held = self._holds_reading
        if self._is_busy:
            self.flow.resume_reading()
        elif self._refusal is not None:
            self._send_refusal(self._refusal)
        elif self._is_last:
            self._close()
        elif not self._ignores_input:
            self.flow.resume_reading()
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    # Refusals

    @property
    def received(self) -> int:
        """Number of bytes of the current request received so far."""
        return self._received

    @property
    def receives_head(self) -> bool:
        """Whether part of a request line or its headers has arrived."""
        return self._in_head and self._received > 0 and not self._ignores_input

    @property
    def receives_body(self) -> bool:
        """Whether the headers of a request have arrived but its body is incomplete."""
        return not self._in_head and not self._ignores_input and not self.transport.is_closing()

    def refuse_rest(self, problem: Problem) -> None:
        """Refuse the request being received, after the responses to earlier ones."""
        self._refuse(problem)

    def send_400_response(self, msg: str) -> None:
        """Refuse malformed HTTP."""
        self._refuse(_unreadable("The request cannot be read."))

    def _refuse(self, problem: Problem) -> None:
        """Send a refusal after the responses to earlier requests, and stop reading."""
        self._cancel_deadline()
        self._ignores_input = True
        self._unparsed = b""
        if not self._drop_incomplete():
            # The application must not wait for the rest of the body.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            self._send_refusal(None if self.cycle.response_started else problem)
        elif self._is_busy or self.flow.write_paused:
            self._refusal = problem
            self.flow.pause_reading()
            self.flow.held = True
        else:
            self._send_refusal(problem)

    def _send_refusal(self, problem: Problem | None) -> None:
        self._ignores_input, self._refusal = True, None
        if problem is not None:
            self.transport.write(write_refusal(problem, self.server_state.default_headers))
        # A client that is still sending when the connection is closed never sees the response.
        self._cancel_deadline()
        self._deadline = self.loop.call_later(DRAIN_SECONDS, self._close)
        self.transport.write_eof()
        self.flow.held = False
        self.flow.resume_reading()

    # Timers

    @property
    def _address(self) -> str:
        return self.client[0] if self.client else "-"

    def _start_deadline(self) -> None:
        self._deadline = self.loop.call_later(self._limits.head_seconds, self._on_deadline)

    def _on_deadline(self) -> None:
        self._deadline = None
        if self._is_busy or self.flow.write_paused:
            # The client is waiting for, or reading, the response to an earlier request.
            self._start_deadline()
        else:
            self._close()

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._watch_unsent()

    def _close(self) -> None:
        self.transport.close()
        self._watch_unsent()

    def _watch_unsent(self) -> None:
        """Check the progress of a client that has not read all of its responses yet."""
        self._unsent = self.transport.get_write_buffer_size()
        if self._unsent and self._progress_check is None:
            self._stalled_checks = 0
            self._schedule_progress_check()

    def _schedule_progress_check(self) -> None:
        seconds = self._limits.write_seconds / WRITE_CHECKS
        self._progress_check = self.loop.call_later(seconds, self._check_progress)

    def _check_progress(self) -> None:
        """Abort the connection if its client has not read a byte within the write timeout.

        A regular close would wait for the client, even after the last response.
        """
        unsent = self.transport.get_write_buffer_size()
        if not unsent:
            self._progress_check = None
            return
        self._stalled_checks = self._stalled_checks + 1 if unsent >= self._unsent else 0
        self._unsent = unsent
        if self._stalled_checks < WRITE_CHECKS:
            self._schedule_progress_check()
            return
        self._progress_check = None
        CONNECTIONS_CLOSED.labels("write_timeout").inc()
        # Otherwise, the operating system would keep the unsent bytes for minutes.
        peer: socket.socket = self.transport.get_extra_info("socket")
        with contextlib.suppress(OSError):
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _DISCARD_UNSENT)
        self.transport.abort()

    def _stop_progress_checks(self) -> None:
        if self._progress_check is not None:
            self._progress_check.cancel()
            self._progress_check = None


def _unreadable(detail: str) -> Refusal:
    return Refusal(Code.INVALID_REQUEST, detail)


def _head_too_long() -> Refusal:
    return _unreadable(f"The request line and headers may have at most {MAX_HEAD_BYTES} bytes.")


def write_refusal(problem: Problem, default_headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return the bytes of a refusal that bypasses the application, and count and log it."""
    response = problem_response(problem)
    token = request_id.set(new_id())
    fields = {"status": response.status_code, "code": problem.code}
    RESPONSES.labels(OTHER_PATHS, response.status_code, problem.code).inc()
    log.info("responded", extra={"method": None, "path": None, **fields, "milliseconds": 0})
    headers = [
        *default_headers,
        *response.raw_headers,
        (b"x-request-id", request_id.get().encode()),
        *RAW_SECURITY_HEADERS,
        (b"connection", b"close"),
    ]
    request_id.reset(token)
    lines = [name + b": " + value + b"\r\n" for name, value in headers]
    return STATUS_LINE[response.status_code] + b"".join(lines) + b"\r\n" + bytes(response.body)
