"""Public feeds: their contents, who may see them, and how long copies stay current."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import httpx2
import pytest
from tests.indexed import fill_index, forget_completeness
from tests.world import ORIGIN, World, open_world, problem

from imprint.domain.posts.feeds import MAX_ENTRY_BYTES, MAX_FEED_BYTES, Feed
from imprint.web.api import feeds
from imprint.web.api.atom import write_atom
from imprint.web.api.feed_links import FeedLinks

pytestmark = pytest.mark.parametrize("records", ["sqlite", "postgresql"], indirect=True)

ATOM = "{http://www.w3.org/2005/Atom}"
PUBLIC = ("/feeds/posts", "/feeds/tags/ink", "/feeds/authors/{author}")


def entries(response: httpx2.Response) -> list[ElementTree.Element]:
    """The entries of an Atom document, after checking Atom's required elements."""
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/atom+xml"
    feed = ElementTree.fromstring(response.content)
    for part in (feed, *feed.findall(f"{ATOM}entry")):
        for name in ("id", "title", "updated"):
            assert len(part.findall(f"{ATOM}{name}")) == 1
    found = feed.findall(f"{ATOM}entry")
    for entry in found:
        assert entry.find(f"{ATOM}author/{ATOM}name") is not None
        links = [link.get("rel") for link in entry.findall(f"{ATOM}link")]
        assert links == ["alternate"]
    ids = [entry.findtext(f"{ATOM}id") for entry in found]
    assert len(set(ids)) == len(ids)
    return found


def items(response: httpx2.Response) -> list[dict[str, Any]]:
    """The items of a JSON Feed."""
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/feed+json"
    feed = response.json()
    assert feed["version"] == "https://jsonfeed.org/version/1.1"
    for item in feed["items"]:
        has_text = item["_imprint"]["hasText"]
        assert item.keys() & {"content_html", "content_text"} == {
            "content_html" if has_text else "content_text"
        }
    return list(feed["items"])


async def publish(
    world: World, content: str, price: int, title: str = "A title", text: str = "About it."
) -> int:
    """Publish a post with the hashtag `ink` by the first wallet, and return its id."""
    author = world.wallet(1)
    file = await world.create(author, content)
    post = (file["cid"], title, "bafkreithumbnail", text, price, ["ink"])
    response = await world.deliver_a(world.create_post_with(author, post))
    await fill_index(world)
    return int(response.json()["events"][0]["postId"])


async def test_a_feed_has_the_text_of_a_free_post_but_only_the_price_of_a_paid_one(
    world: World,
) -> None:
    await publish(world, "Words for everybody.", 0)
    await publish(world, "Words for sale.", 10**16)
    for path in PUBLIC:
        await expect_texts(world, path.format(author=world.wallet(1).address))


async def expect_texts(world: World, path: str) -> None:
    """Check that a feed shows a paid post with its price and a free one with its text."""
    paid, free = entries(await world.client.get(f"{path}.atom"))
    assert free.findtext(f"{ATOM}content") == "<p>Words for everybody.</p>"
    assert paid.find(f"{ATOM}content") is None
    assert paid.findtext(f"{ATOM}summary") == "About it.\n\nPrice: 0.01 ETH"
    price = paid.find("{urn:imprint:feed}price")
    assert price is not None
    assert (price.get("wei"), price.text) == (str(10**16), "0.01 ETH")
    assert [tag.get("term") for tag in paid.findall(f"{ATOM}category")] == ["ink"]
    paid_item, free_item = items(await world.client.get(f"{path}.json"))
    assert free_item["content_html"] == "<p>Words for everybody.</p>"
    assert paid_item["content_text"] == "About it.\n\nPrice: 0.01 ETH"
    assert paid_item["_imprint"]["price"] == str(10**16)
    assert [paid_item["id"], free_item["id"]] == [
        entry.findtext(f"{ATOM}id") for entry in (paid, free)
    ]


async def test_a_price_raised_on_chain_hides_the_text_before_it_is_indexed(
    world: World,
) -> None:
    post_id = await publish(world, "Words for everybody.", 0)
    assert "everybody" in (await world.client.get("/feeds/posts.json")).text
    world.set_price(world.wallet(1), post_id, 5)
    world.clock.advance(10)
    assert "everybody" not in (await world.client.get("/feeds/posts.json")).text
    assert "everybody" not in (await world.client.get(f"/posts/{post_id}.md")).text


async def test_a_feed_without_free_posts_needs_no_chain(world: World) -> None:
    await publish(world, "Words for sale.", 10**16)
    world.node.fault = lambda said: b"nonsense"
    assert len(entries(await world.client.get("/feeds/posts.atom"))) == 1


async def test_a_feed_with_a_free_post_is_unavailable_without_the_chain(world: World) -> None:
    await publish(world, "Words for everybody.", 0)
    world.node.fault = lambda said: b"nonsense"
    for path in ("/feeds/posts.atom", "/feeds/tags/ink.json", "/posts/1.md"):
        assert problem(await world.client.get(path)) == (503, "chain_unavailable")


SHOWN = ("/feeds/posts.atom", "/feeds/tags/ink.json", "/posts/{}.md", "/p/{}")
"""Paths that still show a free post for an hour after the chain last responded."""


async def texts_of(world: World, post_id: int) -> set[int | str]:
    """Return the status of each path in `SHOWN`, or `text` if the response has the post's text."""
    html = {"Accept": "text/html"}
    paths = [path.format(post_id) for path in SHOWN]
    found = [await world.client.get(each, headers=html, follow_redirects=True) for each in paths]
    return {"text" if "everybody" in each.text else each.status_code for each in found}


async def test_free_posts_are_shown_for_an_hour_after_the_last_chain_response(world: World) -> None:
    post_id = await publish(world, "Words for everybody.", 0)
    assert await texts_of(world, post_id) == {"text"}
    world.node.fault = lambda said: b"nonsense"
    world.clock.advance(60)
    assert await texts_of(world, post_id) == {"text"}
    asked = world.node.asked
    assert await texts_of(world, post_id) == {"text"}
    assert world.node.asked == asked
    for path in (f"/freeFileByPostId?postId={post_id}", f"/posts/{post_id}/content"):
        assert problem(await world.client.get(path)) == (503, "chain_unavailable")
    world.clock.advance(3540)
    assert await texts_of(world, post_id) == {503}
    world.node.fault = None
    assert await texts_of(world, post_id) == {"text"}


async def test_a_post_denied_by_the_chain_stays_hidden_while_the_node_is_down(world: World) -> None:
    post_id = await publish(world, "Words for everybody.", 0)
    world.set_price(world.wallet(1), post_id, 5)
    assert await texts_of(world, post_id) == {200, 402}
    world.node.fault = lambda said: b"nonsense"
    world.clock.advance(60)
    assert await texts_of(world, post_id) == {503}


async def test_a_price_change_delivered_while_the_node_is_down_takes_effect(world: World) -> None:
    post_id = await publish(world, "Words for everybody.", 0)
    assert await texts_of(world, post_id) == {"text"}
    world.node.fault = lambda said: b"nonsense"
    world.clock.advance(60)
    await world.deliver_a(world.set_price(world.wallet(1), post_id, 5))
    assert await texts_of(world, post_id) == {503}


async def test_a_conditional_request_gets_304_until_the_feed_changes(world: World) -> None:
    post_id = await publish(world, "Words for everybody.", 0)
    for path in ("/feeds/posts.atom", "/feeds/posts.json"):
        first = await world.client.get(path)
        tagged = {"If-None-Match": first.headers["etag"]}
        dated = {"If-Modified-Since": first.headers["last-modified"]}
        for headers in (tagged, dated):
            again = await world.client.get(path, headers=headers)
            assert (again.status_code, again.content) == (304, b"")
            assert again.headers["etag"] == first.headers["etag"]
        both = dated | {"If-None-Match": '"other"'}
        assert (await world.client.get(path, headers=both)).status_code == 200
    world.clock.advance(60)
    world.set_price(world.wallet(1), post_id, 5)
    await fill_index(world)
    for headers in (tagged, dated):
        assert (await world.client.get(path, headers=headers)).status_code == 200


async def test_the_feed_of_an_unused_hashtag_is_empty(world: World) -> None:
    await fill_index(world)
    assert entries(await world.client.get("/feeds/tags/unused.atom")) == []
    assert items(await world.client.get("/feeds/tags/unused.json")) == []


async def test_a_feed_is_unavailable_while_the_index_is_being_built(world: World) -> None:
    post_id = await publish(world, "Words.", 0)
    author = world.wallet(1)
    session = await world.login(author)
    made = await world.client.post("/me/feeds", headers=session)
    paths = [f"{path.format(author=author.address)}.json" for path in PUBLIC]
    paths.append(made.json()["json"])
    for path in paths:
        assert [item["_imprint"]["id"] for item in items(await world.client.get(path))] == ["1"]
    # As in the middle of a rebuild: the index has this post, but newer ones may be missing.
    stores = world.adapters.stores
    await stores.database.transact((), forget_completeness)
    assert (await world.client.get(f"/posts/{post_id}")).status_code == 200
    for path in paths:
        assert problem(await world.client.get(path)) == (503, "index_unavailable"), path
    unknown = await world.client.get("/feeds/private/unknown.json")
    assert problem(unknown) == (404, "not_found")


async def test_all_spellings_of_a_hashtag_have_the_same_feed(world: World) -> None:
    await publish(world, "Words.", 0)
    one, other = [await world.client.get(f"/feeds/tags/{tag}.atom") for tag in ("ink", "%23INK")]
    assert one.content == other.content


async def test_an_address_without_posts_has_no_feed(world: World) -> None:
    path = f"/feeds/authors/{world.stranger().address}.atom"
    assert problem(await world.client.get(path)) == (503, "index_unavailable")
    await fill_index(world)
    assert problem(await world.client.get(path)) == (404, "not_found")


async def test_feeds_and_crawler_files_ignore_unknown_parameters(world: World) -> None:
    await world.index()
    for path in (
        "/feeds/posts.atom",
        "/llms.txt",
        "/robots.txt",
        "/sitemap.xml",
        "/sitemaps/0.xml",
    ):
        response = await world.client.get(f"{path}?utm_source=news")
        assert response.status_code == 200


async def test_a_sitemap_page_beyond_the_end_is_not_found(world: World) -> None:
    await world.index()
    for path in ("/sitemaps/1.xml", "/sitemaps/999999999999.xml", "/sitemaps/x.xml"):
        assert problem(await world.client.get(path)) == (404, "not_found")


async def test_invalid_parameters_are_refused(world: World) -> None:
    for path, code in (
        ("/feeds/tags/a,b.atom", "invalid_tags"),
        ("/feeds/tags/a,a.atom", "invalid_tags"),
        ("/feeds/tags/a.b.json", "invalid_tags"),
        ("/feeds/authors/0x12.atom", "invalid_address"),
        ("/posts/01.md", "invalid_post_id"),
        ("/p/x", "invalid_post_id"),
    ):
        assert problem(await world.client.get(path)) == (400, code)


HOSTILE = [
    "</title><script>alert(1)</script>",
    "]]> &amp; & \" ' <!--",
    "\x00\x01\x08\x0b\x1b\x7f\x85",
    "\u202eevil\u2066\u2069\ufffe\uffff\U0001fffe",
    "\ud7ff\ue000\U0010ffff 👻",
    "[x](javascript:alert(1)) ![y](https://evil.example/z) <img src=x>",
]


async def test_feeds_stay_well_formed_for_any_title_and_description(world: World) -> None:
    for number, title in enumerate(HOSTILE):
        await publish(world, f"Words {number}.", 0, title, title[::-1])
    shown = entries(await world.client.get("/feeds/posts.atom"))[::-1]
    for title, entry in zip(HOSTILE, shown, strict=True):
        kept = [char for char in title if char >= " " and char not in "\ufffe\uffff"]
        text = entry.findtext(f"{ATOM}title") or ""
        assert [char for char in text if char != "\ufffd"] == kept
    listed = items(await world.client.get("/feeds/posts.json"))[::-1]
    assert [item["title"] for item in listed] == HOSTILE
    ElementTree.fromstring((await world.client.get("/sitemaps/0.xml")).content)


async def test_a_feed_and_its_headers_name_the_websub_hub(tmp_path: Any, records: None) -> None:
    hub = "https://hub.example/publish"
    async with open_world(tmp_path, WEBSUB_HUB=hub) as world:
        await fill_index(world)
        for ending in ("atom", "json"):
            response = await world.client.get(f"/feeds/posts.{ending}")
            own = f"http://imprint.test/feeds/posts.{ending}"
            assert response.headers["link"] == f'<{hub}>; rel="hub", <{own}>; rel="self"'
            assert hub in response.text
        assert json.loads(response.text)["hubs"] == [{"type": "WebSub", "url": hub}]


async def test_a_long_text_ends_with_a_link_to_its_page(world: World) -> None:
    long_id = await publish(world, "Long. \n\n" * 20_000, 0)
    await publish(world, "Short.", 0)
    short, long = items(await world.client.get("/feeds/posts.json"))
    assert short["content_html"] == "<p>Short.</p>"
    text, _, end = long["content_html"].rpartition("\n")
    assert MAX_ENTRY_BYTES // 2 < len(text) <= MAX_ENTRY_BYTES
    assert text.endswith("<p>Long.</p>")
    page = f"{ORIGIN}/p/{long_id}/a-title"
    assert end == f'<p><a href="{page}">Read the whole post on its page.</a></p>'


async def test_a_feed_of_many_long_texts_has_the_newest_and_links_to_the_others(
    world: World,
) -> None:
    for _ in range(10):
        await publish(world, f"{'Words. ' * 150}\n\n" * 950, 0)
    for ending in ("atom", "json"):
        response = await world.client.get(f"/feeds/posts.{ending}")
        assert MAX_FEED_BYTES // 2 < len(response.content) < 3 * MAX_FEED_BYTES
    listed = items(response)
    assert [item["_imprint"]["hasText"] for item in listed] == [True] * 7 + [False] * 3
    assert listed[-1]["content_text"] == "About it.\n\nRead it on its page."


async def test_a_feed_is_rendered_once_until_its_content_changes(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Feed] = []

    def count(feed: Feed, texts: Mapping[int, str], links: FeedLinks) -> bytes:
        written.append(feed)
        return write_atom(feed, texts, links)

    monkeypatch.setitem(feeds.WRITERS, "atom", count)
    await publish(world, "First words.", 0)
    first = await world.client.get("/feeds/posts.atom")
    second = await world.client.get("/feeds/posts.atom")
    assert (first.content, first.headers["etag"]) == (second.content, second.headers["etag"])
    assert len(written) == 1
    await publish(world, "Second words.", 0)
    assert len(entries(await world.client.get("/feeds/posts.atom"))) == 2
    assert len(written) == 2


async def test_a_feed_has_the_name_of_the_service_and_links_to_its_page(
    tmp_path: Path, records: None
) -> None:
    async with open_world(tmp_path, PUBLICATION_NAME="Quills & Co") as world:
        await publish(world, "Words.", 0)
        author = world.wallet(1).address.lower()
        for path, title, page in (
            ("/feeds/posts", "Quills & Co: newest posts", "/"),
            ("/feeds/tags/%C3%A4hre", "Quills & Co: #ähre", "/t/%C3%A4hre"),
            (f"/feeds/authors/{author}", f"Quills & Co: posts of {author}", f"/a/{author}"),
        ):
            feed = (await world.client.get(f"{path}.json")).json()
            assert (feed["title"], feed["home_page_url"]) == (title, ORIGIN + page)
            atom = ElementTree.fromstring((await world.client.get(f"{path}.atom")).content)
            assert atom.findtext(f"{ATOM}title") == title
            links = {each.get("rel"): each.get("href") for each in atom.findall(f"{ATOM}link")}
            assert links["alternate"] == ORIGIN + page
        assert (await world.client.get("/llms.txt")).text.startswith("# Quills &amp; Co\n")
