"""How the proxies of `deploy/` treat the service: addresses, connections, and restarts."""

import asyncio
import os
import re
import signal
import socketserver
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from eth_account import Account
from tests.crash.victim import PresentClock
from tests.deploy.proxies import CADDY, HAPROXY, NAMES, NGINX, Proxy, running_proxy, wait_until
from tests.faults.scene import open_scene
from tests.processes import Service, free_port, running
from tests.world import Wallet, problem

from imprint.settings import SETTINGS

pytestmark = pytest.mark.rotates("proxy")

READS = 5
"""The number of reads that one address may send before it is rate-limited."""

SECONDS = {"s": 1, "m": 60}

KEEP_ALIVE_FILES = {
    "nginx": (NGINX, r"keepalive_timeout (\d+)([sm]);"),
    "caddy": (CADDY, r"\bkeepalive (\d+)([sm])\n"),
    "haproxy": (HAPROXY, r"pool-purge-delay (\d+)([sm])"),
}
"""For each proxy, the file and pattern of the idle timeout for connections to the service."""

SHORT_TIMES = {
    "nginx": {"keepalive_timeout 60s;": "keepalive_timeout 1s;"},
    "caddy": {"keepalive 60s": "keepalive 1s", "read_body 20s": "read_body 10s"},
    "haproxy": {"pool-purge-delay 5s": "pool-purge-delay 1s"},
}
"""Replacements for the timeouts that are too long for a test."""

KEEP_ALIVE = 10
"""Seconds for which the service keeps idle connections.

HAProxy closes half of them each second, so the last of several stay idle for some seconds,
and a busy machine is slower.
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that trusts the proxy, with low limits per client."""
    given = {
        "DEV_RPC_PORT": str(free_port()),
        "CHAIN_FOLLOW_SECONDS": "0",
        "TRUSTED_PROXIES": "127.0.0.1",
        "RATE_LIMITS": "on",
        "RATE_READS": f"{READS}/3600",
        "RATE_SIGNED": "100000/60",
        "MAX_CONNECTIONS_PER_ADDRESS": "2",
        "BODY_TIMEOUT_SECONDS": "1",
        "KEEP_ALIVE_SECONDS": str(KEEP_ALIVE),
    }
    with running(Service(tmp_path_factory.mktemp("dev"), given, "dev")) as opened:
        yield opened


@pytest.fixture(scope="module")
def proxies(
    service: Service, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Proxy]]:
    """Proxies that close idle connections before the service does, like the shipped ones."""
    with ExitStack() as stack:
        folder = tmp_path_factory.mktemp("proxies")
        made = [Proxy(name, folder / name, service.port, SHORT_TIMES[name]) for name in NAMES]
        yield {each.name: stack.enter_context(running_proxy(each)) for each in made}


@pytest.fixture(params=NAMES)
def proxy(request: pytest.FixtureRequest, proxies: dict[str, Proxy]) -> Proxy:
    return proxies[request.param]


# The address of the client

FORGED = {
    "none": [],
    "a stranger": ["198.51.100.7"],
    "the proxy": ["127.0.0.1"],
    "two lines": ["198.51.100.7", "198.51.100.8"],
    "a list": ["198.51.100.7, 127.0.0.1"],
    "no address": ["unknown"],
}


def read(proxy: Proxy, address: str, forged: list[str]) -> int:
    headers = [("X-Forwarded-For", line) for line in forged]
    headers += [("X-Real-IP", "198.51.100.9"), ("Forwarded", "for=198.51.100.9")]
    with proxy.client(address) as client:
        return client.get("/filesMetaData", headers=headers).status_code


def test_rate_limits_apply_to_the_client_address_seen_by_the_proxy(proxy: Proxy) -> None:
    first, second = (f"127.{NAMES.index(proxy.name) + 1}.0.{last}" for last in (1, 2))
    lines = [*FORGED.values()][:READS]
    assert [read(proxy, first, each) for each in lines] == [200] * READS
    assert {read(proxy, first, each) for each in FORGED.values()} == {429}
    assert read(proxy, second, []) == 200


def test_a_proxy_may_open_more_connections_than_a_client(proxy: Proxy) -> None:
    def respond(_: int) -> int:
        with proxy.client() as client:
            return client.get("/healthz").status_code

    with ThreadPoolExecutor(16) as pool:
        assert Counter(pool.map(respond, range(64))) == {200: 64}


# Slow bodies


def test_a_body_that_stops_arriving_is_refused_by_the_service(proxy: Proxy) -> None:
    head = (
        b"POST /auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n"
        b"Content-Type: application/json\r\n\r\n{"
    )
    status, refusal = proxy.exchange(head)
    assert (status, refusal["code"]) == (408, "request_timeout")


# Idle connections


@pytest.mark.parametrize("name", NAMES)
def test_idle_connections_are_closed_before_the_service_closes_them(name: str) -> None:
    file, pattern = KEEP_ALIVE_FILES[name]
    ((count, unit),) = re.findall(pattern, file.read_text("utf-8"))
    default = next(s.default for s in SETTINGS if s.name == "IMPRINT_KEEP_ALIVE_SECONDS")
    idle = int(count) * SECONDS[unit]
    if name == "haproxy":
        # Half of them are closed each time: 64 are gone after seven times.
        idle *= 7
    assert idle <= int(default) - 10


def test_no_write_is_lost_on_a_previously_idle_connection(proxies: dict[str, Proxy]) -> None:
    """The pauses are close to the idle timeouts of the proxies (1 s) and of the service."""

    def send(index: int) -> list[int]:
        statuses = []
        with proxies[NAMES[index % len(NAMES)]].client() as client:
            for pause in (0.98, 1.0, 1.02, KEEP_ALIVE - 0.01, KEEP_ALIVE + 0.01):
                time.sleep(pause + index * 0.001)
                statuses.append(client.post("/auth/login", json={"salt": index}).status_code)
        return statuses

    with ThreadPoolExecutor(24) as pool:
        seen = Counter(status for each in pool.map(send, range(24)) for status in each)
    assert seen == {400: 120}


# A service that fails


class Broken(socketserver.StreamRequestHandler):
    """Responds to reads and keeps connections open, but closes the connection on a write."""

    server: "BrokenServer"

    def handle(self) -> None:
        paths: list[str] = []
        # HAProxy closes idle connections with a reset.
        with suppress(ConnectionResetError):
            while line := self.rfile.readline():
                if not self._respond(line.decode(), paths):
                    return
        self.server.closed_by_proxy.extend(paths)

    def _respond(self, request_line: str, paths: list[str]) -> bool:
        headers = []
        while line := self.rfile.readline().strip():
            headers.append(line.decode().partition(": ")[::2])
        length = next((int(v) for name, v in headers if name.lower() == "content-length"), 0)
        self.rfile.read(length)
        self.server.seen.append((request_line.strip(), headers))
        method, path, _ = request_line.split()
        if method == "POST":
            return False
        paths.append(path)
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        return True


class BrokenServer(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Broken)
        self.seen: list[tuple[str, list[tuple[str, str]]]] = []
        self.closed_by_proxy: list[str] = []

    def handle_error(self, *given: object) -> None:
        """Ignore connections that are reset when a proxy stops."""


@pytest.fixture(scope="module")
def broken() -> Iterator[BrokenServer]:
    with BrokenServer() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module", params=NAMES)
def before_broken(
    request: pytest.FixtureRequest,
    broken: BrokenServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Proxy]:
    name: str = request.param
    port = broken.server_address[1]
    made = Proxy(name, tmp_path_factory.mktemp(name), port, SHORT_TIMES[name])
    with running_proxy(made) as opened:
        yield opened


def test_a_proxy_closes_idle_connections(before_broken: Proxy, broken: BrokenServer) -> None:
    path = f"/filesMetaData?{before_broken.name}"
    with before_broken.client() as client:
        assert client.get(path).status_code == 200
        wait_until(lambda: path in broken.closed_by_proxy)
        # The connection of the client is still open.
        assert client.get(path).status_code == 200


def test_a_write_without_a_response_is_not_retried(
    before_broken: Proxy, broken: BrokenServer
) -> None:
    broken.seen.clear()
    with before_broken.client() as client:
        refused = client.post("/create/group", json={"content": "Once."})
    assert problem(refused) == (503, "overloaded")
    assert refused.headers["retry-after"] == "2"
    writes = [line for line, _ in broken.seen if line.startswith("POST")]
    assert writes == ["POST /create/group HTTP/1.1"]


def test_the_service_receives_the_headers_set_by_the_proxy(
    before_broken: Proxy, broken: BrokenServer
) -> None:
    broken.seen.clear()
    with before_broken.client("127.0.0.9") as client:
        forged = [("X-Forwarded-For", "198.51.100.7")]
        client.post("/create/group", content=b"{}", headers=[*forged, ("Connection", "close")])
    (headers,) = (headers for line, headers in broken.seen if line.startswith("POST"))
    lines = [value for name, value in headers if name.lower() == "x-forwarded-for"]
    assert (
        lines
        == {
            "nginx": ["198.51.100.7, 127.0.0.9"],
            "caddy": ["127.0.0.9"],
            "haproxy": ["198.51.100.7", "127.0.0.9"],
        }[before_broken.name]
    )
    values: dict[str, str] = {name.lower(): value for name, value in headers}
    # nginx passes the name without the port.
    assert values["host"] in ("localhost", f"localhost:{before_broken.port}")
    assert values.get("connection", "keep-alive") == "keep-alive"


def test_the_proxy_returns_problem_json_while_the_service_is_stopped(tmp_path: Path) -> None:
    service = Service(tmp_path, {"DEV_RPC_PORT": str(free_port())}, "dev")
    with ExitStack() as stack:
        clients = []
        for name in NAMES:
            changes = {"lb_try_duration 5s": "lb_try_duration 1s"} if name == "caddy" else {}
            proxy = Proxy(name, tmp_path / name, service.port, changes)
            proxy.process.spawn()
            stack.callback(proxy.process.kill)
            clients.append(stack.enter_context(proxy.client_when_listening()))
        for client in clients:
            refused = client.get("/filesMetaData")
            assert problem(refused) == (503, "overloaded")
            assert refused.headers["cache-control"] == "no-store"
        stack.enter_context(running(service))
        for client in clients:
            wait_until(lambda client=client: client.get("/filesMetaData").status_code == 200)


# Restarts


@dataclass(slots=True)
class Load:
    """Sends reads and signed writes through one proxy until stopped."""

    proxy: Proxy
    done: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)
    is_over: threading.Event = field(default_factory=threading.Event)

    def read(self, headers: Mapping[str, str]) -> None:
        with self.proxy.client() as client:
            while not self.is_over.wait(0.005):
                self._send("read", client, "GET", "/filesMetaData", headers=headers)

    def write(self) -> None:
        wallet = Wallet(Account.create(), PresentClock())
        with self.proxy.client() as client:
            while not self.is_over.wait(0.02):
                body = wallet.sign("create") | {"content": "Kept through a restart."}
                self._send("write", client, "POST", "/create/group", json=body)

    def _send(self, what: str, client: httpx2.Client, method: str, path: str, **more: Any) -> None:
        try:
            response = client.request(method, path, **more)
            assert response.status_code == 200, response.text
        except (httpx2.TransportError, AssertionError) as error:
            self.failed.append(f"{self.proxy.name}: {what}: {error!r}")
        else:
            self.done[what] += 1


@contextmanager
def loading(loads: list[Load]) -> Iterator[None]:
    with ThreadPoolExecutor(3 * len(loads)) as pool:
        for load in loads:
            pool.submit(load.read, {})
            pool.submit(load.read, {"Connection": "close"})
            pool.submit(load.write)
        try:
            yield
        finally:
            for load in loads:
                load.is_over.set()


def workers_of(pid: int) -> set[int]:
    """Return the pids of the child processes of a process."""
    return {int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}


async def test_no_request_fails_during_a_rolling_restart(tmp_path: Path) -> None:
    async with open_scene(tmp_path, RATE_LIMITS="off", TRUSTED_PROXIES="127.0.0.1") as scene:
        replica = scene.replica(WORKERS="2")
        await replica.start()
        with ExitStack() as stack:
            proxies = [Proxy(name, tmp_path / name, replica.port) for name in NAMES]
            loads = [Load(stack.enter_context(running_proxy(each))) for each in proxies]
            await asyncio.to_thread(restart, replica.process.pid, loads)
        assert [line for load in loads for line in load.failed] == []
        assert all(load.done["read"] > 10 and load.done["write"] > 5 for load in loads)


def restart(pid: int, loads: list[Load]) -> None:
    """Replace both workers while requests arrive through all proxies."""
    with loading(loads):
        go_on(loads)
        old = workers_of(pid)
        os.kill(pid, signal.SIGHUP)
        wait_until(lambda: len(workers_of(pid)) == 2 and not old & workers_of(pid))
        go_on(loads)


def go_on(loads: list[Load]) -> None:
    """Wait for some more requests of each type."""
    counts = [Counter(load.done) for load in loads]
    wait_until(
        lambda: all(
            load.done[what] > before[what] + 5
            for load, before in zip(loads, counts, strict=True)
            for what in ("read", "write")
        )
    )
