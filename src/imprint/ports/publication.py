"""Port for the chain events that publish drafts."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from imprint.domain.posts.posts import (
    Advance,
    ApplyResult,
    BlockRef,
    DeadLetter,
    DeliveryKey,
    EventReport,
    KnownEvent,
    PostCreated,
)


class EventStore(Protocol):
    """Chain events, applied to the files that they publish. Every change is one transaction."""

    async def apply_events(
        self,
        key: DeliveryKey | None,
        events: Sequence[PostCreated],
        dead_letters: Sequence[DeadLetter],
        at: datetime,
    ) -> ApplyResult:
        """Store and apply the events of a delivery. Each event is applied only once.

        A delivery whose key was seen before is a duplicate and changes nothing. An event
        moves the file with its CID to `onchain` if its author is the owner. A superseded or
        deleted version whose document still exists is restored, and a newer draft of its
        group moves to a new group. Events that match no file are stored for a file that is
        added later.
        """

    async def cursor(self, chain_id: int) -> BlockRef | None:
        """Return the last block of this chain that the follower has read, or None."""

    async def final_block(self, chain_id: int) -> BlockRef | None:
        """Return the last block that the follower stored as final."""

    async def known_events(self, chain_id: int, first: int, last: int) -> list[KnownEvent]:
        """Return the canonical events in these blocks."""

    async def newest_event_block(self, chain_id: int, last: int) -> BlockRef | None:
        """Return the newest block, up to this height, with an event that the follower has read."""

    async def oldest_event_block(self, chain_id: int) -> BlockRef | None:
        """Return the oldest block with an event that the follower has read."""

    async def unconfirmed_events(self, chain_id: int, limit: int) -> list[KnownEvent]:
        """Return the canonical events reported only by deliveries, oldest first."""

    async def disputed_blocks(self, chain_id: int) -> list[BlockRef]:
        """Return the blocks whose logs are disputed, in order."""

    async def set_disputed(self, chain_id: int, blocks: Collection[BlockRef]) -> None:
        """Replace the stored list of blocks whose logs are disputed."""

    async def advance(self, chain_id: int, step: Advance, at: datetime) -> ApplyResult:
        """Apply the follower's findings from the chain, in one transaction.

        Lost events are undone first: their files become drafts again, unless another canonical
        event claims them. Then the events are applied and confirmed, including events that were
        lost before, and data from deliveries is corrected. Finally the cursor and the final block
        of the step, if any, are stored.
        """

    async def report_events(self, limit: int) -> EventReport:
        """Return the number of events by status, and the newest events that need attention.

        Up to `limit` events of each category are returned, newest first.
        """
