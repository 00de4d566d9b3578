"""Encrypted documents are ciphertext on disk, but plain text over HTTP for entitled readers."""

import asyncio
import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.documents import read_document
from tests.world import World, open_world, problem

from imprint.cli import main
from imprint.domain.drafts.files import Network
from imprint.domain.formats.cids import Cid, document_cid
from imprint.services.installation import master_keys
from imprint.services.installation.master_keys import KeyRotation, RotationProgress

KEY = "5c7d1f0e93ab48260d51be7fa94c836217e0db3f68a5924cc1f7053eb8d26a94"
NEW = "e1b8402f7a6dc95301f4827bd0ce593a6f18a5d07b34e29c8855c3f1607ad92e"
ON = {"ENCRYPTION": "on", "ENCRYPTION_KEY": KEY}
ROTATED = {"ENCRYPTION": "on", "ENCRYPTION_KEY": NEW, "ENCRYPTION_KEY_PREVIOUS": KEY}


def stored(folder: Path, cid: str, network: Network = Network.PRIVATE) -> bytes:
    return read_document(folder / "content", network, cid)


def database(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.glob("imprint.db*"))


async def content(world: World, cid: str, account: int = 0) -> str:
    response = await world.read_draft(world.wallet(account), cid)
    assert response.status_code == 200, response.text
    text: str = response.json()["content"]
    return text


async def rotate(world: World) -> RotationProgress:
    (*_, last) = [
        done async for done in KeyRotation(world.adapters.stores.keys, world.adapters.cipher).run()
    ]
    return last


async def test_documents_are_stored_as_ciphertext_and_read_as_content(tmp_path: Path):
    async with open_world(tmp_path, **ON) as world:
        file = await world.create(world.wallet(0), "Words for sale.")
        assert await content(world, file["cid"]) == "Words for sale."
    document = stored(tmp_path, file["cid"])
    assert b"Words" not in document
    assert file["name"].encode() not in document
    assert document_cid(document) == file["cid"]
    assert len(document) == file["size"]


async def test_the_database_alone_cannot_decrypt_a_document(tmp_path: Path):
    async with open_world(tmp_path, **ON) as world:
        file = await world.create(world.wallet(0), "Words for sale.")
        kept = await world.adapters.stores.files.file_by_cid(Cid(file["cid"]))
        assert kept is not None
        assert kept.wrapped_key is not None
        assert "wrapped_key" not in json.dumps(file)
    everything = database(tmp_path)
    assert kept.wrapped_key in everything
    assert bytes.fromhex(KEY) not in everything
    assert KEY.encode() not in everything


async def test_a_large_document_is_encrypted_and_decrypted_completely(tmp_path: Path):
    text = "Ünïcode and more. " * 60_000
    async with open_world(tmp_path, **ON) as world:
        file = await world.create(world.wallet(0), text)
        assert await content(world, file["cid"]) == text


async def test_updates_and_posts_are_encrypted_too(tmp_path: Path):
    async with open_world(tmp_path, **ON) as world:
        author, buyer = world.wallet(0), world.wallet(1)
        draft = await world.create(author, "First words.")
        file = await world.update(author, draft["cid"], "Better words.")
        await world.deliver_a(world.create_post(author, file["cid"]))
        world.buy(buyer, 1)
        response = await world.read_post(buyer, 1)
        assert response.json()["content"] == "Better words."
    assert b"words" not in stored(tmp_path, draft["cid"]) + stored(tmp_path, file["cid"])


async def test_thumbnails_stay_public_and_unencrypted(tmp_path: Path):
    async with open_world(tmp_path, **ON) as world:
        file = await world.create(world.wallet(0))
        thumbnail = await world.publish(world.wallet(0), file["cid"])
        response = await world.client.get(f"/ipfs/{thumbnail}")
        assert response.content == stored(tmp_path, thumbnail, Network.PUBLIC)
        assert response.content.startswith(b"\x89PNG")


async def test_an_encrypted_document_of_a_free_post_is_not_public(tmp_path: Path):
    async with open_world(tmp_path, **ON) as world:
        post_id, file = await world.post(world.wallet(1), price=0)
        assert (await world.read_free(post_id)).status_code == 200
        for query in ("", "?format=raw", "?format=car"):
            response = await world.client.get(f"/ipfs/{file['cid']}{query}")
            assert problem(response) == (404, "not_found")


async def test_drafts_created_before_encryption_stay_readable(tmp_path: Path):
    async with open_world(tmp_path) as world:
        file = await world.create(world.wallet(0), "Older words.")
    async with open_world(tmp_path, **ON) as world:
        assert await content(world, file["cid"]) == "Older words."


async def test_encrypted_drafts_stay_readable_after_encryption_is_switched_off(tmp_path: Path):
    async with open_world(tmp_path, **ON) as world:
        file = await world.create(world.wallet(0), "Older words.")
    async with open_world(tmp_path, ENCRYPTION="off", ENCRYPTION_KEY=KEY) as world:
        assert await content(world, file["cid"]) == "Older words."
        newer = await world.create(world.wallet(0), "Newer words.")
    assert b"Newer" in stored(tmp_path, newer["cid"])


@pytest.mark.parametrize("given", [{"ENCRYPTION": "on", "ENCRYPTION_KEY": NEW}, {}])
async def test_without_the_right_master_key_reads_fail_but_lists_still_work(
    tmp_path: Path, given: dict[str, str]
):
    async with open_world(tmp_path, **ON) as world:
        file = await world.create(world.wallet(0))
    async with open_world(tmp_path, **given) as world:
        response = await world.read_draft(world.wallet(0), file["cid"])
        assert problem(response) == (503, "storage_unavailable")
        assert (await world.metadata(file["cid"]))["cid"] == file["cid"]


async def test_after_a_rotation_only_the_new_master_key_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(master_keys, "BATCH", 2)
    async with open_world(tmp_path, **ON) as world:
        files = [await world.create(world.wallet(0), f"Words {n}.") for n in range(5)]
        files[0] = await world.update(world.wallet(0), files[0]["cid"], "Words 0.")
        before = [stored(tmp_path, file["cid"]) for file in files]
    async with open_world(tmp_path, **ROTATED) as world:
        assert await content(world, files[1]["cid"]) == "Words 1."
        files.append(await world.create(world.wallet(0), "Words 5."))
        done = await rotate(world)
        assert (done.rewrapped, done.current, done.unreadable) == (6, 1, 0)
    async with open_world(tmp_path, ENCRYPTION="on", ENCRYPTION_KEY=NEW) as world:
        for n, file in enumerate(files):
            assert await content(world, file["cid"]) == f"Words {n}."
    assert [stored(tmp_path, file["cid"]) for file in files[:5]] == before


async def test_an_interrupted_rotation_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(master_keys, "BATCH", 2)
    async with open_world(tmp_path, **ON) as world:
        for _ in range(5):
            await world.create(world.wallet(0))
    async with open_world(tmp_path, **ROTATED) as world:
        async for done in KeyRotation(world.adapters.stores.keys, world.adapters.cipher).run():
            assert done.rewrapped == 2
            break
        again = await rotate(world)
        assert (again.rewrapped, again.current) == (3, 2)


async def test_a_key_that_cannot_be_unwrapped_is_counted_and_left_unchanged(tmp_path: Path):
    async with open_world(tmp_path, **ON) as world:
        file = await world.create(world.wallet(0))
        kept = await world.adapters.stores.files.file_by_cid(Cid(file["cid"]))
    async with open_world(tmp_path, ENCRYPTION="on", ENCRYPTION_KEY=NEW) as world:
        done = await rotate(world)
        assert (done.rewrapped, done.unreadable) == (0, 1)
        assert await world.adapters.stores.files.file_by_cid(Cid(file["cid"])) == kept


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    unset = {name: "" for name in os.environ if name.startswith("IMPRINT_")}
    return unset | {
        "IMPRINT_DATA_DIR": str(tmp_path),
        "IMPRINT_CHAIN_RPC_URL": "http://127.0.0.1:9",
        "IMPRINT_CHAIN_ID": "31337",
        "IMPRINT_MARKETPLACE_ADDRESS": "0x5FbDB2315678afecb367f032d93F642f64180aa3",
        "IMPRINT_JWT_SECRET": "8c1f0a5be27d4693b1f0c8e9d2a7465f",
    }


async def test_the_command_rotates_keys_and_reports_that_the_old_one_is_obsolete(
    tmp_path: Path, environ: dict[str, str]
):
    async with open_world(tmp_path, **ON) as world:
        file = await world.create(world.wallet(0), "Words.")
    given = environ | {f"IMPRINT_{name}": value for name, value in ROTATED.items()}
    ran = await _run(given)
    assert ran.exit_code == 0, ran.output
    assert "1 keys were rewrapped; 0 were already current." in ran.output
    assert "IMPRINT_ENCRYPTION_KEY_PREVIOUS is no longer needed." in ran.output
    async with open_world(tmp_path, ENCRYPTION="on", ENCRYPTION_KEY=NEW) as world:
        assert await content(world, file["cid"]) == "Words."


async def test_the_command_fails_if_some_keys_could_not_be_rewrapped(
    tmp_path: Path, environ: dict[str, str]
):
    async with open_world(tmp_path, **ON) as world:
        await world.create(world.wallet(0))
    ran = await _run(environ | {"IMPRINT_ENCRYPTION_KEY": NEW})
    assert ran.exit_code == 1
    assert "1 keys can be opened with neither" in ran.output


async def test_the_rotation_command_needs_a_key(tmp_path: Path, environ: dict[str, str]):
    async with open_world(tmp_path):
        pass
    ran = await _run(environ)
    assert ran.exit_code == 2
    assert "IMPRINT_ENCRYPTION_KEY, the new master key, is not set." in ran.output


async def _run(environ: dict[str, str]):
    return await asyncio.to_thread(CliRunner(env=environ).invoke, main, ["rotate-key"])
