"""Readiness: whether the dependencies respond, so that traffic goes only to working instances."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial

from imprint.domain.errors import Code, Unavailable
from imprint.domain.posts.posts import BlockRef
from imprint.ports import ContentStore, MarketplaceReader, Monotonic
from imprint.ports.content import DiskSpace
from imprint.ports.damage import DatabaseHealth
from imprint.services.chain.log_stream import History
from imprint.services.tasks.periodic_task import SingleFlight
from imprint.services.write_health import WriteHealth

PROBE_TIMEOUT = 2.0
"""Timeout in seconds for a dependency to respond."""

CACHE_TIME = timedelta(seconds=1)
"""How long a condition is cached.

Anybody may request the condition, and every probe writes to disk and calls the node.
"""


SENTENCES = {
    "database": "Records cannot be read: the database does not respond.",
    "storage": "Documents cannot be read: the content store does not respond, or belongs to "
    "another installation.",
    "database_writes": "Records cannot be written; reads continue.",
    "storage_writes": "Documents cannot be stored; reads continue.",
    "chain": "No node of the chain responds: posts can be read only while access is cached.",
    "history": "The node does not have a block that was final.",
    "logs": "Nodes leave out logs of the marketplace, or disagree about them: posts and sales of"
    " some blocks may be missing.",
    "disk": "There is too little disk space: drafts cannot be stored; reads continue.",
    "follower": "No process follows the chain: new posts are found only through deliveries.",
    "indexer": "No process updates the index of posts: lists and search are out of date.",
    "collector": "No process collects garbage, or it holds documents back.",
    "records": "A damaged record or document was found.",
}
"""The effect on users if the check of a condition fails."""


@dataclass(frozen=True, slots=True)
class Condition:
    """The abilities of the service: read and write records and documents, and query the chain."""

    database: bool
    """Whether records can be read."""
    storage: bool
    """Whether documents can be read and belong to this installation."""
    chain: bool
    disk: bool = True
    """Whether there is disk space for more documents."""
    history: bool = True
    """Whether the chain still has the blocks that were final."""
    logs: bool = True
    """Whether the logs of all blocks that have been read are undisputed."""
    follower: bool = True
    """Whether a process follows the chain, if one should."""
    indexer: bool = True
    """Whether a process fills the post index, if one should."""
    collector: bool = True
    """Whether a process collects garbage, if one should, and no strays are held."""
    records: bool = True
    """Whether no damaged records or documents have been found."""
    database_writes: bool = True
    """Whether records can be written. False if they cannot be read."""
    storage_writes: bool = True
    """Whether documents can be stored. Also false if documents cannot be read."""
    off: frozenset[str] = frozenset()
    """Names of the conditions whose background tasks are disabled."""

    @property
    def ready(self) -> bool:
        """Whether reads are served. Only this decides whether a load balancer redirects readers."""
        return self.database and self.storage

    @property
    def status(self) -> str:
        """The condition in a word or a short phrase."""
        if not self.ready:
            return "not ready"
        return "degraded" if self.details else "ready"

    @property
    def details(self) -> list[str]:
        """Return one sentence for each problem."""
        wrong = [name for name in SENTENCES if not getattr(self, name)]
        # Data that cannot be read cannot be written either, so one sentence is enough.
        hidden = {f"{name}_writes" for name in wrong}
        hidden |= {"history", "logs"} if "chain" in wrong else set()
        return [SENTENCES[name] for name in wrong if name not in hidden]


@dataclass(slots=True)
class Readiness:
    """Probes all dependencies concurrently. Simultaneous callers share one probe.

    The outcomes of actual writes override the results of the probe immediately.
    """

    database: DatabaseHealth
    content: ContentStore
    marketplace: MarketplaceReader
    monotonic: Monotonic
    disk: DiskSpace
    examine_history: Callable[[], Awaitable[History]] | None = None
    checks: Sequence[tuple[str, Callable[[], bool]]] = ()
    """Pairs of a member of `Condition` and a function that returns whether all is well.

    The functions return what background tasks have already found out. A member may occur in several
    pairs, and is true only if all of their functions return true.
    """
    find_disputed: Callable[[], Awaitable[Sequence[BlockRef]]] | None = None
    """Returns the blocks whose logs are disputed. None if no process follows the chain."""
    writes: WriteHealth = field(default_factory=WriteHealth)
    probe_documents: Callable[[], Awaitable[None]] | None = None
    """Checks that documents can be read. None if the store's own probe already checks this."""
    off: frozenset[str] = frozenset()
    """Members of `Condition` for tasks that are disabled."""
    _single_flight: SingleFlight[None, Condition] = field(default_factory=SingleFlight, init=False)
    _last: tuple[float, Condition] | None = field(default=None, init=False)

    async def check(self) -> Condition:
        """Return the condition of the dependencies, at most `CACHE_TIME` old."""
        if self._last is not None:
            checked_at, condition = self._last
            if self.monotonic() - checked_at < CACHE_TIME.total_seconds():
                return self._corrected(condition)
        return self._corrected(await self._single_flight.run(None, self._probe))

    def _corrected(self, condition: Condition) -> Condition:
        failing = self.writes.is_failing
        if not (failing(Code.DATABASE_UNAVAILABLE) or failing(Code.STORAGE_UNAVAILABLE)):
            return condition
        return replace(
            condition,
            database_writes=condition.database_writes and not failing(Code.DATABASE_UNAVAILABLE),
            storage_writes=condition.storage_writes and not failing(Code.STORAGE_UNAVAILABLE),
        )

    async def _probe(self) -> Condition:
        probe_writes = self.database.probe
        if self.writes.is_failing(Code.DATABASE_UNAVAILABLE):
            probe_writes = partial(self.database.probe, grow=True)
        (
            database,
            database_writes,
            storage_writes,
            storage,
            chain,
            history,
            logs,
        ) = await asyncio.gather(
            _responds(self.database.probe_reads),
            _responds(probe_writes),
            _responds(self.content.probe),
            _responds(self.probe_documents or _always_respond),
            _responds(self.marketplace.probe),
            self._agrees_with_history(),
            self._establishes_logs(),
        )
        if self.probe_documents is None:
            storage = storage_writes
        if database_writes:
            self.writes.note_probe(Code.DATABASE_UNAVAILABLE)
        if storage_writes:
            self.writes.note_probe(Code.STORAGE_UNAVAILABLE)
        found = {"storage": storage}
        for name, is_well in self.checks:
            found[name] = is_well() and found.get(name, True)
        condition = Condition(
            database=database,
            chain=chain,
            disk=not self.disk.low,
            history=history,
            logs=logs,
            database_writes=database and database_writes,
            storage_writes=found["storage"] and storage_writes,
            off=self.off,
            **found,
        )
        self._last = self.monotonic(), condition
        return condition

    async def _agrees_with_history(self) -> bool:
        if self.examine_history is None:
            return True
        try:
            async with asyncio.timeout(PROBE_TIMEOUT):
                return await self.examine_history() is History.AGREES
        except (Unavailable, TimeoutError):
            # The probe of the chain or of the database reports the problem.
            return True

    async def _establishes_logs(self) -> bool:
        if self.find_disputed is None:
            return True
        try:
            async with asyncio.timeout(PROBE_TIMEOUT):
                return not await self.find_disputed()
        except (Unavailable, TimeoutError):
            # The probe of the database reports the problem.
            return True


async def _always_respond() -> None:
    """The document probe for a store that has none, which always succeeds."""


async def _responds(probe: Callable[[], Awaitable[None]]) -> bool:
    try:
        async with asyncio.timeout(PROBE_TIMEOUT):
            await probe()
    except (Unavailable, TimeoutError):
        return False
    return True
