"""An empty site, and the sample posts of `imprint dev` that fill it."""

from collections.abc import Iterator

import httpx2
import pytest
from playwright.sync_api import expect
from tests.browser.pages import OpenPage, axe_violations_in_both_schemes
from tests.processes import PLAIN, Service, free_port, running

FILL = "Fill with sample posts"
NARROW = {"width": 320, "height": 640}


@pytest.fixture
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A separate service, because these tests need an empty one."""
    given = {"DEV_RPC_PORT": str(free_port()), "CHAIN_FOLLOW_SECONDS": "0.2"}
    with running(Service(tmp_path_factory.mktemp("empty"), given, "dev")) as opened:
        yield opened


def posts_of(service: Service) -> list[dict[str, object]]:
    found = httpx2.get(f"{service.url}/posts?limit=50", verify=PLAIN).json()
    return list(found["posts"])


def test_an_empty_front_page_passes_axe_and_is_filled_with_sample_posts(
    open_page: OpenPage, service: Service
) -> None:
    page = open_page(viewport=NARROW).visit("/")
    page.get_by_role("heading", name="No posts yet").wait_for()
    page.locator("#account > *").first.wait_for()
    assert axe_violations_in_both_schemes(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    page.get_by_role("button", name=FILL).first.click()
    expect(page.locator("article.card")).to_have_count(12, timeout=120_000)
    posts = posts_of(service)
    assert len({post["title"] for post in posts}) == 12
    assert len({post["author"] for post in posts}) == 3
    assert {post["free"] for post in posts} == {True, False}
    assert all(post["thumbnailCid"] for post in posts)
    assert sum(post["sales"]["count"] for post in posts) == 17  # type: ignore[index]
