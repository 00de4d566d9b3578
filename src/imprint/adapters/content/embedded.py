"""The embedded content store: documents in two folders of this machine, private and public."""

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Event
from typing import TypeVar

from imprint.adapters.content.checking import check_document
from imprint.adapters.content.folders import DocumentFolder
from imprint.domain.cids import Cid
from imprint.domain.files import Label, Network
from imprint.domain.refusals import Unavailable
from imprint.ports import Clock

LEFTOVER_AGE = timedelta(hours=1)
"""How old an unfinished document is at least when it is taken for one that a crash left."""

THREADS = 8
"""How many calls wait for the disk at once: a file system syncs what waits together, together."""

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


class EmbeddedStore:
    """Documents on disk. Every byte that goes in or comes out is checked against its cid.

    Waiting for the disk is done by a few threads. Only a small document that the system has in
    memory is read without one, see `DocumentFolder.glance`.
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
        except (FileExistsError, NotADirectoryError) as error:
            raise ValueError(f"The path {root} for documents is not a folder.") from error
        except OSError as error:
            reason = error.strerror
            raise ValueError(f"The folder {root} for documents cannot be used: {reason}") from error
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="content")
        self._closed = False

    async def put(
        self, cid: Cid, document: bytes, network: Network, label: Label | None = None
    ) -> None:
        """Store a document durably under its cid; cancelled, it is not stored later."""
        folder = self._folders[network]
        abandoned = Event()

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
        folder = self._folders[network]

        def load() -> bytes | None:
            found = folder.load(cid)
            return None if found is None else check_document(cid, found, network)

        if self._closed:
            raise Unavailable.storage()
        document = folder.glance(cid)
        return await self._run(load) if document is None else check_document(cid, document, network)

    async def remove(self, cid: Cid, network: Network) -> None:
        """Destroy a document; one that is not there is no error."""
        folder = self._folders[network]
        await self._run(partial(folder.delete, cid))

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

    async def probe(self) -> None:
        """Return if documents can be stored and read."""
        for folder in self._folders.values():
            await self._run(folder.probe)

    async def close(self) -> None:
        """Finish what runs and let go."""
        self._closed = True
        await asyncio.to_thread(self._pool.shutdown)

    async def _run(self, work: Callable[[], _T]) -> _T:
        if self._closed:
            raise Unavailable.storage()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        except OSError as error:
            _log.error("The disk for documents failed: %s", error.strerror)
            raise Unavailable.storage() from error
