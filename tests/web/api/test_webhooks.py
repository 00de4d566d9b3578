"""Webhook deliveries over HTTP are verified first, and each of their events is applied once."""

import asyncio
import gzip
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.world import World, open_world, problem

pytestmark = pytest.mark.asyncio(loop_scope="module")

POST_CREATED = "0xf753f630973e9c5274697eb346810b78c35457ef0df3e0c5c7ade5841d55ca77"


def _sign(secret: str, *parts: bytes) -> str:
    return hmac.new(secret.encode(), b"".join(parts), hashlib.sha256).hexdigest()


def _secret(world: World, provider: str) -> str:
    hooks = world.settings.webhooks
    secret = hooks.a_secret if provider == "provider-a" else hooks.b_secret
    assert secret is not None
    return secret.reveal()


async def _status(world: World, cid: str) -> str:
    return str((await world.metadata(cid))["keyvalues"]["status"])


def _logs(body: bytes) -> list[dict[str, Any]]:
    """The logs in a request body of provider A."""
    return list(json.loads(body)["event"]["data"]["block"]["logs"])


def _with_logs(body: bytes, logs: list[Any], **block: Any) -> bytes:
    sent = json.loads(body)
    sent["event"]["data"]["block"] |= {"logs": logs, **block}
    return json.dumps(sent).encode()


@pytest.mark.parametrize("provider", ["a", "b"])
async def test_a_delivery_turns_a_draft_into_a_post(town: World, provider: str) -> None:
    alice = town.wallet(1)
    file = await town.create(alice)
    block = town.create_post(alice, file["cid"])
    deliver = town.deliver_a if provider == "a" else town.deliver_b
    response = await deliver(block)
    assert response.status_code == 200
    (event,) = response.json()["events"]
    assert event == {"postId": event["postId"], "postCid": file["cid"], "status": "onchain"}
    assert response.json() == {
        "success": True,
        "applied": 1,
        "ignored": 0,
        "duplicate": False,
        "events": [event],
    }
    assert (await town.metadata(file["cid"]))["post_id"] == event["postId"]
    assert await _status(town, file["cid"]) == "onchain"


@pytest.mark.parametrize(
    ("alias", "provider"),
    [("alchemy", "a"), ("quicknode", "b")],
)
async def test_the_path_aliases_lead_to_the_same_endpoints(
    town: World, alias: str, provider: str
) -> None:
    alice = town.wallet(1)
    file = await town.create(alice)
    block = town.create_post(alice, file["cid"])
    name = f"provider-{provider}"
    body = town.body_a(block) if provider == "a" else town.body_b(block)
    now, nonce = str(town.clock.seconds), "0123456789abcdef" + alias
    headers = (
        {"X-Alchemy-Signature": _sign(_secret(town, name), body)}
        if provider == "a"
        else {
            "X-QN-Nonce": nonce,
            "X-QN-Timestamp": now,
            "X-QN-Signature": _sign(_secret(town, name), nonce.encode(), now.encode(), body),
        }
    )
    response = await town.deliver(alias, body, headers)
    assert response.json()["applied"] == 1


WRONG_HEADERS: dict[str, Any] = {
    "none": lambda good: {},
    "empty": lambda good: {"X-Alchemy-Signature": ""},
    "of another body": lambda good: {"X-Alchemy-Signature": "00" * 32},
    "not hex": lambda good: {"X-Alchemy-Signature": "z" * 64},
    "not ASCII": lambda good: {"X-Alchemy-Signature": "é" * 64},
    "cut off": lambda good: {"X-Alchemy-Signature": good[:-2]},
    "with more": lambda good: {"X-Alchemy-Signature": good + "00"},
    "under another name": lambda good: {"X-Signature": good},
}


@pytest.mark.parametrize("headers", WRONG_HEADERS.values(), ids=WRONG_HEADERS.keys())
async def test_a_delivery_by_provider_a_without_a_valid_signature_is_refused(
    town: World, headers: Any
) -> None:
    alice = town.wallet(1)
    file = await town.create(alice)
    body = town.body_a(town.create_post(alice, file["cid"]))
    good = _sign(_secret(town, "provider-a"), body)
    sent = {name: value.encode("latin-1") for name, value in headers(good).items()}
    response = await town.client.post("/webhook/provider-a/publish", content=body, headers=sent)
    assert problem(response) == (401, "webhook_signature_invalid")
    assert "www-authenticate" not in response.headers
    assert await _status(town, file["cid"]) == "pending"


async def test_a_modified_body_is_refused(town: World) -> None:
    alice = town.wallet(1)
    body = town.body_a(town.create_post(alice, (await town.create(alice))["cid"]))
    headers = {"X-Alchemy-Signature": _sign(_secret(town, "provider-a"), body)}
    response = await town.deliver("provider-a", body + b" ", headers)
    assert problem(response) == (401, "webhook_signature_invalid")


async def test_an_unsigned_body_is_not_parsed(town: World) -> None:
    unsigned = {
        "X-QN-Nonce": "n" * 32,
        "X-QN-Timestamp": str(town.clock.seconds),
        "X-QN-Signature": "00" * 32,
    }
    for provider, headers in (("provider-a", {}), ("provider-b", unsigned)):
        response = await town.deliver(provider, b"[" * 100_000, headers)
        assert problem(response) == (401, "webhook_signature_invalid")


async def test_the_secret_of_one_provider_is_not_accepted_for_the_other(town: World) -> None:
    body = b"{}"
    now = str(town.clock.seconds)
    at_a = {"X-Alchemy-Signature": _sign(_secret(town, "provider-b"), body)}
    at_b = {
        "X-QN-Nonce": "n" * 32,
        "X-QN-Timestamp": now,
        "X-QN-Signature": _sign(_secret(town, "provider-a"), b"n" * 32, now.encode(), body),
    }
    for provider, headers in (("provider-a", at_a), ("provider-b", at_b)):
        response = await town.deliver(provider, body, headers)
        assert problem(response) == (401, "webhook_signature_invalid")


@pytest.mark.parametrize(
    ("age", "accepted"), [(-301, False), (-299, True), (299, True), (301, False)]
)
async def test_the_timestamp_of_provider_b_must_be_within_five_minutes(
    town: World, age: int, accepted: bool
) -> None:
    response = await town.send_b(b"[]", timestamp=town.clock.seconds - age)
    if accepted:
        assert response.status_code == 200
    else:
        assert problem(response) == (401, "webhook_signature_invalid")


@pytest.mark.parametrize("missing", ["X-QN-Nonce", "X-QN-Timestamp", "X-QN-Signature"])
async def test_provider_b_needs_all_three_headers(town: World, missing: str) -> None:
    now = str(town.clock.seconds)
    headers = {
        "X-QN-Nonce": "n" * 32,
        "X-QN-Timestamp": now,
        "X-QN-Signature": _sign(_secret(town, "provider-b"), b"n" * 32, now.encode(), b"[]"),
    }
    del headers[missing]
    response = await town.deliver("provider-b", b"[]", headers)
    assert problem(response) == (401, "webhook_signature_invalid")


async def test_a_repeated_delivery_by_provider_b_has_no_effect(town: World) -> None:
    alice = town.wallet(1)
    file = await town.create(alice)
    block = town.create_post(alice, file["cid"])
    body = town.body_b(block)
    first = await town.send_b(body, nonce="f" * 32)
    assert (first.json()["duplicate"], first.json()["applied"]) == (False, 1)
    again = await town.send_b(body, nonce="f" * 32)
    assert again.status_code == 200
    assert again.json() == {
        "success": True,
        "applied": 0,
        "ignored": 0,
        "duplicate": True,
        "events": [],
    }


async def test_a_repeated_provider_b_nonce_is_a_duplicate_whatever_the_body(town: World) -> None:
    alice = town.wallet(1)
    file = await town.create(alice)
    assert (await town.send_b(b"[]", nonce="e" * 32)).json()["duplicate"] is False
    response = await town.deliver_b(town.create_post(alice, file["cid"]), nonce="e" * 32)
    assert response.json()["duplicate"] is True
    assert await _status(town, file["cid"]) == "pending"


async def test_a_digit_moved_between_nonce_and_timestamp_is_refused(town: World) -> None:
    nonce, now = "0123456789abcdef1", str(town.clock.seconds)
    signature = _sign(_secret(town, "provider-b"), nonce.encode(), now.encode(), b"[]")

    def headers(nonce: str, timestamp: str) -> dict[str, str]:
        return {
            "X-QN-Nonce": nonce,
            "X-QN-Timestamp": timestamp,
            "X-QN-Signature": signature,
        }

    assert (await town.deliver("provider-b", b"[]", headers(nonce, now))).status_code == 200
    moved = await town.deliver("provider-b", b"[]", headers(nonce + now[0], now[1:]))
    assert problem(moved) == (401, "webhook_signature_invalid")


async def test_a_repeated_event_from_provider_a_is_reported_as_already_applied(town: World) -> None:
    alice = town.wallet(1)
    file = await town.create(alice)
    block = town.create_post(alice, file["cid"])
    await town.deliver_a(block)
    before = await town.metadata(file["cid"])
    town.clock.advance(5)
    again = await town.deliver_a(block)
    assert [event["status"] for event in again.json()["events"]] == ["already_onchain"]
    assert again.json()["applied"] == 0
    assert await town.metadata(file["cid"]) == before


async def test_the_same_event_from_both_providers_is_applied_once(town: World) -> None:
    alice = town.wallet(1)
    file = await town.create(alice)
    block = town.create_post(alice, file["cid"])
    responses = await asyncio.gather(
        *(deliver(block) for deliver in [town.deliver_a, town.deliver_b] * 5)
    )
    assert [response.status_code for response in responses] == [200] * 10
    assert sum(response.json()["applied"] for response in responses) == 1


async def test_all_logs_of_a_delivery_are_processed(town: World) -> None:
    alice = town.wallet(1)
    files = [await town.create(alice) for _ in range(3)]
    blocks = [town.create_post(alice, file["cid"]) for file in files]
    logs = [log for block in blocks for log in _logs(town.body_a(block))]
    for index, log in enumerate(logs):
        log["index"] = index
    response = await town.send_a(_with_logs(town.body_a(blocks[0]), logs))
    assert response.json()["applied"] == 3
    assert [await _status(town, file["cid"]) for file in files] == ["onchain"] * 3


NESTINGS: dict[str, Any] = {
    "receipts": lambda logs: {"matchingReceipts": [{"logs": logs, "status": "0x1"}]},
    "batches": lambda logs: {"data": [[logs]]},
    "a bare array": lambda logs: logs,
    "arrays in arrays": lambda logs: [[[logs]]],
    "one log": lambda logs: logs[0],
    "blocks": lambda logs: {"block": {"number": "0x1"}, "receipts": [{"logs": logs}]},
}


@pytest.mark.parametrize("nest", NESTINGS.values(), ids=NESTINGS.keys())
async def test_provider_b_logs_are_found_at_any_nesting_level(town: World, nest: Any) -> None:
    alice = town.wallet(1)
    file = await town.create(alice)
    sent = json.loads(town.body_b(town.create_post(alice, file["cid"])))
    response = await town.send_b(json.dumps(nest(sent["data"][0])).encode())
    assert response.json()["applied"] == 1


async def test_the_signature_of_a_compressed_delivery_covers_the_uncompressed_body(
    town: World,
) -> None:
    alice = town.wallet(1)
    file = await town.create(alice)
    body = town.body_b(town.create_post(alice, file["cid"]))
    assert (await town.send_b(body, compress=True)).json()["applied"] == 1


FOREIGN: dict[str, Any] = {
    "of another contract": lambda log: log["account"].update(address="0x" + "11" * 20),
    "of another topic": lambda log: log["topics"].__setitem__(0, "0x" + "22" * 32),
    "without topics": lambda log: log.update(topics=[]),
    "of a failed transaction": lambda log: log["transaction"].update(status=0),
    "removed": lambda log: log.update(removed=True),
}


@pytest.mark.parametrize("change", FOREIGN.values(), ids=FOREIGN.keys())
async def test_an_unrelated_log_is_ignored(town: World, change: Any) -> None:
    alice = town.wallet(1)
    file = await town.create(alice)
    body = town.body_a(town.create_post(alice, file["cid"]))
    logs = _logs(body)
    change(logs[0])
    response = await town.send_a(_with_logs(body, logs))
    assert response.status_code == 200
    assert (response.json()["applied"], response.json()["ignored"]) == (0, 1)
    assert await _status(town, file["cid"]) == "pending"


async def test_a_log_from_another_chain_is_ignored(town: World) -> None:
    alice = town.wallet(1)
    file = await town.create(alice)
    body = town.body_a(town.create_post(alice, file["cid"]))
    response = await town.send_a(_with_logs(body, _logs(body), chainId=1))
    assert response.json()["ignored"] == 1
    assert await _status(town, file["cid"]) == "pending"


HEARTBEATS = [
    b"",
    b"null",
    b"{}",
    b"[]",
    b"7",
    b"no json",
    b"\xff\xfe",
    b'{"event":{"data":{"block":{"logs":[]}}}}',
    b'{"event":{"data":{"block":null}}}',
    b'{"event":{"data":{"block":{"logs":[null,7,"x",[]]}}}}',
    b'{"error":{"code":-32000,"message":"upstream"}}',
    b'{"status":"PING"}',
    b"[" * 100_000,
]


@pytest.mark.parametrize("body", HEARTBEATS, ids=range(len(HEARTBEATS)))
async def test_every_signed_delivery_gets_status_200(town: World, body: bytes) -> None:
    for send in (town.send_a, town.send_b):
        response = await send(body)
        assert response.status_code == 200
        assert response.json()["applied"] == 0
        assert response.json()["success"] is True


POISON: dict[str, Any] = {
    "no data": lambda log: log.update(data="0x"),
    "odd data": lambda log: log.update(data="0x123"),
    "no text": lambda log: log.update(data=None),
    "an offset out of the world": lambda log: log.update(data="0x" + "ff" * 128),
    "one topic": lambda log: log.update(topics=[POST_CREATED]),
    "five topics": lambda log: log.update(topics=log["topics"] + ["0x" + "00" * 32] * 2),
}


@pytest.mark.parametrize("change", POISON.values(), ids=POISON.keys())
async def test_a_malformed_log_becomes_a_dead_letter_and_the_others_are_applied(
    town: World, change: Any
) -> None:
    alice = town.wallet(1)
    file = await town.create(alice)
    body = town.body_a(town.create_post(alice, file["cid"]))
    poisoned = _logs(body)[0] | {"index": 99}
    change(poisoned)
    response = await town.send_a(_with_logs(body, [poisoned, *_logs(body)]))
    assert response.status_code == 200
    statuses = [event["status"] for event in response.json()["events"]]
    assert sorted(statuses) == ["dead_letter", "onchain"]
    assert await _status(town, file["cid"]) == "onchain"


CIDS = ["no cid", "../../x", "a" * 500, "漢字", "' OR 1=1 --", "http://127.0.0.1:1/"]


@pytest.mark.parametrize("cid", CIDS, ids=range(len(CIDS)))
async def test_a_post_with_an_unknown_cid_is_reported_as_an_unknown_file(
    town: World, cid: str
) -> None:
    (event,) = (await town.deliver_a(town.create_post(town.wallet(5), cid))).json()["events"]
    assert (event["status"], event["postCid"]) == ("unknown_file", cid)


async def test_an_event_by_another_author_changes_nothing(town: World) -> None:
    alice, eve = town.wallet(1), town.wallet(4)
    file = await town.create(alice)
    before = await town.metadata(file["cid"])
    response = await town.deliver_a(town.create_post(eve, file["cid"]))
    assert [event["status"] for event in response.json()["events"]] == ["author_mismatch"]
    assert response.json()["applied"] == 0
    assert await town.metadata(file["cid"]) == before


async def test_an_author_can_publish_an_update_after_being_front_run(town: World) -> None:
    alice, eve = town.wallet(1), town.wallet(4)
    file = await town.create(alice)
    await town.deliver_a(town.create_post(eve, file["cid"], 0))
    newer = await town.update(alice, file["cid"], "Again.")
    (event,) = (await town.deliver_a(town.create_post(alice, newer["cid"], 0))).json()["events"]
    assert event["status"] == "onchain"
    assert (await town.read_free(event["postId"])).json()["content"] == "Again."


@pytest.mark.parametrize("change", ["update", "delete"])
async def test_the_event_of_a_deleted_or_replaced_version_restores_it(
    town: World, change: str
) -> None:
    alice = town.wallet(1)
    file = await town.create(alice, "The published words.")
    if change == "update":
        newer = await town.update(alice, file["cid"], "Later words.")
    else:
        await town.send_delete(alice, file["cid"])
    (event,) = (await town.deliver_a(town.create_post(alice, file["cid"], 0))).json()["events"]
    assert event["status"] == "onchain"
    assert (await town.read_free(event["postId"])).json()["content"] == "The published words."
    if change == "update":
        kept = await town.metadata(newer["cid"])
        assert kept["keyvalues"]["status"] == "pending"
        assert kept["group_id"] != (await town.metadata(file["cid"]))["group_id"]
        assert (await town.read_draft(alice, newer["cid"])).json()["content"] == "Later words."


@pytest.mark.parametrize("provider", ["A", "B"])
async def test_the_webhook_of_a_provider_without_a_secret_gets_404(
    tmp_path: Path, provider: str
) -> None:
    async with open_world(tmp_path, **{f"WEBHOOK_{provider}_SECRET": ""}) as world:
        name = f"provider-{provider.lower()}"
        alias = {"A": "alchemy", "B": "quicknode"}[provider]
        assert problem(await world.deliver(name, b"{}", {})) == (404, "not_found")
        assert problem(await world.deliver(alias, b"{}", {})) == (404, "not_found")
        assert problem(await world.client.get(f"/webhook/{name}/publish")) == (404, "not_found")


@pytest.mark.parametrize("secret", ["new", "old", "older"])
async def test_a_providers_secret_can_be_rotated(tmp_path: Path, secret: str) -> None:
    known = {
        "new": "whsec_0a1b2c3d4e5f60718293a4b5",
        "old": "whsec_b5a49382716f5e4d3c2b1a00",
        "older": "whsec_112233445566778899aabbcc",
    }
    given = {"WEBHOOK_A_SECRET": known["new"], "WEBHOOK_A_SECRET_PREVIOUS": known["old"]}
    async with open_world(tmp_path, **given) as world:
        headers = {"X-Alchemy-Signature": _sign(known[secret], b"{}")}
        response = await world.deliver("provider-a", b"{}", headers)
        assert response.status_code == (401 if secret == "older" else 200)


@pytest.mark.parametrize("encoding", ["br", "deflate", "zstd", "gzip, gzip"])
async def test_only_gzip_is_supported(town: World, encoding: str) -> None:
    now = str(town.clock.seconds)
    headers = {
        "X-QN-Nonce": "n" * 32,
        "X-QN-Timestamp": now,
        "X-QN-Signature": _sign(_secret(town, "provider-b"), b"n" * 32, now.encode(), b"[]"),
        "Content-Encoding": encoding,
    }
    response = await town.deliver("provider-b", b"[]", headers)
    assert problem(response) == (415, "unsupported_media_type")


async def test_a_compressed_delivery_by_provider_a_is_refused(town: World) -> None:
    headers = {
        "X-Alchemy-Signature": _sign(_secret(town, "provider-a"), b"{}"),
        "Content-Encoding": "gzip",
    }
    response = await town.deliver("provider-a", gzip.compress(b"{}"), headers)
    assert problem(response) == (415, "unsupported_media_type")


async def _send_gzip(world: World, body: bytes) -> httpx2.Response:
    headers = {
        "X-QN-Nonce": "n" * 32,
        "X-QN-Timestamp": str(world.clock.seconds),
        "X-QN-Signature": "00" * 32,
        "Content-Encoding": "gzip",
    }
    return await world.deliver("provider-b", body, headers)


async def test_a_gzip_bomb_is_refused(town: World) -> None:
    bomb = gzip.compress(b"\0" * (100 * 1024 * 1024), 9)
    assert len(bomb) < 200_000
    assert problem(await _send_gzip(town, bomb)) == (413, "too_large")


@pytest.mark.parametrize("damage", [lambda g: g[:-4], lambda g: g[:-8] + b"\0" * 8, lambda g: b"x"])
async def test_damaged_compression_is_refused(town: World, damage: Any) -> None:
    response = await _send_gzip(town, damage(gzip.compress(b"[]" * 100)))
    assert problem(response) == (400, "invalid_request")


async def test_a_delivery_larger_than_16_mib_is_refused(town: World) -> None:
    body = b" " * (16 * 1024 * 1024 + 1)
    for provider in ("provider-a", "provider-b"):
        assert problem(await town.deliver(provider, body, {})) == (413, "too_large")


STRANGE_HEADERS: dict[str, tuple[str, dict[str, str]]] = {
    "nothing of a": ("provider-a", {}),
    "no digits of a": ("provider-a", {"X-Alchemy-Signature": "x" * 64}),
    "an early time": ("provider-b", {"X-QN-Timestamp": "1000000000"}),
    "no nonce": ("provider-b", {"X-QN-Nonce": ""}),
    "no digits of b": ("provider-b", {"X-QN-Signature": "x" * 64}),
}


@pytest.mark.parametrize(
    ("provider", "strange"), STRANGE_HEADERS.values(), ids=STRANGE_HEADERS.keys()
)
async def test_the_body_is_not_read_if_signature_headers_are_missing_or_malformed(
    town: World, provider: str, strange: dict[str, str]
) -> None:
    async def never() -> AsyncIterator[bytes]:
        raise AssertionError("the body was read")
        yield b""

    good = {
        "X-QN-Nonce": "n" * 32,
        "X-QN-Timestamp": str(town.clock.seconds),
        "X-QN-Signature": "00" * 32,
    }
    headers = (good | strange if strange else {}) | {"Expect": "100-continue"}
    response = await town.client.post(
        f"/webhook/{provider}/publish", content=never(), headers=headers
    )
    assert problem(response) == (401, "webhook_signature_invalid")


async def test_deliveries_are_exempt_from_the_general_rate_limits(tmp_path: Path) -> None:
    strict = {"RATE_LIMITS": "on", "RATE_READS": "1/60", "RATE_SIGNED": "1/60"}
    async with open_world(tmp_path, **strict) as world:
        for _ in range(5):
            assert (await world.send_a(b"{}")).status_code == 200


# Rate limit


async def test_unsigned_deliveries_are_rate_limited(tmp_path: Path) -> None:
    async with open_world(tmp_path, RATE_LIMITS="on", RATE_WEBHOOKS="3/60") as world:
        forged = {"X-Alchemy-Signature": "0" * 64}
        for _ in range(3):
            response = await world.deliver("provider-a", b"{}", forged)
            assert problem(response) == (401, "webhook_signature_invalid")
        response = await world.deliver("provider-b", b"{}", {})
        assert problem(response) == (429, "rate_limited")
        assert 1 <= int(response.headers["retry-after"]) <= 20
        world.clock.advance(int(response.headers["retry-after"]))
        response = await world.deliver("provider-a", b"{}", forged)
        assert problem(response) == (401, "webhook_signature_invalid")


async def test_signed_deliveries_are_exempt_from_the_webhook_rate_limit(tmp_path: Path) -> None:
    async with open_world(tmp_path, RATE_LIMITS="on", RATE_WEBHOOKS="2/60") as world:
        await world.deliver("provider-a", b"{}", {"X-Alchemy-Signature": "0" * 64})
        for _ in range(10):
            assert (await world.send_a(b"{}")).status_code == 200
