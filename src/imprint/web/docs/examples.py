"""Example requests and responses: one author creates, publishes and reads one draft.

The values are consistent: the CID belongs to the document, and every signature recovers to the
owner, whose private key is the number 1. The examples describe an imaginary service, so that the
description is the same for every service.
"""

from base64 import urlsafe_b64encode
from dataclasses import replace
from datetime import UTC, datetime

from coincurve import PrivateKey

from imprint.auth.login_message import MAX_MESSAGE_BYTES
from imprint.auth.typed_data import MAX_NONCE_LENGTH, SigningDomain, SigningForm
from imprint.domain.drafts.documents import (
    MAX_IMAGE_BYTES,
    MAX_IMAGE_PIXELS,
    MAX_IMAGE_SIDE,
    write_document,
)
from imprint.domain.drafts.files import File, Publication, State, file_name
from imprint.domain.drafts.tags import MAX_TAG_LENGTH, MAX_TAGS
from imprint.domain.formats.addresses import Address, keccak256
from imprint.domain.formats.cids import document_cid
from imprint.domain.posts.indexed_posts import (
    DRAFTS_PAGE_SIZE,
    PUBLIC_PAGE_SIZE,
    IndexedPost,
    Sales,
)
from imprint.domain.posts.posts import BlockRef
from imprint.domain.posts.revisions import RevisionSummary
from imprint.domain.profiles import Profile, ProfileTexts
from imprint.interface.drafts import Content, PostContent
from imprint.interface.service import (
    ChainFacts,
    CoinFacts,
    LimitFacts,
    LoginFacts,
    PageSizes,
    ServiceFacts,
    SigningFacts,
)
from imprint.web.api.feed_links import FeedLinks
from imprint.web.http.responses import file_record, read_record

_KEY = PrivateKey.from_int(1)

OWNER = Address("0x" + keccak256(_KEY.public_key.format(compressed=False)[1:])[12:].hex())
"""The author's address."""

MOMENT = datetime(2026, 1, 15, 9, 30, tzinfo=UTC)
"""The time at which every example request is sent."""

PUBLISHED = MOMENT.replace(minute=45)
"""The time at which the draft becomes a post."""

TIMESTAMP = str(int(MOMENT.timestamp()))
"""`MOMENT` as the timestamp of a signed write."""

NAME = file_name(OWNER, int(MOMENT.timestamp()) * 1_000_000)
"""The name of the draft."""

CONTENT = "The ink is still wet."
"""The text of the draft."""

_DOCUMENT = write_document(CONTENT, NAME, bytes(range(16)))

CID = document_cid(_DOCUMENT)
"""The CID of the draft."""

SIZE = len(_DOCUMENT)
"""The size of the stored document in bytes."""

THUMBNAIL = b"\x89PNG\r\n\x1a\n"

THUMBNAIL_CID = document_cid(THUMBNAIL)
"""The CID of the thumbnail."""

FILE_ID = "6f1c1a52-93c4-4b0e-8f0e-0d9d1f6a7b21"
GROUP_ID = "0b8f5f0e-5c3e-4e0a-9a53-2f8f1d1f5c10"

POST_ID = "1"
"""The ID of the post that the draft becomes."""

TAGS = "essay,ink"
"""The hashtags of the draft."""

TX_HASH = "0x" + keccak256(b"transaction").hex()
BLOCK_HASH = "0x" + keccak256(b"block").hex()

PAGE_TOKEN = urlsafe_b64encode(keccak256(b"page") + keccak256(b"token")).decode().rstrip("=")
"""A text that looks like a page token, but is refused by the service."""

LOGIN_DOMAIN = "imprint.example"
"""The domain named in the login message."""

SERVICE = f"https://{LOGIN_DOMAIN}"
"""The URL of the imaginary service."""

MARKETPLACE = Address("0x" + keccak256(b"marketplace")[12:].hex())
"""The contract on which the draft is published."""

FACTS = ServiceFacts(
    "Imprint",
    "1.1.0",
    SERVICE,
    SigningFacts("Imprint", "1", 8453),
    tuple(SigningForm),
    ("posts", "feeds", "search", "writing-sessions", "contract-wallets"),
    LoginFacts((LOGIN_DOMAIN,), 60),
    ChainFacts(8453, MARKETPLACE, "Base", CoinFacts("ETH", 18)),
    LimitFacts(
        content_bytes=4 * 1024 * 1024,
        quota_bytes=256 * 1024 * 1024,
        quota_drafts=1000,
        thumbnail_bytes=MAX_IMAGE_BYTES,
        thumbnail_pixels=MAX_IMAGE_PIXELS,
        thumbnail_side=MAX_IMAGE_SIDE,
        hashtags=MAX_TAGS,
        hashtag_length=MAX_TAG_LENGTH,
        nonce_length=MAX_NONCE_LENGTH,
        login_message_bytes=MAX_MESSAGE_BYTES,
    ),
    PageSizes(PUBLIC_PAGE_SIZE, PUBLIC_PAGE_SIZE, PUBLIC_PAGE_SIZE, DRAFTS_PAGE_SIZE),
    now=int(MOMENT.timestamp()),
)
"""The parameters of the imaginary service."""

DOMAIN = SigningDomain(FACTS.signing.name, FACTS.signing.version, FACTS.signing.chain_id)
"""The signing domain of all typed data."""

_FILE = File(FILE_ID, GROUP_ID, OWNER, NAME, CID, SIZE, MOMENT, State.PENDING, 1)
_PREPARED = replace(_FILE, hashtags=tuple(TAGS.split(",")), thumbnail_cid=THUMBNAIL_CID)
_PUBLISHED = replace(
    _PREPARED, state=State.ONCHAIN, publication=Publication(int(POST_ID), PUBLISHED, TX_HASH)
)

WRITTEN = file_record(_FILE)
"""The draft as returned by writes."""

DRAFT = read_record(_PREPARED)
"""The draft as returned by reads."""

POST = read_record(_PUBLISHED)
"""The post as returned by reads."""

POST_CONTENT = Content(CONTENT, POST)
"""The response with the text of the post."""

REVISED = PUBLISHED.replace(hour=11)
"""The time at which the author corrects the post."""

REVISION_NOTE = "A typo."
"""The author's note about the correction."""

REVISED_CONTENT = "The ink is still drying."
"""The corrected text."""

REVISION_CID = document_cid(
    write_document(
        REVISED_CONTENT, file_name(OWNER, int(REVISED.timestamp()) * 1_000_000), bytes(range(16))
    )
)
"""The CID of the corrected text."""

NEWEST_CONTENT = PostContent(REVISED_CONTENT, POST, 1)
"""The response with the corrected text of the post."""

PROFILE = Profile(
    OWNER,
    ProfileTexts("Ada Ink", "Writes by hand.", ("https://ada.example",)),
    THUMBNAIL_CID,
    PUBLISHED,
)
"""The profile of the owner."""

INDEXED_POST = IndexedPost(
    7 << 20,
    int(POST_ID),
    OWNER,
    CID,
    THUMBNAIL_CID,
    "Wet ink",
    "On writing by hand.",
    10**18,
    10**18,
    tuple(TAGS.split(",")),
    True,
    PUBLISHED,
    BlockRef(7, BLOCK_HASH),
    TX_HASH,
    Sales(1, 10**18),
    1,
    PROFILE.byline,
    420,
    True,
    RevisionSummary(1, REVISION_NOTE, REVISED),
)
"""The post as stored in the index."""

FREE_POST = replace(INDEXED_POST, price=0, first_price=0, sales=Sales(0, 0))
"""A free variant of the post."""

LINKS = FeedLinks(SERVICE, "Imprint", FACTS.chain.id, MARKETPLACE, has_site=True)
"""The URLs of the imaginary service."""


def sign_digest(digest: bytes) -> str:
    """Return the owner's signature of a digest."""
    signature = _KEY.sign_recoverable(digest, hasher=None)
    return "0x" + signature[:64].hex() + f"{27 + signature[64]:02x}"
