"""Two collectors and two writers in any interleaving: live documents stay readable.

Any step may be followed by a long pause, as if its process had been stopped.
"""

import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import permutations
from pathlib import Path

import pytest
from obstore.store import MemoryStore
from tests.adapters.stores.conftest import World

from imprint.adapters.content.bucket import BucketStore
from imprint.adapters.content.bucket_client import BucketClient
from imprint.adapters.content.embedded import EmbeddedStore
from imprint.domain.drafts.files import Action, File, Network
from imprint.domain.errors import Unavailable
from imprint.domain.formats.cids import Cid, document_cid
from imprint.ports import ContentStore

SIZES = {"row": 100, "file": 100_000}
"""Sizes in bytes of a document stored as a row and of a document stored as a file."""

SHARE = 8
"""Only one in `SHARE` of the 420 orders is tested, as testing all of them takes half a minute."""

AHEAD = (timedelta(0), timedelta(minutes=15))
"""How far the clocks of the two collectors are ahead of the writers' clock."""


@pytest.fixture(params=["embedded", "bucket"])
async def store(
    world: World, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[ContentStore]:
    opened: ContentStore
    if request.param == "bucket":
        opened = BucketStore(BucketClient("memory", MemoryStore()))
    else:
        opened = EmbeddedStore(tmp_path / "content", lambda: world.now)
    yield opened
    await opened.close()


@dataclass
class Collector:
    """A collector run step by step: mark documents, then remove and purge each one."""

    world: World
    store: ContentStore
    ahead: timedelta

    async def steps(self) -> AsyncIterator[str]:
        while True:
            now = self.world.now + self.ahead
            batch = await self.world.stores.garbage.condemn_documents(now, now, 10)
            yield "condemn"
            for each in batch:
                await self.store.remove(each.cid, each.network, each.fence)
                yield "remove"
                await self.world.stores.garbage.purge(each.cid, each.network, each.fence)
                yield "purge"


@dataclass
class Writer:
    """An author who keeps switching the thumbnail of a draft between two pictures."""

    world: World
    store: ContentStore
    draft: File
    picture: bytes
    other: bytes
    refused: int = 0

    async def steps(self) -> AsyncIterator[str]:
        while True:
            for picture in (self.picture, self.other):
                write = self.world.write(Action.PUBLISH, self.draft.owner)
                cid = document_cid(picture)
                intent = await self.world.begin_thumbnail(write, cid, len(picture))
                yield "begin"
                fence = await self.world.stores.garbage.fence()
                yield "fence"
                await self.store.put(cid, picture, Network.PUBLIC, None, fence)
                yield "put"
                try:
                    await self.world.stores.drafts.prepare_draft(write, intent, self.draft.cid, ())
                except Unavailable:
                    self.refused += 1
                yield "commit"


@dataclass
class Story:
    """A log of the steps. `check` must pass after every step."""

    world: World
    store: ContentStore
    pictures: list[Cid]
    done: list[str] = field(default_factory=list)

    async def check(self) -> None:
        for cid in self.pictures:
            if await self.world.stores.files.public_size(cid) is not None:
                assert await self.store.read(cid, Network.PUBLIC) is not None, self.done


async def finish(world: World, store: ContentStore, pictures: list[Cid]) -> None:
    """Destroy everything that is due while nothing else runs.

    Documents that refused writes stored too late have no record, and are detached as strays.
    """
    for _ in range(2):
        world.later(days=1)
        while batch := await world.stores.garbage.condemn_documents(world.now, world.now, 10):
            for each in batch:
                await store.remove(each.cid, each.network, each.fence)
                await world.stores.garbage.purge(each.cid, each.network, each.fence)
        await world.stores.garbage.detach_strays(pictures, Network.PUBLIC, world.now)


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("seed", range(3))
async def test_live_documents_are_readable_after_every_step(
    world: World, store: ContentStore, size: int, seed: int
) -> None:
    chance = random.Random(seed)
    shared = chance.randbytes(size)
    others = [chance.randbytes(size) for _ in range(2)]
    drafts = [await world.draft(owner) for owner in (world.alice, world.bob)]
    writers = [
        Writer(world, store, draft, shared, other)
        for draft, other in zip(drafts, others, strict=True)
    ]
    actors = [each.steps() for each in writers]
    actors += [Collector(world, store, ahead).steps() for ahead in AHEAD]
    story = Story(world, store, [document_cid(each) for each in (shared, *others)])
    for _ in range(250):
        actor = chance.randrange(len(actors))
        world.later(seconds=1)
        story.done.append(f"{actor} {await anext(actors[actor])}")
        await story.check()
    for draft in drafts:
        await world.delete(draft)
    await finish(world, store, story.pictures)
    assert {step.split()[1] for step in story.done} >= {"remove", "purge", "commit"}
    for cid in story.pictures:
        assert await store.read(cid, Network.PUBLIC) is None, "it stays for ever"


async def test_a_removal_at_any_step_of_a_write_keeps_its_document(
    world: World, store: ContentStore
) -> None:
    """Interleaves a write that rescues a document with two collectors that delete it."""
    draft = await world.draft()
    orders = sorted(set(permutations(["write"] * 4 + ["first"] * 2 + ["second"] * 2)))
    for number, order in enumerate(orders[::SHARE]):
        picture = b"picture %d" % number
        cid = document_cid(picture)
        file = await world.prepare(draft, thumbnail=cid)
        await store.put(cid, picture, Network.PUBLIC)
        assert file is not None
        await world.prepare(file)
        world.later(seconds=1)
        batch = await world.stores.garbage.condemn_documents(world.now, world.now, 10)
        (mine,) = [each for each in batch if each.cid == cid]
        for each in batch:
            if each is not mine:
                await world.stores.garbage.purge(each.cid, each.network, each.fence)
        actors = {
            "write": Writer(world, store, draft, picture, b"").steps(),
            "first": _destroy(world, store, mine.fence, cid),
            "second": _destroy(world, store, mine.fence, cid),
        }
        for actor in order:
            await anext(actors[actor])
        assert await world.stores.files.public_size(cid) is not None, order
        assert await store.read(cid, Network.PUBLIC) == picture, order


async def _destroy(world: World, store: ContentStore, fence: int, cid: Cid) -> AsyncIterator[str]:
    await store.remove(cid, Network.PUBLIC, fence)
    yield "remove"
    await world.stores.garbage.purge(cid, Network.PUBLIC, fence)
    yield "purge"
