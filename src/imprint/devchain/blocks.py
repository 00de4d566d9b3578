"""Blocks and receipts: values, and the header whose hash names a block."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from imprint.devchain import rlp
from imprint.devchain.evm import BLOCK_GAS_LIMIT, COINBASE, Changes, Log, hash_bytes
from imprint.devchain.transactions import DYNAMIC_FEE, LEGACY, Transaction

__all__ = ["Block", "Receipt", "fill_bloom", "seal_block"]

EMPTY_ROOT = bytes.fromhex("56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421")
"""The root of a trie with nothing in it."""

EMPTY_UNCLES = bytes.fromhex("1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347")
"""The hash of an empty list of uncles."""

_BLOOM_BITS = 2048


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a transaction."""

    transaction: Transaction
    success: bool
    gas_used: int
    gas_price: int
    created: str | None
    logs: tuple[Log, ...]
    bloom: bytes


@dataclass(frozen=True, slots=True)
class Block:
    """One block, with at most one transaction."""

    number: int
    hash: bytes
    parent_hash: bytes
    timestamp: int
    state_root: bytes
    transactions_root: bytes
    receipts_root: bytes
    bloom: bytes
    randomness: bytes
    gas_used: int
    size: int
    receipt: Receipt | None


def seal_block(
    parent: Block | None, timestamp: int, receipt: Receipt | None, changes: Changes
) -> Block:
    """Build the block that follows its parent.

    The header is encoded as the network does it, and so are both roots over the block's one
    transaction. Only the state root is a digest of the changes since the first block, since there
    is no trie of accounts.
    """
    parent_hash = parent.hash if parent else bytes(32)
    number = parent.number + 1 if parent else 0
    state_root = _fold_state(parent.state_root if parent else bytes(32), changes)
    transactions_root = _root_of_one(receipt.transaction.raw) if receipt else EMPTY_ROOT
    receipts_root = _root_of_one(_encode_receipt(receipt)) if receipt else EMPTY_ROOT
    bloom = receipt.bloom if receipt else bytes(_BLOOM_BITS // 8)
    gas_used = receipt.gas_used if receipt else 0
    randomness = hash_bytes(parent_hash)
    header = rlp.encode(
        [
            parent_hash,
            EMPTY_UNCLES,
            bytes.fromhex(COINBASE[2:]),
            state_root,
            transactions_root,
            receipts_root,
            bloom,
            0,  # difficulty
            number,
            BLOCK_GAS_LIMIT,
            gas_used,
            timestamp,
            b"",  # extra data
            randomness,
            bytes(8),  # nonce
            0,  # base fee
            EMPTY_ROOT,  # withdrawals
            0,  # blob gas used
            0,  # excess blob gas
            bytes(32),  # parent beacon block
        ]
    )
    return Block(
        number=number,
        hash=hash_bytes(header),
        parent_hash=parent_hash,
        timestamp=timestamp,
        state_root=state_root,
        transactions_root=transactions_root,
        receipts_root=receipts_root,
        bloom=bloom,
        randomness=randomness,
        gas_used=gas_used,
        size=len(header) + (len(receipt.transaction.raw) if receipt else 0),
        receipt=receipt,
    )


def fill_bloom(logs: tuple[Log, ...]) -> bytes:
    """Build the bloom filter over the addresses and topics of logs."""
    bits = 0
    for log in logs:
        for item in (bytes.fromhex(log.address[2:]), *log.topics):
            digest = hash_bytes(item)
            for start in (0, 2, 4):
                bits |= 1 << (int.from_bytes(digest[start : start + 2], "big") % _BLOOM_BITS)
    return bits.to_bytes(_BLOOM_BITS // 8, "big")


def _root_of_one(value: bytes) -> bytes:
    # A trie with one entry is one leaf; the key is the encoded index 0, the byte 0x80.
    return hash_bytes(rlp.encode([b"\x20\x80", value]))


def _encode_receipt(receipt: Receipt) -> bytes:
    logs: list[rlp.Item] = [
        [bytes.fromhex(log.address[2:]), list(log.topics), log.data] for log in receipt.logs
    ]
    body = rlp.encode([int(receipt.success), receipt.gas_used, receipt.bloom, logs])
    kind = receipt.transaction.kind
    return body if kind == LEGACY else bytes([kind]) + body


def _fold_state(before: bytes, changes: Changes) -> bytes:
    accounts: list[rlp.Item] = [
        [address.encode(), account.nonce, account.balance, hash_bytes(account.code)]
        for address, account in sorted(changes.accounts.items())
    ]
    slots: list[rlp.Item] = [
        [address.encode(), index, value]
        for (address, index), value in sorted(changes.slots.items())
    ]
    return hash_bytes(rlp.encode([before, accounts, slots]))


__all__ = [
    "Answer",
    "show_block",
    "show_bytes",
    "show_logs",
    "show_quantity",
    "show_receipt",
    "show_transaction",
]

Answer = dict[str, Any]
"""A JSON object."""


def show_quantity(number: int) -> str:
    """Write a number in hex without leading zeros."""
    return hex(number)


def show_bytes(data: bytes) -> str:
    """Write bytes in hex."""
    return "0x" + data.hex()


def show_block(block: Block, *, whole: bool) -> Answer:
    """Show a block with its transactions, whole or by their hashes."""
    transactions: list[Answer | str] = []
    if block.receipt is not None:
        bare = show_bytes(block.receipt.transaction.hash)
        transactions.append(show_transaction(block, block.receipt) if whole else bare)
    return {
        "number": show_quantity(block.number),
        "hash": show_bytes(block.hash),
        "parentHash": show_bytes(block.parent_hash),
        "nonce": show_bytes(bytes(8)),
        "sha3Uncles": show_bytes(EMPTY_UNCLES),
        "logsBloom": show_bytes(block.bloom),
        "transactionsRoot": show_bytes(block.transactions_root),
        "stateRoot": show_bytes(block.state_root),
        "receiptsRoot": show_bytes(block.receipts_root),
        "miner": COINBASE,
        "difficulty": "0x0",
        "totalDifficulty": "0x0",
        "extraData": "0x",
        "mixHash": show_bytes(block.randomness),
        "size": show_quantity(block.size),
        "gasLimit": show_quantity(BLOCK_GAS_LIMIT),
        "gasUsed": show_quantity(block.gas_used),
        "timestamp": show_quantity(block.timestamp),
        "baseFeePerGas": "0x0",
        "withdrawalsRoot": show_bytes(EMPTY_ROOT),
        "blobGasUsed": "0x0",
        "excessBlobGas": "0x0",
        "parentBeaconBlockRoot": show_bytes(bytes(32)),
        "transactions": transactions,
        "withdrawals": [],
        "uncles": [],
    }


def show_transaction(block: Block, receipt: Receipt) -> Answer:
    """Show a transaction that a block holds."""
    transaction = receipt.transaction
    shown: Answer = {
        "blockHash": show_bytes(block.hash),
        "blockNumber": show_quantity(block.number),
        "transactionIndex": "0x0",
        "hash": show_bytes(transaction.hash),
        "type": show_quantity(transaction.kind),
        "chainId": show_quantity(transaction.chain_id),
        "nonce": show_quantity(transaction.nonce),
        "from": transaction.sender,
        "to": transaction.to,
        "value": show_quantity(transaction.value),
        "input": show_bytes(transaction.data),
        "gas": show_quantity(transaction.gas),
        "gasPrice": show_quantity(receipt.gas_price),
        "v": show_quantity(transaction.v),
        "r": show_quantity(transaction.r),
        "s": show_quantity(transaction.s),
    }
    if transaction.kind != LEGACY:
        shown["yParity"] = show_quantity(transaction.v)
        shown["accessList"] = [
            {
                "address": address,
                "storageKeys": [show_bytes(slot.to_bytes(32, "big")) for slot in slots],
            }
            for address, slots in transaction.access_list
        ]
    if transaction.kind == DYNAMIC_FEE:
        shown["maxFeePerGas"] = show_quantity(transaction.max_fee)
        shown["maxPriorityFeePerGas"] = show_quantity(transaction.max_priority_fee)
    return shown


def show_receipt(block: Block, receipt: Receipt) -> Answer:
    """Show what became of a transaction."""
    transaction = receipt.transaction
    return {
        "transactionHash": show_bytes(transaction.hash),
        "transactionIndex": "0x0",
        "blockHash": show_bytes(block.hash),
        "blockNumber": show_quantity(block.number),
        "from": transaction.sender,
        "to": transaction.to,
        "type": show_quantity(transaction.kind),
        "status": show_quantity(int(receipt.success)),
        "contractAddress": receipt.created,
        "gasUsed": show_quantity(receipt.gas_used),
        "cumulativeGasUsed": show_quantity(receipt.gas_used),
        "effectiveGasPrice": show_quantity(receipt.gas_price),
        "logsBloom": show_bytes(receipt.bloom),
        "logs": show_logs(block),
    }


def show_logs(block: Block) -> Sequence[Answer]:
    """Show all logs of a block."""
    if block.receipt is None:
        return []
    transaction_hash = show_bytes(block.receipt.transaction.hash)
    return [
        {
            "address": log.address,
            "topics": [show_bytes(topic) for topic in log.topics],
            "data": show_bytes(log.data),
            "blockHash": show_bytes(block.hash),
            "blockNumber": show_quantity(block.number),
            "blockTimestamp": show_quantity(block.timestamp),
            "transactionHash": transaction_hash,
            "transactionIndex": "0x0",
            "logIndex": show_quantity(index),
            "removed": False,
        }
        for index, log in enumerate(block.receipt.logs)
    ]
