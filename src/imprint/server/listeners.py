"""Listening sockets: opening them, and closing them without resetting connections."""

import ctypes
import socket
import struct
import sys
from contextlib import suppress

from imprint.domain.errors import CannotStart

BACKLOG = 2048
"""The backlog: the number of connections that may wait to be accepted."""

_SO_ATTACH_FILTER = 26
"""The Linux option that attaches a packet filter to a socket. Python lacks this constant."""

_DROP_NEW_CONNECTIONS = b"".join(
    struct.pack("HBBI", *instruction)
    for instruction in (
        (0x30, 0, 0, 13),  # load the flags of the TCP header
        (0x54, 0, 0, 0x12),  # keep SYN and ACK
        (0x15, 0, 1, 0x02),  # SYN alone begins a connection
        (0x06, 0, 0, 0),  # drop it
        (0x06, 0, 0, 0xFFFFFFFF),  # let everything else pass, whole
    )
)
"""A packet-filter program (classic BPF) with which the kernel drops new connections."""

_INSTRUCTION_BYTES = 8


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket.

    Raises `CannotStart` if the address is in use or does not belong to this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio disables Nagle's algorithm only on sockets whose protocol is named. With Nagle's
    # algorithm, every response on a keep-alive connection would wait 40 ms for the client's
    # acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise CannotStart(f"Cannot listen on {host}:{port}: {error.strerror}.") from error
    return listener


def refuse_connections(listener: socket.socket) -> None:
    """Refuse new connections in all processes that share the socket, but keep waiting ones.

    When the last copy of a listening socket is closed, the system resets every connection that has
    not been accepted. To avoid the reset, packets that begin a connection are dropped first. Their
    clients resend them a second later, and are refused then. Does nothing where the system has no
    such filter.
    """
    if not sys.platform.startswith("linux"):
        return
    program = ctypes.create_string_buffer(_DROP_NEW_CONNECTIONS, len(_DROP_NEW_CONNECTIONS))
    count = len(_DROP_NEW_CONNECTIONS) // _INSTRUCTION_BYTES
    with suppress(OSError):
        option = struct.pack("HP", count, ctypes.addressof(program))
        listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, option)


def accept_waiting(listener: socket.socket) -> list[socket.socket]:
    """Accept every waiting connection."""
    accepted = []
    for _ in range(BACKLOG):
        try:
            peer, _ = listener.accept()
        except BlockingIOError:
            break
        except OSError:
            # The client of a waiting connection has gone.
            continue
        peer.setblocking(False)
        accepted.append(peer)
    return accepted
