"""After any sequence of operations, the records are consistent with each other and the chain."""

import asyncio
import random
from dataclasses import replace

import pytest

from imprint.adapters.stores.drafts.garbage import COMPARE_USAGE
from imprint.domain.drafts.files import Action, State
from imprint.domain.errors import Unavailable
from imprint.domain.posts.indexed_posts import PublicList
from imprint.domain.posts.posts import Advance, BlockRef

THUMBNAILS = ["picture1", "picture2", "picture3", "picture4"]
TAGS = ["a", "b", "c"]
CURSOR = BlockRef(100, "0x" + "1" * 64)


class Chaos:
    """Random actions of authors, other wallets, the chain and the garbage collector."""

    def __init__(self, world, seed):
        self.world = world
        self.random = random.Random(seed)
        self.files = []
        self.events = []
        self.done = []

    async def act(self):
        acts = [self.create, self.update, self.prepare, self.delete, self.publish, self.publish]
        acts += [self.repeat, self.orphan, self.confirm, self.condemn, self.wait, self.foresee]
        acts += [self.abandon]
        act = self.random.choice(acts)
        self.done.append(act.__name__)
        await act()

    def some_file(self):
        return self.random.choice(self.files)

    async def create(self):
        self.files.append(
            await self.world.draft(self.random.choice([self.world.alice, self.world.bob]))
        )

    async def foresee(self):
        version = self.world.version()
        event = self.world.event(version, block=self.random.randint(1, 9))
        self.events.append(event)
        await self.world.see(event)
        write = self.world.write(Action.CREATE)
        intent = await self.world.begin(write, version)
        self.files.append(await self.world.stores.drafts.add_draft(write, intent, version))

    async def abandon(self):
        await self.world.begin(self.world.write(Action.CREATE), self.world.version())
        thumbnail = self.random.choice(THUMBNAILS)
        await self.world.begin_thumbnail(self.world.write(Action.PUBLISH), thumbnail)

    async def update(self):
        new = await self.world.update(self.some_file())
        self.files += [new] if new else []

    async def prepare(self):
        tags = self.random.sample(TAGS, self.random.randint(0, 3))
        thumbnail = self.random.choice(THUMBNAILS)
        await self.world.prepare(self.some_file(), *tags, thumbnail=thumbnail)

    async def delete(self):
        await self.world.delete(self.some_file())

    async def publish(self):
        file, author = self.some_file(), self.random.choice([None, None, self.world.bob])
        block = self.random.randint(1, 9)
        post_id = self.random.randint(1, 12)
        event = self.world.event(file, author=author, post_id=post_id, block=block, block_hash=None)
        self.events.append(event)
        await self.world.see(event)

    async def repeat(self):
        if self.events:
            await self.world.see(self.random.choice(self.events))

    async def confirm(self):
        if self.events:
            event = self.random.choice(self.events)
            await self.world.stores.events.advance(
                31337, Advance(CURSOR, events=(event,)), self.world.now
            )

    async def orphan(self):
        if self.events:
            event = self.random.choice(self.events)
            await self.world.stores.events.advance(
                31337, Advance(CURSOR, lost=(event.place,)), self.world.now
            )

    async def condemn(self):
        for each in await self.world.stores.garbage.condemn_documents(
            self.world.now, self.world.now, 3
        ):
            if self.random.random() < 0.5:
                await self.world.stores.garbage.purge(each.cid, each.network, each.fence)

    async def wait(self):
        self.world.later(minutes=self.random.randint(1, 30))


@pytest.mark.parametrize("seed", range(6))
async def test_records_are_consistent_after_any_sequence_of_actions(world, database, seed):
    chaos = Chaos(world, seed)
    await chaos.create()
    for _ in range(150):
        await chaos.act()
        await thumbnails_are_sound(world)
    live = [
        file
        for known in chaos.files
        if (file := await world.stores.files.file_by_cid(known.cid)) is not None
    ]
    await lists_agree(world, live)
    await tables_agree(database, live)


@pytest.mark.parametrize("seed", range(4))
async def test_records_are_consistent_after_concurrent_actions(world, open_another, database, seed):
    actors = [Chaos(replace(world, stores=open_another()), seed * 10 + n) for n in range(4)]
    for actor in actors:
        await actor.create()
    files = [file for actor in actors for file in actor.files]
    for actor in actors:
        actor.files = list(files)
    await asyncio.gather(*(act_on(actor, 50) for actor in actors))
    live = {}
    for known in [file for actor in actors for file in actor.files]:
        if file := await world.stores.files.file_by_cid(known.cid):
            live[file.cid] = file
    await lists_agree(world, list(live.values()))
    await tables_agree(database, list(live.values()))


async def act_on(actor, times):
    for _ in range(times):
        try:
            await actor.act()
        except Unavailable as refused:
            # Another step has already ended this intent.
            if refused.code != "storage_unavailable":
                raise


async def records_are_sound(world):
    """Check that every record checksum is right, and that live files and their groups have one."""
    records = await world.stores.records.verify_records(-1, 10_000)
    assert [record.damage for record in records if record.damage is not None] == []
    assert [record.file for record in records if record.unchecked and record.file.state.live] == []
    assert await world.stores.records.compare_tags() == []
    await thumbnails_are_sound(world)


async def thumbnails_are_sound(world):
    """Check that no thumbnail is mistaken for a damaged file, which would raise an error."""
    for thumbnail in THUMBNAILS:
        await world.stores.files.public_size(thumbnail)


async def lists_agree(world, live):
    await records_are_sound(world)
    for drafts_too in (False, True):
        shown = [file for file in live if drafts_too or file.state is State.ONCHAIN]
        shown.sort(key=lambda file: -file.position)
        assert await world.pages(PublicList(drafts_too=drafts_too)) == shown
        for tags in [("a",), ("a", "b"), ("c", "b", "a")]:
            tagged = [file for file in shown if set(tags) <= set(file.hashtags)]
            assert await world.pages(PublicList(tags, drafts_too)) == tagged


async def tables_agree(database, live):
    groups = [file.group_id for file in live]
    assert len(set(groups)) == len(groups)
    for counted in await database.counted_tags():
        counts = dict(counted)
        for tag in TAGS:
            assert counts.get(tag, 0) == sum(tag in file.hashtags for file in live)
    wrong = await database.rows(
        "SELECT count(*) FROM files f LEFT JOIN events e ON e.file_id = f.id AND e.canonical = 1"
        " AND e.author = f.owner AND e.cid = f.cid AND e.post_id = f.post_id"
        " WHERE (f.state = 'onchain') <> (e.file_id IS NOT NULL)"
    )
    assert wrong == [(0,)]
    condemned = set(await database.rows("SELECT cid, network FROM detached WHERE condemned = 1"))
    held = {(file.cid, "private") for file in live}
    held |= {(file.thumbnail_cid, "public") for file in live}
    assert not held & condemned
    orphans = "SELECT f.id FROM files f LEFT JOIN file_groups g ON g.id = f.group_id"
    assert await database.rows(f"{orphans} WHERE g.id IS NULL") == []
    assert await database.rows(COMPARE_USAGE) == []
