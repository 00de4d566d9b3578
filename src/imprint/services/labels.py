"""Mirroring: what became of a file is shown where its document is kept, when there is time.

Nothing is decided by a label, so nobody waits for one, and one that is lost at a crash only makes
the store's own console a little late: the next change of the file sets it right.
"""

import asyncio
import logging
from dataclasses import dataclass, field

from imprint.domain.cids import Cid
from imprint.domain.errors import Unavailable
from imprint.domain.files import Label, Network
from imprint.ports import Catalog, ContentStore

log = logging.getLogger(__name__)

MAX_WAITING = 10_000
"""How many files may wait for their label; what comes on top is not shown."""

PAUSE_SECONDS = 5.0
"""How long to wait after the store could not be told."""


@dataclass(slots=True)
class LabelUpdater:
    """Tells the content store about files whose state has changed."""

    catalog: Catalog
    content: ContentStore
    _waiting: dict[Cid, None] = field(default_factory=dict)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def note(self, cid: Cid | None) -> None:
        """Show later what the file of this cid is."""
        if cid is not None and len(self._waiting) < MAX_WAITING:
            self._waiting[cid] = None
            self._news.set()

    async def run(self) -> None:
        """Show what was noted, for ever."""
        while True:
            await self._news.wait()
            try:
                await self.show()
            except Unavailable as problem:
                log.info("labels put off", extra={"code": problem.code})
                await asyncio.sleep(PAUSE_SECONDS)

    async def show(self) -> None:
        """Show everything that waits."""
        while self._waiting:
            cid = next(iter(self._waiting))
            file = await self.catalog.file_by_cid(cid)
            if file is not None:
                label = Label(file.name, file.owner, file.group_id, file.state)
                await self.content.relabel(cid, Network.PRIVATE, label)
            self._waiting.pop(cid, None)
        self._news.clear()
