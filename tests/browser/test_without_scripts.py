"""The pages with scripts switched off: what is free can be found and read."""

import time

import httpx2
import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import OpenPage
from tests.browser.posts import NewPost, publish
from tests.processes import PLAIN, Service

SENTENCE = "Paper was made of rags, and rags were made of sails."


@pytest.fixture(scope="module")
def posts(service: Service) -> list[str]:
    """The ids of a free post and of a paid one."""
    free = NewPost("On sails", f"# On sails\n\n{SENTENCE}", "Where paper is from.", 0, ("sails",))
    paid = NewPost("On rags", "A secret of papermakers.", "What is in it.", 10**16, ("sails",))
    ids = publish(service.url, [free, paid])
    while not httpx2.get(f"{service.url}/posts?q=made+of+rags", verify=PLAIN).json()["posts"]:
        # Texts can be searched a moment after their posts are listed.
        time.sleep(0.1)
    return ids


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    """A browser that runs no script."""
    return open_page(java_script_enabled=False).page


@pytest.mark.parametrize("way", ["front", "tag", "author", "search"])
def test_a_free_post_is_found_and_read(
    page: Page, service: Service, posts: list[str], way: str
) -> None:
    page.goto(service.url)
    card = page.locator(f".card[data-id='{posts[0]}']")
    match way:
        case "tag":
            page.get_by_role("link", name="#sails").first.click()
        case "author":
            card.locator("a[href^='/a/']").click()
        case "search":
            page.get_by_role("searchbox").fill("made of rags")
            page.get_by_role("searchbox").press("Enter")
    card.get_by_role("link", name="On sails").click()
    expect(page.locator("h1")).to_have_text("On sails")
    expect(page.locator("#text")).to_have_text(SENTENCE)


def test_the_text_of_a_free_post_is_searched(
    page: Page, service: Service, posts: list[str]
) -> None:
    page.goto(f"{service.url}/search?q=rags")
    assert page.locator("mark").first.inner_text() == "rags"


def test_a_paid_post_tells_how_to_buy_it(page: Page, service: Service, posts: list[str]) -> None:
    page.goto(f"{service.url}/p/{posts[1]}")
    gate = page.locator("#gate").inner_text()
    assert "Read on for 0.01 ETH" in gate
    assert f"subscribePost({posts[1]})" in gate
    assert "send 10000000000000000 wei" in gate
    assert "A secret of papermakers" not in page.content()


@pytest.mark.parametrize("path", ["/library", "/studio"])
def test_a_page_that_needs_scripts_says_so(page: Page, service: Service, path: str) -> None:
    page.goto(service.url + path)
    assert "needs JavaScript" in page.locator("main").inner_text()


def test_lists_go_on_by_a_link(page: Page, service: Service) -> None:
    publish(service.url, [NewPost(f"Page {number}", f"Text {number}.") for number in range(24)])
    page.goto(service.url)
    first = set(page.locator(".card").evaluate_all("(all) => all.map((card) => card.dataset.id)"))
    with page.expect_navigation():
        page.get_by_role("link", name="More posts").click()
    after = set(page.locator(".card").evaluate_all("(all) => all.map((card) => card.dataset.id)"))
    assert len(first) == 20
    assert len(after) > 0
    assert first.isdisjoint(after)
