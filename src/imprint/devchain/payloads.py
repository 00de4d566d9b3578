"""Bodies and signatures of deliveries, as the two providers make them."""

import gzip
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from imprint.devchain.answers import Answer, show_logs
from imprint.devchain.blocks import Block

__all__ = [
    "SignedDelivery",
    "build_body_a",
    "build_body_b",
    "holds_logs_of",
    "sign_body_a",
    "sign_body_b",
]

_WEBHOOK_ID = "wh_imprintdevchain"
"""The name of the one webhook that the chain plays for provider a."""

_STREAM_ID = "imprint-devchain"
"""The name of the one stream that the chain plays for provider b."""


@dataclass(frozen=True, slots=True)
class SignedDelivery:
    """One request to a webhook: what is posted, and the headers that go with it."""

    body: bytes
    headers: Mapping[str, str]


def holds_logs_of(block: Block, marketplace: str) -> bool:
    """Tell whether a block has anything to deliver."""
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
    """Write a block's logs as provider a does: the answer to a query on the block.

    The network's name is left out where there is none, as older deliveries do.
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
    """Sign a body as provider a does: the body alone."""
    return SignedDelivery(
        body,
        {"Content-Type": "application/json", "X-Alchemy-Signature": _authenticate(secret, body)},
    )


def build_body_b(block: Block, marketplace: str, *, network: str | None = None) -> bytes:
    """Write a block's logs as provider b does: a batch of one block, logs as nodes give them."""
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
    """Sign a body as provider b does: nonce, time and body, the body before it is compressed."""
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


def _select_logs(block: Block, marketplace: str) -> list[Answer]:
    return [log for log in show_logs(block) if log["address"] == marketplace.lower()]


def _shape_log(block: Block, log: Answer) -> dict[str, object]:
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
