"""Profiles in the database: their pictures become garbage when nobody uses them anymore."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest
from tests.adapters.stores.conftest import ALICE, BOB, Opener, World
from tests.adapters.stores.databases import Database, SqliteFile

from imprint.domain.drafts.files import AccountAction, Intent, Network, Write
from imprint.domain.errors import Damaged, NonceUsed, Unavailable
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.profiles import AvatarChange, Profile, ProfileTexts, ProfileUpdate

TEXTS = ProfileTexts("Ada", "Words.", ("https://ada.example", "mailto:ada@ink.example"))
KEEP, NONE, REPLACE = AvatarChange.KEEP, AvatarChange.NONE, AvatarChange.REPLACE


def update(
    world: World, avatar: AvatarChange = KEEP, owner: Address = ALICE, nonce: str | None = None
) -> ProfileUpdate:
    write = Write(owner, AccountAction.PROFILE, nonce or f"nonce {world.number()}", world.now)
    return ProfileUpdate(write, TEXTS, avatar)


async def begin(world: World, change: ProfileUpdate, cid: Cid, size: int = 10) -> Intent:
    intent = world.intent(change.write, cid, Network.PUBLIC, size=size)
    assert await world.stores.drafts.begin_write(intent, world.quota) is None
    return intent


async def save(world: World, change: ProfileUpdate, cid: Cid | None = None) -> Profile:
    intent = None if cid is None else await begin(world, change, cid)
    return await world.stores.profiles.save_profile(change, intent)


async def show(world: World, owner: Address = ALICE) -> Profile | None:
    account = await world.stores.index_reader.account(owner)
    return None if account is None else account.profile


async def usage(world: World, database: Database, owner: Address = ALICE) -> int:
    rows = await database.rows(f"SELECT used_bytes FROM owners WHERE owner = '{owner}'")
    assert await world.stores.garbage.recount_usage() == 0
    return int(rows[0][0]) if rows else 0


async def test_a_profile_is_read_as_it_was_saved(world: World) -> None:
    cid = world.cid()
    saved = await save(world, update(world, REPLACE), cid)
    assert saved == Profile(ALICE, TEXTS, cid, world.now)
    assert await show(world) == saved
    assert await show(world, BOB) is None


async def test_a_spent_nonce_changes_nothing(world: World) -> None:
    await save(world, update(world, nonce="once"))
    other = replace(update(world, nonce="once"), texts=ProfileTexts("Eve", "", ()))
    with pytest.raises(NonceUsed) as raised:
        await world.stores.profiles.save_profile(other, None)
    assert (raised.value.action, raised.value.file) == ("profile", None)
    assert (await show(world) or saved_nothing()).texts == TEXTS


def saved_nothing() -> Profile:
    raise AssertionError("There is no profile.")


async def test_a_replaced_picture_is_collected_but_its_successor_is_not(
    world: World, database: Database
) -> None:
    first, second = world.cid(), world.cid()
    await save(world, update(world, REPLACE), first)
    await save(world, update(world, REPLACE), second)
    assert await usage(world, database) == 20
    assert await world.stores.files.public_size(first) == 10
    world.later(days=2)
    assert await world.condemn() == {(first, "public")}
    await world.purge(first, Network.PUBLIC)
    assert await usage(world, database) == 10
    assert await world.stores.files.public_size(first) is None
    assert await world.stores.files.public_size(second) == 10


async def test_a_removed_picture_is_collected(world: World, database: Database) -> None:
    cid = world.cid()
    await save(world, update(world, REPLACE), cid)
    assert (await save(world, update(world, NONE))).avatar_cid is None
    world.later(days=2)
    assert await world.condemn() == {(cid, "public")}
    await world.purge(cid, Network.PUBLIC)
    assert await usage(world, database) == 0


async def test_a_picture_that_is_saved_again_counts_once(world: World, database: Database) -> None:
    cid = world.cid()
    for _ in range(3):
        await save(world, update(world, REPLACE), cid)
    assert await usage(world, database) == 10
    world.later(days=2)
    assert await world.condemn() == set()


async def test_a_picture_used_by_somebody_else_is_kept(world: World) -> None:
    cid = world.cid()
    await save(world, update(world, REPLACE), cid)
    await save(world, update(world, REPLACE, BOB), cid)
    await save(world, update(world, NONE))
    world.later(days=2)
    assert await world.condemn() == set()
    assert (await show(world, BOB) or saved_nothing()).avatar_cid == cid


async def test_a_thumbnail_that_is_also_a_profile_picture_is_kept(world: World) -> None:
    cid = world.cid()
    file = await world.draft()
    await world.prepare(file, thumbnail=cid)
    await save(world, update(world, REPLACE), cid)
    await world.delete(file)
    world.later(days=2)
    assert (cid, "public") not in await world.condemn()
    assert await world.stores.files.public_size(cid) == 10


async def test_the_picture_of_an_update_that_never_commits_is_collected(
    world: World, database: Database
) -> None:
    cid = world.cid()
    await begin(world, update(world, REPLACE), cid)
    world.later(days=2)
    assert await world.condemn() == {(cid, "public")}
    await world.purge(cid, Network.PUBLIC)
    assert await usage(world, database) == 0


async def test_an_update_after_its_intent_expired_changes_nothing(world: World) -> None:
    change, cid = update(world, REPLACE), world.cid()
    intent = await begin(world, change, cid)
    world.later(days=2)
    await world.condemn()
    with pytest.raises(Unavailable):
        await world.stores.profiles.save_profile(change, intent)
    assert await show(world) is None


async def test_profile_pictures_are_public_documents(world: World) -> None:
    avatar, thumbnail = world.cid(), world.cid()
    await save(world, update(world, REPLACE), avatar)
    await world.prepare(await world.draft(), thumbnail=thumbnail)
    await world.prepare(await world.draft(), thumbnail=avatar)
    listed, after = [], ""
    while batch := await world.stores.archives.documents_after(Network.PUBLIC, after, 1):
        listed += [each.cid for each in batch]
        after = listed[-1]
    assert listed == sorted([avatar, thumbnail])


async def test_a_profile_picture_in_use_is_not_a_stray(world: World) -> None:
    cid, unknown = world.cid(), world.cid()
    await save(world, update(world, REPLACE), cid)
    garbage = world.stores.garbage
    assert await garbage.find_strays([cid, unknown], Network.PUBLIC) == [unknown]
    assert await garbage.detach_strays([cid, unknown], Network.PUBLIC, world.now) == 1


async def test_a_damaged_profile_is_not_shown_but_can_be_replaced(
    world: World, database: Database, open_another: Opener
) -> None:
    cid = world.cid()
    await save(world, update(world, REPLACE), cid)
    await run(database, "UPDATE profiles SET bio = 'Other words.'")
    again = World(open_another(), now=world.now)
    with pytest.raises(Damaged):
        await show(again)
    with pytest.raises(Damaged):
        await save(again, update(again, KEEP, nonce="keep"))
    saved = await save(again, update(again, NONE, nonce="none"))
    assert await show(again) == saved


async def run(database: Database, text: str) -> None:
    """Run a statement that bypasses the catalog."""
    if isinstance(database, SqliteFile):
        with closing(sqlite3.connect(database.path, isolation_level=None)) as connection:
            connection.execute(text)
    else:
        await database.rows(text)
