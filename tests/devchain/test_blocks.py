"""Block headers, checked against the published format."""

from typing import Any

import rlp as reference
from eth_account import Account

from imprint.devchain.blocks import EMPTY_ROOT, EMPTY_UNCLES
from imprint.devchain.evm import keccak256

STRANGER = "0x" + "ab" * 20


def unhex(value: str) -> bytes:
    digits = value[2:]
    return bytes.fromhex(digits if len(digits) % 2 == 0 else "0" + digits)


def number(value: str) -> bytes:
    return unhex(value).lstrip(b"\0")


def test_empty_root_and_empty_uncles_are_the_hashes_of_empty_values() -> None:
    assert keccak256(reference.encode(b"")) == EMPTY_ROOT
    assert keccak256(reference.encode([])) == EMPTY_UNCLES


def test_a_block_is_identified_by_the_hash_of_its_header(bench: Any, client: Any) -> None:
    bench.send(to=STRANGER, value=1)
    block = client.ask("eth_getBlockByNumber", "latest", False)
    header = [
        unhex(block["parentHash"]),
        unhex(block["sha3Uncles"]),
        unhex(block["miner"]),
        unhex(block["stateRoot"]),
        unhex(block["transactionsRoot"]),
        unhex(block["receiptsRoot"]),
        unhex(block["logsBloom"]),
        number(block["difficulty"]),
        number(block["number"]),
        number(block["gasLimit"]),
        number(block["gasUsed"]),
        number(block["timestamp"]),
        unhex(block["extraData"]),
        unhex(block["mixHash"]),
        unhex(block["nonce"]),
        number(block["baseFeePerGas"]),
        unhex(block["withdrawalsRoot"]),
        number(block["blobGasUsed"]),
        number(block["excessBlobGas"]),
        unhex(block["parentBeaconBlockRoot"]),
    ]
    assert unhex(block["hash"]) == keccak256(reference.encode(header))


def test_a_transaction_is_identified_by_the_hash_of_its_bytes(bench: Any) -> None:
    key = bench.chain.wallet.addresses[0]
    fields = {"to": unhex(STRANGER), "value": 1, "gas": 21_000, "nonce": 0, "chainId": 31337}
    raw = bench.chain.wallet.sign_transaction(key, fields | {"gasPrice": 10**9})
    receipt = bench.chain.submit(raw).receipt
    assert receipt.transaction.hash == keccak256(raw)
    assert Account.recover_transaction(raw).lower() == receipt.transaction.sender


def test_the_bloom_filter_contains_the_address_and_topics_of_each_log(
    bench: Any, marketplace: str
) -> None:
    receipt = bench.publish(marketplace)
    bits = int.from_bytes(receipt.bloom, "big")
    for log in receipt.logs:
        for item in (unhex(log.address), *log.topics):
            digest = keccak256(item)
            for start in (0, 2, 4):
                place = int.from_bytes(digest[start : start + 2], "big") & 2047
                assert bits >> place & 1
    assert bits.bit_count() <= 3 * sum(1 + len(log.topics) for log in receipt.logs)
