"""A static copy of the site, read in a browser through a plain file server."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.pages import axe_violations
from tests.web.site.static_files import BASE, SECRET, export, many_posts

POSTS = 45


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Print nothing."""


async def _write(folder: Path) -> None:
    async with many_posts(folder / "data", POSTS) as world:
        await export(world, folder / "public/blog", f"{BASE}/blog")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a static copy, which is in a subfolder of a file server."""
    folder = tmp_path_factory.mktemp("static")
    with ThreadPoolExecutor(1) as thread:
        # The browser has an event loop in this thread.
        thread.submit(asyncio.run, _write(folder)).result()
    handler = partial(_Quiet, directory=str(folder / "public"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        serving = Thread(target=server.serve_forever, daemon=True)
        serving.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/blog/"
        finally:
            server.shutdown()
            serving.join()


def test_a_static_copy_can_be_read_through_a_plain_file_server(browser: Browser, site: str) -> None:
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    troubles: list[str] = []
    page.on("console", lambda said: troubles.append(said.text))
    page.on("response", lambda got: troubles.append(got.url) if got.status >= 400 else None)
    elsewhere: list[str] = []
    page.on(
        "request", lambda each: None if each.url.startswith(site) else elsewhere.append(each.url)
    )
    try:
        _read(page, site)
    finally:
        context.close()
    assert (troubles, elsewhere) == ([], [])


def _read(page: Page, site: str) -> None:
    page.goto(site)
    first = page.locator(".featured .card-picture img").first
    expect(first).to_be_visible()
    page.wait_for_function("document.querySelector('.featured img').naturalWidth > 0")
    family = page.evaluate("getComputedStyle(document.querySelector('h2')).fontFamily")
    assert "Source Serif" in family
    assert axe_violations(page) == []
    page.get_by_role("link", name="Older posts").click()
    expect(page).to_have_url(f"{site}posts/page-2/")
    # Every third post is paid, and the numbers of posts begin with 1.
    page.locator(".card[data-id='21'] .card-title a").click()
    expect(page.locator("#text")).to_contain_text("The text of 20, see another and all.")
    page.locator("#text").get_by_role("link", name="another").click()
    expect(page.locator("h1")).to_have_text("Title 10 & <more>")
    page.get_by_role("link", name="All posts by this author").click()
    page.locator(".card[data-id='31'] .card-title a").click()
    expect(page.locator("#opening")).to_contain_text("The text of 30")
    expect(page.get_by_role("link", name="Buy and read")).to_have_attribute(
        "href", "http://imprint.test/p/31/title-30-more"
    )
    assert SECRET not in page.content()
    expect(page.get_by_text("Give this post")).to_have_count(0)
    assert axe_violations(page) == []
    page.goto(f"{site}p/31")
    expect(page).to_have_url(f"{site}p/31/title-30-more/")
    page.get_by_role("link", name="#all").click()
    expect(page.locator("h1")).to_have_text("#all")
    page.get_by_role("link", name="About", exact=True).click()
    expect(page.locator("h1")).to_have_text("About Imprint")
