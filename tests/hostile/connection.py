"""The client side of an HTTP connection: sends arbitrary bytes, and reads only on demand."""

import asyncio
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

MAX_HEAD = 64 * 1024
"""Maximum size of a response head in bytes."""

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


@dataclass(frozen=True, slots=True)
class Response:
    """The status, headers with lowercase names, and body of a response."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def code(self) -> str:
        """The error code of a refusal, or an empty text for any other response."""
        if not self.headers.get("content-type", "").startswith("application/problem+json"):
            return ""
        return str(self.json().get("code", ""))

    @property
    def keeps_connection(self) -> bool:
        return self.headers.get("connection", "").lower() != "close"


@dataclass(slots=True)
class Connection:
    """A TCP connection from one address of this machine. `received` counts the bytes read."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    received: int = field(default=0, init=False)

    @classmethod
    async def open(
        cls, host: str, port: int, source: str, *, receive_buffer: int = 0, limit: int = MAX_HEAD
    ) -> "Connection":
        """Connect from `source`. Raises OSError."""
        endpoint = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            endpoint.setblocking(False)
            endpoint.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if receive_buffer:
                endpoint.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
            endpoint.bind((source, 0))
            await asyncio.get_running_loop().sock_connect(endpoint, (host, port))
            return cls(*await asyncio.open_connection(sock=endpoint, limit=limit))
        except BaseException:
            endpoint.close()
            raise

    async def send(self, data: bytes) -> None:
        """Send bytes. Returns once the kernel has accepted most of them. Raises OSError."""
        self.writer.write(data)
        await self.writer.drain()

    async def response(self) -> Response:
        """Read the next response. Raises OSError if the connection ends before the response
        does."""
        try:
            head = await self.reader.readuntil(b"\r\n\r\n")
            lines = head.decode("latin-1").split("\r\n")
            status = int(lines[0].split(" ")[1])
            pairs = (line.partition(":") for line in lines[1:] if line)
            headers = {name.lower(): value.strip() for name, _, value in pairs}
            body = await self._body(headers)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            raise ConnectionResetError("the response is incomplete") from error
        self.received += len(head) + len(body)
        return Response(status, headers, body)

    async def ended(self) -> None:
        """Read and discard until the other side closes."""
        while piece := await self.reader.read(64 * 1024):
            self.received += len(piece)

    def stop_reading(self) -> None:
        """Leave all incoming bytes in the kernel's buffer, so that the service has to stop
        sending."""
        cast(asyncio.Transport, self.writer.transport).pause_reading()

    def abort(self) -> None:
        """Close the connection with a reset."""
        self.writer.transport.abort()

    def reset(self) -> None:
        """Close the connection so that the other side sees a reset, even without unread bytes."""
        endpoint = self.writer.get_extra_info("socket")
        endpoint.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self.writer.transport.abort()

    async def _body(self, headers: Mapping[str, str]) -> bytes:
        if headers.get("transfer-encoding", "").lower() != "chunked":
            return await self.reader.readexactly(int(headers.get("content-length", "0")))
        pieces = []
        while size := int((await self.reader.readuntil(b"\r\n")).partition(b";")[0], 16):
            pieces.append(await self.reader.readexactly(size))
            await self.reader.readexactly(2)
        await self.reader.readuntil(b"\r\n")
        return b"".join(pieces)


def request(
    method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
) -> bytes:
    """The bytes of a request. A body gets a `Content-Length` unless the headers declare one."""
    given = {"Host": "imprint.test", **(headers or {})}
    if body is not None and "Transfer-Encoding" not in given:
        given.setdefault("Content-Length", str(len(body)))
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + (body or b"")
