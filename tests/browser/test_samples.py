"""The sample posts of `imprint dev`, published in a browser by the real path."""

import httpx2
from playwright.sync_api import expect
from tests.browser.conftest import OpenPage
from tests.processes import PLAIN, Service

FILL = "Fill with sample posts"


def posts_of(service: Service) -> list[dict[str, object]]:
    found = httpx2.get(f"{service.url}/posts?limit=50", verify=PLAIN).json()
    return list(found["posts"])


def test_sample_posts_fill_the_place_once(open_page: OpenPage, service: Service) -> None:
    page = open_page().visit("/")
    page.get_by_role("button", name=FILL).first.click()
    expect(page.locator("article.card")).to_have_count(12, timeout=120_000)
    posts = posts_of(service)
    assert len({post["title"] for post in posts}) == 12
    assert len({post["author"] for post in posts}) == 3
    assert {post["free"] for post in posts} == {True, False}
    assert all(post["thumbnailCid"] for post in posts)
    assert sum(post["sales"]["count"] for post in posts) == 17  # type: ignore[index]
