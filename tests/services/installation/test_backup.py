"""Backups are made under load, restored elsewhere and compared, and all damage is detected."""

import asyncio
import shutil
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from tests.profiles import portrait, save_profile
from tests.revisions import published_post, revise, sign_revision
from tests.services.installation.test_exports import fill
from tests.services.installations import files_of, ignore, restore, save, say_nothing
from tests.world import World, open_world

from imprint.bootstrap import build_follower
from imprint.bootstrap.archives import build_backup, open_backup_writer
from imprint.domain.drafts.files import Network
from imprint.domain.errors import CannotStart
from imprint.services.installation.backup import NotABackup
from imprint.services.installation.exports import DocumentMissing

BOTH = pytest.mark.parametrize("records", ["sqlite", "postgresql"], indirect=True)
"""Runs a test with records in SQLite and in PostgreSQL. Restored backups are in SQLite."""

DRILL_SECONDS = 1.0
"""Seconds of writing before the recovery drill starts its backup, and again after the backup."""


def open_restored(folder: Path, world: World):
    return open_world(folder, clock=world.clock, DATABASE_URL=f"sqlite:///{folder / 'imprint.db'}")


@pytest.fixture(params=["saved", "saved.tar"])
def out(request, tmp_path):
    return tmp_path / request.param


@BOTH
async def test_a_restored_backup_has_profiles_and_their_pictures(world, tmp_path):
    author = world.stranger()
    await save_profile(world, author, portrait(), name="First")
    profile = await save_profile(world, author, portrait(), name="Ada", bio="Words.")
    await save(world, tmp_path / "saved")
    await restore(tmp_path / "saved", tmp_path / "restored")
    async with open_restored(tmp_path / "restored", world) as restored:
        shown = (await restored.client.get(f"/authors/{author.address}")).json()
        assert shown["profile"] == profile
        picture = await restored.client.get(f"/ipfs/{profile['avatarCid']}")
        assert picture.status_code == 200


@BOTH
async def test_a_restored_backup_has_revisions_and_their_documents(world, tmp_path):
    author = world.wallet(1)
    post = post_id, _ = await published_post(world, author, "One.")
    await revise(world, author, post, "Two.")
    body = sign_revision(world, author, post, "Three.", note="Twice.")
    response = await world.client.post("/revise/post", params={"postId": post_id}, json=body)
    assert response.status_code == 200
    listed = (await world.client.get(f"/posts/{post_id}/revisions")).json()
    proved = (await world.client.get(f"/posts/{post_id}/content?revision=2")).json()["proof"]
    await save(world, tmp_path / "saved")
    folder = tmp_path / "restored"
    await restore(tmp_path / "saved", folder)
    shutil.copy(world.settings.storage.data_dir / "chain.jsonl", folder)
    async with open_restored(folder, world) as restored:
        await restored.index()
        assert (await restored.client.get(f"/posts/{post_id}/revisions")).json() == listed
        for number, text in enumerate(("One.", "Two.", "Three.")):
            path = f"/posts/{post_id}/content?revision={number}"
            read = (await restored.client.get(path)).json()
            assert read["content"] == text
        assert read["proof"] == proved
        again = await restored.client.post("/revise/post", params={"postId": post_id}, json=body)
        assert again.status_code == 409
        assert (await revise(restored, author, post, "Four."))["number"] == 3
        assert await restored.adapters.stores.garbage.recount_usage() == 0


@BOTH
async def test_a_restored_backup_is_the_same_installation(world, out, tmp_path):
    await fill(world)
    files = await files_of(world)
    manifest = await save(world, out)
    folder = tmp_path / "restored"
    assert await restore(out, folder) == manifest
    async with open_restored(folder, world) as restored:
        assert await files_of(restored) == files
        assert await restored.adapters.stores.garbage.recount_usage() == 0
        alice = restored.wallet(1)
        for each in files:
            if each.file.owner == alice.address and each.event is None:
                response = await restored.read_draft(alice, each.file.cid)
                assert response.status_code == 200


@BOTH
async def test_nonces_are_part_of_a_backup(world, out, tmp_path):
    alice = world.wallet(1)
    body = alice.sign("create", "once") | {"content": "Words."}
    assert (await world.client.post("/create/group", json=body)).status_code == 200
    await save(world, out)
    await restore(out, tmp_path / "restored")
    async with open_restored(tmp_path / "restored", world) as restored:
        assert (await restored.client.post("/create/group", json=body)).status_code == 409


async def test_ended_sessions_are_restored_but_writing_sessions_are_not(world, out, tmp_path):
    """A writing session may have been revoked since the backup."""
    with closing(sqlite3.connect(world.settings.storage.database.path)) as connection, connection:
        connection.execute("INSERT INTO ended_sessions VALUES ('7-ab', 8, 9)")
        connection.execute(
            "INSERT INTO writing_sessions VALUES ('id', '0x1', x'04', 'create', 1, 2, 3)"
        )
    await save(world, out)
    await restore(out, tmp_path / "restored")
    with closing(sqlite3.connect(tmp_path / "restored" / "imprint.db")) as connection:
        assert connection.execute("SELECT * FROM ended_sessions").fetchall() == [("7-ab", 8, 9)]
        assert connection.execute("SELECT * FROM writing_sessions").fetchall() == []


@BOTH
async def test_a_backup_under_load_has_everything_acknowledged_before_it_began(
    world, tmp_path, capsys
):
    """The recovery drill: other clients keep writing the whole time."""
    writers = [world.stranger() for _ in range(4)]
    acknowledged: list[str] = []
    writing = True

    async def write(wallet) -> None:
        while writing:
            file = await world.create(wallet, f"Number {len(acknowledged)}. " * 50)
            if len(acknowledged) % 3 == 0:
                file = await world.update(wallet, file["cid"], "Better words.")
            if len(acknowledged) % 5 == 0:
                await world.publish(wallet, file["cid"], "drill")
            acknowledged.append(file["cid"])

    late = await world.create(world.wallet(1), "Published after the backup.")
    tasks = [asyncio.create_task(write(wallet)) for wallet in writers]
    await asyncio.sleep(DRILL_SECONDS)
    while not acknowledged:  # noqa: ASYNC110 - a slow disk may take longer over the first
        await asyncio.sleep(0.01)
    before = set(acknowledged)
    began = time.perf_counter()
    await save(world, tmp_path / "saved")
    took = time.perf_counter() - began
    await asyncio.sleep(DRILL_SECONDS)
    writing = False
    await asyncio.gather(*tasks)
    world.create_post(world.wallet(1), late["cid"])

    began = time.perf_counter()
    folder = tmp_path / "restored"
    await restore(tmp_path / "saved", folder)
    back_after = time.perf_counter() - began
    with closing(sqlite3.connect(folder / "imprint.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    shutil.copy(tmp_path / "chain.jsonl", folder / "chain.jsonl")
    async with open_restored(folder, world) as restored:
        files = {each.file.cid: each.file for each in await files_of(restored)}
        assert before
        assert before <= files.keys()
        for file in files.values():
            document = await restored.adapters.content.read(file.cid, Network.PRIVATE)
            assert document == await world.adapters.content.read(file.cid, Network.PRIVATE)
            if file.thumbnail_cid is not None:
                assert await restored.adapters.content.read(file.thumbnail_cid, Network.PUBLIC)
        await build_follower(restored.settings, restored.adapters).rebuild(0, ignore)
        assert (await restored.metadata(late["cid"]))["keyvalues"]["status"] == "onchain"
    lost = len(set(acknowledged) - files.keys())
    with capsys.disabled():
        print(
            f"\ndrill: {len(files)} files saved in {took:.2f} s under load and restored in "
            f"{back_after:.2f} s (RTO); {lost} of {len(acknowledged)} files came after the backup "
            f"began (RPO), none before it was lost"
        )


@BOTH
async def test_no_document_is_destroyed_while_a_backup_runs(world, out, tmp_path):
    alice = world.wallet(1)
    file = await world.create(alice)
    await world.send_delete(alice, file["cid"])
    world.clock.advance(25 * 3600)
    content = world.adapters.content
    collector = world.collector(timedelta(0))
    collected = []

    class Watched:
        async def read(self, cid, network):
            collected.append(await collector.collect())
            return await content.read(cid, network)

    backup = build_backup(world.adapters)
    with open_backup_writer(out, say_nothing) as (writer, scratch):
        watched = replace(backup, content=Watched())
        manifest = await watched.run(writer, scratch, ignore)
    assert (collected, manifest.documents.private) == ([0], 1)
    assert await collector.collect() == 1


@BOTH
async def test_a_missing_document_fails_the_backup_and_leaves_no_file(world, out):
    file = await world.create(world.wallet(1))
    await world.adapters.content.remove(file["cid"], Network.PRIVATE)
    with pytest.raises(DocumentMissing, match=file["cid"]):
        await save(world, out)
    assert not out.exists()
    assert not list(out.parent.glob("*.partial"))


async def test_a_backup_is_readable_only_by_its_owner(world, out):
    await world.create(world.wallet(1))
    await save(world, out)
    assert out.stat().st_mode & 0o077 == 0


async def test_a_backup_overwrites_nothing(world, out):
    out.write_text("precious")
    with pytest.raises(CannotStart, match="exists"):
        await save(world, out)
    assert out.read_text() == "precious"


async def test_restoring_into_a_folder_that_is_not_empty_is_refused(world, out, tmp_path):
    await save(world, out)
    folder = tmp_path / "used"
    folder.mkdir()
    (folder / "precious").touch()
    with pytest.raises(CannotStart, match="not empty"):
        await restore(out, folder)
    assert [path.name for path in folder.iterdir()] == ["precious"]


async def test_a_backup_can_be_restored_into_an_empty_folder(world, out, tmp_path):
    await save(world, out)
    (tmp_path / "empty").mkdir()
    await restore(out, tmp_path / "empty")
    assert (tmp_path / "empty" / "imprint.db").exists()


@pytest.mark.parametrize("damage", ["document", "page", "manifest", "lost", "stranger", "unended"])
async def test_all_damage_is_detected_and_nothing_is_restored(world, tmp_path, damage):
    await fill(world)
    saved = tmp_path / "saved"
    await save(world, saved)
    documents = sorted((saved / "content").rglob("baf*"))
    if damage == "document":
        _flip(documents[0], 5)
    elif damage == "page":
        _flip(saved / "imprint.db", 5000)
    elif damage == "manifest":
        _flip(saved / "backup.json", 20)
    elif damage == "lost":
        documents[0].unlink()
    elif damage == "stranger":
        (saved / "content" / "more").write_text("?")
    else:
        (saved / "backup.json").unlink()
    with pytest.raises(NotABackup):
        await restore(saved, tmp_path / "restored")
    assert not (tmp_path / "restored").exists()
    assert not list(tmp_path.glob("*.partial"))


async def test_a_truncated_tar_file_is_refused(world, tmp_path):
    await fill(world)
    saved = tmp_path / "saved.tar"
    await save(world, saved)
    whole = saved.read_bytes()
    for size in (0, 100, len(whole) // 2, len(whole) - 12_000):
        saved.write_bytes(whole[:size])
        with pytest.raises((NotABackup, CannotStart)):
            await restore(saved, tmp_path / "restored")
        assert not (tmp_path / "restored").exists()


def _flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
