"""Wrapped document keys."""

from dataclasses import replace

from tests.adapters.stores.conftest import World

from imprint.domain.drafts.files import Action, File
from imprint.ports.installation import KeyRecord


async def draft_with_key(world: World, key: bytes | None) -> File:
    write = world.write(Action.CREATE)
    version = replace(world.version(), wrapped_key=key)
    intent = await world.begin(write, version)
    return await world.stores.drafts.add_draft(write, intent, version)


def record(file: File) -> KeyRecord:
    assert file.wrapped_key is not None
    return KeyRecord(file.id, file.name, file.wrapped_key)


async def test_a_wrapped_key_is_stored_with_its_file(world: World):
    file = await draft_with_key(world, b"\x00\xffwrapped")
    assert file.wrapped_key == b"\x00\xffwrapped"
    assert (await world.live(file.cid)).wrapped_key == b"\x00\xffwrapped"
    post = await world.stores.events.apply_events(None, [world.event(file)], (), world.now)
    assert len(post.statuses) == 1
    assert (await world.live(file.cid)).wrapped_key == b"\x00\xffwrapped"


async def test_an_unencrypted_document_has_no_key(world: World):
    file = await draft_with_key(world, None)
    assert (await world.live(file.cid)).wrapped_key is None
    assert await world.stores.keys.wrapped_keys("", 10) == []


async def test_keys_of_files_in_every_state_are_listed_by_file_id(world: World):
    files = [await draft_with_key(world, bytes([n])) for n in range(5)]
    await world.stores.drafts.delete_draft(world.write(Action.DELETE), files[2].cid)
    expected = sorted((record(file) for file in files), key=lambda each: each.file_id)
    first = await world.stores.keys.wrapped_keys("", 3)
    rest = await world.stores.keys.wrapped_keys(first[-1].file_id, 3)
    assert first + rest == expected


async def test_keys_can_be_replaced_together(world: World):
    files = [await draft_with_key(world, bytes([n])) for n in range(3)]
    changes = [(record(file), b"new" + record(file).wrapped_key) for file in files]
    assert await world.stores.keys.replace_keys(changes) == 3
    keys = [(await world.live(file.cid)).wrapped_key for file in files]
    assert keys == [b"new\x00", b"new\x01", b"new\x02"]


async def test_a_key_that_was_changed_concurrently_is_not_replaced(world: World):
    file = await draft_with_key(world, b"today")
    stale = replace(record(file), wrapped_key=b"yesterday")
    assert await world.stores.keys.replace_keys([(stale, b"wrong")]) == 0
    assert (await world.live(file.cid)).wrapped_key == b"today"


async def test_a_wrapped_key_is_found_by_its_prefix(world: World):
    assert not await world.stores.keys.has_wrapped_key(b"\x00\xffwr")
    file = await draft_with_key(world, b"\x00\xffwrapped")
    await world.draft()
    assert await world.stores.keys.has_wrapped_key(b"\x00\xffwr")
    assert not await world.stores.keys.has_wrapped_key(b"\x00\xfewr")
    await world.delete(file)
    assert await world.stores.keys.has_wrapped_key(b"\x00\xffwr")
