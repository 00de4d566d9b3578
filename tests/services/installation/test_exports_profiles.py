"""Profiles are exported with their pictures, and an import never replaces a newer profile."""

import pytest
from tests.profiles import portrait, save_profile
from tests.services.installations import import_car, verify, write_export
from tests.world import World, open_world

from imprint.domain.exports import (
    NotAnExport,
    read_manifest,
    read_page,
    read_profile,
    write_manifest,
    write_profile,
    write_profiles,
)

pytestmark = pytest.mark.parametrize("records", ["sqlite", "postgresql"], indirect=True)


async def profile_of(world: World, address: str) -> dict | None:
    response = await world.client.get(f"/authors/{address}")
    return response.json()["profile"] if response.status_code == 200 else None


async def test_profiles_are_exported_and_imported(world, tmp_path):
    author, other = world.stranger(), world.stranger()
    await world.create(author)
    links = "https://ada.example\nmailto:a@b.example"
    saved = await save_profile(world, author, portrait(), bio="One\nTwo", links=links)
    plain = await save_profile(world, other, name="No picture")
    car, manifest = await write_export(world)
    assert (manifest.files, manifest.profiles) == (1, 2)
    assert verify(tmp_path, car) == manifest
    async with open_world(tmp_path / "new", clock=world.clock, DATABASE_URL=_new(tmp_path)) as new:
        assert await import_car(new, tmp_path, car) == {"added": 1}
        assert await profile_of(new, author.address) == saved
        assert await profile_of(new, other.address) == plain
        picture = await new.client.get(f"/ipfs/{saved['avatarCid']}")
        assert picture.status_code == 200
        assert await new.adapters.stores.garbage.recount_usage() == 0
        newer = await save_profile(new, author, avatar="none", name="Newer")
        assert await import_car(new, tmp_path, car) == {"present": 1}
        assert await profile_of(new, author.address) == newer


def _new(folder):
    (folder / "new").mkdir()
    return f"sqlite:///{folder / 'new' / 'imprint.db'}"


async def test_the_export_of_one_owner_contains_only_their_profile(world, tmp_path):
    author, other = world.stranger(), world.stranger()
    await world.create(author)
    for wallet in (author, other):
        await save_profile(world, wallet, portrait())
    car, manifest = await write_export(world, author.address)
    assert (manifest.files, manifest.profiles) == (1, 1)
    assert verify(tmp_path, car) == manifest


async def test_an_export_without_profiles_has_the_earlier_format(world):
    await world.create(world.stranger())
    _, manifest = await write_export(world)
    assert b"profiles" not in write_manifest(manifest)
    assert read_manifest(write_manifest(manifest)) == manifest


async def test_a_forged_profile_is_refused(world):
    await save_profile(world, world.stranger(), name="Ada", links="https://a.example")
    profiles = [
        each
        async for page in world.adapters.stores.archives.walk_profiles(None, 10)
        for each in page
    ]
    (profile,) = profiles
    assert read_page(write_profiles([profile])) == [profile]
    record = write_profile(profile)
    for change in (
        {"name": "0x12"},
        {"name": "right\u202eleft"},
        {"name": " Ada"},
        {"name": 7},
        {"bio": "x" * 501},
        {"links": ["javascript:alert(1)"]},
        {"links": [""]},
        {"links": ["https://a.example\nhttps://b.example"]},
        {"links": "https://a.example"},
        {"address": "0x12"},
        {"updated_at": "today"},
        {"avatar_cid": "bafy"},
        {"more": 1},
    ):
        with pytest.raises(NotAnExport):
            read_profile(record | change)
