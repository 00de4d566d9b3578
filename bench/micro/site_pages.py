"""Compare pages with the JSON of the same facts, in one process: at most twice as much time.

python -m bench.micro.site_pages
"""

import asyncio
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp, Message
from tests.world import World, open_world

from bench.micro.timing import time_calls

POSTS = 22
"""More than a page of a list has."""

MOST = 2.0
"""How many times longer a page may take than its JSON."""

TEXT = (
    "## A heading\n\nA paragraph with *emphasis*, a [link](https://example.org/) and `code`.\n\n"
    "> A quote.\n\n- one\n- two\n\n"
) * 12

PAIRS = {
    "a free post": ("/p/1", ("/posts/1", "/posts/1/content")),
    "a paid post": ("/p/2", ("/posts/2",)),
    "the front page": ("/", ("/posts",)),
}
"""Pages, and what a program reads for the same facts."""


async def get(app: ASGIApp, path: str) -> None:
    """Send a request and expect 200."""
    statuses: list[int] = []
    scope: dict[str, Any] = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"accept-encoding", b"gzip")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "scheme": "http",
        "http_version": "1.1",
        "root_path": "",
    }

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    await app(scope, receive, send)
    if statuses != [200]:
        raise RuntimeError(f"{path} responded with {statuses}")


async def fill(world: World) -> None:
    """Publish posts, every second of them free."""
    for number in range(POSTS):
        author = world.wallet(number % 3)
        file = await world.create(author, f"{TEXT}{number}")
        price = 0 if number % 2 == 0 else 10**16
        entry = (file["cid"], f"Post {number}", "bafkreithumbnail", "About it.", price, ["ink"])
        await world.deliver_a(world.create_post_with(author, entry))
    await world.index()


async def main() -> None:
    """Print the time of every page and of its JSON, in microseconds, and their ratio."""
    with tempfile.TemporaryDirectory() as folder:
        async with open_world(Path(folder), RATE_LIMITS="off") as world:
            await fill(world)
            app = world.app

            async def read(paths: tuple[str, ...]) -> None:
                for path in paths:
                    await get(app, path)

            for name, (page, documents) in PAIRS.items():
                found = await time_calls(
                    {
                        "page": partial(get, app, page),
                        "json": partial(read, documents),
                    }
                )
                ratio = found["page"] / found["json"]
                verdict = "as wanted" if ratio <= MOST else "TOO SLOW"
                print(f"{name}: {found['page']:.0f} µs, JSON {found['json']:.0f} µs, ", end="")
                print(f"{ratio:.2f} times: {verdict}")


if __name__ == "__main__":
    asyncio.run(main())
