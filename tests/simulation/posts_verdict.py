"""Compares the index, as readers see it, with the ledger of the chain."""

from datetime import UTC, datetime
from typing import Any

from tests.simulation.ledger import SECOND, Account, Ledger, Post
from tests.simulation.model import Model, SavedProfile
from tests.simulation.universe import AUTHORS, DESCRIPTIONS, READERS, TITLES, Universe

from imprint.domain.posts.search import parse_query

PAGE = 7
"""Posts per page, small enough that lists have several pages."""


PART = 0.2
"""The share of the checks at each rest, except at the end of some runs."""


async def check_posts(universe: Universe, model: Model, ledger: Ledger, whole: bool) -> None:
    """Fail if a response differs from the ledger of the chain. Unless `whole`, check a part."""
    for verdict in (_check_lists, _check_accounts, _check_libraries, _check_words, _check_texts):
        if whole or universe.random.random() < PART:
            await verdict(universe, model, ledger)


async def _check_lists(universe: Universe, model: Model, ledger: Ledger) -> None:
    newest = await read_pages(universe, "/posts", "posts", {})
    expected = sorted(ledger.posts, key=lambda post_id: -ledger.posts[post_id].place)
    assert [int(post["id"]) for post in newest] == expected
    for post in newest:
        post_id = int(post["id"])
        told, (sales, volume) = ledger.posts[post_id], ledger.sales_of(post_id)
        assert post["sales"] == {"count": sales, "volume": str(volume)}
        assert post["holders"] == ledger.holders_of(post_id)
        assert (post["price"], post["firstPrice"]) == (str(told.price), str(told.first_price))
        assert post["free"] == (told.price == 0)
        assert (post["author"], post["createdAt"]) == (told.author, _time(told.at))
        assert post["title"] == told.title.decode(errors="replace")
        profile = model.profiles.get(told.author)
        assert post["byline"] == (
            profile and {"name": profile.name, "avatarCid": profile.avatar_cid}
        )
        shown = (await universe.world.client.get(f"/posts/{post_id}")).json()
        assert shown == post | {"priceHistory": _price_history(ledger, post_id)}
    free = await read_pages(universe, "/posts", "posts", {"free": "true"})
    assert {int(post["id"]) for post in free} == {
        post_id for post_id, post in ledger.posts.items() if post.price == 0
    }
    best = await read_pages(universe, "/posts", "posts", {"sort": "sales"})
    assert [int(post["id"]) for post in best] == sorted(
        ledger.posts, key=lambda each: (ledger.sales_of(each)[0], ledger.posts[each].place)
    )[::-1]
    for tag in ("ink", "paper", "\u00e4hre"):
        tagged = await read_pages(universe, "/posts", "posts", {"tag": tag})
        assert [post["id"] for post in tagged] == [
            post["id"] for post in newest if tag in post["hashtags"]
        ]


def _price_history(ledger: Ledger, post_id: int) -> list[dict[str, str | None]]:
    """The most recent prices of a post, newest first."""
    post = ledger.posts[post_id]
    changes = [(price, at) for changed, price, at in ledger.prices.values() if changed == post_id]
    prices = [(post.first_price, post.at), *changes]
    return [{"price": str(price), "since": _time(at)} for price, at in prices[:-21:-1]]


async def _check_accounts(universe: Universe, model: Model, ledger: Ledger) -> None:
    accounts = ledger.accounts()
    readers = map(universe.world.wallet, READERS)
    for wallet in (*universe.authors, *readers):
        response = await universe.world.client.get(f"/authors/{wallet.address}")
        account = accounts.get(wallet.address, Account())
        profile = model.profiles.get(wallet.address)
        if profile is None and not account.posts:
            assert response.status_code == 404, response.text
            continue
        assert response.json() == {
            "address": wallet.address,
            "posts": account.posts,
            "sales": {"count": account.sales, "volume": str(account.volume)},
            "readers": account.readers,
            "firstPostAt": _time(account.first_post_at),
            "lastPostAt": _time(account.last_post_at),
            "profile": profile and _profile_record(wallet.address, profile),
        }
        if profile is not None and profile.picture is not None:
            picture = await universe.world.client.get(f"/ipfs/{profile.avatar_cid}")
            assert picture.content == profile.picture
    stats = (await universe.world.client.get("/stats")).json()
    totals = ledger.totals()
    for name in ("posts", "authors", "readers", "sales"):
        assert stats[name] == totals[name], name
    assert stats["volume"] == str(totals["volume"])


def _profile_record(address: str, profile: SavedProfile) -> dict[str, Any]:
    return {
        "address": address,
        "name": profile.name,
        "bio": profile.bio,
        "links": list(profile.links),
        "avatarCid": profile.avatar_cid,
        "updatedAt": profile.at.isoformat().replace("+00:00", "Z"),
    }


async def _check_libraries(universe: Universe, model: Model, ledger: Ledger) -> None:
    for wallet in map(universe.world.wallet, universe.random.sample(AUTHORS + READERS, 2)):
        session = await universe.session(wallet)
        held = await read_pages(universe, "/me/library", "posts", {}, session)
        expected = sorted(
            ((key[1], each) for key, each in ledger.holdings.items() if key[0] == wallet.address),
            key=lambda each: -each[1].arrived,
        )
        assert [(int(post["id"]), post["held"]) for post in held] == [
            (
                post_id,
                {
                    "balance": str(each.balance),
                    "boughtAt": _time(each.at),
                    "paid": None if each.paid is None else str(each.paid),
                },
            )
            for post_id, each in expected
        ]
        own = await read_pages(universe, "/me/posts", "posts", {}, session)
        written = [key for key, post in ledger.posts.items() if post.author == wallet.address]
        assert [int(post["id"]) for post in own] == sorted(
            written, key=lambda post_id: -ledger.posts[post_id].place
        )
        sold = await read_pages(universe, "/me/sales", "sales", {}, session)
        assert [
            (
                *(int(sale["postId"]), sale["buyer"], sale.get("receiver")),
                sale["price"],
                sale["title"],
            )
            for sale in sold
        ] == [
            (
                each.post_id,
                each.buyer,
                each.receiver,
                str(each.price),
                ledger.posts[each.post_id].title.decode(errors="replace"),
            )
            for _, each in sorted(ledger.purchases.items(), reverse=True)
            if ledger.posts[each.post_id].author == wallet.address
        ]


async def _check_words(universe: Universe, model: Model, ledger: Ledger) -> None:
    """Check that a word in a title or description finds exactly the posts that contain it."""

    def having(word: bytes, post_id: int, post: Post) -> bool:
        texts = post.title.split(b" ") + universe.market.description(post_id).split(b" ")
        return word in texts

    for word in (*TITLES, *DESCRIPTIONS):
        query = parse_query(word.decode())
        expected = {
            post.place for post_id, post in ledger.posts.items() if having(word, post_id, post)
        }
        matches = await universe.search.find_posts(query, None, 1_000)
        found = [each.place for each in matches.found]
        assert set(found) == expected, word
        assert found == sorted(found, reverse=True)


async def _check_texts(universe: Universe, model: Model, ledger: Ledger) -> None:
    """Check that the text of a post can be found only while the post is free."""
    for post in ledger.posts.values():
        version = model.versions.get(model.cid_of(post.spelled) or "")
        if version is None:
            continue
        (canary,) = (word for word in version.content.split() if word.startswith("canary"))
        for match in (await universe.search.find_posts(parse_query(canary), None, 10)).found:
            (shown,) = (each for each in ledger.posts.values() if each.place == match.place)
            assert shown.price == 0, f"the text of a paid post is found: {match.place}"
    places = [post.place for post in ledger.posts.values()]
    paid = {post.place for post in ledger.posts.values() if post.price}
    assert not paid & (await universe.search.public_texts(places)).keys()


async def read_pages(
    universe: Universe,
    path: str,
    member: str,
    wanted: dict[str, str],
    headers: dict[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Fetch all pages of a list."""
    found: list[dict[str, Any]] = []
    asked = {**wanted, "limit": str(PAGE)}
    while True:
        response = await universe.world.client.get(path, params=asked, headers=headers)
        assert response.status_code == 200, response.text
        found += response.json()[member]
        token = response.json()["next_page_token"]
        if token is None:
            return found
        asked = {"next_page_token": token}


def _time(micros: int | None) -> str | None:
    if micros is None:
        return None
    return datetime.fromtimestamp(micros // SECOND, UTC).isoformat().replace("+00:00", "Z")
