"""Minimal HTTP POST client for JSON-RPC nodes; importing aiohttp costs 0.4 s.

It keeps connections alive, limits the size of responses, and follows no redirects
(docs/decisions/json-rpc-http-client.md).
"""

import asyncio
import ssl
from base64 import b64encode
from http import HTTPStatus
from urllib.parse import quote, unquote, urlsplit

import httptools

MAX_HEAD = 64 * 1024
"""Bytes before the body of a response."""

_PORTS = {"http": 80, "https": 443}
_PATH_SAFE = "/%:@!$&'()*+,;=~-._"
"""Characters that are not escaped in a path, which may be escaped already."""


class NodeFailure(Exception):
    """A node failed; the text can be logged, because it never quotes the node or its address."""


class HttpClient:
    """A client of one address, with its idle connections."""

    def __init__(self, address: str, max_response: int) -> None:
        parts = urlsplit(address)
        host = parts.hostname or ""
        self._host = host if ":" in host else host.encode("idna").decode()
        self._port = parts.port or _PORTS[parts.scheme]
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._head = self._write_head(parts.path, parts.query, parts.username, parts.password)
        self._max_response = max_response
        self._idle: list[_Connection] = []

    async def post(self, body: bytes) -> bytes:
        """The body of the response. Raises `NodeFailure` and `OSError`.

        If an idle connection turns out to be closed, the request is sent on a new one.
        """
        while self._idle:
            idle = self._idle.pop()
            if idle.is_open:
                try:
                    return await self._send(idle, body)
                except ConnectionError:
                    self.close()
        return await self._send(await self._connect(), body)

    def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            self._idle.pop().abort()

    async def _send(self, connection: "_Connection", body: bytes) -> bytes:
        request = b"%bContent-Length: %d\r\n\r\n%b" % (self._head, len(body), body)
        try:
            response = await connection.send(request)
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
            lambda: _Connection(self._max_response), self._host, self._port, ssl=self._tls
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
            # Uncompressed, so that the limit on bytes received limits the response.
            "Accept-Encoding: identity",
            "User-Agent: imprint",
        ]
        if user is not None or password is not None:
            secret = f"{unquote(user or '')}:{unquote(password or '')}".encode()
            lines.append(f"Authorization: Basic {b64encode(secret).decode()}")
        return "".join(f"{line}\r\n" for line in lines).encode()


class _Connection(asyncio.Protocol):
    """One connection, with at most one request at a time; also the callbacks of its parser."""

    def __init__(self, max_response: int) -> None:
        self._max_response = max_response
        self._transport: asyncio.Transport | None = None
        self._response: asyncio.Future[bytes] | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._body = bytearray()
        self._head_size = 0
        self._has_head = self._has_length = False

    @property
    def is_open(self) -> bool:
        """Whether another request can be sent."""
        return self._transport is not None and not self._transport.is_closing()

    def abort(self) -> None:
        """Close the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    async def send(self, request: bytes) -> bytes:
        """The response to a request. Raises `NodeFailure` and `ConnectionError`."""
        if self._transport is None:
            raise ConnectionResetError
        self._parser = httptools.HttpResponseParser(self)
        self._reset()
        self._response = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._response

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._response is None or self._response.done():
            # There was no request.
            self.abort()
            return
        if not self._has_head:
            self._head_size += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._fail("the response is not HTTP")
            return
        if not self._has_head and self._head_size > MAX_HEAD:
            self._fail("the head of the response is too long")

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        if self._has_head and not self._has_length and error is None:
            # Without a length, the end of the connection is the end of the response.
            self.on_message_complete()
        elif self._response is not None and not self._response.done():
            self._response.set_exception(ConnectionResetError())

    def on_header(self, name: bytes, value: bytes) -> None:
        self._has_length |= name.lower() in (b"content-length", b"transfer-encoding")

    def on_headers_complete(self) -> None:
        self._has_head = True

    def on_body(self, piece: bytes) -> None:
        self._body += piece
        if len(self._body) > self._max_response:
            self._fail("the response is too large")

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < HTTPStatus.OK:
            # An interim response, such as 100 Continue.
            self._reset()
            return
        if status != HTTPStatus.OK:
            self._fail(f"status {status}")
        elif self._response is not None and not self._response.done():
            self._response.set_result(bytes(self._body))
        if self._transport is not None and not self._parser.should_keep_alive():
            self._transport.close()

    def _reset(self) -> None:
        self._body.clear()
        self._head_size = 0
        self._has_head = self._has_length = False

    def _fail(self, reason: str) -> None:
        if self._response is not None and not self._response.done():
            self._response.set_exception(NodeFailure(reason))
        self.abort()
