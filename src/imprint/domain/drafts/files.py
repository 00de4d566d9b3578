"""Files: the versions of an author's work, their states, and the writes that change them."""

import random
import time
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid

_VERSION, _VARIANT = 7 << 76, 2 << 62
"""The version and variant bits of a UUIDv7."""

_LOW_BITS = (1 << 62) - 1


def new_id() -> str:
    """Return a new UUIDv7, which consists of the time in milliseconds and random bits.

    IDs created in sequence are adjacent in an index. An ID is not a secret, so `random` is good
    enough. The generator is seeded from the system in every process.
    """
    bits = random.getrandbits(74)
    number = time.time_ns() // 1_000_000 << 80 | _VERSION | bits >> 62 << 64 | _VARIANT
    digits = f"{number | bits & _LOW_BITS:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


class State(StrEnum):
    """The state of a file. Only `PENDING` and `ONCHAIN` files are visible."""

    PENDING = "pending"
    ONCHAIN = "onchain"
    SUPERSEDED = "superseded"
    DELETED = "deleted"

    @property
    def live(self) -> bool:
        """Whether a file in this state is visible."""
        return self in (State.PENDING, State.ONCHAIN)


class Action(StrEnum):
    """The action of a signed write that concerns a draft."""

    CREATE = "create"
    UPDATE = "update"
    PUBLISH = "publish"
    DELETE = "delete"


class AccountAction(StrEnum):
    """The action of a signed write that concerns an account."""

    PROFILE = "profile"


class PostAction(StrEnum):
    """The action of a signed write that concerns a post."""

    REVISE = "revise"


class Network(StrEnum):
    """The network that holds a document. Only this service serves `PRIVATE` documents."""

    PRIVATE = "private"
    PUBLIC = "public"


@dataclass(frozen=True, slots=True)
class Publication:
    """The on-chain post created from a file."""

    post_id: int
    published_at: datetime
    tx_hash: str | None


@dataclass(frozen=True, slots=True)
class File:
    """One version of an author's work.

    `position` orders every list: each creation and each publication takes the next
    position. `wrapped_key` decrypts the document if it is encrypted.
    """

    id: str
    group_id: str
    owner: Address
    name: str
    cid: Cid
    size: int
    created_at: datetime
    state: State
    position: int
    hashtags: tuple[str, ...] = ()
    thumbnail_cid: Cid | None = None
    publication: Publication | None = None
    wrapped_key: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Version:
    """A file added by a signed write."""

    id: str
    group_id: str
    owner: Address
    number: int
    cid: Cid
    size: int
    created_at: datetime
    wrapped_key: bytes | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        return file_name(self.owner, self.number)


def file_name(owner: Address, number: int) -> str:
    """Return a file's name: the owner's address, and a number counted separately for each owner."""
    return f"{owner}_{number}"


@dataclass(frozen=True, slots=True)
class Write:
    """A verified signed write: the signer, the action, and the nonce that it spends.

    `session` is the ID of the writing session whose key signed on behalf of the signer.
    `body_hash` is the hash of the content or thumbnail that the signature covers, if any.
    """

    signer: Address
    action: Action | AccountAction | PostAction
    nonce: str
    at: datetime
    session: str | None = None
    body_hash: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Label:
    """Metadata that a content store may show next to a document, for information only."""

    name: str
    owner: Address
    group_id: str
    status: State


@dataclass(frozen=True, slots=True)
class Intent:
    """A document to be stored for a write, recorded first so that a crash leaves a trace of it."""

    id: str
    write: Write
    cid: Cid
    size: int
    network: Network
    lease_until: datetime
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Quota:
    """How much a signer may store. 0 means no limit.

    `bytes` covers drafts, their thumbnails, revisions of posts, and replaced or deleted documents
    until they are destroyed. `drafts` is the number of drafts. Posts do not count.
    """

    bytes: int = 0
    drafts: int = 0
