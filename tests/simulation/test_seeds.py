"""Seeded simulation: a random history of actions, compared with the model at every rest.

One number determines a whole run. `make simulate SEEDS=500` runs 500 seeds, `SEEDS=501-900`
a range, and `make simulate SEED=7` repeats a single one.
"""

import os
import random
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.simulation.actions import ACTIONS as WRITES_AND_EVENTS
from tests.simulation.actions import Action
from tests.simulation.kept_seeds import KEPT_SEEDS
from tests.simulation.model import Model
from tests.simulation.sessions import SESSIONS
from tests.simulation.universe import Universe
from tests.simulation.verdict import check

ACTIONS = WRITES_AND_EVENTS | SESSIONS

ROUNDS = 6
"""How many times a run comes to rest."""

STEPS = 24
"""The average number of actions between two rests."""

POSTGRESQL = 5
"""Every fifth seed stores its records in PostgreSQL."""

FEW_SEEDS = 3
"""The default number of seeds."""

MEMORY = Path("/dev/shm")
"""An in-memory folder, if there is one: there are many runs, and no data needs to survive."""


def choose_seeds() -> list[int]:
    """Return one seed, or the requested range plus all seeds that have ever failed. Few by
    default."""
    if one := os.environ.get("SEED"):
        return [int(one)]
    if not (asked := os.environ.get("SEEDS")):
        return list(range(1, FEW_SEEDS + 1))
    first, _, last = asked.rpartition("-")
    fresh = range(int(first or 1), int(last) + 1)
    return [*(seed for seed in KEPT_SEEDS if seed not in fresh), *fresh]


@pytest.fixture
def folder() -> AsyncIterator[Path]:
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name:
        yield Path(name)


@pytest.mark.parametrize("seed", choose_seeds())
async def test_a_simulated_history_ends_in_the_state_of_the_chain(
    seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    database = None
    if seed % POSTGRESQL == 0:
        server = request.getfixturevalue("postgresql")
        database = await server.create_database(f"seed_{seed}")
    chance = random.Random(seed)
    # Salts, ids and nonces come from the operating system; here they come from the seed as well.
    entropy = random.Random(seed)
    monkeypatch.setattr(os, "urandom", entropy.randbytes)
    monkeypatch.setattr(random, "_urandom", entropy.randbytes)
    universe = Universe(chance, folder, database)
    await universe.open()
    model = Model(universe.market)
    weights = choose_weights(chance)
    try:
        for left in range(ROUNDS - 1, -1, -1):
            for _ in range(chance.randint(1, 2 * STEPS)):
                (action,) = chance.choices(list(weights), list(weights.values()))
                await action(universe, model)
            await universe.come_to_rest()
            universe.say("at rest")
            await check(universe, model, whole=left == 0)
    except BaseException:
        print(f"\nseed {seed}: replay with `make simulate SEED={seed}`", *universe.trace, sep="\n")
        raise
    finally:
        await universe.close()


def choose_weights(chance: random.Random) -> dict[Action, int]:
    """Give each run its own habits: it does some things often, and some never."""
    weights = {
        action: weight * chance.choice([0, 1, 1, 1, 3]) for action, weight in ACTIONS.items()
    }
    return weights | {action: max(1, weights[action]) for action in list(ACTIONS)[:1]}
