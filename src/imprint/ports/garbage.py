"""What the catalog and the garbage collector tell each other about documents to be destroyed."""

from dataclasses import dataclass
from enum import StrEnum

from imprint.domain.drafts.files import Network
from imprint.domain.formats.cids import Cid


@dataclass(frozen=True, slots=True)
class Condemned:
    """A document to be destroyed, and the fence of its condemnation."""

    cid: Cid
    network: Network
    fence: int


class PurgeOutcome(StrEnum):
    """What became of a condemnation by the time that its document was destroyed."""

    PURGED = "purged"
    PASSED = "passed"
    """Another process purged it, and nothing refers to the document."""
    PENDING = "pending"
    """A write took the document back, and has not committed."""
    USED = "used"
    """A live file refers to the document again."""


class FenceRaised(Exception):
    """Documents were condemned since the caller read the fence: it has to store its own again."""


@dataclass(frozen=True, slots=True)
class GarbageReport:
    """Documents that would be destroyed now, with the first of them, and those that will be."""

    due: int
    due_bytes: int
    """Of those whose size is known."""
    waiting: int
    """Detached ones whose grace period is not over."""
    first: tuple[tuple[Cid, Network], ...] = ()
