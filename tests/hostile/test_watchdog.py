"""No request blocks the event loop for long, whatever texts are stored."""

import asyncio
import json
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from starlette.routing import Route
from tests.hostile.attacks.texts import PAGES, WORDS
from tests.hostile.watchdog import watching
from tests.revisions import revise, sign_revision
from tests.web.api.test_search import index
from tests.world import DEFAULT_PRICE, World, open_world

from imprint.domain.posts.openings import MARK
from imprint.domain.posts.search import words_of
from imprint.domain.posts.slugs import post_slug
from imprint.web.site.assets import built_assets

TEXTS = {
    "rows ending in CR": PAGES[0],
    "tables ending in CR": PAGES[1],
    "short lines": PAGES[2],
    "table of blocks": PAGES[3],
    "brackets": PAGES[4],
    "pictures": PAGES[5],
    "definitions": PAGES[6],
    "emphasis": PAGES[7],
    "empty links": WORDS[0],
    "ligatures": WORDS[-1],
    "large empty links": "[]()" * 1_000_000,
    "nested quotes": "> " * 200_000 + "a",
    "nested lists": "".join(f"{' ' * (2 * depth)}- a\n" for depth in range(1_400)),
    "nested blocks": json.dumps({"blocks": [{"type": "list", "data": {"items": ["a"] * 90_000}}]}),
    "deep JSON": '{"blocks":' + "[" * 500_000,
    "a long word": "a" * 3_900_000,
    "hashtags": "#a " * 400_000,
    "links": "".join(f"<https://a.b/{number}> " for number in range(90_000)),
    "markup": "<b>&amp;" * 240_000,
    "line separators": "a\N{LINE SEPARATOR}\v\f\x1c" * 250_000,
    "controls": "\x01\u202e" * 500_000,
}
"""Texts that are cheap to write, by type."""

COPIES = {"empty links": 12, "ligatures": 12}
"""Number of free posts per text, each with a different ending. The default is two."""

TITLE = 33
"""Number of leading characters of a text used as its posts' title and description."""

TAG = "hostile"

CHUNK = 256 * 1024
"""Maximum number of bytes of a body that the HTTP server reads in one callback."""

UNREACHED = {"/filesByNextPageToken", "/.well-known/security.txt"}
"""Reads that cannot succeed in this test: it has no page token and no security contact."""


@dataclass(frozen=True)
class Town:
    """Posts with the same text, and their author, who also holds a token for one of them.

    A Markdown text is the opening of the paid post. In `opened`, the text follows a short
    opening.
    """

    world: World
    text: str
    free: list[str]
    paid: str
    opened: str
    cids: list[str]
    draft: str
    thumbnail: str
    session: str
    feed: str
    token: str

    def paths(self, route: Route) -> list[str]:
        """The paths to request for a route. Every path parameter needs a value here."""
        posts = [self.free[0], self.paid, *([self.opened] if "opening" in route.path else [])]
        values = {
            "id": [self.feed] if route.path.startswith("/me/") else posts,
            "cid": [self.thumbnail, self.cids[0]],
            "tag": [TAG],
            "address": [self.world.wallet(1).address],
            "token": [self.token],
            "name": [built_assets().url("docs.css").rpartition("/")[2]],
            "start": ["0"],
            # A text without words has no slug: any one redirects.
            "slug": [post_slug(self.text[:TITLE]) or "none"],
        }
        paths = [route.path]
        for name in route.param_convertors:
            paths = [path.replace(f"{{{name}}}", each) for path in paths for each in values[name]]
        return paths

    def queries(self, route: Route) -> list[dict[str, str]]:
        """The sets of query parameters to send to a route."""
        author = self.world.wallet(1).address
        words = words_of(self.text[:4_000])[:16] or ["a"]
        phrase = " ".join(words)[:190]
        sought = (words[0], f'"{phrase}"', "a", words[0][:2])
        searches = [{"q": each, "limit": "100"} for each in sought]
        pages = [{"q": each} for each in sought]
        cids = [{"cid": cid} for cid in (*self.cids, self.draft)]
        chosen: dict[str, list[dict[str, str]]] = {
            "/posts": [{}, *searches, {"tag": TAG}, {"sort": "price"}, {"limit": "100"}],
            "/search": [{}, *pages],
            "/me/library": [{}, *searches],
            "/fileByCid": cids,
            "/filesMetaData": cids,
            "/fileByPostId": [{"user": author, "postId": self.paid}],
            "/freeFileByPostId": [{"postId": self.free[0]}],
            "/filesByTags": [{"tags": TAG}],
            "/pendingFilesByOwner": [{"owner": author}],
            "/userMetrics": [{"userAddress": author}],
            "/heatmap": [{"userAddress": author}],
            "/update/file": [{"cid": self.draft}],
            "/revise/post": [{"postId": self.free[0]}],
        }
        return chosen.get(route.path, [{}])

    def body(self, route: Route) -> bytes:
        """The body to send to a route."""
        if route.path == "/studio/preview":
            return json.dumps({"content": self.text}).encode()
        if route.path in ("/create/group", "/update/file"):
            signed = self.world.wallet(1).sign(route.path.split("/")[1])
            return json.dumps(signed | {"content": self.text}).encode()
        if route.path == "/revise/post":
            post = (self.free[0], self.cids[0])
            signed = sign_revision(self.world, self.world.wallet(1), post, self.text)
            return json.dumps(signed).encode()
        return b""


async def _publish(world: World, text: str, copies: int) -> Town:
    """Publish free posts and paid ones with this text, each with a different ending."""
    author = world.wallet(1)
    cids, posts = [], []
    opening = "" if text.startswith("{") else f"\n\n{MARK}\n\n"
    contents = [f"{text} {number}" for number in range(copies)]
    contents += [f"Words.\n\n{MARK}\n\n{text}", f"{text}{opening} paid"]
    for number, content in enumerate(contents):
        price = 0 if number < copies else DEFAULT_PRICE
        file = await world.create(author, content)
        entry = (file["cid"], text[:TITLE], "bafkreithumbnail", text[:TITLE], price, [TAG])
        block = world.create_post_with(author, entry)
        (event,) = (await world.deliver_a(block)).json()["events"]
        posts.append(str(event["postId"]))
        cids.append(file["cid"])
    buyer = world.wallet(2)
    world.buy(buyer, int(posts[-1]))
    world.transfer(buyer, author, int(posts[-1]))
    draft = (await world.create(author, text))["cid"]
    pictured = await world.create(author, "With a picture.")
    thumbnail = await world.publish(author, pictured["cid"])
    await index(world)
    await revise(world, author, (posts[0], cids[0]), f"{text} corrected")
    # A block is final when it has been read twice.
    world.chain.mine()
    await index(world)
    session = await world.login(author)
    feed = (await world.client.post("/me/feeds", headers=session)).json()
    token = feed["atom"].rpartition("/")[2].removesuffix(".atom")
    own = session["Authorization"]
    *free, opened, paid = posts
    return Town(world, text, free, paid, opened, cids, draft, thumbnail, own, feed["id"], token)


def _requests(town: Town) -> Iterator[tuple[Route, str, str]]:
    """Every route with its methods, paths and parameters. Deletions come last."""
    order = ["GET", "HEAD", "POST", "DELETE"]
    routes = town.world.app.routes  # type: ignore[attr-defined]
    methods = [(method, route) for route in routes for method in route.methods]
    for method, route in sorted(methods, key=lambda each: order.index(each[0])):
        for path in town.paths(route):
            for query in town.queries(route):
                yield route, method, f"{path}?{urlencode(query)}" if query else path


async def _call(town: Town, method: str, target: str, body: bytes) -> int:
    """Send a request to the application, read the whole response, and return its status."""
    path, _, query = target.partition("?")
    headers = {"authorization": town.session, "host": "imprint.test"}
    if body:
        headers |= {"content-type": "application/json", "content-length": str(len(body))}
    status = 0
    unread = deque(body[start : start + CHUNK] for start in range(0, len(body) or 1, CHUNK))

    async def receive() -> Any:
        if not unread:
            return await asyncio.Future()
        await asyncio.sleep(0)
        return {"type": "http.request", "body": unread.popleft(), "more_body": bool(unread)}

    async def send(message: Any) -> None:
        nonlocal status
        status = message.get("status", status)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": quote(path).encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1),
        "server": ("imprint.test", 80),
    }
    await town.world.app(scope, receive, send)
    return status


async def _watch_requests(folder: Path, name: str) -> dict[int, str]:
    """Send every request in a new world, and return the slow ones by their number in the
    sequence."""
    async with open_world(folder, CHAIN_REORG_DEPTH="0") as world:
        # Warm up first: what a process computes only once, such as its description, is not caused
        # by a text.
        usual = await _publish(world, "Some *words* in a text.", 1)
        for route, method, target in _requests(usual):
            body = usual.body(route) if method == "POST" else b""
            await _call(usual, method, target, body)
        town = await _publish(world, TEXTS[name], COPIES.get(name, 2))
        reached: set[str] = set()
        slow: dict[int, str] = {}
        with watching() as dog:
            for number, (route, method, target) in enumerate(_requests(town)):
                body = town.body(route) if method == "POST" else b""
                status = await dog.watch(_call(town, method, target, body))
                if status < 400:
                    reached.add(route.path)
                if seconds := dog.seconds_too_long():
                    slow[number] = f"{method} {target}: {seconds:.3f} s, status {status}"
        reads = {r.path for r in world.app.routes if "GET" in r.methods}  # type: ignore[attr-defined]
        assert reads - reached == UNREACHED
        return slow


@pytest.mark.rotates
@pytest.mark.parametrize("records", ["sqlite", "postgresql"], indirect=True)
@pytest.mark.parametrize("name", TEXTS)
async def test_no_request_blocks_the_event_loop(name: str, tmp_path: Path, records: None) -> None:
    slow = await _watch_requests(tmp_path / "first", name)
    # The kernel bills a thread for work of its own, such as reclaiming memory. A request
    # that blocks the loop does so each time.
    for other in ("second", "third"):
        if slow:
            again = await _watch_requests(tmp_path / other, name)
            slow = {number: line for number, line in slow.items() if number in again}
    assert not slow, "\n".join(slow.values())
