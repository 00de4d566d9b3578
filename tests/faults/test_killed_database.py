"""A service process that uses PostgreSQL, while the database server stops and restarts."""

import asyncio
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.canaries import CANARIES
from tests.postgresql import Server, keeping_records_on
from tests.processes import Service
from tests.world import World, open_world

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Load:
    """Authors who keep writing despite failures and record which writes were confirmed."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.going = True
        self.statuses: Counter[int] = Counter()
        self.confirmed: list[str] = []

    async def run(self) -> None:
        wallet = self.world.stranger()
        while self.going:
            response = await self.world.send_create(wallet)
            self.statuses[response.status_code] += 1
            if response.status_code == 200:
                self.confirmed.append(response.json()["updatedUpload"]["cid"])
            else:
                await asyncio.sleep(0.01)

    async def see(self, status: int, times: int) -> None:
        before = self.statuses[status]
        while self.statuses[status] < before + times:  # noqa: ASYNC110 - there is no event
            await asyncio.sleep(0.01)


async def test_a_killed_server_causes_only_503s_and_loses_no_acknowledged_write(
    tmp_path: Path,
) -> None:
    server = Server()
    try:
        await asyncio.to_thread(server.make)
        await asyncio.to_thread(server.start)
        with keeping_records_on(server):
            async with open_world(tmp_path) as world:
                await kill_and_restart(server, world)
    finally:
        await asyncio.to_thread(server.stop)


async def kill_and_restart(server: Server, world: World) -> None:
    load = Load(world)
    authors = [asyncio.ensure_future(load.run()) for _ in range(4)]
    await load.see(200, 20)
    await asyncio.to_thread(server.kill)
    await load.see(503, 20)
    assert (await world.client.get("/readyz")).status_code == 503
    await asyncio.to_thread(server.start)
    await load.see(200, 20)
    world.clock.advance(1)
    assert (await world.client.get("/readyz")).status_code == 200
    load.going = False
    await asyncio.gather(*authors)
    assert load.statuses.keys() == {200, 503}
    for cid in load.confirmed:
        assert (await world.metadata(cid))["cid"] == cid


def make_service(town: World, folder: Path, address: str) -> Service:
    given = {
        "CHAIN_RPC_URL": town.node.url,
        "CHAIN_ID": "31337",
        "MARKETPLACE_ADDRESS": town.marketplace,
        "JWT_SECRET": CANARIES["JWT_SECRET"],
        "DATABASE_URL": address,
    }
    return Service(folder, given)


async def refuse(service: Service) -> str:
    service.process.spawn()
    try:
        assert await asyncio.to_thread(service.process.wait) == 2, service.tail()
    finally:
        service.kill()
    return service.tail()


async def test_a_service_does_not_start_with_a_nonexistent_database(
    town: World, tmp_path: Path, postgresql: Server
) -> None:
    said = await refuse(make_service(town, tmp_path, postgresql.url("nowhere")))
    reason = "the server has no database of this name"
    assert f"The database on PostgreSQL cannot be opened: {reason}" in said
    assert "Create it, or correct its name in IMPRINT_DATABASE_URL." in said


async def test_a_command_does_not_wait_for_an_unreachable_server(
    town: World, tmp_path: Path
) -> None:
    nowhere = "postgresql://someone:a-long-password@127.0.0.1:1/nowhere"
    service = make_service(town, tmp_path, nowhere)
    service.process.command = [sys.executable, "-m", "imprint", "events"]
    said = await refuse(service)
    assert "The database on PostgreSQL cannot be opened: " in said
    assert "a-long-password" not in said
