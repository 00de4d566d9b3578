"""Deliveries from provider A: signatures, events, dead letters, and ignored logs."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adapters.webhooks.deliveries import (
    AUTHOR,
    BLOCK_HASH,
    CHAIN_ID,
    CID,
    MARKET,
    OLD_SECRET,
    POST_PRICE_UPDATED,
    POST_SUBSCRIBED,
    SECRET,
    TOPIC,
    TRANSFER,
    TX_HASH,
    Json,
    body_of_a,
    deliver,
    event_data,
    event_topics,
    headers_of_a,
    log_of_a,
    mac,
    word,
)

from imprint.adapters.webhooks import logs
from imprint.adapters.webhooks.provider_a import ProviderA
from imprint.domain.errors import Code, Refusal
from imprint.domain.formats.addresses import Address
from imprint.domain.posts.posts import DeadLetter, Delivery, LogPosition, PostCreated

PROVIDER = ProviderA([SECRET], CHAIN_ID, MARKET)
ON_SEPOLIA = ProviderA([SECRET], 11155111, MARKET)


def receive(body: bytes, provider: ProviderA = PROVIDER) -> Delivery:
    return deliver(provider, headers_of_a(body), body)


def test_a_signed_delivery_is_opened() -> None:
    delivery = receive(body_of_a(log_of_a()))
    (event,) = delivery.events
    assert (event.post_id, event.author, event.cid) == (9, AUTHOR, CID)
    assert event.place == LogPosition(CHAIN_ID, BLOCK_HASH, 77, 3, TX_HASH)
    assert (delivery.provider, delivery.key, delivery.ignored) == ("provider-a", None, 0)


@pytest.mark.parametrize(
    "signature",
    [
        "",
        "é" * 32,
        "é" * 64,
        "\udcff" * 64,
        "00" * 32,
        mac(OLD_SECRET, body_of_a(log_of_a())),
        mac(SECRET, body_of_a(log_of_a()) + b" "),
        mac(SECRET, body_of_a(log_of_a()))[:-1],
        mac(SECRET, body_of_a(log_of_a())) + "0",
        mac(SECRET, body_of_a(log_of_a())) + "\n",
        "sha256=" + mac(SECRET, body_of_a(log_of_a())),
    ],
)
def test_a_delivery_with_a_wrong_signature_is_refused(signature: str) -> None:
    with pytest.raises(Refusal) as refused:
        deliver(PROVIDER, {"x-alchemy-signature": signature}, body_of_a(log_of_a()))
    assert refused.value.code is Code.WEBHOOK_SIGNATURE_INVALID


def test_a_delivery_without_a_signature_is_refused() -> None:
    with pytest.raises(Refusal) as refused:
        deliver(PROVIDER, {}, body_of_a(log_of_a()))
    assert refused.value.code is Code.WEBHOOK_SIGNATURE_INVALID


def test_hex_digits_of_a_signature_may_be_upper_or_lower_case() -> None:
    body = body_of_a(log_of_a())
    headers = {"x-alchemy-signature": mac(SECRET, body).upper()}
    assert deliver(PROVIDER, headers, body).events


@pytest.mark.parametrize("secret", [SECRET, OLD_SECRET])
def test_both_secrets_are_accepted_during_a_rotation(secret: str) -> None:
    provider = ProviderA([SECRET, OLD_SECRET], CHAIN_ID, MARKET)
    body = body_of_a(log_of_a())
    assert deliver(provider, headers_of_a(body, secret), body).events


@pytest.mark.parametrize("secrets", [[], [""], [SECRET, ""], [SECRET] * 3])
def test_a_provider_needs_one_or_two_secrets(secrets: list[str]) -> None:
    with pytest.raises(ValueError, match="one or two secrets"):
        ProviderA(secrets, CHAIN_ID, MARKET)


def test_a_compressed_body_is_refused() -> None:
    body = body_of_a(log_of_a())
    with pytest.raises(Refusal) as refused:
        deliver(PROVIDER, headers_of_a(body) | {"content-encoding": "gzip"}, body)
    assert refused.value.code is Code.UNSUPPORTED_MEDIA_TYPE


IGNORED = {
    "another contract": log_of_a(account={"address": AUTHOR}),
    "another topic": log_of_a(topics=["0x" + "11" * 32, *event_topics()[1:]]),
    "no topics": log_of_a(topics=[]),
    "a failed transaction": log_of_a(transaction={"hash": TX_HASH, "status": 0}),
    "a failed transaction in hex": log_of_a(transaction={"hash": TX_HASH, "status": "0x0"}),
    "an unknown status": log_of_a(transaction={"hash": TX_HASH, "status": "perhaps"}),
    "a removed log": log_of_a(removed=True),
}


@pytest.mark.parametrize("log", IGNORED.values(), ids=IGNORED.keys())
def test_an_irrelevant_log_is_ignored_and_the_next_one_is_applied(log: object) -> None:
    delivery = receive(body_of_a(log, log_of_a(post_id=10)))
    assert [event.post_id for event in delivery.events] == [10]
    assert (delivery.ignored, delivery.dead_letters) == (1, ())


NONSENSE = {
    "no contract": log_of_a(account=None),
    "an address that is a list": log_of_a(account={"address": [MARKET]}),
    "an address that is none": log_of_a(account={"address": "0x12"}),
    "topics that are null": log_of_a(topics=None),
    "topics that are a text": log_of_a(topics=TOPIC),
    "topics that are numbers": log_of_a(topics=[1, 2, 3]),
    "a first topic that is no hash": log_of_a(topics=["0x12", *event_topics()[1:]]),
    "a log that is a number": 5,
    "a log that is a huge number": 10**40,
    "a log that is null": None,
    "a log that is a text": "log",
    "a log that is an array": [log_of_a()],
    "an empty log": {},
}


@pytest.mark.parametrize("nonsense", NONSENSE.values(), ids=NONSENSE.keys())
def test_an_invalid_log_is_a_dead_letter_and_the_other_logs_are_applied(nonsense: object) -> None:
    delivery = receive(body_of_a(log_of_a(post_id=10), nonsense, log_of_a(post_id=11)))
    first, letter, last = delivery.findings
    assert isinstance(letter, DeadLetter)
    assert json.loads(letter.payload) == nonsense
    assert delivery.events == (first, last)
    assert delivery.ignored == 0


def test_findings_are_in_the_order_of_the_logs() -> None:
    delivery = receive(
        body_of_a(
            None, log_of_a(1), log_of_a(2, removed=True), log_of_a(3, data="0x"), log_of_a(4), 7
        )
    )
    found = [getattr(finding, "post_id", "dead letter") for finding in delivery.findings]
    assert found == ["dead letter", 1, "dead letter", 4, "dead letter"]
    assert delivery.ignored == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"account": {"address": "0x" + MARKET[2:].upper()}},
        {"topics": [TOPIC.upper().replace("0X", "0x"), *event_topics()[1:]]},
        {"transaction": {"hash": TX_HASH, "status": "0x1"}},
        {"transaction": {"hash": TX_HASH, "status": "1"}},
        {"transaction": {"hash": TX_HASH, "status": None}},
        {"transaction": {"hash": TX_HASH}},
        {"removed": False},
        {"removed": None},
        {"index": "3"},
        {"index": "0x3"},
    ],
)
def test_a_different_spelling_of_the_same_log_is_the_same_event(changes: Json) -> None:
    same = receive(body_of_a(log_of_a(**changes))).events
    assert same == receive(body_of_a(log_of_a())).events


UNDECODABLE = {
    "bytes that are no text": log_of_a(data=event_data(b"\xff\xfe")),
    "a cid of 100 kB": log_of_a(data=event_data(b"b" * 100_000)),
    "a NUL": log_of_a(data=event_data(b"a\0b")),
    "an offset bomb": log_of_a(data="0x" + "ff" * 128),
    "no data": log_of_a(data="0x"),
    "data that is null": log_of_a(data=None),
    "data that is no hex": log_of_a(data="0xzz"),
    "data of half a byte": log_of_a(data="0x0"),
    "a topic too few": log_of_a(topics=event_topics()[:2]),
    "a topic too many": log_of_a(topics=[*event_topics(), event_topics()[1]]),
    "a million topics": log_of_a(topics=event_topics() + [None] * 1_000_000),
    "a topic that is null": log_of_a(topics=[TOPIC, None, None]),
    "a short topic": log_of_a(topics=[TOPIC, "0x09", event_topics()[2]]),
    "an author of 32 bytes": log_of_a(topics=[*event_topics()[:2], "0x" + "ff" * 32]),
}


@pytest.mark.parametrize("log", UNDECODABLE.values(), ids=UNDECODABLE.keys())
def test_an_undecodable_event_is_a_dead_letter_and_the_next_one_is_applied(
    log: Json,
) -> None:
    delivery = receive(body_of_a(log, log_of_a(post_id=10)))
    assert [event.post_id for event in delivery.events] == [10]
    (letter,) = delivery.dead_letters
    assert letter.reason
    assert TOPIC in letter.payload
    assert len(letter.payload) <= 64 * 1024


def test_a_dead_letter_contains_the_log_as_it_was_sent() -> None:
    undecodable = log_of_a(data=event_data(b"\xff\xfe"))
    (letter,) = receive(body_of_a(undecodable)).dead_letters
    assert json.loads(letter.payload) == undecodable
    assert letter.reason == "The text of the CID is not UTF-8."


def test_an_undecodable_event_does_not_affect_the_others() -> None:
    logs = [log_of_a(post_id=number, index=number) for number in range(500)]
    logs[250] = log_of_a(post_id=250, data="0x" + "ff" * 128)
    delivery = receive(body_of_a(*logs))
    assert [e.post_id for e in delivery.events] == [n for n in range(500) if n != 250]
    assert len(delivery.dead_letters) == 1


def test_a_malformed_cid_is_kept_as_spelled_but_not_parsed() -> None:
    (event,) = receive(body_of_a(log_of_a(data=event_data(b"hello")))).events
    assert (event.spelled_cid, event.cid) == ("hello", None)


@pytest.mark.parametrize(
    ("block", "changes"),
    [
        pytest.param({"number": 77}, {}, id="no block hash"),
        pytest.param({"hash": "0x1", "number": 77}, {}, id="a block hash that is none"),
        pytest.param({}, {}, id="nothing of the block"),
        pytest.param({"hash": BLOCK_HASH}, {"index": None}, id="no index"),
        pytest.param({"hash": BLOCK_HASH}, {"index": -1}, id="an index that is none"),
        pytest.param({"hash": BLOCK_HASH}, {"index": 2**63}, id="an index beyond any"),
        pytest.param({}, {"transaction": None}, id="no transaction"),
    ],
)
def test_a_log_without_a_full_position_always_gets_the_same_placeholder(
    block: Json, changes: Json
) -> None:
    body = body_of_a(log_of_a(**changes), log_of_a(post_id=10, **changes), block=block)
    first, second = receive(body).events
    assert first.place.block_hash.startswith("0x" + "0" * 16)
    assert first.place.block_hash != second.place.block_hash
    assert receive(body).events == (first, second)


@pytest.mark.parametrize("number", [77, "77", "0x4d"])
def test_a_block_number_may_be_a_number_or_a_string(number: object) -> None:
    body = body_of_a(log_of_a(), block={"hash": BLOCK_HASH, "number": number})
    assert receive(body).events[0].place.block_number == 77


@pytest.mark.parametrize(
    ("about", "counts"),
    [
        ({"network": "ETH_SEPOLIA"}, True),
        ({"network": "eth_sepolia"}, True),
        ({}, True),
        ({"network": None}, True),
        ({"network": "ETH_MAINNET"}, False),
        ({"network": "MATIC_MAINNET"}, False),
        ({"network": ""}, True),
        ({"network": "SOME_NETWORK_OF_TOMORROW"}, False),
        ({"network": {"name": "ETH_SEPOLIA"}}, False),
        ({"network": ["ETH_SEPOLIA"]}, False),
        ({"network": True}, False),
        ({"network": 1}, False),
        ({"network": 11155111}, True),
        ({"network": "0xaa36a7"}, True),
        ({"chainId": 11155111}, True),
        ({"chainId": "0xaa36a7"}, True),
        ({"chainId": "11155111"}, True),
        ({"chainId": 1}, False),
        ({"chainId": "mainnet"}, False),
    ],
)
def test_a_delivery_for_another_network_is_ignored(about: Json, counts: bool) -> None:
    delivery = receive(body_of_a(log_of_a(), **about), ON_SEPOLIA)
    assert (len(delivery.events), delivery.ignored) == ((1, 0) if counts else (0, 1))


@pytest.mark.parametrize(
    "path", [("network",), ("event", "network"), ("event", "data", "network")], ids=".".join
)
def test_the_network_may_be_named_at_several_levels_of_the_body(path: tuple[str, ...]) -> None:
    sent = json.loads(body_of_a(log_of_a(), log_of_a()))
    place = sent
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = "BASE_SEPOLIA"
    delivery = receive(json.dumps(sent).encode(), ON_SEPOLIA)
    assert (delivery.findings, delivery.ignored) == ((), 2)


@pytest.mark.parametrize(
    ("network", "counts"), [("MY-NET", True), ("my_net", True), ("ETH_SEPOLIA", True), ("x", False)]
)
def test_an_operator_can_add_network_names(network: str, counts: bool) -> None:
    provider = ProviderA([SECRET], 11155111, MARKET, ["my-net"])
    delivery = receive(body_of_a(log_of_a(), network=network), provider)
    assert bool(delivery.events) is counts


def test_invalid_logs_from_another_network_are_ignored() -> None:
    delivery = receive(body_of_a(log_of_a(), None, 5, network="ETH_MAINNET"), ON_SEPOLIA)
    assert (delivery.findings, delivery.ignored) == ((), 3)


HOLDER = Address("0x" + "b2" * 20)
ACCESS_LOGS = {
    "a transfer": (
        [TRANSFER, word(AUTHOR), word(HOLDER), f"0x{9:064x}"],
        (AUTHOR, HOLDER),
    ),
    "a mint": ([TRANSFER, word("0x" + "00" * 20), word(HOLDER), f"0x{9:064x}"], (HOLDER,)),
    "a purchase": ([POST_SUBSCRIBED, f"0x{9:064x}", word(HOLDER)], (HOLDER,)),
    "a price": ([POST_PRICE_UPDATED, f"0x{9:064x}"], None),
}


@pytest.mark.parametrize(("topics", "holders"), ACCESS_LOGS.values(), ids=ACCESS_LOGS.keys())
def test_a_log_that_changes_access_is_reported_but_counts_as_ignored(
    topics: list[str], holders: tuple[Address, ...] | None
) -> None:
    log = log_of_a(topics=topics, data="0x" + "00" * 64)
    delivery = receive(body_of_a(log, log_of_a()))
    assert delivery.access_changes is not None
    (change,) = delivery.access_changes
    assert (change.post_id, change.holders) == (9, holders)
    assert (len(delivery.events), delivery.ignored) == (1, 1)


@pytest.mark.parametrize(("topics", "holders"), ACCESS_LOGS.values(), ids=ACCESS_LOGS.keys())
def test_a_removed_log_is_reported_as_an_access_change(
    topics: list[str], holders: tuple[Address, ...] | None
) -> None:
    delivery = receive(body_of_a(log_of_a(topics=topics, data="0x", removed=True)))
    assert delivery.access_changes


@pytest.mark.parametrize("changes", [{"account": {"address": AUTHOR}}, {"topics": event_topics()}])
def test_a_log_from_another_contract_event_or_network_changes_no_access(changes: Json) -> None:
    log = log_of_a(topics=ACCESS_LOGS["a price"][0], data="0x") | changes
    assert receive(body_of_a(log)).access_changes == ()
    assert receive(body_of_a(log, network="ETH_MAINNET"), ON_SEPOLIA).access_changes == ()


@pytest.mark.parametrize(
    "log",
    [
        log_of_a(topics=[TRANSFER]),
        log_of_a(topics=[TRANSFER, word(AUTHOR), word(HOLDER), "0xzz"]),
        log_of_a(topics=[POST_PRICE_UPDATED, f"0x{9:064x}"], data=None),
        None,
        {"topics": None},
    ],
)
def test_an_undecodable_access_change_invalidates_all_access(log: object) -> None:
    delivery = receive(body_of_a(log, log_of_a()))
    assert delivery.access_changes is None
    assert [type(each) for each in delivery.findings] == [DeadLetter, PostCreated]


def test_an_undecodable_post_changes_no_access() -> None:
    assert receive(body_of_a(log_of_a(data="0x"))).access_changes == ()


QUIET = {
    "no logs": body_of_a(),
    "a provider's error": json.dumps({"event": {"error": "over capacity"}}).encode(),
    "no event": b"{}",
    "an event that is null": b'{"event":null}',
    "an array": b"[]",
    "a number": b"7",
    "logs that are an object": b'{"event":{"data":{"block":{"logs":{}}}}}',
}


@pytest.mark.parametrize("body", QUIET.values(), ids=QUIET.keys())
def test_a_signed_body_without_logs_is_an_empty_delivery(body: bytes) -> None:
    assert receive(body) == Delivery("provider-a", None)


NOTES = {
    "nothing": b"",
    "white space": b" \n",
    "no JSON": b"hello",
    "bytes": b"\xff\xfe",
    "a number beyond measure": b"1" * 5_000,
}


@pytest.mark.parametrize("body", NOTES.values(), ids=NOTES.keys())
def test_signed_text_that_is_not_json_is_ignored(body: bytes) -> None:
    assert receive(body) == Delivery("provider-a", None, ignored=1)


UNREADABLE = {
    "half a JSON": body_of_a(log_of_a())[:-5],
    "a deep array": b"[" * 100_000,
    "a deep and closed array": b"[" * 100_000 + b"]" * 100_000,
}


@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_signed_but_unreadable_json_is_a_dead_letter(body: bytes) -> None:
    delivery = receive(body)
    (letter,) = delivery.findings
    assert isinstance(letter, DeadLetter)
    assert body.startswith(letter.payload.encode())
    assert delivery.access_changes is None


@pytest.mark.parametrize(
    "malformed",
    [b"1e999", b"1" * 5_000, b"NaN", b'"\xff"', b'"\\ud800"', b'"\n"', b"[" * 2000 + b"]" * 2000],
)
def test_a_malformed_value_in_the_body_does_not_affect_the_log(malformed: bytes) -> None:
    good = body_of_a(log_of_a())
    around = good.replace(b'{"webhookId"', b'{"note": ' + malformed + b', "webhookId"')
    beside = good.replace(b'"logs": [', b'"logs": [' + malformed + b", ")
    for body in (around, beside):
        assert body != good
        delivery = receive(body)
        assert len(delivery.events) == 1
        assert len(delivery.dead_letters) == 1


def test_the_number_of_dead_letters_per_delivery_is_limited() -> None:
    large = log_of_a(data="0x" + "ff" * 50_000)
    delivery = receive(body_of_a(*[large] * 20, *[None] * 2_000, log_of_a()))
    letters = delivery.dead_letters
    assert len(letters) == logs.MAX_DEAD_LETTERS + 1
    assert letters[-1].reason == "1020 more dead letters of one delivery were discarded."
    assert sum(len(letter.payload) for letter in letters) <= logs.MAX_PAYLOADS
    assert len(delivery.events) == 1


def test_the_number_of_invalid_logs_is_limited() -> None:
    delivery = receive(body_of_a(log_of_a(), *[0] * logs.MAX_VALUES))
    assert len(delivery.events) == 1
    assert len(delivery.dead_letters) == logs.MAX_DEAD_LETTERS + 1
    assert delivery.access_changes is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["event", "data", "block", "logs", "account", "address", "topics", "hash"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(json_values, json_values, json_values, json_values)
def test_a_signed_delivery_is_never_refused(
    first: object, second: object, third: object, fourth: object
) -> None:
    receive(json.dumps(first).encode())
    receive(body_of_a(first, log_of_a(data=second, index=third, removed=fourth)))
    receive(body_of_a(log_of_a(topics=[TOPIC, first, second], transaction=third)))


@given(
    st.dictionaries(
        st.sampled_from(["x-alchemy-signature", "content-encoding"]), st.text(max_size=70)
    ),
    st.binary(max_size=200),
)
def test_an_unsigned_delivery_is_refused(headers: dict[str, str], body: bytes) -> None:
    assert not PROVIDER.is_connection_test(headers)
    with pytest.raises(Refusal):
        deliver(PROVIDER, headers, body)
