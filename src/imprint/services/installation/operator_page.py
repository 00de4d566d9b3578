"""The operator page: the state of the installation, in panels that fail independently.

No panel's queries take longer as the number of files, posts or readers grows.
"""

import asyncio
import logging
import math
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from imprint.domain.errors import Unavailable
from imprint.domain.posts.posts import BlockRef, EventStatus
from imprint.metrics import (
    DELIVERIES,
    DETACHED_BYTES,
    DRAFTS,
    EVENTS,
    POSTS,
    STORED_BYTES,
    read_counter,
    read_gauge,
)
from imprint.ports import ChainReader, Clock, Monotonic
from imprint.ports.installation import (
    DiskReport,
    EventsToExamine,
    InstallationStore,
    LeaseStore,
    NodeReport,
    OperatorFacts,
    Usage,
)
from imprint.ports.post_index import PostIndexWriter
from imprint.ports.publication import EventStore
from imprint.services.installation.readiness import SENTENCES, Readiness
from imprint.services.posts.indexer import INDEXER_LEASE
from imprint.services.publication.chain_sync import FOLLOWER_LEASE
from imprint.services.tasks.leases import describe_holder


class Mark(StrEnum):
    """The severity with which a fact is shown."""

    PLAIN = "plain"
    GOOD = "good"
    WARN = "warn"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of a panel."""

    label: str
    value: str
    mark: Mark = Mark.PLAIN


@dataclass(frozen=True, slots=True)
class Listing:
    """A table. Every row has one text per column."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Advice:
    """A recommended action, and the command for it."""

    sentence: str
    command: str | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel of the page. `problem` says why its facts are unavailable."""

    key: str = ""
    title: str = ""
    facts: tuple[Fact, ...] = ()
    listing: Listing | None = None
    advice: tuple[Advice, ...] = ()
    problem: str | None = None

    def named(self, key: str, title: str) -> "Panel":
        """Return a copy of the panel with this key and title."""
        return replace(self, key=key, title=title)

    @property
    def mark(self) -> Mark:
        """The most severe mark among the facts of the panel."""
        marks = {each.mark for each in self.facts} | ({Mark.BAD} if self.problem else set())
        return next(
            (each for each in (Mark.BAD, Mark.WARN, Mark.GOOD) if each in marks), Mark.PLAIN
        )


_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB")
_SPANS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def write_number(number: int) -> str:
    """Format a number with spaces between groups of thousands."""
    return f"{number:,}".replace(",", "\N{NO-BREAK SPACE}")


def write_count(number: int, noun: str) -> str:
    """Format a count with a singular or plural noun."""
    return f"{write_number(number)} {noun}{'' if number == 1 else 's'}"


def write_bytes(size: int) -> str:
    """Format a size in the largest suitable unit."""
    if size < 1024:
        return write_count(size, "byte")
    amount = float(size)
    for unit in _UNITS:
        amount /= 1024
        if amount < 1024 or unit == _UNITS[-1]:
            break
    return f"{amount:.1f} {unit}"


def write_duration(span: timedelta | float) -> str:
    """Format a duration in its two largest units, omitting zero values: 2 hours 5 minutes."""
    seconds = max(int(span.total_seconds() if isinstance(span, timedelta) else span), 0)
    parts = list[tuple[int, str]]()
    for length, noun in _SPANS:
        count, seconds = divmod(seconds, length)
        if count or (parts and len(parts) < 2):
            parts.append((count, noun))
        if len(parts) == 2:
            break
    written = [write_count(count, noun) for count, noun in parts if count]
    return " ".join(written) or "0 seconds"


def write_moment(moment: datetime) -> str:
    """Format a time in UTC, to the second."""
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


log = logging.getLogger(__name__)

PANEL_SECONDS = 4.0
"""The timeout of a panel. A panel that times out says so."""

CHAIN_SECONDS = 3.0
"""The timeout for nodes, which is shorter so that panels can still show data from the database."""

LISTED = 10
"""Number of events listed per category."""

COUNT_TO = 1_000
"""The limit up to which events are counted."""

LARGE_LAG = 50
"""The lag in blocks that needs attention, as in the Prometheus alerts."""

OLD_BACKUP = timedelta(days=7)
"""The age above which a backup needs attention."""

USAGE_SECONDS, USAGE_SHARE = 60.0, 100
"""A measurement is valid for a minute, or for a hundred times its duration if that is longer."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """The settings of this deployment that are not secret."""

    chain_id: int
    marketplace: str
    follows_chain: bool
    workers: int
    is_sqlite: bool
    content_store: str
    versions: Mapping[str, str]
    publication: Mapping[str, str | None]
    """The settings of `[publication]` and of the chain's name, in words, or None if not set."""


@dataclass(frozen=True, slots=True)
class ChainView:
    """The newest block and its time, or the reason why they are unknown."""

    head: BlockRef | None
    time: datetime | None = None
    problem: str = ""


@dataclass(slots=True)
class Operations:
    """Builds the panels. `started` is this process's start time on the monotonic clock."""

    deployment: Deployment
    store: OperatorFacts
    events: EventStore
    leases: LeaseStore
    installation: InstallationStore
    chain: ChainReader
    index: PostIndexWriter
    readiness: Readiness
    disk: DiskReport
    providers: Mapping[str, bool]
    """The webhook providers, and whether each is configured."""
    received: Mapping[str, datetime]
    """When this process received each provider's last delivery."""
    clock: Clock
    monotonic: Monotonic
    process_id: int
    started: float
    _usage: tuple[float, Usage] | None = field(default=None, init=False)

    async def panels(self) -> list[Panel]:
        """Return all panels, in reading order."""
        view = asyncio.create_task(self._look_at_chain())
        made = await asyncio.gather(
            _make("health", "Health", self._health()),
            _make("follower", "Chain follower", self._follower(view)),
            _make("indexer", "Index of posts", self._indexer(view)),
            _make("dead-letters", "Dead letters", self._dead_letters()),
            _make("mismatches", "Posts of somebody else's draft", self._mismatches()),
            _make("nodes", "Nodes", self._nodes(view)),
            _make("webhooks", "Webhooks", self._webhooks()),
            _make("backup", "Last backup", self._backup()),
            _make("disk", "Disk", self._disk()),
            _make("usage", "What is stored", self._measure()),
            _make("publication", "Publication", self._publication()),
            _make("versions", "Versions", self._versions()),
            _make("process", "Process", self._process()),
        )
        view.cancel()
        return list(made)

    async def _look_at_chain(self) -> ChainView:
        try:
            async with asyncio.timeout(CHAIN_SECONDS):
                head = await self.chain.head()
                return ChainView(head, await self.chain.head_time())
        except (Unavailable, TimeoutError):
            return ChainView(None, problem="no node responds")

    async def _health(self) -> Panel:
        condition = await self.readiness.check()
        facts = [
            Fact(name.replace("_", " "), "well" if well else sentence, _mark_of(name, well))
            for name, sentence in SENTENCES.items()
            for well in (bool(getattr(condition, name)),)
        ]
        advice: tuple[Advice, ...] = ()
        if condition.details:
            advice = (Advice("Examine the installation; nothing is changed.", "imprint check"),)
        mark = Mark.WARN if condition.details else Mark.GOOD
        mark = mark if condition.ready else Mark.BAD
        return Panel(facts=(Fact("status", condition.status, mark), *facts), advice=advice)

    async def _follower(self, view: "asyncio.Task[ChainView]") -> Panel:
        if not self.deployment.follows_chain:
            off = Fact("follower", "off: IMPRINT_CHAIN_FOLLOW_SECONDS is 0", Mark.WARN)
            return Panel(facts=(off,))
        cursor = await self.events.cursor(self.deployment.chain_id)
        final = await self.events.final_block(self.deployment.chain_id)
        facts = [
            Fact("read up to block", _block(cursor)),
            Fact("final up to block", _block(final)),
            *await self._lag(cursor, await asyncio.shield(view)),
            await self._holder(FOLLOWER_LEASE),
        ]
        advice = (
            Advice(
                "If it stays behind, check the nodes below and the log. This command reads "
                "blocks again while the service is running.",
                "imprint reconcile --from-block N",
            ),
        )
        behind = any(each.mark in (Mark.WARN, Mark.BAD) for each in facts)
        return Panel(facts=tuple(facts), advice=advice if behind else ())

    async def _indexer(self, view: "asyncio.Task[ChainView]") -> Panel:
        if not self.deployment.follows_chain:
            off = Fact("indexer", "off: IMPRINT_CHAIN_FOLLOW_SECONDS is 0", Mark.WARN)
            return Panel(facts=(off,))
        state = await self.index.index_state()
        if state is None:
            return Panel(facts=(Fact("index", "not started yet", Mark.WARN),))
        filled = "complete" if state.complete else "being filled for the first time"
        return Panel(
            facts=(
                Fact("index", filled, Mark.GOOD if state.complete else Mark.WARN),
                Fact("filled up to block", _block(state.block)),
                *await self._lag(state.block, await asyncio.shield(view)),
                await self._holder(INDEXER_LEASE),
            )
        )

    async def _lag(self, block: BlockRef | None, view: ChainView) -> list[Fact]:
        if view.head is None:
            return [Fact("behind the chain", f"unknown: {view.problem}", Mark.BAD)]
        if block is None:
            return [Fact("behind the chain", "unknown: nothing has been read yet", Mark.WARN)]
        blocks = max(view.head.number - block.number, 0)
        mark = Mark.WARN if blocks > LARGE_LAG else Mark.GOOD
        seconds = "0 seconds"
        if blocks and view.time is not None:
            try:
                async with asyncio.timeout(CHAIN_SECONDS):
                    times = await self.chain.block_times([block], view.head)
                seconds = write_duration(view.time - times[block])
            except (Unavailable, TimeoutError, KeyError):
                seconds = "an unknown time"
        return [Fact("behind the chain", f"{write_count(blocks, 'block')}, {seconds}", mark)]

    async def _holder(self, lease: str) -> Fact:
        found = await self.leases.find_lease(lease)
        if found is None:
            return Fact("done by", "no process yet", Mark.WARN)
        if found.left < timedelta(0):
            ago = write_duration(-found.left)
            return Fact("done by", f"no process; last {describe_holder(found.holder)}, {ago} ago")
        return Fact("done by", describe_holder(found.holder), Mark.GOOD)

    async def _nodes(self, view: "asyncio.Task[ChainView]") -> Panel:
        seen = await asyncio.shield(view)
        facts = [Fact("newest block", _block(seen.head))]
        if seen.head is None:
            facts = [Fact("newest block", f"unknown: {seen.problem}", Mark.BAD)]
        if seen.time is not None:
            facts.append(Fact("made", f"{write_duration(self.clock() - seen.time)} ago"))
        if not isinstance(self.chain, NodeReport):
            return Panel(facts=tuple(facts))
        rows = tuple(
            (
                each.address,
                "fails" if each.is_failing else "responds" if each.block is not None else "unused",
                "" if each.block is None else write_number(each.block),
                "" if each.shown_ago is None else f"{write_duration(each.shown_ago)} ago",
            )
            for each in self.chain.nodes()
        )
        listing = Listing(("node", "state", "newest block", "shown"), rows)
        advice: tuple[Advice, ...] = ()
        if any(row[1] == "fails" for row in rows):
            sentence = (
                "The first node is preferred. A node that fails is skipped for up to half a "
                "minute; the log has the reason."
            )
            advice = (Advice(sentence, "imprint check"),)
        return Panel(facts=tuple(facts), listing=listing, advice=advice)

    async def _webhooks(self) -> Panel:
        last = await self.store.last_deliveries([*self.providers])
        rows = []
        for provider, is_configured in self.providers.items():
            # The database has no record of a provider without ids for its deliveries.
            known_times = (last[provider], self.received.get(provider))
            received = max((each for each in known_times if each is not None), default=None)
            seen = read_counter(DELIVERIES, {"provider": provider})
            new = sum(count for labels, count in seen if labels["duplicate"] == "false")
            known = sum(count for labels, count in seen if labels["duplicate"] == "true")
            results = ", ".join(
                f"{count:.0f} {labels['status'].replace('_', ' ')}"
                for labels, count in read_counter(EVENTS, {"source": provider})
            )
            state = "configured" if is_configured else "off: no secret is set"
            when = "none known" if received is None else self._ago(received)
            rows.append((provider, state, when, f"{new:.0f} new, {known:.0f} repeated", results))
        columns = ("provider", "state", "last delivery", "deliveries here", "events here")
        sentence = (
            "Counts, and the last delivery of provider-a, are those of this process since it "
            "started. Webhooks only save a few seconds: the follower finds every post without "
            "them."
        )
        return Panel(listing=Listing(columns, tuple(rows)), advice=(Advice(sentence),))

    async def _dead_letters(self) -> Panel:
        found = await self.store.events_to_examine(LISTED, COUNT_TO)
        count = found.counts[EventStatus.DEAD_LETTER]
        rows = tuple(
            (
                write_moment(each.seen_at),
                each.source or "the chain",
                each.reason,
                each.identity[:80],
            )
            for each in found.dead_letters
        )
        advice: tuple[Advice, ...] = ()
        if count:
            advice = (
                Advice("Show all dead letters in full.", "imprint events --json --limit 100"),
                Advice(
                    "If a receipt could not be read, read the blocks again with a node that has "
                    "it. Other dead letters are logs that do not have this contract's format: "
                    "nothing is lost.",
                    "imprint reconcile --from-block N",
                ),
            )
        fact = Fact("letters", _counted(count), Mark.WARN if count else Mark.GOOD)
        columns = ("seen", "from", "reason", "known by")
        return Panel(facts=(fact,), listing=Listing(columns, rows) if rows else None, advice=advice)

    async def _mismatches(self) -> Panel:
        found = await self.store.events_to_examine(LISTED, COUNT_TO)
        count = found.counts[EventStatus.AUTHOR_MISMATCH]
        unknown = found.counts[EventStatus.UNKNOWN_FILE]
        advice: tuple[Advice, ...] = ()
        if count:
            sentence = (
                "Somebody published the cid of a draft that is not theirs. The draft remains its "
                "owner's and is not shown as a post. There is nothing to do. If it keeps "
                "happening, tell the owner: only somebody who has read a draft knows its cid."
            )
            advice = (Advice(sentence, "imprint events"),)
        mark = Mark.WARN if count else Mark.GOOD
        facts = (
            Fact("by somebody who is not the owner", _counted(count), mark),
            Fact("of documents that are not here", _counted(unknown)),
        )
        return Panel(facts=facts, listing=_mismatch_listing(found), advice=advice)

    async def _disk(self) -> Panel:
        free = await asyncio.to_thread(self.disk.free_bytes)
        floor = self.disk.floor
        if free is None:
            where = "no local disk is used, or its free space cannot be read"
            return Panel(facts=(Fact("free", f"unknown: {where}"),))
        mark = Mark.BAD if free < floor else Mark.WARN if free < 4 * floor else Mark.GOOD
        facts = (
            Fact("free on the fullest disk", write_bytes(free), mark),
            Fact("reserved for everything but drafts", write_bytes(floor)),
        )
        advice: tuple[Advice, ...] = ()
        if mark is not Mark.GOOD:
            sentence = (
                "Below the reserve, drafts are refused; reads continue. Free some space, or "
                "lower IMPRINT_GRACE_HOURS or IMPRINT_QUOTA_BYTES. Do not delete the files "
                "`reserve`."
            )
            advice = (Advice(sentence, "imprint gc --dry-run"),)
        return Panel(facts=facts, advice=advice)

    async def _measure(self) -> Panel:
        usage = await self._measured()
        return Panel(
            facts=(
                Fact("drafts", write_number(usage.drafts)),
                Fact("posts", write_number(usage.posts)),
                Fact("documents and thumbnails", write_bytes(usage.stored_bytes)),
                Fact("replaced or deleted, not yet destroyed", write_bytes(usage.detached_bytes)),
                Fact("content store", self.deployment.content_store),
            )
        )

    async def _measured(self) -> Usage:
        """Return the last result of this process's usage monitor, or else a new measurement."""
        gauges = [read_gauge(each) for each in (DRAFTS, POSTS, STORED_BYTES, DETACHED_BYTES)]
        if not any(map(math.isnan, gauges)):
            return Usage(*map(int, gauges))
        began = self.monotonic()
        if self._usage is None or began >= self._usage[0]:
            usage = await self.installation.measure_usage()
            took = self.monotonic() - began
            self._usage = began + max(USAGE_SECONDS, USAGE_SHARE * took), usage
        return self._usage[1]

    async def _backup(self) -> Panel:
        made_at = await self.store.last_backup()
        if made_at is None and not self.deployment.is_sqlite:
            fact = Fact("last backup", "none is known; PostgreSQL's own tools may have made one")
        elif made_at is None:
            fact = Fact("last backup", "none is known", Mark.WARN)
        else:
            old = self.clock() - made_at > OLD_BACKUP
            fact = Fact("last backup", self._ago(made_at), Mark.WARN if old else Mark.GOOD)
        advice = Advice(
            "The service can keep running. Keep secrets and IMPRINT_ENCRYPTION_KEY elsewhere.",
            "imprint backup --out /backups/DAY.tar",
        )
        return Panel(facts=(fact,), advice=(advice,) if fact.mark is Mark.WARN else ())

    async def _process(self) -> Panel:
        return Panel(
            facts=(
                Fact("worker that rendered this page", f"process {self.process_id}"),
                Fact("runs for", write_duration(self.monotonic() - self.started)),
                Fact("workers configured", str(self.deployment.workers)),
                Fact("clock", write_moment(self.clock())),
            )
        )

    async def _publication(self) -> Panel:
        given = self.deployment.publication
        facts = [
            Fact(
                label, "not set" if text is None else text, Mark.WARN if text is None else Mark.GOOD
            )
            for label, text in given.items()
        ]
        advice = (
            Advice(
                "Set what is missing in [publication], look at it with sample posts, and reload"
                " the service with SIGHUP.",
                "imprint site preview",
            ),
        )
        return Panel(facts=tuple(facts), advice=advice if None in given.values() else ())

    async def _versions(self) -> Panel:
        versions = [Fact(name, version) for name, version in self.deployment.versions.items()]
        try:
            database = await self.store.database()
        except Unavailable:
            known = [Fact("database", "unknown: it does not respond", Mark.BAD)]
        else:
            known = [
                Fact(database.name, database.version),
                Fact("schema", str(database.schema)),
            ]
        contract = Fact("contract", self.deployment.marketplace)
        chain = Fact("chain", str(self.deployment.chain_id))
        return Panel(facts=(*versions[:2], *known, chain, contract, *versions[2:]))

    def _ago(self, moment: datetime) -> str:
        return f"{write_duration(self.clock() - moment)} ago ({write_moment(moment)})"


async def _make(key: str, title: str, making: Awaitable[Panel]) -> Panel:
    """Return the panel with its name, or with the reason why it cannot be built."""
    try:
        async with asyncio.timeout(PANEL_SECONDS):
            return (await making).named(key, title)
    except Unavailable as problem:
        return Panel(key, title, problem=str(problem.detail))
    except TimeoutError:
        return Panel(key, title, problem=f"it took longer than {PANEL_SECONDS:.0f} seconds")
    except Exception:
        log.exception("a panel of the operator's page failed", extra={"panel": key})
        return Panel(key, title, problem="it could not be read; the log has the reason")


def _mismatch_listing(found: EventsToExamine) -> Listing | None:
    rows = tuple(
        (
            write_moment(each.seen_at),
            str(each.event.post_id),
            str(each.event.author),
            each.event.spelled_cid[:80],
            str(each.event.place.block_number),
        )
        for each in found.mismatches
    )
    return Listing(("seen", "post", "author", "cid", "block"), rows) if rows else None


def _mark_of(member: str, well: bool) -> Mark:
    """Return the mark of a check. Only failing reads make the service not ready."""
    if well:
        return Mark.GOOD
    return Mark.BAD if member in ("database", "storage") else Mark.WARN


def _block(block: BlockRef | None) -> str:
    return "none yet" if block is None else write_number(block.number)


def _counted(count: int) -> str:
    return f"{write_number(COUNT_TO)} or more" if count >= COUNT_TO else write_number(count)
