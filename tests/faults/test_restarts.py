"""Restarts under load and at bad moments: no request is dropped, and nothing hangs."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import pytest
from tests.faults.scene import LONG, Replica, Scene, open_scene
from tests.processes import PLAIN, free_port, has_ended

from imprint.server.listeners import listen

ROLLING_RESTARTS = 10 if LONG else 1
READERS = 4
WRITERS = 2
SECONDS = 60.0


async def until(condition: Callable[[], bool], seconds: float = SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it took too long"
        await asyncio.sleep(0.02)


def workers_of(replica: Replica) -> set[int]:
    """The ids of a supervisor's current workers, excluding those that have just exited."""
    return {pid for pid in replica.process.children if not has_ended(pid)}


class Balancer(httpx2.AsyncBaseTransport):
    """Sends requests to the replicas in turn. Retries elsewhere only if the connection is
    refused."""

    def __init__(self, replicas: Sequence[Replica]) -> None:
        self.ports = [replica.port for replica in replicas]
        self.refused = 0
        self._to = {port: httpx2.AsyncHTTPTransport(verify=PLAIN) for port in self.ports}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        for attempt in range(200):
            port = self.ports[0]
            self.ports = [*self.ports[1:], port]
            request.url = request.url.copy_with(scheme="http", host="127.0.0.1", port=port)
            try:
                return await self._to[port].handle_async_request(request)
            except httpx2.ConnectError:
                self.refused += 1
                await asyncio.sleep(0.02 if attempt else 0)
        raise AssertionError("every replica refuses connections")

    async def aclose(self) -> None:
        for transport in self._to.values():
            await transport.aclose()


@dataclass(slots=True)
class Load:
    """Reads and signed writes sent through a balancer, and their outcomes."""

    scene: Scene
    replicas: Sequence[Replica]
    done: Counter[str] = field(default_factory=Counter)
    dropped: list[str] = field(default_factory=list)
    cids: list[str] = field(default_factory=list)
    _ends: bool = False

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(self._read(index)) for index in range(READERS)]
        tasks += [asyncio.create_task(self._write(index)) for index in range(WRITERS)]
        try:
            yield
        finally:
            self._ends = True
            await asyncio.gather(*tasks)

    async def go_on(self) -> None:
        """Wait until some more reads and writes have completed."""
        reads, writes = self.done["read"] + 8, self.done["write"] + 8
        await until(lambda: self.done["read"] > reads and self.done["write"] > writes)

    async def _read(self, index: int) -> None:
        # Half of the readers keep their connections, the others open a new one for each request.
        headers = {"Connection": "close"} if index % 2 else {}
        async with self._client() as client:
            while not self._ends:
                with self._noting("read"):
                    response = await client.get("/filesMetaData", headers=headers)
                    assert response.status_code == 200, response.text

    async def _write(self, index: int) -> None:
        wallet = self.scene.world.wallet(index)
        async with self._client() as client:
            while not self._ends:
                with self._noting("write"):
                    body = wallet.sign("create") | {"content": "Kept through a restart."}
                    response = await client.post("/create/group", json=body)
                    assert response.status_code == 200, response.text
                    self.cids.append(response.json()["updatedUpload"]["cid"])
                await asyncio.sleep(0.02)

    def _client(self) -> httpx2.AsyncClient:
        balancer = Balancer(self.replicas)
        return httpx2.AsyncClient(transport=balancer, base_url="http://balancer", timeout=30)

    @contextmanager
    def _noting(self, what: str) -> Iterator[None]:
        try:
            yield
        except (httpx2.TransportError, AssertionError) as error:
            self.dropped.append(f"{what}: {error!r}")
        else:
            self.done[what] += 1


async def stop(replica: Replica) -> None:
    assert await asyncio.to_thread(replica.process.stop, 60) == 0, replica.process.tail()


async def test_a_rolling_restart_drops_no_request(tmp_path: Path, records: None):
    async with open_scene(tmp_path, WORKERS="2") as scene:
        replicas = [scene.replica() for _ in range(2)]
        for replica in replicas:
            await replica.start()
        load = Load(scene, replicas)
        async with load.running():
            for _ in range(ROLLING_RESTARTS):
                for replica in replicas:
                    # Both replicas are in use, so that the stopping one has requests that it could
                    # drop.
                    await load.go_on()
                    await stop(replica)
                    await replica.start()
        assert load.dropped == []
        for cid in load.cids:
            assert (await scene.world.metadata(cid))["cid"] == cid


def _refuses(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
    except ConnectionRefusedError:
        return True
    return False


async def test_metrics_can_be_read_while_running_requests_finish(tmp_path: Path):
    metrics = free_port()
    given = {"WORKERS": "2", "METRICS_PORT": str(metrics), "BODY_TIMEOUT_SECONDS": "60"}
    async with open_scene(tmp_path, **given) as scene:
        replica = scene.replica()
        await replica.start()
        # The client of this connection may be about to send a request, so the worker that accepted
        # it waits.
        _, idle = await asyncio.open_connection("127.0.0.1", replica.port)
        await replica.wait_for(200)
        os.kill(replica.process.pid, signal.SIGTERM)
        await until(lambda: _refuses(replica.port))
        async with httpx2.AsyncClient(verify=PLAIN, timeout=20) as client:
            assert (await client.get(f"http://127.0.0.1:{metrics}/")).status_code == 200
        idle.close()
        assert await asyncio.to_thread(replica.process.wait, 60) == 0


@pytest.mark.skipif(not LONG, reason="a machine that is busy delays packets even longer")
def test_a_high_latency_client_is_served_or_refused_during_shutdown():
    alone = ("unshare", "--map-root-user", "--net")
    if subprocess.run([*alone, "ip", "link"], capture_output=True, check=False).returncode != 0:
        pytest.skip("needs the right to make a network")
    # Packets travel for 100 ms, so a connection is established after 200.
    command = [*alone, sys.executable, "-m", "tests.faults.far_network", "0.1"]
    ended = subprocess.run(command, capture_output=True, check=True)
    ends = json.loads(ended.stdout)
    assert ends.keys() == {"served", "refused"}, ends


async def test_connections_waiting_for_a_worker_are_served_before_shutdown(tmp_path: Path):
    async with open_scene(tmp_path, WORKERS="2") as scene:
        replica = scene.replica()
        await replica.start()
        workers = workers_of(replica)
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)
        waiting = [await asyncio.open_connection("127.0.0.1", replica.port) for _ in range(20)]
        for _, writer in waiting:
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            await writer.drain()
        os.kill(replica.process.pid, signal.SIGTERM)
        await asyncio.sleep(0.2)
        for pid in workers:
            os.kill(pid, signal.SIGCONT)
        for reader, writer in waiting:
            async with asyncio.timeout(SECONDS):
                response = await reader.read()
            assert response.startswith(b"HTTP/1.1 200 "), response
            writer.close()
        assert await asyncio.to_thread(replica.process.wait, 60) == 0


async def test_workers_exit_when_their_supervisor_is_killed(tmp_path: Path):
    async with open_scene(tmp_path, WORKERS="2") as scene:
        replica = scene.replica()
        await replica.start()
        await until(lambda: len(workers_of(replica)) == 2)
        workers = workers_of(replica)
        # Kill only the supervisor: `replica.process.kill` would end the workers too.
        os.kill(replica.process.pid, signal.SIGKILL)
        await until(lambda: all(map(has_ended, workers)))
        # The address is free for the next service.
        listen("127.0.0.1", replica.port).close()
