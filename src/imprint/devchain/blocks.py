"""Blocks and receipts: values, and the header whose hash names a block."""

from dataclasses import dataclass

from imprint.devchain import rlp
from imprint.devchain.machine import BLOCK_GAS_LIMIT, COINBASE, Changes, Log, hash_bytes
from imprint.devchain.transactions import LEGACY, Transaction

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
