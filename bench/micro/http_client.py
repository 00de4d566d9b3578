"""Compare the JSON-RPC POST client with aiohttp: import time, and time per exchange.

Run it with `python -m bench.micro.http_client`. Figures are the best of several rounds. The two
clients take turns, so that other work on the machine matters little.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable

import aiohttp

from imprint.adapters.chain.http_client import HttpClient

ROUNDS, EXCHANGES = 20, 500
"""Number of rounds per client, and of sequential exchanges per round."""

IMPORTS = 7
"""Number of imports per module, each in a new process."""

REQUEST = b'[{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}]'
RESPONSE = b'[{"jsonrpc":"2.0","id":1,"result":"0x7a69"}]' + b" " * 600
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


class Node(asyncio.Protocol):
    """A node that sends the same response to every packet."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._transport.write(HEAD % len(RESPONSE) + RESPONSE)


def import_milliseconds(module: str) -> float:
    """Return the shortest time to import a module, not counting common standard library modules."""
    program = f"import asyncio, ssl, time; t = time.perf_counter(); import {module}; "
    command = [sys.executable, "-c", program + "print((time.perf_counter() - t) * 1000)"]
    return min(float(subprocess.check_output(command)) for _ in range(IMPORTS))


async def exchange_microseconds(post: Callable[[], Awaitable[bytes]]) -> float:
    """Return the duration of one exchange in microseconds, measured in one round."""
    began = time.perf_counter()
    for _ in range(EXCHANGES):
        assert len(await post()) == len(RESPONSE)
    return (time.perf_counter() - began) / EXCHANGES * 1e6


async def main() -> None:
    """Measure both clients against a node in the same process."""
    server = await asyncio.get_running_loop().create_server(Node, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    client = HttpClient(url, max_response=1_000_000)
    ours, theirs = [], []
    async with aiohttp.ClientSession() as session:

        async def post() -> bytes:
            async with session.post(url, data=REQUEST) as response:
                return await response.read()

        for _ in range(ROUNDS):
            ours.append(await exchange_microseconds(lambda: client.post(REQUEST)))
            theirs.append(await exchange_microseconds(post))
    client.close()
    server.close()
    for name, module, rounds in (
        ("HttpClient", "imprint.adapters.chain.http_client", ours),
        ("aiohttp", "aiohttp", theirs),
    ):
        spent = import_milliseconds(module)
        print(f"{name:10} import {spent:4.0f} ms  exchange {min(rounds):4.0f} µs")


if __name__ == "__main__":
    asyncio.run(main())
