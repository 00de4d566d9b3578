"""The whole service with its documents on a real node that has a peer."""

from pathlib import Path

from tests.kubo.node import KuboNode
from tests.world import open_world

KEY = "5c7d1f0e93ab48260d51be7fa94c836217e0db3f68a5924cc1f7053eb8d26a94"


async def test_a_peer_of_the_node_can_fetch_thumbnails_but_not_content(
    tmp_path: Path, neighbours: tuple[KuboNode, KuboNode]
) -> None:
    first, second = neighbours
    given = {"CONTENT_STORE": f"kubo:{first.api}", "ENCRYPTION_KEY": KEY}
    async with open_world(tmp_path / "data", **given) as world:
        author = world.wallet(0)
        file = await world.create(author, "Words for sale. " * 20_000)
        thumbnail = await world.publish(author, file["cid"])
        response = await world.read_draft(author, file["cid"])
        assert response.json()["content"] == "Words for sale. " * 20_000
        picture = (await world.client.get(f"/ipfs/{thumbnail}")).content
    assert await second.fetch(thumbnail) == picture
    stolen = await second.fetch(file["cid"])
    assert len(stolen) == file["size"]
    assert b"Words" not in stolen
    assert file["name"].encode() not in stolen
