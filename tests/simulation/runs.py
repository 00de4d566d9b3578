"""Runs one seed: a random history of actions, compared with the model at every rest."""

import asyncio
import os
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from tests.migrated_catalog import put_migrated_catalog
from tests.simulation.actions import ACTIONS as WRITES_AND_EVENTS
from tests.simulation.actions import Action, buy, create, follow, post, read
from tests.simulation.event_loop import SimulatedLoop, without_threads
from tests.simulation.market import DEPTH, deploy_contracts
from tests.simulation.model import Model
from tests.simulation.moderation import MODERATION
from tests.simulation.rewindable_chain import simple_blocks
from tests.simulation.sessions import SESSIONS
from tests.simulation.universe import Universe
from tests.simulation.verdict import check, check_step

from imprint import bootstrap
from imprint.adapters.database.postgresql import database as postgresql
from imprint.auth.page_tokens import PageTokens
from imprint.auth.sessions import Sessions
from imprint.auth.sign_in_with_x import Challenges

ACTIONS = WRITES_AND_EVENTS | SESSIONS | MODERATION

PATIENT_SECONDS = 60.0

MEMORY = Path("/dev/shm")
"""An in-memory folder, if there is one: there are many runs, and no data needs to survive."""

LENGTHS = (1, 3, 5, 8, 12)
"""The number of actions between two rests."""

ROUNDS = (1,) * 18 + (2, 5)
"""How many times a run comes to rest. One in twenty is long."""

STEP_SECONDS = (0, 0.2, 1, 3)
"""How many seconds pass after an action."""

WHOLE = 0.1
"""The share of the runs at whose end everything is checked, and not only a sample."""

PRELUDE = (create, post, follow, buy, read)
SETTLED = 0.5
"""The share of the runs that start with a post, because most actions need one."""

LATE = 0.2
"""The share of the runs that start on a chain with enough blocks for the deepest reorg."""

REPLICATED = 0.15
"""The share of the runs in which a second process is used."""


@dataclass
class Run:
    """What a seed did. `trace` and `digest` are the same whenever it is repeated."""

    seed: int
    trace: list[str] = field(default_factory=list)
    digest: str = ""
    actions: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    responses: int = 0
    error: BaseException | None = None


def run_seed(seed: int, database: str | None = None) -> Run:
    """Run a seed on SQLite, or on the given PostgreSQL database."""
    run = Run(seed)
    chance = random.Random(seed)
    # Salts, ids and nonces come from the operating system; here they come from the seed as well.
    entropy = random.Random(seed)
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name, ExitStack() as stack:
        universe = Universe(chance, Path(name), database)
        # Deploy the contracts, which later runs in this process reuse, without randomness from this
        # seed.
        deploy_contracts(universe.clock.seconds)
        if database is None:
            for path, content in _new_installation().items():
                (universe.folder / path).parent.mkdir(parents=True, exist_ok=True)
                (universe.folder / path).write_bytes(content)
        runner = stack.enter_context(_simulated(universe, entropy))
        try:
            runner.run(_run(universe, run))
        except Exception as error:  # noqa: BLE001  the caller reports it with the trace
            run.error = error
        run.trace, run.faults = universe.trace, universe.counts
        run.digest, run.responses = universe.digest.hexdigest(), universe.responses
    return run


@contextmanager
def _simulated(universe: Universe, entropy: random.Random) -> Iterator[asyncio.Runner]:
    """Run coroutines on a simulated loop, with random values from this source only."""

    def make_loop() -> SimulatedLoop:
        return SimulatedLoop(universe.clock, is_virtual=universe.database is None)

    with ExitStack() as stack:
        for target, attribute, value in (
            (os, "urandom", entropy.randbytes),
            (random, "_urandom", entropy.randbytes),
            (random, "getrandbits", entropy.getrandbits),
            # A busy machine may delay PostgreSQL, and no fault explains that.
            (postgresql, "CALL_SECONDS", PATIENT_SECONDS),
            *(
                (bootstrap, each.__name__, partial(each, random_bytes=entropy.randbytes))
                for each in (Challenges, PageTokens, Sessions)
            ),
        ):
            stack.enter_context(patch.object(target, attribute, value))
        stack.enter_context(simple_blocks())
        stack.enter_context(without_threads(universe.clock))
        yield stack.enter_context(asyncio.Runner(loop_factory=make_loop))


@cache
def _new_installation() -> dict[Path, bytes]:
    """The files of an installation that was opened once."""
    with TemporaryDirectory() as name:
        folder, chance = Path(name), random.Random(0)
        put_migrated_catalog(folder / "imprint.db")
        universe = Universe(chance, folder)
        with _simulated(universe, random.Random(0)) as runner:
            runner.run(_open_once(universe))
        files = [path for path in folder.rglob("*") if path.is_file()]
        return {path.relative_to(folder): path.read_bytes() for path in files}


async def _open_once(universe: Universe) -> None:
    await universe.open()
    await universe.close()


async def _run(universe: Universe, run: Run) -> None:
    chance = universe.random
    await universe.open()
    model = Model(universe.market)
    universe.hear = lambda reader, body: model.check_heard(reader, body, universe.clock.passed)
    weights = choose_weights(chance)
    universe.is_replicated = chance.random() < REPLICATED
    if chance.random() < LATE:
        universe.market.mine(DEPTH)
    prelude = PRELUDE if chance.random() < SETTLED else ()
    try:
        for left in range(chance.choice(ROUNDS) - 1, -1, -1):
            drawn = chance.choices(list(weights), list(weights.values()), k=chance.choice(LENGTHS))
            for action in (*prelude, *drawn):
                run.actions[action.__name__] += 1
                model.note_access(universe.clock.passed)
                await action(universe, model)
                model.note_access(universe.clock.passed)
                universe.clock.advance(chance.choice(STEP_SECONDS))
                await check_step(universe, model)
            prelude = ()
            await universe.come_to_rest()
            model.note_access(universe.clock.passed)
            universe.say("at rest")
            await check(universe, model, whole=left == 0 and chance.random() < WHOLE)
    finally:
        await universe.close()


def choose_weights(chance: random.Random) -> dict[Action, int]:
    """Give each run its own habits: it does some things often, and some never."""
    weights = {
        action: weight * chance.choice([0, 1, 1, 1, 3]) for action, weight in ACTIONS.items()
    }
    return weights | {action: max(1, weights[action]) for action in list(ACTIONS)[:1]}
