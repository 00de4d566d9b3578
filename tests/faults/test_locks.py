"""Another process holds a lock: every write gets 503 in time, and none takes effect later."""

import asyncio
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import asyncpg
import httpx2
from tests.faults.scene import Scene, open_scene
from tests.world import Wallet, problem

WRITERS = 12
"""Number of concurrent writes, more than a process has connections."""

PROMISED = 5.0
"""Seconds within which a call to the database or the content store must end."""

MARGIN = 4.0
"""Additional seconds for a slow machine, too few for a second call of five seconds."""

ATTEMPTS = 3
"""Number of attempts. A slow machine exceeds the margin only sometimes, but two sequential
calls always exceed it."""

_HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def locked_file(path: Path) -> Iterator[None]:
    """Hold a lock on this database from another process until the context exits."""
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    try:
        yield
    finally:
        holder.communicate()


@asynccontextmanager
async def locked_records(scene: Scene) -> AsyncIterator[None]:
    """Lock, in another session, the records that writes need."""
    if "DATABASE_URL" not in scene.given:
        with locked_file(scene.folder / "data" / "imprint.db"):
            yield
        return
    session = await asyncpg.connect(scene.given["DATABASE_URL"])
    try:
        await session.execute("BEGIN; LOCK TABLE files, intents IN ACCESS EXCLUSIVE MODE")
        yield
    finally:
        await session.close()


async def timed(sending: "asyncio.Future[httpx2.Response]") -> tuple[httpx2.Response, float]:
    began = time.monotonic()
    response = await sending
    return response, time.monotonic() - began


async def write_all(scene: Scene, nonces: dict[str, Wallet]) -> list[tuple[httpx2.Response, float]]:
    """Create drafts with all nonces concurrently. Returns each response with its duration."""
    sending = (
        timed(asyncio.ensure_future(scene.world.send_create(wallet, f"Words {nonce}.", nonce)))
        for nonce, wallet in nonces.items()
    )
    return await asyncio.gather(*sending)


def nonces_of(scene: Scene) -> dict[str, Wallet]:
    wallets = [scene.world.wallet(index % 4) for index in range(WRITERS)]
    return {f"{wallet.address}_{index:016x}": wallet for index, wallet in enumerate(wallets)}


async def expect_in_time(scene: Scene, code: str) -> dict[str, Wallet]:
    """Check that concurrent writes and a later one are refused in time. Returns their nonces."""
    nonces = nonces_of(scene)
    slowest = []
    while len(slowest) < ATTEMPTS:
        early = asyncio.create_task(write_all(scene, nonces))
        await asyncio.sleep(1)
        late = timed(asyncio.ensure_future(scene.world.send_create(scene.world.wallet(5))))
        responses = [await late, *await early]
        assert {problem(response) for response, _ in responses} == {(503, code)}
        slowest.append(max(seconds for _, seconds in responses))
        if slowest[-1] < PROMISED + MARGIN:
            return nonces
    raise AssertionError(f"The slowest took {slowest} seconds.")


async def expect_all_unused(scene: Scene, nonces: dict[str, Wallet]) -> None:
    """Check that no refused write took effect: each nonce is still accepted once."""
    for nonce, wallet in nonces.items():
        response = await scene.world.send_create(wallet, "Words again.", nonce)
        assert response.status_code == 200, response.text


async def test_writes_end_in_time_while_the_records_are_locked(tmp_path: Path, records: None):
    async with open_scene(tmp_path) as scene:
        await scene.replica().start()
        file = await scene.world.create(scene.world.wallet(0))
        async with locked_records(scene):
            nonces = await expect_in_time(scene, "database_unavailable")
        await scene.replicas[0].wait_for(200)
        await expect_all_unused(scene, nonces)
        assert (await scene.world.metadata(file["cid"]))["cid"] == file["cid"]


async def test_writes_end_in_time_while_the_small_documents_are_locked(tmp_path: Path):
    async with open_scene(tmp_path) as scene:
        await scene.replica().start()
        path = tmp_path / "data" / "content" / "private" / "small.db"
        with locked_file(path):
            nonces = await expect_in_time(scene, "storage_unavailable")
        await scene.replicas[0].wait_for(200)
        with sqlite3.connect(path) as documents:
            (stored,) = documents.execute("SELECT count(*) FROM documents").fetchone()
        assert stored == 0
        await expect_all_unused(scene, nonces)
