"""One author, one story: the values that every example of the manual is made of.

They fit together: the cid is that of the document, and whoever recovers a signature finds the
owner. The author's key is the number 1, which everybody has.
"""

import hashlib
import hmac
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from coincurve import PrivateKey

from imprint.auth.signatures import personal_digest
from imprint.auth.typed_data import WRITE_TYPES, SigningDomain
from imprint.domain.abi import encode_call
from imprint.domain.addresses import Address, keccak256
from imprint.domain.cids import document_cid
from imprint.domain.documents import write_document
from imprint.domain.files import Action, file_name
from imprint.domain.marketplace import POST_CREATED
from imprint.web.responses import (
    ContentAnswer,
    CreatedAnswer,
    DeletedAnswer,
    DeletedFile,
    DeliveryAnswer,
    EventAnswer,
    FilesAnswer,
    KeyValues,
    LoginAnswer,
    PublishedAnswer,
    ReadRecord,
    Record,
    TaggedFilesAnswer,
    UpdatedAnswer,
)

_KEY = PrivateKey.from_int(1)

OWNER = Address("0x" + keccak256(_KEY.public_key.format(compressed=False)[1:])[12:].hex())
"""The author."""

MOMENT = datetime(2026, 1, 15, 9, 30, tzinfo=UTC)
"""When the story happens."""

TIMESTAMP = str(int(MOMENT.timestamp()))
"""The same, in the words of a signed write."""

NONCE = f"{OWNER}_{TIMESTAMP}"
"""The nonce of the author's writes, as clients usually make it."""

NUMBER = int(MOMENT.timestamp()) * 1_000_000
"""The number in the name of the author's draft."""

NAME = file_name(OWNER, NUMBER)
"""The name of the author's draft."""

CONTENT = "The ink is still wet."
"""What the author wrote."""

_DOCUMENT = write_document(CONTENT, NAME, bytes(range(16)))

CID = document_cid(_DOCUMENT)
"""The cid of the author's draft."""

SIZE = len(_DOCUMENT)
"""How many bytes are stored for it."""

THUMBNAIL_CID = document_cid(b"\x89PNG\r\n\x1a\n")
"""The cid of a very small picture."""

FILE_ID = "6f1c1a52-93c4-4b0e-8f0e-0d9d1f6a7b21"
GROUP_ID = "0b8f5f0e-5c3e-4e0a-9a53-2f8f1d1f5c10"

POST_ID = "1"
"""Under which id the draft is published."""

TAGS = "essay,ink"
"""What the author says it is about."""

TX_HASH = "0x" + keccak256(b"transaction").hex()
BLOCK_HASH = "0x" + keccak256(b"block").hex()

PAGE_TOKEN = urlsafe_b64encode(keccak256(b"page") + keccak256(b"token")).decode().rstrip("=")
"""What a page token looks like; nobody can make one up."""

LOG_TOPICS = [
    "0x" + topic.hex()
    for topic in (POST_CREATED, int(POST_ID).to_bytes(32), bytes(12) + bytes.fromhex(OWNER[2:]))
]
"""The topics of the event that publishes the draft."""

LOG_DATA = "0x" + encode_call(b"", b"Wet ink", CID.encode(), THUMBNAIL_CID.encode(), 10**15).hex()
"""The data of that event: title, cid, thumbnail and price."""

DELIVERY_NONCE = "5d1b6e0c-7a3f-4c2e-9b1d-8e2f4a6c0d13"
DELIVERY_TIMESTAMP = TIMESTAMP
DELIVERY_SIGNATURE = hmac.new(b"secret", TIMESTAMP.encode(), hashlib.sha256).hexdigest()
"""What the signature of a delivery looks like."""


def sign(digest: bytes) -> str:
    """The author's signature."""
    signature = _KEY.sign_recoverable(digest, hasher=None)
    return "0x" + signature[:64].hex() + f"{27 + signature[64]:02x}"


def session() -> str:
    """What a session looks like: a JWT that this service would refuse."""
    expires = int((MOMENT + timedelta(hours=2)).timestamp())
    header = {"alg": "HS256", "typ": "JWT", "kid": "sample"}
    claims = {"sub": OWNER, "iat": int(TIMESTAMP), "exp": expires}
    signed = b".".join(_base64url(msgspec.json.encode(part)) for part in (header, claims))
    return (signed + b"." + _base64url(keccak256(signed))).decode()


def _base64url(data: bytes) -> bytes:
    return urlsafe_b64encode(data).rstrip(b"=")


_DRAFT = Record(
    FILE_ID,
    NAME,
    CID,
    SIZE,
    MOMENT,
    GROUP_ID,
    KeyValues(OWNER, "pending"),
)


UNREADY = {
    "status": "unavailable",
    "checks": {"database": "ok", "storage": "unavailable", "chain": "ok"},
}
"""What readiness looks like while the content store does not answer."""


def build_examples(facts: Mapping[str, Any]) -> dict[str, Any]:
    """An example for every component that a body or an answer names."""
    signing = facts["signing"]
    domain = SigningDomain(signing["name"], signing["version"], signing["chainId"])
    content = {"content": CONTENT}
    publication = _signed(domain, Action.PUBLISH) | {"hashtags": TAGS}
    return {
        "LoginBody": _login(facts),
        "CreateBody": _signed(domain, Action.CREATE) | content,
        "UpdateBody": _signed(domain, Action.UPDATE) | content,
        "DeleteBody": _signed(domain, Action.DELETE),
        "PublishForm": {"file": "thumbnail.png", **publication},
        "ProviderADelivery": _delivery_a(facts["chain"]["marketplace"]),
        "ProviderBDelivery": _delivery_b(facts["chain"]["marketplace"]),
        "Facts": dict(facts),
        "Health": {"status": "alive"},
        "Readiness": {
            "status": "ready",
            "checks": {"database": "ok", "storage": "ok", "chain": "ok"},
        },
        **msgspec.to_builtins(_answers()),
    }


def typed_data(domain: SigningDomain, action: Action) -> dict[str, Any]:
    """The envelope of the author's write."""
    kind = WRITE_TYPES[action].name
    return {
        "domain": {"name": domain.name, "version": domain.version, "chainId": domain.chain_id},
        "types": {kind: [{"name": n, "type": "string"} for n in ("action", "nonce", "timestamp")]},
        "primaryType": kind,
        "message": {
            "action": action.value,
            "nonce": NONCE,
            "timestamp": TIMESTAMP,
        },
    }


def _signed(domain: SigningDomain, action: Action) -> dict[str, Any]:
    digest = domain.digest(action, NONCE, TIMESTAMP)
    return {
        "salt": typed_data(domain, action),
        "address": OWNER,
        "signature": sign(digest),
    }


def _login(facts: Mapping[str, Any]) -> dict[str, Any]:
    domain = facts["login"]["domains"][0]
    message = "\n".join(
        [
            f"{domain} wants you to sign in with your Ethereum account:",
            OWNER,
            "",
            "Read what you hold.",
            "",
            f"URI: https://{domain}",
            "Version: 1",
            f"Chain ID: {facts['signing']['chainId']}",
            "Nonce: 7Gq2mVb4Xz",
            f"Issued At: {MOMENT:%Y-%m-%dT%H:%M:%SZ}",
        ]
    )
    signature = sign(personal_digest(message.encode()))
    return {"salt": message, "address": OWNER, "signature": signature}


def _answers() -> dict[str, msgspec.Struct]:
    draft = _read_record("pending")
    post = _read_record("onchain")
    event = EventAnswer(POST_ID, CID, "onchain")
    tags = tuple(TAGS.split(","))
    expires = MOMENT.replace(hour=MOMENT.hour + 2)
    return {
        "LoginAnswer": LoginAnswer(session(), OWNER, "2h", expires),
        "CreatedAnswer": CreatedAnswer(_DRAFT),
        "UpdatedAnswer": UpdatedAnswer(_DRAFT),
        "PublishedAnswer": PublishedAnswer(THUMBNAIL_CID),
        "DeletedAnswer": DeletedAnswer(DeletedFile(FILE_ID, "deleted")),
        "DraftAnswer": ContentAnswer(CONTENT, draft),
        "PostAnswer": ContentAnswer(CONTENT, post),
        "FilesAnswer": FilesAnswer([post], None),
        "DraftsAnswer": FilesAnswer([draft], None),
        "TaggedFilesAnswer": TaggedFilesAnswer([post], 1, tags, PAGE_TOKEN),
        "DeliveryAnswer": DeliveryAnswer(True, 1, 0, False, [event]),
    }


def _read_record(status: str) -> ReadRecord:
    published = status == "onchain"
    return ReadRecord(
        FILE_ID,
        NAME,
        CID,
        SIZE,
        MOMENT,
        GROUP_ID,
        KeyValues(OWNER, status),
        tuple(TAGS.split(",")),
        THUMBNAIL_CID,
        POST_ID if published else None,
        MOMENT.replace(minute=45) if published else None,
        TX_HASH if published else None,
    )


def _delivery_a(marketplace: str) -> dict[str, Any]:
    log = {
        "data": LOG_DATA,
        "topics": LOG_TOPICS,
        "index": 0,
        "account": {"address": marketplace.lower()},
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


def _delivery_b(marketplace: str) -> dict[str, Any]:
    log = {
        "address": marketplace.lower(),
        "topics": LOG_TOPICS,
        "data": LOG_DATA,
        "blockNumber": "0x7",
        "blockHash": BLOCK_HASH,
        "transactionHash": TX_HASH,
        "logIndex": "0x0",
        "removed": False,
    }
    return {"data": [[log]], "metadata": {"dataset": "logs", "batch_start_range": 7}}
