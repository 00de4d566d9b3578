"""PostgreSQL's single-statement writes have the same effects as the rules in every situation."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from tests.adapters.stores.conftest import World
from tests.adapters.stores.databases import PostgresqlServer
from tests.adapters.stores.test_stores_invariants import (
    TAGS,
    THUMBNAILS,
    Chaos,
    records_are_sound,
)
from tests.postgresql import Server
from tests.stores import open_postgresql_stores

from imprint.adapters.stores.drafts.drafts import SqlDraftStore
from imprint.adapters.stores.publication import SqlEventStore
from imprint.domain.drafts.files import Action, File, Quota
from imprint.domain.errors import Problem
from imprint.domain.posts.posts import DeliveryKey
from imprint.domain.rate_limits import Rate

QUOTA = Quota(bytes=900, drafts=15)
RATE = Rate(20, 60)

GROUP = "min(f.id) OVER (PARTITION BY f.group_id)"
"""SQL for a canonical group ID, because the ID of a group created by an event depends on
positions."""

TABLES = {
    "files": f"""
SELECT f.id, {GROUP}, owner, name, cid, size, created_at, state, post_id, published_at, tx_hash,
       rank() OVER (ORDER BY position) FROM files f ORDER BY f.id""",
    "groups": f"""
SELECT f.id, {GROUP}, g.owner, g.hashtags, g.thumbnail_cid, g.created_at, g.thumbnail_size
FROM files f JOIN file_groups g ON g.id = f.group_id ORDER BY f.id""",
    "tags": """
SELECT t.tag, f.id, t.state FROM file_tags t JOIN files f ON f.position = t.position
ORDER BY t.tag, f.id""",
    "events": "SELECT * FROM events ORDER BY chain_id, block_hash, log_index",
    "deliveries": "SELECT * FROM deliveries ORDER BY provider, digest",
    "nonces": "SELECT * FROM nonces ORDER BY signer, nonce",
    "intents": "SELECT * FROM intents ORDER BY id",
    "detached": """
SELECT cid, network, detached_at, condemned, owner, size, fence FROM detached
ORDER BY network, cid""",
    "owners": """
SELECT owner, last_number, used_bytes, drafts - (
    SELECT coalesce(sum(drafts), 0) FROM detached d WHERE d.owner = o.owner
) FROM owners o ORDER BY owner""",
    "rate limits": "SELECT * FROM paces ORDER BY key",
}
"""Queries that together read every table that writes change.

A draft deleted by a single statement counts towards the quota until a later write settles the
count or the draft is destroyed. The query for owners subtracts such drafts.
"""


class Author(Chaos):
    """An author who also opens writes with spent nonces, or in excess of rate limits and quotas,
    and whose events are also delivered by a provider, sometimes again or with a thumbnail."""

    async def act(self) -> None:
        if self.random.random() < 0.6:
            self.done.append("act")
            await super().act()
        else:
            others = [self.open_write, self.open_create, self.deliver, self.deliver]
            await self.random.choice(others)()

    async def deliver(self) -> None:
        file, number = self.some_file(), self.world.number()
        if self.events and self.random.random() < 0.2:
            event = self.random.choice(self.events)
        else:
            post_id = self.random.choice([number, self.random.randint(1, 12)])
            thumbnail = self.random.choice([None, file.thumbnail_cid, *THUMBNAILS])
            event = self.world.event(file, post_id=post_id, thumbnail=thumbnail)
            self.events.append(event)
        digest = self.random.choice([f"digest {number}", "digest"])
        nonce = self.random.choice([f"nonce {number}", "", "nonce"])
        key = self.random.choice([None, DeliveryKey("b", digest, nonce)])
        self.done.append(
            await self.world.stores.events.apply_events(key, (event,), (), self.world.now)
        )

    def some_file(self) -> File:
        return self.random.choice(self.files[-4:])

    async def prepare(self) -> None:
        # Keep the prepared draft: the service also passes the current draft to every write.
        tags = self.random.sample(TAGS, self.random.randint(0, 3))
        thumbnail = self.random.choice(THUMBNAILS)
        prepared = await self.world.prepare(self.some_file(), *tags, thumbnail=thumbnail)
        self.files += [prepared] if prepared else []

    def some_nonce(self) -> str:
        return self.random.choice(["spent", f"nonce {self.world.number()}"])

    async def open_write(self) -> None:
        write, file = self.world.write(Action.UPDATE, nonce=self.some_nonce()), self.some_file()
        rate, cid = self.random.choice([None, RATE]), self.random.choice([None, file.cid])
        found = await self.world.stores.drafts.open_write(write, rate, "alice", cid)
        self.done.append(found and found.id)

    async def open_create(self) -> None:
        write, version = (
            self.world.write(Action.CREATE, nonce=self.some_nonce()),
            self.world.version(),
        )
        rate = self.random.choice([None, RATE])
        number = self.random.choice([version.number, 1])
        intent = self.world.intent(write, version.cid, number=number, size=version.size)
        drafts = self.world.stores.drafts
        reserved = await drafts.open_create(write, rate, "alice", intent, QUOTA)
        self.done.append(reserved)
        if reserved is None:
            self.files.append(await drafts.add_draft(write, intent, version))


@pytest.fixture
async def by_statements(postgresql: Server) -> AsyncIterator[World]:
    server = await PostgresqlServer.clean(postgresql)
    world = World(open_postgresql_stores(server.address), quota=QUOTA)
    yield world
    await world.stores.close()


@pytest.fixture
async def by_rules(postgresql: Server) -> AsyncIterator[World]:
    server = await PostgresqlServer.clean(postgresql, "rules")
    stores = open_postgresql_stores(server.address)
    rules = SqlDraftStore(stores.database, stores.files, stores.rate_limits)
    events = SqlEventStore(stores.database)
    yield World(replace(stores, drafts=rules, events=events), quota=QUOTA)
    await stores.close()


async def outcome(author: Author) -> list[Any]:
    """Let an author take one more step, and return its outcome and the newest file."""
    try:
        await author.act()
    except Problem as problem:
        author.done.append((problem.code, problem.detail))
    return [author.done[-3:], [without_place(file) for file in author.files[-1:]]]


def without_place(file: File) -> File:
    return replace(file, position=0, group_id="")


async def rows_of(world: World) -> dict[str, list[tuple[Any, ...]]]:
    async def read(tx: Any) -> dict[str, list[tuple[Any, ...]]]:
        return {name: [tuple(r) for r in await tx.fetchall(text)] for name, text in TABLES.items()}

    return await world.stores.database.read(read)


@pytest.mark.parametrize("seed", range(8))
async def test_single_statement_writes_have_the_same_outcomes_and_records_as_the_rules(
    by_statements: World, by_rules: World, seed: int
) -> None:
    authors = [Author(by_statements, seed), Author(by_rules, seed)]
    for author in authors:
        await author.create()
    for step in range(150):
        here, there = [await outcome(author) for author in authors]
        assert here == there
        if step % 5 == 0:
            assert await rows_of(by_statements) == await rows_of(by_rules)
    await records_are_sound(by_statements)
