"""A reader's library and an author's sales over HTTP, visible only in their own sessions."""

import csv
import io
from typing import Any

import pytest
from tests.web.conftest import EVERY_DATABASE
from tests.world import DEFAULT_PRICE, Wallet, World, problem

pytestmark = [pytest.mark.asyncio(loop_scope="module"), *EVERY_DATABASE]


async def _walk(world: World, path: str, wallet: Wallet, member: str, limit: int) -> list[Any]:
    session = await world.login(wallet)
    shown: list[Any] = []
    params: dict[str, str] = {"limit": str(limit)}
    while True:
        response = await world.client.get(path, params=params, headers=session)
        assert response.status_code == 200, response.text
        assert len(response.json()[member]) <= limit
        shown += response.json()[member]
        token = response.json()["next_page_token"]
        if token is None:
            return shown
        params = {"next_page_token": token}


async def test_a_library_contains_bought_and_received_posts(town: World) -> None:
    alice, bob, carol = town.wallet(1), town.wallet(2), town.wallet(3)
    ids = [(await town.post(alice))[0] for _ in range(3)]
    for post_id in ids:
        town.buy(bob, post_id)
    town.transfer(bob, carol, ids[1])
    await town.index()
    held = await _walk(town, "/me/library", bob, "posts", 1)
    assert [post["id"] for post in held] == [str(ids[2]), str(ids[0])]
    assert held[0]["held"]["balance"] == "1"
    assert held[0]["held"]["paid"] == str(DEFAULT_PRICE)
    (gift,) = await _walk(town, "/me/library", carol, "posts", 5)
    assert gift["id"] == str(ids[1])
    assert gift["held"]["paid"] is None
    assert gift["held"]["boughtAt"] >= gift["createdAt"]
    shown = (await town.client.get(f"/posts/{ids[1]}")).json()
    assert gift == {name: shown[name] for name in shown if name != "priceHistory"} | {
        "held": gift["held"]
    }


async def test_a_token_given_away_and_returned_keeps_its_purchase_price(town: World) -> None:
    alice, bob, carol = town.wallet(1), town.wallet(6), town.wallet(7)
    post_id, _ = await town.post(alice)
    town.buy(bob, post_id)
    await town.index()
    (bought,) = await _walk(town, "/me/library", bob, "posts", 5)
    town.transfer(bob, carol, post_id)
    await town.index()
    assert await _walk(town, "/me/library", bob, "posts", 5) == []
    town.transfer(carol, bob, post_id)
    await town.index()
    assert await _walk(town, "/me/library", bob, "posts", 5) == [bought]
    assert bought["held"]["paid"] == str(DEFAULT_PRICE)


async def test_an_author_sees_only_their_own_sales(town: World) -> None:
    alice, bob = town.wallet(4), town.wallet(5)
    post_id, _ = await town.post(alice, price=7)
    other, _ = await town.post(bob, price=8)
    blocks = [town.buy(town.wallet(n), post_id, 7) for n in (6, 7)]
    town.buy(alice, other, 8)
    await town.index()
    sales = await _walk(town, "/me/sales", alice, "sales", 1)
    assert [sale["buyer"] for sale in sales] == [town.wallet(n).address.lower() for n in (7, 6)]
    assert list(sales[0]) == ["postId", "buyer", "price", "at", "block", "transaction", "title"]
    assert (sales[0]["postId"], sales[0]["price"]) == (str(post_id), "7")
    post = (await town.client.get(f"/posts/{post_id}")).json()
    assert [sale["title"] for sale in sales] == [post["title"]] * 2
    assert [sale["block"]["number"] for sale in sales] == [each.number for each in blocks[::-1]]


async def test_sales_as_csv_have_a_header_row_and_a_next_link(town: World) -> None:
    alice = town.wallet(8)
    post_id, _ = await town.post(alice, price=7)
    for number in (5, 6, 7):
        town.buy(town.wallet(number), post_id, 7)
    await town.index()
    session = await town.login(alice) | {"Accept": "text/csv"}
    response = await town.client.get("/me/sales?limit=2", headers=session)
    assert response.headers["content-type"].startswith("text/csv")
    assert response.headers["cache-control"] == "private, no-store"
    assert "Accept" in response.headers["vary"]
    assert response.text.endswith("\r\n")
    names, *rows = csv.reader(io.StringIO(response.text, newline=""))
    assert names == [
        *("postId", "buyer", "price", "at", "blockNumber", "blockHash", "transaction"),
        *("title", "amount", "coin", "receiver"),
    ]
    assert [row[8:] for row in rows] == [["0.000000000000000007", "ETH", ""]] * 2
    assert [row[1] for row in rows] == [town.wallet(n).address.lower() for n in (7, 6)]
    link = response.headers["link"]
    assert link.endswith('>; rel="next"')
    following = await town.client.get(link[1 : link.index(">")], headers=session)
    assert [row[1] for row in list(csv.reader(io.StringIO(following.text)))[1:]] == [
        town.wallet(5).address.lower()
    ]
    assert "link" not in following.headers
    same = session | {"If-None-Match": response.headers["etag"]}
    assert (await town.client.get("/me/sales?limit=2", headers=same)).status_code == 304
    assert (await town.client.get("/me/sales?limit=1", headers=same)).status_code == 200


async def test_an_author_lists_all_of_their_own_posts(town: World) -> None:
    alice, bob = town.wallet(2), town.wallet(9)
    before = len(await _walk(town, "/me/posts", alice, "posts", 50))
    ids = [(await town.post(alice))[0] for _ in range(3)]
    await town.post(bob)
    await town.index()
    own = await _walk(town, "/me/posts", alice, "posts", 2)
    assert [post["id"] for post in own[:3]] == [str(each) for each in reversed(ids)]
    assert len(own) == before + 3
    shown = (await town.client.get(f"/posts/{ids[0]}")).json()
    assert own[2] == {name: shown[name] for name in shown if name != "priceHistory"} | {
        "measure": None
    }


async def test_a_page_token_for_own_posts_reveals_no_hidden_posts_in_public_lists(
    town: World,
) -> None:
    alice = town.wallet(2)
    for _ in range(2):
        await town.post(alice)
    await town.index()
    session = await town.login(alice)
    token = (await town.client.get("/me/posts?limit=1", headers=session)).json()["next_page_token"]
    response = await town.client.get("/posts", params={"next_page_token": token})
    assert problem(response) == (400, "invalid_page_token")


@pytest.mark.parametrize("path", ["/me/library", "/me/posts", "/me/sales"])
async def test_personal_lists_need_a_session_and_are_never_cached(town: World, path: str) -> None:
    await town.index()
    assert problem(await town.client.get(path)) == (401, "session_missing")
    session = await town.login(town.stranger())
    response = await town.client.get(path, headers=session)
    assert response.status_code == 200
    assert response.headers["cache-control"] == "private, no-store"
    again = await town.client.get(
        path, headers=session | {"If-None-Match": response.headers["etag"]}
    )
    assert again.status_code == 304
    for query in ("limit=0", "limit=51", "user=0x", "next_page_token=1&next_page_token=2"):
        refused = await town.client.get(f"{path}?{query}", headers=session)
        assert refused.status_code == 400, query


async def test_a_page_token_for_another_readers_library_is_refused(town: World) -> None:
    alice, bob, eve = town.wallet(1), town.wallet(9), town.wallet(6)
    for _ in range(2):
        post_id, _ = await town.post(alice)
        town.buy(bob, post_id)
    await town.index()
    session = await town.login(bob)
    first = await town.client.get("/me/library?limit=1", headers=session)
    params = {"next_page_token": first.json()["next_page_token"]}
    other = await town.login(eve)
    for path in ("/me/library", "/me/posts", "/me/sales"):
        response = await town.client.get(path, params=params, headers=other)
        assert problem(response) == (400, "invalid_page_token")
    response = await town.client.get("/me/sales", params=params, headers=session)
    assert problem(response) == (400, "invalid_page_token")
