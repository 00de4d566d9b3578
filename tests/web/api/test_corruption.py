"""Damage on disk is detected, reported as an outage, and never served."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.documents import change_document, read_document
from tests.world import open_world, problem

from imprint.domain.drafts.files import Network

KEY = "5c7d1f0e93ab48260d51be7fa94c836217e0db3f68a5924cc1f7053eb8d26a94"
WAYS = {"plain": {}, "encrypted": {"ENCRYPTION": "on", "ENCRYPTION_KEY": KEY}}
LENGTHS = {"small": 100, "of several chunks": 700_000}

Damage = Callable[[bytes], bytes]


def flip(at: int) -> Damage:
    def flipped(document: bytes) -> bytes:
        changed = bytearray(document)
        changed[at] ^= 0x20
        return bytes(changed)

    return flipped


DAMAGES: dict[str, Damage] = {
    "first byte": flip(0),
    "a byte in the middle": flip(60),
    "last byte": flip(-1),
    "cut short": lambda document: document[:-1],
    "empty": lambda document: b"",
    "longer": lambda document: document + b" ",
    "zeros": lambda document: bytes(len(document)),
}


def damage(folder: Path, cid: str, network: Network, how: Damage) -> Callable[[], None]:
    good = read_document(folder / "content", network, cid)
    change_document(folder / "content", network, cid, how(good))
    return lambda: change_document(folder / "content", network, cid, good)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("way", WAYS)
async def test_a_damaged_document_is_never_served(tmp_path: Path, way: str, length: str):
    async with open_world(tmp_path, **WAYS[way]) as world:
        author = world.wallet(0)
        content = "w" * LENGTHS[length]
        for how in DAMAGES.values():
            # A new draft for each type of damage, because the content of earlier ones is cached.
            file = await world.create(author, content)
            repair = damage(tmp_path, file["cid"], Network.PRIVATE, how)
            response = await world.read_draft(author, file["cid"])
            assert problem(response) == (503, "storage_unavailable")
            assert "www" not in response.text
            repair()
            assert (await world.read_draft(author, file["cid"])).json()["content"] == content


async def test_a_damaged_thumbnail_is_never_served(tmp_path: Path):
    async with open_world(tmp_path) as world:
        file = await world.create(world.wallet(0))
        thumbnail = await world.publish(world.wallet(0), file["cid"])
        damage(tmp_path, thumbnail, Network.PUBLIC, flip(40))
        response = await world.client.get(f"/ipfs/{thumbnail}")
        assert problem(response) == (503, "storage_unavailable")


async def test_a_document_replaced_by_another_owners_document_is_never_served(tmp_path: Path):
    async with open_world(tmp_path) as world:
        mine = await world.create(world.wallet(0), "Mine.")
        theirs = await world.create(world.wallet(1), "Theirs.")
        other = read_document(tmp_path / "content", Network.PRIVATE, theirs["cid"])
        damage(tmp_path, mine["cid"], Network.PRIVATE, lambda _: other)
        response = await world.read_draft(world.wallet(0), mine["cid"])
        assert problem(response) == (503, "storage_unavailable")


async def test_a_document_cannot_be_decrypted_with_the_key_of_another_file(tmp_path: Path):
    async with open_world(tmp_path, **WAYS["encrypted"]) as world:
        mine = await world.create(world.wallet(0), "Mine.")
        theirs = await world.create(world.wallet(1), "Theirs.")
        with closing(sqlite3.connect(tmp_path / "imprint.db")) as catalog, catalog:
            catalog.execute(
                "UPDATE files SET wrapped_key = (SELECT wrapped_key FROM files WHERE cid = ?)"
                " WHERE cid = ?",
                (theirs["cid"], mine["cid"]),
            )
        response = await world.read_draft(world.wallet(0), mine["cid"])
        assert problem(response) == (503, "storage_unavailable")
        assert (await world.read_draft(world.wallet(1), theirs["cid"])).status_code == 200


async def test_a_damaged_database_is_reported_as_unavailable(tmp_path: Path):
    async with open_world(tmp_path) as world:
        file = await world.create(world.wallet(0))
    spoil(tmp_path / "imprint.db", "files")
    async with open_world(tmp_path) as world:
        for path in (f"/filesMetaData?cid={file['cid']}", "/filesMetaData"):
            assert problem(await world.client.get(path)) == (503, "database_unavailable")
        response = await world.send_create(world.wallet(0))
        assert problem(response) == (503, "database_unavailable")


def spoil(path: Path, table: str) -> None:
    """Overwrite the first page of a table and of each of its indexes."""
    with closing(sqlite3.connect(path)) as catalog:
        catalog.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        query = "SELECT rootpage FROM sqlite_master WHERE tbl_name = ? AND rootpage > 1"
        roots = [page for (page,) in catalog.execute(query, (table,))]
        (size,) = catalog.execute("PRAGMA page_size").fetchone()
    pages = bytearray(path.read_bytes())
    for page in roots:
        pages[(page - 1) * size : page * size] = b"\xa5" * size
    path.write_bytes(pages)
