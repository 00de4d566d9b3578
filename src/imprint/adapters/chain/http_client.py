"""How asking a node can fail, in words that are fit for a log."""

import asyncio
import ssl
from base64 import b64encode
from http import HTTPStatus
from urllib.parse import quote, unquote, urlsplit

import httptools

from imprint.domain.errors import Unavailable


class NodeFailure(Exception):
    """One node did not serve; the text says how, and quotes neither the node nor its address."""


class ChainMisconfigured(Unavailable):
    """The node answers, but not for the configured chain or contract; `sentence` tells people so.

    Whoever only asks for posts sees a chain that cannot be asked; starting up prints the sentence.
    """

    def __init__(self, sentence: str) -> None:
        nothing_said = Unavailable.chain()
        super().__init__(nothing_said.code, nothing_said.detail)
        self.sentence = sentence


def check_chain_id(found: int, configured: int) -> None:
    """Raise `ChainMisconfigured` if the node is on another chain."""
    if found != configured:
        raise ChainMisconfigured(
            f"The node is on chain {found}, but chain {configured} is configured."
        )


MAX_HEAD = 64 * 1024
"""How many bytes may come before the body of an answer."""

_PORTS = {"http": 80, "https": 443}
_PATH = "/%:@!$&'()*+,;=~-._"
"""What stands for itself in a path that may be written out already."""


class HttpClient:
    """One address, and the connections to it that nobody uses at the moment."""

    def __init__(self, address: str, max_answer: int) -> None:
        parts = urlsplit(address)
        host = parts.hostname or ""
        self._host = host if ":" in host else host.encode("idna").decode()
        self._port = parts.port or _PORTS[parts.scheme]
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._head = self._write_head(parts.path, parts.query, parts.username, parts.password)
        self._max_answer = max_answer
        self._idle: list[_Connection] = []

    async def post(self, body: bytes) -> bytes:
        """The body of the answer. Raises `NodeFailure`, `OSError`, `ConnectionError` above all.

        A kept connection may have been closed by the other side: then once more, on a new one.
        """
        while self._idle:
            kept = self._idle.pop()
            if kept.is_open:
                try:
                    return await self._send(kept, body)
                except ConnectionError:
                    self.close()
        return await self._send(await self._connect(), body)

    def close(self) -> None:
        """Let go of the connections that nobody uses."""
        while self._idle:
            self._idle.pop().abort()

    async def _send(self, connection: "_Connection", body: bytes) -> bytes:
        request = b"%bContent-Length: %d\r\n\r\n%b" % (self._head, len(body), body)
        try:
            answer = await connection.send(request)
        except BaseException:
            # An answer that comes late must not be taken for one to the next question.
            connection.abort()
            raise
        if connection.is_open:
            self._idle.append(connection)
        return answer

    async def _connect(self) -> "_Connection":
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(
            lambda: _Connection(self._max_answer), self._host, self._port, ssl=self._tls
        )
        return connection

    def _write_head(self, path: str, query: str, user: str | None, password: str | None) -> bytes:
        target = quote(path, safe=_PATH) or "/"
        if query:
            target += "?" + quote(query, safe=_PATH + "?")
        host = f"[{self._host}]" if ":" in self._host else self._host
        lines = [
            f"POST {target} HTTP/1.1",
            f"Host: {host}:{self._port}",
            "Content-Type: application/json",
            # Uncompressed, so that the size of an answer is what arrives.
            "Accept-Encoding: identity",
            "User-Agent: imprint",
        ]
        if user is not None or password is not None:
            secret = f"{unquote(user or '')}:{unquote(password or '')}".encode()
            lines.append(f"Authorization: Basic {b64encode(secret).decode()}")
        return "".join(f"{line}\r\n" for line in lines).encode()


class _Connection(asyncio.Protocol):
    """One connection, which answers one question at a time."""

    def __init__(self, max_answer: int) -> None:
        self._max_answer = max_answer
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[bytes] | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._body = bytearray()
        self._head = 0
        self._has_head = self._has_end = False

    @property
    def is_open(self) -> bool:
        """Whether another question may be asked."""
        return self._transport is not None and not self._transport.is_closing()

    def abort(self) -> None:
        """Cut it off."""
        if self._transport is not None:
            self._transport.abort()

    async def send(self, request: bytes) -> bytes:
        """The answer to a request. Raises `NodeFailure` and `ConnectionError`."""
        if self._transport is None:
            raise ConnectionResetError
        self._parser = httptools.HttpResponseParser(self)
        self._begin()
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._waiting

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._waiting is None or self._waiting.done():
            # Nobody asked.
            self.abort()
            return
        if not self._has_head:
            self._head += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._fail(NodeFailure("an answer that is no HTTP"))
            return
        if not self._has_head and self._head > MAX_HEAD:
            self._fail(NodeFailure("an answer with too long a head"))

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        if self._has_head and not self._has_end and error is None:
            # Some nodes say how long an answer is by ending the connection after it.
            self.on_message_complete()
        elif self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(ConnectionResetError())

    def on_header(self, name: bytes, value: bytes) -> None:
        self._has_end |= name.lower() in (b"content-length", b"transfer-encoding")

    def on_headers_complete(self) -> None:
        self._has_head = True

    def on_body(self, piece: bytes) -> None:
        self._body += piece
        if len(self._body) > self._max_answer:
            self._fail(NodeFailure("an answer that is too large"))

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < HTTPStatus.OK:
            # Only a word before the answer.
            self._begin()
            return
        if status != HTTPStatus.OK:
            self._fail(NodeFailure(f"status {status}"))
        elif self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(bytes(self._body))
        if self._transport is not None and not self._parser.should_keep_alive():
            self._transport.close()

    def _begin(self) -> None:
        self._body.clear()
        self._head = 0
        self._has_head = self._has_end = False

    def _fail(self, failure: NodeFailure) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(failure)
        self.abort()
