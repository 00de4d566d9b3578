"""A complete service with data, behind a real socket, in a separate thread."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.world import World, open_world

from imprint.server.http import HttpServer
from imprint.server.listeners import listen


@dataclass(slots=True)
class Live:
    """The address of a running service, and test data for a logged-in reader."""

    origin: str = ""
    session: dict[str, str] = field(default_factory=dict)
    ending: dict[str, str] = field(default_factory=dict)
    """The session of another reader, for testing a logout."""
    reader: str = ""
    draft_cid: str = ""
    thumbnail_cid: str = ""
    paid_post: int = 0
    free_post: int = 0
    page_token: str = ""
    failure: BaseException | None = None


@contextmanager
def run_live(folder: Path) -> Iterator[Live]:
    """Serve a world with test data until the `with` block exits."""
    live, ready, done = Live(), threading.Event(), threading.Event()
    thread = threading.Thread(target=_run, args=(folder, live, ready, done))
    thread.start()
    try:
        assert ready.wait(60), "the service did not start"
        if live.failure is not None:
            raise live.failure
        yield live
    finally:
        done.set()
        thread.join(30)


def _run(folder: Path, live: Live, ready: threading.Event, done: threading.Event) -> None:
    try:
        asyncio.run(_serve(folder, live, ready, done))
    except BaseException as error:
        live.failure = error
        raise
    finally:
        ready.set()


async def _serve(folder: Path, live: Live, ready: threading.Event, done: threading.Event) -> None:
    async with open_world(folder) as world:
        await _fill(world, live)
        listener = listen("127.0.0.1", 0)
        live.origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
        server = HttpServer(world.app, listener, shutdown_timeout=1)
        serving = asyncio.create_task(server.run())
        ready.set()
        await asyncio.to_thread(done.wait)
        server.stop()
        await serving


async def _fill(world: World, live: Live) -> None:
    alice = world.wallet(1)
    live.reader = alice.address
    live.draft_cid = (await world.create(alice))["cid"]
    live.thumbnail_cid = await world.publish(alice, live.draft_cid, "essay")
    live.paid_post, _ = await world.post(alice)
    for _ in range(10):
        live.free_post, _ = await world.post(alice, "Words for all.", price=0)
    live.session = await world.login(alice)
    live.ending = await world.login(world.wallet(2))
    page: dict[str, Any] = (await world.client.get("/filesMetaData")).json()
    live.page_token = page["next_page_token"]
