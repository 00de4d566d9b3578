"""Exports and gateway responses imported by a real IPFS node."""

import json
from pathlib import Path

import httpx2
from tests.kubo.node import KuboNode
from tests.services.installation.test_exports import fill
from tests.services.installations import opened_car, verify, write_export
from tests.world import World


async def import_car(node: KuboNode, car: bytes) -> list[str]:
    """Import a CAR into the node, and return the roots that it pinned recursively."""
    async with httpx2.AsyncClient(timeout=30) as client:
        response = await client.post(
            f"{node.api}/api/v0/dag/import",
            params={"pin-roots": "true"},
            files={"file": ("all.car", car)},
        )
    assert response.status_code == 200, response.text
    lines = [json.loads(line) for line in response.text.splitlines()]
    roots = [each["Root"] for each in lines if each.get("Root")]
    assert not [root for root in roots if root.get("PinErrorMsg")], response.text
    return [root["Cid"]["/"] for root in roots]


async def export_car_from(node: KuboNode, root: str) -> bytes:
    async with httpx2.AsyncClient(timeout=30) as client:
        response = await client.post(f"{node.api}/api/v0/dag/export", params={"arg": root})
    assert response.status_code == 200, response.text
    return response.content


async def test_a_node_can_import_an_export_and_export_it_again(
    node: KuboNode, world: World, tmp_path: Path
) -> None:
    await fill(world)
    car, manifest = await write_export(world, page_size=2, width=2)
    with opened_car(tmp_path, car) as archive:
        root = archive.roots[0]
    assert await import_car(node, car) == [root]
    assert verify(tmp_path, await export_car_from(node, root)) == manifest


async def test_a_node_imports_a_car_from_the_gateway(node: KuboNode, world: World) -> None:
    alice = world.wallet(1)
    cid = await world.publish(alice, (await world.create(alice))["cid"])
    response = await world.client.get(f"/ipfs/{cid}", params={"format": "car"})
    assert await import_car(node, response.content) == [cid]
    theirs = await export_car_from(node, cid)
    assert theirs == response.content
