"""Private feeds are managed by their reader, and fetched with the feed's token."""

import logging
from pathlib import Path
from typing import Any

import httpx2
import pytest
from prometheus_client import REGISTRY, generate_latest
from tests.indexed import fill_index
from tests.world import Wallet, World, open_world, problem

from imprint.bootstrap import build_service, open_adapters
from imprint.bootstrap.background import build_collector
from imprint.domain.posts.feeds import MAX_ENTRY_BYTES
from imprint.services.drafts.garbage_collector import FEED_MEMORY

pytestmark = pytest.mark.parametrize("records", ["sqlite", "postgresql"], indirect=True)


async def make(world: World, wallet: Wallet) -> tuple[dict[str, str], dict[str, str]]:
    """Create a private feed for a wallet. Returns it with the session that created it."""
    session = await world.login(wallet)
    response = await world.client.post("/me/feeds", headers=session)
    assert response.status_code == 201, response.text
    return response.json(), session


async def fetch(world: World, address: str) -> httpx2.Response:
    """Fetch a feed URL like a feed reader would, without a session."""
    return await world.client.get(address)


async def test_a_private_feed_has_the_text_of_posts_that_its_reader_holds_or_wrote(
    world: World,
) -> None:
    author, holder, other = world.wallet(1), world.wallet(2), world.wallet(3)
    post_id, _ = await world.post(author, "Words for sale.")
    world.buy(holder, post_id)
    await fill_index(world)
    for wallet, reads in ((author, True), (holder, True), (other, False)):
        feed, _ = await make(world, wallet)
        for ending in ("atom", "json"):
            response = await fetch(world, feed[ending])
            assert response.status_code == 200, response.text
            assert ("Words for sale." in response.text) is reads
            assert response.headers["cache-control"] == "private, no-store"
            assert response.headers["x-robots-tag"] == "noindex"
            assert "etag" not in response.headers


async def test_a_former_holder_gets_no_text_even_before_the_transfer_is_indexed(
    world: World,
) -> None:
    author, holder, other = world.wallet(1), world.wallet(2), world.wallet(3)
    post_id, _ = await world.post(author, "Words for sale.")
    world.buy(holder, post_id)
    await fill_index(world)
    feed, _ = await make(world, holder)
    assert "Words for sale." in (await fetch(world, feed["atom"])).text
    world.transfer(holder, other, post_id)
    world.clock.advance(10)
    assert "Words for sale." not in (await fetch(world, feed["atom"])).text
    await fill_index(world)
    assert "<entry>" not in (await fetch(world, feed["atom"])).text


async def test_a_rotated_feed_has_new_urls_and_the_old_ones_stop_working(world: World) -> None:
    await fill_index(world)
    feed, session = await make(world, world.wallet(1))
    response = await world.client.post(f"/me/feeds/{feed['id']}", headers=session, json={})
    assert response.status_code == 200
    rotated = response.json()
    assert rotated["id"] == feed["id"]
    assert problem(await fetch(world, feed["atom"])) == (404, "not_found")
    assert (await fetch(world, rotated["json"])).status_code == 200


async def test_a_feed_rotated_or_removed_on_one_replica_is_gone_on_another(
    world: World,
) -> None:
    post_id, _ = await world.post(world.wallet(1), "Words for sale.")
    world.buy(world.wallet(2), post_id)
    await fill_index(world)
    adapters = open_adapters(world.settings, world.clock, world.clock.monotonic)
    transport = httpx2.ASGITransport(build_service(world.settings, adapters))
    async with httpx2.AsyncClient(transport=transport) as other:
        feed, session = await make(world, world.wallet(2))
        path = f"/me/feeds/{feed['id']}"
        for _ in range(3):
            assert "Words for sale." in (await other.get(feed["atom"])).text
            rotated = await world.client.post(path, headers=session, json={})
            assert problem(await other.get(feed["atom"])) == (404, "not_found")
            feed = rotated.json()
        assert "Words for sale." in (await other.get(feed["json"])).text
        await world.client.delete(path, headers=session)
        assert problem(await other.get(feed["json"])) == (404, "not_found")
    await adapters.close()


async def test_an_invalid_feed_id_is_not_found(world: World) -> None:
    session = await world.login(world.wallet(1))
    for feed_id in ("%00", "x%00", "%F0%9F%98%80", "x" * 5_000, "%20", "."):
        for method in ("POST", "DELETE"):
            response = await world.client.request(method, f"/me/feeds/{feed_id}x", headers=session)
            assert problem(response) == (404, "not_found")


async def test_a_removed_feed_is_not_found(world: World) -> None:
    await fill_index(world)
    feed, session = await make(world, world.wallet(1))
    gone = await world.client.delete(f"/me/feeds/{feed['id']}", headers=session)
    assert (gone.status_code, gone.content) == (204, b"")
    assert problem(await fetch(world, feed["atom"])) == (404, "not_found")
    again = await world.client.delete(f"/me/feeds/{feed['id']}", headers=session)
    assert problem(again) == (404, "not_found")


async def test_feeds_are_listed_without_their_urls(world: World) -> None:
    await fill_index(world)
    feed, session = await make(world, world.wallet(1))
    listed = await world.client.get("/me/feeds", headers=session)
    (found,) = listed.json()["feeds"]
    assert found["id"] == feed["id"]
    assert found["fetchedAt"] is None
    assert listed.headers["cache-control"] == "private, no-store"
    await fetch(world, feed["atom"])
    (found,) = (await world.client.get("/me/feeds", headers=session)).json()["feeds"]
    assert found["fetchedAt"] is not None


async def test_a_reader_has_at_most_ten_feeds(world: World) -> None:
    wallet = world.wallet(1)
    session = await world.login(wallet)
    for _ in range(10):
        assert (await world.client.post("/me/feeds", headers=session)).status_code == 201
    refused = await world.client.post("/me/feeds", headers=session)
    assert problem(refused) == (409, "too_many_feeds")


async def test_another_readers_private_feed_gets_404(world: World) -> None:
    feed, _ = await make(world, world.wallet(1))
    session = await world.login(world.wallet(2))
    path = f"/me/feeds/{feed['id']}"
    assert problem(await world.client.post(path, headers=session)) == (404, "not_found")
    assert problem(await world.client.delete(path, headers=session)) == (404, "not_found")
    assert (await world.client.get("/me/feeds", headers=session)).json() == {"feeds": []}


async def test_managing_feeds_needs_a_session(world: World) -> None:
    for method, path in (
        ("GET", "/me/feeds"),
        ("POST", "/me/feeds"),
        ("POST", "/me/feeds/x"),
        ("DELETE", "/me/feeds/x"),
    ):
        assert problem(await world.client.request(method, path)) == (401, "session_missing")


async def test_a_body_that_is_not_an_empty_object_is_refused(world: World) -> None:
    session = await world.login(world.wallet(1))
    for body, code in (
        (b"[]", "invalid_request"),
        (b'{"a":1}', "invalid_request"),
        (b"{", "invalid_json"),
    ):
        response = await world.client.post("/me/feeds", headers=session, content=body)
        assert problem(response) == (400, code)


async def test_the_number_of_feeds_created_per_client_and_minute_is_limited(
    tmp_path: Path, records: None
) -> None:
    async with open_world(tmp_path, RATE_LIMITS="on", RATE_SIGNED="3/60") as world:
        _, session = await make(world, world.wallet(1))
        made = await world.client.post("/me/feeds", headers=session)
        refused = await world.client.post("/me/feeds", headers=session)
        assert (made.status_code, problem(refused)) == (201, (429, "rate_limited"))
        assert (await world.client.get("/me/feeds", headers=session)).status_code == 200


async def test_a_feed_with_an_unknown_token_is_not_found(world: World) -> None:
    for token in ("x", "A" * 43, "A" * 5_000, "%00", "..%2f"):
        response = await world.client.get(f"/feeds/private/{token}.atom")
        assert problem(response) == (404, "not_found")


async def test_a_private_feed_is_unavailable_without_the_chain(world: World) -> None:
    await world.post(world.wallet(1), "Words for sale.")
    await fill_index(world)
    feed, _ = await make(world, world.wallet(1))
    world.node.fault = lambda said: b"nonsense"
    assert problem(await fetch(world, feed["atom"])) == (503, "chain_unavailable")


async def test_the_token_appears_in_no_log_metric_or_problem(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    await world.post(world.wallet(1), "Words for sale.")
    await fill_index(world)
    feed, session = await make(world, world.wallet(1))
    token = feed["atom"].rpartition("/")[2].removesuffix(".atom")
    assert len(token) == 43
    with caplog.at_level(logging.DEBUG):
        await fetch(world, feed["atom"])
        world.clock.advance(10)
        world.node.fault = lambda said: b"nonsense"
        failed = await fetch(world, feed["json"])
        await world.client.delete(f"/me/feeds/{feed['id']}", headers=session)
        refused = await fetch(world, feed["atom"])
        unrouted = await fetch(world, feed["atom"].removesuffix(".atom"))
        misplaced = await fetch(world, f"/elsewhere/feeds/private/{token}.atom")
        for spelled in (
            "/FEEDS/private",
            "/feeds/Private",
            "/feeds/%70rivate",
            "/feeds/%2570rivate",
        ):
            await fetch(world, f"{spelled}/{token}.atom")
    own = [record for record in caplog.records if record.name.startswith("imprint")]
    assert any(record.__dict__.get("path") == "/feeds/private/…" for record in own)
    assert not any(token in str(record.__dict__) for record in own)
    for response in (failed, refused, unrouted, misplaced):
        assert token not in response.text
    assert token not in generate_latest(REGISTRY).decode()


async def all_pages(world: World, address: str) -> list[dict[str, Any]]:
    """Fetch all pages of a JSON Feed like a feed reader would."""
    pages: list[dict[str, Any]] = []
    following: str | None = address
    while following is not None:
        response = await fetch(world, following)
        assert response.status_code == 200, response.text
        pages.append(response.json())
        following = pages[-1].get("next_url")
        assert len(pages) < 20
    return pages


def ids_on(pages: list[dict[str, Any]]) -> list[int]:
    return [int(item["_imprint"]["id"]) for page in pages for item in page["items"]]


async def test_the_pages_contain_each_post_that_the_reader_holds_or_wrote_once(
    world: World,
) -> None:
    author, reader = world.wallet(1), world.wallet(2)
    expected = []
    for number in range(104):
        wallet = reader if number % 3 == 0 else author
        post_id, _ = await world.post(wallet, f"Words {number}.")
        expected.append(post_id)
        if wallet is author:
            world.buy(reader, post_id)
        elif number % 2:
            # Sold, and given back.
            world.buy(author, post_id)
            world.transfer(author, reader, post_id)
    await world.post(author, "Held by nobody.")
    await fill_index(world)
    feed, _ = await make(world, reader)
    pages = await all_pages(world, feed["json"])
    assert ids_on(pages) == expected[::-1]
    assert all(item["_imprint"]["hasText"] for page in pages for item in page["items"])
    assert [len(page["items"]) for page in pages[:2]] == [50, 50]
    assert [page["feed_url"] for page in pages[1:]] == [page["next_url"] for page in pages[:-1]]
    first = (await fetch(world, feed["atom"])).text
    following = pages[0]["next_url"].replace(".json?", ".atom?")
    assert f'<link rel="next" type="application/atom+xml" href="{following}"/>' in first
    second = (await fetch(world, following)).text
    assert second.count("<entry>") == 50
    assert f'rel="self" type="application/atom+xml" href="{following}"' in second


async def test_a_page_ends_before_its_texts_exceed_the_size_limit(world: World) -> None:
    author = world.wallet(1)
    lengths = [100, *(2 * MAX_ENTRY_BYTES,) * 5, 100]
    posts = [(await world.post(author, "x" * length))[0] for length in lengths]
    await fill_index(world)
    feed, _ = await make(world, author)
    pages = await all_pages(world, feed["json"])
    newest = posts[::-1]
    assert [ids_on([page]) for page in pages] == [newest[:4], newest[4:]]
    assert all(item["_imprint"]["hasText"] for page in pages for item in page["items"])


async def test_the_before_parameter_must_be_a_number(world: World) -> None:
    await fill_index(world)
    feed, _ = await make(world, world.wallet(1))
    for query in ("before=01", "before=-1", "before=x", "before=1&before=2"):
        for ending in ("atom", "json"):
            refused = await fetch(world, f"{feed[ending]}?{query}")
            assert problem(refused) == (400, "invalid_request")
    refused = await fetch(world, f"{feed['json']}?before={10**18}")
    assert problem(refused) == (400, "invalid_request")
    for query in (f"before={10**18 - 1}", "before=", "utm_source=news"):
        assert (await fetch(world, f"{feed['json']}?{query}")).status_code == 200


async def test_a_feed_is_kept_as_long_as_it_is_fetched(world: World) -> None:
    feed, _ = await make(world, world.wallet(1))
    unused, _ = await make(world, world.wallet(1))
    await fill_index(world)
    collector = build_collector(world.settings, world.adapters)
    for _ in range(2):
        world.clock.advance(FEED_MEMORY.total_seconds() - 1)
        await collector.collect()
        assert (await fetch(world, feed["atom"])).status_code == 200
    assert problem(await fetch(world, unused["atom"])) == (404, "not_found")
    session = await world.login(world.wallet(1))
    listed = await world.client.get("/me/feeds", headers=session)
    assert [each["id"] for each in listed.json()["feeds"]] == [feed["id"]]
