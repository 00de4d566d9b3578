"""Readiness reports which dependencies respond, and probes them no more often than needed."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

import pytest
from tests.world import MovableClock

from imprint.domain.errors import Code, Unavailable
from imprint.domain.posts.posts import BlockRef
from imprint.services.chain.log_stream import History
from imprint.services.installation import readiness
from imprint.services.installation.readiness import CACHE_TIME, SENTENCES, Condition, Readiness

ALL_WELL = Condition(database=True, storage=True, chain=True)


async def respond() -> None:
    """Respond immediately."""


async def never_respond() -> None:
    await asyncio.Event().wait()


async def be_unavailable() -> None:
    raise Unavailable.storage()


@dataclass(slots=True)
class Dependency:
    """A dependency whose behaviour the test controls."""

    behaviour: Callable[[], Awaitable[object]] = respond
    probed: int = 0

    reads: Callable[[], Awaitable[object]] | None = None

    async def probe(self, *, grow: bool = False) -> None:
        self.probed += 1
        await self.behaviour()

    async def probe_reads(self) -> None:
        await (self.behaviour if self.reads is None else self.reads)()


@dataclass(slots=True)
class Disk:
    """A disk that may be low on space."""

    low: bool = False


@dataclass(slots=True)
class Probed:
    """A readiness check of three dependencies."""

    clock: MovableClock = field(default_factory=MovableClock)
    database: Dependency = field(default_factory=Dependency)
    storage: Dependency = field(default_factory=Dependency)
    chain: Dependency = field(default_factory=Dependency)
    disk: Disk = field(default_factory=Disk)
    readiness: Readiness = field(init=False)

    def __post_init__(self) -> None:
        self.readiness = Readiness(
            self.database, self.storage, self.chain, self.clock.monotonic, self.disk
        )


@pytest.fixture
def probed() -> Probed:
    return Probed()


@pytest.fixture
def short_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "PROBE_TIMEOUT", 0.005)


@pytest.mark.parametrize(
    ("condition", "status", "ready"),
    [
        (ALL_WELL, "ready", True),
        (Condition(database=True, storage=True, chain=False), "degraded", True),
        (replace(ALL_WELL, disk=False), "degraded", True),
        (Condition(database=True, storage=True, chain=True, history=False), "degraded", True),
        (replace(ALL_WELL, database_writes=False), "degraded", True),
        (replace(ALL_WELL, storage_writes=False), "degraded", True),
        (Condition(database=True, storage=False, chain=True), "not ready", False),
        (Condition(database=False, storage=True, chain=True), "not ready", False),
    ],
)
def test_only_unreadable_dependencies_make_the_service_not_ready(
    condition: Condition, status: str, ready: bool
) -> None:
    assert (condition.status, condition.ready) == (status, ready)


@pytest.mark.parametrize("name", ["database", "storage", "chain"])
async def test_an_unavailable_dependency_is_named(probed: Probed, name: str) -> None:
    getattr(probed, name).behaviour = be_unavailable
    condition = await probed.readiness.check()
    assert {each: getattr(condition, each) for each in ("database", "storage", "chain")} == {
        each: each != name for each in ("database", "storage", "chain")
    }


async def test_a_service_on_the_store_of_another_installation_is_not_ready(probed: Probed) -> None:
    is_own = False
    probed.readiness.checks = [("storage", lambda: is_own)]
    foreign = replace(ALL_WELL, storage=False, storage_writes=False)
    assert await probed.readiness.check() == foreign
    is_own = True
    probed.clock.advance(2)
    assert await probed.readiness.check() == ALL_WELL
    probed.storage.behaviour = be_unavailable
    probed.clock.advance(2)
    assert await probed.readiness.check() == foreign


async def test_a_service_that_can_read_but_not_write_is_degraded(probed: Probed) -> None:
    probed.database.behaviour = probed.storage.behaviour = be_unavailable
    probed.database.reads = probed.readiness.probe_documents = respond
    condition = await probed.readiness.check()
    assert condition == replace(ALL_WELL, database_writes=False, storage_writes=False)
    assert (condition.status, condition.ready) == ("degraded", True)
    assert condition.details == [
        SENTENCES["database_writes"],
        SENTENCES["storage_writes"],
    ]


async def test_unreadable_documents_mean_not_ready_even_if_writes_succeed(
    probed: Probed,
) -> None:
    probed.readiness.probe_documents = be_unavailable
    assert (await probed.readiness.check()).status == "not ready"


@pytest.mark.parametrize("name", SENTENCES)
def test_each_failed_check_is_described_by_one_sentence(name: str) -> None:
    condition = replace(ALL_WELL, **{name: False})
    assert condition.details == [SENTENCES[name]]


def test_a_failure_caused_by_another_failure_is_not_described_separately() -> None:
    lost = replace(ALL_WELL, database=False, database_writes=False, chain=False, history=False)
    assert lost.details == [SENTENCES["database"], SENTENCES["chain"]]


async def test_low_disk_space_is_reported(probed: Probed) -> None:
    probed.disk.low = True
    assert await probed.readiness.check() == replace(ALL_WELL, disk=False)


@pytest.mark.usefixtures("short_timeout")
async def test_the_check_does_not_wait_for_a_dependency_that_hangs(probed: Probed) -> None:
    probed.chain.behaviour = never_respond
    assert (await probed.readiness.check()).status == "degraded"


async def test_the_dependencies_are_probed_concurrently(probed: Probed) -> None:
    # The database is probed twice: for reads and for writes.
    meeting = asyncio.Barrier(4)
    for each in (probed.database, probed.storage, probed.chain):
        each.behaviour = meeting.wait
    assert await probed.readiness.check() == ALL_WELL


async def test_concurrent_callers_share_one_probe(probed: Probed) -> None:
    await asyncio.gather(*(probed.readiness.check() for _ in range(5)))
    assert probed.database.probed == 1


async def test_a_cancelled_caller_does_not_cancel_the_probe_of_others(probed: Probed) -> None:
    began, responding = asyncio.Event(), asyncio.Event()

    async def respond_when_released() -> None:
        began.set()
        await responding.wait()

    probed.database.behaviour = respond_when_released
    leaving, staying = (asyncio.create_task(probed.readiness.check()) for _ in range(2))
    await began.wait()
    leaving.cancel()
    await asyncio.wait([leaving])
    responding.set()
    assert await staying == ALL_WELL
    assert probed.database.probed == 1


async def test_a_condition_is_cached_for_the_cache_time_and_no_longer(probed: Probed) -> None:
    await probed.readiness.check()
    probed.storage.behaviour = be_unavailable
    probed.clock.advance(CACHE_TIME.total_seconds() - 0.01)
    assert await probed.readiness.check() == ALL_WELL
    probed.clock.advance(0.01)
    assert (await probed.readiness.check()).status == "not ready"


async def test_the_cache_time_begins_when_the_probe_ends(probed: Probed) -> None:
    async def respond_late() -> None:
        probed.clock.advance(CACHE_TIME.total_seconds())

    probed.chain.behaviour = respond_late
    await probed.readiness.check()
    await probed.readiness.check()
    assert probed.chain.probed == 1


async def test_setting_the_clock_back_does_not_prolong_the_cache(probed: Probed) -> None:
    await probed.readiness.check()
    probed.clock.set_ahead(-3600)
    probed.clock.advance(CACHE_TIME.total_seconds())
    await probed.readiness.check()
    assert probed.database.probed == 2


@pytest.mark.parametrize("name", ["follower", "indexer", "collector", "records"])
async def test_a_failed_check_of_a_background_task_is_reported(probed: Probed, name: str) -> None:
    probed.readiness.checks = [(name, lambda: False), (name, lambda: True)]
    condition = await probed.readiness.check()
    assert condition == replace(ALL_WELL, **{name: False})
    assert condition.status == "degraded"
    assert condition.ready


async def test_a_condition_is_good_if_all_its_checks_pass(probed: Probed) -> None:
    probed.readiness.checks = [("collector", lambda: True), ("collector", lambda: True)]
    assert await probed.readiness.check() == ALL_WELL


async def test_a_bug_in_a_probe_is_raised_and_not_cached(probed: Probed) -> None:
    async def fail() -> None:
        raise KeyError("a mistake")

    probed.storage.behaviour = fail
    with pytest.raises(KeyError):
        await probed.readiness.check()
    probed.storage.behaviour = respond
    assert await probed.readiness.check() == ALL_WELL


@pytest.mark.parametrize("history", History)
async def test_disagreement_about_the_final_block_degrades_the_service(
    probed: Probed, history: History
) -> None:
    async def examine() -> History:
        return history

    probed.readiness.examine_history = examine
    condition = await probed.readiness.check()
    assert condition.chain
    assert condition.history is (history is History.AGREES)


async def test_disputed_logs_degrade_the_service(probed: Probed) -> None:
    disputed = [BlockRef(7, "0x" + "1" * 64)]

    async def find() -> list[BlockRef]:
        return disputed

    probed.readiness.find_disputed = find
    condition = await probed.readiness.check()
    assert condition == replace(ALL_WELL, logs=False)
    assert (condition.status, len(condition.details)) == ("degraded", 1)
    disputed.clear()
    probed.clock.advance(2)
    assert await probed.readiness.check() == ALL_WELL


async def test_an_unavailable_history_does_not_count_as_disagreement(probed: Probed) -> None:
    async def fail() -> History:
        raise Unavailable.chain()

    probed.readiness.examine_history = fail
    assert await probed.readiness.check() == ALL_WELL


async def test_failing_writes_are_reported_immediately_whatever_the_probe_finds(
    probed: Probed,
) -> None:
    assert await probed.readiness.check() == ALL_WELL
    probed.readiness.writes.note(Code.STORAGE_UNAVAILABLE, Unavailable.storage())
    assert await probed.readiness.check() == replace(ALL_WELL, storage_writes=False)
    probed.readiness.writes.succeeded += 1
    assert await probed.readiness.check() == ALL_WELL
    assert probed.storage.probed == 1
