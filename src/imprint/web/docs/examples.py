"""Example requests and responses: one author creates, publishes and reads one draft.

The values are consistent: the cid is that of the document, and every signature recovers to the
owner, whose private key is the number 1. They are those of an imagined service, not of the one that
serves them, so that the description of every service is the same.
"""

import hashlib
import hmac
from base64 import urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from coincurve import PrivateKey

from imprint.auth.login_message import MAX_MESSAGE_BYTES
from imprint.auth.signatures import personal_digest
from imprint.auth.typed_data import MAX_NONCE_LENGTH, WRITE_TYPES, SigningDomain, SigningForm
from imprint.domain.drafts.documents import (
    MAX_IMAGE_BYTES,
    MAX_IMAGE_PIXELS,
    MAX_IMAGE_SIDE,
    write_document,
)
from imprint.domain.drafts.files import Action, file_name
from imprint.domain.drafts.tags import MAX_TAG_LENGTH, MAX_TAGS
from imprint.domain.formats.abi import encode_call
from imprint.domain.formats.addresses import Address, checksum_address, keccak256
from imprint.domain.formats.cids import document_cid
from imprint.domain.posts.lists import DRAFTS_PAGE_SIZE, PUBLIC_PAGE_SIZE
from imprint.domain.posts.marketplace import POST_CREATED
from imprint.web.docs.post_schemas import post_examples
from imprint.web.http import responses

_KEY = PrivateKey.from_int(1)

OWNER = Address("0x" + keccak256(_KEY.public_key.format(compressed=False)[1:])[12:].hex())
"""The author's address."""

MOMENT = datetime(2026, 1, 15, 9, 30, tzinfo=UTC)
"""When every example request is sent."""

PUBLISHED = MOMENT.replace(minute=45)
"""When the draft becomes a post."""

TIMESTAMP = str(int(MOMENT.timestamp()))
"""`MOMENT` as the timestamp of a signed write."""

NAME = file_name(OWNER, int(MOMENT.timestamp()) * 1_000_000)
"""The name of the draft."""

CONTENT = "The ink is still wet."
"""The text of the draft."""

_DOCUMENT = write_document(CONTENT, NAME, bytes(range(16)))

CID = document_cid(_DOCUMENT)
"""The cid of the draft."""

SIZE = len(_DOCUMENT)
"""The size of the stored document in bytes."""

_THUMBNAIL = b"\x89PNG\r\n\x1a\n"

THUMBNAIL_CID = document_cid(_THUMBNAIL)
"""The cid of the thumbnail."""

FILE_ID = "6f1c1a52-93c4-4b0e-8f0e-0d9d1f6a7b21"
GROUP_ID = "0b8f5f0e-5c3e-4e0a-9a53-2f8f1d1f5c10"

POST_ID = "1"
"""The post id under which the draft is published."""

TAGS = "essay,ink"
"""The hashtags of the draft."""

TX_HASH = "0x" + keccak256(b"transaction").hex()
BLOCK_HASH = "0x" + keccak256(b"block").hex()

PAGE_TOKEN = urlsafe_b64encode(keccak256(b"page") + keccak256(b"token")).decode().rstrip("=")
"""A text with the form of a page token; the service refuses it."""

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
"""A text with the form of a delivery's signature; the service refuses it."""

_CHECKS = dict.fromkeys(
    ("database", "storage", "chain", "disk", "follower", "indexer", "collector", "records"), "ok"
)

UNREADY = {
    "status": "not ready",
    "checks": _CHECKS | {"storage": "unavailable"},
    "details": [
        "Documents cannot be read: the content store does not respond, or is not the one of this"
        " installation."
    ],
}
"""The readiness response while the content store cannot be reached."""

LOGIN_DOMAIN = "imprint.example"
"""The domain that the login message names."""

MARKETPLACE = Address("0x" + keccak256(b"marketplace")[12:].hex())
"""The contract on which the draft is published."""

FACTS: dict[str, Any] = {
    "name": "Imprint",
    "version": "1.0.0",
    "service": f"https://{LOGIN_DOMAIN}",
    "signing": {"name": "Imprint", "version": "1", "chainId": 8453},
    "signing_forms": list(SigningForm),
    "features": ["posts", "feeds", "search", "writing-sessions", "contract-wallets"],
    "now": int(MOMENT.timestamp()),
    "login": {"domains": [LOGIN_DOMAIN], "freshness_seconds": 60},
    "chain": {"id": 8453, "marketplace": checksum_address(MARKETPLACE)},
    "limits": {
        "content_bytes": 4 * 1024 * 1024,
        "quota_bytes": 256 * 1024 * 1024,
        "quota_drafts": 1000,
        "thumbnail_bytes": MAX_IMAGE_BYTES,
        "thumbnail_pixels": MAX_IMAGE_PIXELS,
        "thumbnail_side": MAX_IMAGE_SIDE,
        "hashtags": MAX_TAGS,
        "hashtag_length": MAX_TAG_LENGTH,
        "nonce_length": MAX_NONCE_LENGTH,
        "login_message_bytes": MAX_MESSAGE_BYTES,
    },
    "page_sizes": {
        "filesByTags": PUBLIC_PAGE_SIZE,
        "filesMetaData": PUBLIC_PAGE_SIZE,
        "filesByNextPageToken": PUBLIC_PAGE_SIZE,
        "pendingFilesByOwner": DRAFTS_PAGE_SIZE,
    },
}
"""The facts of the imagined service."""

_DOMAIN = SigningDomain(*FACTS["signing"].values())

_NEXT_TOKEN_ID = {
    "type": "function",
    "name": "nextTokenId",
    "inputs": [],
    "outputs": [{"name": "", "type": "uint256", "internalType": "uint256"}],
    "stateMutability": "view",
}
"""An entry of the contract's ABI, which has some forty."""


def _build_examples() -> dict[str, Any]:
    return {
        "LoginBody": _login(),
        "LogoutBody": {"all": True},
        "ProviderADelivery": _delivery_a(),
        "ProviderBDelivery": _delivery_b(),
        "Facts": FACTS,
        "Marketplace": {
            "chainId": 8453,
            "address": MARKETPLACE,
            "startBlock": 23_100_004,
            "abi": [_NEXT_TOKEN_ID],
        },
        "Health": {"status": "alive"},
        "Readiness": {"status": "ready", "checks": _CHECKS, "details": []},
        **msgspec.to_builtins(_responses()),
    }


def _login() -> dict[str, Any]:
    message = "\n".join(
        [
            f"{LOGIN_DOMAIN} wants you to sign in with your Ethereum account:",
            checksum_address(OWNER),
            "",
            "Read what you hold.",
            "",
            f"URI: https://{LOGIN_DOMAIN}",
            "Version: 1",
            f"Chain ID: {FACTS['signing']['chainId']}",
            "Nonce: 7Gq2mVb4Xz",
            f"Issued At: {MOMENT:%Y-%m-%dT%H:%M:%SZ}",
        ]
    )
    signature = sign_digest(personal_digest(message.encode()))
    return {"salt": message, "address": checksum_address(OWNER), "signature": signature}


def _write_bodies(form: SigningForm) -> dict[str, dict[str, Any]]:
    content = {"content": CONTENT}
    publish = {"file": "thumbnail.png"} | _signed_write(form, Action.PUBLISH)
    return {
        "CreateBody": _signed_write(form, Action.CREATE) | content,
        "UpdateBody": _signed_write(form, Action.UPDATE) | content,
        "DeleteBody": _signed_write(form, Action.DELETE),
        "PublishForm": publish | {"hashtags": TAGS},
    }


def _signed_write(form: SigningForm, action: Action) -> dict[str, Any]:
    kind = WRITE_TYPES[form][action]
    values = {
        "cid": CID,
        "contentHash": keccak256(CONTENT.encode()),
        "hashtags": TAGS,
        # As random as an example that is the same every time can be.
        "nonce": keccak256(kind.name.encode())[:16].hex(),
        "service": FACTS["service"],
        "thumbnailHash": keccak256(_THUMBNAIL),
        "timestamp": TIMESTAMP if form is SigningForm.IMPRINT_1 else int(TIMESTAMP),
    }
    shown = values | {"action": action.value}
    message = {name: _show(shown[name]) for name, _ in kind.members}
    digest = keccak256(_DOMAIN.signed_bytes(kind.hash_struct(values)))
    salt = {
        "domain": FACTS["signing"],
        "types": {kind.name: kind.declared},
        "primaryType": kind.name,
        "message": message,
    }
    return {"salt": salt, "address": checksum_address(OWNER), "signature": sign_digest(digest)}


def _show(value: str | int | bytes) -> str | int:
    return f"0x{value.hex()}" if isinstance(value, bytes) else value


def sign_digest(digest: bytes) -> str:
    """The owner's signature."""
    signature = _KEY.sign_recoverable(digest, hasher=None)
    return "0x" + signature[:64].hex() + f"{27 + signature[64]:02x}"


def _delivery_a() -> dict[str, Any]:
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


def _delivery_b() -> dict[str, Any]:
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


def _responses() -> dict[str, msgspec.Struct]:
    owned = responses.KeyValues(OWNER, "pending")
    written = responses.Record(FILE_ID, NAME, CID, SIZE, MOMENT, GROUP_ID, owned)
    draft, post = _read_record("pending"), _read_record("onchain")
    event = responses.EventResponse(POST_ID, CID, "onchain")
    tags = tuple(TAGS.split(","))
    expires = MOMENT + timedelta(hours=2)
    return {
        "LoginAnswer": responses.LoginResponse(_session(expires), OWNER, "2h", expires),
        "CreatedAnswer": responses.CreatedResponse(written),
        "UpdatedAnswer": responses.UpdatedResponse(written),
        "PublishedAnswer": responses.PublishedResponse(THUMBNAIL_CID),
        "DeletedAnswer": responses.DeletedResponse(responses.DeletedFile(FILE_ID, "deleted")),
        "DraftAnswer": responses.ContentResponse(CONTENT, draft),
        "PostAnswer": responses.ContentResponse(CONTENT, post),
        "FilesAnswer": responses.FilesResponse([post], None),
        "DraftsAnswer": responses.FilesResponse([draft], None),
        "TaggedFilesAnswer": responses.TaggedFilesResponse([post], 1, tags, PAGE_TOKEN),
        "DeliveryAnswer": responses.DeliveryResponse(True, 1, 0, False, [event]),
        **post_examples(
            {
                "moment": MOMENT.replace(minute=45),
                "owner": OWNER,
                "reader": Address("0x" + keccak256(b"reader")[12:].hex()),
                "post_id": POST_ID,
                "cid": CID,
                "thumbnail_cid": THUMBNAIL_CID,
                "tags": TAGS,
                "block_hash": BLOCK_HASH,
                "tx_hash": TX_HASH,
                "page_token": PAGE_TOKEN,
            }
        ),
        **_totals(),
    }


def _totals() -> dict[str, msgspec.Struct]:
    price = str(10**15)
    market = responses.MarketMetrics(2, 1, price, price)
    author = responses.CreatorMetrics(1, price, 1, price)
    address = responses.UserMetrics(author, responses.HolderMetrics(0, "0"))
    return {
        "GlobalMetricsAnswer": responses.GlobalMetricsResponse(200, market),
        "UserMetricsAnswer": responses.UserMetricsResponse(200, address),
        "HeatMapAnswer": responses.HeatMapResponse(200, responses.HeatMap(["15/1/2026"], [])),
    }


def _read_record(status: str) -> responses.ReadRecord:
    published = status == "onchain"
    return responses.ReadRecord(
        FILE_ID,
        NAME,
        CID,
        SIZE,
        MOMENT,
        GROUP_ID,
        _key_values(status),
        tuple(TAGS.split(",")),
        THUMBNAIL_CID,
        POST_ID if published else None,
        PUBLISHED if published else None,
        TX_HASH if published else None,
    )


def _key_values(status: str) -> dict[str, str]:
    published = {"publishedAt": f"{PUBLISHED:%Y-%m-%dT%H:%M:%SZ}"} if status == "onchain" else {}
    return {"owner": OWNER, "status": status, **published, **{tag: tag for tag in TAGS.split(",")}}


def _session(expires: datetime) -> str:
    """A JWT with the form of a session; the service refuses it."""
    header = {"alg": "HS256", "typ": "JWT", "kid": "sample"}
    claims = {
        "sub": OWNER,
        "iat": int(TIMESTAMP),
        "exp": int(expires.timestamp()),
        "address": OWNER,
    }
    signed = b".".join(_base64url(msgspec.json.encode(part)) for part in (header, claims))
    return (signed + b"." + _base64url(keccak256(signed))).decode()


def _base64url(data: bytes) -> bytes:
    return urlsafe_b64encode(data).rstrip(b"=")


EXAMPLES = _build_examples()
"""Examples by their names: those of the components that are bodies, and some more of responses."""

WRITE_EXAMPLES: dict[str, dict[str, dict[str, Any]]] = {
    component: {
        form.value: _write_bodies(form)[component]
        for form in (SigningForm.IMPRINT_2, SigningForm.IMPRINT_1)
    }
    for component in ("CreateBody", "UpdateBody", "DeleteBody", "PublishForm")
}
"""Examples of the bodies of signed writes, by the names of their components and their forms."""
