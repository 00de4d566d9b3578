"""One author, one story: the values that every example of the manual is made of.

They fit together: the cid is that of the document, and whoever recovers a signature finds the
owner. The author's key is the number 1, which everybody has.
"""

import hashlib
import hmac
from base64 import urlsafe_b64encode
from datetime import UTC, datetime, timedelta

import msgspec
from coincurve import PrivateKey

from imprint.domain.abi import encode_call
from imprint.domain.addresses import Address
from imprint.domain.documents import write_document
from imprint.domain.files import file_name
from imprint.domain.keccak import keccak256
from imprint.domain.marketplace import POST_CREATED
from imprint.domain.unixfs import document_cid

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
