"""Writing sessions on every database, and the writes they sign."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.adapters.stores.conftest import ALICE, BOB, START, Opener, World
from tests.adapters.stores.databases import Database

from imprint.adapters.database.transaction import Transaction
from imprint.domain.drafts.files import Action, Write
from imprint.domain.errors import Code, Damaged, NonceUsed, RateLimited, Refusal
from imprint.domain.formats.addresses import Address
from imprint.domain.rate_limits import Rate
from imprint.domain.sessions import WritingSession
from imprint.ports.drafts import NO_QUOTA

SLOW = Rate(1, 60)


def session_of(wallet: Address, number: int, **changes: Any) -> WritingSession:
    session = WritingSession(
        f"session-{wallet[2:4]}-{number}",
        wallet,
        b"\x04" + bytes(63) + bytes([number % 256]),
        (Action.UPDATE, Action.CREATE),
        START - timedelta(seconds=2),
        START + timedelta(hours=1),
        START + timedelta(seconds=number),
    )
    return replace(session, **changes)


async def test_an_added_session_is_found_unchanged(world: World) -> None:
    sessions = world.stores.writing_sessions
    session = session_of(ALICE, 1)
    assert await sessions.find_session(session.id) is None
    assert await sessions.add_session(session, "nonce", 20)
    assert await sessions.find_session(session.id) == session


async def test_the_sessions_of_a_wallet_are_listed_oldest_first(world: World) -> None:
    sessions = world.stores.writing_sessions
    mine = [session_of(ALICE, number) for number in (3, 1, 2)]
    for session in (*mine, session_of(BOB, 0)):
        assert await sessions.add_session(session, f"nonce {session.id}", 20)
    assert await sessions.list_sessions(ALICE, START) == [mine[1], mine[2], mine[0]]


async def test_expired_sessions_are_neither_listed_nor_counted(world: World) -> None:
    sessions = world.stores.writing_sessions
    old = session_of(ALICE, 1, expires_at=START + timedelta(minutes=1))
    assert await sessions.add_session(old, "one", 1)
    assert await sessions.list_sessions(ALICE, START + timedelta(minutes=1)) == []
    assert await sessions.find_session(old.id) == old
    new = session_of(ALICE, 2, created_at=START + timedelta(minutes=1))
    assert await sessions.add_session(new, "two", 1)
    assert await sessions.find_session(old.id) is None
    assert await sessions.list_sessions(ALICE, START + timedelta(minutes=2)) == [new]


async def test_a_wallet_cannot_exceed_the_session_limit(world: World, open_another: Opener) -> None:
    both = [world.stores.writing_sessions, open_another().writing_sessions]
    adding = (
        both[number % 2].add_session(session_of(ALICE, number), f"nonce {number}", 3)
        for number in range(8)
    )
    assert sorted(await asyncio.gather(*adding)) == [False] * 5 + [True] * 3
    assert len(await both[0].list_sessions(ALICE, START)) == 3
    assert await both[0].add_session(session_of(BOB, 1), "another", 3)


async def test_a_session_above_the_limit_does_not_spend_its_nonce(world: World) -> None:
    sessions = world.stores.writing_sessions
    assert not await sessions.add_session(session_of(ALICE, 1), "nonce", 0)
    await world.stores.writing_sessions.check_nonce(ALICE, "nonce")
    assert await sessions.add_session(session_of(ALICE, 1), "nonce", 1)


async def test_sessions_and_writes_share_one_nonce_space(world: World) -> None:
    sessions = world.stores.writing_sessions
    assert await sessions.add_session(session_of(ALICE, 1), "opening", 20)
    with pytest.raises(NonceUsed) as by_write:
        await world.draft(ALICE, "opening")
    assert (by_write.value.action, by_write.value.file) == ("writing_session", None)
    draft = await world.draft(ALICE, "write \\ with a backslash")
    with pytest.raises(NonceUsed) as by_opening:
        await sessions.add_session(session_of(ALICE, 2), "write \\ with a backslash", 20)
    assert (by_opening.value.action, by_opening.value.file) == ("create", draft)
    assert await sessions.find_session(session_of(ALICE, 2).id) is None
    assert await sessions.add_session(session_of(BOB, 1), "opening", 20)


async def test_concurrent_openings_with_the_same_nonce_create_one_session(
    world: World, open_another: Opener
) -> None:
    both = [world.stores.writing_sessions, open_another().writing_sessions]
    adding = (
        both[number % 2].add_session(session_of(ALICE, number), "same", 20) for number in range(8)
    )
    results = await asyncio.gather(*adding, return_exceptions=True)
    assert [each for each in results if not isinstance(each, NonceUsed)] == [True]
    assert len(await both[0].list_sessions(ALICE, START)) == 1


async def test_only_its_wallet_can_revoke_a_session(world: World, open_another: Opener) -> None:
    here, there = world.stores.writing_sessions, open_another().writing_sessions
    session = session_of(ALICE, 1)
    await here.add_session(session, "nonce", 20)
    assert not await here.revoke_session(BOB, session.id)
    assert not await here.revoke_session(ALICE, "another")
    assert await there.find_session(session.id) == session
    assert await here.revoke_session(ALICE, session.id)
    assert await there.find_session(session.id) is None
    assert not await there.revoke_session(ALICE, session.id)


async def test_all_sessions_of_a_wallet_can_be_revoked_together(world: World) -> None:
    sessions = world.stores.writing_sessions
    for number in range(3):
        await sessions.add_session(session_of(ALICE, number), f"nonce {number}", 20)
    await sessions.add_session(session_of(BOB, 1), "nonce", 20)
    await sessions.revoke_sessions(ALICE)
    assert await sessions.list_sessions(ALICE, START) == []
    assert len(await sessions.list_sessions(BOB, START)) == 1


async def damage_actions(tx: Transaction) -> None:
    await tx.execute("UPDATE writing_sessions SET actions = 'publish?'")


async def test_a_session_with_damaged_actions_is_not_used(world: World) -> None:
    sessions = world.stores.writing_sessions
    await sessions.add_session(session_of(ALICE, 1), "nonce", 20)
    await world.stores.database.transact((), damage_actions)
    with pytest.raises(Damaged):
        await sessions.find_session(session_of(ALICE, 1).id)


# Writes by a session


def write_by(world: World, session: WritingSession, action: Action = Action.UPDATE) -> Write:
    write = world.write(action, session.wallet)
    return replace(write, session=session.id)


async def open_create(world: World, write: Write, rate: Rate | None) -> int | None:
    version = world.version(write.signer)
    intent = world.intent(write, version.cid, number=version.number)
    return await world.stores.drafts.open_create(write, rate, "key", intent, NO_QUOTA)


@pytest.mark.parametrize("rate", [None, Rate(100, 60)])
async def test_a_session_can_write_until_it_is_revoked(
    world: World, open_another: Opener, rate: Rate | None
) -> None:
    sessions, session = open_another().writing_sessions, session_of(ALICE, 1)
    await sessions.add_session(session, "nonce", 20)
    draft = await world.draft()
    opened = await world.stores.drafts.open_write(write_by(world, session), rate, "key", draft.cid)
    assert opened == draft
    assert await world.stores.drafts.open_write(write_by(world, session), rate, "key") is None
    assert await open_create(world, write_by(world, session, Action.CREATE), rate) is None
    await sessions.revoke_session(ALICE, session.id)
    with pytest.raises(Refusal) as update:
        await world.stores.drafts.open_write(write_by(world, session), rate, "key", draft.cid)
    with pytest.raises(Refusal) as large:
        await world.stores.drafts.open_write(write_by(world, session), rate, "key")
    with pytest.raises(Refusal) as create:
        await open_create(world, write_by(world, session, Action.CREATE), rate)
    codes = {each.value.code for each in (update, large, create)}
    assert codes == {Code.WRITING_SESSION_INVALID}


async def test_a_write_by_a_revoked_session_does_not_count_towards_the_rate(world: World) -> None:
    session = session_of(ALICE, 1)
    for _ in range(3):
        with pytest.raises(Refusal) as refusal:
            await world.stores.drafts.open_write(write_by(world, session), SLOW, "key")
        assert refusal.value.code is Code.WRITING_SESSION_INVALID
        with pytest.raises(Refusal) as refusal:
            await open_create(world, write_by(world, session, Action.CREATE), SLOW)
        assert refusal.value.code is Code.WRITING_SESSION_INVALID
    # The whole rate is left.
    await world.stores.drafts.open_write(world.write(Action.UPDATE), SLOW, "key")
    with pytest.raises(RateLimited):
        await world.stores.drafts.open_write(world.write(Action.UPDATE), SLOW, "key")


async def test_a_write_by_a_revoked_session_leaves_no_intent(
    world: World, database: Database
) -> None:
    write = write_by(world, session_of(ALICE, 1), Action.CREATE)
    with pytest.raises(Refusal):
        await open_create(world, write, None)
    assert await database.rows("SELECT id FROM intents") == []


async def test_writes_by_a_session_count_towards_the_rate_of_its_wallet(world: World) -> None:
    sessions, session = world.stores.writing_sessions, session_of(ALICE, 1)
    await sessions.add_session(session, "nonce", 20)
    await world.stores.drafts.open_write(write_by(world, session), SLOW, "key")
    with pytest.raises(RateLimited):
        await world.stores.drafts.open_write(write_by(world, session), SLOW, "key")
    with pytest.raises(RateLimited):
        await open_create(world, write_by(world, session, Action.CREATE), SLOW)


async def test_a_spent_nonce_names_the_action_that_spent_it(
    world: World,
) -> None:
    sessions, session = world.stores.writing_sessions, session_of(ALICE, 1)
    await sessions.add_session(session, "nonce", 20)
    write = replace(write_by(world, session, Action.CREATE), nonce="nonce")
    for rate in (None, Rate(100, 60)):
        with pytest.raises(NonceUsed) as used:
            await world.stores.drafts.open_write(write, rate, "key")
        assert used.value.action == "writing_session"
        with pytest.raises(NonceUsed):
            await open_create(world, write, rate)
