"""Port for drafts: the signed writes, with their intents and quotas."""

from collections.abc import Sequence
from typing import Protocol

from imprint.domain.drafts.files import File, Intent, Quota, Version, Write
from imprint.domain.formats.cids import Cid
from imprint.domain.rate_limits import Rate

NO_QUOTA = Quota()
"""Refuses nothing."""


class DraftStore(Protocol):
    """The drafts of all signers.

    Every change is one transaction, which is durable before its method returns. A nonce is
    spent in the transaction of the effect that it signs: a method that takes a `Write` raises
    `NonceUsed` if its signer has spent its nonce, and otherwise spends it if, and only if, the
    change takes effect.
    """

    async def open_write(
        self, write: Write, rate: Rate | None, key: str, cid: Cid | None = None
    ) -> File | None:
        """Before the work of a write begins: count it, check its nonce, and find the file of a cid.

        Without a rate nothing is counted, and without a cid the result is None. A write that is
        not admitted raises `RateLimited`, whatever else is wrong with it.
        """

    async def open_create(
        self, write: Write, rate: Rate | None, key: str, intent: Intent, quota: Quota
    ) -> int | None:
        """As `open_write` and then `begin_write`, in one step where the database has one."""

    async def begin_write(self, intent: Intent, quota: Quota = NO_QUOTA) -> int | None:
        """Record that a document is about to be stored for a write, within the signer's quota.

        From then on its size counts for the signer, and a draft that it creates: until the write
        takes effect and beyond, or until the document is destroyed. So no number of simultaneous
        writes exceeds a quota. Refuses `quota_exceeded`, and records nothing then.

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

        If an event named this cid before and its author is the owner, the file is `onchain`.
        """

    async def replace_draft(
        self,
        write: Write,
        intent: Intent,
        old: Cid,
        version: Version,
        known: File | None = None,
    ) -> File | None:
        """Put `version` in the place of its owner's draft `old`; None if that is no longer one.

        The old version is superseded; hashtags and thumbnail stay with the group. `known` is the
        draft as the caller has read it, with which a database may be quicker; it decides nothing.
        """

    async def prepare_draft(
        self,
        write: Write,
        intent: Intent,
        cid: Cid,
        hashtags: Sequence[str],
        known: File | None = None,
    ) -> File | None:
        """Give the signer's draft the intent's document as thumbnail, and these hashtags.

        What it had before is replaced. None if `cid` is no longer a draft of the signer. `known` is
        as in `replace_draft`.
        """

    async def delete_draft(self, write: Write, cid: Cid, known: File | None = None) -> File | None:
        """Delete the signer's draft; None if `cid` is no longer one. Returns it as it was.

        `known` is as in `replace_draft`.
        """
