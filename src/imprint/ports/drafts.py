"""Port for drafts: the signed writes, with their intents and quotas."""

from collections.abc import Sequence
from typing import Protocol

from imprint.domain.drafts.files import File, Intent, Quota, Version, Write
from imprint.domain.formats.cids import Cid
from imprint.domain.rate_limits import Rate

NO_QUOTA = Quota()
"""A check that accepts everything."""


class DraftStore(Protocol):
    """The drafts of all signers.

    Every change is one transaction, which is durable before its method returns. A nonce is spent in
    the same transaction as the change it signs: a method that takes a `Write` raises `NonceUsed` if
    its signer has already spent the nonce, and otherwise spends it if and only if the change takes
    effect.
    """

    async def open_write(
        self, write: Write, rate: Rate | None, key: str, cid: Cid | None = None
    ) -> File | None:
        """Admit a write: count it, check its nonce, and find the file with this cid.

        Without a rate nothing is counted, and without a cid the result is None. A write over the
        rate raises `RateLimited`, whatever else is wrong with it.
        """

    async def open_create(
        self, write: Write, rate: Rate | None, key: str, intent: Intent, quota: Quota
    ) -> int | None:
        """`open_write` and then `begin_write`, in one round trip if the database allows it."""

    async def begin_write(self, intent: Intent, quota: Quota = NO_QUOTA) -> int | None:
        """Record that a document is about to be stored for a write, within the signer's quota.

        From then on its size, and a draft that it creates, count towards the signer's quota, until
        the document is destroyed. So no number of concurrent writes exceeds a quota. Refuses
        `quota_exceeded` without recording anything.

        An intent with a number reserves it for its owner and returns None, if it is higher than
        every earlier number of that owner. Otherwise it records nothing, reserves the next number
        and returns that: the caller begins again with a document of that name, and an intent
        without a number. It does not check the nonce. This record alone need not survive a power
        loss.

        A condemned document is taken back: until this intent ends, it is not condemned again. It
        may still be destroyed once, so the caller stores it with a `fence` that it reads after
        this. Raises `Unavailable` for storage if a process of an earlier release, which knows no
        fences, has condemned it.
        """

    async def add_draft(self, write: Write, intent: Intent, version: Version) -> File:
        """Add a new group with this version as its draft, and end the intent.

        If an earlier event names this cid and its author is the owner, the file is `onchain`.
        """

    async def replace_draft(
        self,
        write: Write,
        intent: Intent,
        old: Cid,
        version: Version,
        known: File | None = None,
    ) -> File | None:
        """Replace its owner's draft `old` with `version`; None if `old` is no longer a draft.

        The old version is superseded; hashtags and thumbnail stay with the group. `known` is the
        draft as the caller has read it; a database may use it to save a read, but it decides
        nothing.
        """

    async def prepare_draft(
        self,
        write: Write,
        intent: Intent,
        cid: Cid,
        hashtags: Sequence[str],
        known: File | None = None,
    ) -> File | None:
        """Set the intent's document as the thumbnail of the signer's draft, and set its hashtags.

        Earlier ones are replaced. None if `cid` is no longer a draft of the signer. `known` is as
        in `replace_draft`.
        """

    async def delete_draft(self, write: Write, cid: Cid, known: File | None = None) -> File | None:
        """Delete the signer's draft and return its last state; None if `cid` is no longer a draft.

        `known` is as in `replace_draft`.
        """
