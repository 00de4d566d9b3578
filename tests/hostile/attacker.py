"""The building blocks of attacks: an address to send from, a deadline, and a tally."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import msgspec
from coincurve import PrivateKey
from tests.hostile.connection import Connection, Response, request
from tests.hostile.wallets import FORM, JSON, Wallet

from imprint.auth.typed_data import SigningDomain

PATIENCE = 30.0
"""How many seconds an attack waits for a response that it needs."""


class Tally(msgspec.Struct):
    """The requests and responses of an attack. `figures` are specific to each attack."""

    connections: int = 0
    turned_away: int = 0
    requests: int = 0
    sent: int = 0
    received: int = 0
    statuses: dict[str, int] = msgspec.field(default_factory=dict)
    figures: dict[str, int] = msgspec.field(default_factory=dict)

    def note(self, response: Response) -> None:
        name = f"{response.status} {response.code}".strip()
        self.statuses[name] = self.statuses.get(name, 0) + 1

    def add(self, figure: str, count: int = 1) -> None:
        self.figures[figure] = self.figures.get(figure, 0) + count

    def count(self, status: int) -> int:
        """How many responses had this status."""
        return sum(n for name, n in self.statuses.items() if name.startswith(str(status)))

    @property
    def refused(self) -> int:
        """Number of 4xx and 5xx responses, and of connections that got no response."""
        return self.turned_away + sum(n for s, n in self.statuses.items() if s[0] in "45")


class Report(msgspec.Struct):
    """The report of an attacking process. Times are monotonic."""

    began: float
    ended: float
    tally: Tally


@dataclass(slots=True)
class Attacker:
    """An attacker with one address, which attacks one service until the deadline."""

    url: str
    source: str
    seconds: float
    tally: Tally = field(default_factory=Tally)
    deadline: float = field(init=False)
    _facts: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        self.deadline = time.monotonic() + self.seconds

    @property
    def goes_on(self) -> bool:
        return time.monotonic() < self.deadline

    async def connect(self, *, source: str = "", receive_buffer: int = 0) -> Connection | None:
        """Open a connection. Returns None if the service refuses it."""
        parts = urlsplit(self.url)
        self.tally.connections += 1
        try:
            return await Connection.open(
                parts.hostname or "",
                parts.port or 80,
                source or self.source,
                receive_buffer=receive_buffer,
            )
        except OSError:
            self.tally.turned_away += 1
            return None

    async def send(self, connection: Connection, data: bytes, requests: int = 0) -> bool:
        """Send bytes that count as `requests` requests. Returns False if the connection has
        ended."""
        try:
            await connection.send(data)
        except OSError:
            self.tally.turned_away += 1
            return False
        self.tally.sent += len(data)
        self.tally.requests += requests
        return True

    async def response(self, connection: Connection) -> Response | None:
        """The next response, or None if the connection ends first."""
        before = connection.received
        try:
            response = await connection.response()
        except (OSError, ValueError):
            self.tally.turned_away += 1
            return None
        self.tally.received += connection.received - before
        self.tally.note(response)
        return response

    async def ask(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        *,
        connection: Connection | None = None,
        source: str = "",
    ) -> Response | None:
        """Send one request, on a new connection unless one is given. Returns the response."""
        used = connection or await self.connect(source=source)
        if used is None:
            return None
        try:
            data = request(method, path, headers, body)
            if await self.send(used, data, requests=1):
                return await self.response(used)
            # A service that refuses a body closes the connection before all of it is sent; its
            # response has arrived.
            return await self.response(used)
        finally:
            if connection is None:
                used.abort()

    async def crowd(self, count: int, act: Callable[[int], Coroutine[Any, Any, None]]) -> None:
        """Run `count` attackers concurrently, and stop those still running at the deadline."""
        tasks = [asyncio.create_task(act(number)) for number in range(count)]
        try:
            _, _ = await asyncio.wait(tasks, timeout=max(0.0, self.deadline - time.monotonic()))
        finally:
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
        for each in ended:
            if isinstance(each, Exception) and not isinstance(each, OSError):
                raise each

    async def repeat(self, act: Callable[[], Awaitable[object]], pause: float = 0.0) -> None:
        """Repeat an action until the deadline."""
        while self.goes_on:
            await act()
            await asyncio.sleep(pause)

    async def pause(self, seconds: float) -> None:
        """Wait, but not beyond the deadline."""
        await asyncio.sleep(max(0.0, min(seconds, self.deadline - time.monotonic())))

    async def rest(self) -> None:
        """Wait until the deadline."""
        await asyncio.sleep(max(0.0, self.deadline - time.monotonic()))

    # Actions of a wallet

    async def wallet(self, key: PrivateKey | None = None) -> Wallet:
        """Return a wallet that signs for this service, a new one unless a key is given."""
        if self._facts is None:
            async with asyncio.timeout(PATIENCE):
                described = await self.ask("GET", "/.well-known/imprint.json")
            assert described is not None, "the service does not describe itself"
            self._facts = described.json()
        signing = self._facts["signing"]
        domain = SigningDomain(signing["name"], signing["version"], signing["chainId"])
        return Wallet(domain, self._facts["login"]["domains"][0], key or PrivateKey())

    async def create(self, wallet: Wallet, content: str) -> str | None:
        """Create a draft, and return its cid, or None if it was refused."""
        made = await self.ask("POST", "/create/group", JSON, wallet.creation(content))
        if made is None or made.status != 200:
            return None
        return str(made.json()["updatedUpload"]["cid"])

    async def publish(self, wallet: Wallet, cid: str, image: bytes) -> str | None:
        """Publish a draft, and return its thumbnail's cid, or None if it was refused."""
        body = wallet.publication(image)
        published = await self.ask("POST", f"/publish/file?cid={cid}", FORM, body)
        if published is None or published.status != 200:
            return None
        return str(published.json()["thumbnailCid"])

    async def session(self, wallet: Wallet) -> dict[str, str] | None:
        """Log in, and return the session header, or None if the login was refused."""
        login = await self.ask("POST", "/auth/login", JSON, wallet.login())
        if login is None or login.status != 200:
            return None
        return {"Authorization": f"Bearer {login.json()['token']}"}
