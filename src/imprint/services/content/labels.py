"""Label updates, which keep the labels in a content store's console in sync with the files.

No decision depends on a label, so no request waits for one. A label lost in a crash is
corrected the next time the file changes.
"""

import asyncio
from dataclasses import dataclass, field

from imprint.domain.drafts.files import File, Label, Network
from imprint.domain.formats.cids import Cid
from imprint.ports import ContentStore
from imprint.ports.files import FileStore
from imprint.services.tasks.periodic_task import run_periodically

MAX_QUEUED = 10_000
"""Maximum number of files waiting for a label update. Updates beyond it are dropped."""

RETRY_SECONDS = 5.0
"""Seconds to wait after the store was unavailable."""


@dataclass(slots=True)
class LabelUpdater:
    """Updates the labels of files whose state has changed."""

    files: FileStore
    content: ContentStore
    _queued: dict[Cid, None] = field(default_factory=dict)
    _wakeup: asyncio.Event = field(default_factory=asyncio.Event)

    def enqueue(self, cid: Cid | None) -> None:
        """Enqueue a label update for the file with this CID, if the store shows labels."""
        if cid is not None and self.content.shows_labels and len(self._queued) < MAX_QUEUED:
            self._queued[cid] = None
            self._wakeup.set()

    async def run(self) -> None:
        """Update labels as soon as they are enqueued, until cancelled."""

        async def wait_and_update() -> None:
            await self._wakeup.wait()
            await self.update_all()

        await run_periodically(
            "mirror", wait_and_update, 0.0, retry_after=RETRY_SECONDS, optional=True
        )

    async def update_all(self) -> None:
        """Update every enqueued label."""
        while self._queued:
            cid = next(iter(self._queued))
            file = await self.files.file_by_cid(cid)
            if file is not None:
                await self.content.relabel(cid, Network.PRIVATE, label_of(file))
            self._queued.pop(cid, None)
        self._wakeup.clear()


def label_of(file: File) -> Label:
    """Return the label of a file's document."""
    return Label(file.name, file.owner, file.group_id, file.state)
