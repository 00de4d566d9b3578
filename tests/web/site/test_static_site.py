"""Static copies of the public site are reproducible, and have no private data or broken links."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from tests.indexed import fill_index, read_texts
from tests.revisions import revise
from tests.web.site.publication import publish
from tests.web.site.static_files import (
    BASE,
    SECRET,
    broken_links,
    elements_in,
    export,
    files_in,
    many_posts,
)
from tests.web.site.test_crawl import (
    ABOVE,
    CANARIES,
    FREE,
    TYPO,
    populate,
    replace_a_post,
)
from tests.web.site.test_measures import decide
from tests.world import ORIGIN, World

from imprint.bootstrap.static_site import SiteFormat
from imprint.domain.moderation import Measure, TargetKind
from imprint.ports.archives import NotExported

pytestmark = pytest.mark.parametrize("records", ["sqlite", "postgresql"], indirect=True)

POSTS = 70
"""Number of posts: enough for the front page, a hashtag and an author to have several pages."""


def texts_in(folder: Path) -> str:
    return "\n".join(each.decode("utf-8", "replace") for each in files_in(folder).values())


@pytest.mark.parametrize("site_format", [*SiteFormat])
async def test_a_static_copy_has_no_text_of_a_paid_post_or_a_draft(
    world: World, tmp_path: Path, site_format: SiteFormat
) -> None:
    author = await populate(world)
    await replace_a_post(world, author)
    await export(world, tmp_path / "copy", site_format=site_format)
    text = texts_in(tmp_path / "copy")
    assert [canary for canary in CANARIES if canary in text] == []
    assert FREE in text
    assert ABOVE in text


async def test_exporting_the_same_posts_on_another_day_gives_the_same_bytes(
    tmp_path: Path, records: None
) -> None:
    async with many_posts(tmp_path / "data", POSTS) as world:
        assert await export(world, tmp_path / "one") == POSTS
        world.clock.advance(400 * 86400)
        await export(world, tmp_path / "other")
    first = files_in(tmp_path / "one")
    assert first == files_in(tmp_path / "other")
    assert not any(SECRET.encode() in each for each in first.values())
    assert {"posts/page-4/index.html", "t/all/page-4/index.html"} <= first.keys()
    assert list(broken_links(tmp_path / "one")) == []


@pytest.mark.parametrize("base", [BASE, f"{BASE}/blog/2025"])
async def test_a_static_copy_with_every_kind_of_post_has_no_broken_links(
    world: World, tmp_path: Path, base: str
) -> None:
    author = await populate(world)
    links = "[a](/p/1/first) [b](/p/999) [c](/studio?x=1&y=2) [d](/p/4#post) [e](/a/0x12)"
    more = (
        f"[f](/t/%2e) [g]({base}/p/1) [h](//other.example/) [i](/p/1/text) ![j](/ipfs/bafkreinope)"
    )
    files = f"[k](/assets/{'a' * 256}.js) [l](/assets/%2e%2e/%2e%2e/x) [m](/assets/)"
    await world.post(author, f'{links} {more} {files} href="/p/1"', 0)
    await fill_index(world)
    await export(world, tmp_path / "copy", base)
    assert list(broken_links(tmp_path / "copy", base)) == []
    page = next(each for each in files_in(tmp_path / "copy").values() if b'href="/p/1"' in each)
    assert f'href="{ORIGIN}/studio?x=1&amp;y=2"'.encode() in page


async def test_a_static_copy_that_replaces_the_service_has_no_links_to_it(
    world: World, tmp_path: Path
) -> None:
    author = await populate(world)
    await world.post(author, f"[a](/search?q=1) [b]({ORIGIN}/studio) [c](/p/999)", 0)
    await fill_index(world)
    await export(world, tmp_path / "copy", ORIGIN)
    broken = broken_links(tmp_path / "copy", ORIGIN)
    assert [each for each in broken if each[0].endswith(".html")] == []
    page = (tmp_path / "copy/p/2/a-title/index.html").read_text()
    assert "subscribePost(2)" in page


async def test_pages_of_a_static_copy_do_not_need_the_service(world: World, tmp_path: Path) -> None:
    await populate(world)
    await export(world, tmp_path / "copy")
    dead = {"form", "input", "button", "iframe", "textarea", "select", "noscript"}
    assert elements_in(tmp_path / "copy") & dead == set()
    pages = {
        name: content
        for name, content in files_in(tmp_path / "copy").items()
        if name.endswith(".html")
    }
    assert [name for name, content in pages.items() if b'<link rel="icon"' not in content] == []
    for content in pages.values():
        if b'http-equiv="refresh"' not in content:
            assert content.count(b"<script") == content.count(
                b'<script type="application/ld+json">'
            )
            assert b'<meta http-equiv="Content-Security-Policy"' in content


async def test_a_static_copy_offers_no_gifts_and_no_cart(tmp_path: Path, records: None) -> None:
    async with many_posts(tmp_path / "data", 2) as world:
        assert 'id="give"' in (await world.client.get("/p/1/title-0-more")).text
        await export(world, tmp_path / "copy")
    pages = [each for name, each in files_in(tmp_path / "copy").items() if name.endswith(".html")]
    marks = (b"with-cart", b'id="give"', b"Give this post", b"cart-choice")
    assert not [mark for mark in marks if any(mark in page for page in pages)]


async def test_a_paid_post_shows_its_opening_its_price_and_a_link_to_the_service(
    world: World, tmp_path: Path
) -> None:
    content = "Above the line.\n\n<!--more-->\n\nBelow the line."
    post_id = await publish(world, 1, price=3 * 10**15, title="Dear", content=content)
    await read_texts(world)
    await export(world, tmp_path / "copy")
    page = (tmp_path / f"copy/p/{post_id}/dear/index.html").read_text()
    assert "Above the line." in page
    assert "0.003 ETH" in page
    assert f'href="{ORIGIN}/p/{post_id}/dear"' in page
    assert "Below the line." not in texts_in(tmp_path / "copy")


async def test_withheld_and_unlisted_posts_are_not_in_a_static_copy(
    world: World, tmp_path: Path
) -> None:
    withheld = await publish(world, 1, "ink", title="Withheld canary", content="Canary one.")
    unlisted = await publish(world, 1, "ink", title="Unlisted canary", content="Canary two.")
    linking = f"See [this](/p/{withheld}) and [that](/p/{unlisted})."
    shown = await publish(world, 1, "pen", title="Shown", content=linking)
    await decide(world, Measure.WITHHELD, TargetKind.POST, withheld)
    await decide(world, Measure.UNLISTED, TargetKind.POST, unlisted)
    assert await export(world, tmp_path / "copy") == 1
    text = texts_in(tmp_path / "copy")
    assert "anary" not in text
    assert list(broken_links(tmp_path / "copy")) == []
    page = (tmp_path / f"copy/p/{shown}/shown/index.html").read_text()
    assert f'href="{ORIGIN}/p/{unlisted}"' in page
    assert not (tmp_path / "copy/t/ink").exists()


async def test_the_versions_of_a_corrected_post_are_in_a_static_copy(
    world: World, tmp_path: Path
) -> None:
    author = world.wallet(1)
    post_id, file = await world.post(author, f"{FREE} {TYPO}", 0)
    await revise(world, author, (post_id, file["cid"]), FREE, note="A typo.")
    await fill_index(world)
    await export(world, tmp_path / "copy")
    folder = tmp_path / f"copy/p/{post_id}"
    assert TYPO in (folder / "first/index.html").read_text()
    assert "<del>" in (folder / "changes/1/index.html").read_text()
    assert TYPO not in (folder / "index.html").read_text()
    assert list(broken_links(tmp_path / "copy")) == []


async def test_feeds_and_the_sitemap_name_the_address_of_the_static_copy(
    world: World, tmp_path: Path
) -> None:
    post_id = await publish(world, 1, "ink", content="See [all](/t/ink) and ![x](/ipfs/none).")
    base = f"{BASE}/blog"
    await export(world, tmp_path / "copy", base)
    page = f"{base}/p/{post_id}/a-title/"
    feed = json.loads((tmp_path / "copy/feeds/tags/ink.json").read_text())
    assert feed["feed_url"] == f"{base}/feeds/tags/ink.json"
    assert feed["home_page_url"] == f"{base}/t/ink/"
    assert [each["url"] for each in feed["items"]] == [page]
    assert f'href="{base}/t/ink/"' in feed["items"][0]["content_html"]
    atom = ElementTree.fromstring((tmp_path / "copy/feeds/posts.atom").read_text())
    links = {each.attrib["href"] for each in atom.iter("{http://www.w3.org/2005/Atom}link")}
    assert links == {f"{base}/", f"{base}/feeds/posts.atom", page}
    assert f"<loc>{page}</loc>" in (tmp_path / "copy/sitemaps/0.xml").read_text()
    assert f"Sitemap: {base}/sitemap.xml" in (tmp_path / "copy/robots.txt").read_text()


async def test_a_post_as_markdown_has_front_matter(world: World, tmp_path: Path) -> None:
    hostile = 'A "title": \\ with\x85 ---\n {{ x }} & more'
    other = await publish(world, 2, title="Other")
    content = f"# Words\n\nSee [other](/p/{other}#s-x), [far](/studio)."
    post_id = await publish(world, 1, "ink", "pen", title=hostile, content=content)
    paid = await publish(world, 1, price=7, title="Paid", content=SECRET)
    await export(world, tmp_path / "copy", f"{BASE}/blog", SiteFormat.MARKDOWN)
    (file,) = (tmp_path / "copy/content/posts").glob(f"{post_id}-*.md")
    _, front, text = file.read_text().split("---\n", 2)
    members = yaml.safe_load(front)
    assert members["title"] == " ".join(hostile.split())
    assert members["tags"] == ["ink", "pen"]
    assert members["author_address"] == world.wallet(1).address
    assert (members["price"], members["price_wei"]) == ("0 ETH", "0")
    assert members["original"].startswith(f"{ORIGIN}/p/{post_id}/")
    assert members["url"].startswith(f"/p/{post_id}/")
    (picture,) = members["images"]
    assert (tmp_path / f"copy/static/{picture.removeprefix(f'{BASE}/blog/')}").is_file()
    assert text.strip() == (
        f"# Words\n\nSee [other](/blog/p/{other}/other/#s-x), [far]({ORIGIN}/studio)."
    )
    sold = (tmp_path / f"copy/content/posts/{paid}-paid.md").read_text()
    assert f"]({ORIGIN}/p/{paid}/paid)" in sold
    assert {each.parts[0] for each in map(Path, files_in(tmp_path / "copy"))} == {
        ".imprint-site",
        "content",
        "static",
    }


async def test_a_static_copy_shows_the_site_as_it_was_when_the_export_began(
    world: World, tmp_path: Path
) -> None:
    await publish(world, 1, "ink", title="Early")
    late: list[str] = []
    shows = world.adapters.marketplace.post_facts

    async def publish_meanwhile(*given: object) -> object:
        if not late:
            late.append("begun")
            late.append(await publish(world, 2, "ink", title="Late canary"))
        return await shows(*given)  # type: ignore[arg-type]

    world.adapters.marketplace.post_facts = publish_meanwhile  # type: ignore[method-assign,assignment]
    await export(world, tmp_path / "copy")
    assert len(late) == 2
    assert "Late canary" not in texts_in(tmp_path / "copy")
    assert list(broken_links(tmp_path / "copy")) == []


async def test_an_unreachable_chain_aborts_an_export_and_keeps_the_earlier_copy(
    world: World, tmp_path: Path
) -> None:
    await publish(world, 1, title="First")
    await export(world, tmp_path / "copy")
    before = files_in(tmp_path / "copy")
    await publish(world, 1, title="Second")
    await world.node.stop()
    with pytest.raises(NotExported, match="chain"):
        await export(world, tmp_path / "copy")
    assert files_in(tmp_path / "copy") == before
    assert not (tmp_path / "copy.partial").exists()
