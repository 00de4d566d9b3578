"""Search over HTTP: what everybody can find, and what only holders can find."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from tests.web.conftest import EVERY_DATABASE
from tests.world import DEFAULT_PRICE, Wallet, World, open_world, problem

from imprint.bootstrap.background import build_indexer
from imprint.domain.drafts.files import Network
from imprint.domain.formats.cids import Cid
from imprint.domain.moderation import Decision, Ground, Measure, Show, Target, TargetKind
from imprint.services.access.entitlement import Entitlement
from imprint.services.access.reads import Reads
from imprint.services.posts.search import MOST_DOCUMENTS, UNHOSTED_TIME, SearchTexts
from imprint.services.tasks.leases import SHORT_LEASE_TIME

pytestmark = [*EVERY_DATABASE, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(loop_scope="module")
async def world(tmp_path: Path, records: None) -> AsyncIterator[World]:
    async with open_world(tmp_path, CHAIN_CACHE_SECONDS="0") as opened:
        yield opened


def texts_of(world: World) -> SearchTexts:
    adapters = world.adapters
    entitlement = Entitlement(adapters.marketplace, adapters.monotonic, timedelta(0))
    reads = Reads(
        adapters.stores.files,
        adapters.stores.revisions,
        adapters.content,
        adapters.cipher,
        entitlement,
    )
    return SearchTexts(adapters.stores.leases, adapters.stores.search, reads, world.clock)


async def index(world: World) -> None:
    """Index the chain, and then the texts of free posts."""
    await read_chain(world)
    await texts_of(world).read_pending()


async def read_chain(world: World) -> None:
    """Index the chain with a new indexer, after the previous one's lease has expired."""
    world.clock.advance(2 * SHORT_LEASE_TIME.total_seconds())
    assert await build_indexer(world.settings, world.adapters).index_once()


async def publish(
    world: World,
    wallet: Wallet,
    content: str,
    *,
    title: str = "A title",
    description: str = "",
    price: int = 0,
    tags: tuple[str, ...] = (),
) -> str:
    """Publish a document and return the post id."""
    file = await world.create(wallet, content)
    post = (file["cid"], title, "bafkreithumbnail", description, price, list(tags))
    response = await world.deliver_a(world.create_post_with(wallet, post))
    return str(response.json()["events"][0]["postId"])


async def find(world: World, text: str, path: str = "/posts", **more: Any) -> list[dict[str, Any]]:
    """All posts that a search finds, fetched page by page."""
    headers = more.pop("headers", {})
    found: list[dict[str, Any]] = []
    params = {"q": text, **more}
    while True:
        response = await world.client.get(path, params=params, headers=headers)
        assert response.status_code == 200, response.text
        page = response.json()
        found += page["posts"]
        if page["next_page_token"] is None:
            return found
        params = {"q": text, "next_page_token": page["next_page_token"]}


def ids(posts: list[dict[str, Any]]) -> list[str]:
    return [post["id"] for post in posts]


async def test_hidden_posts_leave_no_gaps_in_pages_of_search_results(world: World) -> None:
    store = world.adapters.stores.moderation
    await store.choose_shown(Show.HOSTED)
    shown = []
    for number in range(60):
        # A quarter of the posts each: not hosted, unlisted, withheld, shown.
        wallet, title = world.wallet(1), f"{'word ' * (number % 3)}number {number}"
        if number % 4 == 0:
            world.create_post_with(wallet, (f"elsewhere {number}", title, "x", "a", 0, ["ink"]))
            continue
        post_id = await publish(world, wallet, f"A word {number}.", title=title)
        if number % 4 == 3:
            shown.append(post_id)
            continue
        measure = Measure.UNLISTED if number % 4 == 1 else Measure.WITHHELD
        target = Target(TargetKind.POST, post_id)
        await store.add_decision(Decision(target, measure, Ground.POLICY, "", world.clock()))
    await index(world)
    world.clock.advance(2)
    for more in ({}, {"sort": "newest"}, {"sort": "oldest"}, {"sort": "price"}, {"free": "true"}):
        params: dict[str, Any] = {"q": "word", "limit": 4, **more}
        pages = []
        while True:
            page = (await world.client.get("/posts", params=params)).json()
            pages.append(ids(page["posts"]))
            if page["next_page_token"] is None:
                break
            params = {"q": "word", "next_page_token": page["next_page_token"]}
        assert [len(page) for page in pages] == [4, 4, 4, 3], more
        assert sorted(each for page in pages for each in page) == sorted(shown)


async def test_the_text_of_a_free_post_is_found_with_a_snippet(world: World) -> None:
    post_id = await publish(world, world.wallet(1), "A walk through the <i>Crème</i> garden & on")
    await index(world)
    (found,) = await find(world, "creme gard")
    assert found["id"] == post_id
    assert found["snippet"] == (
        "A walk through the &lt;i&gt;<mark>Crème</mark>&lt;/i&gt; <mark>garden</mark> &amp; on"
    )
    listed = (await world.client.get("/posts")).json()["posts"]
    assert "snippet" not in listed[0]


async def test_the_text_of_a_paid_post_is_found_only_by_its_holder(world: World) -> None:
    author, holder, stranger = world.wallet(1), world.wallet(2), world.wallet(3)
    post_id = await publish(world, author, "the secret canary sentence", price=DEFAULT_PRICE)
    world.buy(holder, int(post_id))
    await index(world)
    assert await find(world, "canary") == []
    theirs, others = await world.login(holder), await world.login(stranger)
    (found,) = await find(world, '"canary sentence"', "/me/library", headers=theirs)
    assert found["id"] == post_id
    assert found["snippet"] == "the secret <mark>canary</mark> <mark>sentence</mark>"
    assert found["held"]["paid"] == str(DEFAULT_PRICE)
    assert await find(world, "canary", "/me/library", headers=others) == []
    # A holder who gives the token away no longer finds the post, even before the transfer is
    # indexed.
    world.transfer(holder, stranger, int(post_id))
    assert await find(world, "canary", "/me/library", headers=theirs) == []
    await index(world)
    assert await find(world, "canary", "/me/library", headers=theirs) == []
    assert ids(await find(world, "canary", "/me/library", headers=others)) == [post_id]


async def test_the_chain_decides_whether_a_text_is_indexed_as_free(world: World) -> None:
    """The price is raised after the post is indexed but before its text is read."""
    author = world.wallet(1)
    post_id = await publish(world, author, "canary words")
    await read_chain(world)
    world.set_price(author, int(post_id), 5)
    await texts_of(world).read_pending()
    assert await find(world, "canary") == []


async def test_a_price_removes_a_text_from_search_and_a_price_of_0_restores_it(
    world: World,
) -> None:
    author = world.wallet(1)
    post_id = await publish(world, author, "canary words")
    await index(world)
    assert ids(await find(world, "canary")) == [post_id]
    world.set_price(author, int(post_id), 5)
    await read_chain(world)
    assert await find(world, "canary") == []
    world.set_price(author, int(post_id), 0)
    await index(world)
    assert ids(await find(world, "canary")) == [post_id]


async def test_a_library_is_searched_a_few_documents_at_a_time(world: World) -> None:
    author, holder = world.wallet(1), world.wallet(2)
    bought = []
    for number in range(MOST_DOCUMENTS + 3):
        text = "the canary" if number < 2 else "nothing"
        post_id = await publish(world, author, f"{text} {number}", price=1)
        world.buy(holder, int(post_id), 1)
        bought.append(post_id)
    await index(world)
    headers = await world.login(holder)
    first = await world.client.get("/me/library", params={"q": "canary"}, headers=headers)
    assert first.json()["posts"] == []
    assert first.headers["cache-control"] == "private, no-store"
    found = await find(world, "canary", "/me/library", headers=headers, limit=1)
    assert ids(found) == [bought[1], bought[0]]


async def test_matches_are_ranked_and_paged(world: World) -> None:
    author = world.wallet(1)
    in_title = await publish(world, author, "x", title="garden", price=1)
    in_tags = await publish(world, author, "x", tags=("garden",), price=3)
    in_description = await publish(world, author, "x", description="my garden", price=2)
    in_text = await publish(world, author, "in the garden")
    prefix = await publish(world, author, "x", title="gardening", price=4)
    await index(world)
    ranked = [in_title, prefix, in_tags, in_description, in_text]
    assert ids(await find(world, "garden")) == ranked
    assert ids(await find(world, "garden", limit=2)) == ranked
    newest = [prefix, in_text, in_description, in_tags, in_title]
    assert ids(await find(world, "garden", sort="newest", limit=2)) == newest
    assert ids(await find(world, "garden", sort="oldest")) == newest[::-1]
    assert ids(await find(world, "garden", sort="price")) == [
        *(prefix, in_tags, in_description, in_title, in_text)
    ]
    assert ids(await find(world, "garden", free="true")) == [in_text]
    assert ids(await find(world, "garden", tag="garden")) == [in_tags]


async def test_new_posts_do_not_shift_the_next_page_of_matches(world: World) -> None:
    author = world.wallet(1)
    known = [await publish(world, author, "x", title="word") for _ in range(3)]
    await index(world)
    params: dict[str, Any] = {"q": "word", "limit": 2}
    first = (await world.client.get("/posts", params=params)).json()
    await publish(world, author, "x", title="word")
    await index(world)
    params = {"next_page_token": first["next_page_token"]}
    second = (await world.client.get("/posts", params=params)).json()
    assert ids(first["posts"] + second["posts"]) == known[::-1]
    assert second["next_page_token"] is None


async def test_a_page_token_is_valid_only_for_its_search(world: World) -> None:
    for _ in range(2):
        await publish(world, world.wallet(1), "x", title="word")
    await index(world)
    page = (await world.client.get("/posts", params={"q": "word", "limit": 1})).json()
    other = {"q": "other", "next_page_token": page["next_page_token"]}
    refused = await world.client.get("/posts", params=other)
    assert problem(refused) == (400, "invalid_page_token")


async def test_each_spelling_of_a_query_has_its_own_page_tokens(world: World) -> None:
    for _ in range(2):
        await publish(world, world.wallet(1), "x", title="word")
    await index(world)
    for text in ("word", "WORD", "wörd", "word"):
        asked: dict[str, Any] = {"q": text, "limit": 1}
        first = (await world.client.get("/posts", params=asked)).json()
        asked["next_page_token"] = first["next_page_token"]
        second = await world.client.get("/posts", params=asked)
        assert second.status_code == 200, text
        assert len({*ids(first["posts"]), *ids(second.json()["posts"])}) == 2


@pytest.mark.parametrize("text", ["!!!", '"', "***", "()", "\x00"])
async def test_a_search_without_words_finds_nothing(world: World, text: str) -> None:
    await publish(world, world.wallet(1), "words")
    await index(world)
    assert await find(world, text) == []


async def test_an_empty_query_lists_all_posts(world: World) -> None:
    await publish(world, world.wallet(1), "words")
    await index(world)
    response = await world.client.get("/posts", params={"q": ""})
    assert [post.get("snippet") for post in response.json()["posts"]] == [None]


@pytest.mark.parametrize("text", ["x" * 201, "w " * 17])
async def test_a_search_that_is_too_long_is_refused(world: World, text: str) -> None:
    headers = await world.login(world.wallet(1))
    for path in ("/posts", "/me/library"):
        response = await world.client.get(path, params={"q": text}, headers=headers)
        assert problem(response) == (400, "invalid_request")


async def test_a_repeated_search_parameter_is_refused(world: World) -> None:
    assert problem(await world.client.get("/posts?q=a&q=b")) == (400, "invalid_request")


async def test_sales_cannot_be_searched(world: World) -> None:
    headers = await world.login(world.wallet(1))
    response = await world.client.get("/me/sales", params={"q": "a"}, headers=headers)
    assert problem(response) == (400, "invalid_request")


async def test_a_missing_document_is_skipped_and_not_retried(world: World) -> None:
    author = world.wallet(1)
    file = await world.create(author, "canary")
    await world.deliver_a(world.create_post(author, file["cid"], 0))
    await world.adapters.content.remove(Cid(file["cid"]), Network.PRIVATE)
    await index(world)
    assert await find(world, "canary") == []
    assert await world.adapters.stores.search.pending_texts(0, 10) == []
    assert len(await find(world, "title")) == 1


async def test_a_post_whose_file_is_not_stored_here_is_retried_for_some_minutes(
    world: World,
) -> None:
    world.create_post(world.wallet(1), "bafkreielsewhere", 0)
    await index(world)
    assert len(await world.adapters.stores.search.pending_texts(0, 10)) == 1
    world.clock.advance(UNHOSTED_TIME.total_seconds() + 60)
    await texts_of(world).read_pending()
    assert await world.adapters.stores.search.pending_texts(0, 10) == []


async def test_searching_a_library_without_the_chain_gets_503(world: World) -> None:
    author, holder = world.wallet(1), world.wallet(2)
    post_id = await publish(world, author, "canary", price=1)
    world.buy(holder, int(post_id), 1)
    await index(world)
    headers = await world.login(holder)
    world.node.fault = lambda said: b"nonsense"
    response = await world.client.get("/me/library", params={"q": "canary"}, headers=headers)
    assert problem(response) == (503, "chain_unavailable")
