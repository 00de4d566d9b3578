"""Identifiers: made here, unlike any other, and nobody's secret."""

import random
import time
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from imprint.domain.addresses import Address
from imprint.domain.cids import Cid

_VERSION, _VARIANT = 7 << 76, 2 << 62
"""The bits that tell a UUID of version 7."""

_LOW = (1 << 62) - 1


def new_id() -> str:
    """A UUID of version 7: the time in milliseconds, then chance, which every process seeds anew.

    Records that are made one after another stand beside each other in every index of their ids.
    Nobody gains anything by guessing one, so none waits for the system's own randomness.
    """
    chance = random.getrandbits(74)
    number = time.time_ns() // 1_000_000 << 80 | _VERSION | chance >> 62 << 64 | _VARIANT
    digits = f"{number | chance & _LOW:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


class State(StrEnum):
    """Where a file stands. Only `PENDING` and `ONCHAIN` are ever shown; the rest are gone."""

    PENDING = "pending"
    ONCHAIN = "onchain"
    SUPERSEDED = "superseded"
    DELETED = "deleted"

    @property
    def live(self) -> bool:
        """Whether anybody may still see a file in this state."""
        return self in (State.PENDING, State.ONCHAIN)


class Action(StrEnum):
    """What a signed write does."""

    CREATE = "create"
    UPDATE = "update"
    PUBLISH = "publish"
    DELETE = "delete"


class Network(StrEnum):
    """Who may fetch a document: holders through this service, or anybody."""

    PRIVATE = "private"
    PUBLIC = "public"


@dataclass(frozen=True, slots=True)
class Publication:
    """What binds a file to its post on the chain."""

    post_id: int
    published_at: datetime
    tx_hash: str | None


@dataclass(frozen=True, slots=True)
class File:
    """One version of an author's work.

    `position` orders every list: it rises with each creation and each publication. `wrapped_key`
    opens the document, if that is encrypted.
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
    """A document about to become a file: what the author's write adds to the catalog."""

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
    """The name of an owner's version: the address, and a number that rises per owner."""
    return f"{owner}_{number}"


@dataclass(frozen=True, slots=True)
class Write:
    """A proven signed write: who, what, and the nonce that it spends when it takes effect."""

    signer: Address
    action: Action
    nonce: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Label:
    """What a content store may show its operator beside a document; nothing is decided by it."""

    name: str
    owner: Address
    group_id: str
    status: State


@dataclass(frozen=True, slots=True)
class Intent:
    """A document about to be stored for a write, noted first so that no crash can orphan it."""

    id: str
    write: Write
    cid: Cid
    network: Network
    lease_until: datetime
    number: int | None = None
