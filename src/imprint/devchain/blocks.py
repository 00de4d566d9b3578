"""Blocks and receipts: how blocks are built and hashed, and their JSON-RPC encoding."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import rlp

from imprint.devchain.evm import BLOCK_GAS_LIMIT, COINBASE, Changes, Log, keccak256
from imprint.devchain.transactions import DYNAMIC_FEE, LEGACY, Transaction

EMPTY_ROOT = bytes.fromhex("56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421")
"""The root hash of an empty trie."""

EMPTY_UNCLES = bytes.fromhex("1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347")
"""The hash of an empty uncle list."""

_BLOOM_BITS = 2048

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Receipt:
    """The result of a transaction in a block."""

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


def build_block(
    parent: Block | None, timestamp: int, receipt: Receipt | None, changes: Changes
) -> Block:
    """Build the block that follows `parent`, or the genesis block.

    The header, transactions root and receipts root are computed as on a real network. There is no
    account trie, so the state root is a running digest of all state changes since the genesis
    block.
    """
    parent_hash = parent.hash if parent else bytes(32)
    number = parent.number + 1 if parent else 0
    state_root = _fold_state(parent.state_root if parent else bytes(32), changes)
    transactions_root = _root_of_one(receipt.transaction.raw) if receipt else EMPTY_ROOT
    receipts_root = _root_of_one(_rlp_receipt(receipt)) if receipt else EMPTY_ROOT
    bloom = receipt.bloom if receipt else bytes(_BLOOM_BITS // 8)
    gas_used = receipt.gas_used if receipt else 0
    randomness = keccak256(parent_hash)
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
        hash=keccak256(header),
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
    """Compute the bloom filter of the addresses and topics in logs."""
    bits = 0
    for log in logs:
        for item in (bytes.fromhex(log.address[2:]), *log.topics):
            digest = keccak256(item)
            for start in (0, 2, 4):
                bits |= 1 << (int.from_bytes(digest[start : start + 2], "big") % _BLOOM_BITS)
    return bits.to_bytes(_BLOOM_BITS // 8, "big")


def _root_of_one(value: bytes) -> bytes:
    # A trie with one entry is one leaf; the key is the encoded index 0, the byte 0x80.
    return keccak256(rlp.encode([b"\x20\x80", value]))


def _rlp_receipt(receipt: Receipt) -> bytes:
    logs = [[bytes.fromhex(log.address[2:]), list(log.topics), log.data] for log in receipt.logs]
    body: bytes = rlp.encode([int(receipt.success), receipt.gas_used, receipt.bloom, logs])
    kind = receipt.transaction.kind
    return body if kind == LEGACY else bytes([kind]) + body


def _fold_state(before: bytes, changes: Changes) -> bytes:
    accounts = [
        [address.encode(), account.nonce, account.balance, keccak256(account.code)]
        for address, account in sorted(changes.accounts.items())
    ]
    slots = [
        [address.encode(), index, value]
        for (address, index), value in sorted(changes.slots.items())
    ]
    return keccak256(rlp.encode([before, accounts, slots]))


def encode_quantity(number: int) -> str:
    """Encode a number as hex without leading zeros."""
    return hex(number)


def encode_bytes(data: bytes) -> str:
    """Encode bytes as hex."""
    return "0x" + data.hex()


def encode_block(block: Block, *, whole: bool) -> JsonObject:
    """Encode a block, with full transactions if `whole` and with their hashes otherwise."""
    transactions: list[JsonObject | str] = []
    if block.receipt is not None:
        transactions.append(
            encode_transaction(block, block.receipt)
            if whole
            else encode_bytes(block.receipt.transaction.hash)
        )
    return {
        "number": encode_quantity(block.number),
        "hash": encode_bytes(block.hash),
        "parentHash": encode_bytes(block.parent_hash),
        "nonce": encode_bytes(bytes(8)),
        "sha3Uncles": encode_bytes(EMPTY_UNCLES),
        "logsBloom": encode_bytes(block.bloom),
        "transactionsRoot": encode_bytes(block.transactions_root),
        "stateRoot": encode_bytes(block.state_root),
        "receiptsRoot": encode_bytes(block.receipts_root),
        "miner": COINBASE,
        "difficulty": "0x0",
        "totalDifficulty": "0x0",
        "extraData": "0x",
        "mixHash": encode_bytes(block.randomness),
        "size": encode_quantity(block.size),
        "gasLimit": encode_quantity(BLOCK_GAS_LIMIT),
        "gasUsed": encode_quantity(block.gas_used),
        "timestamp": encode_quantity(block.timestamp),
        "baseFeePerGas": "0x0",
        "withdrawalsRoot": encode_bytes(EMPTY_ROOT),
        "blobGasUsed": "0x0",
        "excessBlobGas": "0x0",
        "parentBeaconBlockRoot": encode_bytes(bytes(32)),
        "transactions": transactions,
        "withdrawals": [],
        "uncles": [],
    }


def encode_transaction(block: Block, receipt: Receipt) -> JsonObject:
    """Encode a transaction in a block."""
    transaction = receipt.transaction
    encoded: JsonObject = {
        "blockHash": encode_bytes(block.hash),
        "blockNumber": encode_quantity(block.number),
        "transactionIndex": "0x0",
        "hash": encode_bytes(transaction.hash),
        "type": encode_quantity(transaction.kind),
        "chainId": encode_quantity(transaction.chain_id),
        "nonce": encode_quantity(transaction.nonce),
        "from": transaction.sender,
        "to": transaction.to,
        "value": encode_quantity(transaction.value),
        "input": encode_bytes(transaction.data),
        "gas": encode_quantity(transaction.gas),
        "gasPrice": encode_quantity(receipt.gas_price),
        "v": encode_quantity(transaction.v),
        "r": encode_quantity(transaction.r),
        "s": encode_quantity(transaction.s),
    }
    if transaction.kind != LEGACY:
        encoded["yParity"] = encode_quantity(transaction.v)
        encoded["accessList"] = [
            {
                "address": address,
                "storageKeys": [encode_bytes(slot.to_bytes(32, "big")) for slot in slots],
            }
            for address, slots in transaction.access_list
        ]
    if transaction.kind == DYNAMIC_FEE:
        encoded["maxFeePerGas"] = encode_quantity(transaction.max_fee)
        encoded["maxPriorityFeePerGas"] = encode_quantity(transaction.max_priority_fee)
    return encoded


def encode_receipt(block: Block, receipt: Receipt) -> JsonObject:
    """Encode the receipt of a transaction."""
    transaction = receipt.transaction
    return {
        "transactionHash": encode_bytes(transaction.hash),
        "transactionIndex": "0x0",
        "blockHash": encode_bytes(block.hash),
        "blockNumber": encode_quantity(block.number),
        "from": transaction.sender,
        "to": transaction.to,
        "type": encode_quantity(transaction.kind),
        "status": encode_quantity(int(receipt.success)),
        "contractAddress": receipt.created,
        "gasUsed": encode_quantity(receipt.gas_used),
        "cumulativeGasUsed": encode_quantity(receipt.gas_used),
        "effectiveGasPrice": encode_quantity(receipt.gas_price),
        "logsBloom": encode_bytes(receipt.bloom),
        "logs": encode_logs(block),
    }


def encode_logs(block: Block) -> Sequence[JsonObject]:
    """Encode all logs of a block."""
    if block.receipt is None:
        return []
    transaction_hash = encode_bytes(block.receipt.transaction.hash)
    return [
        {
            "address": log.address,
            "topics": [encode_bytes(topic) for topic in log.topics],
            "data": encode_bytes(log.data),
            "blockHash": encode_bytes(block.hash),
            "blockNumber": encode_quantity(block.number),
            "blockTimestamp": encode_quantity(block.timestamp),
            "transactionHash": transaction_hash,
            "transactionIndex": "0x0",
            "logIndex": encode_quantity(index),
            "removed": False,
        }
        for index, log in enumerate(block.receipt.logs)
    ]
