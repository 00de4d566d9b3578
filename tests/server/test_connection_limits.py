"""Connection limits: in total, per address, and below the open-file limit."""

import resource
import socket
import subprocess
import sys
import time
from ipaddress import ip_network
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.connections import (
    REQUEST,
    SECONDS,
    Place,
    Streams,
    connections,
    name_path,
    problem,
    read_all,
    serving,
    split,
    until,
)

from imprint.metrics import CONNECTIONS
from imprint.server.connection_limits import (
    MAX_LINGERING,
    RESERVED_FILES,
    Admission,
    ConnectionLimits,
    OpenConnections,
    raise_file_limit,
)


async def ask(place: Place, source: str) -> int:
    """Return the status of a request from this address, or 0 if there is no response."""
    try:
        reader, writer = await place.connect(source)
        writer.write(REQUEST.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        response = await read_all(reader)
        writer.close()
    except ConnectionError:
        return 0
    return split(response)[0][0] if response else 0


async def open_idle(place: Place, count: int) -> list[Streams]:
    return [await place.connect() for _ in range(count)]


async def test_an_address_with_too_many_connections_is_refused_but_others_are_not() -> None:
    async with serving(name_path, ConnectionLimits(connections=20, per_address=5)) as place:
        idle = await open_idle(place, 5)
        reader, writer = await place.connect()
        response = await read_all(reader)
        assert problem(response)[:2] == (503, "overloaded")
        ((_, headers, _),) = split(response)
        assert int(headers["retry-after"]) > 0
        assert headers["x-request-id"]
        writer.close()
        assert await ask(place, "127.0.0.1") == 503
        assert await ask(place, "127.0.0.2") == 200
        # Slots are released.
        for _, each in idle:
            each.close()
        await until(lambda: connections() == [])
        assert await ask(place, "127.0.0.1") == 200


async def test_connections_beyond_the_process_limit_are_closed() -> None:
    async with serving(name_path, ConnectionLimits(connections=5, per_address=5)) as place:
        idle = await open_idle(place, 5)
        assert await ask(place, "127.0.0.2") == 0
        idle[0][1].close()
        await until(lambda: len(connections()) == 4)
        assert await ask(place, "127.0.0.2") == 200
        for _, writer in idle:
            writer.close()


async def test_a_trusted_proxy_has_no_connection_limit() -> None:
    limits = ConnectionLimits.within(
        10_000, connections=20, per_address=2, proxies=["127.0.0.0/30"], write_seconds=1
    )
    async with serving(name_path, limits) as place:
        idle = await open_idle(place, 10)
        assert await ask(place, "127.0.0.1") == 200
        for _, writer in idle:
            writer.close()


async def test_open_connections_are_counted() -> None:
    before = CONNECTIONS._value.get()
    async with serving(name_path) as place:
        idle = await open_idle(place, 3)
        await until(lambda: CONNECTIONS._value.get() == before + 3)
        for _, writer in idle:
            writer.close()
        await until(lambda: CONNECTIONS._value.get() == before)


async def test_refused_connections_do_not_pile_up() -> None:
    async with serving(name_path, ConnectionLimits(connections=1000, per_address=2)) as place:
        before = CONNECTIONS._value.get()
        idle = await open_idle(place, 200)
        await until(lambda: CONNECTIONS._value.get() <= before + 2 + MAX_LINGERING)
        assert await ask(place, "127.0.0.2") == 200
        for _, writer in idle:
            writer.close()


ADDRESSES = ["10.0.0.1", "::ffff:10.0.0.1", "2001:db8::1", "2001:db8::2", "2001:db8:0:1::1", "-"]


@given(st.lists(st.sampled_from(ADDRESSES), max_size=60))
def test_closed_connections_leave_no_counters(addresses: list[str]) -> None:
    opened = OpenConnections(ConnectionLimits(connections=30, per_address=10))
    counted = [each for each in addresses if opened.add(each) is not Admission.FULL]
    assert opened.count == sum(opened.by_client.values()) == min(len(addresses), 30)
    for each in counted:
        opened.remove(each)
    assert (opened.count, opened.by_client) == (0, {})


def test_addresses_of_one_client_are_counted_together() -> None:
    opened = OpenConnections(ConnectionLimits(connections=30, per_address=1))
    first = {each: opened.add(each) for each in ADDRESSES}
    assert [each for each, admission in first.items() if admission is Admission.REFUSED] == [
        "::ffff:10.0.0.1",
        "2001:db8::2",
    ]


PROXIES = [
    ("10.0.0.0/8", "10.1.2.3", True),
    ("10.0.0.0/8", "::ffff:10.1.2.3", True),
    ("10.0.0.0/8", "11.1.2.3", False),
    ("10.0.0.7", "10.0.0.7", True),
    (ip_network("2001:db8::/32"), "2001:db8::1", True),
    ("2001:db8::1", "2001:db8::2", False),
    ("10.0.0.0/8", "no address", False),
]


@pytest.mark.parametrize(("proxy", "address", "exempt"), PROXIES)
def test_trusted_proxies_are_addresses_or_networks(
    proxy: object, address: str, exempt: bool
) -> None:
    limits = ConnectionLimits.within(
        10_000, connections=100, per_address=1, proxies=[proxy], write_seconds=1
    )
    opened = OpenConnections(limits)
    assert opened.add(address) is Admission.ADMITTED
    assert (opened.add(address) is Admission.ADMITTED) == exempt


FILES = [
    (20_000, 4096, 128),
    (4096 + RESERVED_FILES, 4096, 128),
    (1024, 1024 - RESERVED_FILES, 128),
    (256, 128, 32),
    (4, 2, 1),
]


@pytest.mark.parametrize(("files", "connections", "per_address"), FILES)
def test_connections_stay_below_the_open_file_limit(
    files: int, connections: int, per_address: int, caplog: pytest.LogCaptureFixture
) -> None:
    limits = ConnectionLimits.within(files, connections=4096, per_address=128, write_seconds=15)
    assert (limits.connections, limits.per_address) == (connections, per_address)
    assert ("IMPRINT_MAX_CONNECTIONS" in caplog.text) == (connections < 4096)


def test_the_soft_open_file_limit_is_raised() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 512), hard))
    try:
        assert raise_file_limit() >= 512
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


SERVER = """
import asyncio, resource, sys
import uvloop
from tests.server.connections import name_path
from imprint.server.connection_limits import ConnectionLimits, raise_file_limit
from imprint.server.http import HttpServer
from imprint.server.listeners import listen

async def serve(limits):
    listener = listen("127.0.0.1", 0)
    print(listener.getsockname()[1], flush=True)
    await HttpServer(name_path, listener, limits=limits, has_lifespan=False, keep_alive=60).run()

hard, connections, per_address = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 64), hard))
files = raise_file_limit()
limits = ConnectionLimits(connections, per_address) if connections else ConnectionLimits.within(
    files, connections=4096, per_address=128, write_seconds=15)
uvloop.run(serve(limits))
"""


def test_one_address_cannot_use_all_file_descriptors_of_a_process() -> None:
    statuses, _ = besiege(hard=512, connections=0, per_address=0, sockets=600)
    assert statuses == [200] * 20


def test_a_process_out_of_file_descriptors_recovers() -> None:
    # The limits are wrong on purpose: the process runs out of files before they apply.
    _, after = besiege(hard=64, connections=9999, per_address=9999, sockets=200)
    assert after == 200


def besiege(hard: int, connections: int, per_address: int, sockets: int) -> tuple[list[int], int]:
    """Open idle connections to a process.

    Returns the statuses that another address gets meanwhile, and the status afterwards.
    """
    arguments = [str(each) for each in (hard, connections, per_address)]
    process = subprocess.Popen(
        [sys.executable, "-c", dedent(SERVER), *arguments], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        idle = [socket.create_connection(("127.0.0.1", port), SECONDS) for _ in range(sockets)]
        statuses = [probe(port) for _ in range(20)]
        for each in idle:
            each.close()
        after = 0
        for _ in range(SECONDS * 20):
            if (after := probe(port)) == 200:
                break
            time.sleep(0.05)
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()
    return statuses, after


def probe(port: int) -> int:
    """Return the status of a request from another address, or 0 if there is no response."""
    try:
        with socket.create_connection(
            ("127.0.0.1", port), SECONDS, source_address=("127.0.0.2", 0)
        ) as client:
            client.sendall(REQUEST.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
            response = b""
            while data := client.recv(65_536):
                response += data
    except ConnectionError:
        return 0
    return split(response)[0][0] if response else 0
