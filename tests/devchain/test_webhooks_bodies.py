"""The bodies and signatures of webhook deliveries."""

import gzip
import hashlib
import hmac
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from imprint.devchain.webhooks import (
    build_body_a,
    build_body_b,
    has_logs_of,
    sign_body_a,
    sign_body_b,
)

CREATED_AT = datetime(2026, 11, 15, 2, 0, tzinfo=UTC)
SECRET = "whsec_a_secret_of_sufficient_length"
POST_CREATED = "0xf753f630973e9c5274697eb346810b78c35457ef0df3e0c5c7ade5841d55ca77"


@pytest.fixture
def block(bench: Any, marketplace: str) -> Any:
    bench.publish(marketplace)
    return bench.chain.head


def body_a(block: Any, marketplace: str, **more: Any) -> dict[str, Any]:
    body = build_body_a(
        block, marketplace, identifier="abc", sequence=12, created_at=CREATED_AT, **more
    )
    return dict(json.loads(body))


def test_provider_a_wraps_the_block_in_an_envelope(block: Any, marketplace: str) -> None:
    body = body_a(block, marketplace)
    assert body["webhookId"].startswith("wh_")
    assert (body["id"], body["type"]) == ("whevt_abc", "GRAPHQL")
    assert body["createdAt"] == "2026-11-15T02:00:00.000Z"
    assert body["event"]["sequenceNumber"] == "12"
    found = body["event"]["data"]["block"]
    assert found["hash"] == "0x" + block.hash.hex()
    assert (found["number"], found["timestamp"]) == (block.number, block.timestamp)


def test_provider_a_sends_logs_with_their_transactions(
    bench: Any, client: Any, block: Any, marketplace: str
) -> None:
    logs = body_a(block, marketplace)["event"]["data"]["block"]["logs"]
    expected = client.ask("eth_getLogs", {})
    assert [log["data"] for log in logs] == [log["data"] for log in expected]
    assert logs[0]["topics"] == expected[0]["topics"]
    assert logs[0]["topics"][0] == POST_CREATED
    assert [log["index"] for log in logs] == [0, 1]
    assert logs[0]["account"] == {"address": marketplace.lower()}
    assert logs[0]["transaction"] == {
        "hash": expected[0]["transactionHash"],
        "index": 0,
        "status": 1,
        "from": {"address": bench.people[1]},
        "to": {"address": marketplace.lower()},
    }


def test_provider_a_names_the_network_if_one_is_given(block: Any, marketplace: str) -> None:
    assert "network" not in body_a(block, marketplace)["event"]
    assert body_a(block, marketplace, network="ETH_SEPOLIA")["event"]["network"] == "ETH_SEPOLIA"


def test_provider_a_signs_the_body(block: Any) -> None:
    delivery = sign_body_a(b'{"a":1}', SECRET)
    expected = hmac.new(SECRET.encode(), b'{"a":1}', hashlib.sha256).hexdigest()
    assert delivery.body == b'{"a":1}'
    assert delivery.headers["X-Alchemy-Signature"] == expected


def test_provider_b_sends_logs_in_the_format_of_nodes(
    client: Any, block: Any, marketplace: str
) -> None:
    body = json.loads(build_body_b(block, marketplace))
    assert body["data"] == [client.ask("eth_getLogs", {})]
    assert body["metadata"]["batch_start_range"] == block.number
    assert body["metadata"]["dataset"] == "logs"


@pytest.mark.parametrize("compress", [False, True])
def test_provider_b_signs_the_nonce_the_time_and_the_uncompressed_body(compress: bool) -> None:
    delivery = sign_body_b(b"[]", SECRET, nonce="n1", timestamp=1_700_000_000, compress=compress)
    expected = hmac.new(SECRET.encode(), b"n11700000000[]", hashlib.sha256).hexdigest()
    assert delivery.headers["X-QN-Signature"] == expected
    assert (delivery.headers["X-QN-Nonce"], delivery.headers["X-QN-Timestamp"]) == (
        "n1",
        "1700000000",
    )
    assert (gzip.decompress(delivery.body) if compress else delivery.body) == b"[]"
    assert ("Content-Encoding" in delivery.headers) is compress


def test_only_logs_of_the_marketplace_are_delivered(
    bench: Any, block: Any, marketplace: str
) -> None:
    other = "0x" + "11" * 20
    assert has_logs_of(block, marketplace)
    assert not has_logs_of(block, other)
    assert body_a(block, other)["event"]["data"]["block"]["logs"] == []
    assert not has_logs_of(bench.chain.mine(), marketplace)
