"""Revisions that race with a moderation measure, a reorg, an erasure or garbage collection."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.indexed import read_texts
from tests.revisions import published_post, revise, send_revision
from tests.services.test_erasure import cid_of, erase
from tests.web.conftest import EVERY_DATABASE
from tests.web.site.test_hidden_posts import decide
from tests.world import World, open_world, problem

from imprint.bootstrap.background import build_collector, build_follower
from imprint.domain.drafts.files import Network
from imprint.domain.moderation import Measure, Target, TargetKind
from imprint.ports import ContentStore

pytestmark = [*EVERY_DATABASE, pytest.mark.asyncio(loop_scope="module")]

FIRST, SECOND = "As first published.", "A better text."
NONCE = "the-nonce-of-a-lost-race"
DAYS = 3 * 24 * 3600


@dataclass
class Interrupted:
    """A content store that runs a callback before it stores the next document."""

    store: ContentStore
    meanwhile: Callable[[], Awaitable[object]] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    async def put(self, *given: Any) -> None:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            await meanwhile()
        await self.store.put(*given)


@asynccontextmanager
async def interrupted(folder: Path) -> AsyncIterator[tuple[World, Interrupted]]:
    """Open a world with a content store in which a test can make a revision lose a race."""
    stores: list[Interrupted] = []

    def adapt(adapters: Any) -> Any:
        stores.append(Interrupted(adapters.content))
        return replace(adapters, content=stores[0])

    async with open_world(folder, adapt=adapt, CHAIN_CACHE_SECONDS="0") as world:
        yield world, stores[0]


async def stored_texts(world: World) -> set[str]:
    """The cids of all stored texts."""
    inventory = world.adapters.inventory
    assert inventory is not None
    return {cid async for cid in inventory.list_documents(Network.PRIVATE)}


async def collect(world: World) -> None:
    """Destroy all documents that nothing refers to."""
    for _ in range(2):
        world.clock.advance(DAYS)
        await build_collector(world.settings, world.adapters).collect()
    assert await world.adapters.stores.garbage.recount_usage() == 0


async def content_of(world: World, post_id: int) -> tuple[str, int]:
    found = (await world.client.get(f"/posts/{post_id}/content")).json()
    return found["content"], found["revision"]


async def test_a_post_withheld_while_it_is_revised_shows_nothing(tmp_path: Path) -> None:
    async with interrupted(tmp_path) as (world, content):
        author = world.wallet(1)
        post = post_id, _ = await published_post(world, author, FIRST)
        target = Target(TargetKind.POST, str(post_id))
        content.meanwhile = lambda: decide(world, Measure.WITHHELD, [target])
        assert (await send_revision(world, author, post, SECOND)).status_code == 200
        await read_texts(world)
        for path in ("", "/revisions", "/content", "/content?revision=1", ".md"):
            response = await world.client.get(f"/posts/{post_id}{path}")
            assert problem(response) == (410, "removed")
        assert (await world.client.get("/posts?q=better")).json()["posts"] == []
        await decide(world, Measure.UNDONE, [target])
        assert await content_of(world, post_id) == (SECOND, 1)


async def test_a_revision_is_not_added_if_a_reorg_replaces_its_post_meanwhile(
    tmp_path: Path,
) -> None:
    async with interrupted(tmp_path) as (world, content):
        author = world.wallet(1)
        before = world.chain.snapshot()
        post = post_id, cid = await published_post(world, author, FIRST)
        others: list[str] = []

        async def reorganize() -> None:
            world.chain.restore(before)
            other = await world.create(author, "Another work.")
            others.append(other["cid"])
            await world.deliver_a(world.create_post(author, other["cid"], 0))
            await world.index()

        content.meanwhile = reorganize
        response = await send_revision(world, author, post, SECOND, nonce=NONCE)
        assert problem(response) == (404, "not_found")
        assert await content_of(world, post_id) == ("Another work.", 0)
        assert (await world.client.get(f"/posts/{post_id}/revisions")).json() == {"revisions": []}
        # The nonce is not spent.
        added = await revise(world, author, (post_id, others[0]), SECOND, nonce=NONCE)
        assert added["number"] == 1
        kept = {cid, *others, added["cid"]}
        assert len(await stored_texts(world) - kept) == 1
        await collect(world)
        assert await stored_texts(world) == kept


async def test_a_post_erased_while_it_is_revised_stays_erased(tmp_path: Path) -> None:
    async with interrupted(tmp_path) as (world, content):
        author = world.wallet(1)
        post = post_id, cid = await published_post(world, author, FIRST)
        content.meanwhile = lambda: erase(world, cid_of(cid))
        response = await send_revision(world, author, post, SECOND)
        assert problem(response) == (404, "not_found")
        read = await world.client.get(f"/posts/{post_id}/content")
        assert problem(read) == (410, "removed")
        await collect(world)
        assert await stored_texts(world) == set()


async def test_revisions_are_destroyed_with_their_document(tmp_path: Path) -> None:
    async with open_world(tmp_path, CHAIN_CACHE_SECONDS="0") as world:
        author = world.wallet(1)
        before = world.chain.snapshot()
        post = _, cid = await published_post(world, author, FIRST)
        for text in (SECOND, "The best text."):
            await revise(world, author, post, text)
        follower = build_follower(world.settings, world.adapters)
        await follower.follow_once()
        # A reorg turns the post into a draft again, and its author deletes the draft.
        world.chain.restore(before)
        world.clock.advance(60)
        world.chain.mine()
        world.chain.mine()
        await follower.follow_once()
        assert (await world.send_delete(author, cid)).status_code == 200
        assert len(await stored_texts(world)) == 3
        await collect(world)
        assert await stored_texts(world) == set()
        rows = await world.adapters.stores.database.fetch(tuple, "SELECT cid FROM revisions", {})
        assert rows == []
