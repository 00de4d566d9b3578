"""Pages over HTTP: every page in every state, page heads, response headers, and refusals."""

import json
import re
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from tests.indexed import forget_completeness, read_texts
from tests.web.conftest import EVERY_DATABASE
from tests.web.site.publication import publish
from tests.world import DEFAULT_PRICE, ORIGIN, World, open_world, problem

from imprint.domain.formats.cids import document_cid
from imprint.domain.posts.slugs import PAGE_PATHS

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    *EVERY_DATABASE,
]

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
HOSTILE = "\"><script>alert(1)</script>'&{{ 7*7 }}"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def town(tmp_path_factory: pytest.TempPathFactory, records: None) -> AsyncIterator[World]:
    folder = tmp_path_factory.mktemp("town")
    async with open_world(folder, FEDIVERSE_CREATOR="@ink@example.social") as opened:
        await opened.index()
        yield opened


async def page(world: World, path: str, status: int = 200, **headers: str) -> str:
    response = await world.client.get(path, headers={**BROWSER, **headers}, follow_redirects=True)
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    return response.text


def facts_of(text: str) -> dict[str, Any]:
    data = text.partition('id="facts">')[2].partition("</script>")[0]
    found: dict[str, Any] = json.loads(data)
    return found


async def test_an_empty_front_page_links_to_the_studio(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        await world.index()
        text = await page(world, "/")
    assert "No posts yet" in text
    assert 'href="/studio"' in text


async def test_while_the_index_is_being_built_pages_ask_to_reload(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        response = await world.client.get("/", headers=BROWSER)
        assert response.status_code == 503
        assert response.headers["retry-after"]
        assert "reload the page" in response.text
        assert problem(await world.client.get("/")) == (503, "index_unavailable")


async def test_the_front_page_shows_posts_hashtags_and_best_sellers(town: World) -> None:
    post_id = await publish(town, 1, "essay", price=DEFAULT_PRICE, title="On tides")
    town.buy(town.wallet(2), int(post_id))
    await town.index()
    text = await page(town, "/")
    assert f'<article class="card" data-id="{post_id}"' in text
    assert 'href="/t/essay"' in text
    assert "Most bought" in text
    assert "Paid to authors" not in text
    assert "Paid to authors" in await page(town, "/about")
    assert facts_of(text)["service"] == ORIGIN


async def test_the_front_and_author_pages_have_a_picture_for_link_previews(town: World) -> None:
    post_id = await publish(town, 1, title="With a picture")
    thumbnail = (await town.client.get(f"/posts/{post_id}")).json()["thumbnailCid"]
    for path in ("/", f"/a/{town.wallet(1).address.lower()}"):
        text = await page(town, path)
        assert f'<meta property="og:image" content="{ORIGIN}/ipfs/{thumbnail}">' in text


async def test_browsers_can_choose_among_several_picture_sizes(town: World) -> None:
    post_id = await publish(town, 1, title="In sizes")
    thumbnail = (await town.client.get(f"/posts/{post_id}")).json()["thumbnailCid"]
    for path in ("/", f"/p/{post_id}"):
        text = await page(town, path)
        sizes = text.partition(f'srcset="/ipfs/{thumbnail}')[2].partition('"')[0]
        assert "?img-width=384 384w, " in sizes
        assert sizes.endswith("?img-width=1920 1920w")
    response = await town.client.get(f"/ipfs/{thumbnail}?img-width=640")
    assert response.status_code == 200


async def test_dates_in_the_current_year_omit_the_year(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        post_id = await publish(world, 1)
        written = (await world.client.get(f"/posts/{post_id}")).json()["createdAt"]
        year = written[:4]
        for path in ("/", f"/p/{post_id}", f"/a/{world.wallet(1).address}"):
            text = await page(world, path)
            date = text.partition(f'<time datetime="{written}">')[2].partition("<")[0]
            assert date
            assert year not in date
        world.clock.advance(366 * 86_400)
        for path in ("/", f"/p/{post_id}", f"/a/{world.wallet(1).address}"):
            text = await page(world, path)
            assert text.partition(f'<time datetime="{written}">')[2].partition("<")[0] == (
                f"{date} {year}"
            )


@pytest.mark.parametrize("price", [0, DEFAULT_PRICE])
async def test_a_post_shows_how_long_it_takes_to_read(town: World, price: int) -> None:
    post_id = await publish(town, 6, content="word " * 1_150, price=price, title="Five minutes")
    await read_texts(town)
    assert "5 min read" in await page(town, f"/p/{post_id}")
    assert "5 min read" in await page(town, "/search?q=minutes")
    assert ("1150 words, 5 min read." in await page(town, f"/p/{post_id}")) is (price > 0)


async def test_a_post_ends_with_more_posts_by_its_author_and_then_by_others(
    tmp_path: Path,
) -> None:
    async with open_world(tmp_path) as world:
        of_others = [await publish(world, 2, title=f"Other {number}") for number in range(3)]
        own = await publish(world, 1, title="Own")
        post_id = await publish(world, 1, title="This")
        text = await page(world, f"/p/{post_id}")
        further = re.findall(r'<article class="card" data-id="(\d+)"', text)
        assert further == [own, *reversed(of_others)][:3]
        (alone,) = re.findall("<h1>(.*)</h1>", text)
        assert alone == "This"


async def test_a_post_can_be_read_while_the_index_is_being_filled(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        post_id = await publish(world, 1, title="Alone", content="Words.")
        await world.adapters.stores.database.transact((), forget_completeness)
        text = await page(world, f"/p/{post_id}")
        assert "<p>Words.</p>" in text
        assert 'class="card"' not in text


async def test_lists_are_paged_by_links(town: World) -> None:
    for number in range(21):
        await publish(town, 3, "serial", title=f"Part {number}")
    text = await page(town, "/t/serial")
    link = unescape(text.partition('rel="next" href="')[2].partition('"')[0])
    assert link.startswith("/t/serial?next_page_token=")
    following = await page(town, link)
    assert ">Part 0</a>" in following
    assert 'rel="next"' not in following
    assert '<meta name="robots" content="noindex">' in following


async def test_the_page_of_an_unused_hashtag_says_so_and_is_not_indexed(town: World) -> None:
    await publish(town, 1)
    text = await page(town, "/t/nobody-uses-this")
    assert "No posts with this hashtag yet" in text
    assert '<meta name="robots" content="noindex">' in text


async def test_the_page_of_an_author_shows_their_totals_posts_and_feed(town: World) -> None:
    post_id = await publish(town, 4, title="By four")
    address = town.wallet(4).address.lower()
    text = await page(town, f"/a/{address}")
    assert f'href="/p/{post_id}/by-four"' in text
    assert f'href="/feeds/authors/{address}.atom"' in text
    assert address in text
    assert f'href="{ORIGIN}/a/{address}"' in text


async def test_search_results_have_highlighted_matches(town: World) -> None:
    await publish(town, 5, title="About <lanterns>", content="A lantern that burns.")
    text = await page(town, "/search?q=lantern")
    assert "About &lt;lanterns&gt;" in text
    assert "<mark>" in text
    assert '<meta name="robots" content="noindex">' in text
    assert 'value="lantern"' in text


async def test_a_search_without_words_or_matches_shows_an_explanation(town: World) -> None:
    await publish(town, 5)
    assert "Put words in quotes" in await page(town, "/search")
    assert "No results" in await page(town, "/search?q=zzzzunheardof")


async def test_a_search_that_is_too_long_is_refused_on_the_search_page(town: World) -> None:
    text = await page(town, "/search?q=" + "a+" * 300, 400)
    assert "Try a shorter search" in text


async def test_a_free_post_can_be_read_without_scripts(town: World) -> None:
    post_id = await publish(town, 6, "essay", title="Free", content="# Free\n\nSome *words*.")
    text = await page(town, f"/p/{post_id}")
    assert "<p>Some <em>words</em>.</p>" in text
    assert 'data-free="true"' in text
    assert 'id="gate"' not in text
    assert '<details id="proof"' in text


async def test_a_paid_post_shows_its_price_but_none_of_its_text(town: World) -> None:
    post_id = await publish(town, 6, price=DEFAULT_PRICE, content="Secret words.")
    text = await page(town, f"/p/{post_id}")
    assert "Secret" not in text
    assert 'id="gate"' in text
    assert f"subscribePost({post_id})" in text
    assert f'data-price="{DEFAULT_PRICE}"' in text
    assert '<div id="text" class="text" hidden></div>' in text


async def test_the_page_of_a_post_that_is_not_stored_here_says_so(town: World) -> None:
    town.create_post(town.wallet(6), "bafkreielsewhere", 0)
    await town.index()
    newest = (await town.client.get("/posts")).json()["posts"][0]["id"]
    text = await page(town, f"/p/{newest}")
    assert "but its text is kept somewhere else" in text
    assert 'data-hosted="false"' in text


async def test_a_post_that_is_not_stored_here_is_not_offered_for_sale(town: World) -> None:
    entry = ("bafkreielsewhere2", "Elsewhere", "bafkreithumbnail", "", DEFAULT_PRICE, ["elsewhere"])
    town.create_post_with(town.wallet(6), entry)
    await town.index()
    newest = (await town.client.get("/posts")).json()["posts"][0]["id"]
    text = await page(town, f"/p/{newest}")
    # Scripts offer a purchase only at the element with the id `gate`.
    article, _, _ = text.partition("</article>")
    for offer in ("Buy", "subscribePost", 'id="gate"', "miniapp", "ETH.", "bought"):
        assert offer not in article
    assert "so you can’t buy it here" in text
    markdown = (await town.client.get(f"/posts/{newest}.md")).text
    assert "subscribePost" not in markdown
    assert "not sold here" in markdown
    (item,) = (await town.client.get("/feeds/tags/elsewhere.json")).json()["items"]
    assert item["content_text"] == "The text is not stored by this service."
    assert "[Elsewhere]" in (listed := (await town.client.get("/llms.txt")).text)
    assert f"/posts/{newest}.md): not stored here" in listed


async def test_a_post_that_is_no_longer_free_shows_no_text(town: World) -> None:
    post_id = await publish(town, 6, content="Once free words.")
    assert "Once free words" in await page(town, f"/p/{post_id}")
    town.set_price(town.wallet(6), int(post_id), DEFAULT_PRICE)
    town.clock.advance(60)
    text = await page(town, f"/p/{post_id}")
    assert "Once free words" not in text
    assert "This post is no longer free" in text


async def test_untrusted_text_is_escaped_on_every_page(town: World) -> None:
    post_id = await publish(
        town, 7, "hostile", title=HOSTILE, about=HOSTILE, content=HOSTILE, price=0
    )
    paths = ("/", "/t/hostile", f"/p/{post_id}", f"/a/{town.wallet(7).address}", "/search?q=alert")
    for path in paths:
        text = await page(town, path)
        assert "<script>alert" not in text
        assert "49" not in text.partition("alert(1)")[2][:40]
    text = (await town.client.get("/search", params={"q": HOSTILE})).text
    assert "<script>alert" not in text


async def test_the_html_head_of_a_post_has_link_preview_metadata_and_feeds(town: World) -> None:
    post_id = await publish(town, 8, "essay", title='Ink & "paper"', about="How.")
    text = await page(town, f"/p/{post_id}")
    thumbnail = (await town.client.get(f"/posts/{post_id}")).json()["thumbnailCid"]
    assert f'<link rel="canonical" href="{ORIGIN}/p/{post_id}/ink-paper">' in text
    assert '<meta property="og:title" content="Ink &amp; &#34;paper&#34;">' in text
    assert f'<meta property="og:image" content="{ORIGIN}/ipfs/{thumbnail}">' in text
    assert '<meta property="article:published_time" content="20' in text
    assert '<meta name="fediverse:creator" content="@ink@example.social">' in text
    card = unescape(text.partition('name="fc:miniapp" content="')[2].partition('"')[0])
    assert json.loads(card)["button"]["action"]["url"] == f"{ORIGIN}/p/{post_id}/ink-paper"
    assert 'type="application/atom+xml"' in text
    assert '<link rel="license" href="/license.xml" type="application/rsl+xml">' in text


async def test_pages_have_a_strict_policy_and_no_inline_scripts(town: World) -> None:
    post_id = await publish(town, 8)
    for path in ("/", f"/p/{post_id}/a-title", "/library", "/studio", "/search"):
        response = await town.client.get(path, headers=BROWSER)
        policy = response.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert " style=" not in response.text
        assert " onclick=" not in response.text
        if path != "/studio":
            assert 'rel="license"' in response.headers["link"]


async def test_an_unchanged_page_gets_304(town: World) -> None:
    post_id = await publish(town, 8)
    for path in ("/", f"/p/{post_id}/a-title", "/t/essay"):
        first = await town.client.get(path)
        again = await town.client.get(path, headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert first.headers["cache-control"] == "public, max-age=5, stale-while-revalidate=25"


async def test_a_page_is_compressed_for_clients_that_accept_it(town: World) -> None:
    for accepted, encoding in (("gzip, br", "gzip"), ("gzip;q=0", None), ("identity", None)):
        response = await town.client.get("/", headers={"Accept-Encoding": accepted})
        assert response.headers.get("content-encoding") == encoding
        assert "Accept-Encoding" in response.headers["vary"]
        assert response.text.startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/p/999999", 404, "not_found"),
        ("/p/x", 400, "invalid_post_id"),
        ("/a/0x12", 400, "invalid_address"),
        ("/t/a,b", 400, "invalid_tags"),
        ("/?next_page_token=x", 400, "invalid_page_token"),
        ("/search?next_page_token=x", 400, "invalid_page_token"),
        ("/nothing/here", 404, "not_found"),
    ],
)
async def test_a_problem_is_an_html_page_for_browsers_and_json_for_programs(
    town: World, path: str, status: int, code: str
) -> None:
    text = await page(town, path, status)
    assert 'href="/"' in text
    assert '<meta name="robots" content="noindex">' in text
    assert problem(await town.client.get(path)) == (status, code)


async def test_browsers_are_redirected_from_json_to_pages(town: World) -> None:
    post_id, address = await publish(town, 9), town.wallet(9).address.lower()
    for path, target in (
        (f"/posts/{post_id}", f"/p/{post_id}"),
        (f"/authors/{address}", f"/a/{address}"),
    ):
        response = await town.client.get(path, headers=BROWSER)
        assert (response.status_code, response.headers["location"]) == (303, target)
        assert (await town.client.get(path)).status_code == 200


async def test_other_urls_of_a_post_are_redirected_to_its_slug(town: World) -> None:
    post_id = await publish(town, 9, title="On “tides”, again")
    page_of_post = f"/p/{post_id}/on-tides-again"
    for path in (f"/p/{post_id}", f"/p/{post_id}/old-title", f"/p/{post_id}/On-Tides-Again"):
        response = await town.client.get(f"{path}?utm_source=a&b=%20c", headers=BROWSER)
        assert response.status_code == 301
        assert response.headers["location"] == f"{page_of_post}?utm_source=a&b=%20c"
    assert (await town.client.get(page_of_post)).status_code == 200
    sitemap = (await town.client.get("/sitemaps/0.xml")).text
    assert f"<loc>{ORIGIN}{page_of_post}</loc>" in sitemap
    for feed in ("/feeds/posts.atom", "/feeds/posts.json", "/posts"):
        assert f'"{ORIGIN}{page_of_post}"' in (await town.client.get(feed)).text


async def test_the_url_of_a_post_without_a_slug_has_only_the_id(town: World) -> None:
    for title in ("東京の夜", "Text"):
        post_id = await publish(town, 9, title=title)
        assert (await town.client.get(f"/p/{post_id}")).status_code == 200
        response = await town.client.get(f"/p/{post_id}/x", headers=BROWSER)
        assert (response.status_code, response.headers["location"]) == (301, f"/p/{post_id}")
    assert problem(await town.client.get(f"/p/{post_id}/text")) == (401, "session_missing")
    assert problem(await town.client.get("/p/999999/x")) == (404, "not_found")
    assert problem(await town.client.get("/p/x/x")) == (400, "invalid_post_id")


async def test_no_slug_equals_a_path_below_a_post_page(town: World) -> None:
    app: Any = town.app
    below = {route.path.removeprefix("/p/{id}/") for route in app.routes if "/p/" in route.path}
    assert below - {"/p/{id}", "{slug}"} == PAGE_PATHS


async def test_the_text_of_a_paid_post_is_served_only_to_holders(town: World) -> None:
    post_id = await publish(town, 9, price=DEFAULT_PRICE, content="Paid *words*.")
    reader = town.wallet(2)
    path = f"/p/{post_id}/text"
    assert problem(await town.client.get(path)) == (401, "session_missing")
    session = await town.login(reader)
    assert problem(await town.client.get(path, headers=session)) == (403, "not_entitled")
    town.buy(reader, int(post_id))
    town.clock.advance(60)
    response = await town.client.get(path, headers=session)
    assert response.text == "<p>Paid <em>words</em>.</p>\n"
    assert response.headers["cache-control"] == "private, no-store"
    assert response.headers["content-type"] == "text/html; charset=utf-8"


async def test_an_entitled_reader_gets_the_exact_document_of_the_cid(town: World) -> None:
    free = await publish(town, 9, price=0, content="Free words.")
    paid = await publish(town, 9, price=DEFAULT_PRICE, content="Paid words.")
    response = await town.client.get(f"/p/{free}/document")
    shown = (await town.client.get(f"/posts/{free}")).json()
    assert str(document_cid(response.content)) == shown["cid"]
    assert response.json()["content"] == "Free words."
    assert response.headers["cache-control"] == "private, no-store"
    path = f"/p/{paid}/document"
    assert problem(await town.client.get(path)) == (403, "not_free")
    stranger = await town.login(town.wallet(2))
    assert problem(await town.client.get(path, headers=stranger)) == (403, "not_entitled")
    author = await town.login(town.wallet(9))
    response = await town.client.get(path, headers=author)
    assert response.json()["content"] == "Paid words."


async def test_the_studio_page_has_a_new_csp_nonce_in_every_response(town: World) -> None:
    nonces = set()
    for _ in range(2):
        response = await town.client.get("/studio", headers=BROWSER)
        nonce = response.text.partition('name="style-nonce" content="')[2].partition('"')[0]
        assert f"'nonce-{nonce}'" in response.headers["content-security-policy"]
        nonces.add(nonce)
    assert len(nonces) == 2


@pytest.mark.parametrize(("decided", "prohibited"), [("permit", False), ("prohibit", True)])
async def test_the_licence_states_whether_ai_training_is_permitted(
    tmp_path: Path, decided: str, *, prohibited: bool
) -> None:
    async with open_world(tmp_path, AI_TRAINING=decided) as world:
        response = await world.client.get("/license.xml")
    assert response.headers["content-type"] == "application/rsl+xml"
    assert ('<prohibits type="usage">ai-train</prohibits>' in response.text) is prohibited


async def test_assets_are_cached_as_immutable(town: World) -> None:
    text = await page(town, "/")
    name = text.partition('<link rel="stylesheet" href="')[2].partition('"')[0]
    response = await town.client.get(name)
    assert response.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert response.headers["content-type"] == "text/css; charset=utf-8"
    assert problem(await town.client.get("/assets/none.css")) == (404, "not_found")


async def test_the_icon_and_the_manifest_are_served(town: World) -> None:
    assert (await town.client.get("/icon.svg")).headers["content-type"] == "image/svg+xml"
    assert (await town.client.get("/site.webmanifest")).json()["name"] == "Imprint"


async def test_without_the_site_pages_are_not_found(tmp_path: Path) -> None:
    async with open_world(tmp_path, SITE="off") as world:
        post_id = await publish(world, 1)
        for path in ("/", "/t/a", "/search", "/library", "/studio", "/license.xml", "/icon.svg"):
            assert problem(await world.client.get(path, headers=BROWSER)) == (404, "not_found")
        for path in (f"/p/{post_id}", f"/p/{post_id}/a-title"):
            response = await world.client.get(path, headers=BROWSER)
            assert response.headers["location"] == f"/posts/{post_id}.md"
        author = f"/authors/{world.wallet(1).address.lower()}"
        assert (await world.client.get(author, headers=BROWSER)).status_code == 200


@pytest.mark.parametrize("path", ["/posts/x", "/authors/0x12", "/posts/x.md"])
async def test_a_browser_gets_an_error_page_for_a_malformed_post_or_author_path(
    town: World, path: str
) -> None:
    assert "That address isn’t right" in await page(town, path, 400)
    assert problem(await town.client.get(path))[0] == 400


async def test_a_form_sent_to_a_page_is_refused_with_an_error_page(town: World) -> None:
    response = await town.client.post("/search", headers=BROWSER)
    assert response.status_code == 405
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert response.headers["allow"] == "GET, HEAD"
    assert problem(await town.client.post("/search")) == (405, "method_not_allowed")


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/t/web3",
        "/search",
        "/library",
        "/studio",
        "/p/{id}/a-title",
        "/a/{author}",
        "/icon.svg",
    ],
)
async def test_a_page_ignores_tracking_parameters(town: World, path: str) -> None:
    post_id = await publish(town, 1)
    path = path.format(id=post_id, author=town.wallet(1).address)
    query = "utm_source=news&fbclid=x&_=1&next_page_token=&q="
    response = await town.client.get(f"{path}?{query}", headers=BROWSER)
    assert response.status_code == 200


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("/p/{id}/?utm_source=a&b=%20c", "/p/{id}?utm_source=a&b=%20c"),
        ("/t/%C3%A4/", "/t/%C3%A4"),
        ("/posts/", "/posts"),
        ("/docs/", "/docs"),
        ("/healthz/", "/healthz"),
    ],
)
async def test_a_trailing_slash_is_redirected_and_the_query_is_kept(
    town: World, path: str, location: str
) -> None:
    post_id = await publish(town, 1)
    response = await town.client.get(path.format(id=post_id), headers=BROWSER)
    assert response.status_code == 308
    assert response.headers["location"] == location.format(id=post_id)


@pytest.mark.parametrize(
    "path", ["//", "//posts/", "/p//", "/%2Fposts/", "/nothing/", "//a.example/"]
)
async def test_a_path_with_a_double_slash_or_without_a_route_is_not_found(
    town: World, path: str
) -> None:
    assert problem(await town.client.get(f"{ORIGIN}{path}")) == (404, "not_found")
