"""Port for the events of the chain that publish drafts."""

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
    """Events of the chain, applied to the files that they publish; a change is one transaction."""

    async def apply_events(
        self,
        key: DeliveryKey | None,
        events: Sequence[PostCreated],
        dead_letters: Sequence[DeadLetter],
        at: datetime,
    ) -> ApplyResult:
        """Store and apply the events of a delivery, each once however often it is delivered.

        A delivery whose key was seen before changes nothing and is a duplicate. An event moves the
        file of its cid to `onchain` if its author is the owner; a version superseded or deleted
        whose document still exists is restored, and a newer draft of its group moves to a group of
        its own. Events that match no file are stored for a file that is added later.
        """

    async def cursor(self, chain_id: int) -> BlockRef | None:
        """The block up to which the follower has read this chain; None before the first."""

    async def final_block(self, chain_id: int) -> BlockRef | None:
        """The block that the follower stored last as final."""

    async def known_events(self, chain_id: int, first: int, last: int) -> list[KnownEvent]:
        """The canonical events in these blocks."""

    async def newest_event_block(self, chain_id: int, last: int) -> BlockRef | None:
        """The newest block up to this height that has an event which the follower has read."""

    async def oldest_event_block(self, chain_id: int) -> BlockRef | None:
        """The oldest block that has an event which the follower has read."""

    async def unconfirmed_events(self, chain_id: int, limit: int) -> list[KnownEvent]:
        """Canonical events that only deliveries have reported, the oldest first."""

    async def disputed_blocks(self, chain_id: int) -> list[BlockRef]:
        """The blocks whose logs the follower could not establish, in order."""

    async def set_disputed(self, chain_id: int, blocks: Collection[BlockRef]) -> None:
        """Store which blocks these are now."""

    async def advance(self, chain_id: int, step: Advance, at: datetime) -> ApplyResult:
        """Apply what the follower read from the chain, in one transaction.

        Lost events are undone first: their files are drafts again, unless another canonical event
        claims them. Then the events are applied, also those that were lost before, and confirmed,
        and what deliveries said about them is corrected; then the cursor and the final block of
        the step are stored, if it has them.
        """

    async def report_events(self, limit: int) -> EventReport:
        """How many events have which status, and up to `limit` of each kind that needs attention.

        The newest come first.
        """
