"""Deliveries as both providers would send them for a transaction on a real node."""

import json
import secrets
import time
from datetime import UTC, datetime

from tests.anvil.node import Receipt

from imprint.devchain.webhooks import SignedDelivery, sign_body_a, sign_body_b


def write_body_a(receipt: Receipt) -> bytes:
    """Build a body of provider A: the result of a block query, with decimal numbers."""
    transaction = {
        "hash": receipt["transactionHash"],
        "index": int(receipt["transactionIndex"], 16),
        "status": int(receipt["status"], 16),
        "from": {"address": receipt["from"]},
        "to": {"address": receipt["to"]},
    }
    logs = [
        {
            "data": log["data"],
            "topics": log["topics"],
            "index": int(log["logIndex"], 16),
            "account": {"address": log["address"]},
            "transaction": transaction,
        }
        for log in receipt["logs"]
    ]
    block = {
        "hash": receipt["blockHash"],
        "number": int(receipt["blockNumber"], 16),
        "timestamp": int(time.time()),
        "logs": logs,
    }
    event = {"data": {"block": block}, "sequenceNumber": "10000000000578619000"}
    return json.dumps(
        {
            "webhookId": "wh_k63lg72rxda78gce",
            "id": f"whevt_{secrets.token_hex(8)}",
            "createdAt": datetime.now(UTC).isoformat(),
            "type": "GRAPHQL",
            "event": event,
        }
    ).encode()


def write_body_b(receipt: Receipt) -> bytes:
    """Build a body of provider B: the receipts that pass a filter, in the node's format."""
    return json.dumps({"matchingReceipts": [receipt]}).encode()


def deliver_a(receipt: Receipt, secret: str) -> SignedDelivery:
    return sign_body_a(write_body_a(receipt), secret)


def deliver_b(receipt: Receipt, secret: str, compress: bool = False) -> SignedDelivery:
    nonce, now = secrets.token_hex(16), int(time.time())
    return sign_body_b(write_body_b(receipt), secret, nonce=nonce, timestamp=now, compress=compress)
