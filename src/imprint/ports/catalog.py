"""The records of files, nonces and events."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from imprint.domain.addresses import Address
from imprint.domain.cids import Cid
from imprint.domain.files import File, Intent, Network, Version, Write
from imprint.domain.lists import ListFilter
from imprint.domain.posts import (
    Advance,
    ApplyResult,
    BlockRef,
    DeadLetter,
    DeliveryKey,
    EventReport,
    KnownEvent,
    PostCreated,
)
from imprint.domain.rate_limits import Rate
from imprint.ports.archives import ArchiveCatalog
from imprint.ports.content import KeyCatalog, StrayCatalog


class Catalog(ArchiveCatalog, KeyCatalog, StrayCatalog, Protocol):
    """The records of files, nonces and events. Every change is one transaction, or did not happen.

    A nonce is spent in the transaction of the effect that it signs: a method that takes a `Write`
    raises `NonceUsed` if its signer has spent its nonce, and otherwise spends it if, and only if,
    the change takes effect. What is written is durable before a method returns.
    """

    async def begin_write(self, intent: Intent) -> int | None:
        """Note that a document is about to be stored for a write.

        An intent with a number reserves it for its owner and returns None, if it is higher than
        every number of that owner before. Otherwise it notes nothing, reserves the next number and
        returns that: the caller begins again with a document of that name, and an intent without
        a number. Raises `NonceUsed`; and `Unavailable` for storage while the same document is
        being destroyed. This note alone need not be durable across power loss.
        """

    async def check_nonce(self, signer: Address, nonce: str) -> None:
        """Raise `NonceUsed` if the signer has spent this nonce on a write."""

    async def admit(self, key: str, rate: Rate, now: datetime) -> None:
        """Count one request of `key`, for all processes together. Refuses `rate_limited`."""

    async def spend_login_nonce(self, address: Address, nonce: str, at: datetime) -> bool:
        """Spend the nonce of a login, apart from those of writes; False if it was spent before."""

    async def add_draft(self, write: Write, intent: Intent, version: Version) -> File:
        """A new group with this version as its draft, and the end of the intent.

        If an event named this cid before and its author is the owner, the file is `onchain`.
        """

    async def replace_draft(
        self, write: Write, intent: Intent, old: Cid, version: Version
    ) -> File | None:
        """Put `version` in the place of its owner's draft `old`; None if that is no longer one.

        The old version is superseded; hashtags and thumbnail stay with the group.
        """

    async def prepare_draft(
        self, write: Write, intent: Intent, cid: Cid, hashtags: Sequence[str]
    ) -> File | None:
        """Give the signer's draft the intent's document as thumbnail, and these hashtags.

        What it had before is replaced. None if `cid` is no longer a draft of the signer.
        """

    async def delete_draft(self, write: Write, cid: Cid) -> File | None:
        """Delete the signer's draft; None if `cid` is no longer one. Returns what it was."""

    async def file_by_cid(self, cid: Cid) -> File | None:
        """The live file with this cid."""

    async def file_by_post_id(self, post_id: int) -> File | None:
        """The `onchain` file bound to this post id."""

    async def list_files(self, which: ListFilter, before: int | None, limit: int) -> list[File]:
        """Up to `limit` files with a position below `before`, by falling position."""

    async def is_public(self, cid: Cid) -> bool:
        """Whether this is the cid of a thumbnail of a live file, so that anybody may fetch it."""

    async def apply_events(
        self,
        key: DeliveryKey | None,
        events: Sequence[PostCreated],
        dead_letters: Sequence[DeadLetter],
        at: datetime,
    ) -> ApplyResult:
        """Keep and apply the events of a delivery, each once however often it comes.

        A delivery whose key was seen before changes nothing and is a duplicate. An event moves the
        file of its cid to `onchain` if its author is the owner; a version superseded or deleted
        whose document still exists is restored, and a newer draft of its group goes on in a group
        of its own. Events that match no file are kept for a file that comes later.
        """

    async def cursor(self, chain_id: int) -> BlockRef | None:
        """The block up to which the follower has read this chain; None before the first."""

    async def final_block(self, chain_id: int) -> BlockRef | None:
        """The block that the follower noted last as final."""

    async def known_events(self, chain_id: int, first: int, last: int) -> list[KnownEvent]:
        """The canonical events in these blocks."""

    async def unconfirmed_events(self, chain_id: int, limit: int) -> list[KnownEvent]:
        """Canonical events that only deliveries speak of, the oldest first."""

    async def advance(self, chain_id: int, step: Advance, at: datetime) -> ApplyResult:
        """Take the chain's own word, in one transaction.

        What is lost is undone first: its files are drafts again, unless another canonical event
        claims them. Then the events are settled, also those that were lost before, and confirmed,
        and what deliveries said about where they stand is corrected; then the follower stands
        where the step says, and its final block is kept.
        """

    async def report_events(self, limit: int) -> EventReport:
        """How many events came to what, and up to `limit` of each troubled kind, newest first."""

    async def take_lease(self, name: str, holder: str, now: datetime, until: datetime) -> bool:
        """Take or prolong a lease; False while another holder has it."""

    async def release_lease(self, name: str, holder: str) -> None:
        """Give a lease back, if it is still this holder's."""

    async def condemn_documents(
        self, now: datetime, detached_before: datetime, limit: int
    ) -> list[tuple[Cid, Network]]:
        """Documents to be destroyed: detached before then or left by an expired intent, and held
        by no live file, no thumbnail and no running intent. They stay condemned until `bury`."""

    async def purge(self, cid: Cid, network: Network) -> None:
        """Forget a condemned document, which is now destroyed."""

    async def prune_replays(self, before: datetime) -> None:
        """Drop what is remembered of deliveries and logins from before then: too old to replay."""

    async def probe(self) -> None:
        """Return if the catalog can be written to."""

    async def close(self) -> None:
        """Finish what runs and let go."""
