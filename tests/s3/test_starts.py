"""Startup is refused if the bucket cannot be used."""

import asyncio
from pathlib import Path

import httpx2
import pytest
from tests.faults.scene import Replica, open_scene
from tests.processes import PLAIN
from tests.s3.conftest import keys_in
from tests.s3.server import MinioServer, run_command
from tests.s3.signed_requests import open_to_strangers

KEY = "5c7d1f0e93ab48260d51be7fa94c836217e0db3f68a5924cc1f7053eb8d26a94"


async def expect_refused(replica: Replica, words: str) -> None:
    replica.process.spawn()
    assert await asyncio.to_thread(replica.process.wait, 60) == 2, replica.log
    assert words in replica.log
    for secret in (replica.given["S3_SECRET_ACCESS_KEY"], "Signature=", "X-Amz"):
        assert secret not in replica.log


async def test_wrong_settings_are_refused_at_startup(tmp_path: Path, server: MinioServer) -> None:
    good = server.settings(server.make_bucket())
    async with open_scene(tmp_path, **good) as scene:
        for wrong, words in (
            ({"S3_SECRET_ACCESS_KEY": "wrong-secret"}, "refuses the credentials"),
            ({"S3_ACCESS_KEY_ID": "nobody"}, "(InvalidAccessKeyId)"),
            ({"CONTENT_STORE": "s3://no-such-bucket"}, "s3://no-such-bucket does not exist"),
        ):
            refused = scene.replica(**wrong)
            await expect_refused(refused, words)
            checked = await asyncio.to_thread(run_command, refused.given, "check")
            assert checked.returncode == 1
            assert words in checked.stdout
        await scene.replica(WORKERS="2").start()


async def test_the_wrong_region_is_refused_at_startup(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    server = MinioServer(tmp_path_factory.mktemp("minio"), region="eu-central-1")
    server.start()
    try:
        good = server.settings(server.make_bucket())
        async with open_scene(tmp_path, **good) as scene:
            await expect_refused(scene.replica(S3_REGION="us-west-2"), "IMPRINT_S3_REGION")
            await scene.replica(S3_REGION="eu-central-1").start()
    finally:
        server.kill()


async def test_a_public_bucket_is_refused_unless_documents_are_encrypted(
    tmp_path: Path, server: MinioServer
) -> None:
    bucket = server.make_bucket()
    async with open_scene(tmp_path, **server.settings(bucket)) as scene:
        open_to_strangers(server, bucket, "imprint/public/")
        first = scene.replica()
        await first.start()
        author = scene.world.wallet(0)
        file = await scene.world.create(author, "Words.")
        thumbnail = await scene.world.publish(author, file["cid"])
        (key,) = (each for each in keys_in(server, bucket) if thumbnail in each)
        for path, status in ((key, 200), (f"private/{file['cid']}/0", 403)):
            address = f"{server.endpoint}/{bucket}/imprint/{path}"
            assert httpx2.get(address, verify=PLAIN).status_code == status
        first.process.stop()
        open_to_strangers(server, bucket, "imprint/")
        await expect_refused(scene.replica(), "Anybody can read the private documents")
        await scene.replica(ENCRYPTION_KEY=KEY).start()
