"""A whole service with its documents in a bucket."""

import asyncio
from pathlib import Path

from tests.faults.scene import open_scene
from tests.s3.conftest import access_to, keys_in
from tests.s3.server import MinioServer

from imprint.adapters.content.bucket import open_objects

KEY = "5c7d1f0e93ab48260d51be7fa94c836217e0db3f68a5924cc1f7053eb8d26a94"


async def test_documents_are_stored_in_the_bucket_and_removed_from_it(
    tmp_path: Path, server: MinioServer
) -> None:
    bucket = server.make_bucket()
    quick = {"JANITOR_SECONDS": "1", "GRACE_HOURS": "0", "ENCRYPTION_KEY": KEY}
    async with open_scene(tmp_path, **server.settings(bucket), **quick) as scene:
        replica, world = scene.replica(), scene.world
        await replica.start()
        author = world.wallet(0)
        large = "A large text. " * 250_000
        file = await world.create(author, "First words.")
        kept = await world.create(author, large)
        file = await world.update(author, file["cid"], "Second words.")
        thumbnail = await world.publish(author, file["cid"], "tag")
        assert (await world.client.get(f"/ipfs/{thumbnail}")).status_code == 200
        for cid, text in ((file["cid"], "Second words."), (kept["cid"], large)):
            response = await world.read_draft(author, cid)
            assert response.json()["content"] == text
        objects = open_objects(access_to(server, bucket))
        stored = bytes(objects.get(f"private/{file['cid']}/0").bytes())
        assert b"Second" not in stored
        assert (await world.send_delete(author, file["cid"])).status_code == 200
        await wait_for_keys(server, bucket, {"private/installation", f"private/{kept['cid']}/0"})
        assert (await world.client.get(f"/ipfs/{thumbnail}")).status_code == 404
        assert {path.name for path in (tmp_path / "data").iterdir()} >= {"imprint.db"}
        assert not (tmp_path / "data" / "content").exists()


async def wait_for_keys(server: MinioServer, bucket: str, expected: set[str]) -> None:
    for _ in range(600):
        found = set(keys_in(server, bucket))
        if found == expected:
            return
        await asyncio.sleep(0.1)
    raise AssertionError(found)
