"""The identity of the installation that a catalog belongs to."""

import asyncio

from tests.adapters.stores.conftest import Opener, World
from tests.adapters.stores.databases import Database, open_any

from imprint.adapters.database.database import ADD_INSTALLATION
from imprint.adapters.database.transaction import Transaction
from imprint.domain.formats.cids import Cid
from imprint.domain.installation import Identity

ID = "0123456789abcdef" * 2


async def forget(tx: Transaction) -> None:
    await tx.execute("DELETE FROM installation")


async def test_the_first_process_creates_the_catalog_id_and_all_others_use_it(
    open_another: Opener,
) -> None:
    identities = {open_another().database.identity for _ in range(3)}
    (identity,) = identities
    assert len(bytes.fromhex(identity.id)) == 16
    assert identity == Identity(identity.id, claimed=False, owns_unnamed=False)


async def test_processes_that_open_a_new_catalog_together_agree_on_its_id(
    world: World, open_another: Opener
) -> None:
    for _ in range(5):
        await world.stores.database.transact((), forget)
        opened = await asyncio.gather(*(asyncio.to_thread(open_another) for _ in range(4)))
        assert len({each.database.identity.id for each in opened}) == 1


async def test_a_catalog_with_files_owns_documents_stored_without_an_installation_id(
    world: World, open_another: Opener
) -> None:
    file = await world.draft()
    await world.stores.database.transact((), forget)
    assert open_another().database.identity.owns_unnamed
    await world.delete(file)
    await world.stores.database.transact((), forget)
    assert open_another().database.identity.owns_unnamed


async def test_a_claim_is_recorded(world: World, open_another: Opener) -> None:
    await world.stores.installation.note_claim()
    assert world.stores.installation.identity.claimed
    assert open_another().database.identity == world.stores.installation.identity


async def test_a_renamed_installation_has_no_recorded_claim(
    world: World, open_another: Opener
) -> None:
    await world.draft()
    await world.stores.database.transact((), forget)
    stores = open_another()
    await stores.installation.note_claim()
    await stores.installation.rename_installation(ID)
    assert stores.installation.identity == open_another().database.identity == Identity(ID)


async def test_count_known_counts_documents_referenced_by_a_record(world: World) -> None:
    file, thumbnail, deleted = await world.draft(), world.cid(), await world.draft()
    await world.prepare(file, thumbnail=thumbnail)
    await world.delete(deleted)
    stray = Cid("bafystray")
    known = [file.cid, thumbnail, deleted.cid]
    assert await world.stores.installation.count_known([*known, stray]) == 3
    assert await world.stores.installation.count_known([stray]) == 0


async def test_the_installation_table_never_has_a_second_row(
    database: Database, world: World
) -> None:
    async def add(tx: Transaction) -> None:
        await tx.execute(ADD_INSTALLATION, id=ID)

    await world.stores.database.transact((), add)
    ((kept,),) = await database.rows("SELECT id FROM installation")
    assert kept == world.stores.installation.identity.id != ID
    stores = open_any(database.address)
    assert stores.installation.identity.id == kept
    await stores.close()


async def test_the_master_keys_are_unknown_until_they_are_recorded(world: World) -> None:
    assert await world.stores.keys.master_keys() is None
    await world.stores.keys.note_master_keys((), ())
    assert await world.stores.keys.master_keys() == frozenset()


async def test_master_keys_are_added_and_dropped(world: World, open_another: Opener) -> None:
    old, new = b"\x01" + b"o" * 8, b"\x01" + b"n" * 8
    await world.stores.keys.note_master_keys({old}, ())
    await world.stores.keys.note_master_keys({new}, {b"another"})
    assert await open_another().keys.master_keys() == frozenset({old, new})
    await world.stores.keys.note_master_keys((), {old})
    assert await open_another().keys.master_keys() == frozenset({new})


async def test_no_master_key_is_lost_when_processes_record_keys_concurrently(
    world: World, open_another: Opener
) -> None:
    keys = [bytes([number]) * 9 for number in range(6)]
    opened = [open_another() for _ in keys]
    noting = zip(opened, keys, strict=True)
    await asyncio.gather(*(stores.keys.note_master_keys({key}, ()) for stores, key in noting))
    assert await world.stores.keys.master_keys() == frozenset({*keys})


async def test_a_renamed_installation_keeps_its_master_keys(world: World) -> None:
    await world.stores.keys.note_master_keys({b"\x01" * 9}, ())
    await world.stores.installation.rename_installation(ID)
    assert await world.stores.keys.master_keys() == frozenset({b"\x01" * 9})
