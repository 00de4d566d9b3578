"""Deliveries from provider B: signatures, nesting, and ignored logs."""

import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adapters.webhooks.deliveries import (
    AUTHOR,
    BLOCK_HASH,
    CHAIN_ID,
    CID,
    MARKET,
    NOW,
    OLD_SECRET,
    POST_PRICE_UPDATED,
    SECRET,
    TOPIC,
    TRANSFER,
    TX_HASH,
    Json,
    deliver,
    event_data,
    headers_of_a,
    headers_of_b,
    log_of_b,
    mac,
    word,
)

from imprint.adapters.webhooks import logs
from imprint.adapters.webhooks.provider_b import ProviderB
from imprint.domain.errors import Code, Refusal
from imprint.domain.posts.posts import DeadLetter, Delivery, LogPosition

PROVIDER = ProviderB([SECRET], CHAIN_ID, MARKET)
ON_SEPOLIA = ProviderB([SECRET], 11155111, MARKET)
SECONDS = int(NOW.timestamp())
BODY = json.dumps([log_of_b()]).encode()


def receive(sent: Any, provider: ProviderB = PROVIDER) -> Delivery:
    body = sent if isinstance(sent, bytes) else json.dumps(sent).encode()
    return deliver(provider, headers_of_b(body), body)


def refusal_of(headers: dict[str, str], body: bytes, provider: ProviderB = PROVIDER) -> Code:
    with pytest.raises(Refusal) as refused:
        deliver(provider, headers, body)
    return refused.value.code


def post_ids(delivery: Delivery) -> list[int]:
    return [event.post_id for event in delivery.events]


def test_a_signed_delivery_is_opened() -> None:
    delivery = receive([log_of_b()])
    (event,) = delivery.events
    assert (event.post_id, event.author, event.cid) == (9, AUTHOR, CID)
    assert event.place == LogPosition(CHAIN_ID, BLOCK_HASH, 77, 3, TX_HASH)
    assert delivery.key is not None
    assert (delivery.key.provider, delivery.key.nonce) == ("provider-b", "0b2d9c1e-5f7a-4c3b")


def test_the_key_of_a_delivery_differs_from_its_signature() -> None:
    key = receive(BODY).key
    assert key is not None
    assert key.digest != headers_of_b(BODY)["x-qn-signature"]


WITHOUT = [
    {k: v for k, v in headers_of_b(BODY).items() if k != gone} for gone in headers_of_b(BODY)
]


@pytest.mark.parametrize(
    ("headers", "test"),
    [
        ({}, True),
        ({"content-type": "application/json", "user-agent": "curl"}, True),
        (headers_of_a(BODY), True),
        (headers_of_b(BODY), False),
        *((each, False) for each in WITHOUT),
        ({"x-qn-nonce": ""}, False),
        ({"x-qn-timestamp": ""}, False),
        ({"x-qn-signature": ""}, False),
    ],
)
def test_a_request_without_the_three_headers_is_a_connection_test(
    headers: dict[str, str], test: bool
) -> None:
    assert PROVIDER.is_connection_test(headers) is test


@pytest.mark.parametrize(
    "headers",
    [
        {},
        *WITHOUT,
        headers_of_a(BODY),
        headers_of_b(BODY, secret=OLD_SECRET),
        headers_of_b(BODY + b" "),
        headers_of_b(BODY) | {"x-qn-signature": "é" * 64},
        headers_of_b(BODY) | {"x-qn-signature": "\udcff" * 64},
        headers_of_b(BODY) | {"x-qn-nonce": "another"},
        headers_of_b(BODY) | {"x-qn-timestamp": str(SECONDS + 1)},
        headers_of_b(BODY, nonce="é"),
        headers_of_b(BODY, nonce="a b"),
        headers_of_b(BODY, nonce="n" * 129),
        headers_of_b(BODY, nonce="line\n"),
        headers_of_b(BODY, timestamp=str(SECONDS * 1000)),
        headers_of_b(BODY, timestamp=f"0{SECONDS}"),
        headers_of_b(BODY, timestamp=f" {SECONDS}"),
        headers_of_b(BODY, timestamp=f"{SECONDS}\n"),
        headers_of_b(BODY, timestamp=f"+{SECONDS}"),
        headers_of_b(BODY, timestamp="17632080.0"),
        headers_of_b(BODY, timestamp="१७६३२०८०००"),
    ],
)
def test_a_delivery_with_wrong_signature_headers_is_refused(headers: dict[str, str]) -> None:
    assert refusal_of(headers, BODY) is Code.WEBHOOK_SIGNATURE_INVALID


@pytest.mark.parametrize("prefix", ["", "sha256="])
def test_a_signature_may_have_a_sha256_prefix(prefix: str) -> None:
    headers = headers_of_b(BODY)
    headers["x-qn-signature"] = prefix + headers["x-qn-signature"]
    assert deliver(PROVIDER, headers, BODY).events


@pytest.mark.parametrize("secret", [SECRET, OLD_SECRET])
def test_both_secrets_are_accepted_during_a_rotation(secret: str) -> None:
    provider = ProviderB([SECRET, OLD_SECRET], CHAIN_ID, MARKET)
    assert deliver(provider, headers_of_b(BODY, secret), BODY).events


@pytest.mark.parametrize("seconds", [-300, 0, 300])
def test_a_delivery_within_the_tolerance_is_opened(seconds: int) -> None:
    headers = headers_of_b(BODY, timestamp=str(SECONDS + seconds))
    assert deliver(PROVIDER, headers, BODY).events


@pytest.mark.parametrize("seconds", [-100_000, -301, 301, 100_000])
def test_a_delivery_outside_the_tolerance_is_refused(seconds: int) -> None:
    headers = headers_of_b(BODY, timestamp=str(SECONDS + seconds))
    assert refusal_of(headers, BODY) is Code.WEBHOOK_SIGNATURE_INVALID


@pytest.mark.parametrize(
    ("nonce", "timestamp", "body"),
    [
        pytest.param("abc", "1" + str(SECONDS), BODY, id="a digit from nonce to time"),
        pytest.param("abc1" + str(SECONDS)[:1], str(SECONDS)[1:], BODY, id="one back"),
        pytest.param("abc1", str(SECONDS)[:-1], str(SECONDS)[-1:].encode() + BODY, id="to body"),
        pytest.param("abc", "1" + str(SECONDS)[:-1], str(SECONDS)[-1:].encode() + BODY, id="both"),
    ],
)
def test_moving_bytes_between_nonce_timestamp_and_body_is_refused(
    nonce: str, timestamp: str, body: bytes
) -> None:
    signed = headers_of_b(BODY, nonce="abc1")
    moved = signed | {"x-qn-nonce": nonce, "x-qn-timestamp": timestamp}
    assert mac(SECRET, (nonce + timestamp).encode() + body) == signed["x-qn-signature"]
    assert refusal_of(moved, body) is Code.WEBHOOK_SIGNATURE_INVALID


def test_moving_a_byte_from_body_to_nonce_keeps_the_digest() -> None:
    timestamp = "1111111111"
    provider = ProviderB([SECRET], CHAIN_ID, MARKET, tolerance=2_000_000_000)
    signed = headers_of_b(b"1[]", nonce="abc1", timestamp=timestamp)
    moved = signed | {"x-qn-nonce": "abc11"}
    kept = deliver(provider, signed, b"1[]").key
    again = deliver(provider, moved, b"[]").key
    assert kept is not None
    assert again is not None
    assert kept.nonce != again.nonce
    assert kept.digest == again.digest


@pytest.mark.parametrize(
    "changed",
    [
        lambda headers: headers | {"x-qn-signature": headers["x-qn-signature"].upper()},
        lambda headers: headers | {"x-qn-signature": "sha256=" + headers["x-qn-signature"]},
    ],
)
def test_a_different_spelling_of_a_signature_has_the_same_key(changed: Any) -> None:
    headers = headers_of_b(BODY)
    assert deliver(PROVIDER, changed(headers), BODY).key == deliver(PROVIDER, headers, BODY).key


def receipt(*logs: Any, **changes: Any) -> Json:
    return {"transactionHash": TX_HASH, "status": "0x1", "logs": list(logs)} | changes


NESTINGS = {
    "one log": log_of_b(),
    "an array": [log_of_b()],
    "an array for each block": [[], [log_of_b()]],
    "data": {"data": [[log_of_b()]], "metadata": {"dataset": "logs"}},
    "data alone": {"data": [log_of_b()]},
    "logs": {"logs": [log_of_b()]},
    "matching receipts": {"matchingReceipts": [receipt(log_of_b())]},
    "receipts": {"data": [[receipt(log_of_b())]]},
    "blocks with receipts": {
        "data": [{"block": {"hash": "0x1"}, "receipts": [receipt(log_of_b())]}]
    },
    "transactions": {
        "webhookId": "1",
        "blockNumber": 77,
        "blockHash": BLOCK_HASH,
        "transactions": [
            {
                "hash": TX_HASH,
                "logs": [
                    {key: log_of_b()[key] for key in ("address", "topics", "data", "logIndex")}
                ],
            }
        ],
    },
    "an envelope with a status": {"status": "ok", "logs": [log_of_b()]},
    "900 arrays": json.loads("[" * 900 + json.dumps(log_of_b()) + "]" * 900),
}


@pytest.mark.parametrize("sent", NESTINGS.values(), ids=NESTINGS.keys())
def test_a_log_is_found_at_any_depth(sent: object) -> None:
    assert receive(sent).events == receive([log_of_b()]).events


def test_logs_stay_in_the_order_in_which_they_were_sent() -> None:
    sent = {"a": [log_of_b(1), [log_of_b(2)]], "b": {"logs": [log_of_b(3)]}, "c": log_of_b(4)}
    assert post_ids(receive(sent)) == [1, 2, 3, 4]


@pytest.mark.parametrize("status", ["0x1", 1, "1", None])
def test_the_logs_of_a_successful_receipt_are_applied(status: object) -> None:
    assert receive([receipt(log_of_b(), status=status)]).events


@pytest.mark.parametrize("status", ["0x0", 0, "0", "", "reverted", False])
def test_the_logs_of_a_failed_receipt_are_ignored(status: object) -> None:
    delivery = receive([receipt(log_of_b(), status=status), receipt(log_of_b(10))])
    assert (post_ids(delivery), delivery.ignored) == ([10], 1)


@pytest.mark.parametrize("status", ["0x0", 0, "0"])
def test_a_failed_status_applies_even_to_a_receipt_without_a_hash(status: object) -> None:
    delivery = receive([receipt(log_of_b(), transactionHash=None, status=status)])
    assert (post_ids(delivery), delivery.ignored) == ([], 1)


@pytest.mark.parametrize("status", ["0x1", 1, "ok", 200, True])
def test_the_status_of_an_envelope_is_ignored(status: object) -> None:
    assert receive([receipt(log_of_b(), transactionHash=None, status=status)]).events


IGNORED = {
    "another contract": log_of_b(address=AUTHOR),
    "another topic": log_of_b(topics=["0x" + "11" * 32]),
    "no topics": log_of_b(topics=[]),
    "a removed log": log_of_b(removed=True),
    "a log that may be removed": log_of_b(removed="true"),
    "another chain": log_of_b(chainId=1),
    "another chain in hex": log_of_b(chainId="0x1"),
    "another chain around it": {"chainId": 1, "logs": [log_of_b()]},
    "another chain further out": {"chainId": 1, "logs": [log_of_b(chainId=CHAIN_ID)]},
}


@pytest.mark.parametrize("log", IGNORED.values(), ids=IGNORED.keys())
def test_an_irrelevant_log_is_ignored_and_the_next_one_is_applied(log: Json) -> None:
    delivery = receive([log, log_of_b(10)])
    assert (post_ids(delivery), delivery.ignored) == ([10], 1)
    assert delivery.dead_letters == ()


NONSENSE = {
    "an address that is null": log_of_b(address=None),
    "an address that is short": log_of_b(address="0x12"),
    "topics that are null": log_of_b(topics=None),
    "topics that are an object": log_of_b(topics={}),
    "a first topic that is null": log_of_b(topics=[None]),
    "a log without data": {key: log_of_b()[key] for key in ("address", "topics")},
    "topics alone": {"topics": [TOPIC]},
    "an empty object": {},
    "an object of texts": {"error": "upstream"},
    "an object without a log in it": {"error": {"code": [5]}},
    "an array without a log in it": [[5], {"a": {}}],
    "a number": 5,
    "a huge number": 10**40,
    "null": None,
    "a text": "0x",
    "true": True,
}


@pytest.mark.parametrize("nonsense", NONSENSE.values(), ids=NONSENSE.keys())
@pytest.mark.parametrize("nest", [lambda sent: sent, lambda sent: {"data": [sent], "logs": None}])
def test_an_invalid_log_is_a_dead_letter_and_the_other_logs_are_applied(
    nonsense: object, nest: Callable[[object], object]
) -> None:
    delivery = receive(nest([log_of_b(10), nonsense, log_of_b(11)]))
    first, letter, last = delivery.findings
    assert isinstance(letter, DeadLetter)
    assert json.loads(letter.payload) == nonsense
    assert delivery.events == (first, last)
    assert (delivery.ignored, delivery.access_changes) == (0, None)


@pytest.mark.parametrize("nonsense", NONSENSE.values(), ids=NONSENSE.keys())
def test_an_invalid_log_in_a_receipt_is_a_dead_letter(nonsense: object) -> None:
    delivery = receive([receipt(nonsense), receipt(log_of_b(10))])
    assert (post_ids(delivery), len(delivery.dead_letters)) == ([10], 1)


@pytest.mark.parametrize(
    "beside", [[], {"logs": []}, {"logs": None}, {"metadata": {"dataset": "logs"}}]
)
def test_an_empty_container_next_to_logs_is_not_a_dead_letter(beside: object) -> None:
    for sent in ([log_of_b(), beside], {"data": [log_of_b()], "about": beside}):
        delivery = receive(sent)
        assert (post_ids(delivery), delivery.dead_letters) == ([9], ())


def test_invalid_logs_from_another_network_are_ignored() -> None:
    sent = {"logs": [log_of_b(), None, 5], "network": "ethereum-mainnet"}
    delivery = receive(sent, ON_SEPOLIA)
    assert (delivery.findings, delivery.ignored) == ((), 3)


def test_findings_are_in_the_order_of_the_logs() -> None:
    sent = [[log_of_b(1), 5], {"logs": [log_of_b(2, data="0x"), log_of_b(3)]}, [[log_of_b(4)]]]
    found = [getattr(each, "post_id", "dead letter") for each in receive(sent).findings]
    assert found == [1, "dead letter", "dead letter", 3, 4]


def test_logs_that_change_access_are_reported() -> None:
    price = log_of_b(topics=[POST_PRICE_UPDATED, f"0x{9:064x}"], data="0x" + "00" * 64)
    moved = log_of_b(topics=[TRANSFER, word(AUTHOR), word(MARKET), f"0x{7:064x}"], data="0x")
    delivery = receive({"data": [[price, log_of_b(), moved]]})
    assert delivery.access_changes is not None
    changed = [(each.post_id, each.holders) for each in delivery.access_changes]
    assert changed == [(9, None), (7, (AUTHOR, MARKET))]
    assert (len(delivery.findings), delivery.ignored) == (1, 2)


@pytest.mark.parametrize(
    ("network", "counts"),
    [("ethereum-sepolia", True), ("", True), ("ethereum-mainnet", False), ("new-net", False)],
)
def test_the_network_may_be_named_in_a_header(network: str, counts: bool) -> None:
    headers = headers_of_b(BODY) | {"stream-network": network}
    delivery = deliver(ON_SEPOLIA, headers, BODY)
    assert (len(delivery.events), delivery.ignored) == ((1, 0) if counts else (0, 1))


def test_an_operator_can_add_network_names() -> None:
    provider = ProviderB([SECRET], CHAIN_ID, MARKET, ["New-Net"])
    for network, counts in (("new-net", True), ("ethereum-mainnet", False)):
        delivery = receive({"data": [log_of_b()], "metadata": {"network": network}}, provider)
        assert bool(delivery.events) is counts


@pytest.mark.parametrize(
    ("network", "counts"),
    [
        ("ethereum-sepolia", True),
        ("ethereum-mainnet", False),
        ("base-mainnet", False),
        ("a-network-of-tomorrow", False),
        ({"name": "ethereum-sepolia"}, False),
        ("", True),
        (None, True),
    ],
)
def test_a_delivery_for_another_network_is_ignored(network: object, counts: bool) -> None:
    delivery = receive({"data": [[log_of_b()]], "metadata": {"network": network}}, ON_SEPOLIA)
    assert (len(delivery.events), delivery.ignored) == ((1, 0) if counts else (0, 1))


def test_an_undecodable_event_does_not_affect_the_others() -> None:
    logs = [log_of_b(number, logIndex=hex(number)) for number in range(500)]
    logs[250] = log_of_b(250, data=event_data(b"\xff\xfe"))
    delivery = receive({"data": [logs]})
    assert post_ids(delivery) == [number for number in range(500) if number != 250]
    (letter,) = delivery.dead_letters
    assert letter.place is None or letter.place.block_hash == BLOCK_HASH
    assert TOPIC in letter.payload


@pytest.mark.parametrize("body", [b"", b" ", b"hello", b"\xff", b"1" * 5_000])
def test_signed_text_that_is_not_json_is_ignored(body: bytes) -> None:
    delivery = receive(body)
    assert (delivery.findings, delivery.ignored) == ((), 1)


@pytest.mark.parametrize("body", [b"[" * 100_000, BODY[:-1], b"{]", b"[" + BODY])
def test_signed_but_unreadable_json_is_a_dead_letter(body: bytes) -> None:
    delivery = receive(body)
    assert len(delivery.findings) == len(delivery.dead_letters) == 1
    assert (delivery.ignored, delivery.access_changes) == (0, None)


@pytest.mark.parametrize(
    "malformed",
    [b"1e999", b"1" * 5_000, b"NaN", b'"\xff"', b'"\\ud800"', b'"\n"', b"[" * 2000 + b"]" * 2000],
)
def test_a_malformed_value_next_to_a_log_does_not_affect_it(malformed: bytes) -> None:
    good = json.dumps(log_of_b()).encode()
    for body in (
        b"[" + good + b"," + malformed + b"]",
        b"[" + malformed + b"," + good + b"]",
        b'{"logs":[' + good + b'],"note":' + malformed + b"}",
    ):
        delivery = receive(body)
        assert (post_ids(delivery), len(delivery.dead_letters)) == ([9], 1)


def test_text_after_the_json_does_not_affect_the_log() -> None:
    delivery = receive(BODY + b"\nthe end")
    (letter,) = delivery.dead_letters
    assert post_ids(delivery) == [9]
    assert "trailing" in letter.reason


def test_a_body_may_begin_with_a_byte_order_mark() -> None:
    delivery = receive(b"\xef\xbb\xbf" + BODY)
    assert (post_ids(delivery), delivery.dead_letters) == ([9], ())


@pytest.mark.parametrize("sent", [[], {}, None, 7, "PING", {"data": [], "metadata": {}}, [None]])
def test_a_signed_body_without_logs_is_an_empty_delivery(sent: object) -> None:
    delivery = receive(json.dumps(sent).encode())
    assert (delivery.events, delivery.dead_letters, delivery.ignored) == ((), (), 0)


def test_logs_before_the_value_limit_is_exceeded_are_applied() -> None:
    rest = b"[0]" + b",[0]" * logs.MAX_VALUES
    body = b'{"logs":' + BODY + b',"rest":[' + rest + b"]}"
    delivery = receive(body)
    (letter,) = delivery.dead_letters
    assert post_ids(delivery) == [9]
    assert "arrays, objects" in letter.reason
    assert delivery.access_changes is None


def test_empty_arrays_do_not_count_towards_the_value_limit() -> None:
    body = b"[" + b"[]," * (logs.MAX_VALUES + 1) + json.dumps(log_of_b()).encode() + b"]"
    delivery = receive(body)
    assert (post_ids(delivery), delivery.dead_letters) == ([9], ())


log_members = st.sampled_from(
    [
        "address",
        "topics",
        "data",
        "logs",
        "status",
        "metadata",
        "network",
        "chainId",
        "hash",
        "logIndex",
        "blockHash",
        "blockNumber",
        "transactionHash",
        "removed",
    ]
)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=20)
    | st.sampled_from([MARKET, TOPIC, [TOPIC], event_data(), "0x1"]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(log_members | st.text(max_size=5), inner)
    ),
    max_leaves=30,
)


@given(json_values, st.dictionaries(log_members, json_values, max_size=4))
def test_a_signed_delivery_is_never_refused(sent: object, changes: Json) -> None:
    delivery = receive([sent, log_of_b(**changes)])
    found = len(delivery.events) + len(delivery.dead_letters) + delivery.ignored
    assert found >= 1


@given(
    st.dictionaries(
        st.sampled_from(["x-qn-nonce", "x-qn-timestamp", "x-qn-signature", "content-encoding"]),
        st.text(max_size=70),
    ),
    st.binary(max_size=200),
    st.booleans(),
)
def test_an_unsigned_delivery_raises_nothing_but_a_refusal(
    changes: dict[str, str], body: bytes, compressed: bool
) -> None:
    headers = headers_of_b(b"") | {"content-encoding": "gzip" if compressed else ""} | changes
    try:
        deliver(PROVIDER, headers, body)
    except Refusal:
        return
    assert body in (b"", gzip.compress(b""))
