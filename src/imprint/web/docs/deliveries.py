"""Webhook operations, through which providers deliver the marketplace logs."""

import hashlib
import hmac
from typing import Any

from imprint.domain.errors import Code
from imprint.domain.formats.abi import encode_call
from imprint.domain.posts.marketplace import POST_CREATED
from imprint.interface.service import DeliveryResponse, EventResponse
from imprint.interface.values import DELIVERY_NONCE_PATTERN, DELIVERY_SIGNATURE_PATTERN
from imprint.web.docs.examples import (
    BLOCK_HASH,
    CID,
    MARKETPLACE,
    MOMENT,
    OWNER,
    POST_ID,
    THUMBNAIL_CID,
    TIMESTAMP,
    TX_HASH,
)
from imprint.web.docs.operation import (
    MIDDLEWARE_CODES,
    Body,
    Operation,
    Parameter,
    Response,
    Schema,
    Topic,
    string,
)

LOG_TOPICS = [
    "0x" + topic.hex()
    for topic in (POST_CREATED, int(POST_ID).to_bytes(32), bytes(12) + bytes.fromhex(OWNER[2:]))
]
"""The topics of the event that publishes the example draft."""

LOG_DATA = "0x" + encode_call(b"", b"Wet ink", CID.encode(), THUMBNAIL_CID.encode(), 10**15).hex()
"""The data of the event that publishes the example draft, with title, CID, thumbnail and price."""

DELIVERY_NONCE = "5d1b6e0c-7a3f-4c2e-9b1d-8e2f4a6c0d13"

DELIVERY_TIMESTAMP = TIMESTAMP

DELIVERY_SIGNATURE = hmac.new(b"secret", TIMESTAMP.encode(), hashlib.sha256).hexdigest()
"""A text that looks like a delivery signature, but is refused by the service."""


def _describe_a() -> Schema:
    text, number = {"type": "string"}, {"type": "integer"}
    log = {
        "data": text,
        "topics": {"type": "array", "items": text},
        "index": number,
        "account": _open_object({"address": text}),
        "transaction": _open_object({"hash": text, "status": number}),
    }
    logs = {"type": "array", "items": _open_object(log)}
    block = {"hash": text, "number": number, "timestamp": number, "logs": logs}
    envelope = _within("event", _within("data", _within("block", _open_object(block))))
    return {"description": "The webhook's query result, in the provider's envelope.", **envelope}


def _describe_b() -> Schema:
    # The shape of a delivery depends on the operator's filter. Clients that try out the endpoint
    # send an object; a generated type for "any array or object" would help nobody.
    return {
        "description": "Arrays and objects, nested in any way, that contain logs.",
        "anyOf": [_open_object({}), {"type": "array", "items": {}}],
    }


def _open_object(properties: Schema) -> Schema:
    members = {"properties": properties} if properties else {}
    # Providers send more members than the service reads.
    return {"type": "object", **members, "additionalProperties": True}


def _within(name: str, schema: Schema) -> Schema:
    return _open_object({name: schema})


def _example_a() -> dict[str, Any]:
    log = {
        "data": LOG_DATA,
        "topics": LOG_TOPICS,
        "index": 0,
        "account": {"address": MARKETPLACE},
        "transaction": {"hash": TX_HASH, "status": 1},
    }
    block = {"hash": BLOCK_HASH, "number": 7, "timestamp": int(TIMESTAMP)}
    return {
        "webhookId": "wh_octjglnywaupz6th",
        "id": "whevt_ogrc5v64myey69ux",
        "createdAt": f"{MOMENT:%Y-%m-%dT%H:%M:%SZ}",
        "type": "GRAPHQL",
        "event": {"data": {"block": {**block, "logs": [log]}}, "sequenceNumber": "10000000000"},
    }


def _example_b() -> dict[str, Any]:
    log = {
        "address": MARKETPLACE,
        "topics": LOG_TOPICS,
        "data": LOG_DATA,
        "blockNumber": "0x7",
        "blockHash": BLOCK_HASH,
        "transactionHash": TX_HASH,
        "logIndex": "0x0",
        "removed": False,
    }
    return {"data": [[log]], "metadata": {"dataset": "logs", "batch_start_range": 7}}


DELIVERY_COMPONENTS: dict[str, Schema] = {
    "DeliverySignature": string("32 bytes in hex.", DELIVERY_SIGNATURE_PATTERN),
    "DeliveryNonce": string("A unique string.", DELIVERY_NONCE_PATTERN),
    "ProviderADelivery": _describe_a(),
    "ProviderBDelivery": _describe_b(),
}
"""Components for headers and for the bodies that providers send."""

_RESULT = DeliveryResponse(True, 1, 0, False, (EventResponse(POST_ID, CID, "onchain"),))

_DELIVERY_CODES = (
    Code.WEBHOOK_SIGNATURE_INVALID,
    Code.NOT_FOUND,
    Code.REQUEST_TIMEOUT,
    Code.TOO_LARGE,
    Code.UNSUPPORTED_MEDIA_TYPE,
    Code.DATABASE_UNAVAILABLE,
    *MIDDLEWARE_CODES,
)

_EFFECT = (
    "\n\nEvery `PostCreated` log of the marketplace in the delivery moves its file from `pending` "
    "to `onchain`, if its author is the file's owner. A signed delivery is never refused for its "
    "content: other logs and heartbeats are ignored with 200, what cannot be decoded is stored as "
    "a dead letter, and a repeated delivery or event has no effect. Logs that change who may read "
    "a post end cached access at once. `events` has the events and dead letters in the order of "
    "the logs. If the delivery names another network than this service's, its logs are ignored. If "
    "the provider has no secret in the settings, the path is 404."
)


def _signature_header(name: str, signed: str, *, required: bool = True) -> Parameter:
    text = f"HMAC-SHA256 of {signed} with the provider's secret, in hex."
    return Parameter(name, "DeliverySignature", text, DELIVERY_SIGNATURE, "header", required)


RECEIVE_FROM_PROVIDER_A = Operation(
    "receiveFromProviderA",
    "post",
    "/webhook/provider-a/publish",
    Topic.DELIVERIES,
    "Receive a delivery from provider a",
    "For Alchemy Notify, with a custom (GraphQL) webhook whose logs are at "
    "`event.data.block.logs[]`." + _EFFECT,
    Response("The result of the delivery.", DeliveryResponse, _RESULT),
    _DELIVERY_CODES,
    parameters=(_signature_header("X-Alchemy-Signature", "the raw body"),),
    body=Body("ProviderADelivery", "A delivery as the provider sends it.", _example_a()),
    alias="/webhook/alchemy/publish",
    alias_name="receiveFromAlchemy",
)

RECEIVE_FROM_PROVIDER_B = Operation(
    "receiveFromProviderB",
    "post",
    "/webhook/provider-b/publish",
    Topic.DELIVERIES,
    "Receive a delivery from provider b",
    "For QuickNode Streams. Logs (`address`, `topics`, `data`) are found in any nesting of "
    "arrays and objects; the body may be compressed with gzip, in one or several members."
    + _EFFECT
    + "\n\nA request without any of the three headers is a connection test of the provider's "
    "dashboard: it gets 200, and nothing is read or applied. With only some of them it is "
    "refused.",
    Response("The result of the delivery.", DeliveryResponse, _RESULT),
    _DELIVERY_CODES,
    parameters=(
        Parameter(
            "X-QN-Nonce",
            "DeliveryNonce",
            "Unique for each delivery; a nonce seen before makes it a duplicate.",
            DELIVERY_NONCE,
            "header",
            required=False,
        ),
        Parameter(
            "X-QN-Timestamp",
            "Timestamp",
            "Unix time in seconds, at most 300 seconds before or after now.",
            DELIVERY_TIMESTAMP,
            "header",
            required=False,
        ),
        _signature_header(
            "X-QN-Signature", "nonce, timestamp and the uncompressed body", required=False
        ),
    ),
    body=Body("ProviderBDelivery", "A delivery as the provider sends it.", _example_b()),
    alias="/webhook/quicknode/publish",
    alias_name="receiveFromQuicknode",
)

DELIVERY_OPERATIONS = (RECEIVE_FROM_PROVIDER_A, RECEIVE_FROM_PROVIDER_B)
"""The operations that providers call."""
