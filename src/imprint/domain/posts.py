"""Posts: what the marketplace says, in its events and in its entries."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from imprint.domain.addresses import ZERO_ADDRESS, Address
from imprint.domain.cids import Cid


@dataclass(frozen=True, slots=True)
class PostEntry:
    """The marketplace's entry for a post id; `cid` is None if the text there is no cid."""

    author: Address
    cid: Cid | None
    price: int

    @property
    def exists(self) -> bool:
        return self.author != ZERO_ADDRESS


@dataclass(frozen=True, slots=True)
class PostFacts:
    """What decides access, read at one block: the entry, and the reader's balance of the token."""

    entry: PostEntry
    balance: int


@dataclass(frozen=True, slots=True)
class LogPlace:
    """Where a log stands; chain id, block hash and log index together are its identity."""

    chain_id: int
    block_hash: str
    block_number: int | None
    log_index: int
    tx_hash: str | None


@dataclass(frozen=True, slots=True)
class BlockRef:
    """A block by its height and its hash."""

    number: int
    block_hash: str


@dataclass(frozen=True, slots=True)
class PostCreated:
    """The marketplace's word that `author` published `spelled_cid` as `post_id`."""

    place: LogPlace
    post_id: int
    author: Address
    spelled_cid: str
    cid: Cid | None


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A log of ours that cannot be decoded, kept so that nothing is lost in silence."""

    place: LogPlace | None
    reason: str
    payload: str


class EventStatus(StrEnum):
    """What became of an event."""

    ONCHAIN = "onchain"
    ALREADY_ONCHAIN = "already_onchain"
    UNKNOWN_FILE = "unknown_file"
    AUTHOR_MISMATCH = "author_mismatch"
    DEAD_LETTER = "dead_letter"


@dataclass(frozen=True, slots=True)
class DeliveryKey:
    """What makes a delivery that is replayed recognizable."""

    provider: str
    digest: str
    nonce: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """A verified delivery, opened: the events in it, what cannot be decoded, what is not ours."""

    provider: str
    key: DeliveryKey | None
    events: tuple[PostCreated, ...] = ()
    dead_letters: tuple[DeadLetter, ...] = ()
    ignored: int = 0


@dataclass(frozen=True, slots=True)
class ApplyResult:
    """What the catalog made of a delivery: one status for each event, in order.

    `new_letters` counts the dead letters that were not kept already.
    """

    duplicate: bool
    statuses: tuple[EventStatus, ...] = ()
    new_letters: int = 0


@dataclass(frozen=True, slots=True)
class KnownEvent:
    """An event that counts as canonical; `confirmed` if the follower has read it itself."""

    event: PostCreated
    seen_at: datetime
    confirmed: bool


@dataclass(frozen=True, slots=True)
class KeptLetter:
    """A dead letter as it is kept: where it stood or what it is known by, and what was wrong."""

    identity: str
    reason: str
    payload: str
    source: str | None
    seen_at: datetime


@dataclass(frozen=True, slots=True)
class EventReport:
    """How many events came to what, and the newest of those that somebody may look into."""

    counts: Mapping[EventStatus, int]
    mismatches: tuple[KnownEvent, ...]
    unknown: tuple[KnownEvent, ...]
    dead_letters: tuple[KeptLetter, ...]


@dataclass(frozen=True, slots=True)
class Advance:
    """What reading a stretch of the chain says: which events are there, and which are not.

    `cursor`, if given, is where the follower stands afterwards: it has read all up to this block.
    `final`, if given, is one that no reorg of the configured depth can replace any more.
    """

    cursor: BlockRef | None = None
    final: BlockRef | None = None
    events: tuple[PostCreated, ...] = ()
    dead_letters: tuple[DeadLetter, ...] = ()
    lost: tuple[LogPlace, ...] = ()
