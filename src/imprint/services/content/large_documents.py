"""Large documents are parsed, encrypted and hashed one at a time, and stored a few at once.

While a document is being built, memory contains it several times: as a body, a text, JSON and
ciphertext. Because only one is built at a time, each waiting document is in memory once, as a body
or as a finished document, and the byte budget for bodies limits the total.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from imprint.domain.errors import Code, Unavailable
from imprint.metrics import OVERLOADS

T = TypeVar("T")

STORED_AT_ONCE = 4
"""Number of large documents stored at once. A remote store holds up to four copies of each."""

MAX_WAIT = 20.0
"""Seconds that a request waits for its turn. Building a document takes a fraction of a second."""


@dataclass(slots=True, eq=False)
class Turn:
    """A queued turn, which is granted when any of its keys is next."""

    keys: list[str]
    granted: "asyncio.Future[None] | None" = None
    """Completes when the turn is granted. None unless the turn is waiting."""


class FairQueue:
    """Allows at most `slots` holders at once. Other callers wait, and their keys take turns.

    Raises `Unavailable` with this `detail` after waiting for `seconds`.
    """

    def __init__(
        self,
        slots: int,
        seconds: float = MAX_WAIT,
        detail: str = "Too many large documents are being stored.",
    ) -> None:
        self._free = slots
        self._seconds = seconds
        self._detail = detail
        self._waiting: dict[str, deque[Turn]] = {}

    def turn(self, key: str) -> AbstractAsyncContextManager[None]:
        """Hold a slot until the `with` block exits."""
        return self.take(Turn([key]))

    @asynccontextmanager
    async def take(self, turn: Turn) -> AsyncIterator[None]:
        """Hold a slot until the `with` block exits. Other callers may `join` the turn while it
        waits."""
        if self._free:
            self._free -= 1
        else:
            await self._wait(turn)
        try:
            yield
        finally:
            self._pass_on()

    def join(self, turn: Turn, key: str) -> None:
        """Let a turn also be granted when this key is next."""
        if key in turn.keys:
            return
        turn.keys.append(key)
        if turn.granted is not None and not turn.granted.done():
            self._waiting.setdefault(key, deque()).append(turn)

    async def _wait(self, turn: Turn) -> None:
        granted = turn.granted = asyncio.get_running_loop().create_future()
        for key in turn.keys:
            self._waiting.setdefault(key, deque()).append(turn)
        try:
            async with asyncio.timeout(self._seconds):
                await granted
        except BaseException as error:
            if granted.done() and not granted.cancelled():
                self._pass_on()
            else:
                self._leave(turn)
            if isinstance(error, TimeoutError):
                OVERLOADS.labels("documents").inc()
                raise Unavailable(Code.OVERLOADED, self._detail) from None
            raise

    def _pass_on(self) -> None:
        """Give the slot to the next key's first turn, and move that key to the queue's end."""
        while self._waiting:
            key, theirs = next(iter(self._waiting.items()))
            turn = theirs[0]
            self._leave(turn)
            if turn.granted is None or turn.granted.done():
                # The turn has been cancelled, but its task does not know yet.
                continue
            if theirs:
                self._waiting[key] = self._waiting.pop(key)
            turn.granted.set_result(None)
            return
        self._free += 1

    def _leave(self, turn: Turn) -> None:
        """Remove a turn from the queues of all its keys."""
        for key in turn.keys:
            theirs = self._waiting.get(key)
            if theirs is None or turn not in theirs:
                continue
            theirs.remove(turn)
            if not theirs:
                del self._waiting[key]


class LargeDocuments:
    """The thread that builds large documents, and the queues for it and for the store."""

    def __init__(self, seconds: float = MAX_WAIT) -> None:
        self._thread = ThreadPoolExecutor(1, "large-documents")
        self._making = FairQueue(1, seconds)
        self._storing = FairQueue(STORED_AT_ONCE, seconds)

    async def make(self, signer: str, work: Callable[[], T]) -> T:
        """Run work on a large document of this signer in the thread.

        Raises `Unavailable` if its turn does not come in time.
        """
        async with self._making.turn(signer):
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def storing(self, signer: str) -> AbstractAsyncContextManager[None]:
        """Hold a slot to store a large document of this signer.

        Raises `Unavailable` if no slot becomes free in time.
        """
        return self._storing.turn(signer)
