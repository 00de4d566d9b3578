"""Posts: marketplace entries, marketplace events, and the results of applying events."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from imprint.domain.formats.addresses import ZERO_ADDRESS, Address
from imprint.domain.formats.cids import Cid


@dataclass(frozen=True, slots=True)
class PostEntry:
    """The marketplace's entry for a post ID. `cid` is None if the entry's text is not a CID."""

    author: Address
    cid: Cid | None
    price: int

    @property
    def exists(self) -> bool:
        return self.author != ZERO_ADDRESS


@dataclass(frozen=True, slots=True)
class PostDetails:
    """The author, the CID as spelled, and the description in a post's contract entry."""

    author: Address
    spelled_cid: bytes
    description: bytes


@dataclass(frozen=True, slots=True)
class PostFacts:
    """The on-chain values that decide access, read at one block: entry and reader's balance."""

    entry: PostEntry
    balance: int


@dataclass(frozen=True, slots=True)
class Purchase:
    """A transaction in a block, and the amount that it paid for a post on behalf of a buyer.

    `amount` is None if the transaction did not buy that post for that buyer. If `is_recent`, a node
    that is behind may not know the block yet.
    """

    amount: int | None
    is_recent: bool


@dataclass(frozen=True, slots=True)
class LogPosition:
    """The position of a log. Chain ID, block hash and log index identify it."""

    chain_id: int
    block_hash: str
    block_number: int | None
    log_index: int
    tx_hash: str | None


@dataclass(frozen=True, slots=True)
class BlockRef:
    """A block by its number and hash."""

    number: int
    block_hash: str


@dataclass(frozen=True, slots=True)
class PostCreated:
    """A PostCreated event: `author` published `spelled_cid` as `post_id`.

    `thumbnail` is None if its text is not a CID, or if an earlier release stored the event.
    """

    place: LogPosition
    post_id: int
    author: Address
    spelled_cid: str
    cid: Cid | None
    thumbnail: Cid | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class AccessChanged:
    """A log that changes access to a post for `holders`, or for everybody if it is None."""

    place: LogPosition
    post_id: int
    holders: tuple[Address, ...] | None


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A marketplace log, or part of a delivery, that cannot be decoded. Stored for the operator."""

    place: LogPosition | None
    reason: str
    payload: str


class EventStatus(StrEnum):
    """The result of applying an event."""

    ONCHAIN = "onchain"
    ALREADY_ONCHAIN = "already_onchain"
    UNKNOWN_FILE = "unknown_file"
    AUTHOR_MISMATCH = "author_mismatch"
    DEAD_LETTER = "dead_letter"


@dataclass(frozen=True, slots=True)
class DeliveryKey:
    """The identity of a delivery, used to recognize replays."""

    provider: str
    digest: str
    nonce: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """A verified and decoded delivery.

    `findings` has its events and dead letters in log order. `access_changes` is None if not all
    changes of access are known. `ignored` counts the logs that are neither events nor dead letters.
    """

    provider: str
    key: DeliveryKey | None
    findings: tuple[PostCreated | DeadLetter, ...] = ()
    access_changes: tuple[AccessChanged, ...] | None = ()
    ignored: int = 0

    @property
    def events(self) -> tuple[PostCreated, ...]:
        return tuple(each for each in self.findings if isinstance(each, PostCreated))

    @property
    def dead_letters(self) -> tuple[DeadLetter, ...]:
        return tuple(each for each in self.findings if isinstance(each, DeadLetter))


@dataclass(frozen=True, slots=True)
class ApplyResult:
    """The result of a delivery, with one status for each event, in order.

    `new_letters` counts the new dead letters.
    """

    duplicate: bool
    statuses: tuple[EventStatus, ...] = ()
    new_letters: int = 0


@dataclass(frozen=True, slots=True)
class KnownEvent:
    """A canonical event. `confirmed` is true once the chain follower has read the event itself."""

    event: PostCreated
    seen_at: datetime
    confirmed: bool


@dataclass(frozen=True, slots=True)
class KeptLetter:
    """A stored dead letter. `identity` is the position of its log, or a digest if it has no log."""

    identity: str
    reason: str
    payload: str
    source: str | None
    seen_at: datetime


@dataclass(frozen=True, slots=True)
class EventReport:
    """The number of events by status, and the newest events that may need attention."""

    counts: Mapping[EventStatus, int]
    mismatches: tuple[KnownEvent, ...]
    unknown: tuple[KnownEvent, ...]
    dead_letters: tuple[KeptLetter, ...]


@dataclass(frozen=True, slots=True)
class Advance:
    """The follower's findings in a block range.

    `events` are on the chain, and `lost` are recorded events that the chain does not have.
    `cursor`, if given, is the last block that the follower has read. `final`, if given, is the last
    block that no reorg of the configured depth can replace.
    """

    cursor: BlockRef | None = None
    final: BlockRef | None = None
    events: tuple[PostCreated, ...] = ()
    dead_letters: tuple[DeadLetter, ...] = ()
    lost: tuple[LogPosition, ...] = ()
