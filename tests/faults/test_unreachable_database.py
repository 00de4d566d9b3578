"""An unreachable database: the service waits for it, and running workers continue."""

import asyncio
import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.faults.scene import Replica, Scene, open_scene
from tests.faults.test_restarts import SECONDS, until, workers_of
from tests.postgresql import Server, keeping_records_on
from tests.processes import PLAIN, free_port, has_ended

WAITS = "start-up waits for a dependency"
GOES_ON = "start-up goes on"


@pytest.fixture(scope="module")
def own_server() -> Iterator[Server]:
    """A PostgreSQL server that the tests may kill."""
    server = Server()
    server.make()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def server(own_server: Server) -> Iterator[Server]:
    """A PostgreSQL server that the tests may kill, which also stores the scene's records."""
    with keeping_records_on(own_server):
        yield own_server


async def fetch(replica: Replica, path: str, method: str = "GET", **more: Any) -> httpx2.Response:
    async with httpx2.AsyncClient(base_url=replica.url, timeout=20, verify=PLAIN) as client:
        return await client.request(method, path, **more)


async def expect_waiting(scene: Scene, replica: Replica, workers: int) -> None:
    """Check that the service is alive but not ready, and refuses requests with 503."""
    await replica.wait_for(503)
    # Wait for every worker: one that starts late would find the database running, and not wait at
    # all.
    await until(lambda: replica.log.count(WAITS) == workers)
    assert (await fetch(replica, "/healthz")).status_code == 200
    ready = (await fetch(replica, "/readyz")).json()
    assert ready["status"] == "not ready"
    assert ready["checks"]["database"] == "unavailable"
    body = scene.world.wallet(0).sign("create") | {"content": "Too early."}
    for response in (
        await fetch(replica, "/filesMetaData"),
        await fetch(replica, "/create/group", "POST", json=body),
        await fetch(replica, "/nowhere"),
    ):
        assert response.status_code == 503, response.text
        assert response.json()["code"] == "database_unavailable"
        assert int(response.headers["Retry-After"]) >= 1
        assert response.headers["Content-Type"] == "application/problem+json"


async def start_all(replica: Replica, workers: int) -> None:
    """Start a replica and wait until every worker serves, although one is enough for readiness."""
    await replica.start()
    await until(lambda: replica.log.count("Started server process") == workers)


@pytest.mark.parametrize("workers", ["2", "1"])
async def test_a_service_starts_once_its_database_server_is_up(
    tmp_path: Path, server: Server, workers: str
):
    async with open_scene(tmp_path, WORKERS=workers) as scene:
        server.kill()
        replica = scene.replica()
        replica.process.spawn()
        await expect_waiting(scene, replica, int(workers))
        # An earlier connection stays open and gets the real service.
        async with httpx2.AsyncClient(base_url=replica.url, timeout=20, verify=PLAIN) as client:
            assert (await client.get("/readyz")).status_code == 503
            server.start()
            await until(lambda: replica.log.count(GOES_ON) == int(workers))
            async with asyncio.timeout(SECONDS):
                while (await client.get("/readyz")).status_code != 200:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
        await replica.wait_for(200)
        await scene.world.create(scene.world.wallet(0))
        assert replica.log.count(WAITS) == int(workers)
        assert await asyncio.to_thread(replica.process.stop, 60) == 0


async def test_a_service_starts_once_the_database_file_is_unlocked(tmp_path: Path):
    async with open_scene(tmp_path, WORKERS="2") as scene:
        replica = scene.replica()
        await replica.start()
        await asyncio.to_thread(replica.process.stop, 60)
        with closing(sqlite3.connect(tmp_path / "data" / "imprint.db", isolation_level=None)) as db:
            db.execute("BEGIN EXCLUSIVE")
            replica.process.spawn()
            await expect_waiting(scene, replica, 2)
            db.execute("ROLLBACK")
        await until(lambda: replica.log.count(GOES_ON) == 2)
        await scene.world.create(scene.world.wallet(0))


@pytest.mark.parametrize("workers", ["2", "1"])
async def test_a_service_waiting_for_its_database_is_not_ready_and_can_be_stopped(
    tmp_path: Path, workers: str
):
    nowhere = "postgresql://someone:a-long-password@127.0.0.1:1/nowhere"
    given = {"WORKERS": workers, "DATABASE_URL": nowhere, "METRICS_PORT": str(free_port())}
    async with open_scene(tmp_path, **given) as scene:
        replica = scene.replica()
        replica.process.spawn()
        await expect_waiting(scene, replica, int(workers))
        metrics = (await fetch(replica, f"http://127.0.0.1:{given['METRICS_PORT']}/")).text
        assert "\nimprint_ready 0.0\n" in metrics
        assert await asyncio.to_thread(replica.process.stop, 60) == 0
        assert "a-long-password" not in replica.log


@pytest.mark.parametrize("workers", ["2", "1"])
async def test_a_worker_that_dies_while_the_database_is_down_is_replaced_later(
    tmp_path: Path, server: Server, workers: str
):
    async with open_scene(tmp_path, WORKERS=workers) as scene:
        replica = scene.replica()
        await start_all(replica, int(workers))
        await scene.world.create(scene.world.wallet(0))
        server.kill()
        died, *stayed = sorted(workers_of(replica))
        os.kill(died, signal.SIGKILL)
        await until(lambda: WAITS in replica.log)
        # Connections go to a worker that serves, if there is one. Without its database, it also
        # refuses requests.
        response = await fetch(replica, "/filesMetaData")
        assert response.json()["code"] == "database_unavailable"
        server.start()
        await until(lambda: GOES_ON in replica.log)
        await replica.wait_for(200)
        assert not any(map(has_ended, stayed))
        await until(lambda: len(workers_of(replica)) == int(workers))
        await scene.world.create(scene.world.wallet(0))


@pytest.mark.parametrize("workers", ["2", "1"])
async def test_a_reload_while_the_database_is_down_keeps_the_old_workers(
    tmp_path: Path, server: Server, workers: str
):
    async with open_scene(tmp_path, WORKERS=workers) as scene:
        replica = scene.replica()
        # A worker that is not ready yet is not replaced.
        await start_all(replica, int(workers))
        old = workers_of(replica)
        server.kill()
        os.kill(replica.process.pid, signal.SIGHUP)
        await until(lambda: WAITS in replica.log)
        assert old < workers_of(replica)
        server.start()
        await until(lambda: all(map(has_ended, old)))
        await scene.world.create(scene.world.wallet(0))
        assert len(workers_of(replica)) == int(workers)


async def test_a_reload_ends_the_wait_for_a_wrong_database_server(tmp_path: Path, server: Server):
    address = tmp_path / "address"
    address.write_text("postgresql://someone:a-long-password@127.0.0.1:1/nowhere")
    async with open_scene(tmp_path) as scene:
        replica = scene.replica(DATABASE_URL_FILE=str(address))
        right = replica.process.environ["IMPRINT_DATABASE_URL"]
        environ = replica.process.environ.items()
        replica.process.environ = {k: v for k, v in environ if k != "IMPRINT_DATABASE_URL"}
        replica.process.spawn()
        await expect_waiting(scene, replica, 1)
        address.write_text(right)
        os.kill(replica.process.pid, signal.SIGHUP)
        await replica.wait_for(200)
        await scene.world.create(scene.world.wallet(0))
        assert "a-long-password" not in replica.log
