"""A catalog that is moved while a service uses it, or wants to."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from tests.faults.scene import open_scene
from tests.postgresql import Server


async def test_a_migration_is_refused_while_the_service_runs(tmp_path: Path, postgresql: Server):
    name = f"moved_{tmp_path.name}_{os.getpid()}"
    target = await postgresql.create_database(name)
    async with open_scene(tmp_path) as scene:
        replica = scene.replica()
        await replica.start()
        await scene.world.create(scene.world.wallet(0))
        source = f"sqlite:///{tmp_path / 'data' / 'imprint.db'}"
        refused = await migrate(source, target)
        assert refused.returncode == 2
        assert f"is in use (processes: {replica.process.worker})" in refused.stderr
        await asyncio.to_thread(replica.process.stop, 60)
        moved = await migrate(source, target)
        assert moved.returncode == 0, moved.stderr
        # And the other way round: somebody serves from the target.
        other = scene.replica(DATABASE_URL=target)
        await other.start()
        refused = await migrate(source, target)
        assert (refused.returncode, "The target is in use" in refused.stderr) == (2, True)


async def migrate(source: str, target: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "imprint", "migrate-catalog", "--from", source, "--to", target]
    return await asyncio.to_thread(
        subprocess.run, command, capture_output=True, text=True, check=False, timeout=60
    )
