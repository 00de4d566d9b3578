"""Drafts: adding, replacing, preparing and deleting."""

from datetime import timedelta

from imprint.domain.drafts.files import Action, File, State
from imprint.domain.formats.cids import Cid


async def test_a_new_draft_has_the_values_of_its_version(world):
    write, version = world.write(Action.CREATE), world.version()
    intent = await world.begin(write, version)
    file = await world.stores.drafts.add_draft(write, intent, version)
    assert file == File(
        id=version.id,
        group_id=version.group_id,
        owner=world.alice,
        name=f"{world.alice}_{version.number}",
        cid=version.cid,
        size=version.size,
        created_at=world.now,
        state=State.PENDING,
        position=file.position,
    )


async def test_a_draft_is_found_by_its_cid(world):
    file = await world.draft()
    assert await world.stores.files.file_by_cid(file.cid) == file


async def test_nothing_is_found_for_an_unknown_cid(world):
    assert await world.stores.files.file_by_cid(Cid("bafynobody")) is None


async def test_a_later_draft_has_a_higher_position(world):
    first, second = await world.draft(), await world.draft()
    assert first.position < second.position


async def test_an_update_keeps_the_group_and_changes_everything_else(world):
    old = await world.draft()
    new = await world.update(old)
    assert new.group_id == old.group_id
    assert {new.id, new.name, new.cid}.isdisjoint({old.id, old.name, old.cid})
    assert new.position > old.position


async def test_the_old_version_is_inaccessible_as_soon_as_it_is_updated(world):
    old = await world.draft()
    new = await world.update(old)
    assert await world.stores.files.file_by_cid(old.cid) is None
    assert await world.stores.files.file_by_cid(new.cid) == new


async def test_hashtags_and_thumbnail_stay_with_the_group(world):
    prepared = await world.prepare(await world.draft(), "art", "zen")
    new = await world.update(prepared)
    assert new.hashtags == ("art", "zen")
    assert new.thumbnail_cid == prepared.thumbnail_cid


async def test_a_replaced_version_cannot_be_replaced_again(world):
    old = await world.draft()
    await world.update(old)
    assert await world.update(old) is None


async def test_a_draft_of_another_owner_cannot_be_changed(world):
    file = await world.draft(world.alice)
    write, version = world.write(Action.UPDATE, world.bob), world.version(world.bob)
    intent = await world.begin(write, version)
    assert await world.stores.drafts.replace_draft(write, intent, file.cid, version) is None
    picture = await world.begin_thumbnail(world.write(Action.PUBLISH, world.bob), world.cid())
    write = world.write(Action.PUBLISH, world.bob)
    assert await world.stores.drafts.prepare_draft(write, picture, file.cid, ["mine"]) is None
    write = world.write(Action.DELETE, world.bob)
    assert await world.stores.drafts.delete_draft(write, file.cid) is None
    assert await world.stores.files.file_by_cid(file.cid) == file


async def test_a_post_cannot_be_updated_prepared_or_deleted(world):
    post = await world.post("art")
    assert await world.update(post) is None
    assert await world.prepare(post, "other") is None
    assert await world.delete(post) is None
    assert await world.live(post.cid) == post


async def test_a_prepared_draft_has_its_thumbnail_and_its_hashtags_in_order(world):
    file = await world.draft()
    prepared = await world.prepare(file, "zen", "art", "ß", thumbnail=Cid("bafypicture"))
    assert prepared.hashtags == ("zen", "art", "ß")
    assert prepared.thumbnail_cid == "bafypicture"
    assert await world.live(file.cid) == prepared


async def test_preparing_again_replaces_the_hashtags(world):
    file = await world.draft()
    await world.prepare(file, "old")
    prepared = await world.prepare(file, "new")
    assert prepared.hashtags == ("new",)


async def test_preparing_does_not_change_the_position(world):
    file = await world.draft()
    assert (await world.prepare(file, "art")).position == file.position


async def test_deleting_a_draft_returns_it(world):
    file = await world.prepare(await world.draft(), "art")
    assert await world.delete(file) == file
    assert await world.stores.files.file_by_cid(file.cid) is None
    assert await world.delete(file) is None


async def test_a_thumbnail_is_public_while_its_file_exists(world):
    picture = world.cid()
    file = await world.prepare(await world.draft(), thumbnail=picture)
    assert await world.stores.files.public_size(picture) is not None
    await world.delete(file)
    assert await world.stores.files.public_size(picture) is None


async def test_a_replaced_thumbnail_stays_public_for_its_grace_period(world):
    first = world.cid()
    file = await world.prepare(await world.draft(), thumbnail=first)
    await world.prepare(file)
    assert await world.stores.files.public_size(first) is not None
    world.later(hours=25)
    assert await world.condemn() == {(first, "public")}
    assert await world.stores.files.public_size(first) is None


async def test_the_cid_of_a_document_is_not_public(world):
    post = await world.post("art")
    assert await world.stores.files.public_size(post.cid) is None


async def test_timestamps_keep_their_microseconds(world):
    world.later(microseconds=1)
    file = await world.draft()
    assert (await world.live(file.cid)).created_at == world.now
    assert world.now.utcoffset() == timedelta(0)


async def test_an_updated_draft_stays_in_its_current_group(world):
    first = await world.draft()
    second = await world.update(first)
    await world.see(world.event(first))
    third = await world.update(second)
    assert third.group_id == (await world.stores.files.file_by_cid(third.cid)).group_id
    assert third.group_id != first.group_id
