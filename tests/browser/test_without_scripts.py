"""The pages with scripts disabled: free posts can be found and read."""

import time
from dataclasses import dataclass

import httpx2
import pytest
from playwright.sync_api import Page, expect
from tests.browser.accounts import Chain, NewAccount, make_account
from tests.browser.pages import OpenPage
from tests.browser.posts import NewPost, publish
from tests.processes import PLAIN, Service

SENTENCE = "Paper was made of rags, and rags were made of sails."


@dataclass(frozen=True, slots=True)
class Posts:
    """One free and one paid post by a new author."""

    author: str
    free: str
    paid: str


@pytest.fixture(scope="session")
def posts(service: Service, chain: Chain) -> Posts:
    author = make_account(chain)
    free = NewPost("On sails", f"# On sails\n\n{SENTENCE}", "Where paper is from.", 0, ("sails",))
    paid = NewPost("On rags", "A secret of papermakers.", "What is in it.", 10**16, ("sails",))
    ids = publish(service.url, [free, paid], author)
    while not httpx2.get(f"{service.url}/posts?q=made+of+rags", verify=PLAIN).json()["posts"]:
        # Texts can be searched a moment after their posts are listed.
        time.sleep(0.1)
    return Posts(author.address, *ids)


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    """A browser that runs no scripts."""
    return open_page(java_script_enabled=False).page


@pytest.mark.parametrize("path", ["/t/sails", "/a/{author}", "/search?q=made+of+rags"])
def test_a_free_post_can_be_found_and_read(
    page: Page, service: Service, posts: Posts, path: str
) -> None:
    page.goto(service.url + path.format(author=posts.author))
    page.locator(f".card[data-id='{posts.free}']").get_by_role("link", name="On sails").click()
    expect(page.locator("h1")).to_have_text("On sails")
    expect(page.locator("#text")).to_have_text(SENTENCE)


def test_the_front_page_links_to_tags_authors_and_the_search(
    page: Page, service: Service, new_account: NewAccount
) -> None:
    author = new_account()
    # The newest post is the first one on the front page.
    [post] = publish(service.url, [NewPost("On masts", "Of oak.", hashtags=("masts",))], author)
    card = page.locator(f".card[data-id='{post}']")
    page.goto(service.url)
    card.get_by_role("link", name="On masts").click()
    expect(page.locator("#text")).to_have_text("Of oak.")
    page.get_by_role("link", name="#masts").first.click()
    expect(card).to_be_visible()
    card.locator("a[href^='/a/']").click()
    expect(page.locator(".address")).to_have_text(author.address.lower())
    page.get_by_role("searchbox").fill("rags")
    page.get_by_role("searchbox").press("Enter")
    page.wait_for_url("**/search?q=rags")


def test_a_search_highlights_the_words_in_the_text_of_a_free_post(
    page: Page, service: Service, posts: Posts
) -> None:
    page.goto(f"{service.url}/search?q=rags")
    assert page.locator("mark").first.inner_text() == "rags"


def test_a_paid_post_explains_how_to_buy_it(page: Page, service: Service, posts: Posts) -> None:
    page.goto(f"{service.url}/p/{posts.paid}")
    gate = page.locator("#gate").inner_text()
    assert "Keep reading for 0.01 ETH" in gate
    assert f"subscribePost({posts.paid})" in gate
    assert "send 10000000000000000 wei" in gate
    assert "A secret of papermakers" not in page.content()


@pytest.mark.parametrize("path", ["/library", "/studio"])
def test_a_page_that_needs_scripts_says_so(page: Page, service: Service, path: str) -> None:
    page.goto(service.url + path)
    assert "needs JavaScript" in page.locator("main").inner_text()


def test_lists_are_paged_by_links(page: Page, service: Service) -> None:
    publish(service.url, [NewPost(f"Page {number}", "A text.") for number in range(21)])
    page.goto(service.url)
    first = set(page.locator(".card").evaluate_all("(all) => all.map((card) => card.dataset.id)"))
    with page.expect_navigation():
        page.get_by_role("link", name="Older posts").click()
    after = set(page.locator(".card").evaluate_all("(all) => all.map((card) => card.dataset.id)"))
    assert len(first) == 20
    assert len(after) > 0
    assert first.isdisjoint(after)
