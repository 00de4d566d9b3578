"""Writing sessions and logouts while replicas freeze, clocks disagree and databases fail."""

import asyncio
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
from tests.crash.session_authors import SessionAuthor
from tests.faults.scene import LONG, Replica, Scene, open_scene, signing_ahead
from tests.faults.test_clocks import HOUR
from tests.faults.test_index import freeze_without_locks
from tests.faults.test_locks import locked_file
from tests.faults.test_restarts import until
from tests.postgresql import Server
from tests.processes import PLAIN
from tests.world import ORIGIN
from tests.writing_sessions import WritingKey, open_session

DAY = 24 * 3600
AUTHORS = 6
OUTAGES = 10 if LONG else 2


async def send(
    replica: Replica,
    path: str,
    body: object = None,
    method: str = "POST",
    headers: dict[str, str] | None = None,
) -> httpx2.Response:
    async with httpx2.AsyncClient(base_url=replica.url, timeout=20, verify=PLAIN) as client:
        return await client.request(method, path, json=body, headers=headers)


def outcome(response: httpx2.Response) -> tuple[int, str | None]:
    """Return the status, and the error code if the request was refused."""
    code = response.json().get("code") if response.status_code >= 400 else None
    return response.status_code, code


WORKS = (200, None)
INVALID = (401, "writing_session_invalid")
ENDED = (401, "session_ended")


async def create(replica: Replica, key: WritingKey) -> tuple[int, str | None]:
    """Return the outcome of creating a draft with a signature by this key."""
    return outcome(await send(replica, "/create/group", key.create_body()))


async def read(replica: Replica, session: dict[str, str]) -> tuple[int, str | None]:
    """Return the outcome of a request in a reader's session."""
    return outcome(await send(replica, "/writing/sessions", None, "GET", session))


async def log_out(replica: Replica, session: dict[str, str], **body: bool) -> None:
    response = await send(replica, "/auth/logout", body, headers=session)
    assert response.status_code == 204, response.text


async def pair(scene: Scene, **ahead: float) -> tuple[Replica, Replica]:
    """Start two replicas."""
    first, second = scene.replica(), scene.replica(**ahead)
    await asyncio.gather(first.start(), second.start())
    return first, second


async def test_a_frozen_replica_refuses_sessions_that_ended_in_the_meantime(
    tmp_path: Path, records: None
):
    async with open_scene(tmp_path, PUBLIC_URL=ORIGIN) as scene:
        first, second = await pair(scene)
        author = scene.world.wallet(1)
        one, other = [await open_session(scene.world, author) for _ in range(2)]
        session, early, late = [await scene.world.login(author) for _ in range(3)]
        for key in (one, other):
            assert await create(second, key) == WORKS
        for each in (session, early, late):
            assert await read(second, each) == WORKS
        freeze_without_locks(scene, second)
        try:
            # A request that arrives while the replica is frozen.
            waiting = asyncio.create_task(create(second, one))
            await asyncio.sleep(0.1)
            path = f"/writing/sessions/{one.id}"
            assert (await send(first, path, None, "DELETE", session)).status_code == 204
            assert await create(first, one) == INVALID
            await log_out(first, early)
            assert await read(first, early) == ENDED
        finally:
            second.process.thaw()
        assert await waiting == INVALID
        assert await read(second, early) == ENDED
        assert await read(second, late) == WORKS
        assert await create(second, one) == INVALID
        assert await create(second, other) == WORKS
        freeze_without_locks(scene, second)
        try:
            response = await send(first, "/writing/sessions", None, "DELETE", session)
            assert response.status_code == 204
            await log_out(first, session, all=True)
        finally:
            second.process.thaw()
        assert await create(second, other) == INVALID
        assert await read(second, session) == await read(second, late) == ENDED
        assert await read(second, await scene.world.login(author)) == WORKS


# Clocks


async def test_a_fast_clock_ends_sessions_earlier_and_never_later(tmp_path: Path):
    async with open_scene(tmp_path, PUBLIC_URL=ORIGIN, SESSION_SECONDS="1800") as scene:
        right, fast = await pair(scene, ahead=HOUR)
        author, other = scene.world.wallet(1), scene.world.wallet(2)
        now = author.clock.seconds
        session = await scene.world.login(author)
        key = await open_session(scene.world, author, expires=now + 1800)
        assert await read(right, session) == await create(right, key) == WORKS
        # Both sessions have expired by the fast clock, which ends sessions earlier and never later.
        hour_later = replace(key, wallet=signing_ahead(author, HOUR))
        assert await create(fast, hour_later) == (401, "writing_session_expired")
        assert await read(fast, session) == (401, "session_expired")
        ahead = signing_ahead(other, HOUR)
        longest = WritingKey(ahead).opening(expires=now + int(HOUR) + DAY - 60)
        body = ahead.sign_envelope(longest)
        assert outcome(await send(right, "/writing/sessions", body))[0] in (400, 401)
        response = await send(fast, "/writing/sessions", body)
        assert response.status_code == 201, response.text
        # By a correct clock, this session begins in the future.
        early = WritingKey(other, id=response.json()["session"]["id"])
        assert await create(right, early) == INVALID
        assert fast.clock is not None
        fast.clock.set(0.0)
        assert await create(fast, early) == INVALID
        assert await read(fast, session) == await create(fast, key) == WORKS


async def test_ended_sessions_stay_ended_whatever_the_clock_says(tmp_path: Path, records: None):
    async with open_scene(tmp_path, PUBLIC_URL=ORIGIN) as scene:
        right, moved = await pair(scene, ahead=600.0)
        author = scene.world.wallet(1)
        key = await open_session(scene.world, author)
        one, another = [await scene.world.login(author) for _ in range(2)]
        path = f"/writing/sessions/{key.id}"
        assert (await send(right, path, None, "DELETE", one)).status_code == 204
        await log_out(right, one)
        # This logout sets a session generation from the future. Later generations are still higher.
        await log_out(moved, another, all=True)
        third = await scene.world.login(author)
        assert await read(right, third) == await read(moved, third) == WORKS
        await log_out(right, third, all=True)
        fourth = await scene.world.login(author)
        assert moved.clock is not None
        for ahead in (-HOUR, 600.0, 0.0):
            moved.clock.set(ahead)
            at_that_time = replace(key, wallet=signing_ahead(author, ahead))
            assert await create(moved, at_that_time) == INVALID
            for session in (one, another, third):
                assert await read(right, session) == ENDED
                assert (await read(moved, session))[0] == 401
            assert await read(right, fourth) == WORKS


# A database that is away


async def test_acknowledged_session_changes_survive_killing_the_database_server(
    tmp_path: Path, own_server: Server
):
    async with open_scene(tmp_path, PUBLIC_URL=ORIGIN) as scene:
        world, replica = scene.world, scene.replica()
        await replica.start()
        authors = [SessionAuthor(world, world.wallet(n), random.Random(n)) for n in range(AUTHORS)]
        stopping = asyncio.Event()
        acting = [asyncio.create_task(each.act_until(stopping)) for each in authors]
        for _ in range(OUTAGES):
            await asyncio.sleep(0.5)
            await asyncio.to_thread(own_server.kill)
            await replica.wait_for(503)
            await asyncio.to_thread(own_server.start)
            await replica.wait_for(200)
        await until(lambda: all(each.acknowledged for each in authors))
        stopping.set()
        await asyncio.gather(*acting)
        for author in authors:
            assert await author.find_faults(world) == []


async def test_a_request_refused_because_of_a_locked_file_has_no_later_effect(tmp_path: Path):
    # Records in SQLite, whatever the previous test used.
    database = f"sqlite:///{tmp_path / 'records.db'}"
    async with open_scene(tmp_path, PUBLIC_URL=ORIGIN, DATABASE_URL=database) as scene:
        world, replica, author = scene.world, scene.replica(), scene.world.wallet(1)
        await replica.start()
        key = await open_session(world, author)
        session = await world.login(author)
        body = author.sign_envelope(WritingKey(author).opening())
        requests: list[tuple[Any, ...]] = [
            ("/writing/sessions", body),
            (f"/writing/sessions/{key.id}", None, "DELETE", session),
            ("/writing/sessions", None, "DELETE", session),
            ("/auth/logout", {}, "POST", session),
            ("/auth/logout", {"all": True}, "POST", session),
        ]
        with locked_file(tmp_path / "records.db"):
            for response in await asyncio.gather(*(send(replica, *each) for each in requests)):
                assert outcome(response) == (503, "database_unavailable")
        assert await create(replica, key) == WORKS
        listed = await send(replica, "/writing/sessions", None, "GET", session)
        assert [each["id"] for each in listed.json()["sessions"]] == [key.id]
        assert (await send(replica, *requests[0])).status_code == 201
        assert (await send(replica, *requests[1])).status_code == 204
        assert await create(replica, key) == INVALID
        await log_out(replica, session)
        assert await read(replica, session) == ENDED
