"""A customized site: its frame, the operator's files and pages, front page, chain and caches."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from tests.web.conftest import EVERY_DATABASE
from tests.web.site.publication import publish
from tests.world import DEFAULT_PRICE, ORIGIN, World, open_world

from imprint.domain.formats.colours import parse_accent
from imprint.domain.moderation import Decision, Ground, Measure, Show, TargetKind
from imprint.domain.site import ABOUT, RESERVED_NAMES
from imprint.services.moderation import parse_target

pytestmark = [pytest.mark.asyncio, *EVERY_DATABASE]

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
PNG = b"\x89PNG\r\n\x1a\n" + b"picture"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
HOSTILE = """# <img src=x onerror=alert(1)> & *us*

<script>alert(1)</script> [a link](javascript:alert(1)) ![p](https://tracker.example/p.png)

[two](https://quills.example "onclick=alert(1)") <iframe src="https://quills.example"></iframe>
"""


def position_of(folder: Path, **more: str) -> dict[str, str]:
    """The settings of a site with a logo, an icon and two pages."""
    pages = folder / "pages"
    pages.mkdir(parents=True)
    (pages / "about.md").write_text("# About *Quills*\n\nWe write.", encoding="utf-8")
    (pages / "terms.md").write_text(HOSTILE, encoding="utf-8")
    (folder / "logo.svg").write_bytes(SVG)
    (folder / "icon.png").write_bytes(PNG)
    return {
        "PUBLICATION_NAME": "Quills & Co",
        "PUBLICATION_DESCRIPTION": "Letters from the coast.",
        "PUBLICATION_LANGUAGE": "de",
        "PUBLICATION_LOGO": str(folder / "logo.svg"),
        "PUBLICATION_ICON": str(folder / "icon.png"),
        "PUBLICATION_ACCENT": "#c2185b",
        "PUBLICATION_NAVIGATION": "Essays /t/essay, Code https://quills.example/code",
        "PUBLICATION_PAGES": str(pages),
        "PUBLICATION_FOOTER": "© 2026 Quills <Ltd>",
        "PUBLICATION_CONTACT": "mailto:us@quills.example",
        "PUBLICATION_TERMS": "/terms",
    } | more


async def page(world: World, path: str, status: int = 200) -> str:
    response = await world.client.get(path, headers=BROWSER, follow_redirects=True)
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    return response.text


def address_in(text: str, kind: str) -> str:
    """Return the URL of an operator's file that a page names."""
    found = re.search(rf"/assets/{kind}-[0-9a-f]{{16}}\.[a-z]+", text)
    assert found, f"no {kind}"
    return found[0]


def structured(text: str) -> dict[str, Any]:
    data = text.partition('<script type="application/ld+json">')[2].partition("</script>")[0]
    found: dict[str, Any] = json.loads(data)
    return found


async def test_a_site_has_the_name_look_and_links_of_its_operator(tmp_path: Path) -> None:
    async with open_world(tmp_path / "data", **position_of(tmp_path / "place")) as world:
        await publish(world, 1, "essay")
        text = await page(world, "/")
        assert '<html lang="de">' in text
        assert "<title>Quills &amp; Co · Letters from the coast.</title>" in text
        assert '<meta property="og:site_name" content="Quills &amp; Co">' in text
        assert f'<img src="{address_in(text, "logo")}" alt="Quills &amp; Co">' in text
        assert f'<link rel="icon" href="{address_in(text, "icon")}" type="image/png">' in text
        assert '<a href="/t/essay">Essays</a><a href="https://quills.example/code">Code</a>' in text
        assert "© 2026 Quills &lt;Ltd&gt;" in text
        assert '<a href="mailto:us@quills.example">Contact</a>' in text
        assert text.count('href="/terms"') == 1
        assert "Published with Imprint" in text
        before_facts, _, facts = text.partition('<script type="application/json" id="facts"')
        assert "Imprint" not in before_facts.replace("Published with Imprint", "")
        assert facts.startswith(' data-contact="mailto:us@quills.example">')
        manifest = (await world.client.get("/site.webmanifest")).json()
        assert manifest["name"] == "Quills & Co"
        assert manifest["icons"][0]["src"] == address_in(text, "icon")
        feed = await world.client.get("/feeds/posts.atom")
        assert "<title>Quills &amp; Co: " in feed.text
        llms = (await world.client.get("/llms.txt")).text
        assert llms.startswith("# Quills &amp; Co\n\n> Letters from the coast.\n")


async def test_an_uncredited_site_does_not_mention_imprint(
    tmp_path: Path,
) -> None:
    async with open_world(tmp_path, PUBLICATION_NAME="Tides", PUBLICATION_CREDIT="off") as world:
        await publish(world, 1)
        for path in ("/", "/about", "/p/1", "/search", "/library", "/nothing"):
            text = await page(world, path, 404 if path == "/nothing" else 200)
            shown = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
            assert "Imprint" not in shown, path
        icon = await world.client.get("/icon.svg")
        assert ">T</text>" in icon.text


async def test_operator_files_are_named_by_their_content_and_run_no_scripts(tmp_path: Path) -> None:
    async with open_world(tmp_path / "data", **position_of(tmp_path / "place")) as world:
        await world.index()
        text = await page(world, "/")
        logo = await world.client.get(address_in(text, "logo"))
        assert (logo.content, logo.headers["content-type"]) == (SVG, "image/svg+xml")
        assert logo.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert logo.headers["x-content-type-options"] == "nosniff"
        assert logo.headers["content-security-policy"] == (
            "default-src 'none'; style-src 'unsafe-inline'; sandbox"
        )
        style = await world.client.get(address_in(text, "accent"))
        accent = parse_accent("#c2185b")
        assert style.text.count(accent.light) == 1
        assert style.text.count(accent.dark) == 2
        assert style.headers["content-type"].startswith("text/css")
        icon = await world.client.get("/icon.svg")
        assert (icon.status_code, icon.headers["location"]) == (302, address_in(text, "icon"))


async def test_a_page_cached_before_a_reload_finds_the_new_logo(tmp_path: Path) -> None:
    async with open_world(tmp_path / "data", **position_of(tmp_path / "place")) as world:
        stale = await world.client.get("/assets/logo-0123456789abcdef.png")
        assert stale.status_code == 302
        assert stale.headers["cache-control"] == "no-store"
        assert (await world.client.get(stale.headers["location"])).content == SVG
        assert (await world.client.get("/assets/logo-0.png")).status_code == 404
    async with open_world(tmp_path / "other") as plain:
        gone = await plain.client.get("/assets/logo-0123456789abcdef.png")
        assert gone.status_code == 404


async def test_operator_pages_are_titled_by_their_first_heading(
    tmp_path: Path,
) -> None:
    async with open_world(tmp_path / "data", **position_of(tmp_path / "place")) as world:
        await publish(world, 1)
        text = await page(world, "/about")
        assert "<title>About Quills · Quills &amp; Co</title>" in text
        assert text.count("<h1>") == 1
        assert "<p>We write.</p>" in text
        assert "Paid to authors" in text
        assert "0 ETH" in text
        response = await world.client.get("/about", headers=BROWSER)
        assert response.headers["cache-tag"] == "pages"
        sitemap = (await world.client.get("/sitemaps/0.xml")).text
        assert f"<loc>{ORIGIN}/about</loc>" in sitemap
        assert f"<loc>{ORIGIN}/terms</loc>" in sitemap
        redirect = await world.client.get("/about/")
        assert (redirect.status_code, redirect.headers["location"]) == (308, "/about")


async def test_hostile_markdown_in_an_operator_page_is_shown_as_text(tmp_path: Path) -> None:
    async with open_world(tmp_path / "data", **position_of(tmp_path / "place")) as world:
        text = await page(world, "/terms")
    assert "<title>&lt;img src=x onerror=alert(1)&gt; &amp; us · Quills &amp; Co</title>" in text
    content = text.partition('<div class="text" dir="auto">')[2].partition("</main>")[0]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in content
    assert set(re.findall(r"<([a-z]+)", content)) <= {"p", "a", "h2", "article", "div"}
    links = re.findall(r"<a ([^>]*)>", content)
    assert links
    assert all(re.fullmatch(r'(href="https://[^"]*" )?rel="[a-z ]*"', each) for each in links)


async def test_a_browser_gets_an_error_page_for_a_refused_operator_page(tmp_path: Path) -> None:
    limits = {"RATE_LIMITS": "on", "RATE_READS": "1/60"}
    async with open_world(tmp_path / "data", **position_of(tmp_path / "place"), **limits) as world:
        await page(world, "/terms")
        for path in ("/terms", "/about"):
            await page(world, path, 429)
            refused = await world.client.get(path, headers={"Accept": "*/*"})
            assert refused.headers["content-type"] == "application/problem+json"


async def test_the_about_page_exists_without_a_text_by_the_operator(tmp_path: Path) -> None:
    async with open_world(tmp_path, PUBLICATION_NAME="Tides") as world:
        text = await page(world, "/about")
        assert "<h1>About Tides</h1>" in text
        assert "Paid to authors" not in text, "the index is not filled yet"
        await publish(world, 1)
        assert "Paid to authors" in await page(world, "/about")


async def test_featured_posts_come_first_and_only_once(tmp_path: Path) -> None:
    settings = {"PUBLICATION_FRONT": "featured", "PUBLICATION_FEATURED": "2,99,1"}
    async with open_world(tmp_path, **settings) as world:
        for number in (1, 2, 3):
            await publish(world, 1, title=f"Number {number}")
        text = await page(world, "/")
        shown = re.findall(r'<article class="card" data-id="(\d+)"', text)
    assert shown == ["2", "1", "3"]


@pytest.mark.parametrize("show", ["hosted", "allowed"])
async def test_a_featured_post_that_no_list_shows_is_not_on_the_front_page(
    tmp_path: Path, show: str
) -> None:
    settings = {"PUBLICATION_FRONT": "featured", "PUBLICATION_FEATURED": "2,1", "SHOW": show}
    async with open_world(tmp_path, **settings) as world:
        for number in (1, 2):
            await publish(world, number, title=f"Number {number}")
        moderation = world.adapters.stores.moderation
        await moderation.choose_shown(Show(show))
        kind, value, measure = {
            "hosted": (TargetKind.POST, "2", Measure.UNLISTED),
            "allowed": (TargetKind.AUTHOR, world.wallet(1).address, Measure.ALLOWED),
        }[show]
        decision = Decision(parse_target(kind, value), measure, Ground.POLICY, "", world.clock())
        await moderation.add_decision(decision)
        world.clock.advance(1)
        text = await page(world, "/")
        shown = re.findall(r'<article class="card" data-id="(\d+)"', text)
    assert shown == ["1"]


async def test_the_front_page_can_be_the_page_of_a_single_author(tmp_path: Path) -> None:
    async with open_world(tmp_path / "probe") as probe:
        author = probe.wallet(1).address
    settings = {"PUBLICATION_FRONT": author, "PUBLICATION_NAME": "Ada"}
    async with open_world(tmp_path / "data", **settings) as world:
        await world.index()
        assert 'id="empty"' in await page(world, "/")
        mine = await publish(world, 1, title="By the author")
        other = await publish(world, 2, title="By a stranger")
        text = await page(world, "/")
        assert f'data-id="{mine}"' in text
        assert f'data-id="{other}"' not in text
        assert "<title>Ada</title>" in text
        assert f'<link rel="canonical" href="{ORIGIN}/">' in text
        assert f'<link rel="canonical" href="{ORIGIN}/">' in await page(world, f"/a/{author}")
        assert f"/feeds/authors/{author}.atom" in text


async def test_no_operator_page_can_use_an_existing_path(tmp_path: Path) -> None:
    async with open_world(tmp_path, OPERATOR_SECRET="x" * 40) as world:
        app = world.app
        assert isinstance(app, Starlette)
        first = {route.path.split("/")[1] for route in app.router.routes}  # type: ignore[attr-defined]
    assert first - {"", ABOUT} <= RESERVED_NAMES


async def test_the_chain_has_a_name_a_coin_and_published_urls(tmp_path: Path) -> None:
    settings = {
        "CHAIN_NAME": "Gnosis",
        "CHAIN_COIN": "xDAI",
        "CHAIN_PUBLIC_RPC_URL": "https://rpc.gnosis.example",
        "CHAIN_EXPLORER_URL": "https://explorer.gnosis.example/",
    }
    async with open_world(tmp_path, rpc_path="/a-key-of-a-provider", **settings) as world:
        post_id = await publish(world, 1, price=DEFAULT_PRICE)
        facts = (await world.client.get("/.well-known/imprint.json")).json()
        assert facts["chain"] == {
            "id": 31337,
            "marketplace": world.marketplace.lower(),
            "name": "Gnosis",
            "coin": {"symbol": "xDAI", "decimals": 18},
            "rpc_url": "https://rpc.gnosis.example",
            "explorer_url": "https://explorer.gnosis.example",
        }
        assert "development" not in facts["features"]
        for path in (
            f"/p/{post_id}",
            "/",
            f"/posts/{post_id}.md",
            "/feeds/posts.atom",
            "/llms.txt",
        ):
            text = (await world.client.get(path, headers=BROWSER, follow_redirects=True)).text
            assert "0.01 xDAI" in text, path
            assert "0.01 ETH" not in text, path
            assert "a-key-of-a-provider" not in text
        assert "https://explorer.gnosis.example/tx/0x" in await page(world, f"/p/{post_id}")
        response = await world.client.get("/", headers=BROWSER)
        # Wallets call the public node; pages do not.
        assert "rpc.gnosis.example" not in response.headers["content-security-policy"]


async def test_posts_carry_structured_data(tmp_path: Path) -> None:
    async with open_world(tmp_path, PUBLICATION_NAME="Tides") as world:
        hostile = "</script><script>alert(1)</script>"
        paid = await publish(world, 1, "essay", price=DEFAULT_PRICE, title=hostile)
        free = await publish(world, 1, title="Free")
        text = await page(world, f"/p/{paid}")
        data = structured(text)
        assert data["@type"] == "Article"
        assert data["headline"] == hostile
        assert "<script>alert" not in text
        assert data["isAccessibleForFree"] is False
        assert data["hasPart"] == {
            "@type": "WebPageElement",
            "isAccessibleForFree": False,
            "cssSelector": "#text",
        }
        assert 'id="text"' in text
        assert data["author"]["url"] == f"{ORIGIN}/a/{world.wallet(1).address}"
        assert data["publisher"]["name"] == "Tides"
        assert data["keywords"] == ["essay"]
        read_by_all = structured(await page(world, f"/p/{free}"))
        assert read_by_all["isAccessibleForFree"] is True
        assert "hasPart" not in read_by_all
        assert "ld+json" not in await page(world, "/")


async def test_shared_caches_store_public_pages_for_less_than_a_minute(
    tmp_path: Path,
) -> None:
    async with open_world(tmp_path) as world:
        post_id = await publish(world, 1, "essay")
        author = world.wallet(1).address
        tagged = {
            "/": "posts",
            "/t/essay": "posts",
            f"/a/{author}": "posts",
            f"/p/{post_id}": f"post-{post_id}",
            f"/posts/{post_id}.md": f"post-{post_id}",
            "/feeds/posts.atom": "posts",
            "/feeds/posts.json": "posts",
            "/llms.txt": "posts",
            "/sitemap.xml": "posts",
            "/sitemaps/0.xml": "posts",
            "/about": "pages",
        }
        for path, tag in tagged.items():
            response = await world.client.get(path, headers=BROWSER, follow_redirects=True)
            assert response.status_code == 200, path
            assert response.headers["cache-tag"] == tag, path
            seconds = re.findall(r"=(\d+)", response.headers["cache-control"])
            assert len(seconds) == 2, path
            assert sum(map(int, seconds)) <= 60, path
            again = await world.client.get(
                response.url, headers={**BROWSER, "If-None-Match": response.headers["etag"]}
            )
            assert again.status_code == 304, path
            assert again.headers["cache-tag"] == tag, path
        for path in ("/studio", "/healthz"):
            assert "cache-tag" not in (await world.client.get(path, headers=BROWSER)).headers


async def test_crawlers_find_the_licence_in_robots_txt(tmp_path: Path) -> None:
    async with open_world(tmp_path / "site") as world:
        assert f"License: {ORIGIN}/license.xml\n" in (await world.client.get("/robots.txt")).text
    async with open_world(tmp_path / "api", SITE="off") as world:
        assert "License:" not in (await world.client.get("/robots.txt")).text
