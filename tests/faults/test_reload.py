"""Reloads under load: new settings apply, invalid ones change nothing, and nothing is lost."""

import asyncio
import os
import re
import signal
import socket
import sqlite3
import time
from contextlib import closing
from functools import partial
from itertools import pairwise
from pathlib import Path
from secrets import token_hex

import httpx2
import pytest
from tests.faults.scene import LONG, Replica, open_scene
from tests.faults.test_restarts import SECONDS, Load, until, workers_of
from tests.processes import PLAIN, free_port, has_ended

from imprint.server.listeners import listen

RELOADS = 10 if LONG else 1
DONE = "reloaded: new workers serve"
WATCHDOG = "10000000"
"""Microseconds between watchdog notifications: rare enough not to fill systemd's socket."""

KUBO = "kubo:http://127.0.0.1:1"
FAILED = "reload failed; the service continues as before"


def configure(folder: Path, **given: object) -> Path:
    """Write the settings file of a service. Environment settings would take precedence."""
    path = folder / "imprint.toml"
    lines = [f'{name.lower()} = "{value}"' for name, value in given.items()]
    path.with_suffix(".new").write_text("\n".join(lines))
    return path.with_suffix(".new").replace(path)


def hang_up(replica: Replica) -> None:
    os.kill(replica.process.pid, signal.SIGHUP)


async def reload(replica: Replica) -> None:
    """Reload the replica and wait until the old workers have ended."""
    old, before = workers_of(replica), replica.log.count(DONE)
    hang_up(replica)
    await until(lambda: replica.log.count(DONE) == before + 1)
    await until(lambda: all(map(has_ended, old)))


async def scrape(port: int) -> dict[str, float]:
    """Return the value of each metric by its name, including its labels."""
    async with httpx2.AsyncClient(verify=PLAIN, timeout=20) as client:
        response = await client.get(f"http://127.0.0.1:{port}/metrics")
    assert response.status_code == 200
    lines = [line for line in response.text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def count_writes(counted: dict[str, float]) -> float:
    return sum(
        value
        for name, value in counted.items()
        if name.startswith("imprint_responses_total") and "/create/group" in name
    )


async def scrape_complete(port: int, writes: int) -> dict[str, float]:
    """Wait for the metrics of all workers. Those of a slow worker may be missing at first."""
    deadline = time.monotonic() + SECONDS
    while True:
        counted = await scrape(port)
        if count_writes(counted) >= writes and "imprint_drafts" in counted:
            return counted
        assert time.monotonic() < deadline, counted
        await asyncio.sleep(0.1)


@pytest.mark.parametrize("workers", ["1", "2"])
async def test_reloads_under_load_drop_no_requests_and_counters_never_decrease(
    tmp_path: Path, workers: str
):
    metrics = free_port()
    async with open_scene(tmp_path, WORKERS=workers, METRICS_PORT=str(metrics)) as scene:
        replica = scene.replica()
        await replica.start()
        load = Load(scene, [replica])
        seen: list[dict[str, float]] = []
        async with load.running():
            for _ in range(RELOADS):
                await load.go_on()
                seen.append(await scrape(metrics))
                await reload(replica)
                seen.append(await scrape(metrics))
            await load.go_on()
        assert load.dropped == []
        await until(lambda: len(workers_of(replica)) == int(workers))
        seen.append(await scrape_complete(metrics, load.done["write"]))
        for before, after in pairwise(seen):
            counters = {name for name in before if re.search(r"_(total|count|bucket|sum)\b", name)}
            fallen = [name for name in counters if after.get(name, 0) < before[name]]
            assert fallen == []
        # Workers that have ended still count.
        assert count_writes(seen[-1]) == load.done["write"]
        assert seen[-1]['imprint_reloads_total{result="done"}'] == RELOADS
        assert seen[-1]['imprint_workers{state="ready"}'] == int(workers)
        assert seen[-1]["imprint_drafts"] >= 0
        assert seen[-1]["imprint_ready"] in (1, 2)
        for cid in load.cids:
            assert (await scene.world.metadata(cid))["cid"] == cid


async def test_a_reload_applies_new_secrets_workers_and_ports(tmp_path: Path):
    secret = tmp_path / "secret"
    secret.write_text("a-quite-long-secret-of-this-session-1")
    first, second = free_port(), free_port()
    async with open_scene(tmp_path) as scene:
        replica = scene.replica(CONFIG=str(tmp_path / "imprint.toml"), JWT_SECRET_FILE=str(secret))
        without = {"IMPRINT_PORT", "IMPRINT_JWT_SECRET"}
        environ = replica.process.environ.items()
        replica.process.environ = {name: text for name, text in environ if name not in without}
        configure(tmp_path, WORKERS=1, METRICS_PORT=first, PORT=replica.port)
        await replica.start()
        author = scene.world.wallet(0)
        draft = {"cid": (await scene.world.create(author))["cid"]}
        session = await scene.world.login(author)
        read = partial(scene.world.client.get, "/fileByCid", params=draft, headers=session)
        assert (await read()).status_code == 200
        assert (await scrape(first))['imprint_workers{state="ready"}'] == 1
        old, replica.port = replica.port, free_port()
        scene.world.client.base_url = replica.url
        secret.write_text("a-quite-long-secret-of-this-session-2")
        configure(tmp_path, WORKERS=2, METRICS_PORT=second, PORT=replica.port)
        await reload(replica)
        assert (await scrape(second))['imprint_workers{state="ready"}'] == 2
        for port in (old, first):
            with pytest.raises(httpx2.ConnectError):
                await scrape(port)
        assert (await read()).status_code == 401
        line = next(line for line in replica.log.splitlines() if DONE in line)
        for name in ("WORKERS", "PORT", "METRICS_PORT", "JWT_SECRET"):
            assert f"IMPRINT_{name}" in line
        assert "a-quite-long-secret" not in replica.log


def execute(folder: Path, text: str) -> None:
    with closing(sqlite3.connect(folder / "data" / "imprint.db")) as database:
        database.execute(text)
        database.commit()


@pytest.mark.parametrize("workers", ["1", "2"])
async def test_a_reload_with_invalid_settings_changes_nothing_and_is_logged(
    tmp_path: Path, workers: str
):
    config, metrics = configure(tmp_path, WORKERS=workers), free_port()
    given = {"CONFIG": str(config), "METRICS_PORT": str(metrics)}
    given["DATABASE_URL"] = f"sqlite:///{tmp_path / 'data' / 'imprint.db'}"
    async with open_scene(tmp_path, **given) as scene:
        replica = scene.replica()
        await replica.start()
        old = workers_of(replica)
        load = Load(scene, [replica])
        async with load.running():

            async def fail(count: int, *sentences: str, **wrong: str) -> None:
                configure(tmp_path, **{"WORKERS": workers, **wrong})
                hang_up(replica)
                await until(lambda: replica.log.count(FAILED) == count)
                line = next(line for line in replica.log.splitlines()[::-1] if FAILED in line)
                for sentence in sentences:
                    assert sentence in line
                assert old <= workers_of(replica)

            await fail(
                1,
                "IMPRINT_WORKERS must be",
                "IMPRINT_MAX_CONNECTIONS must be",
                WORKERS="many",
                MAX_CONNECTIONS="-1",
            )
            elsewhere = {"CONTENT_STORE": KUBO, "ENCRYPTION_KEY": token_hex(32)}
            await fail(2, "IMPRINT_CONTENT_STORE has changed. Restart", **elsewhere)
            with listen("127.0.0.2", replica.port):
                await fail(3, "Cannot listen on 127.0.0.2", HOST="127.0.0.2")
            # The settings are valid, but a new worker cannot start.
            execute(scene.folder, "INSERT INTO schema_migrations VALUES (9999, 'of tomorrow')")
            await fail(4, "this version of Imprint supports only")
            execute(scene.folder, "DELETE FROM schema_migrations WHERE number = 9999")
            await until(lambda: workers_of(replica) == old)
            await load.go_on()
            await reload(replica)
        assert load.dropped == []
        counted = await scrape(metrics)
        assert counted['imprint_reloads_total{result="failed"}'] == 4
        assert counted['imprint_reloads_total{result="done"}'] == 1


async def test_a_reload_under_load_changes_the_name_and_pages_of_the_site(tmp_path: Path):
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "about.md").write_text("# Before")
    given = {"PUBLICATION_NAME": "Quills", "PUBLICATION_PAGES": pages}
    config = configure(tmp_path, **given)
    async with open_scene(tmp_path, CONFIG=str(config)) as scene:
        replica = scene.replica()
        await replica.start()
        load = Load(scene, [replica])

        async def about() -> str:
            response = await scene.world.client.get("/about", headers={"Accept": "text/html"})
            assert response.status_code == 200
            return response.text.partition("<title>")[2].partition("</title>")[0]

        async with load.running():
            assert await about() == "Before · Quills"
            (pages / "about.md").write_text("# After")
            (pages / "posts.md").write_text("# Posts")
            configure(tmp_path, **given, PUBLICATION_ACCENT="#ffff00", PUBLICATION_FEATURED="1")
            hang_up(replica)
            await until(lambda: replica.log.count(FAILED) == 1)
            (line,) = (line for line in replica.log.splitlines() if FAILED in line)
            for name in ("PAGES", "ACCENT"):
                assert f"IMPRINT_PUBLICATION_{name} " in line
            assert await about() == "Before · Quills"
            (pages / "posts.md").unlink()
            configure(tmp_path, **{**given, "PUBLICATION_NAME": "Inkwell"})
            await reload(replica)
            assert await about() == "After · Inkwell"
            await load.go_on()
        assert load.dropped == []
        line = next(line for line in replica.log.splitlines() if DONE in line)
        assert "IMPRINT_PUBLICATION_NAME" in line
        assert "IMPRINT_PUBLICATION_PAGES" in line


async def test_systemd_is_notified_of_every_step(tmp_path: Path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(str(tmp_path / "notify"))
        receiver.settimeout(60)

        async def next_message() -> str:
            """Return the first line of the next message, skipping watchdog notifications."""
            while True:
                received = await asyncio.to_thread(receiver.recv, 4096)
                if received != b"WATCHDOG=1":
                    return received.decode().split("\n")[0]

        async with open_scene(tmp_path) as scene:
            replica = scene.replica()
            watched = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": WATCHDOG}
            replica.process.environ = {**replica.process.environ, **watched}
            replica.process.spawn()
            assert await asyncio.to_thread(receiver.recv, 4096) == b"WATCHDOG=1"
            assert await next_message() == "READY=1"
            await replica.wait_for(200)
            hang_up(replica)
            assert [await next_message() for _ in range(2)] == ["RELOADING=1", "READY=1"]
            os.kill(replica.process.pid, signal.SIGTERM)
            assert await next_message() == "STOPPING=1"
            assert await asyncio.to_thread(replica.process.wait, 60) == 0


async def test_metrics_are_served_while_the_only_worker_hangs(tmp_path: Path):
    metrics = free_port()
    async with open_scene(tmp_path, METRICS_PORT=str(metrics)) as scene:
        replica = scene.replica()
        await replica.start()
        await scene.world.create(scene.world.wallet(0))
        before = await scrape(metrics)
        os.kill(replica.process.worker, signal.SIGSTOP)
        after = await scrape(metrics)
        os.kill(replica.process.worker, signal.SIGCONT)
        counted = [name for name in before if name.startswith("imprint_responses_total")]
        assert counted
        assert all(after[name] == before[name] for name in counted)
        assert "imprint_connections" not in after


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system pins no process")
async def test_workers_are_pinned_to_their_cpus(tmp_path: Path):
    usable = sorted(os.sched_getaffinity(0))
    chosen = usable[:2]
    cpus = ",".join(map(str, chosen))
    async with open_scene(tmp_path, WORKERS="3", WORKER_CPUS=cpus) as scene:
        replica = scene.replica()
        await replica.start()

        def pinned() -> list[set[int]]:
            return sorted((os.sched_getaffinity(pid) for pid in workers_of(replica)), key=sorted)

        # Each worker pins itself some time after its start. The order of process ids means nothing.
        expected = sorted(({chosen[place % len(chosen)]} for place in range(3)), key=sorted)
        await until(lambda: pinned() == expected)
        assert os.sched_getaffinity(replica.process.pid) == set(usable)


async def test_the_service_stays_ready_while_workers_are_replaced(tmp_path: Path):
    async with open_scene(tmp_path, WORKERS="2") as scene:
        replica = scene.replica()
        await replica.start()
        async with httpx2.AsyncClient(base_url=replica.url, verify=PLAIN, timeout=20) as client:
            # Each request has its own connection, which stays open, so that both workers have some
            # of them.
            found = await asyncio.gather(*(client.get("/readyz") for _ in range(8)))
            reloading = asyncio.create_task(reload(replica))
            while not reloading.done():
                found += await asyncio.gather(*(client.get("/readyz") for _ in range(8)))
                await asyncio.sleep(0.02)
            await reloading
        assert {response.json()["status"] for response in found} == {"ready"}
