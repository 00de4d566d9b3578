"""How many round trips to PostgreSQL a request takes, counted on the wire."""

from collections.abc import AsyncIterator, Awaitable, Callable

import httpx2
import pytest
from tests.postgresql import Server
from tests.postgresql_wire import Wire, counted
from tests.world import Wallet, World, open_world, picture
from tests.writing_sessions import open_session, send_create, send_update

MOST_OF_A_WRITE = 5
"""Maximum number of round trips for a signed write."""


@pytest.fixture
async def wire(postgresql: Server) -> AsyncIterator[Wire]:
    await postgresql.execute("DROP DATABASE IF EXISTS counted WITH (FORCE)")
    await postgresql.create_database("counted")
    with counted(postgresql, "counted") as opened:
        yield opened


@pytest.fixture
async def world(wire: Wire, tmp_path) -> AsyncIterator[World]:
    async with open_world(tmp_path, DATABASE_URL=wire.url) as opened:
        yield opened


@pytest.fixture
def alice(world: World) -> Wallet:
    return world.wallet(1)


Send = Callable[[], Awaitable[httpx2.Response]]


async def count(world: World, wire: Wire, send: Send) -> list[str]:
    """Round trips of a request that was sent before, so that its statements are prepared."""
    # Only the wall clock is set ahead: if time elapsed, the request might also look for new
    # measures, which happens at most twice a second.
    world.clock.set_ahead(1)
    with wire.counting() as trips:
        response = await send()
    assert response.status_code in (200, 201), response.text
    return trips


async def test_a_create_takes_two_round_trips(world, wire, alice):
    await world.create(alice)
    assert len(await count(world, wire, lambda: world.send_create(alice))) == 2


async def test_an_update_takes_three_round_trips(world, wire, alice):
    first = await world.update(alice, (await world.create(alice))["cid"], "Words.")
    trips = await count(world, wire, lambda: world.send_update(alice, first["cid"]))
    assert len(trips) == 3


async def test_an_update_of_a_draft_with_hashtags_takes_three_round_trips(world, wire, alice):
    first = await world.update(alice, (await world.create(alice))["cid"], "Words.")
    await world.publish(alice, first["cid"], "one,two")
    assert len(await count(world, wire, lambda: world.send_update(alice, first["cid"]))) == 3


async def test_a_large_update_stays_within_the_limit_for_a_write(world, wire, alice):
    first = await world.update(alice, (await world.create(alice))["cid"], "Words." * 100_000)
    trips = await count(
        world, wire, lambda: world.send_update(alice, first["cid"], "Word." * 100_000)
    )
    assert len(trips) <= MOST_OF_A_WRITE


@pytest.mark.parametrize("limits", ["off", "on"])
async def test_session_writes_take_no_more_round_trips_than_wallet_writes(wire, tmp_path, limits):
    async with open_world(tmp_path, DATABASE_URL=wire.url, RATE_LIMITS=limits) as world:
        key = await open_session(world, world.wallet(1))
        created = await send_create(world, key)
        first = await send_update(world, key, created.json()["updatedUpload"]["cid"])
        creates = await count(world, wire, lambda: send_create(world, key))
        cid = first.json()["upload"]["cid"]
        updates = await count(world, wire, lambda: send_update(world, key, cid))
        assert (len(creates), len(updates)) == (2, 3)


async def test_a_publish_takes_six_round_trips(world, wire, alice):
    await world.publish(alice, (await world.create(alice))["cid"], "one")
    draft = await world.create(alice)
    trips = await count(world, wire, lambda: world.send_publish(alice, draft["cid"], "two"))
    assert len(trips) == 6


@pytest.mark.parametrize("same", [True, False])
async def test_a_publish_that_replaces_a_thumbnail_takes_six_round_trips(world, wire, alice, same):
    draft = await world.create(alice)
    images = [picture(size=(50 if same else 50 + number, 20)) for number in range(3)]
    for image in images[:-1]:
        await world.send_publish(alice, draft["cid"], "one", image)
    trips = await count(
        world, wire, lambda: world.send_publish(alice, draft["cid"], "two", images[-1])
    )
    assert len(trips) == 6


@pytest.mark.parametrize("published", [False, True])
async def test_a_delete_takes_two_round_trips(world, wire, alice, published):
    drafts = [await world.create(alice) for _ in range(2)]
    for number, draft in enumerate(drafts):
        if published:
            await world.send_publish(alice, draft["cid"], "a", picture(size=(50 + number, 20)))
    await world.send_delete(alice, drafts[0]["cid"])
    assert len(await count(world, wire, lambda: world.send_delete(alice, drafts[1]["cid"]))) == 2


@pytest.mark.parametrize("hashtags", [None, "one,two"])
@pytest.mark.parametrize("provider", ["a", "b"])
async def test_a_delivery_takes_four_round_trips(world, wire, alice, provider, hashtags):
    drafts = [await world.create(alice) for _ in range(2)]
    deliver = {"a": world.deliver_a, "b": world.deliver_b}[provider]
    for draft in drafts if hashtags else ():
        await world.publish(alice, draft["cid"], hashtags)
    await deliver(world.create_post(alice, drafts[0]["cid"]))
    block = world.create_post(alice, drafts[1]["cid"])
    assert len(await count(world, wire, lambda: deliver(block))) == 4


async def test_a_read_takes_one_round_trip(world, wire, alice):
    post_id, _ = await world.post(alice, price=0)
    draft, session = await world.create(alice), await world.login(alice)
    thumbnail = await world.publish(alice, draft["cid"])
    reads = {
        "gated": lambda: world.read_post(alice, post_id, session),
        "free": lambda: world.read_free(post_id),
        "draft": lambda: world.client.get(
            "/fileByCid", params={"cid": draft["cid"]}, headers=session
        ),
        "metadata": lambda: world.client.get("/filesMetaData", params={"cid": draft["cid"]}),
        "gateway": lambda: world.client.get(f"/ipfs/{thumbnail}"),
    }
    # Each read is sent twice, because the second read in a session uses another statement, which
    # must be prepared too.
    for send in (*reads.values(), *reads.values()):
        await send()
    trips = {name: len(await count(world, wire, send)) for name, send in reads.items()}
    assert trips == dict.fromkeys(reads, 1)


async def test_a_list_takes_one_round_trip(world, wire, alice):
    for number in range(12):
        draft = await world.create(alice)
        await world.publish(alice, draft["cid"], "one,two")
        if number < 11:
            await world.deliver_a(world.create_post(alice, draft["cid"]))
    for _ in range(11):
        await world.create(alice)
    session = await world.login(alice)
    get = world.client.get
    page = (await get("/filesMetaData")).json()
    lists: dict[str, Send] = {
        "newest": lambda: get("/filesMetaData"),
        "tagged": lambda: get("/filesByTags", params={"tags": "one"}),
        "by two tags": lambda: get("/filesByTags", params={"tags": "one,two"}),
        "by an unknown tag": lambda: get("/filesByTags", params={"tags": "none"}),
        "drafts": lambda: get(
            "/pendingFilesByOwner", params={"owner": alice.address}, headers=session
        ),
        "following": lambda: get(
            "/filesByNextPageToken", params={"next_page_token": page["next_page_token"]}
        ),
    }
    for _ in range(3):
        for send in lists.values():
            await send()
    trips = {name: len(await count(world, wire, send)) for name, send in lists.items()}
    assert trips == dict.fromkeys(lists, 1)
    for name, send in lists.items():
        await world.create(alice)
        assert len(await count(world, wire, send)) == 1, f"{name}, after a write"


async def test_a_create_whose_file_number_is_taken_takes_three_round_trips(world, wire, alice):
    for _ in range(3):
        await world.create(alice)
    with wire.counting() as trips:
        await world.create(alice)
    assert len(trips) == 3


async def test_preparing_statements_counts_as_round_trips(world, wire, alice):
    trips = await count(world, wire, lambda: world.send_create(alice))
    assert len(trips) > 3
