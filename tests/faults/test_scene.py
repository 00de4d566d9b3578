"""The scene itself: a replica with a wrong clock serves, and its clock can be set."""

from pathlib import Path

import httpx2
from tests.faults.scene import open_scene
from tests.processes import PLAIN


async def test_a_replica_with_another_clock_refuses_signatures_of_now(
    tmp_path: Path, records: None
):
    async with open_scene(tmp_path) as scene:
        replica = scene.replica(ahead=3600.0)
        await replica.start()
        response = await scene.world.send_create(scene.world.wallet(0), "Words.")
        assert response.status_code == 401, response.text
        assert replica.clock is not None
        replica.clock.set(0.0)
        response = await scene.world.send_create(scene.world.wallet(0), "Words.")
        assert response.status_code == 200, response.text
        assert httpx2.get(f"{replica.url}/healthz", verify=PLAIN).status_code == 200
