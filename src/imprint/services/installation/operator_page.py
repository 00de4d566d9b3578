"""The operator page: the state of the installation, in panels that fail independently.

No panel's queries take longer as the number of files, posts or readers grows.
"""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Mapping
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


Say = Callable[..., str]
"""Returns a sentence in the language of the page, given its key and its values."""

_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB")
_SPANS = (
    (86_400, "panels.days"),
    (3_600, "panels.hours"),
    (60, "panels.minutes"),
    (1, "panels.seconds"),
)


def write_number(number: int) -> str:
    """Format a number with spaces between groups of thousands."""
    return f"{number:,}".replace(",", "\N{NO-BREAK SPACE}")


def write_count(say: Say, key: str, number: int) -> str:
    """Format a count with a singular or plural noun."""
    return say(key, count=number, number=write_number(number))


def write_bytes(say: Say, size: int) -> str:
    """Format a size in the largest suitable unit."""
    if size < 1024:
        return write_count(say, "panels.bytes", size)
    amount = float(size)
    for unit in _UNITS:
        amount /= 1024
        if amount < 1024 or unit == _UNITS[-1]:
            break
    return f"{amount:.1f} {unit}"


def write_duration(say: Say, span: timedelta | float) -> str:
    """Format a duration in its two largest units, such as 2 hours 5 minutes. Omits zero values."""
    seconds = max(int(span.total_seconds() if isinstance(span, timedelta) else span), 0)
    parts = list[tuple[int, str]]()
    for length, noun in _SPANS:
        count, seconds = divmod(seconds, length)
        if count or (parts and len(parts) < 2):
            parts.append((count, noun))
        if len(parts) == 2:
            break
    written = [write_count(say, noun, count) for count, noun in parts if count]
    return " ".join(written) or write_count(say, "panels.seconds", 0)


def write_moment(moment: datetime) -> str:
    """Format a time in UTC, to the second."""
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


log = logging.getLogger(__name__)

PANEL_SECONDS = 4.0
"""The timeout of a panel. A panel that times out says so."""

CHAIN_SECONDS = 3.0
"""The timeout for nodes, shorter than that of a panel, which can then still show data from the
database."""

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
    """Settings of `[publication]` and of the chain, keyed by label. Missing values are None."""


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
    say: Say
    _usage: tuple[float, Usage] | None = field(default=None, init=False)

    async def panels(self) -> list[Panel]:
        """Return all panels, in reading order."""
        say, view = self.say, asyncio.create_task(self._look_at_chain())
        made = await asyncio.gather(
            self._make("health", say("panels.health.title"), self._health()),
            self._make("follower", say("panels.follower.title"), self._follower(view)),
            self._make("indexer", say("panels.indexer.title"), self._indexer(view)),
            self._make("dead-letters", say("panels.dead_letters.title"), self._dead_letters()),
            self._make("mismatches", say("panels.mismatches.title"), self._mismatches()),
            self._make("nodes", say("panels.nodes.title"), self._nodes(view)),
            self._make("webhooks", say("panels.webhooks.title"), self._webhooks()),
            self._make("backup", say("panels.backup.title"), self._backup()),
            self._make("disk", say("panels.disk.title"), self._disk()),
            self._make("usage", say("panels.usage.title"), self._measure()),
            self._make("publication", say("panels.publication.title"), self._publication()),
            self._make("versions", say("panels.versions.title"), self._versions()),
            self._make("process", say("panels.process.title"), self._process()),
        )
        view.cancel()
        return list(made)

    async def _make(self, key: str, title: str, making: Awaitable[Panel]) -> Panel:
        """Return the finished panel, or one that says why the panel could not be built."""
        try:
            async with asyncio.timeout(PANEL_SECONDS):
                return (await making).named(key, title)
        except Unavailable as problem:
            return Panel(key, title, problem=str(problem.detail))
        except TimeoutError:
            slow = write_duration(self.say, PANEL_SECONDS)
            return Panel(key, title, problem=self.say("panels.slow", duration=slow))
        except Exception:
            log.exception("a panel of the operator's page failed", extra={"panel": key})
            return Panel(key, title, problem=self.say("panels.failed"))

    async def _look_at_chain(self) -> ChainView:
        try:
            async with asyncio.timeout(CHAIN_SECONDS):
                head = await self.chain.head()
                return ChainView(head, await self.chain.head_time())
        except (Unavailable, TimeoutError):
            return ChainView(None, problem=self.say("panels.no_node"))

    async def _health(self) -> Panel:
        condition = await self.readiness.check()
        facts = [
            Fact(
                self.say(f"panels.health.{name}"),
                self.say("panels.health.well") if well else sentence,
                _mark_of(name, well),
            )
            for name, sentence in SENTENCES.items()
            for well in (bool(getattr(condition, name)),)
        ]
        advice: tuple[Advice, ...] = ()
        if condition.details:
            advice = (Advice(self.say("panels.health.advice"), "imprint check"),)
        mark = Mark.WARN if condition.details else Mark.GOOD
        mark = mark if condition.ready else Mark.BAD
        status = Fact(self.say("panels.health.status"), condition.status, mark)
        return Panel(facts=(status, *facts), advice=advice)

    async def _follower(self, view: "asyncio.Task[ChainView]") -> Panel:
        if not self.deployment.follows_chain:
            return Panel(facts=(self._off(),))
        cursor = await self.events.cursor(self.deployment.chain_id)
        final = await self.events.final_block(self.deployment.chain_id)
        facts = [
            Fact(self.say("panels.follower.read"), self._block(cursor)),
            Fact(self.say("panels.follower.final"), self._block(final)),
            *await self._lag(cursor, await asyncio.shield(view)),
            await self._holder(FOLLOWER_LEASE),
        ]
        advice = (Advice(self.say("panels.follower.advice"), "imprint reconcile --from-block N"),)
        behind = any(each.mark in (Mark.WARN, Mark.BAD) for each in facts)
        return Panel(facts=tuple(facts), advice=advice if behind else ())

    async def _indexer(self, view: "asyncio.Task[ChainView]") -> Panel:
        if not self.deployment.follows_chain:
            return Panel(facts=(self._off(),))
        state = await self.index.index_state()
        if state is None:
            none = self.say("panels.indexer.none")
            return Panel(facts=(Fact(self.say("panels.indexer.state"), none, Mark.WARN),))
        filled = self.say("panels.indexer.complete" if state.complete else "panels.indexer.filling")
        return Panel(
            facts=(
                Fact(
                    self.say("panels.indexer.state"),
                    filled,
                    Mark.GOOD if state.complete else Mark.WARN,
                ),
                Fact(self.say("panels.indexer.block"), self._block(state.block)),
                *await self._lag(state.block, await asyncio.shield(view)),
                await self._holder(INDEXER_LEASE),
            )
        )

    async def _lag(self, block: BlockRef | None, view: ChainView) -> list[Fact]:
        label = self.say("panels.lag.title")
        if view.head is None:
            return [Fact(label, self._unknown(view.problem), Mark.BAD)]
        if block is None:
            return [Fact(label, self._unknown(self.say("panels.lag.unread")), Mark.WARN)]
        blocks = max(view.head.number - block.number, 0)
        mark = Mark.WARN if blocks > LARGE_LAG else Mark.GOOD
        lasts = write_duration(self.say, 0)
        if blocks and view.time is not None:
            try:
                async with asyncio.timeout(CHAIN_SECONDS):
                    times = await self.chain.block_times([block], view.head)
                lasts = write_duration(self.say, view.time - times[block])
            except (Unavailable, TimeoutError, KeyError):
                lasts = self.say("panels.lag.long")
        behind = self.say(
            "panels.lag.behind", blocks=write_count(self.say, "panels.blocks", blocks), time=lasts
        )
        return [Fact(label, behind, mark)]

    async def _holder(self, lease: str) -> Fact:
        label, found = self.say("panels.holder.title"), await self.leases.find_lease(lease)
        if found is None:
            return Fact(label, self.say("panels.holder.none"), Mark.WARN)
        holder = describe_holder(found.holder)
        if found.left < timedelta(0):
            since = write_duration(self.say, -found.left)
            return Fact(label, self.say("panels.holder.last", holder=holder, duration=since))
        return Fact(label, holder, Mark.GOOD)

    def _off(self) -> Fact:
        return Fact(self.say("panels.follower.state"), self.say("panels.follower.off"), Mark.WARN)

    def _unknown(self, reason: str) -> str:
        return self.say("panels.unknown", reason=reason)

    def _block(self, block: BlockRef | None) -> str:
        return self.say("panels.none_yet") if block is None else write_number(block.number)

    def _counted(self, count: int) -> str:
        number = write_number(min(count, COUNT_TO))
        return self.say("panels.or_more", number=number) if count >= COUNT_TO else number

    async def _nodes(self, view: "asyncio.Task[ChainView]") -> Panel:
        say, seen = self.say, await asyncio.shield(view)
        newest = self._block(seen.head)
        facts = [Fact(say("panels.nodes.newest"), newest)]
        if seen.head is None:
            unknown = self._unknown(seen.problem)
            facts = [Fact(say("panels.nodes.newest"), unknown, Mark.BAD)]
        if seen.time is not None:
            facts.append(Fact(say("panels.nodes.made"), self._since(self.clock() - seen.time)))
        if not isinstance(self.chain, NodeReport):
            return Panel(facts=tuple(facts))
        nodes = self.chain.nodes()
        rows = tuple(
            (
                each.address,
                say(
                    "panels.nodes.fails"
                    if each.is_failing
                    else "panels.nodes.unused"
                    if each.block is None
                    else "panels.nodes.responds"
                ),
                "" if each.block is None else write_number(each.block),
                "" if each.shown_ago is None else self._since(each.shown_ago),
            )
            for each in nodes
        )
        columns = (
            say("panels.nodes.node"),
            say("panels.nodes.state"),
            say("panels.nodes.newest"),
            say("panels.nodes.shown"),
        )
        advice: tuple[Advice, ...] = ()
        if any(each.is_failing for each in nodes):
            advice = (Advice(say("panels.nodes.advice"), "imprint check"),)
        return Panel(facts=tuple(facts), listing=Listing(columns, rows), advice=advice)

    async def _webhooks(self) -> Panel:
        say, last = self.say, await self.store.last_deliveries([*self.providers])
        rows = []
        for provider, is_configured in self.providers.items():
            # The database records no deliveries of a provider that gives them no IDs.
            known_times = (last[provider], self.received.get(provider))
            received = max((each for each in known_times if each is not None), default=None)
            seen = read_counter(DELIVERIES, {"provider": provider})
            new = sum(count for labels, count in seen if labels["duplicate"] == "false")
            known = sum(count for labels, count in seen if labels["duplicate"] == "true")
            results = ", ".join(
                f"{count:.0f} {labels['status']}"
                for labels, count in read_counter(EVENTS, {"source": provider})
            )
            state = say("panels.webhooks.on" if is_configured else "panels.webhooks.off")
            when = say("panels.webhooks.never") if received is None else self._ago(received)
            counts = say("panels.webhooks.counts", new=f"{new:.0f}", known=f"{known:.0f}")
            rows.append((provider, state, when, counts, results))
        columns = (
            say("panels.webhooks.provider"),
            say("panels.webhooks.state"),
            say("panels.webhooks.last"),
            say("panels.webhooks.deliveries"),
            say("panels.webhooks.events"),
        )
        advice = (Advice(say("panels.webhooks.advice")),)
        return Panel(listing=Listing(columns, tuple(rows)), advice=advice)

    async def _dead_letters(self) -> Panel:
        say, found = self.say, await self.store.events_to_examine(LISTED, COUNT_TO)
        count = found.counts[EventStatus.DEAD_LETTER]
        rows = tuple(
            (
                write_moment(each.seen_at),
                each.source or say("panels.dead_letters.chain"),
                each.reason,
                each.identity[:80],
            )
            for each in found.dead_letters
        )
        advice: tuple[Advice, ...] = ()
        if count:
            advice = (
                Advice(say("panels.dead_letters.show"), "imprint events --json --limit 100"),
                Advice(say("panels.dead_letters.advice"), "imprint reconcile --from-block N"),
            )
        mark = Mark.WARN if count else Mark.GOOD
        fact = Fact(say("panels.dead_letters.count"), self._counted(count), mark)
        columns = (
            say("panels.events.seen"),
            say("panels.dead_letters.source"),
            say("panels.dead_letters.reason"),
            say("panels.dead_letters.identity"),
        )
        return Panel(facts=(fact,), listing=Listing(columns, rows) if rows else None, advice=advice)

    async def _mismatches(self) -> Panel:
        say, found = self.say, await self.store.events_to_examine(LISTED, COUNT_TO)
        count = found.counts[EventStatus.AUTHOR_MISMATCH]
        unknown = found.counts[EventStatus.UNKNOWN_FILE]
        advice: tuple[Advice, ...] = ()
        if count:
            advice = (Advice(say("panels.mismatches.advice"), "imprint events"),)
        mark = Mark.WARN if count else Mark.GOOD
        facts = (
            Fact(say("panels.mismatches.count"), self._counted(count), mark),
            Fact(say("panels.mismatches.unknown"), self._counted(unknown)),
        )
        columns = (
            say("panels.events.seen"),
            say("panels.events.post"),
            say("panels.events.author"),
            say("panels.events.cid"),
            say("panels.events.block"),
        )
        rows = _mismatch_rows(found)
        listing = Listing(columns, rows) if rows else None
        return Panel(facts=facts, listing=listing, advice=advice)

    async def _disk(self) -> Panel:
        say, floor = self.say, self.disk.floor
        free = await asyncio.to_thread(self.disk.free_bytes)
        if free is None:
            unknown = self._unknown(say("panels.disk.unreadable"))
            return Panel(facts=(Fact(say("panels.disk.free"), unknown),))
        mark = Mark.BAD if free < floor else Mark.WARN if free < 4 * floor else Mark.GOOD
        facts = (
            Fact(say("panels.disk.free"), write_bytes(say, free), mark),
            Fact(say("panels.disk.floor"), write_bytes(say, floor)),
        )
        advice: tuple[Advice, ...] = ()
        if mark is not Mark.GOOD:
            advice = (Advice(say("panels.disk.advice"), "imprint gc --dry-run"),)
        return Panel(facts=facts, advice=advice)

    async def _measure(self) -> Panel:
        say, usage = self.say, await self._measured()
        return Panel(
            facts=(
                Fact(say("panels.usage.drafts"), write_number(usage.drafts)),
                Fact(say("panels.usage.posts"), write_number(usage.posts)),
                Fact(say("panels.usage.stored"), write_bytes(say, usage.stored_bytes)),
                Fact(say("panels.usage.detached"), write_bytes(say, usage.detached_bytes)),
                Fact(say("panels.usage.store"), self.deployment.content_store),
            )
        )

    async def _measured(self) -> Usage:
        """Return the usage monitor's last result in this process, or else a recent measurement."""
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
        say, made_at = self.say, await self.store.last_backup()
        label = say("panels.backup.label")
        if made_at is None and not self.deployment.is_sqlite:
            fact = Fact(label, say("panels.backup.elsewhere"))
        elif made_at is None:
            fact = Fact(label, say("panels.backup.none"), Mark.WARN)
        else:
            old = self.clock() - made_at > OLD_BACKUP
            fact = Fact(label, self._ago(made_at), Mark.WARN if old else Mark.GOOD)
        advice = Advice(say("panels.backup.advice"), "imprint backup --out /backups/DAY.tar")
        return Panel(facts=(fact,), advice=(advice,) if fact.mark is Mark.WARN else ())

    async def _process(self) -> Panel:
        say = self.say
        runs = write_duration(say, self.monotonic() - self.started)
        return Panel(
            facts=(
                Fact(say("panels.process.worker"), str(self.process_id)),
                Fact(say("panels.process.runs"), runs),
                Fact(say("panels.process.workers"), str(self.deployment.workers)),
                Fact(say("panels.process.clock"), write_moment(self.clock())),
            )
        )

    async def _publication(self) -> Panel:
        given, missing = self.deployment.publication, self.say("panels.publication.missing")
        facts = tuple(
            Fact(label, missing if text is None else text, Mark.WARN if text is None else Mark.GOOD)
            for label, text in given.items()
        )
        advice = (Advice(self.say("panels.publication.advice"), "imprint site preview"),)
        return Panel(facts=facts, advice=advice if None in given.values() else ())

    async def _versions(self) -> Panel:
        say = self.say
        versions = [Fact(name, version) for name, version in self.deployment.versions.items()]
        try:
            database = await self.store.database()
        except Unavailable:
            away = self._unknown(say("panels.versions.away"))
            known = [Fact(say("panels.versions.database"), away, Mark.BAD)]
        else:
            known = [
                Fact(database.name, database.version),
                Fact(say("panels.versions.schema"), str(database.schema)),
            ]
        contract = Fact(say("panels.versions.contract"), self.deployment.marketplace)
        chain = Fact(say("panels.versions.chain"), str(self.deployment.chain_id))
        return Panel(facts=(*versions[:2], *known, chain, contract, *versions[2:]))

    def _since(self, span: timedelta | float) -> str:
        return self.say("panels.ago", duration=write_duration(self.say, span))

    def _ago(self, moment: datetime) -> str:
        lasts = write_duration(self.say, self.clock() - moment)
        return self.say("panels.ago_at", duration=lasts, moment=write_moment(moment))


def _mismatch_rows(found: EventsToExamine) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (
            write_moment(each.seen_at),
            str(each.event.post_id),
            str(each.event.author),
            each.event.spelled_cid[:80],
            str(each.event.place.block_number),
        )
        for each in found.mismatches
    )


def _mark_of(member: str, well: bool) -> Mark:
    """Return the mark of a check. A failure is `BAD` only if it makes the service not ready."""
    if well:
        return Mark.GOOD
    return Mark.BAD if member in ("database", "storage") else Mark.WARN
