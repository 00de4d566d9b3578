"""Ended sessions: which reads refuse them, in which processes, and for how long."""

import asyncio
import sqlite3
from contextlib import closing
from datetime import datetime, timedelta

import pytest

from imprint.adapters.database.schema import known_migrations, migrate
from imprint.adapters.stores import ended_sessions
from imprint.domain.errors import Code, Refusal
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.posts.indexed_posts import OwnDrafts
from imprint.domain.sessions import Session

HOUR = timedelta(hours=1)


def session_of(world, name="one", generation=0, owner=None):
    return Session(owner or world.alice, world.now + HOUR, f"{generation}-{name}", generation)


async def is_ended(stores, session):
    """Return whether the session is ended, checking that all reads of files agree."""
    verdicts = set()
    for check in (
        stores.sessions.refuse_ended(session),
        stores.files.file_by_cid(Cid("bafyabsent"), session),
        stores.files.file_by_post_id(10**30, session),
        stores.files.list_files(OwnDrafts(session.address), None, 5, session),
    ):
        try:
            await check
            verdicts.add(None)
        except Refusal as refusal:
            verdicts.add(refusal.code)
    assert verdicts in ({None}, {Code.SESSION_ENDED})
    return verdicts != {None}


async def log_in(world, name, owner: Address | None = None):
    """Return a session as issued by a login."""
    owner = owner or world.alice
    generation = await world.stores.sessions.spend_login_nonce(owner, name, world.now)
    assert generation is not None
    return session_of(world, name, generation, owner)


async def test_ending_one_session_does_not_end_the_others(world):
    one, two = session_of(world, "one"), session_of(world, "two")
    ended = world.stores.sessions
    await ended.end(one, one.expires_at)
    assert await is_ended(world.stores, one)
    assert not await is_ended(world.stores, two)


async def test_reads_that_would_return_files_refuse_an_ended_session(world):
    draft, post = await world.draft(), await world.post()
    session = session_of(world)
    reads = [
        lambda: world.stores.files.file_by_cid(draft.cid, session),
        lambda: world.stores.files.file_by_post_id(post.publication.post_id, session),
        lambda: world.stores.files.list_files(OwnDrafts(world.alice), None, 5, session),
    ]
    assert [await read() for read in reads] == [draft, post, [draft]]
    await world.stores.sessions.end(session, session.expires_at)
    for read in reads:
        with pytest.raises(Refusal) as caught:
            await read()
        assert caught.value.code is Code.SESSION_ENDED
    assert await world.stores.files.file_by_cid(draft.cid) == draft


async def test_a_session_ended_by_another_process_is_refused_by_the_next_read(world, open_another):
    other = open_another()
    draft = await world.draft()
    sessions = [session_of(world, str(number)) for number in range(4)]
    reads = [
        lambda session: other.files.file_by_cid(draft.cid, session),
        lambda session: other.files.list_files(OwnDrafts(world.alice), None, 5, session),
        other.sessions.refuse_ended,
    ]
    for session in sessions:
        # Read repeatedly, to fill all caches of the process.
        for _ in range(3):
            for read in reads:
                await read(session)
        await world.stores.sessions.end(session, session.expires_at)
        for read in reads:
            with pytest.raises(Refusal, match="ended by a logout"):
                await read(session)


async def test_the_cached_check_of_one_session_does_not_affect_another(world):
    draft = await world.draft()
    one, two = session_of(world, "one"), session_of(world, "two")
    await world.stores.sessions.end(one, one.expires_at)
    assert await world.stores.files.list_files(OwnDrafts(world.alice), None, 5, two) == [draft]
    assert await is_ended(world.stores, one)
    assert not await is_ended(world.stores, two)


async def test_a_nonce_can_be_spent_by_one_login_only(world):
    spend = world.stores.sessions.spend_login_nonce
    assert await spend(world.alice, "nonce", world.now) == 0
    assert await spend(world.alice, "nonce", world.now) is None
    assert await spend(world.bob, "nonce", world.now) == 0


async def test_all_sessions_of_an_address_end_together(world):
    mine = [await log_in(world, str(number)) for number in range(3)]
    bobs = await log_in(world, "bob", world.bob)
    await world.stores.sessions.end_all(mine[0], world.now, world.now + 2 * HOUR)
    assert [await is_ended(world.stores, session) for session in mine] == [True] * 3
    assert not await is_ended(world.stores, bobs)


async def test_a_login_at_the_same_instant_as_a_logout_of_all_sessions_is_not_ended(world):
    ended = world.stores.sessions
    for number in range(5):
        session = await log_in(world, str(number))
        assert not await is_ended(world.stores, session)
        await ended.end_all(session, world.now, world.now + 2 * HOUR)
        assert await is_ended(world.stores, session)


async def test_logging_out_all_sessions_works_after_the_clock_was_set_back(world):
    ended = world.stores.sessions
    first = await log_in(world, "first")
    await ended.end_all(first, world.now, world.now + 2 * HOUR)
    second = await log_in(world, "second")
    await ended.end_all(second, world.now - timedelta(days=30), world.now)
    assert await is_ended(world.stores, first)
    assert await is_ended(world.stores, second)
    assert not await is_ended(world.stores, await log_in(world, "third"))


async def test_an_ended_session_cannot_end_others(world):
    ended = world.stores.sessions
    one, two = await log_in(world, "one"), await log_in(world, "two")
    await ended.end(one, one.expires_at)
    for attempt in (ended.end(one, one.expires_at), ended.end_all(one, world.now, world.now)):
        with pytest.raises(Refusal) as caught:
            await attempt
        assert caught.value.code is Code.SESSION_ENDED
    assert not await is_ended(world.stores, two)


async def test_concurrent_logouts_end_every_earlier_session(world, open_another):
    other = open_another()
    before = [await log_in(world, f"before-{number}") for number in range(4)]
    results = await asyncio.gather(
        *(
            stores.sessions.end_all(session, world.now, world.now + 2 * HOUR)
            for session, stores in zip(before, [world.stores, other] * 2, strict=True)
        ),
        *(log_in(world, f"during-{number}") for number in range(4)),
        return_exceptions=True,
    )
    refused = [each for each in results if isinstance(each, Exception)]
    assert all(isinstance(each, Refusal) for each in refused)
    assert [await is_ended(other, session) for session in before] == [True] * 4
    assert not await is_ended(other, await log_in(world, "after"))


async def rows(world) -> int:
    async def count(tx):
        row = await tx.fetchone("SELECT count(*) AS count FROM ended_sessions")
        return row["count"]

    return await world.stores.database.read(count)


async def test_a_row_is_removed_after_all_its_sessions_have_expired(world):
    ended = world.stores.sessions
    one, two = await log_in(world, "one"), await log_in(world, "two")
    await ended.end(one, one.expires_at)
    await ended.end_all(two, world.now, two.expires_at + HOUR)
    await world.stores.garbage.prune_replays(one.expires_at)
    assert await rows(world) == 2
    await world.stores.garbage.prune_replays(one.expires_at + timedelta(seconds=1))
    assert await rows(world) == 1
    assert await is_ended(world.stores, two)
    await world.stores.garbage.prune_replays(two.expires_at + 2 * HOUR)
    assert await rows(world) == 0
    assert (await log_in(world, "three")).generation == 0


async def test_expired_writing_sessions_are_removed(world):
    async def add(tx, name: str, expires_at: datetime) -> None:
        await tx.execute(
            "INSERT INTO writing_sessions (id, wallet, public_key, actions, not_before, expires_at,"
            " created_at) VALUES (:id, :wallet, :key, 'create', 0, :expires_at, 0)",
            id=name,
            wallet=world.alice,
            key=b"\x04",
            expires_at=int(expires_at.timestamp() * 1_000_000),
        )

    async def names(tx):
        return [row["id"] for row in await tx.fetchall("SELECT id FROM writing_sessions")]

    await world.stores.database.transact((), add, "old", world.now - HOUR)
    await world.stores.database.transact((), add, "new", world.now + HOUR)
    await world.stores.garbage.prune_replays(world.now)
    assert await world.stores.database.read(names) == ["new"]


@pytest.mark.parametrize("text", [ended_sessions.FIND_ENDED, ended_sessions.END_SESSION])
def test_sqlite_finds_an_ended_session_without_a_table_scan(text):
    values = dict.fromkeys(("session", "reader", "generation", "subject", "expires_at"))
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, known_migrations())
        plan = connection.execute(f"EXPLAIN QUERY PLAN {text}", values).fetchall()
    assert not [row[3] for row in plan if row[3].startswith("SCAN ended_sessions")]
