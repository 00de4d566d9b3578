"""Wrong settings: the service refuses to start, or reports them, and changes nothing."""

import asyncio
import json
import secrets
from pathlib import Path

from tests.canaries import canary
from tests.faults.scene import Replica, Scene, open_scene
from tests.faults.test_second_catalog import run_command

KEY, NEW = (secrets.token_hex(32) for _ in range(2))
ENCRYPTED = {"ENCRYPTION": "on", "ENCRYPTION_KEY": KEY}
WRONG = {"ENCRYPTION": "on", "ENCRYPTION_KEY": NEW}
ROTATED = {**WRONG, "ENCRYPTION_KEY_PREVIOUS": KEY}


async def expect_refused(replica: Replica, *words: str) -> None:
    replica.process.spawn()
    assert await asyncio.to_thread(replica.process.wait, 60) == 2, replica.log
    assert "Imprint cannot start." in replica.log
    for each in words:
        assert each in replica.log, replica.log


async def start_instead(scene: Scene, replica: Replica) -> None:
    """Start a replica, and send the scene's requests to it from now on."""
    await replica.start()
    scene.world.client.base_url = replica.url


async def test_a_master_key_that_does_not_decrypt_the_stored_documents_is_refused(
    tmp_path: Path,
) -> None:
    async with open_scene(tmp_path) as scene:
        author = scene.world.wallet(0)
        first = scene.replica(**ENCRYPTED)
        await first.start()
        file = await scene.world.create(author, "Words.")
        assert first.process.stop() == 0
        await expect_refused(scene.replica(**WRONG), "IMPRINT_ENCRYPTION_KEY does not decrypt")
        await expect_refused(scene.replica(WORKERS="2"), "IMPRINT_ENCRYPTION_KEY is not set")

        # Set the new key first together with the old one, and then alone.
        both = scene.replica(**ROTATED)
        await start_instead(scene, both)
        newer = await scene.world.create(author, "Newer words.")
        await expect_refused(scene.replica(**WRONG), "imprint rotate-key")
        rotated = await asyncio.to_thread(run_command, both.given, "rotate-key")
        assert rotated.returncode == 0, rotated.stderr
        assert both.process.stop() == 0
        await start_instead(scene, scene.replica(**WRONG))
        for cid, text in ((file["cid"], "Words."), (newer["cid"], "Newer words.")):
            response = await scene.world.read_draft(author, cid)
            assert response.json()["content"] == text


async def test_documents_whose_key_is_lost_can_be_abandoned(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        first = scene.replica(**ENCRYPTED)
        await first.start()
        await scene.world.create(scene.world.wallet(0), "Words.")
        assert first.process.stop() == 0
        other = scene.replica(**WRONG)
        refused = await asyncio.to_thread(run_command, other.given, "rotate-key")
        assert refused.returncode == 1
        assert "--accept-loss" in refused.stderr
        await expect_refused(other, "does not decrypt the stored documents")
        given_up = await asyncio.to_thread(run_command, other.given, "rotate-key", "--accept-loss")
        assert given_up.returncode == 0, given_up.stderr
        assert "1 documents are given up" in given_up.stdout
        await other.start()


async def test_a_data_folder_that_cannot_be_created_is_refused_immediately(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        await expect_refused(scene.replica(DATA_DIR="/proc/x"), "/proc/x cannot be created")


async def test_a_start_block_that_would_miss_every_post_is_refused(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        await expect_refused(
            scene.replica(CHAIN_START_BLOCK="1000000"),
            "IMPRINT_CHAIN_START_BLOCK is 1000000, but the newest block",
            "no post would be found",
        )


async def test_the_startup_line_names_the_stores_and_later_lines_report_problems(
    tmp_path: Path, records: None
) -> None:
    async with open_scene(tmp_path) as scene:
        logs = {"LOG_FORMAT": "json", "LOG_LEVEL": "info"}
        replica = scene.replica(**logs, MIN_FREE_DISK_BYTES=str(2**50), WORKERS="2")
        await replica.start()
        while '"check": "disk"' not in replica.log:  # noqa: ASYNC110  the report is made beside the start
            await asyncio.sleep(0.05)
        lines = [json.loads(line) for line in replica.log.splitlines()]
        (first,) = [line for line in lines if line["message"] == "Imprint starts"]
        assert first["address"] == f"127.0.0.1:{replica.port}"
        assert first["workers"] == 2
        assert {"version", "data", "database", "store", "chain", "marketplace"} <= first.keys()
        said = [line["message"] for line in lines if "check" in line]
        (signing,) = [each for each in said if "IMPRINT_SIGNING_NAME" in each]
        assert "in the forms imprint-1 and inkdao-1" in signing
        assert len([each for each in said if "drafts are refused now" in each]) == 1
        assert canary("DATABASE_URL") not in replica.log
        ready = await scene.world.client.get("/readyz")
        assert (ready.status_code, ready.json()["status"]) == (200, "degraded")
        assert ready.json()["checks"]["disk"] == "low"
