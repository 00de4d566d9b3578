"""Minimal HTTP POST client for JSON-RPC nodes, because importing aiohttp would take 0.4 s.

The client keeps connections alive, limits response sizes, and follows no redirects
(docs/decisions/json-rpc-http-client.md).
"""

import asyncio
import ssl
from base64 import b64encode
from http import HTTPStatus
from urllib.parse import quote, unquote, urlsplit

import httptools

from imprint.traces import trace_headers

MAX_HEAD = 64 * 1024
"""Size limit for a response's headers, in bytes."""

MAX_EXCHANGES = 64
"""Maximum number of concurrent exchanges with one address. Excess exchanges wait."""

_SMALLEST_CHUNK = 6
"""Size in bytes of a chunk with a one-byte body, which has the worst overhead per byte."""

_PORTS = {"http": 80, "https": 443}
_PATH_SAFE = "/%:@!$&'()*+,;=~-._"
"""Characters that are not escaped in a path, because the path may already be escaped."""


class NodeFailure(Exception):
    """A node failed. The message is safe to log, because it never quotes the node or its
    address."""


class NodeRefusal(NodeFailure):
    """The node works, but not for this request: it returned an error or an oversized result."""


class HttpClient:
    """HTTP client for one address, with a pool of idle connections."""

    def __init__(self, address: str, max_response: int) -> None:
        parts = urlsplit(address)
        host = parts.hostname or ""
        self._host = host if ":" in host else host.encode("idna").decode()
        self._port = parts.port or _PORTS[parts.scheme]
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._head = self._write_head(parts.path, parts.query, parts.username, parts.password)
        self._max_response = max_response
        self._idle: list[_Connection] = []
        self._exchanges = asyncio.Semaphore(MAX_EXCHANGES)

    async def post(self, body: bytes, max_response: int | None = None) -> bytearray:
        """Send a request and return the response body. Raises `NodeFailure` and `OSError`.

        `max_response` overrides the client's limit. If an idle connection turns out to be closed,
        the request is sent again on a new one.
        """
        limit = self._max_response if max_response is None else max_response
        async with self._exchanges:
            while self._idle:
                idle = self._idle.pop()
                if idle.is_open:
                    try:
                        return await self._send(idle, body, limit)
                    except ConnectionError:
                        self.close()
            return await self._send(await self._connect(), body, limit)

    def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            self._idle.pop().abort()

    async def _send(self, connection: "_Connection", body: bytes, limit: int) -> bytearray:
        trace = "".join(f"{name}: {value}\r\n" for name, value in trace_headers().items())
        head = self._head + trace.encode()
        request = b"%bContent-Length: %d\r\n\r\n%b" % (head, len(body), body)
        try:
            response = await connection.send(request, limit)
        except BaseException:
            # A late response must not be mistaken for the response to the next request.
            connection.abort()
            raise
        if connection.is_open:
            self._idle.append(connection)
        return response

    async def _connect(self) -> "_Connection":
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(
            _Connection, self._host, self._port, ssl=self._tls
        )
        return connection

    def _write_head(self, path: str, query: str, user: str | None, password: str | None) -> bytes:
        target = quote(path, safe=_PATH_SAFE) or "/"
        if query:
            target += "?" + quote(query, safe=_PATH_SAFE + "?")
        host = f"[{self._host}]" if ":" in self._host else self._host
        lines = [
            f"POST {target} HTTP/1.1",
            f"Host: {host}:{self._port}",
            "Content-Type: application/json",
            # No compression, so that the limit on received bytes also limits the response.
            "Accept-Encoding: identity",
            "User-Agent: imprint",
        ]
        if user is not None or password is not None:
            secret = f"{unquote(user or '')}:{unquote(password or '')}".encode()
            lines.append(f"Authorization: Basic {b64encode(secret).decode()}")
        return "".join(f"{line}\r\n" for line in lines).encode()


class _Connection(asyncio.Protocol):
    """One connection with at most one request at a time, and the callbacks of its parser.

    When an exchange ends, its body, future and parser are dropped. The exception of a failed
    exchange refers to this connection, and would keep the body alive in a reference cycle.
    """

    def __init__(self) -> None:
        self._max_response = 0
        self._transport: asyncio.Transport | None = None
        self._response: asyncio.Future[bytearray] | None = None
        self._parser: httptools.HttpResponseParser | None = None
        self._body = bytearray()
        self._received = 0
        self._has_head = self._has_length = False

    @property
    def is_open(self) -> bool:
        """Whether another request can be sent on this connection."""
        return self._transport is not None and not self._transport.is_closing()

    def abort(self) -> None:
        """Close the connection immediately and free the received bytes."""
        self._end_exchange()
        if self._transport is not None:
            self._transport.abort()

    async def send(self, request: bytes, max_response: int) -> bytearray:
        """Send a request and return its response. Raises `NodeFailure` and `ConnectionError`."""
        if self._transport is None:
            raise ConnectionResetError
        self._max_response = max_response
        self._parser = httptools.HttpResponseParser(self)
        self._reset()
        response: asyncio.Future[bytearray] = asyncio.get_running_loop().create_future()
        self._response = response
        self._transport.write(request)
        try:
            return await response
        finally:
            # A failed future refers to this frame through its exception: avoid a reference cycle.
            del response

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        parser = self._parser
        if parser is None or self._response is None or self._response.done():
            # No request is waiting for a response.
            self.abort()
            return
        self._received += len(data)
        try:
            parser.feed_data(data)
        except httptools.HttpParserError:
            self._fail(NodeFailure("the response is not HTTP"))
            return
        if self._received > MAX_HEAD + _SMALLEST_CHUNK * len(self._body):
            # The parser keeps header fields in memory, and the trailer fields of a chunked body.
            self._fail(NodeFailure("the head of the response is too long"))

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        if self._has_head and not self._has_length and error is None:
            # Without a length, the end of the connection is the end of the response.
            self.on_message_complete()
        # Also after a complete interim response, because the final response can no longer follow.
        self._fail(ConnectionResetError())

    def on_header(self, name: bytes, value: bytes) -> None:
        lower = name.lower()
        self._has_length |= lower in (b"content-length", b"transfer-encoding")
        if lower == b"content-length" and value.isdigit() and int(value) > self._max_response:
            self._fail(NodeRefusal("the response is too large"))

    def on_headers_complete(self) -> None:
        self._has_head = True

    def on_body(self, piece: bytes) -> None:
        if self._parser is None:
            # The response has exceeded a limit: ignore the rest of the received data.
            return
        self._body += piece
        if len(self._body) > self._max_response:
            self._fail(NodeRefusal("the response is too large"))

    def on_message_complete(self) -> None:
        parser, response = self._parser, self._response
        if parser is None or response is None or response.done():
            return
        status = parser.get_status_code()
        if status < HTTPStatus.OK:
            # An interim response, such as 100 Continue.
            self._reset()
            return
        if status != HTTPStatus.OK:
            self._fail(NodeFailure(f"status {status}"))
            return
        response.set_result(self._body)
        keep_alive = parser.should_keep_alive()
        self._end_exchange()
        if self._transport is not None and not keep_alive:
            self._transport.close()

    def _reset(self) -> None:
        self._body = bytearray()
        self._has_head = self._has_length = False

    def _end_exchange(self) -> None:
        self._response = self._parser = None
        self._received = 0
        self._reset()

    def _fail(self, failure: Exception) -> None:
        response = self._response
        self.abort()
        if response is not None and not response.done():
            response.set_exception(failure)
