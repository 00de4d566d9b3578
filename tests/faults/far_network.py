"""A program that stops a server while clients connect to it over slow connections.

The program runs in its own network namespace (`unshare --map-root-user --net`). A device
there returns every packet to this machine after a delay, with the two addresses swapped, so
that packets sent to `FAR` arrive at `NEAR`. The program prints the number of connections by
outcome.
"""

import asyncio
import fcntl
import json
import os
import struct
import subprocess
import sys
import threading
import time
from collections import Counter, deque

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from imprint.server.http import HttpServer
from imprint.server.listeners import listen

NEAR, FAR = "10.9.0.1", "10.9.0.2"
PORT = 8000
CONNECTIONS = 120
PAUSE = 0.01
"""Seconds between two connections. The server stops after half of the connections."""

_TUNSETIFF = 0x400454CA
_TUN_WITHOUT_HEADER = 0x1001


def open_device() -> int:
    """Open a network device whose packets this program reads and writes."""
    device = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH", b"far0", _TUN_WITHOUT_HEADER))
    for command in (f"ip addr add {NEAR}/24 dev far0", "ip link set far0 up"):
        subprocess.run(command.split(), check=True)
    return device


def reflect(device: int, delay: float) -> None:
    """Return every IPv4 packet to its sender after a delay, forever."""
    packets: deque[tuple[float, bytes]] = deque()
    arrived = threading.Semaphore(0)

    def send() -> None:
        while True:
            arrived.acquire()
            due, packet = packets.popleft()
            time.sleep(max(0.0, due - time.monotonic()))
            # The checksums are sums, which do not depend on the order of the addresses.
            os.write(device, packet[:12] + packet[16:20] + packet[12:16] + packet[20:])

    threading.Thread(target=send, daemon=True).start()
    while True:
        packet = os.read(device, 65536)
        if packet[0] >> 4 == 4:
            packets.append((time.monotonic() + delay, packet))
            arrived.release()


async def respond(scope: Scope, receive: Receive, send: Send) -> None:
    await Response("Here.")(scope, receive, send)


async def request() -> str:
    """Connect, send a request, read the response, and return the outcome."""
    try:
        reader, writer = await asyncio.open_connection(FAR, PORT)
    except ConnectionRefusedError:
        return "refused"
    try:
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        response = await reader.read()
    except ConnectionResetError:
        return "reset"
    writer.close()
    return "served" if response.endswith(b"Here.") else "broken"


async def main(delay: float) -> None:
    device = open_device()
    threading.Thread(target=reflect, args=(device, delay), daemon=True).start()
    server = HttpServer(respond, listen("0.0.0.0", PORT), has_lifespan=False)
    running = asyncio.create_task(server.run())
    assert await request() == "served"
    requests = []
    stopping: asyncio.Task[None] | None = None
    for number in range(CONNECTIONS):
        requests.append(asyncio.create_task(request()))
        await asyncio.sleep(PAUSE)
        if number == CONNECTIONS // 2:
            stopping = asyncio.create_task(server.drain())
    ends = await asyncio.gather(*requests)
    assert stopping is not None
    await stopping
    server.stop()
    await running
    print(json.dumps(Counter(ends)))


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1])))
