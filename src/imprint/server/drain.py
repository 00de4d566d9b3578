"""The last seconds of open connections: what each may still do while the server stops."""

import asyncio
from collections.abc import Callable, Sequence

from imprint.domain.errors import Code, Unavailable
from imprint.server.connection import HttpConnection

POLL_SECONDS = 0.05
"""How often the connections are checked."""

IDLE_SECONDS = 5.0
"""How long idle connections stay open at most: their clients may be about to send."""

BODY_PAUSE_SECONDS = 2.0
"""How long a client that sends a body may be silent."""

BODY_SECONDS = 5.0
"""How long a body may take to arrive."""


async def drain_connections(
    connections: Callable[[], Sequence[HttpConnection]], keep_alive: float
) -> None:
    """Wait until all connections are closed, or only those are left that run a request.

    Each is closed after its next response. Idle ones have `keep_alive` seconds, but at most
    `IDLE_SECONDS`; what has not arrived in time is refused instead of reset.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    idle_until = began + min(keep_alive, IDLE_SECONDS)
    progress: dict[HttpConnection, tuple[int, float]] = {}
    while open_now := connections():
        now = loop.time()
        receiving = [each for each in open_now if each.receives_body]
        for connection in receiving:
            count, since = progress.get(connection, (-1, now))
            if connection.received != count:
                since = now
            progress[connection] = connection.received, since
            if now - since >= BODY_PAUSE_SECONDS or now - began >= BODY_SECONDS:
                connection.refuse_rest(_stopping())
        if now >= idle_until and not receiving:
            break
        await asyncio.sleep(POLL_SECONDS)
    for connection in connections():
        if connection.receives_head:
            connection.refuse_rest(_stopping())


def _stopping() -> Unavailable:
    return Unavailable(Code.OVERLOADED, "The service is stopping.")
