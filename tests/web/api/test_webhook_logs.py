"""The outcome of each log in a delivery, and of requests that are not deliveries."""

import gzip
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.world import World, open_world, problem

from imprint.devchain.webhooks import sign_body_b

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOTHING = {"success": True, "applied": 0, "ignored": 0, "duplicate": False, "events": []}


def _statuses(response: httpx2.Response) -> list[str]:
    assert response.status_code == 200
    return [event["status"] for event in response.json()["events"]]


def _logs(world: World, *blocks: Any) -> list[dict[str, Any]]:
    """The logs of these blocks as provider A sends them, as if all were in one block."""
    sent = [json.loads(world.body_a(block))["event"]["data"]["block"]["logs"] for block in blocks]
    return [log | {"index": at} for at, log in enumerate(log for logs in sent for log in logs)]


def _body(world: World, block: Any, logs: list[Any], **event: Any) -> bytes:
    sent = json.loads(world.body_a(block))
    sent["event"] |= event
    sent["event"]["data"]["block"]["logs"] = logs
    return json.dumps(sent).encode()


async def _onchain(world: World, *files: dict[str, Any]) -> list[bool]:
    records = [await world.metadata(file["cid"]) for file in files]
    return [record["keyvalues"]["status"] == "onchain" for record in records]


async def test_events_are_in_the_order_of_the_logs_each_with_its_own_status(
    town: World,
) -> None:
    alice, eve = town.wallet(1), town.wallet(4)
    first, second, known = [await town.create(alice) for _ in range(3)]
    await town.deliver_a(town.create_post(alice, known["cid"]))
    blocks = [
        town.create_post(eve, "no cid"),
        town.create_post(alice, first["cid"]),
        town.create_post(eve, "undecodable"),
        town.create_post(eve, second["cid"]),
        town.create_post(eve, known["cid"] + "x"),
    ]
    logs = _logs(town, *blocks)
    created = [log for log in logs if log["data"] != "0x" and len(log["topics"]) == 3]
    ids = [str(int(log["topics"][1], 16)) for log in created]
    created[2]["data"] = "0x"
    response = await town.send_a(_body(town, blocks[0], [None, *created, created[1], 7]))
    assert response.json()["events"] == [
        {"postId": None, "postCid": None, "status": "dead_letter"},
        {"postId": ids[0], "postCid": "no cid", "status": "unknown_file"},
        {"postId": ids[1], "postCid": first["cid"], "status": "onchain"},
        {"postId": None, "postCid": None, "status": "dead_letter"},
        {"postId": ids[3], "postCid": second["cid"], "status": "author_mismatch"},
        {"postId": ids[4], "postCid": known["cid"] + "x", "status": "unknown_file"},
        {"postId": ids[1], "postCid": first["cid"], "status": "already_onchain"},
        {"postId": None, "postCid": None, "status": "dead_letter"},
    ]
    assert (response.json()["applied"], response.json()["ignored"]) == (1, 0)


async def test_two_events_for_one_file_each_have_their_own_status(town: World) -> None:
    alice = town.wallet(1)
    file = await town.create(alice)
    block = town.create_post(alice, file["cid"])
    (log,) = [each for each in _logs(town, block) if len(each["topics"]) == 3]
    other = log | {"index": 50, "topics": [log["topics"][0], f"0x{10**6:064x}", log["topics"][2]]}
    response = await town.send_a(_body(town, block, [log, other]))
    assert _statuses(response) == ["onchain", "already_onchain"]
    assert response.json()["applied"] == 1
    assert (await town.metadata(file["cid"]))["post_id"] == str(int(log["topics"][1], 16))


NONSENSE = [None, 5, 10**40, "x", {}, {"topics": None}, {"account": {"address": 1}}, float("inf")]


@pytest.mark.parametrize("nonsense", NONSENSE, ids=range(len(NONSENSE)))
@pytest.mark.parametrize("provider", ["a", "b"])
async def test_an_invalid_log_becomes_a_dead_letter_and_the_others_are_applied(
    town: World, provider: str, nonsense: Any
) -> None:
    alice = town.wallet(1)
    file = await town.create(alice)
    block = town.create_post(alice, file["cid"])
    if provider == "a":
        logs = _logs(town, block)
        response = await town.send_a(_body(town, block, [nonsense, *logs]))
    else:
        logs = json.loads(town.body_b(block))["data"][0]
        response = await town.send_b(json.dumps({"data": [[nonsense, *logs]]}).encode())
    assert _statuses(response) == ["dead_letter", "onchain"]
    assert response.json()["ignored"] == len(logs) - 1
    assert await _onchain(town, file) == [True]


async def test_a_truncated_signed_body_becomes_a_dead_letter(town: World) -> None:
    alice = town.wallet(1)
    file = await town.create(alice)
    body = town.body_a(town.create_post(alice, file["cid"]))
    assert _statuses(await town.send_a(body[:-1])) == ["dead_letter"]
    assert _statuses(await town.send_b(body[:-1])) == ["dead_letter"]
    assert await _onchain(town, file) == [False]


@pytest.mark.parametrize(
    ("network", "ours"), [("BASE_MAINNET", False), ("NET_OF_TOMORROW", False), ("My-Net", True)]
)
async def test_a_delivery_is_applied_only_if_the_network_it_names_is_ours(
    tmp_path: Path, network: str, ours: bool
) -> None:
    async with open_world(tmp_path, WEBHOOK_NETWORKS="my_net") as world:
        alice = world.wallet(1)
        file = await world.create(alice)
        block = world.create_post(alice, file["cid"])
        body = _body(world, block, _logs(world, block), network=network)
        assert _statuses(await world.send_a(body)) == (["onchain"] if ours else [])
        batch = json.loads(world.body_b(block))
        batch["metadata"]["network"] = network
        again = await world.send_b(json.dumps(batch).encode())
        assert _statuses(again) == (["already_onchain"] if ours else [])
        assert await _onchain(world, file) == [ours]


@pytest.mark.parametrize("provider", ["a", "b"])
async def test_a_delivered_transfer_revokes_cached_access_immediately(
    town: World, provider: str
) -> None:
    alice, bob, carol = town.wallet(1), town.wallet(2), town.wallet(3)
    post_id, _ = await town.post(alice)
    town.buy(bob, post_id)
    assert (await town.read_post(bob, post_id)).status_code == 200
    block = town.transfer(bob, carol, post_id)
    assert (await town.read_post(bob, post_id)).status_code == 200
    response = await (town.deliver_a if provider == "a" else town.deliver_b)(block)
    assert response.json() == NOTHING | {"ignored": 1}
    assert problem(await town.read_post(bob, post_id)) == (403, "not_entitled")


async def test_a_delivered_price_change_revokes_free_access_immediately(town: World) -> None:
    alice = town.wallet(1)
    post_id, _ = await town.post(alice, price=0)
    stranger = town.stranger()
    assert (await town.read_free(post_id)).status_code == 200
    assert (await town.read_post(stranger, post_id)).status_code == 200
    await town.deliver_a(town.set_price(alice, post_id, 5))
    assert problem(await town.read_free(post_id)) == (403, "not_free")
    assert problem(await town.read_post(stranger, post_id)) == (403, "not_entitled")
    await town.deliver_b(town.set_price(alice, post_id, 0))
    assert (await town.read_free(post_id)).status_code == 200


async def test_a_repeated_delivery_revokes_cached_access_too(town: World) -> None:
    alice, bob, carol = town.wallet(1), town.wallet(2), town.wallet(3)
    post_id, _ = await town.post(alice)
    town.buy(bob, post_id)
    block = town.transfer(bob, carol, post_id)
    await town.deliver_b(block, nonce="1" * 32)
    town.transfer(carol, bob, post_id)
    assert (await town.read_post(bob, post_id)).status_code == 200
    town.transfer(bob, carol, post_id)
    assert (await town.deliver_b(block, nonce="1" * 32)).json()["duplicate"] is True
    assert problem(await town.read_post(bob, post_id)) == (403, "not_entitled")


@pytest.mark.parametrize("change", ["undecodable", "unsigned", "another network"])
async def test_only_signed_logs_from_our_network_revoke_cached_access(
    town: World, change: str
) -> None:
    alice, bob, carol = town.wallet(1), town.wallet(2), town.wallet(3)
    post_id, _ = await town.post(alice)
    town.buy(bob, post_id)
    assert (await town.read_post(bob, post_id)).status_code == 200
    block = town.transfer(bob, carol, post_id)
    if change == "undecodable":
        logs = [log | {"topics": log["topics"][:1]} for log in _logs(town, block)]
        assert _statuses(await town.send_a(_body(town, block, logs))) == ["dead_letter"]
    elif change == "unsigned":
        headers = {"X-Alchemy-Signature": "00" * 32}
        await town.deliver("provider-a", town.body_a(block), headers)
    else:
        await town.send_a(_body(town, block, _logs(town, block), network="BASE_MAINNET"))
    status = (await town.read_post(bob, post_id)).status_code
    assert status == (403 if change == "undecodable" else 200)


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip"])
async def test_a_gzipped_delivery_may_consist_of_several_gzip_members(
    town: World, encoding: str
) -> None:
    alice = town.wallet(1)
    file = await town.create(alice)
    body = town.body_b(town.create_post(alice, file["cid"]))
    secret = town.settings.webhooks.b_secret
    assert secret is not None
    signed = sign_body_b(
        body, secret.reveal(), nonce=f"members-{encoding}", timestamp=town.clock.seconds
    )
    headers = dict(signed.headers) | {"Content-Encoding": encoding}
    members = gzip.compress(body[:99]) + gzip.compress(body[99:])
    assert _statuses(await town.deliver("provider-b", members, headers)) == ["onchain"]


@pytest.mark.parametrize("path", ["provider-b", "quicknode"])
async def test_an_unsigned_connection_test_by_provider_b_gets_200_without_effect(
    town: World, path: str
) -> None:
    alice = town.wallet(1)
    file = await town.create(alice)
    body = town.body_b(town.create_post(alice, file["cid"]))
    response = await town.deliver(path, body, {"Content-Type": "application/json"})
    assert (response.status_code, response.json()) == (200, NOTHING)
    assert await _onchain(town, file) == [False]


async def test_the_body_of_a_connection_test_is_not_read(town: World) -> None:
    async def never() -> AsyncIterator[bytes]:
        raise AssertionError("the body was read")
        yield b""

    response = await town.client.post(
        "/webhook/provider-b/publish", content=never(), headers={"Expect": "100-continue"}
    )
    assert (response.status_code, response.json()) == (200, NOTHING)


async def test_provider_a_has_no_unsigned_connection_test(town: World) -> None:
    response = await town.deliver("provider-a", b"{}", {})
    assert problem(response) == (401, "webhook_signature_invalid")
