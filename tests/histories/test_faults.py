"""Faults go on until a history is long enough, and end if the service does not recover."""

import random
from pathlib import Path
from typing import cast

import pytest
from aiohttp import ClientSession
from tests.faults.scene import Replica, Scene
from tests.histories.clients import Stage
from tests.histories.faults import Nemesis
from tests.histories.history import Amount, History, Operation
from tests.world import World

GOAL = Amount(operations=1000, kills=2)


def nemesis_of(history: History, folder: Path) -> Nemesis:
    world = cast(World, None)
    scene = Scene(folder, {}, world, [Replica("silent", folder, {})])
    stage = Stage(world, [], history, {}, cast(ClientSession, None))
    return Nemesis(scene, stage, random.Random(1), folder, patience=0)


def history_of(operations: int, kills: int, seconds: int) -> History:
    """A history whose operations and kills are spread evenly over some seconds."""
    moment = 0.0
    history = History(clock=lambda: moment)
    for number in range(operations):
        end = seconds * number / operations
        history.add(Operation(0, "list", {}, end, end, "ok"))
    for number in range(kills):
        moment = seconds * number / kills
        history.add_kill()
    return history


async def test_a_replica_that_never_serves_again_ends_the_history(tmp_path: Path):
    with pytest.raises(TimeoutError, match="silent serves nothing"):
        await nemesis_of(History(), tmp_path).kill()


def test_only_operations_and_kills_in_periods_with_a_high_rate_happen_under_load():
    history = history_of(operations=1000, kills=4, seconds=10)
    assert history.under_load == history.total == Amount(1000, 4)
    slow = Operation(0, "list", {}, 12, 12, "ok")
    history.add(slow)
    assert (history.total, history.under_load) == (Amount(1001, 4), Amount(1000, 4))


@pytest.mark.parametrize(
    ("operations", "kills", "seconds", "progress"),
    [
        (1000, 2, 10, 1.0),
        (500, 1, 5, 0.5),
        (1000, 1, 10, 0.5),
        # Slower than under load, all of it counts, but only with time.
        (1000, 2, 15, 0.5),
        (1000, 2, 30, 1.0),
        (100, 2, 300, 0.1),
    ],
)
def test_a_history_ends_with_its_numbers_under_load_or_much_later(
    operations: int, kills: int, seconds: int, progress: float, tmp_path: Path
):
    nemesis = nemesis_of(history_of(operations, kills, seconds), tmp_path)
    assert nemesis.progress(GOAL, seconds) == pytest.approx(progress)
