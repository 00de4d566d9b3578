"""A frozen PostgreSQL server: every request that needs it gets 503 within five seconds."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from tests.indexed import fill_index
from tests.postgresql import Server, keeping_records_on
from tests.world import World, open_world

LONGEST = 5.0
"""Seconds within which a request must be refused."""

BEAT = 0.02

ALONE = ("metadata", "posts", "create", "login")
"""Types of requests that are sent one after another."""

Send = Callable[[], Awaitable[httpx2.Response]]


class Metronome:
    """Measures the scheduling delay of this process, which no deadline accounts for."""

    def __init__(self) -> None:
        self.late = 0.0

    async def run(self) -> None:
        while True:
            began = time.monotonic()
            await asyncio.sleep(BEAT)
            self.late += time.monotonic() - began - BEAT


@asynccontextmanager
async def frozen(server: Server) -> AsyncIterator[None]:
    server.freeze()
    try:
        yield
    finally:
        server.thaw()


async def timed(name: str, send: Send, metronome: Metronome) -> tuple[str, int, str, float]:
    late, began = metronome.late, time.monotonic()
    response = await send()
    seconds = time.monotonic() - began - (metronome.late - late)
    code = response.json().get("code", "") if "json" in response.headers["content-type"] else ""
    return name, response.status_code, code, seconds


async def gather_all(
    sends: dict[str, Send], metronome: Metronome
) -> list[tuple[str, int, str, float]]:
    return await asyncio.gather(*(timed(name, send, metronome) for name, send in sends.items()))


def sign_login(world: World) -> dict[str, Any]:
    wallet = world.wallet(1)
    return wallet.sign_login(wallet.login_message())


def requests_of(
    world: World, cid: str, deleted: str, post: int, session: dict[str, str]
) -> dict[str, Send]:
    """Return a request for every route that reads or writes records."""
    author, client = world.wallet(0), world.client
    address = author.address

    def get(path: str, **more: Any) -> Send:
        return lambda: client.get(path, **more)

    html = {"Accept": "text/html"}
    return {
        "metadata": get("/filesMetaData"),
        "tags": get("/filesByTags", params={"tags": "a"}),
        "own drafts": get("/pendingFilesByOwner", headers=session, params={"owner": address}),
        "draft": get("/fileByCid", headers=session, params={"cid": cid}),
        "gated post": get(
            "/fileByPostId", headers=session, params={"postId": post, "user": address}
        ),
        "free post": get("/freeFileByPostId", params={"postId": str(post)}),
        "posts": get("/posts"),
        "search": get("/posts", params={"q": "words"}),
        "post": get(f"/posts/{post}"),
        "author": get(f"/authors/{address}"),
        "library": get("/me/library", headers=session),
        "totals": get("/globalMetrics"),
        "feed": get("/feeds/posts.atom"),
        "author's feed": get(f"/feeds/authors/{address}.json"),
        "front page": get("/", headers=html),
        "page": get(f"/p/{post}", headers=html, follow_redirects=True),
        "page of an author": get(f"/a/{address}", headers=html),
        "page of a search": get("/search", params={"q": "words"}, headers=html),
        "sitemap": get("/sitemap.xml"),
        "create": lambda: world.send_create(world.wallet(1)),
        "delete": lambda: world.send_delete(author, deleted),
        "login": lambda: client.post("/auth/login", json=sign_login(world)),
        "readiness": get("/readyz"),
    }


async def test_requests_that_need_a_frozen_server_are_refused_in_time(tmp_path: Path) -> None:
    server, metronome = Server(), Metronome()
    await asyncio.to_thread(server.make)
    await asyncio.to_thread(server.start)
    beating = asyncio.create_task(metronome.run())
    try:
        with keeping_records_on(server):
            async with open_world(tmp_path) as world:
                author = world.wallet(0)
                file = await world.create(author, "Words.")
                post, _ = await world.post(author, "More words.", 0)
                session = await world.login(author)
                deleted = await world.create(author, "Words to delete.")
                sends = requests_of(world, file["cid"], deleted["cid"], post, session)
                await fill_index(world)
                # Open as many connections as allowed, as in a service that has been running for a
                # while.
                before = await gather_all(sends, metronome)
                assert {status for _, status, *_ in before} == {200}, before
                world.clock.advance(60)
                async with frozen(server):
                    first = asyncio.create_task(gather_all(sends, metronome))
                    # A request that arrives while others wait must not wait for them first.
                    await asyncio.sleep(3)
                    second = await gather_all(sends, metronome)
                    # By now, no connection is left, and no new one can be opened.
                    alone = [await timed(name, sends[name], metronome) for name in ALONE]
                    for each in (*await first, *second, *alone):
                        check(each)
                async with asyncio.timeout(30):
                    while (await world.client.get("/readyz")).status_code != 200:
                        world.clock.advance(10)
                        await asyncio.sleep(0.1)
                assert (await world.send_create(world.wallet(2))).status_code == 200
    finally:
        beating.cancel()
        await asyncio.to_thread(server.stop)


def check(result: tuple[str, int, str, float]) -> None:
    name, status, code, seconds = result
    assert seconds < LONGEST, result
    assert status == 503, result
    assert code in ("", "database_unavailable"), name
