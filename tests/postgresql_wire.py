"""A proxy that counts the round trips to a PostgreSQL server."""

import asyncio
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.postgresql import Server

SOCKET = ".s.PGSQL.5432"

_ENDS = (b"S", b"H", b"Q")
"""Client messages that wait for the server: Sync, Flush, and simple Query."""


@dataclass(slots=True)
class Wire:
    """The round trips between clients and a server since `counting` was last called."""

    url: str
    trips: list[str] = field(default_factory=list)

    @contextmanager
    def counting(self) -> Iterator[list[str]]:
        """Yield a list that gets the message sent for each round trip in the `with` block."""
        self.trips = []
        yield self.trips

    def note(self, messages: list[bytes]) -> None:
        for message in messages:
            if message[:1] in _ENDS:
                self.trips.append(message[:1].decode() + message[5:60].decode("utf-8", "replace"))


class _Frames:
    """Splits a client's stream into messages. The first one, the start-up message, has no type."""

    def __init__(self) -> None:
        self._buffer = b""
        self._started = False

    def feed(self, data: bytes) -> list[bytes]:
        self._buffer += data
        messages = []
        while True:
            head = 1 if self._started else 0
            if len(self._buffer) < head + 4:
                return messages
            size = head + int.from_bytes(self._buffer[head : head + 4], "big")
            if len(self._buffer) < size:
                return messages
            if self._started:
                messages.append(self._buffer[:size])
            self._started, self._buffer = True, self._buffer[size:]


async def _copy(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, wire: Wire | None
) -> None:
    frames = _Frames()
    with suppress(ConnectionError):
        while data := await reader.read(65_536):
            if wire is not None:
                wire.note(frames.feed(data))
            writer.write(data)
            await writer.drain()
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


@contextmanager
def counted(server: Server, database: str) -> Iterator[Wire]:
    """Run a proxy to this database and yield its URL and counters.

    The proxy has its own thread because opening a catalog blocks the event loop.
    """
    with tempfile.TemporaryDirectory(prefix="imprint-wire-", dir="/tmp") as folder:
        wire = Wire(f"postgresql://postgres@/{database}?host={folder}")
        started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()

        async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            there = await asyncio.open_unix_connection(str(server.folder / SOCKET))
            await asyncio.gather(_copy(reader, there[1], wire), _copy(there[0], writer, None))

        async def run() -> None:
            stopped = asyncio.Event()
            async with await asyncio.start_unix_server(connect, str(Path(folder) / SOCKET)):
                started.set_result((asyncio.get_running_loop(), stopped))
                await stopped.wait()

        with ThreadPoolExecutor(1, "wire") as thread:
            running = thread.submit(asyncio.run, run())
            loop, stopped = started.result()
            try:
                yield wire
            finally:
                loop.call_soon_threadsafe(stopped.set)
                running.result()
