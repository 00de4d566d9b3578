"""Large responses, which reserve memory from a budget before loading and are sent in chunks."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from imprint.domain.drafts.documents import SMALL_DOCUMENT
from imprint.domain.errors import Code, Unavailable
from imprint.domain.rate_limits import Budget
from imprint.metrics import OVERLOADS

PIECE = 64 * 1024
"""Number of bytes passed to the server at a time. The server waits until the client has read
them."""

WAIT_SECONDS = 20.0
"""Seconds that a response waits for memory. A client that stops reading is disconnected earlier."""

MAX_WAITING = 128
"""Maximum number of waiting responses. One client may have a quarter of this number."""


@dataclass(slots=True)
class _SharedBody:
    """A body that is sent to several clients at once. `clients` counts the responses per client."""

    body: bytes
    charged: int
    clients: dict[str, int]


@dataclass(slots=True, eq=False)
class _Waiter:
    """A response that waits for bytes of the budget, or for the body with this name."""

    number: int
    client: str
    name: str
    amount: int
    woken: asyncio.Future[None]


@dataclass(slots=True)
class Reservation:
    """A body, and the bytes of the budget that its response holds until `close`."""

    body: bytes
    _give_back: Callable[[], None] | None

    def close(self) -> None:
        """Release the bytes. Closing again does nothing."""
        if self._give_back is not None:
            give_back, self._give_back = self._give_back, None
            give_back()


Load = Callable[[], Awaitable[tuple[bytes, int]]]
"""Loads a body. Returns the body and the number of bytes of memory that it took."""


@dataclass(slots=True)
class ResponseBudget:
    """The memory budget in bytes for the large responses of a process.

    A client that has used its share, or finds the budget exhausted, waits for a while. Concurrent
    responses with the same body share one copy. The copy counts once towards the total, and once
    towards the share of each client.
    """

    budget: Budget
    wait_seconds: float = WAIT_SECONDS
    _waiting: Budget = field(default_factory=lambda: Budget.of(MAX_WAITING), init=False)
    _waiters: set[_Waiter] = field(default_factory=set, init=False)
    _numbers: Iterator[int] = field(default_factory=count, init=False)
    _shared: dict[str, _SharedBody] = field(default_factory=dict, init=False)

    async def reserve(
        self, client: str, expected: int, load: Callable[[], Awaitable[bytes]]
    ) -> Reservation:
        """Load the body of one response. `expected` bytes are reserved while it is loaded.

        Refuses with `overloaded` if the bytes do not become available in time, and raises the same
        errors as `load`.
        """
        amount = min(expected, self.budget.share)
        await self._enter(client, "", amount)
        try:
            body = await load()
        except BaseException:
            self._give_back(client, amount)
            raise
        charged = min(len(body), amount)
        self._give_back(client, amount - charged)
        return Reservation(body, partial(self._give_back, client, charged))

    async def admit(self, client: str, make: Callable[[], Awaitable[bytes]]) -> Reservation:
        """Load the body of one response whose size is not known in advance.

        A large body that does not fit is dropped, and built again when enough bytes are available:
        `make` caches the expensive parts. Raises the same errors as `reserve`.
        """
        body = await make()
        if len(body) <= SMALL_DOCUMENT:
            return Reservation(body, None)
        amount = min(len(body), self.budget.share)
        if self._try(client, "", amount):
            return Reservation(body, partial(self._give_back, client, amount))
        del body
        return await self.reserve(client, amount, make)

    async def share(self, client: str, name: str, expected: int, load: Load) -> Reservation:
        """Return the body with this name, loading it unless another response has it in memory.

        `expected` bytes are reserved while the body is first loaded. Raises the same errors as
        `reserve`.
        """
        if expected <= SMALL_DOCUMENT:
            body, _ = await load()
            return Reservation(body, None)
        while True:
            amount = min(expected, self.budget.share)
            await self._enter(client, name, amount)
            if name in self._shared:
                return self._joined(client, name)
            try:
                body, needed = await load()
            except BaseException:
                self._give_back(client, amount)
                raise
            if name in self._shared or amount < min(needed, self.budget.share):
                # Another response was faster, or the body is larger than expected.
                del body
                expected = needed
                self._give_back(client, amount)
                continue
            if len(body) <= SMALL_DOCUMENT:
                self._give_back(client, amount)
                return Reservation(body, None)
            charged = min(len(body), amount)
            self._shared[name] = _SharedBody(body, charged, {client: 1})
            self._give_back(client, amount - charged)
            return self._joined(client, name)

    def _try(self, client: str, name: str, amount: int) -> bool:
        """Join the responses that share the body with this name, or reserve bytes to load it."""
        shared = self._shared.get(name)
        if shared is None:
            return self.budget.take(client, amount)
        if client not in shared.clients:
            if not self.budget.take(client, shared.charged, is_shared=True):
                return False
            shared.clients[client] = 0
        shared.clients[client] += 1
        return True

    async def _enter(self, client: str, name: str, amount: int) -> None:
        if self._try(client, name, amount):
            return
        if not self._waiting.take(client):
            raise _overloaded()
        woken = asyncio.get_running_loop().create_future()
        waiter = _Waiter(next(self._numbers), client, name, amount, woken)
        self._waiters.add(waiter)
        try:
            async with asyncio.timeout(self.wait_seconds):
                await waiter.woken
                while not self._try(client, name, amount):
                    waiter.woken = asyncio.get_running_loop().create_future()
                    await waiter.woken
        except TimeoutError:
            raise _overloaded() from None
        finally:
            self._waiters.remove(waiter)
            self._waiting.give_back(client)
            if self._waiters:
                # This response may have been woken instead of another.
                self._wake()

    def _joined(self, client: str, name: str) -> Reservation:
        return Reservation(self._shared[name].body, partial(self._leave, client, name))

    def _leave(self, client: str, name: str) -> None:
        shared = self._shared[name]
        shared.clients[client] -= 1
        if shared.clients[client]:
            return
        del shared.clients[client]
        if not shared.clients:
            del self._shared[name]
        self.budget.give_back(client, shared.charged, is_shared=bool(shared.clients))
        self._wake()

    def _give_back(self, client: str, amount: int) -> None:
        if amount:
            self.budget.give_back(client, amount)
        self._wake()

    def _wake(self) -> None:
        """Wake the responses that can proceed, starting with clients that hold the fewest bytes."""
        if not self._waiters:
            return
        free = self.budget.total - self.budget.taken
        for waiter in sorted(self._waiters, key=self._order):
            shared = self._shared.get(waiter.name)
            amount = waiter.amount if shared is None else shared.charged
            is_joined = shared is not None and waiter.client in shared.clients
            if not is_joined and self.budget.held(waiter.client) + amount > self.budget.share:
                continue
            if shared is None:
                if amount > free:
                    continue
                free -= amount
            if not waiter.woken.done():
                waiter.woken.set_result(None)

    def _order(self, waiter: _Waiter) -> tuple[int, int]:
        return self.budget.held(waiter.client), waiter.number


def _overloaded() -> Unavailable:
    OVERLOADS.labels("response_bytes").inc()
    return Unavailable(Code.OVERLOADED, "Too many bytes are being sent.")


class LargeResponse(Response):
    """A response that is sent in chunks, so that the server buffers little of it.

    The reservation is closed when the response has been sent or the client has disconnected.
    """

    def __init__(
        self,
        reservation: Reservation,
        body: bytes | memoryview,
        status: int,
        headers: Mapping[str, str],
        media_type: str,
    ) -> None:
        super().__init__(body, status, headers, media_type)
        self._reservation = reservation

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = {"status": self.status_code, "headers": self.raw_headers}
        view = memoryview(self.body)
        try:
            await send({"type": "http.response.start", **start})
            for first in range(0, max(len(view), 1), PIECE):
                piece, more = view[first : first + PIECE], first + PIECE < len(view)
                await send({"type": "http.response.body", "body": piece, "more_body": more})
        finally:
            self._reservation.close()
