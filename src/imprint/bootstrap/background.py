"""Background tasks: garbage collection, scrub, labels, disk space, chain, index, monitors."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from starlette.types import ASGIApp

from imprint.bootstrap.adapters import Adapters
from imprint.metrics import COLLECTOR_RUNNING, FOLLOWER_RUNNING, INDEXER_RUNNING, LEASE_AGE
from imprint.ports.post_index import IndexSource
from imprint.services.access.entitlement import Entitlement, EntitlementWatcher
from imprint.services.access.reads import Reads
from imprint.services.chain.log_stream import LogStream
from imprint.services.content.labels import LabelUpdater
from imprint.services.content.store_claim import InstallationClaim
from imprint.services.drafts.garbage_collector import GarbageCollector, StrayScan, UsageRecount
from imprint.services.installation.scrub import Examination, Scrub, watch_files
from imprint.services.installation.usage_monitor import UsageMonitor
from imprint.services.moderation import ShownPosts
from imprint.services.posts.indexer import INDEXER_LEASE, Indexer
from imprint.services.posts.search import SearchTexts
from imprint.services.posts.websub import HubNotices
from imprint.services.publication.chain_sync import FOLLOWER_LEASE, Follower
from imprint.services.tasks.leases import (
    COLLECTOR_LEASE,
    LEASE_TIME,
    SHORT_LEASE_TIME,
    LeaseMonitor,
)
from imprint.settings import Settings


def build_follower(
    settings: Settings,
    adapters: Adapters,
    labels: LabelUpdater | None = None,
    stream: LogStream | None = None,
) -> Follower:
    """The follower of the configured chain, over this log stream or its own."""
    chain = settings.chain
    return Follower(
        stream or LogStream(adapters.chain, adapters.monotonic),
        adapters.stores.events,
        adapters.stores.leases,
        adapters.clock,
        chain.id,
        chain.start_block,
        chain.reorg_depth,
        labels,
    )


def build_indexer(
    settings: Settings,
    adapters: Adapters,
    first_block: int | None = None,
    stream: LogStream | None = None,
) -> Indexer:
    """The indexer of the configured marketplace, starting at the start block.

    If `first_block` is earlier, the index begins at that block.
    """
    chain = settings.chain
    first = chain.start_block if first_block is None else min(first_block, chain.start_block)
    return Indexer(
        stream or LogStream(adapters.chain, adapters.monotonic),
        adapters.stores.events,
        adapters.stores.leases,
        adapters.stores.index_writer,
        IndexSource(chain.id, chain.marketplace, first, chain.adapter),
        chain.reorg_depth,
    )


WATCHED_TASKS = frozenset({"follower", "indexer", "collector"})
"""Names of the tasks that are monitored unless they are switched off."""


def build_monitors(settings: Settings, adapters: Adapters) -> dict[str, LeaseMonitor]:
    """Monitors of the tasks that this process should run, keyed by their fields of `Condition`."""
    followed, collected = settings.chain.follow_seconds, settings.retention.janitor_seconds
    short, long = SHORT_LEASE_TIME, LEASE_TIME
    leases = (
        ("follower", FOLLOWER_LEASE, "chain follower", followed, short, FOLLOWER_RUNNING),
        ("indexer", INDEXER_LEASE, "indexer", followed, short, INDEXER_RUNNING),
        ("collector", COLLECTOR_LEASE, "garbage collector", collected, long, COLLECTOR_RUNNING),
    )
    return {
        name: LeaseMonitor(
            adapters.stores.leases,
            lease,
            task,
            LeaseMonitor.limit_of(interval, length),
            running.set,
            adapters.monotonic,
            LEASE_AGE.labels(name).set,
        )
        for name, lease, task, interval, length, running in leases
        if interval
    }


def build_stray_scan(settings: Settings, adapters: Adapters) -> StrayScan | None:
    """The scan for stray documents, if garbage is collected and the content store is not shared."""
    retention = settings.retention
    if not retention.janitor_seconds or adapters.inventory is None:
        return None
    age = timedelta(seconds=retention.lease_seconds)
    stores = adapters.stores
    return StrayScan(stores.garbage, stores.installation, adapters.inventory, adapters.clock, age)


def build_collector(settings: Settings, adapters: Adapters) -> GarbageCollector:
    """Create the garbage collector."""
    stores, grace = adapters.stores, timedelta(hours=settings.retention.grace_hours)
    return GarbageCollector(
        stores.garbage,
        stores.leases,
        stores.installation,
        adapters.content,
        adapters.clock,
        grace,
    )


@dataclass(frozen=True, slots=True)
class BackgroundTasks:
    """Tasks that run as long as the application. The adapters are closed after the tasks end."""

    settings: Settings
    adapters: Adapters
    entitlement: Entitlement
    labels: LabelUpdater
    claim: InstallationClaim
    monitors: Sequence[LeaseMonitor] = ()
    strays: StrayScan | None = None
    usage: UsageMonitor | None = None
    reads: Reads | None = None

    @asynccontextmanager
    async def lifespan(self, app: ASGIApp) -> AsyncIterator[None]:
        """Start the tasks. At shutdown, cancel them and close the adapters."""
        tasks = [asyncio.create_task(task) for task in self._tasks()]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.adapters.close()

    def _tasks(self) -> Iterator[Coroutine[Any, Any, None]]:
        adapters, retention = self.adapters, self.settings.retention
        stores, content, clock = adapters.stores, adapters.content, adapters.clock
        if retention.janitor_seconds:
            yield build_collector(self.settings, adapters).run(retention.janitor_seconds)
            yield UsageRecount(stores.garbage, stores.leases).run()
        if self.strays is not None:
            yield self.strays.run()
        for monitor in self.monitors:
            yield monitor.run()
        yield self.claim.run()
        yield ShownPosts(stores.moderation, self.settings.site.show).run()
        yield watch_files(stores.database)
        if retention.scrub_seconds:
            yield Examination(stores.database).run()
            damage = stores.database.damage
            scrub = Scrub(stores.records, stores.files, stores.leases, damage, content)
            yield scrub.run(retention.scrub_seconds)
        if self.usage is not None:
            yield self.usage.run()
            yield self.usage.run_probes()
        if adapters.hub is not None:
            service = self.settings.server.public_url
            leases, index, elapsed = stores.leases, stores.index_reader, adapters.monotonic
            yield HubNotices(leases, index, adapters.hub, service, clock, elapsed).run()
        yield self.labels.run()
        yield adapters.disk.run()
        if interval := self.settings.chain.follow_seconds:
            stream = LogStream(adapters.chain, adapters.monotonic)
            yield stream.run(interval)
            yield build_follower(self.settings, adapters, self.labels, stream).run()
            yield build_indexer(self.settings, adapters, stream=stream).run()
            if self.reads is not None:
                texts = SearchTexts(stores.leases, stores.search, self.reads, clock)
                yield texts.run(interval)
            yield EntitlementWatcher(stream, self.entitlement).run()
