"""Webhook deliveries in the formats of the two providers: bodies, signatures and sender."""

import asyncio
import gzip
import hashlib
import hmac
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum

import aiohttp

from imprint.devchain.blocks import Block, JsonObject, encode_logs
from imprint.devchain.chain import Chain, Clock

_TIMEOUT = aiohttp.ClientTimeout(total=5)
"""Timeout in seconds for the response to a webhook, the same as provider a's."""

_PAUSES = (0.25, 1.0, 4.0)
"""Seconds between delivery attempts. After the last one, the service has to read the chain."""

_log = logging.getLogger(__name__)

_WEBHOOK_ID = "wh_imprintdevchain"
"""The webhook ID in deliveries of provider a."""

_STREAM_ID = "imprint-devchain"
"""The stream ID and name in deliveries of provider b."""


@dataclass(frozen=True, slots=True)
class SignedDelivery:
    """The body and headers of one webhook request."""

    body: bytes
    headers: Mapping[str, str]


def has_logs_of(block: Block, marketplace: str) -> bool:
    """Whether a block has marketplace logs to deliver."""
    return bool(_select_logs(block, marketplace))


def build_body_a(
    block: Block,
    marketplace: str,
    *,
    identifier: str,
    sequence: int,
    created_at: datetime,
    network: str | None = None,
) -> bytes:
    """Encode a block's logs like provider a: as the result of a GraphQL query on the block.

    Without `network`, that member is left out, as in older deliveries.
    """
    event: dict[str, object] = {
        "data": {
            "block": {
                "hash": "0x" + block.hash.hex(),
                "number": block.number,
                "timestamp": block.timestamp,
                "logs": [_shape_log(block, log) for log in _select_logs(block, marketplace)],
            }
        },
        "sequenceNumber": str(sequence),
    }
    if network is not None:
        event["network"] = network
    return _encode(
        {
            "webhookId": _WEBHOOK_ID,
            "id": f"whevt_{identifier}",
            "createdAt": created_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "type": "GRAPHQL",
            "event": event,
        }
    )


def sign_body_a(body: bytes, secret: str) -> SignedDelivery:
    """Sign a body like provider a: HMAC over the body alone."""
    return SignedDelivery(
        body,
        {"Content-Type": "application/json", "X-Alchemy-Signature": _authenticate(secret, body)},
    )


def build_body_b(block: Block, marketplace: str, *, network: str | None = None) -> bytes:
    """Encode a block's logs like provider b: a one-block batch, with logs as in JSON-RPC."""
    data = [_select_logs(block, marketplace)]
    metadata: dict[str, object] = {
        "batch_start_range": block.number,
        "batch_end_range": block.number,
        "data_size_bytes": len(_encode(data)),
        "dataset": "logs",
        "start_range": 0,
        "end_range": -1,
        "keep_distance_from_tip": 0,
        "stream_id": _STREAM_ID,
        "stream_name": _STREAM_ID,
    }
    if network is not None:
        metadata["network"] = network
    return _encode({"data": data, "metadata": metadata})


def sign_body_b(
    body: bytes, secret: str, *, nonce: str, timestamp: int, compress: bool = False
) -> SignedDelivery:
    """Sign a body like provider b: HMAC over the nonce, the time and the uncompressed body."""
    signed = nonce.encode() + str(timestamp).encode() + body
    headers = {
        "Content-Type": "application/json",
        "X-QN-Nonce": nonce,
        "X-QN-Timestamp": str(timestamp),
        "X-QN-Signature": _authenticate(secret, signed),
    }
    if compress:
        headers["Content-Encoding"] = "gzip"
        return SignedDelivery(gzip.compress(body, mtime=0), headers)
    return SignedDelivery(body, headers)


def _select_logs(block: Block, marketplace: str) -> list[JsonObject]:
    return [log for log in encode_logs(block) if log["address"] == marketplace.lower()]


def _shape_log(block: Block, log: JsonObject) -> dict[str, object]:
    if block.receipt is None:
        raise ValueError("a block without a transaction has no logs")
    transaction = block.receipt.transaction
    return {
        "data": log["data"],
        "topics": log["topics"],
        "index": int(log["logIndex"], 16),
        "account": {"address": log["address"]},
        "transaction": {
            "hash": log["transactionHash"],
            "index": 0,
            "status": int(block.receipt.success),
            "from": {"address": transaction.sender},
            "to": None if transaction.to is None else {"address": transaction.to},
        },
    }


def _authenticate(secret: str, data: bytes) -> str:
    return hmac.new(secret.encode(), data, hashlib.sha256).hexdigest()


def _encode(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


class Provider(Enum):
    """The provider whose delivery format a destination expects."""

    A = "a"
    B = "b"


@dataclass(frozen=True, slots=True)
class Destination:
    """A webhook's URL, the provider to imitate, and the signing secret."""

    provider: Provider
    url: str = field(repr=False)
    secret: str = field(repr=False)


class Sender:
    """Posts deliveries in block order, independently to each destination.

    `draw` returns random bytes.
    """

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
        """Deliver every newly mined block until cancelled."""
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

    async def drain(self) -> None:
        """Wait until every queued block has been delivered or abandoned."""
        for _, queue in self._queues:
            await queue.join()

    def _enqueue(self, block: Block) -> None:
        if has_logs_of(block, self._marketplace):
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
        body = self._build_body(destination, block)
        for pause in (*self._pauses, None):
            delivery = self._sign(destination, body)
            if await _post(session, destination.url, delivery):
                return True
            if pause is not None:
                await asyncio.sleep(pause)
        return False

    def _build_body(self, destination: Destination, block: Block) -> bytes:
        if destination.provider is Provider.B:
            return build_body_b(block, self._marketplace)
        now = self._clock()
        self._sequence += 1
        return build_body_a(
            block,
            self._marketplace,
            identifier=self._draw(8).hex(),
            # The number increases across restarts: the latest delivery of a block counts.
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
