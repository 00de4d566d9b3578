"""The embedded content store: documents in two folders of this machine, private and public.

    <root>/<network>/small.db       a box of small documents, see `boxes`
    <root>/<network>/<two letters>/<cid>    a large document, see `folders`

On a disk that several machines share there are no boxes: every document has a file of its own.
"""

import asyncio
import logging
import math
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Event
from typing import TypeVar

from imprint.adapters.batches import Batches, Job
from imprint.adapters.content.boxes import Box, Change, deleting, probing, storing
from imprint.adapters.content.checking import check_document
from imprint.adapters.content.disks import is_local
from imprint.adapters.content.folders import DocumentFolder
from imprint.domain.cids import Cid
from imprint.domain.documents import SMALL_DOCUMENT
from imprint.domain.files import Label, Network
from imprint.domain.refusals import Unavailable
from imprint.ports import Clock

LEFTOVER_AGE = timedelta(hours=1)
"""How old an unfinished document is at least when it is taken for one that a crash left."""

THREADS = 8
"""How many calls wait for the disk at once: a file system syncs what waits together, together."""

MOST_TOGETHER = 64
"""How many small documents arrive with one sync, at most."""

LISTED_AT_ONCE = 1000
"""How many small documents are listed with one look."""

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


@dataclass(slots=True)
class _Arrival:
    network: Network
    change: Change
    abandoned: bool = False


class EmbeddedStore:
    """Documents on disk. Every byte that goes in or comes out is checked against its cid.

    Waiting for the disk is done by a few threads.
    """

    def __init__(self, root: Path, clock: Clock, threads: int = THREADS) -> None:
        """Open the store in the folder `root`, which is made if it is not there.

        Refuses, with `ValueError`, a path that is no folder or cannot be used as one.
        """
        try:
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._folders = {network: DocumentFolder(root / network) for network in Network}
            for folder in self._folders.values():
                folder.sweep((clock.now() - LEFTOVER_AGE).timestamp())
            self._boxes = _open_boxes(root)
        except (FileExistsError, NotADirectoryError) as error:
            raise ValueError(f"The path {root} for documents is not a folder.") from error
        except (OSError, sqlite3.Error) as error:
            raise ValueError(
                f"The folder {root} for documents cannot be used: {_reason(error)}"
            ) from error
        self._arrivals = Batches[_Arrival]("content-writer", self._change_boxes, MOST_TOGETHER)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="content")
        self._closed = False

    async def put(
        self, cid: Cid, document: bytes, network: Network, label: Label | None = None
    ) -> None:
        """Store a document durably under its cid; cancelled, it is not stored later."""
        if len(document) <= SMALL_DOCUMENT and network in self._boxes:
            check_document(cid, document, network)
            await self._change(network, storing(cid, document))
            return
        folder, abandoned = self._folders[network], Event()

        def store() -> None:
            check_document(cid, document, network)
            folder.store(cid, document, abandoned)

        try:
            await self._run(store)
        except asyncio.CancelledError:
            abandoned.set()
            raise

    async def relabel(self, cid: Cid, network: Network, label: Label) -> None:
        """Do nothing: a folder has no console that could show a label."""

    async def read(self, cid: Cid, network: Network) -> bytes | None:
        """The verified bytes of a document; None if it is not there."""
        folder, box = self._folders[network], self._boxes.get(network)

        def load() -> bytes | None:
            found = None if box is None else box.load(cid)
            if found is None:
                found = folder.load(cid)
            return None if found is None else check_document(cid, found, network)

        return await self._run(load)

    async def remove(self, cid: Cid, network: Network) -> None:
        """Destroy a document; one that is not there is no error."""
        if network in self._boxes:
            await self._change(network, deleting(cid))
        await self._run(partial(self._folders[network].delete, cid))

    async def list_documents(
        self, network: Network, before: datetime | None = None
    ) -> AsyncIterator[Cid]:
        """The cids of all documents, or of those stored before then.

        What is stored or destroyed meanwhile may or may not be among them.
        """
        folder = self._folders[network]
        latest = math.inf if before is None else before.timestamp()
        for shard in await self._run(folder.list_shards):
            for cid in await self._run(partial(folder.list_documents, shard, latest)):
                yield cid
        box, after = self._boxes.get(network), ""
        while box is not None and (
            page := await self._run(partial(box.list_documents, after, LISTED_AT_ONCE, latest))
        ):
            for cid in page:
                yield cid
            after = page[-1]

    async def probe(self) -> None:
        """Return if documents can be stored and read."""
        for network, folder in self._folders.items():
            await self._run(folder.probe)
            if network in self._boxes:
                await self._change(network, probing)

    async def close(self) -> None:
        """Finish what runs and let go."""
        self._closed = True
        await self._arrivals.close()
        await asyncio.to_thread(self._pool.shutdown)
        for box in self._boxes.values():
            box.close()
        self._boxes = {}

    async def _change(self, network: Network, change: Change) -> None:
        if self._closed:
            raise Unavailable.storage()
        arrival = _Arrival(network, change)
        try:
            await _translated(self._arrivals.submit(arrival))
        except asyncio.CancelledError:
            arrival.abandoned = True
            raise

    def _change_boxes(self, jobs: Sequence[Job[_Arrival]]) -> None:
        for network, box in self._boxes.items():
            theirs = [job for job in jobs if job.work.network is network and not job.work.abandoned]
            try:
                if theirs:
                    box.change([job.work.change for job in theirs])
            except Exception as error:  # noqa: BLE001  every caller gets it; the thread must live on
                for job in theirs:
                    job.error = error

    async def _run(self, work: Callable[[], _T]) -> _T:
        if self._closed:
            raise Unavailable.storage()
        return await _translated(asyncio.get_running_loop().run_in_executor(self._pool, work))


def _open_boxes(root: Path) -> dict[Network, Box]:
    if not is_local(root):
        return {}
    return {network: Box(root / network / "small.db") for network in Network}


def _reason(error: OSError | sqlite3.Error) -> str | None:
    """What is wrong, without the path that the system adds to it."""
    return error.strerror if isinstance(error, OSError) else str(error)


async def _translated(running: Awaitable[_T]) -> _T:
    try:
        return await running
    except (OSError, sqlite3.Error) as error:
        _log.error("The disk for documents failed: %s", _reason(error))
        raise Unavailable.storage() from error
