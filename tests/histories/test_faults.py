"""The faults of a history end, even if the service does not recover."""

import random
from pathlib import Path
from typing import cast

import pytest
from aiohttp import ClientSession
from tests.faults.scene import Replica, Scene
from tests.histories.clients import Stage
from tests.histories.faults import Nemesis
from tests.histories.history import History
from tests.world import World


async def test_a_replica_that_never_serves_again_ends_the_history(tmp_path: Path):
    world = cast(World, None)
    scene = Scene(tmp_path, {}, world, [Replica("silent", tmp_path, {})])
    stage = Stage(world, [], History(), {}, cast(ClientSession, None))
    nemesis = Nemesis(scene, stage, random.Random(1), tmp_path, patience=0)
    with pytest.raises(TimeoutError, match="silent serves nothing"):
        await nemesis.kill()
