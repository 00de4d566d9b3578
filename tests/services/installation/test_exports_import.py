"""Imports are repeatable and never overwrite existing files."""

import secrets
from dataclasses import replace

import pytest
from tests.services.installation.test_exports import fill
from tests.services.installations import (
    files_of,
    ignore,
    import_car,
    import_of,
    opened_car,
    write_export,
)
from tests.world import World, open_world, picture

from imprint.domain.drafts.files import Network, State
from imprint.services.installation.exports import ImportConflicts, open_export


@pytest.fixture
async def elsewhere(tmp_path):
    """Another installation on a different chain."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    async with open_world(folder) as opened:
        yield opened


async def known(world: World):
    return [replace(each, file=replace(each.file, position=0)) for each in await files_of(world)]


async def test_importing_into_an_empty_installation_reproduces_the_exported_one(
    world, elsewhere, tmp_path
):
    await fill(world)
    car, _ = await write_export(world)
    assert await import_car(elsewhere, tmp_path, car) == {"added": 5}
    assert await known(elsewhere) == await known(world)
    assert await elsewhere.adapters.stores.garbage.recount_usage() == 0
    for each in await files_of(world):
        for cid, network in ((each.file.cid, "private"), (each.file.thumbnail_cid, "public")):
            if cid is not None:
                there = await elsewhere.adapters.content.read(cid, Network(network))
                assert there == await world.adapters.content.read(cid, Network(network))


async def test_imported_lists_and_contents_are_served_as_before(world, elsewhere, tmp_path):
    await fill(world)
    car, _ = await write_export(world)
    await import_car(elsewhere, tmp_path, car)
    elsewhere.clock.moment = world.clock.now()
    for question in ("/filesMetaData", "/filesByTags?tags=essay"):
        before = (await world.client.get(question)).json()["files"]
        assert (await elsewhere.client.get(question)).json()["files"] == before
    alice = world.wallet(1)
    session, there = await world.login(alice), await elsewhere.login(alice)
    drafts = f"/pendingFilesByOwner?owner={alice.address}"
    listed = (await world.client.get(drafts, headers=session)).json()["files"]
    assert (await elsewhere.client.get(drafts, headers=there)).json()["files"] == listed
    for file in listed:
        response = await elsewhere.read_draft(alice, file["cid"])
        assert response.json() == (await world.read_draft(alice, file["cid"])).json()


async def test_importing_twice_has_the_same_result_as_once(world, elsewhere, tmp_path):
    await fill(world)
    car, _ = await write_export(world)
    await import_car(elsewhere, tmp_path, car)
    before = await files_of(elsewhere)
    assert await import_car(elsewhere, tmp_path, car) == {"present": 5}
    assert await files_of(elsewhere) == before
    assert await import_car(world, tmp_path, car) == {"present": 5}


async def test_an_interrupted_import_can_be_repeated(world, elsewhere, tmp_path):
    await fill(world)
    car, _ = await write_export(world)
    content, stored = elsewhere.adapters.content, []

    class Breaking:
        async def put(self, cid, document, network, label=None, fence=0):
            if len(stored) == 3:
                raise ConnectionError
            stored.append(cid)
            await content.put(cid, document, network, label)

    with opened_car(tmp_path, car) as archive:
        broken = replace(import_of(elsewhere), content=Breaking())
        with pytest.raises(ConnectionError):
            await broken.run(archive, open_export(archive), ignore)
    counts = await import_car(elsewhere, tmp_path, car)
    assert counts["added"] + counts["present"] == 5
    assert counts["present"] > 0
    assert await known(elsewhere) == await known(world)


async def test_a_lost_document_is_restored_by_an_import(world, tmp_path):
    file = await world.create(world.wallet(1))
    car, _ = await write_export(world)
    await world.adapters.content.remove(file["cid"], Network.PRIVATE)
    assert await import_car(world, tmp_path, car) == {"present": 1}
    assert (await world.read_draft(world.wallet(1), file["cid"])).status_code == 200


async def test_an_import_keeps_later_updates_and_deletions(world, tmp_path):
    alice = world.wallet(1)
    updated, deleted = await world.create(alice), await world.create(alice)
    car, _ = await write_export(world)
    await world.update(alice, updated["cid"], "Newer.")
    await world.send_delete(alice, deleted["cid"])
    before = await files_of(world)
    assert await import_car(world, tmp_path, car) == {"retired": 2}
    assert await files_of(world) == before


async def test_an_imported_post_is_unconfirmed(world, elsewhere, tmp_path):
    _, post = await world.post(world.wallet(1))
    car, _ = await write_export(world)
    await import_car(elsewhere, tmp_path, car)
    unconfirmed = await elsewhere.adapters.stores.events.unconfirmed_events(31337, 10)
    assert [each.event.cid for each in unconfirmed] == [post["cid"]]


async def test_a_conflict_is_reported_before_anything_is_written(world, elsewhere, tmp_path):
    await fill(world)
    alice = elsewhere.wallet(1)
    await elsewhere.post(alice, "The first post here.")
    before = await files_of(elsewhere)
    car, _ = await write_export(world)
    with pytest.raises(ImportConflicts) as conflicts:
        await import_car(elsewhere, tmp_path, car)
    assert any("The post" in reason for reason in conflicts.value.reasons)
    assert await files_of(elsewhere) == before


async def test_an_export_of_another_marketplace_is_refused(world, tmp_path):
    car, _ = await write_export(world)
    other = import_of(world, chain_id=1)
    with opened_car(tmp_path, car) as archive, pytest.raises(ImportConflicts) as conflicts:
        await other.run(archive, open_export(archive), ignore)
    assert "chain 31337" in conflicts.value.reasons[0]


async def test_encrypted_documents_are_imported_with_their_keys(tmp_path):
    key = secrets.token_hex(32)
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    async with (
        open_world(tmp_path / "here", ENCRYPTION="on", ENCRYPTION_KEY=key) as world,
        open_world(tmp_path / "there", ENCRYPTION="on", ENCRYPTION_KEY=key) as elsewhere,
    ):
        alice = world.wallet(1)
        file = await world.create(alice, "Nobody else reads this.")
        car, _ = await write_export(world)
        assert b"Nobody else" not in car
        await import_car(elsewhere, tmp_path, car)
        response = await elsewhere.read_draft(alice, file["cid"])
        assert response.json()["content"] == "Nobody else reads this."
        assert (await files_of(elsewhere))[0].file.state is State.PENDING


async def test_unencrypted_documents_are_not_imported_into_a_public_store(world, tmp_path):
    await world.create(world.wallet(1))
    car, _ = await write_export(world)
    with opened_car(tmp_path, car) as archive, pytest.raises(ImportConflicts) as conflicts:
        await import_of(world, publicly_readable=True).run(archive, open_export(archive), ignore)
    assert "not encrypted" in conflicts.value.reasons[0]


async def test_a_thumbnail_shared_by_files_is_stored_once(world, elsewhere, tmp_path):
    alice, image = world.wallet(1), picture()
    for number in range(3):
        file = await world.create(alice, f"Number {number}.")
        await world.send_publish(alice, file["cid"], "essay", image=image)
    car, _ = await write_export(world)
    thumbnails = {each.file.thumbnail_cid for each in await files_of(world)}
    stored = []

    class Counted:
        async def put(self, cid, document, network, label=None, fence=0):
            stored.append(cid)
            await elsewhere.adapters.content.put(cid, document, network, label)

    with opened_car(tmp_path, car) as archive:
        importing = replace(import_of(elsewhere), content=Counted())
        counts = await importing.run(archive, open_export(archive), ignore)
    assert counts.total() == 3
    assert len(thumbnails) == 1
    assert [cid for cid in stored if cid in thumbnails] == list(thumbnails)
