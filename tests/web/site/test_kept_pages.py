"""Cached pages: when they are rendered again, and the limit of their total size."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.web.site.publication import publish
from tests.world import DEFAULT_PRICE, World, open_world

from imprint.domain.drafts.documents import SMALL_DOCUMENT
from imprint.services.access.reads import Reads
from imprint.web.site import pages as site
from imprint.web.site.templates import Templates


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts how often each template is rendered."""
    counted: Counter[str] = Counter()
    render = Templates.render

    def count(self: Templates, name: str, **values: Any) -> str:
        counted[name] += 1
        return render(self, name, **values)

    monkeypatch.setattr(Templates, "render", count)
    return counted


def long_text(number: int) -> str:
    """A text whose HTML exceeds the size of a small document."""
    return f"Text {number}.\n\n" + "Words upon words.\n\n" * (SMALL_DOCUMENT // 18)


async def read(world: World, path: str) -> str:
    response = await world.client.get(path, follow_redirects=True)
    assert response.status_code == 200
    return response.text


async def test_a_large_page_is_rendered_once_and_its_document_read_once(
    tmp_path: Path, rendered: Counter[str], monkeypatch: pytest.MonkeyPatch, records: None
) -> None:
    contents: list[object] = []
    content_of = Reads.content_of

    async def watch(self: Reads, file: Any) -> str:
        contents.append(file)
        return await content_of(self, file)

    monkeypatch.setattr(Reads, "content_of", watch)
    async with open_world(tmp_path) as world:
        post_id = await publish(world, 1, content=long_text(1))
        contents.clear()
        first = await read(world, f"/p/{post_id}")
        assert len(first) > SMALL_DOCUMENT
        assert await read(world, f"/p/{post_id}") == first
        assert (rendered["post.html"], len(contents)) == (1, 1)


async def test_cached_post_pages_have_a_common_size_limit(
    tmp_path: Path, rendered: Counter[str], monkeypatch: pytest.MonkeyPatch, records: None
) -> None:
    monkeypatch.setattr(site, "KEPT_BYTES", 4 * SMALL_DOCUMENT)
    async with open_world(tmp_path) as world:
        first, second, third = [
            await publish(world, 1, content=long_text(number)) for number in range(3)
        ]
        for post_id in (first, second, first, third):
            await read(world, f"/p/{post_id}")
        assert rendered["post.html"] == 3
        for post_id in (third, first):
            await read(world, f"/p/{post_id}")
        assert rendered["post.html"] == 3
        # The second page was the least recently read, so it was evicted to make room for the
        # third.
        await read(world, f"/p/{second}")
        assert rendered["post.html"] == 4


async def test_the_largest_pages_are_not_cached(
    tmp_path: Path, rendered: Counter[str], monkeypatch: pytest.MonkeyPatch, records: None
) -> None:
    monkeypatch.setattr(site, "LARGEST_KEPT", SMALL_DOCUMENT)
    async with open_world(tmp_path) as world:
        large = await publish(world, 1, content=long_text(1))
        small = await publish(world, 1)
        for post_id in (large, small, large, small):
            await read(world, f"/p/{post_id}")
        assert rendered["post.html"] == 3


async def test_a_cached_page_is_not_shown_once_its_post_is_no_longer_free(
    tmp_path: Path, records: None
) -> None:
    async with open_world(tmp_path) as world:
        post_id = await publish(world, 1, content=long_text(1))
        assert "Words upon words" in await read(world, f"/p/{post_id}")
        world.set_price(world.wallet(1), int(post_id), DEFAULT_PRICE)
        world.clock.advance(60)
        assert "Words upon words" not in await read(world, f"/p/{post_id}")


async def test_searches_do_not_evict_lists(
    tmp_path: Path, rendered: Counter[str], monkeypatch: pytest.MonkeyPatch, records: None
) -> None:
    monkeypatch.setattr(site, "KEPT_BYTES", 40_000)
    async with open_world(tmp_path) as world:
        await publish(world, 1, title="On ink")
        front = await read(world, "/")
        for number in range(20):
            assert len(await read(world, f"/search?q=ink{number}")) > 2_000
        assert await read(world, "/") == front
        assert (rendered["front.html"], rendered["search.html"]) == (1, 20)


async def test_cached_search_pages_have_a_small_size_limit(
    tmp_path: Path, rendered: Counter[str], monkeypatch: pytest.MonkeyPatch, records: None
) -> None:
    monkeypatch.setattr(site, "SEARCH_BYTES", 20_000)
    async with open_world(tmp_path) as world:
        await publish(world, 1, title="On ink")
        for _ in range(2):
            await read(world, "/search?q=ink")
        assert rendered["search.html"] == 1
        for number in range(20):
            await read(world, f"/search?q=ink{number}")
        await read(world, "/search?q=ink")
        assert rendered["search.html"] == 22
