"""The whole service with its documents stored on a Kubo node or at Pinata."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.adapters.content.kubo_fake import KuboFake
from tests.adapters.content.pinata_fake import JWT, PinataFake
from tests.world import World, open_world, problem

KEY = "5c7d1f0e93ab48260d51be7fa94c836217e0db3f68a5924cc1f7053eb8d26a94"


@asynccontextmanager
async def on_kubo(folder: Path) -> AsyncIterator[tuple[World, KuboFake]]:
    fake = KuboFake(authorization="Bearer a-token-of-the-node")
    await fake.start()
    settings = {
        "CONTENT_STORE": f"kubo:{fake.address}",
        "KUBO_AUTHORIZATION": "bearer:a-token-of-the-node",
        "ENCRYPTION_KEY": KEY,
    }
    try:
        async with open_world(folder, **settings) as world:
            yield world, fake
    finally:
        await fake.stop()


@asynccontextmanager
async def at_pinata(folder: Path, store: str = "pinata") -> AsyncIterator[tuple[World, PinataFake]]:
    fake = PinataFake()
    await fake.start()
    settings = {
        "CONTENT_STORE": store,
        "PINATA_JWT": JWT,
        "PINATA_GATEWAY": fake.origin,
        "PINATA_API_URL": f"{fake.origin}/api/v3",
        "PINATA_UPLOAD_URL": f"{fake.origin}/uploads/v3",
        "ENCRYPTION_KEY": KEY,
    }
    try:
        async with open_world(folder, **settings) as world:
            yield world, fake
    finally:
        await fake.stop()


async def walk(world: World) -> tuple[str, str]:
    """Create and read a draft, add a thumbnail, and return the cids of the draft and thumbnail."""
    author = world.wallet(0)
    file = await world.create(author, "Words for sale.")
    response = await world.read_draft(author, file["cid"])
    assert response.json()["content"] == "Words for sale."
    thumbnail = await world.publish(author, file["cid"])
    picture = await world.client.get(f"/ipfs/{thumbnail}")
    assert (picture.status_code, picture.headers["content-type"]) == (200, "image/png")
    hidden = await world.client.get(f"/ipfs/{file['cid']}")
    assert problem(hidden) == (404, "not_found")
    assert (await world.client.get("/readyz")).status_code == 200
    return file["cid"], thumbnail


async def test_a_service_on_a_kubo_node_stores_ciphertext_and_serves_content(tmp_path: Path):
    async with on_kubo(tmp_path) as (world, fake):
        await walk(world)
        assert not any(b"Words for sale." in block for block in fake.blocks.values())


async def test_a_service_on_pinata_keeps_drafts_private(tmp_path: Path):
    async with at_pinata(tmp_path) as (world, fake):
        cid, thumbnail = await walk(world)
        # The first private file is the marker of the installation.
        assert [each["cid"] for each in fake.files["private"].values()][1:] == [cid]
        assert [each["cid"] for each in fake.files["public"].values()] == [thumbnail]


async def test_a_service_on_public_pinata_stores_ciphertext(tmp_path: Path):
    async with at_pinata(tmp_path, "pinata-public") as (world, fake):
        await walk(world)
        assert fake.files["private"] == {}
        assert not any(b"Words for sale." in each for each in fake.contents.values())


@pytest.mark.parametrize("open_service", [on_kubo, at_pinata])
async def test_a_missing_store_is_reported_as_unavailable(tmp_path: Path, open_service):
    async with open_service(tmp_path) as (world, fake):
        file = await world.create(world.wallet(0), "Words.")
        await fake.server.close()
        refused = await world.send_create(world.wallet(0))
        assert problem(refused) == (503, "storage_unavailable")
        gone = await world.read_draft(world.wallet(0), file["cid"])
        assert problem(gone) == (503, "storage_unavailable")
