"""An honest client in a separate process: it reads at a steady rate, and sometimes writes.

It is started with the address of a service, its own address, and the documents to read.
It prints one line per request: when it was due, how long the response took, how late the
client itself was, and the status, which is 0 if there was no response.
"""

import asyncio
import gc
import itertools
import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec
import uvloop
from coincurve import PrivateKey
from tests.hostile.connection import Connection, Response, request
from tests.hostile.wallets import DOMAIN, FORM, JSON, LOGIN_DOMAIN, READER_KEY, Wallet, picture

READS_PER_SECOND = 50
WRITES_PER_SECOND = 1.5
"""A rate that stays within the limits of one address and signer for over half a minute."""

TIMEOUT = 10.0
"""Seconds after which the client stops waiting for a response."""

FRESH_EVERY = 4
"""One in this many requests uses a new connection, like a new visitor."""

IDLE_SECONDS = 2.0
"""Seconds for which the client keeps an idle connection, fewer than the service does."""

TICK_SECONDS = 0.01
TICKS_KEPT = 3000


class Sample(msgspec.Struct, frozen=True):
    """One request. Times are from the monotonic clock, which all processes share."""

    name: str
    at: float
    took: float
    late: float
    status: int
    code: str = ""

    @property
    def ended(self) -> float:
        return self.at + self.took

    @property
    def seconds(self) -> float:
        """The service's response time, without the time that the client waited for a CPU."""
        return max(0.0, self.took - self.late)

    @property
    def writes(self) -> bool:
        return self.name.startswith("POST")


class Facts(msgspec.Struct, frozen=True):
    """The documents to read: a free post, a bought post, an unbought post, and a thumbnail."""

    free_post: int
    paid_post: int
    other_post: int
    thumbnail: str
    tag: str


class Orders(msgspec.Struct, frozen=True):
    """Command-line arguments of the honest client."""

    host: str
    port: int
    source: str
    facts: Facts


@dataclass(slots=True)
class HonestClient:
    """A client that reuses its connections and signs with the reader's wallet."""

    orders: Orders
    wallet: Wallet = field(
        default_factory=lambda: Wallet(DOMAIN, LOGIN_DOMAIN, PrivateKey(bytes.fromhex(READER_KEY)))
    )
    _idle: list[tuple[float, Connection]] = field(default_factory=list)
    _ticks: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=TICKS_KEPT))
    _number: Iterator[int] = field(default_factory=itertools.count)

    async def run(self) -> None:
        """Read and write until the process is terminated."""
        ticking = asyncio.create_task(self._tick())
        login = await self.ask("POST /auth/login", JSON, self.wallet.login())
        assert login is not None
        assert login.status == 200, login.body
        session = {"Authorization": f"Bearer {login.json()['token']}"}
        await asyncio.gather(ticking, self._read(session), self._write())

    async def ask(
        self, name: str, headers: dict[str, str] | None = None, body: bytes | None = None
    ) -> Response | None:
        """Send one request and report it. Returns the response, or None if there was none."""
        at, response = time.monotonic(), None
        method, _, path = name.partition(" ")
        try:
            async with asyncio.timeout(TIMEOUT):
                response = await self._exchange(request(method, path, headers, body))
        except (OSError, TimeoutError, ValueError):
            pass
        ended = time.monotonic()
        sample = Sample(
            name.partition("?")[0],
            at,
            ended - at,
            self._lateness(at, ended),
            0 if response is None else response.status,
            "" if response is None else response.code,
        )
        sys.stdout.buffer.write(msgspec.json.encode(sample) + b"\n")
        sys.stdout.buffer.flush()
        return response

    async def _exchange(self, data: bytes) -> Response:
        stays = bool(next(self._number) % FRESH_EVERY)
        connection = await self._connect(stays)
        try:
            await connection.send(data)
            response = await connection.response()
            stays = stays and response.keeps_connection
        except BaseException:
            stays = False
            raise
        finally:
            if stays:
                self._idle.append((time.monotonic(), connection))
            else:
                connection.abort()
        return response

    async def _connect(self, reuses: bool) -> Connection:
        oldest = time.monotonic() - IDLE_SECONDS
        while self._idle and self._idle[0][0] < oldest:
            self._idle.pop(0)[1].abort()
        if reuses and self._idle:
            return self._idle.pop()[1]
        orders = self.orders
        return await Connection.open(orders.host, orders.port, orders.source)

    async def _read(self, session: dict[str, str]) -> None:
        facts, reader = self.orders.facts, self.wallet.address
        names = [
            "/filesMetaData",
            f"/fileByPostId?user={reader}&postId={facts.paid_post}",
            f"/filesByTags?tags={facts.tag}",
            f"/freeFileByPostId?postId={facts.free_post}",
            f"/ipfs/{facts.thumbnail}",
            f"/pendingFilesByOwner?owner={reader}",
            "/readyz",
        ]
        pending: set[asyncio.Task[Response | None]] = set()
        due = time.monotonic()
        for name in itertools.cycle(names):
            task = asyncio.create_task(self.ask(f"GET {name}", session))
            pending.add(task)
            task.add_done_callback(pending.discard)
            due += 1 / READS_PER_SECOND
            await asyncio.sleep(due - time.monotonic())

    async def _write(self) -> None:
        image = picture(48)
        while True:
            created = await self.ask("POST /create/group", JSON, self.wallet.creation("Words."))
            await asyncio.sleep(1 / WRITES_PER_SECOND)
            if created is not None and created.status == 200:
                cid = created.json()["updatedUpload"]["cid"]
                form = self.wallet.publication(image, "draft")
                await self.ask(f"POST /publish/file?cid={cid}", FORM, form)
            await asyncio.sleep(1 / WRITES_PER_SECOND)

    async def _tick(self) -> None:
        """Record how late this process wakes up, which is not the service's fault."""
        while True:
            began = time.monotonic()
            await asyncio.sleep(TICK_SECONDS)
            now = time.monotonic()
            self._ticks.append((now, now - began - TICK_SECONDS))

    def _lateness(self, began: float, ended: float) -> float:
        during = (late for at, late in self._ticks if at >= began and at - late <= ended)
        return max(during, default=0.0)


if __name__ == "__main__":
    gc.freeze()
    uvloop.run(HonestClient(msgspec.json.decode(sys.argv[1], type=Orders)).run())
