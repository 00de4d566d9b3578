"""Export and import of files on every database."""

from dataclasses import replace

import pytest
from tests.adapters.stores.conftest import World

from imprint.domain.drafts.files import Action, Network, Publication, State
from imprint.domain.exports import ExportedFile
from imprint.domain.formats.cids import Cid
from imprint.domain.posts.indexed_posts import PublicList
from imprint.ports.archives import ImportConflict, ImportOutcome
from imprint.ports.drafts import FenceRaised, PurgeOutcome


async def walk(world: World, owner=None, size: int = 2) -> list[ExportedFile]:
    return [each async for files in world.stores.archives.walk_files(owner, size) for each in files]


async def documents(world: World, network: Network) -> list[Cid]:
    found: list[Cid] = []
    while batch := await world.stores.archives.documents_after(
        network, found[-1] if found else "", 2
    ):
        found += [each.cid for each in batch]
    return found


@pytest.fixture
async def exported(world: World) -> ExportedFile:
    """A post exported by another installation. It does not exist in this installation."""
    place = replace(world.event(world.version()).place, block_number=7)
    version = world.version()
    event = replace(world.event(version), place=place, post_id=77)
    file = await world.draft()
    template = await world.live(file.cid)
    await world.delete(file)
    prepared = replace(
        template,
        id=version.id,
        group_id=version.group_id,
        name=version.name,
        cid=version.cid,
        hashtags=("essay", "art"),
        thumbnail_cid=world.cid(),
        wrapped_key=b"wrapped",
    )
    return ExportedFile(prepared, event)


def published(exported: ExportedFile, world: World) -> ExportedFile:
    assert exported.event is not None
    publication = Publication(exported.event.post_id, world.now, exported.event.place.tx_hash)
    return ExportedFile(
        replace(exported.file, state=State.ONCHAIN, publication=publication), exported.event
    )


def unpublished(exported: ExportedFile) -> ExportedFile:
    return ExportedFile(exported.file)


async def test_every_live_file_is_walked_once_in_order(world):
    first, second, third = [await world.draft() for _ in range(3)]
    post = await world.post("tag", owner=world.bob)
    await world.delete(second)
    moved = await world.update(first)
    assert moved is not None
    found = await walk(world)
    assert [each.file for each in found] == [
        await world.live(cid) for cid in (third.cid, post.cid, moved.cid)
    ]
    assert [each.event is not None for each in found] == [False, True, False]
    event = found[1].event
    assert event is not None
    assert event.post_id == post.publication.post_id
    assert event.place.tx_hash == post.publication.tx_hash


async def test_the_files_of_a_single_owner_can_be_walked(world):
    for _ in range(3):
        await world.draft(world.alice)
        await world.draft(world.bob)
    found = await walk(world, world.bob)
    assert len(found) == 3
    assert {each.file.owner for each in found} == {world.bob}


async def test_walking_files_reads_a_single_snapshot(world):
    before = [await world.draft() for _ in range(5)]
    walked = world.stores.archives.walk_files(None, 2)
    found = [each.file.cid for each in await anext(walked)]
    await world.draft()
    await world.update(before[0])
    await world.delete(before[4])
    found += [each.file.cid async for files in walked for each in files]
    assert found == [file.cid for file in before]


async def test_walking_an_empty_catalog_returns_no_files(world):
    assert await walk(world) == []


async def test_documents_of_all_versions_are_listed_until_marked_for_deletion(world):
    kept, old = await world.draft(), await world.draft()
    new = await world.update(old)
    thumbnail = world.cid()
    await world.prepare(kept, thumbnail=thumbnail)
    await world.prepare(new, thumbnail=thumbnail)
    assert await documents(world, Network.PRIVATE) == sorted([kept.cid, old.cid, new.cid])
    assert await documents(world, Network.PUBLIC) == [thumbnail]
    world.later(hours=25)
    await world.condemn()
    assert await documents(world, Network.PRIVATE) == sorted([kept.cid, new.cid])


async def test_an_imported_draft_keeps_all_its_fields(world, exported):
    draft = unpublished(exported)
    assert await world.stores.archives.compare_file(draft) is ImportOutcome.ADDED
    assert await world.stores.files.file_by_cid(draft.file.cid) is None
    assert await world.stores.archives.import_file(draft) is ImportOutcome.ADDED
    here = await world.live(draft.file.cid)
    assert replace(here, position=0) == replace(draft.file, position=0)
    assert await world.stores.files.public_size(here.thumbnail_cid) is not None
    stored = await world.stores.archives.documents_after(Network.PRIVATE, "", 10)
    assert [each.readable for each in stored if each.cid == here.cid] == [False]


async def test_an_imported_post_keeps_its_publication_but_is_unconfirmed(world, exported):
    post = published(exported, world)
    assert await world.stores.archives.import_file(post) is ImportOutcome.ADDED
    here = await world.live(post.file.cid)
    assert replace(here, position=0) == replace(post.file, position=0)
    assert await world.stores.files.file_by_post_id(77) == here
    assert [each.file.cid for each in await walk(world)] == [here.cid]
    assert (await walk(world))[0].event == post.event
    (event,) = await world.stores.events.unconfirmed_events(31337, 10)
    assert event.event == post.event
    listed = await world.pages(PublicList(("essay", "art")))
    assert [file.cid for file in listed] == [here.cid]


async def test_importing_a_file_twice_changes_nothing(world, exported):
    post = published(exported, world)
    await world.stores.archives.import_file(post)
    before = await world.live(post.file.cid)
    assert await world.stores.archives.compare_file(post) is ImportOutcome.PRESENT
    assert await world.stores.archives.import_file(post) is ImportOutcome.PRESENT
    assert await world.live(post.file.cid) == before


async def test_importing_a_published_file_turns_its_existing_draft_into_a_post(world, exported):
    await world.stores.archives.import_file(unpublished(exported))
    assert (
        await world.stores.archives.import_file(published(exported, world)) is ImportOutcome.PRESENT
    )
    assert (await world.live(exported.file.cid)).state is State.ONCHAIN


async def test_an_import_does_not_restore_a_draft_deleted_after_an_earlier_import(world, exported):
    draft = unpublished(exported)
    await world.stores.archives.import_file(draft)
    await world.delete(draft.file)
    assert await world.stores.archives.import_file(draft) is ImportOutcome.RETIRED
    assert await world.stores.files.file_by_cid(draft.file.cid) is None


async def test_the_next_file_number_is_above_all_imported_ones(world, exported):
    named = replace(exported.file, name=f"{exported.file.owner}_5000")
    await world.stores.archives.import_file(ExportedFile(named))
    intent = world.intent(world.write(Action.CREATE), world.cid(), number=4999)
    assert await world.stores.drafts.begin_write(intent) == 5001


@pytest.mark.parametrize("clash", ["cid", "id", "name", "group owner", "group", "post"])
async def test_a_conflicting_import_is_refused_and_changes_nothing(world, exported, clash):
    post = published(exported, world)
    other = await world.draft(world.bob if clash == "group owner" else world.alice)
    if clash == "post":
        await world.see(world.event(other, post_id=77))
    changes = {
        "cid": {"cid": other.cid},
        "id": {"id": other.id},
        "name": {"name": other.name},
        "group owner": {"group_id": other.group_id},
        "group": {"group_id": other.group_id},
        "post": {},
    }
    file = replace(post.file, **changes[clash])
    assert post.event is not None
    clashing = ExportedFile(file, replace(post.event, cid=file.cid))
    for ask in (world.stores.archives.compare_file, world.stores.archives.import_file):
        with pytest.raises(ImportConflict):
            await ask(clashing)
    assert [each.file.cid for each in await walk(world)] == [other.cid]


async def test_an_import_rescues_a_document_marked_for_deletion(world, exported):
    file = await world.draft()
    await world.delete(file)
    world.later(hours=25)
    assert (file.cid, "private") in await world.condemn()
    again = ExportedFile(replace(exported.file, cid=file.cid))
    fence = await world.stores.garbage.fence()
    assert await world.stores.archives.import_file(again, 0, fence) is ImportOutcome.ADDED
    assert await world.purge(file.cid, Network.PRIVATE) is PurgeOutcome.USED
    assert (file.cid, "private") not in await world.condemn()


async def test_an_import_fails_if_the_fence_was_raised_and_succeeds_with_the_new_one(
    world, exported
):
    fence = await world.stores.garbage.fence()
    await world.delete(await world.draft())
    world.later(hours=25)
    await world.condemn()
    with pytest.raises(FenceRaised):
        await world.stores.archives.import_file(exported, 0, fence)
    outcome = await world.stores.archives.import_file(
        exported, 0, await world.stores.garbage.fence()
    )
    assert outcome is ImportOutcome.ADDED
