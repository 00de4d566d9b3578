"""Log filters, on a chain with two contracts that emit different logs."""

from typing import Any

import pytest

WORDS = {name: f"0x{number:064x}" for number, name in enumerate(["one", "two", "three"], start=1)}


def speaker(first: int, second: int) -> str:
    """Build contract code that logs the word 42 with two topics."""
    return f"602a5f52 60{second:02x} 60{first:02x} 60205fa2 00"


@pytest.fixture
def voices(bench: Any) -> tuple[str, str]:
    """Two contracts, created in blocks 1 and 2. In blocks 3 to 5, the first, the second and
    again the first one emit a log."""
    left, right = bench.deploy(speaker(1, 2)), bench.deploy(speaker(1, 3))
    for one in (left, right, left):
        bench.send(to=one)
    return left, right


def numbers(client: Any, **wanted: Any) -> list[int]:
    asked = {"fromBlock": "earliest", "toBlock": "latest"} | wanted
    return [int(log["blockNumber"], 16) for log in client.ask("eth_getLogs", asked)]


def test_without_conditions_all_logs_are_returned_in_order(client: Any, voices: Any) -> None:
    assert numbers(client) == [3, 4, 5]


def test_logs_are_filtered_by_address(client: Any, voices: Any) -> None:
    assert numbers(client, address=voices[1]) == [4]


def test_an_address_may_be_in_any_case(client: Any, voices: Any) -> None:
    assert numbers(client, address="0x" + voices[1][2:].upper()) == [4]


def test_logs_are_filtered_by_several_addresses(client: Any, voices: Any) -> None:
    assert numbers(client, address=list(voices)) == [3, 4, 5]
    assert numbers(client, address=[]) == [3, 4, 5]


@pytest.mark.parametrize(
    ("topics", "found"),
    [
        ([], [3, 4, 5]),
        ([WORDS["one"]], [3, 4, 5]),
        ([WORDS["two"]], []),
        ([None, WORDS["two"]], [3, 5]),
        ([WORDS["one"], WORDS["three"]], [4]),
        ([None, [WORDS["two"], WORDS["three"]]], [3, 4, 5]),
        ([[], WORDS["three"]], [4]),
        ([[None, WORDS["two"]], WORDS["three"]], [4]),
        ([None, None], [3, 4, 5]),
        ([None, None, None], []),
    ],
)
def test_logs_are_filtered_by_topic_at_each_position(
    client: Any, voices: Any, topics: list[Any], found: list[int]
) -> None:
    assert numbers(client, topics=topics) == found


def test_a_block_range_includes_both_ends(client: Any, voices: Any) -> None:
    assert numbers(client, fromBlock="0x3", toBlock="0x4") == [3, 4]


def test_a_range_may_end_above_the_newest_block(client: Any, voices: Any) -> None:
    assert numbers(client, fromBlock="0x5", toBlock="0xff") == [5]
    assert numbers(client, fromBlock="0xfe", toBlock="0xff") == []


def test_without_a_range_only_the_newest_block_is_searched(client: Any, voices: Any) -> None:
    assert [log["blockNumber"] for log in client.ask("eth_getLogs", {})] == ["0x5"]


def test_logs_are_filtered_by_block_hash(client: Any, voices: Any) -> None:
    name = client.ask("eth_getBlockByNumber", "0x4", False)["hash"]
    (log,) = client.ask("eth_getLogs", {"blockHash": name})
    assert log["address"] == voices[1]


def test_an_unknown_block_hash_is_refused(client: Any) -> None:
    error = client.fail("eth_getLogs", {"blockHash": "0x" + "11" * 32})
    assert (error["code"], error["message"]) == (-32000, "unknown block")


@pytest.mark.parametrize(
    "wanted",
    [
        {"fromBlock": "0x2", "toBlock": "0x1"},
        {"blockHash": "0x" + "11" * 32, "fromBlock": "0x0"},
        {"address": "0x12"},
        {"topics": ["0x12"]},
        {"topics": [None] * 5},
        {"topics": [[["0x12"]]]},
        {"fromBlock": "soon"},
        [],
    ],
)
def test_an_invalid_filter_is_refused(client: Any, bench: Any, wanted: Any) -> None:
    bench.chain.mine()
    bench.chain.mine()
    assert client.fail("eth_getLogs", wanted)["code"] == -32602


def test_a_log_matches_its_receipt(client: Any, voices: Any) -> None:
    (log,) = client.ask("eth_getLogs", {})
    receipt = client.ask("eth_getTransactionReceipt", log["transactionHash"])
    assert receipt["logs"] == [log]
    assert log["topics"] == [WORDS["one"], WORDS["two"]]
    assert log["data"] == f"0x{42:064x}"
    assert (log["logIndex"], log["transactionIndex"], log["removed"]) == ("0x0", "0x0", False)
    assert log["blockHash"] == receipt["blockHash"]
