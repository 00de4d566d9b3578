"""The metrics port serves one request per connection, and limits its clients."""

import select
import socket
from collections.abc import Iterator

import pytest

from imprint.server import metrics_server
from imprint.server.listeners import listen
from imprint.server.metrics_server import (
    MAX_CLIENTS,
    MAX_HEAD_BYTES,
    Family,
    MergedSamples,
    MetricsServer,
)

GET = b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n"


@pytest.fixture
def server() -> Iterator[MetricsServer]:
    with listen("127.0.0.1", 0) as listener:
        server = MetricsServer(listener)
        yield server
        server.close()


def _connect(server: MetricsServer) -> socket.socket:
    listener = next(each for each in server.readers if isinstance(each, socket.socket))
    return socket.create_connection(listener.getsockname(), 20)


def _values() -> MergedSamples:
    merged = MergedSamples()
    merged.add([Family("imprint_posts", "Posts.", "gauge", [("imprint_posts", {}, 3.0)])])
    return merged


def _turn(server: MetricsServer) -> None:
    """Run one iteration of the owner's loop: handle ready sockets, or time out shortly."""
    found, writable, _ = select.select([*server.readers], server.writers, [], 0.2)
    server.on_readable(found)
    server.on_writable(writable)
    if server.has_waiting:
        server.respond(_values())
    server.give_up()


def _fetch(server: MetricsServer, request: bytes) -> bytes:
    with _connect(server) as client:
        client.sendall(request)
        client.setblocking(False)
        received = b""
        for _ in range(50):
            _turn(server)
            try:
                while part := client.recv(65536):
                    received += part
                return received
            except BlockingIOError:
                continue
        raise AssertionError("there is no response")


def test_a_scrape_gets_the_values(server: MetricsServer):
    head, _, body = _fetch(server, GET).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert f"Content-Length: {len(body)}".encode() in head
    assert b"imprint_posts 3.0\n" in body
    assert b"# HELP imprint_posts Posts.\n" in body


def test_a_request_may_arrive_in_pieces(server: MetricsServer):
    with _connect(server) as client:
        for byte in GET:
            client.sendall(bytes([byte]))
            _turn(server)
        for _ in range(3):
            _turn(server)
        assert client.recv(65536).startswith(b"HTTP/1.1 200 OK\r\n")


def test_openmetrics_is_sent_to_a_client_that_accepts_it(server: MetricsServer):
    accept = b"Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n\r\n"
    received = _fetch(server, GET[:-2] + accept)
    assert b"Content-Type: application/openmetrics-text; version=1.0.0" in received
    assert received.endswith(b"# EOF\n")


@pytest.mark.parametrize(
    "accept",
    [
        b"application/openmetrics-text;version=x",
        b"text/plain;version=1.x.y",
        b"\xff\xfe,;;=;,",
        b"application/openmetrics-text;escaping=nonsense;version=1.0.0",
        b"text/plain;version=",
    ],
)
def test_a_malformed_accept_header_does_not_crash_the_supervisor(
    server: MetricsServer, accept: bytes
):
    received = _fetch(server, GET[:-2] + b"Accept: " + accept + b"\r\n\r\n")
    assert received.startswith(b"HTTP/1.1 200 OK\r\n")


def test_a_head_response_has_no_body_and_other_methods_are_refused(server: MetricsServer):
    head = _fetch(server, GET.replace(b"GET", b"HEAD"))
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert head.endswith(b"\r\n\r\n")
    post = _fetch(server, GET.replace(b"GET", b"POST"))
    assert post.startswith(b"HTTP/1.1 405 ")


def test_a_head_that_is_too_long_closes_the_connection(server: MetricsServer):
    assert _fetch(server, b"GET /" + b"x" * MAX_HEAD_BYTES) == b""


def test_clients_that_send_nothing_are_disconnected_after_a_timeout(
    server: MetricsServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(metrics_server, "CLIENT_SECONDS", -1.0)
    with _connect(server) as client:
        _turn(server)
        assert client.recv(1) == b""


def test_idle_clients_do_not_block_a_scraper(server: MetricsServer):
    silent = [_connect(server) for _ in range(3 * MAX_CLIENTS)]
    assert _fetch(server, GET).startswith(b"HTTP/1.1 200 OK\r\n")
    assert (
        len([each for each in server.readers if not isinstance(each, socket.socket)]) < MAX_CLIENTS
    )
    silent[0].settimeout(20)
    assert silent[0].recv(1) == b""
    for each in silent:
        each.close()


def test_the_number_of_waiting_clients_is_bounded(server: MetricsServer):
    clients = [_connect(server) for _ in range(MAX_CLIENTS)]
    for each in clients:
        each.sendall(GET)
    for _ in range(2 * MAX_CLIENTS):
        if not [*server.readers]:
            break
        found, _, _ = select.select([*server.readers], [], [], 5)
        server.on_readable(found)
    # The listener is ignored until one of the clients has its response.
    assert [*server.readers] == []
    server.respond(_values())
    assert [each for each in server.readers if isinstance(each, socket.socket)]
    for each in clients:
        assert each.recv(65536).startswith(b"HTTP/1.1 200 OK\r\n")
        each.close()


def test_a_late_request_still_has_the_full_time_for_its_response(
    server: MetricsServer, monkeypatch: pytest.MonkeyPatch
):
    with _connect(server) as client:
        monkeypatch.setattr(metrics_server, "CLIENT_SECONDS", -1.0)
        select.select([*server.readers], [], [], 20)
        server.on_readable([*server.readers])
        client.sendall(GET)
        select.select([*server.readers], [], [], 20)
        monkeypatch.setattr(metrics_server, "CLIENT_SECONDS", 10.0)
        server.on_readable([each for each in server.readers if not isinstance(each, socket.socket)])
        server.give_up()
        assert server.has_waiting


def test_a_metrics_server_without_a_listener_does_nothing():
    server = MetricsServer(None)
    assert [*server.readers] == server.writers == []
    assert server.due is None
