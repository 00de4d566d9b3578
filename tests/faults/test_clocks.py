"""Leases and rate limits hold with clocks that are wrong, jump or are corrected."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from tests.faults.scene import (
    LONG,
    POLL_SECONDS,
    TIMEOUT,
    Replica,
    Scene,
    open_scene,
    signing_ahead,
)

from imprint.adapters.database.transaction import Transaction
from imprint.bootstrap.adapters import open_database
from imprint.bootstrap.stores import Stores, open_stores
from imprint.services.publication.chain_sync import FOLLOWER_LEASE
from imprint.services.tasks.leases import COLLECTOR_LEASE, LEASE_TIME, SHORT_LEASE_TIME

HOUR = 3600.0
FOLLOW = "0.5"
TAKEOVER_SECONDS = 10.0
"""Seconds within which another process must take over, regardless of clocks."""


async def wait_until(happened: Callable[[], Awaitable[bool]], seconds: float = TIMEOUT) -> None:
    deadline = time.monotonic() + seconds
    while not await happened():
        assert time.monotonic() < deadline, "It did not happen."
        await asyncio.sleep(POLL_SECONDS)


@asynccontextmanager
async def opened(scene: Scene) -> AsyncIterator[Stores]:
    """Open the catalog of the replicas, after one of them has created it."""
    stores = open_stores(open_database(scene.world.settings))
    try:
        yield stores
    finally:
        await stores.close()


async def follows(stores: Stores, replica: Replica) -> bool:
    """Return whether this replica holds the follower's lease."""
    found = await stores.leases.find_lease(FOLLOWER_LEASE)
    named = f", process {replica.process.worker} #"
    return found is not None and found.left > timedelta(0) and named in found.holder


async def is_published(scene: Scene, replica: Replica, cid: str) -> bool:
    scene.world.client.base_url = replica.url
    keyvalues = (await scene.world.metadata(cid))["keyvalues"]
    return bool(keyvalues["status"] == "onchain")


async def see_death(stores: Stores, replica: Replica) -> None:
    """Kill the follower, and check that its lease ends early enough for another process to take
    over in time."""
    assert await follows(stores, replica)
    replica.process.kill()
    found = await stores.leases.find_lease(FOLLOWER_LEASE)
    assert found is not None
    assert found.left + timedelta(seconds=float(FOLLOW)) < timedelta(seconds=TAKEOVER_SECONDS)


async def see_takeover(scene: Scene, stores: Stores, heir: Replica) -> None:
    """Wait until `heir` takes the lease and applies the events of the chain."""
    await wait_until(lambda: follows(stores, heir))
    wallet = scene.world.wallet(1)
    if heir.clock is not None:
        wallet = signing_ahead(wallet, heir.clock.ahead)
    scene.world.client.base_url = heir.url
    file = await scene.world.create(wallet, f"Words for {heir.name}.")
    scene.world.create_post(wallet, file["cid"])
    await wait_until(lambda: is_published(scene, heir, file["cid"]))


async def test_another_replica_takes_over_within_seconds_despite_wrong_clocks(
    tmp_path: Path, records: None
):
    async with open_scene(tmp_path, CHAIN_FOLLOW_SECONDS=FOLLOW) as scene:
        first, fast = scene.replica(ahead=0.0), scene.replica(ahead=300.0)
        await first.start()
        async with opened(scene) as stores:
            await wait_until(lambda: follows(stores, first))
            await fast.start()
            assert first.clock is not None
            first.clock.set(HOUR)
            # Let both replicas poll several times: one renews its lease, and the other does not
            # take it.
            for _ in range(int(3 * float(FOLLOW) / POLL_SECONDS)):
                assert await follows(stores, first)
                await asyncio.sleep(POLL_SECONDS)
            await see_death(stores, first)
            await see_takeover(scene, stores, fast)
            await see_death(stores, fast)
            if LONG:
                first.clock.set(0.0)
                await first.start()
                await see_takeover(scene, stores, first)


async def test_a_rate_limit_lasts_at_most_its_period_after_a_clock_jump(tmp_path: Path):
    rates = {"RATE_LIMITS": "on", "RATE_WRITES": "2/60", "RATE_READS": "3/6"}
    async with open_scene(tmp_path, **rates) as scene:
        replica = scene.replica(ahead=HOUR)
        await replica.start("/healthz")
        world, wallet = scene.world, scene.world.wallet(1)
        assert replica.clock is not None
        ahead = signing_ahead(wallet, HOUR)
        written = [await world.send_create(ahead) for _ in range(4)]
        assert written[-1].status_code == 429, written[-1].text
        read = await asyncio.gather(
            *(world.client.get("/.well-known/imprint.json") for _ in range(12))
        )
        refused = [response for response in read if response.status_code == 429]
        assert refused
        replica.clock.set(0.0)
        # What the wrong clock stored is ignored.
        response = await world.send_create(wallet)
        assert response.status_code == 200, response.text
        for response in (written[-1], *refused):
            assert int(response.headers["retry-after"]) <= 60

        async def is_served() -> bool:
            response = await world.client.get("/.well-known/imprint.json")
            if response.status_code == 429:
                await asyncio.sleep(int(response.headers["retry-after"]))
            return response.status_code == 200

        await wait_until(is_served)


# Tests that take as long as the service promises


async def test_readiness_reports_that_no_replica_follows_the_chain(tmp_path: Path, records: None):
    async with open_scene(tmp_path, CHAIN_FOLLOW_SECONDS=FOLLOW) as scene:
        replica = scene.replica()
        await replica.start()
        async with opened(scene) as stores:
            await wait_until(lambda: follows(stores, replica))
            # From now on the database refuses only the lease.
            await stores.database.transact((), run_statement, FORBID[kind_of(stores)])

            async def has_stopped() -> bool:
                response = await scene.world.client.get("/readyz")
                body = response.json()
                assert response.status_code == 200
                assert body["status"] in {"ready", "degraded"}
                return bool(body["checks"]["follower"] == "stopped")

            await wait_until(has_stopped, 120.0)
            await stores.database.transact((), run_statement, ALLOW[kind_of(stores)])

            async def is_ready() -> bool:
                return bool((await scene.world.client.get("/readyz")).json()["status"] == "ready")

            await wait_until(is_ready)
        # The index follows the chain, too. Each task is reported once.
        stopped = tasks_reported(replica, "no process runs a background task that should run")
        assert stopped in (["chain follower"], ["chain follower", "indexer"])
        for task in stopped:
            await replica.wait_for_log("a background task runs again", f"task={task}")
        assert tasks_reported(replica, "a background task runs again") == stopped


def tasks_reported(replica: Replica, message: str) -> list[str]:
    """Return the sorted task names from the log lines with this message."""
    return sorted(re.findall(rf"{message} .*?\btask=(chain follower|indexer)", replica.log))


FORBID = {
    "sqlite": "CREATE TRIGGER forbidden BEFORE UPDATE ON leases"
    " BEGIN SELECT RAISE(ABORT, 'forbidden'); END",
    "postgresql": "ALTER TABLE leases ADD CONSTRAINT forbidden CHECK (length < 0) NOT VALID",
}
ALLOW = {
    "sqlite": "DROP TRIGGER forbidden",
    "postgresql": "ALTER TABLE leases DROP CONSTRAINT forbidden",
}


def kind_of(stores: Stores) -> str:
    return "sqlite" if stores.database.name == "SQLite" else "postgresql"


async def run_statement(tx: Transaction, text: str) -> None:
    await tx.execute(text)


async def test_a_command_reports_a_dead_lease_holder_and_waits_at_most_a_minute(tmp_path: Path):
    # Backups need records in SQLite, whatever the previous test used.
    database = f"sqlite:///{tmp_path / 'records.db'}"
    async with open_scene(tmp_path, DATABASE_URL=database) as scene:
        replica = scene.replica()
        await replica.start()
        await scene.world.create(scene.world.wallet(1))
        async with opened(scene) as stores:
            dead = "backup on this machine, process 1 #0"
            assert await stores.leases.take_lease(COLLECTOR_LEASE, dead, LEASE_TIME)
        command = scene.replica()
        command.process.command = [*command.command[:-1], "backup", "--out", str(tmp_path / "b")]
        began = time.monotonic()
        command.process.spawn()

        async def is_said() -> bool:
            return "waiting for backup on this machine, process 1" in command.log

        await wait_until(is_said)
        assert await asyncio.to_thread(command.process.wait, 180) == 0, command.log
        assert (
            time.monotonic() - began
            < 2 * LEASE_TIME.total_seconds() + SHORT_LEASE_TIME.total_seconds()
        )
