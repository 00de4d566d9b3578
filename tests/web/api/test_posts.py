"""Posts over HTTP: the contents of lists, posts and authors, and invalid requests."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.web.api.test_outages import Breakable, Faults
from tests.web.conftest import EVERY_DATABASE
from tests.world import DEFAULT_PRICE, ORIGIN, Wallet, World, open_world, problem

from imprint.bootstrap import Adapters
from imprint.domain.errors import Unavailable

pytestmark = [pytest.mark.asyncio(loop_scope="module"), *EVERY_DATABASE]

HOSTILE = "\u202e<script>alert(1)</script>\x00\x1b[31m\"'&\u2028\ud83d\ude00".encode(
    "utf-16", "surrogatepass"
).decode("utf-16")


async def _post(world: World, wallet: int, *tags: str, price: int = DEFAULT_PRICE) -> str:
    """Publish a post with these hashtags, and return its id."""
    file = await world.create(world.wallet(wallet))
    entry = (file["cid"], f"Title {wallet}", "bafythumb", "About it", price, list(tags))
    block = world.create_post_with(world.wallet(wallet), entry)
    (event,) = (await world.deliver_a(block)).json()["events"]
    return str(event["postId"])


async def _walk(world: World, headers: dict[str, str] | None = None, **query: Any) -> list[str]:
    """The ids of all posts in a list, fetched page by page."""
    ids: list[str] = []
    params = query
    while True:
        response = await world.client.get("/posts", params=params, headers=headers)
        assert response.status_code == 200, response.text
        ids += [post["id"] for post in response.json()["posts"]]
        token = response.json()["next_page_token"]
        if token is None:
            return ids
        params = {"next_page_token": token}


async def test_a_post_combines_data_from_the_chain_and_the_catalog(town: World) -> None:
    alice, bob = town.wallet(1), town.wallet(2)
    post_id = await _post(town, 1, "essay")
    bought = town.buy(bob, int(post_id))
    await town.index()
    response = await town.client.get(f"/posts/{post_id}")
    post = response.json()
    assert list(post) == [
        *("id", "author", "cid", "thumbnailCid", "title", "description", "price", "firstPrice"),
        *("free", "hashtags", "hosted", "createdAt", "block", "transaction", "sales", "holders"),
        *("links", "byline", "words", "opening", "revision", "priceHistory"),
    ]
    assert post["id"] == post_id
    assert post["author"] == alice.address.lower()
    assert (post["title"], post["description"]) == ("Title 1", "About it")
    assert (post["price"], post["firstPrice"]) == (str(DEFAULT_PRICE),) * 2
    assert post["hosted"] is True
    assert post["free"] is False
    assert post["sales"] == {"count": 1, "volume": str(DEFAULT_PRICE)}
    assert post["holders"] >= 1
    assert post["block"]["number"] == bought.number - 1
    assert datetime.fromisoformat(post["createdAt"]).tzinfo is UTC or post["createdAt"][-1] == "Z"
    assert post["links"] == {
        "self": f"{ORIGIN}/posts/{post_id}",
        "content": f"{ORIGIN}/posts/{post_id}/content",
        "page": f"{ORIGIN}/p/{post_id}/title-1",
    }


async def test_a_post_shows_its_price_history_with_dates(town: World) -> None:
    alice = town.wallet(1)
    post_id = await _post(town, 1, price=5)
    blocks = [town.set_price(alice, int(post_id), price) for price in (0, 7)]
    await town.index()
    post = (await town.client.get(f"/posts/{post_id}")).json()
    (listed,) = (await town.client.get("/posts?limit=1")).json()["posts"]
    assert [each["price"] for each in post["priceHistory"]] == ["7", "0", "5"]
    since = [datetime.fromisoformat(each["since"]) for each in post["priceHistory"]]
    assert [each.timestamp() for each in since[:2]] == [each.timestamp for each in blocks[::-1]]
    assert post["priceHistory"][2]["since"] == post["createdAt"]
    assert listed == {name: post[name] for name in post if name != "priceHistory"}


async def test_hostile_text_is_returned_unchanged_in_json(town: World) -> None:
    entry = ("no cid at all", HOSTILE, HOSTILE[:20], HOSTILE, 0, [])
    town.create_post_with(town.wallet(3), entry)
    await town.index()
    params = {"author": town.wallet(3).address}
    (post,) = (await town.client.get("/posts", params=params)).json()["posts"]
    assert (post["title"], post["description"]) == (HOSTILE, HOSTILE)
    assert post["cid"] == "no cid at all"
    assert post["hosted"] is False


async def test_a_list_is_filtered_ordered_and_paged(town: World) -> None:
    ids = [await _post(town, 4, price=price) for price in (5, 0, 7, 5, 0)]
    town.buy(town.wallet(5), int(ids[3]), 5)
    await town.index()
    who = {"author": town.wallet(4).address}
    newest = ids[::-1]
    for limit in (1, 2, 5):
        assert await _walk(town, **who, limit=limit) == newest
    assert await _walk(town, **who, sort="newest") == newest
    assert await _walk(town, **who, sort="oldest", limit=2) == ids
    assert await _walk(town, **who, sort="price", limit=2) == [ids[n] for n in (2, 3, 0, 4, 1)]
    assert await _walk(town, **who, sort="sales", limit=2) == [ids[n] for n in (3, 4, 2, 1, 0)]
    assert await _walk(town, **who, free="true") == [ids[4], ids[1]]
    assert await _walk(town, **who, free="false") == [ids[n] for n in (3, 2, 0)]
    assert await _walk(town, **who, minPrice="5", maxPrice="6") == [ids[3], ids[0]]
    assert await _walk(town, **who, free="true", minPrice="1") == []


async def test_filtering_by_several_hashtags_finds_posts_that_have_all_of_them(town: World) -> None:
    both = await _post(town, 6, "Größe", "ink")
    one = await _post(town, 6, "ink")
    await town.index()
    who = ("author", town.wallet(6).address)
    url = "/posts"
    response = await town.client.get(url, params=[who, ("tag", "INK")])
    assert [post["id"] for post in response.json()["posts"]] == [one, both]
    response = await town.client.get(url, params=[who, ("tag", "#größe"), ("tag", "ink")])
    assert [post["id"] for post in response.json()["posts"]] == [both]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("limit=0", "invalid_request"),
        ("limit=51", "invalid_request"),
        ("limit=1&limit=1", "invalid_request"),
        ("limit=+5", "invalid_request"),
        ("limit=٣", "invalid_request"),
        ("free=yes", "invalid_request"),
        ("minPrice=-1", "invalid_request"),
        ("minPrice=01", "invalid_request"),
        (f"maxPrice={2**256}", "invalid_request"),
        ("minPrice=2&maxPrice=1", "invalid_request"),
        ("sort=best", "invalid_request"),
        ("sort=newest&sort=newest", "invalid_request"),
        ("author=alice", "invalid_address"),
        ("tag=a,b", "invalid_tags"),
        ("tag=a b", "invalid_tags"),
        ("&".join(["tag=a"] * 11), "invalid_tags"),
        ("next_page_token=AAAA", "invalid_page_token"),
        ("next_page_token=" + "A" * 5000, "invalid_page_token"),
        ("page=2", "invalid_request"),
        ("Tag=a", "invalid_request"),
        ("tag=a&" + "x" * 9000, "invalid_request"),
    ],
)
async def test_a_malformed_parameter_is_refused(town: World, query: str, code: str) -> None:
    assert problem(await town.client.get(f"/posts?{query}")) == (400, code)


async def test_an_empty_parameter_counts_as_not_given(town: World) -> None:
    names = ["tag", "author", "free", "minPrice", "maxPrice", "q", "sort", "limit"]
    empty = "&".join(f"{name}=" for name in [*names, "next_page_token", "unknown"])
    response = await town.client.get(f"/posts?{empty}&tag=")
    assert response.json() == (await town.client.get("/posts")).json()
    one = await town.client.get("/posts?limit=&limit=1")
    assert len(one.json()["posts"]) == 1


@pytest.mark.parametrize("path", ["/posts", "/posts/1", "/posts/1/content", "/stats"])
async def test_the_refusal_of_unknown_parameters_names_them(town: World, path: str) -> None:
    response = await town.client.get(f"{path}?utm_source=a&b=1&c=1&d=1&{'x' * 90}=1")
    assert problem(response) == (400, "invalid_request")
    assert "'utm_source', 'b', 'c', …" in response.json()["detail"]
    response = await town.client.get(f"{path}?{'x' * 90}=1")
    assert f"'{'x' * 40}'." in response.json()["detail"]


@pytest.mark.parametrize("text", ["x", "01", "-1", "1.0", "١", str(2**256), "9" * 5000, "%00"])
@pytest.mark.parametrize("rest", ["", "/content"])
async def test_an_id_is_a_plain_decimal_number(town: World, text: str, rest: str) -> None:
    response = await town.client.get(f"/posts/{text}{rest}")
    assert problem(response) == (400, "invalid_post_id")


async def test_unexpected_parameters_are_refused(town: World) -> None:
    address = town.wallet(1).address
    for path in ("/posts/1", "/posts/1/content", f"/authors/{address}", "/stats"):
        assert problem(await town.client.get(f"{path}?x=1")) == (400, "invalid_request"), path


async def test_a_nonexistent_post_is_not_found(town: World) -> None:
    await town.index()
    assert problem(await town.client.get(f"/posts/{2**256 - 1}")) == (404, "not_found")
    assert problem(await town.client.get(f"/posts/{2**255}/content")) == (404, "not_found")


async def test_a_page_token_is_valid_only_for_its_list(town: World) -> None:
    for _ in range(2):
        await _post(town, 7, "token")
    await town.index()
    who = {"author": town.wallet(7).address, "tag": "token", "limit": "1"}
    token = (await town.client.get("/posts", params=who)).json()["next_page_token"]
    same = who | {"next_page_token": token}
    assert len((await town.client.get("/posts", params=same)).json()["posts"]) == 1
    for other in ({"tag": "other"}, {"sort": "oldest"}, {"free": "true"}, {"minPrice": "1"}):
        response = await town.client.get("/posts", params={"next_page_token": token} | other)
        assert problem(response) == (400, "invalid_page_token"), other
    forged = token[:-1] + ("A" if token[-1] != "A" else "B")
    response = await town.client.get("/posts", params={"next_page_token": forged})
    assert problem(response) == (400, "invalid_page_token")
    session = await town.login(town.wallet(7))
    for path in ("/me/library", "/me/posts", "/me/sales"):
        response = await town.client.get(path, params={"next_page_token": token}, headers=session)
        assert problem(response) == (400, "invalid_page_token")


async def test_an_unchanged_page_keeps_its_etag(town: World) -> None:
    for _ in range(2):
        await _post(town, 8)
    await town.index()
    params = {"author": town.wallet(8).address, "limit": "1"}
    first = await town.client.get("/posts", params=params)
    assert first.json()["next_page_token"] is not None
    assert first.headers["cache-control"] == "public, max-age=5"
    tag = first.headers["etag"]
    await town.create(town.stranger())
    again = await town.client.get("/posts", params=params, headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == tag
    await _post(town, 8)
    await town.index()
    changed = await town.client.get("/posts", params=params, headers={"If-None-Match": tag})
    assert changed.status_code == 200
    assert changed.headers["etag"] != tag


async def test_a_head_request_has_the_headers_of_a_get_request(town: World) -> None:
    await town.index()
    got, head = await town.client.get("/posts"), await town.client.head("/posts")
    assert head.headers["etag"] == got.headers["etag"]
    assert head.headers["content-length"] == str(len(got.content))


async def test_a_browser_is_redirected_to_the_page_of_a_post(town: World) -> None:
    post_id = await _post(town, 1)
    await town.index()
    html = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
    response = await town.client.get(f"/posts/{post_id}", headers=html)
    assert (response.status_code, response.headers["location"]) == (303, f"/p/{post_id}")
    assert response.headers["vary"].startswith("Accept")
    for accept in ("*/*", "application/json", "application/json, text/html;q=0.9", "text/html;q=0"):
        response = await town.client.get(f"/posts/{post_id}", headers={"Accept": accept})
        assert response.status_code == 200, accept
        assert response.headers["vary"].startswith("Accept")


async def test_content_follows_the_same_access_rules_as_the_other_reads(town: World) -> None:
    alice, bob, eve = town.wallet(1), town.wallet(2), town.wallet(9)
    paid, free = await _post(town, 1), await _post(town, 1, price=0)
    town.buy(bob, int(paid))
    path = f"/posts/{paid}/content"
    assert problem(await town.client.get(path)) == (402, "payment_required")
    session = await town.login(eve)
    assert problem(await town.client.get(path, headers=session)) == (402, "payment_required")
    for reader in (alice, bob):
        session = await town.login(reader)
        response = await town.client.get(path, headers=session)
        first = (await town.read_post(reader, int(paid), session)).json()
        assert response.json() == {**first, "revision": 0}
        assert response.headers["cache-control"] == "private, no-store"
        assert response.headers["vary"].startswith("Authorization")
    response = await town.client.get(f"/posts/{free}/content")
    assert response.json() == {**(await town.read_free(free)).json(), "revision": 0}
    assert response.headers["cache-control"] == "public, max-age=5"
    assert response.headers["vary"].startswith("Authorization")
    wrong = {"Authorization": "Bearer nonsense"}
    response = await town.client.get(f"/posts/{free}/content", headers=wrong)
    assert problem(response) == (401, "session_invalid")


async def test_an_author_record_contains_the_counts_of_posts_and_sales(town: World) -> None:
    author, reader = town.wallet(9), town.wallet(2)
    first, second = await _post(town, 9), await _post(town, 9, price=3)
    town.buy(reader, int(first))
    town.buy(reader, int(second), 3)
    await town.index()
    response = await town.client.get(f"/authors/{author.account.address}")
    shown = response.json()
    assert list(shown) == [
        "address",
        "posts",
        "sales",
        "readers",
        "firstPostAt",
        "lastPostAt",
        "profile",
    ]
    assert shown["address"] == author.address.lower()
    assert shown["posts"] == 2
    assert shown["sales"] == {"count": 2, "volume": str(DEFAULT_PRICE + 3)}
    assert shown["readers"] >= 1
    for nobody in (town.stranger().address, reader.address.replace("0x", "0x")[:-1] + "0"):
        response = await town.client.get(f"/authors/{nobody.lower()}")
        assert problem(response) == (404, "not_found")
    assert problem(await town.client.get("/authors/0x12")) == (400, "invalid_address")


async def test_stats_cover_ninety_days_and_give_amounts_as_strings(town: World) -> None:
    await _post(town, 1)
    # Blocks are a second apart but the clock stands still, so the chain may be ahead of it.
    town.clock.advance(max(0, town.chain.head.timestamp - town.clock.seconds))
    await town.index()
    response = await town.client.get("/stats")
    stats = response.json()
    assert list(stats) == ["posts", "authors", "readers", "sales", "volume", "days"]
    assert len(stats["days"]) == 90
    today = town.clock.now().date()
    days = [(today - timedelta(days=n)).isoformat() for n in range(90)]
    assert [day["day"] for day in stats["days"]] == days[::-1]
    assert stats["days"][0] == {"day": days[-1], "posts": 0, "sales": 0, "volume": "0"}
    assert sum(day["posts"] for day in stats["days"]) == stats["posts"] > 0
    assert isinstance(stats["volume"], str)
    assert response.headers["etag"]


async def test_requests_get_503_and_never_404_while_the_index_is_being_built(
    tmp_path: Path, records: None
) -> None:
    async with open_world(tmp_path) as world:
        session = await world.login(world.wallet(1))
        address = world.wallet(1).address
        for path in ("/posts", "/posts/1", f"/authors/{address}", "/stats"):
            response = await world.client.get(path)
            assert problem(response) == (503, "index_unavailable"), path
            assert int(response.headers["retry-after"]) >= 1
        for path in ("/me/library", "/me/posts", "/me/sales"):
            response = await world.client.get(path, headers=session)
            assert problem(response) == (503, "index_unavailable"), path
        await world.index()
        assert (await world.client.get("/posts")).json() == {"posts": [], "next_page_token": None}
        assert problem(await world.client.get("/posts/1")) == (404, "not_found")


async def test_a_gift_is_a_sale_to_its_buyer_and_belongs_to_its_receiver(
    tmp_path: Path, records: None
) -> None:
    async with open_world(tmp_path, adapter=True) as world:
        payer, friend = world.wallet(2), world.wallet(3)
        for _ in range(2):
            await _post(world, 1)
        adapter = world.settings.chain.adapter
        assert adapter is not None
        world.buy_through(adapter, payer, [1], friend)
        world.buy_through(adapter, payer, [1, 2], payer)
        await world.index()

        async def read(path: str, wallet: Wallet) -> Any:
            return (await world.client.get(path, headers=await world.login(wallet))).json()

        sales = (await read("/me/sales", world.wallet(1)))["sales"]
        assert [(sale["postId"], sale["buyer"], sale.get("receiver")) for sale in sales] == [
            ("2", payer.address, None),
            ("1", payer.address, None),
            ("1", payer.address, friend.address),
        ]
        (gift,) = (await read("/me/library", friend))["posts"]
        assert (gift["id"], gift["held"]["paid"]) == ("1", None)
        own = (await read("/me/library", payer))["posts"]
        assert [(post["id"], post["held"]["paid"]) for post in own] == [
            ("2", str(DEFAULT_PRICE)),
            ("1", str(DEFAULT_PRICE)),
        ]
        totals = (await world.client.get("/stats")).json()
        assert (totals["sales"], totals["readers"]) == (3, 2)
        response = await world.client.get(
            "/me/sales",
            headers=await world.login(world.wallet(1)) | {"Accept": "text/csv"},
        )
        assert [line.split(",")[-1] for line in response.text.splitlines()] == [
            "receiver",
            "",
            "",
            friend.address,
        ]


async def test_an_expired_page_token_is_refused(tmp_path: Path, records: None) -> None:
    async with open_world(tmp_path) as world:
        for _ in range(2):
            await _post(world, 1)
        await world.index()
        token = (await world.client.get("/posts?limit=1")).json()["next_page_token"]
        world.clock.advance(23 * 3600)
        response = await world.client.get("/posts", params={"next_page_token": token})
        assert response.status_code == 200
        world.clock.advance(25 * 3600)
        response = await world.client.get("/posts", params={"next_page_token": token})
        assert problem(response) == (400, "invalid_page_token")


async def test_without_a_node_the_index_still_works_but_content_gets_503(
    tmp_path: Path, records: None
) -> None:
    async with open_world(tmp_path) as world:
        post_id = await _post(world, 1, price=0)
        await world.index()
        await world.node.stop()
        assert (await world.client.get("/posts")).json()["posts"][0]["id"] == post_id
        response = await world.client.get(f"/posts/{post_id}/content")
        assert problem(response) == (503, "chain_unavailable")


async def test_the_index_reveals_nothing_about_a_draft(town: World) -> None:
    draft = await town.create(town.wallet(1), "Nobody has read this.")
    town.create_post(town.wallet(2), draft["cid"])
    await town.index()
    params = {"author": town.wallet(2).address, "limit": "1"}
    (post,) = (await town.client.get("/posts", params=params)).json()["posts"]
    assert post["cid"] == draft["cid"]
    assert post["hosted"] is False
    assert "Nobody has read" not in json.dumps(post)


async def test_requests_to_the_index_get_503_without_a_database(
    tmp_path: Path, records: None
) -> None:
    faults = Faults(Unavailable.database)

    def adapt(parts: Adapters) -> Adapters:
        index_reader: Any = Breakable(parts.stores.index_reader, faults)
        return replace(parts, stores=replace(parts.stores, index_reader=index_reader))

    steps = [
        ("list_posts", "/posts"),
        ("list_posts", "/me/posts"),
        ("priced_post", "/posts/1"),
        ("account", "/authors/0x" + "1" * 40),
        ("library", "/me/library"),
        ("sales_of", "/me/sales"),
        ("totals", "/stats"),
        ("is_complete", "/stats"),
    ]
    async with open_world(tmp_path, adapt=adapt) as world:
        await world.index()
        session = await world.login(world.wallet(1))
        for step, path in steps:
            faults.broken = {step}
            response = await world.client.get(path, headers=session)
            assert problem(response) == (503, "database_unavailable")
            assert int(response.headers["retry-after"]) >= 1


async def test_a_post_has_the_hashtags_of_its_publish_request_or_else_of_the_chain(
    town: World,
) -> None:
    for asked, on_chain, shown in (
        ("draft", ["chain"], ["draft"]),
        ("", ["chain"], ["chain"]),
        ("draft", [], ["draft"]),
        ("", [], []),
    ):
        for indexed_first in (True, False):
            author = town.wallet(7)
            file = await town.create(author)
            thumbnail = await town.publish(author, file["cid"], asked)
            entry = (file["cid"], "Title", thumbnail, "About", 0, on_chain)
            block = town.create_post_with(author, entry)
            if indexed_first:
                await town.index()
            (event,) = (await town.deliver_a(block)).json()["events"]
            await town.index()
            post = (await town.client.get(f"/posts/{event['postId']}")).json()
            assert post["hashtags"] == shown
            assert (await town.metadata(file["cid"]))["hashtags"] == shown
            for tag in ("draft", "chain"):
                files = (await town.client.get("/filesByTags", params={"tags": tag})).json()
                found = file["cid"] in [each["cid"] for each in files["files"]]
                assert found is (tag in shown)
