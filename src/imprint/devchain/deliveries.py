"""The sender of deliveries: tells webhooks of each block with logs of the marketplace."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum

import aiohttp

from imprint.devchain.blocks import Block
from imprint.devchain.chain import Chain, Clock
from imprint.devchain.payloads import (
    SignedDelivery,
    build_body_a,
    build_body_b,
    holds_logs_of,
    sign_body_a,
    sign_body_b,
)

__all__ = ["Destination", "Provider", "Sender"]

_TIMEOUT = aiohttp.ClientTimeout(total=5)
"""How long a webhook may take to answer, as provider a has it."""

_PAUSES = (0.25, 1.0, 4.0)
"""Seconds between attempts; whoever misses them all reads the chain itself."""

_log = logging.getLogger(__name__)


class Provider(Enum):
    """Whose deliveries a destination expects."""

    A = "a"
    B = "b"


@dataclass(frozen=True, slots=True)
class Destination:
    """Where deliveries go, in whose form, and what signs them."""

    provider: Provider
    url: str = field(repr=False)
    secret: str = field(repr=False)


class Sender:
    """Posts deliveries in the order of the blocks, to each destination at its own pace."""

    def __init__(
        self,
        chain: Chain,
        marketplace: str,
        destinations: Sequence[Destination],
        *,
        clock: Clock,
        draw: Callable[[int], bytes],
        pauses: Sequence[float] = _PAUSES,
    ) -> None:
        self._chain = chain
        self._marketplace = marketplace
        self._clock = clock
        self._draw = draw
        self._pauses = tuple(pauses)
        self._sequence = 0
        self._queues: list[tuple[Destination, asyncio.Queue[Block]]] = [
            (destination, asyncio.Queue()) for destination in destinations
        ]

    async def run(self) -> None:
        """Deliver every block that is mined from now on, until cancelled."""
        stop = self._chain.on_block(self._enqueue)
        try:
            async with (
                aiohttp.ClientSession(timeout=_TIMEOUT) as session,
                asyncio.TaskGroup() as workers,
            ):
                for destination, queue in self._queues:
                    workers.create_task(self._serve(session, destination, queue))
        finally:
            stop()

    async def settle(self) -> None:
        """Wait until nothing is left to deliver."""
        for _, queue in self._queues:
            await queue.join()

    def _enqueue(self, block: Block) -> None:
        if holds_logs_of(block, self._marketplace):
            for _, queue in self._queues:
                queue.put_nowait(block)

    async def _serve(
        self, session: aiohttp.ClientSession, destination: Destination, queue: asyncio.Queue[Block]
    ) -> None:
        while True:
            block = await queue.get()
            try:
                if not await self._deliver(session, destination, block):
                    _log.warning(
                        "provider %s gave up delivering block %d",
                        destination.provider.value,
                        block.number,
                    )
            finally:
                queue.task_done()

    async def _deliver(
        self, session: aiohttp.ClientSession, destination: Destination, block: Block
    ) -> bool:
        body = self._write(destination, block)
        for pause in (*self._pauses, None):
            delivery = self._sign(destination, body)
            if await _post(session, destination.url, delivery):
                return True
            if pause is not None:
                await asyncio.sleep(pause)
        return False

    def _write(self, destination: Destination, block: Block) -> bytes:
        if destination.provider is Provider.B:
            return build_body_b(block, self._marketplace)
        now = self._clock()
        self._sequence += 1
        return build_body_a(
            block,
            self._marketplace,
            identifier=self._draw(8).hex(),
            # Rises across restarts too, so that a later delivery for a block number wins.
            sequence=now * 1_000_000 + self._sequence,
            created_at=datetime.fromtimestamp(now, UTC),
        )

    def _sign(self, destination: Destination, body: bytes) -> SignedDelivery:
        if destination.provider is Provider.A:
            return sign_body_a(body, destination.secret)
        nonce = self._draw(16).hex()
        return sign_body_b(body, destination.secret, nonce=nonce, timestamp=self._clock())


async def _post(session: aiohttp.ClientSession, url: str, delivery: SignedDelivery) -> bool:
    try:
        async with session.post(
            url, data=delivery.body, headers=delivery.headers, allow_redirects=False
        ) as response:
            return response.status == 200
    except (aiohttp.ClientError, TimeoutError):
        return False
