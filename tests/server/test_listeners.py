"""Listening sockets: waiting connections are kept, and new ones are refused."""

import errno
import select
import socket
import sys

import pytest

from imprint.domain.errors import CannotStart
from imprint.server.listeners import accept_waiting, listen, refuse_connections


def listen_on(host: str) -> socket.socket:
    try:
        return listen(host, 0)
    except CannotStart:
        pytest.skip("this machine has no IPv6")


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_waiting_connections_are_accepted_while_new_ones_are_refused(host: str) -> None:
    with listen_on(host) as listener:
        listener.setblocking(False)
        clients = [socket.create_connection(listener.getsockname()[:2]) for _ in range(3)]
        refuse_connections(listener)
        accepted = accept_waiting(listener)
        assert len(accepted) == 3
        for client, peer in zip(clients, accepted, strict=True):
            client.sendall(b"a")
            peer.setblocking(True)
            assert peer.recv(1) == b"a"
        for each in (*clients, *accepted):
            each.close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux has the filter")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_late_connection_is_refused_rather_than_reset(host: str) -> None:
    with listen_on(host) as listener:
        address = listener.getsockname()
        refuse_connections(listener)
        with socket.socket(listener.family) as client:
            client.setblocking(False)
            with pytest.raises(BlockingIOError):
                client.connect(address)
            listener.setblocking(False)
            assert accept_waiting(listener) == []
            listener.close()
            select.select([], [client], [], 20)
            assert client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNREFUSED


def test_refusing_connections_on_a_closed_socket_is_not_an_error() -> None:
    listener = listen("127.0.0.1", 0)
    listener.close()
    refuse_connections(listener)
