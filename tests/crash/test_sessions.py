"""A request that opens or ends a session takes effect completely or not at all in a crash."""

import asyncio
import os
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.crash.fork_server import ForkServer
from tests.crash.session_authors import SessionAuthor
from tests.crash.test_index import database_of
from tests.crash.victim import Scene, open_scene
from tests.world import ORIGIN, MovableClock, World, open_world
from tests.writing_sessions import WritingKey, open_session, send_create

from imprint import failpoints
from imprint.adapters.database.transaction import Transaction
from imprint.services.installation.master_keys import MasterKeys

NONCE = "the-same-nonce-again"
SECRET = "5f0c81be27d4693b1f0c8e9d2a7465fd"
"""A fixed secret, so that sessions outlive the process that issued them."""

KINDS = ("open", "revoke", "revoke_all", "logout", "logout_all")
LOGOUTS = {"logout": {}, "logout_all": {"all": True}}
ENDS = ("during_commit", "after_commit")
"""Failpoints of a request: before and after the only commit, which is its whole effect."""

KILLS = int(os.environ.get("KILLS") or 5)
SEED = int(os.environ.get("SEED") or time.time())
READERS = 6


@dataclass(slots=True)
class Before:
    """The acknowledged state before the interrupted request."""

    key: WritingKey
    session: dict[str, str]
    other: dict[str, str]
    opening: dict[str, Any]


async def prepare(folder: Path) -> Before:
    async with open_again(folder) as world:
        author = world.wallet(0)
        key = await open_session(world, author)
        session, other = [await world.login(author) for _ in range(2)]
        # Make the commits of a first start now, so that the next start commits nothing.
        await MasterKeys(world.adapters.stores.keys, world.adapters.cipher).verify()
        opening = author.sign_envelope(key.opening(nonce=NONCE))
        return Before(key, session, other, opening)


@asynccontextmanager
async def open_again(folder: Path) -> AsyncIterator[World]:
    """Open the service in this process, on the data of the killed one."""
    clock = MovableClock(datetime.now(UTC))
    async with open_world(folder, clock=clock, JWT_SECRET=SECRET) as world:
        yield world


@asynccontextmanager
async def open_victim(
    folder: Path, fork_server: ForkServer, failpoint: str = "", **given: str
) -> AsyncIterator[Scene]:
    given = {"PUBLIC_URL": ORIGIN, "JWT_SECRET": SECRET, **await database_of(folder), **given}
    async with open_scene(folder, fork_server, failpoint, **given) as scene:
        yield scene


async def send(world: World, kind: str, before: Before) -> httpx2.Response:
    client, headers = world.client, before.session
    if kind == "open":
        return await client.post("/writing/sessions", json=before.opening)
    if kind.startswith("logout"):
        return await client.post("/auth/logout", json=LOGOUTS[kind], headers=headers)
    path = "/writing/sessions" if kind == "revoke_all" else f"/writing/sessions/{before.key.id}"
    return await client.delete(path, headers=headers)


async def count(tx: Transaction, text: str, **values: Any) -> int:
    row = await tx.fetchone(text, **values)
    assert row is not None
    return int(row["count"])


async def opened_and_spent(world: World) -> tuple[int, int]:
    """Return how many sessions the wallet has, and how many nonces were spent to open sessions."""
    stores, wallet = world.adapters.stores, world.wallet(0).address

    async def read(tx: Transaction) -> tuple[int, int]:
        sessions = "SELECT count(*) AS count FROM writing_sessions WHERE wallet = :wallet"
        nonces = """SELECT count(*) AS count FROM nonces
            WHERE signer = :wallet AND action = 'writing_session' AND file_id IS NULL"""
        return await count(tx, sessions, wallet=wallet), await count(tx, nonces, wallet=wallet)

    return await stores.database.read(read)


@pytest.mark.rotates
@pytest.mark.parametrize("at", ENDS)
@pytest.mark.parametrize("kind", KINDS)
async def test_a_request_interrupted_by_a_crash_takes_effect_fully_or_not_at_all(
    tmp_path: Path, fork_server: ForkServer, records: None, kind: str, at: str
):
    before = await prepare(tmp_path)
    done = at == "after_commit"
    async with open_victim(tmp_path, fork_server, at) as scene:
        # Wait for /healthz, not for /readyz: the readiness check would commit something.
        await scene.victim.start(scene.world.client, "/healthz")
        with pytest.raises(httpx2.TransportError):
            await send(scene.world, kind, before)
        assert await scene.victim.end() == failpoints.KILLED
    async with open_again(tmp_path) as world:
        sessions, nonces = await opened_and_spent(world)
        assert nonces == 1 + (done and kind == "open")
        assert sessions == nonces - (done and kind.startswith("revoke"))
        await expect_key(world, before.key, works=sessions > 0)
        out = done and kind.startswith("logout")
        await expect_session(world, before.session, ended=out)
        await expect_session(world, before.other, ended=out and kind == "logout_all")
        again = await send(world, kind, before)
        await expect_repeated(world, kind, again, done)


async def expect_key(world: World, key: WritingKey, *, works: bool) -> None:
    """Check that a write with the key takes effect if `works` is set, and is refused otherwise."""
    response = await send_create(world, replace(key, wallet=world.wallet(0)))
    expected = (200, None) if works else (401, "writing_session_invalid")
    assert (response.status_code, response.json().get("code")) == expected, response.text


async def expect_session(world: World, headers: dict[str, str], *, ended: bool) -> None:
    """Check that a request in the session is refused if `ended` is set, and served otherwise."""
    response = await world.client.get("/writing/sessions", headers=headers)
    expected = (401, "session_ended") if ended else (200, None)
    assert (response.status_code, response.json().get("code")) == expected, response.text


async def expect_repeated(world: World, kind: str, again: httpx2.Response, done: bool) -> None:
    """Check that the repeated request takes effect, or reports that it already has."""
    if kind == "open":
        assert again.status_code == (409 if done else 201), again.text
        if done:
            assert again.json()["action"] == "writing_session"
        assert await opened_and_spent(world) == (2, 2)
    elif kind.startswith("logout"):
        assert again.status_code == (401 if done else 204), again.text
    else:
        assert again.status_code == (404 if done and kind == "revoke" else 204), again.text
        assert (await opened_and_spent(world))[0] == 0


# Kills at any moment


async def test_acknowledged_session_changes_survive_any_kill(
    tmp_path: Path,
    fork_server: ForkServer,
    records: None,
    capsys: pytest.CaptureFixture[str],
):
    chance = random.Random(SEED)
    async with open_victim(tmp_path, fork_server, LOG_LEVEL="warning") as scene:
        world = scene.world
        authors = [
            SessionAuthor(world, world.stranger(), random.Random(chance.random()))
            for _ in range(READERS)
        ]
        await scene.victim.start(world.client)
        stopping = asyncio.Event()
        acting = [asyncio.create_task(each.act_until(stopping)) for each in authors]
        for _ in range(KILLS):
            await asyncio.sleep(chance.uniform(0.05, 0.3))
            scene.victim.process.kill()
            await scene.victim.start(world.client)
        stopping.set()
        await asyncio.gather(*acting)
        scene.victim.process.kill()
    async with open_again(tmp_path) as world:
        faults = [fault for each in authors for fault in await each.find_faults(world)]
        stores = world.adapters.stores
        unspent = """SELECT count(*) AS count FROM writing_sessions s WHERE
            (SELECT count(*) FROM writing_sessions o WHERE o.wallet = s.wallet) >
            (SELECT count(*) FROM nonces n WHERE n.signer = s.wallet
             AND n.action = 'writing_session')"""
        assert await stores.database.read(count, unspent) == 0
    acknowledged = sum(each.acknowledged for each in authors)
    with capsys.disabled():
        print(f"\n{KILLS} kills, seed {SEED}: {acknowledged} acknowledged, {len(faults)} faults")
    assert faults == []
    assert acknowledged > 0
