"""Texts of free posts for the search index, read from their documents in the background."""

import logging
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

from imprint.domain.drafts.files import File
from imprint.domain.errors import Damaged, Refusal
from imprint.domain.posts.post_text import readable_text
from imprint.domain.posts.search import MAX_TEXT
from imprint.ports import Clock
from imprint.ports.leases import LeaseStore
from imprint.ports.post_index import PendingText, SearchIndex
from imprint.services.access.reads import Reads
from imprint.services.tasks.leases import LEASE_TIME, hold_lease, name_holder
from imprint.services.tasks.periodic_task import run_periodically

log = logging.getLogger(__name__)

TEXTS_LEASE = "search texts"
"""The lease of the process that reads the texts."""

TEXTS_AT_ONCE = 100
"""Posts that are processed between two checks of the lease."""

TEXTS_PER_ROUND = 5_000
"""Posts per round; the next round continues with the rest."""

UNHOSTED_TIME = timedelta(minutes=10)
"""How long after its block a post waits for a document that is not here.

If the document arrives later, that is recorded when its file becomes the post.
"""


@dataclass(frozen=True, slots=True)
class SearchTexts:
    """Makes the texts of free posts searchable. The chain decides whether a post is free."""

    leases: LeaseStore
    words: SearchIndex
    reads: Reads
    clock: Clock
    holder: str = field(default_factory=partial(name_holder, "search texts"))

    async def run(self, interval: float) -> None:
        """Process pending posts until cancelled; failures are retried in the next round."""
        await run_periodically("search texts", self.read_pending, interval)

    async def read_pending(self) -> int:
        """Process pending posts once, unless another process does; returns how many were settled.

        Raises `Unavailable`.
        """
        if not await self.words.pending_texts(0, 1):
            return 0
        settled = 0
        async with hold_lease(self.leases, TEXTS_LEASE, LEASE_TIME, self.holder) as lease:
            after = 0
            for _ in range(TEXTS_PER_ROUND // TEXTS_AT_ONCE):
                if lease is None or lease.lost:
                    break
                pending = await self.words.pending_texts(after, TEXTS_AT_ONCE)
                for each in pending:
                    settled += await self._settle(each)
                    after = each.place
                if len(pending) < TEXTS_AT_ONCE:
                    break
        return settled

    async def _settle(self, pending: PendingText) -> bool:
        """Store or skip a text; False if the post remains pending."""
        if pending.post_id is not None and pending.free:
            if not pending.hosted and self.clock() - pending.created_at < UNHOSTED_TIME:
                return False
            text = await self._text(pending.post_id) if pending.hosted else None
            if text is not None:
                await self.words.store_text(pending.place, text)
                return True
        await self.words.skip_text(pending.place)
        return True

    async def _text(self, post_id: int) -> str | None:
        """The text of a post; None if it is not free on the chain, or damaged."""
        try:
            file = await self.reads.free_post(post_id)
            return await read_words(self.reads, TEXTS_LEASE, file)
        except Refusal:
            return None
        except Damaged as damaged:
            log.warning(
                "the text of a post is not searchable",
                extra={"post_id": str(post_id), "code": damaged.code},
            )
            return None


async def read_words(reads: Reads, client: str, file: File) -> str:
    """The searchable words of a document, converted once for all searches."""
    words = partial(readable_text, longest=MAX_TEXT)
    return await reads.converted(client, file, "first words", words)
