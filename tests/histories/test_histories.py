"""The responses of two replicas fit the model, whatever fails while they serve."""

import asyncio
import os
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
from tests.crash.ledger import find_faults
from tests.faults.disks import FragileDisk
from tests.faults.scene import find_faketime, open_scene
from tests.histories.checker import find_violations
from tests.histories.clients import REQUEST_SECONDS, Account, Client, Stage
from tests.histories.conftest import SEED, Tally
from tests.histories.faults import OPTIONAL, STUCK_SECONDS, Nemesis
from tests.histories.history import History, write_history
from tests.histories.shrinking import shrink
from tests.kubo.node import KuboNode
from tests.postgresql import SCRATCH, Server, keeping_records_on
from tests.s3.server import MinioServer
from tests.world import ORIGIN, World

ROOT = Path(__file__).parents[2]
REJECTED = ROOT / ".tools" / "histories"
"""Where rejected histories are kept."""

ACCOUNTS = 8
CLIENTS_PER_ACCOUNT = 2
OPERATIONS_PER_POST = 300
FEWEST_POSTS, MOST_POSTS = 5, 100
MEGABYTES = {"sqlite": 96, "postgresql": 640}
"""Sizes of the disks. PostgreSQL does not vacuum here, so a long history needs hundreds."""

DURABLE = ("max_connections=200", "deadlock_timeout=100ms", "autovacuum=off", "max_wal_size=64MB")
"""Options of a PostgreSQL server that syncs what it confirms."""

SETTINGS = {
    "PUBLIC_URL": ORIGIN,
    "SHOW": "all",
    "LOG_LEVEL": "warning",
    "MIN_FREE_DISK_BYTES": "0",
    "WEBHOOK_A_SECRET": "9d1f0c81be27d4693b1f0c8e9d2a7465",
    # Documents of replaced versions are destroyed while others are stored.
    "JANITOR_SECONDS": "1",
    "GRACE_HOURS": "0",
    "WRITE_LEASE_SECONDS": "2",
}

KEY = "5c7d1f0e93ab48260d51be7fa94c836217e0db3f68a5924cc1f7053eb8d26a94"
OTHERS = [(database, store) for store in ("kubo", "s3") for database in ("sqlite", "postgresql")]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run stores its data, and what it depends on."""

    folder: Path
    disk: FragileDisk | None
    server: Server | None
    store: KuboNode | MinioServer | None

    @property
    def data(self) -> Path:
        return (self.folder / "here" if self.disk is None else self.disk.folder) / "data"

    @property
    def settings(self) -> dict[str, str]:
        given = {**SETTINGS, "DATA_DIR": str(self.data)}
        if self.store is not None:
            given["ENCRYPTION_KEY"] = KEY
        if isinstance(self.store, KuboNode):
            given["CONTENT_STORE"] = f"kubo:{self.store.api}"
        elif self.store is not None:
            given |= self.store.settings(self.store.make_bucket())
        return given


@asynccontextmanager
async def open_place(database: str, store: str) -> AsyncIterator[Place]:
    """Prepare a disk, a database and a store that may all fail."""
    # PostgreSQL runs as another user, who cannot enter the folders of tests.
    folder = Path(tempfile.mkdtemp(prefix="imprint-histories-", dir=SCRATCH))
    os.chmod(folder, 0o755)  # noqa: PTH101
    made = FragileDisk(folder / "disk", folder / "image", MEGABYTES[database])
    disk = made if made.make() else None
    server: Server | None = None
    documents: KuboNode | MinioServer | None = None
    try:
        if database == "postgresql":
            home = (folder if disk is None else disk.folder) / "pg"
            home.mkdir()
            server = Server(home, DURABLE)
            await asyncio.to_thread(server.make)
            if disk is not None:
                # A database cluster for tests is created without being synced to disk.
                await asyncio.to_thread(disk.sync)
            await asyncio.to_thread(server.start)
        if store == "kubo":
            documents = KuboNode(folder / "kubo")
            await documents.start()
        elif store == "s3":
            documents = MinioServer(folder / "minio")
            await asyncio.to_thread(documents.start)
        with keeping_records_on(server):
            yield Place(folder, disk, server, documents)
    finally:
        if isinstance(documents, KuboNode):
            await documents.stop()
        elif documents is not None:
            documents.kill()
        if server is not None:
            await asyncio.to_thread(server.stop)
        if disk is not None:
            await asyncio.to_thread(disk.unmount)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
async def test_a_history_with_embedded_documents_fits_the_model(
    database: str, tally: Tally, capsys: pytest.CaptureFixture[str]
):
    await run_history(database, "embedded", tally, capsys)


@pytest.mark.rotates
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(("database", "store"), OTHERS)
async def test_a_history_with_documents_in_an_external_store_fits_the_model(
    database: str, store: str, tally: Tally, capsys: pytest.CaptureFixture[str]
):
    await run_history(database, store, tally, capsys)


async def run_history(
    database: str, store: str, tally: Tally, capsys: pytest.CaptureFixture[str]
) -> None:
    """Make a history with this database and this store, and check it."""
    chance, history = random.Random(f"{SEED} {database} {store}"), History()
    async with open_place(database, store) as place:
        async with open_scene(place.folder, **place.settings) as scene:
            first = scene.replica()
            second = scene.replica(ahead=0.0 if has_faketime() else None, lags=True)
            await first.start()
            await second.start()
            posts = await publish_posts(scene.world, tally.goal.operations // OPERATIONS_PER_POST)
            timeout = aiohttp.ClientTimeout(total=REQUEST_SECONDS)
            async with aiohttp.ClientSession(timeout=timeout) as http:
                # A retried DELETE would hide that the first attempt took effect.
                http._retry_connection = False
                stage = Stage(scene.world, [first.url, second.url], history, posts, http)
                nemesis = Nemesis(
                    scene, stage, chance, place.data, place.server, place.store, place.disk
                )
                clients = make_clients(stage, chance)
                seconds = await disturb(nemesis, clients, tally)
                for replica in scene.replicas:
                    await replica.wait_for(200)
                async with asyncio.timeout(STUCK_SECONDS):
                    for client in clients[:ACCOUNTS]:
                        await client.read_everything()
        damage = find_damage(database, store, place)
    report(f"{database} and {store}", history, nemesis, seconds, tally=tally, capsys=capsys)
    if rejected := judge(history, f"{database}-{store}", tally):
        pytest.fail("\n".join(rejected), pytrace=False)
    assert damage == []
    assert stage.unexpected == []


def has_faketime() -> bool:
    try:
        return bool(find_faketime())
    except AssertionError:
        return False


async def publish_posts(world: World, wanted: int) -> dict[str, int]:
    """Publish posts that cost something, and return their ids by text."""
    number_of_posts = min(max(FEWEST_POSTS, wanted), MOST_POSTS)
    texts = [f"Words {number}" for number in range(number_of_posts)]
    author = world.wallet(ACCOUNTS)
    return {text: (await world.post(author, text))[0] for text in texts}


def make_clients(stage: Stage, chance: random.Random) -> list[Client]:
    accounts = [Account(stage.world.wallet(number)) for number in range(ACCOUNTS)]
    owners = accounts * CLIENTS_PER_ACCOUNT
    return [
        Client(number, stage, owner, random.Random(chance.random()))
        for number, owner in enumerate(owners)
    ]


async def disturb(nemesis: Nemesis, clients: list[Client], tally: Tally) -> float:
    """Run the clients while faults happen, and return the seconds that this took."""
    began = time.monotonic()
    running = [asyncio.create_task(client.run()) for client in clients]
    try:
        await nemesis.strike(tally.goal)
    finally:
        nemesis.stage.stopping.set()
        seconds = time.monotonic() - began
        await asyncio.gather(*running)
    return seconds


def find_damage(database: str, store: str, place: Place) -> list[str]:
    """Return every inconsistency of records and documents on the disk."""
    if (database, store) != ("sqlite", "embedded"):
        return []
    return find_faults(place.data, destroyed=True)


def report(
    name: str,
    history: History,
    nemesis: Nemesis,
    seconds: float,
    *,
    tally: Tally,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Print what happened, and add it to the tally."""
    unknown = sum(each.outcome == "unknown" for each in history.operations)
    total, loaded = history.total, history.under_load
    faults = ", ".join(f"{count} {what}" for what, count in sorted(nemesis.happened.items()))
    with capsys.disabled():
        print(
            f"\n{name}: {total.operations} operations confirmed in {seconds:.0f} s"
            f" ({total.operations / seconds:.0f} a second), {loaded.operations} of them under load;"
            f" {len(history.operations)} sent, {unknown} unknown; {total.kills} kills,"
            f" {loaded.kills} of them under load; {faults}; seed {SEED}"
        )
    goal = tally.goal
    if loaded.operations < goal.operations or loaded.kills < goal.kills:
        tally.slow.append(
            f"On {name}, only {loaded.operations} operations and {loaded.kills} kills happened"
            " under load."
        )
    tally.skipped |= OPTIONAL - nemesis.faults.keys()
    tally.counts += Counter(
        {
            "histories": 1,
            "confirmed operations": total.operations,
            "confirmed operations under load": loaded.operations,
            "unknown outcomes": unknown,
            "kills": total.kills,
            "kills under load": loaded.kills,
            **nemesis.happened,
        }
    )


def judge(history: History, name: str, tally: Tally) -> list[str]:
    """Return the violations, and keep the history and its smallest rejected parts if any."""
    violations = find_violations(history.operations)
    if not violations:
        return []
    whole = REJECTED / f"{SEED}-{name}.jsonl"
    write_history(history.operations, whole)
    said = [f"The rejected history is in {whole}"]
    for number, violation in enumerate(violations[:5]):
        small = whole.with_suffix(f".{number}.jsonl")
        write_history(shrink(violation), small)
        said.append(f"{violation}, made smaller in {small}")
    tally.rejected += said
    return said
