"""The walk of a post through the service, from a draft to a reader who bought it."""

from tests.web.conftest import EVERY_DATABASE
from tests.world import World

pytestmark = EVERY_DATABASE


async def test_a_draft_becomes_a_post_that_its_buyer_reads(world: World) -> None:
    alice, bob = world.wallet(1), world.wallet(2)
    post_id, file = await world.post(alice, "Words for sale.")
    session = await world.login(bob)
    wanted = {"user": bob.address, "postId": str(post_id)}
    refused = await world.client.get("/fileByPostId", params=wanted, headers=session)
    assert refused.json()["code"] == "not_entitled"
    world.buy(bob, post_id)
    read = await world.client.get("/fileByPostId", params=wanted, headers=session)
    assert read.status_code == 200
    assert read.json()["content"] == "Words for sale."
    assert read.json()["file"]["cid"] == file["cid"]
