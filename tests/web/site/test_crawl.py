"""A client without access follows every link of the service, and finds no text of a paid post."""

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

import httpx2
import pytest
from tests.indexed import fill_index, read_texts
from tests.revisions import revise
from tests.web.described import DOCUMENT
from tests.world import ORIGIN, Wallet, World

PAID = "The canary of a paid post sings at midnight."
RAISED = "The canary of a post that was free sings at noon."
DRAFT = "The canary of a draft sings at dawn."
REPLACED = "The canary of a replaced block sings at dusk."
BELOW = "The canary below an opening sings at twilight."
ABOVE = "A bird above the line sings for everybody."
MOVED = "The canary that a correction moved below the line sings at sundown."
REST = f"{BELOW}\n\n[one]: https://canary.example/below\n"
OPENED = f"{ABOVE} [Far][one]\n\n{MOVED}\n\n<!--more-->\n\n{REST}"
REOPENED = f"{ABOVE} [Far][one]\n\n<!--more-->\n\n{MOVED}\n\n{REST}"
CANARY_LINK = "canary.example"
FREE = "A free bird sings for everybody."
TYPO = "This tpyo is shown to everybody."
NOTE = "A public note."
REMOVED = "The canary of a removed sentence sings at nightfall."
CORRECTED = "The canary of a correction sings at daybreak."
CANARIES = (PAID, RAISED, DRAFT, REPLACED, BELOW, CANARY_LINK, MOVED, REMOVED, CORRECTED)

HOSTILE = "</title>]]>\u202e [x](/posts/2/content) <a href='/posts/2.md'>\x01 \"--><script>"

ABSOLUTE = re.compile(rf"{re.escape(ORIGIN)}(/[^\s\"'<>\\)\]`]*)?")
HREF = re.compile(r"""href=["']([^"'>]+)["']""")
CID = re.compile(r"\bbaf[a-z2-7]{56}\b")
PAGE_TOKEN = re.compile(r'"next_page_token":"([A-Za-z0-9_-]+)"')
LINK = re.compile(r"<([^<>]+)>")

OF_PAGES = ("q", "next_page_token", "revision")
"""Query parameters of pages, which the API description does not cover."""

OPENED_ID = 6
"""The id of the post with an opening."""

MAX_REQUESTS = 3_000
"""The number of requests after which an endless crawl is stopped."""


def addresses_in(response: httpx2.Response) -> Iterator[str]:
    """Every URL of this service in the body or headers of a response."""
    text = response.text.replace("&amp;", "&")
    path = response.request.url.path
    named = [match[0] for match in ABSOLUTE.finditer(text)]
    named += HREF.findall(text)
    named += [response.headers.get("location", "")]
    named += LINK.findall(response.headers.get("link", ""))
    for cid in CID.findall(text):
        named += [f"/ipfs/{cid}", f"/ipfs/{cid}?format=car", f"/fileByCid?cid={cid}"]
        named += [f"/filesMetaData?cid={cid}"]
    for token in PAGE_TOKEN.findall(text):
        lists = ("/posts", "/me/library", "/me/posts", "/me/sales", "/filesByNextPageToken")
        named += [f"{each}?next_page_token={token}" for each in lists]
    for each in filter(None, named):
        parts = urlsplit(urljoin(f"{ORIGIN}{path}", each))
        if f"{parts.scheme}://{parts.netloc}" == ORIGIN:
            yield f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"


@dataclass
class Crawl:
    """All responses to a client without access, by URL."""

    world: World
    headers: dict[str, str]
    seen: dict[str, httpx2.Response] = field(default_factory=dict)

    async def run(self, seeds: list[str]) -> None:
        waiting = deque(seeds)
        known = set(seeds)
        while waiting and len(self.seen) < MAX_REQUESTS:
            address = waiting.popleft()
            response = await self.world.client.get(address, headers=self.headers)
            self.seen[address] = response
            for found in addresses_in(response):
                if found not in known:
                    known.add(found)
                    waiting.append(found)
        assert not waiting, "The crawl does not end."


def seeds(world: World, author: Wallet, last: int = 8) -> list[str]:
    """Return every path of the site, with parameters that anybody can find out.

    `last` is the highest post id to try.
    """
    given = {"id": "2", "address": author.address, "tag": "ink", "start": "0", "token": "A" * 43}
    given |= {"name": "site.css", "slug": "another-title"}
    query = {
        "tags": "ink",
        "postId": "2",
        "user": author.address,
        "owner": author.address,
        "userAddress": author.address,
        "q": "canary sings",
        "cid": "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy",
        "next_page_token": "x" * 40,
    }
    found: list[str] = []
    post_ids = range(1, last + 1)
    for path in readable_paths(world):
        filled = path.format_map({**query, **given})
        found.append(filled)
        pairs = [f"{name}={quote(query.get(name, '1'))}" for name in query_parameters(path)]
        found += [f"{filled}?{pair}" for pair in pairs]
        if pairs:
            found.append(f"{filled}?{'&'.join(pairs)}")
        if "{id}" in path:
            found += [
                path.format_map({**given, "id": str(number)}) for number in range(1, last + 1)
            ]
    for word in ("canary", "above", "twilight", "midnight", '"sings at noon"', "dawn"):
        found.append(f"/posts?q={quote(word)}")
    for word in ("sundown", "nightfall", "daybreak"):
        found.append(f"/posts?q={word}")
    for post_id in post_ids:
        for path in (f"/posts/{post_id}/content", f"/p/{post_id}/changes"):
            found += [f"{path}?revision={number}" for number in range(3)]
        found.append(f"/fileByPostId?user={author.address}&postId={post_id}")
        found.append(f"/freeFileByPostId?postId={post_id}")
    return found


def readable_paths(world: World) -> dict[str, re.Pattern[str]]:
    """The paths of all readable routes, each with the pattern that its URLs match."""
    app: Any = world.app
    return {route.path: route.path_regex for route in app.routes if "GET" in (route.methods or ())}


def query_parameters(path: str) -> list[str]:
    """The names of the query parameters of a path."""
    if path not in DOCUMENT["paths"]:
        return [*OF_PAGES]
    parameters = DOCUMENT["paths"][path]["get"].get("parameters", ())
    return [each["name"] for each in parameters if each["in"] == "query"]


async def populate(world: World) -> Wallet:
    """Create posts of every type and a draft, and return their author."""
    author = world.wallet(1)
    free, free_file = await world.post(author, f"{FREE} {TYPO}", 0)
    paid, paid_file = await world.post(author, PAID)
    raised, _ = await world.post(author, RAISED, 0)
    world.set_price(author, raised, 10**15)
    world.create_post(author, "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy")
    hostile = await world.create(author, f"{PAID} {HOSTILE}")
    post = (hostile["cid"], HOSTILE, "bafkreithumbnail", HOSTILE, 7, ["ink"])
    await world.deliver_a(world.create_post_with(author, post))
    draft = await world.create(author, DRAFT)
    await world.publish(author, draft["cid"], "ink")
    await world.create(author, DRAFT)
    opened, opened_file = await world.post(author, OPENED)
    await revise(world, author, (free, free_file["cid"]), FREE, note=NOTE)
    await revise(world, author, (paid, paid_file["cid"]), REMOVED, note=NOTE)
    await fill_index(world)
    await read_texts(world)
    # The post is free for a while, and its text is indexed as free.
    world.set_price(author, opened, 0)
    await fill_index(world)
    await read_texts(world)
    await revise(world, author, (opened, opened_file["cid"]), REOPENED, note=NOTE)
    await read_texts(world)
    world.set_price(author, opened, 10**15)
    await revise(world, author, (paid, paid_file["cid"]), CORRECTED, note=NOTE)
    await fill_index(world)
    await read_texts(world)
    return author


async def replace_a_post(world: World, author: Wallet) -> None:
    """Index a post, and then replace its block with one that lacks the post."""
    file = await world.create(author, REPLACED)
    before = world.chain.snapshot()
    world.create_post(author, file["cid"], 0)
    await fill_index(world)
    await read_texts(world)
    assert world.chain.restore(before)
    world.clock.advance(5)
    world.chain.mine()
    world.chain.mine()
    await fill_index(world)
    await read_texts(world)


@pytest.mark.parametrize(
    ("records", "way"),
    [("sqlite", "plain"), ("sqlite", "browser"), ("sqlite", "session"), ("postgresql", "session")],
    indirect=["records"],
)
async def test_a_crawler_without_access_finds_no_text_of_a_paid_post_or_a_draft(
    world: World, way: str
) -> None:
    author = await populate(world)
    await replace_a_post(world, author)
    headers = {"Accept": "text/html,application/xhtml+xml"} if way == "browser" else {}
    if way == "session":
        headers = await world.login(world.stranger())
    world.clock.advance(10)
    crawl = Crawl(world, headers)
    await crawl.run(seeds(world, author))
    for address, response in crawl.seen.items():
        told = response.text + str(response.headers)
        # Responses may repeat parts of requests, but no request contained a whole canary.
        assert [canary for canary in CANARIES if canary in told] == [], address
    assert any(FREE in response.text for response in crawl.seen.values())
    for path in ("/posts/{}.md", "/posts/{}/opening"):
        assert ABOVE in crawl.seen[path.format(OPENED_ID)].text
    assert TYPO in crawl.seen["/p/1/changes"].text
    for post_id in (1, 2, OPENED_ID):
        assert NOTE in crawl.seen[f"/posts/{post_id}/revisions"].text
    for word in ("above", "twilight", "sundown", "nightfall", "daybreak"):
        found = [str(OPENED_ID)] if word == "above" else []
        response = crawl.seen[f"/posts?q={word}"]
        assert [post["id"] for post in response.json()["posts"]] == found
    assert_every_route_was_reached(world, crawl)


def assert_every_route_was_reached(world: World, crawl: Crawl) -> None:
    paths = [urlsplit(address).path for address in crawl.seen]
    unreached = {
        path
        for path, pattern in readable_paths(world).items()
        if not any(pattern.match(visited) for visited in paths)
    }
    assert unreached == set()
    # Following links must have found more than the starting points.
    assert any(path.startswith("/posts/") and path.endswith(".md") for path in paths)
    statuses = {response.status_code for response in crawl.seen.values()}
    assert 200 in statuses
    assert not [each for each, response in crawl.seen.items() if response.status_code >= 500]


@pytest.mark.parametrize("records", ["sqlite", "postgresql"], indirect=True)
async def test_entitled_readers_find_the_text_in_their_private_feeds(world: World) -> None:
    author, holder = await populate(world), world.wallet(2)
    world.buy(holder, 2)
    await fill_index(world)
    for wallet, canaries in (
        # The correction removed PAID from one post, but another post of the author contains it.
        (author, {PAID, RAISED, BELOW, CANARY_LINK, MOVED, CORRECTED}),
        (holder, {CORRECTED}),
    ):
        session = await world.login(wallet)
        feed = (await world.client.post("/me/feeds", headers=session)).json()
        text = (await world.client.get(feed["json"])).text
        assert {canary for canary in CANARIES if canary in text} == canaries
        await world.client.delete(f"/me/feeds/{feed['id']}", headers=session)
        revoked = await world.client.get(feed["json"])
        assert revoked.status_code == 404
        assert not any(canary in revoked.text for canary in CANARIES)
