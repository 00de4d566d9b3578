"""Listening sockets: what waits is kept, and nothing new begins."""

import errno
import select
import socket
import sys

import pytest

from imprint.server.listeners import accept_waiting, listen, refuse_connections


def test_what_waits_is_accepted_though_nothing_new_may_begin() -> None:
    with listen("127.0.0.1", 0) as listener:
        listener.setblocking(False)
        clients = [socket.create_connection(listener.getsockname()) for _ in range(3)]
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
def test_a_connection_that_begins_too_late_is_refused_and_never_reset() -> None:
    with listen("127.0.0.1", 0) as listener:
        address = listener.getsockname()
        refuse_connections(listener)
        with socket.socket() as client:
            client.setblocking(False)
            with pytest.raises(BlockingIOError):
                client.connect(address)
            listener.setblocking(False)
            assert accept_waiting(listener) == []
            listener.close()
            select.select([], [client], [], 20)
            assert client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNREFUSED


def test_a_closed_socket_refuses_already() -> None:
    listener = listen("127.0.0.1", 0)
    listener.close()
    refuse_connections(listener)
