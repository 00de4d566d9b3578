"""Writes by two authors, or by one author to different drafts, never wait for each other.

Each test holds a transaction open on the server after the transaction has made its changes. The
last change spends a nonce, and a trigger on the nonce waits for a lock held by the test. Until
the lock is released, no write that the transaction blocks can complete. The collector spends no
nonces: its transactions are held by a trigger on a document that they detach.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest
from tests.adapters.stores.conftest import World
from tests.adapters.stores.databases import Database

from imprint.adapters.stores.drafts.garbage import COMPARE_USAGE
from imprint.domain.drafts.files import Action, Network

HOLD = """
CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('lock_timeout', '0', true);
    PERFORM pg_advisory_xact_lock_shared(42);
    RETURN NULL;
END
$$;
CREATE TRIGGER hold AFTER INSERT ON nonces FOR EACH ROW WHEN (new.nonce = 'held')
EXECUTE FUNCTION hold();
CREATE TRIGGER hold AFTER INSERT ON detached FOR EACH ROW WHEN (new.cid = 'held')
EXECUTE FUNCTION hold();
"""

WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 42 AND NOT granted"

WAITING_EVENTS = WAITING.replace("objid = 42", "objid <> 42")


@pytest.fixture
def kind():
    return "postgresql"


@asynccontextmanager
async def holding(database: Database) -> AsyncIterator[asyncpg.Connection]:
    """Hold every transaction that spends the nonce 'held' or detaches the document 'held', until
    the `with` block exits."""
    session = await asyncpg.connect(database.address)
    try:
        await session.execute(HOLD)
        await session.execute("SELECT pg_advisory_lock(42)")
        yield session
    finally:
        await session.execute("SELECT pg_advisory_unlock(42)")
        await session.close()


@pytest.fixture(autouse=True)
async def _no_trigger_left(database: Database) -> AsyncIterator[None]:
    """Drop the triggers once no write is running, which could wait for the drop in turn."""
    yield
    session = await asyncpg.connect(database.address)
    await session.execute("DROP FUNCTION IF EXISTS hold CASCADE")
    await session.close()


async def until_held(session: asyncpg.Connection) -> None:
    while not await session.fetchval(WAITING):  # noqa: ASYNC110 - the server has no event for it
        await asyncio.sleep(0.01)


async def send(world: World, action: Action, nonce: str | None, draft, owner):
    """Send a write with the given action, as the service does."""
    if action is Action.CREATE:
        return await world.draft(owner, nonce)
    if action is Action.UPDATE:
        return await world.update(draft, nonce)
    if action is Action.DELETE:
        return await world.delete(draft, nonce)
    return await world.prepare(draft, "tag", nonce=nonce)


ACTIONS = list(Action)


@pytest.mark.parametrize("prepared", [False, True])
@pytest.mark.parametrize("held", ACTIONS)
async def test_other_writes_complete_while_a_write_is_held(world, database, held, prepared):
    drafts = {}
    for name, owner in (("mine", world.alice), ("own", world.alice), ("theirs", world.bob)):
        for action in (*ACTIONS, "held"):
            draft = await world.draft(owner)
            drafts[name, action] = await world.prepare(draft, "old") if prepared else draft
    async with holding(database) as session:
        first = asyncio.ensure_future(
            send(world, held, "held", drafts["mine", "held"], world.alice)
        )
        await until_held(session)
        others = [
            send(world, action, None, drafts[name, action], owner)
            for name, owner in (("theirs", world.bob), ("own", world.alice))
            for action in ACTIONS
        ]
        assert None not in await asyncio.gather(*others)
        assert not first.done()
        assert await session.fetchval(WAITING) == 1
    assert await first is not None


async def test_a_write_waits_for_another_write_to_the_same_draft(world, database):
    draft = await world.draft()
    async with holding(database) as session:
        first = asyncio.ensure_future(world.update(draft, "held"))
        await until_held(session)
        second = asyncio.ensure_future(world.update(draft))
        done, _ = await asyncio.wait([second], timeout=0.2)
        assert not done
    results = await asyncio.gather(first, second)
    assert [result is None for result in results] == [False, True]


async def test_an_event_waits_for_the_writes_of_its_author(world, database):
    draft, other = await world.draft(), await world.draft()
    async with holding(database) as session:
        first = asyncio.ensure_future(world.update(draft, "held"))
        await until_held(session)
        applied = asyncio.ensure_future(world.see(world.event(other)))
        done, _ = await asyncio.wait([applied], timeout=0.2)
        assert not done
    await asyncio.gather(first, applied)


async def test_events_that_wait_for_the_same_author_leave_connections_for_reads(world, database):
    drafts = [await world.draft() for _ in range(20)]
    theirs = await world.draft(world.bob)
    async with holding(database) as session:
        first = asyncio.ensure_future(world.update(drafts[0], "held"))
        await until_held(session)
        applied = [asyncio.ensure_future(world.see(world.event(each))) for each in drafts[1:]]
        while not await session.fetchval(WAITING_EVENTS):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        found = await asyncio.gather(*(world.live(theirs.cid) for _ in range(40)))
        assert found == [theirs] * 40
        assert await session.fetchval(WAITING_EVENTS) == 1
    await asyncio.gather(first, *applied)


async def test_an_intent_for_the_same_thumbnail_does_not_wait(world, database):
    draft, other = await world.draft(), await world.draft(world.bob)
    picture = world.cid()
    async with holding(database) as session:
        first = asyncio.ensure_future(world.update(draft, "held"))
        await until_held(session)
        assert await world.prepare(other, "tag", thumbnail=picture) is not None
        write = world.write(Action.PUBLISH)
        intent = world.intent(write, picture, Network.PUBLIC)
        assert await world.stores.drafts.begin_write(intent) is None
    assert await first is not None


async def test_a_thumbnail_just_dropped_by_another_draft_is_reclaimed(world, database):
    draft, other = await world.draft(), await world.draft()
    old = await world.prepare(other, thumbnail="bafkreithumbnail")
    write = world.write(Action.PUBLISH, world.alice)
    intent = await world.begin_thumbnail(write, "bafkreithumbnail")
    async with holding(database) as session:
        dropped = asyncio.ensure_future(world.delete(old, "held"))
        await until_held(session)
        taken = asyncio.ensure_future(
            world.stores.drafts.prepare_draft(write, intent, draft.cid, (), draft)
        )
        await until_waiting(session)
    assert None not in await asyncio.gather(dropped, taken)
    assert await database.rows("SELECT cid FROM detached WHERE network = 'public'") == []
    assert await database.rows(COMPARE_USAGE) == []


async def test_a_thumbnail_of_two_signers_counts_once_if_an_intent_expires_during_a_deletion(
    world, database
):
    draft = await world.prepare(await world.draft(), thumbnail="held")
    await world.begin_thumbnail(world.write(Action.PUBLISH, world.bob), "first")
    world.later(hours=1)
    condemned = await world.condemn()
    await world.begin_thumbnail(world.write(Action.PUBLISH, world.bob), "held")
    world.later(hours=1)
    async with holding(database) as session:
        expired = asyncio.ensure_future(world.condemn(limit=1))
        await until_held(session)
        # Without the draft as an argument, the rule runs instead of a single statement.
        write = world.write(Action.DELETE)
        deleted = asyncio.ensure_future(world.stores.drafts.delete_draft(write, draft.cid))
        await until_waiting(session)
    assert await expired == condemned == {("first", "public")}
    assert await deleted is not None
    assert await database.rows(COMPARE_USAGE) == []


async def until_waiting(session: asyncpg.Connection) -> None:
    """Wait until a write is blocked by the transaction that is held."""
    waiting = "SELECT count(*) FROM pg_locks WHERE objid IS DISTINCT FROM 42 AND NOT granted"
    while not await session.fetchval(waiting):  # noqa: ASYNC110 - as above
        await asyncio.sleep(0.01)
