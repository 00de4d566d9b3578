"""Decoders of blocks, logs and receipts as nodes send them, and the bloom filter over logs.

Results arrive undecoded. A list of logs is taken apart first, and each log is decoded by itself,
so that a response of many megabytes is not built twice, and logs of others are not built at all.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import msgspec

from imprint.adapters.chain.http_client import NodeFailure
from imprint.domain.formats.addresses import Address, keccak256, parse_address
from imprint.domain.formats.hexadecimal import (
    NotHexadecimal,
    parse_hash,
    parse_hex_bytes,
    parse_hex_number,
)
from imprint.domain.posts.marketplace import Log
from imprint.domain.posts.posts import BlockRef, LogPlace

BLOOM_BITS = 2048
"""Bits of the filter in a block's header."""


LATEST_TIME = 253_402_300_799
"""The end of the year 9999, the last moment that is a date."""


class _BlockHeader(msgspec.Struct):
    number: str
    hash: str
    timestamp: str = "0x0"
    logs_bloom: str | None = msgspec.field(name="logsBloom", default=None)


class _WholeBlock(_BlockHeader):
    transactions: list[str] = []


class _LogHead(msgspec.Struct):
    address: str
    topics: list[str]


class _WholeLog(_LogHead, rename="camel"):
    data: str
    block_hash: str
    block_number: str
    log_index: str
    transaction_hash: str
    removed: bool | None = None
    block_timestamp: object = None


class _Receipt(msgspec.Struct, rename="camel"):
    transaction_hash: str
    block_hash: str
    logs: list[msgspec.Raw]


_HEADERS = msgspec.json.Decoder(_BlockHeader | None)
_BLOCKS = msgspec.json.Decoder(_WholeBlock | None)
_LISTS = msgspec.json.Decoder(list[msgspec.Raw])
_LOG_HEADS = msgspec.json.Decoder(_LogHead)
_LOGS = msgspec.json.Decoder(_WholeLog)
_RECEIPTS = msgspec.json.Decoder(_Receipt)


@dataclass(frozen=True, slots=True)
class Block:
    """A block with its time, its bloom filter (None if the node sent none) and transactions."""

    ref: BlockRef
    timestamp: int
    bloom: int | None
    transactions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LogFilter:
    """The logs of one contract with one of these first topics."""

    chain_id: int
    address: Address
    topics: Collection[bytes]

    def read_logs(self, result: msgspec.Raw) -> list[Log]:
        """The matching logs of a list. Raises `ValueError` and `MsgspecError`."""
        return list(self._select(_LISTS.decode(result)))

    def read_receipt(self, result: msgspec.Raw, tx_hash: str, block_hash: str) -> list[Log]:
        """The matching logs of the receipt of this transaction, which must be in this block.

        Raises `NodeFailure`, `ValueError` and `MsgspecError`.
        """
        receipt = _RECEIPTS.decode(result)
        place = parse_hash(receipt.transaction_hash), parse_hash(receipt.block_hash)
        if place != (tx_hash, block_hash):
            raise NodeFailure("a receipt is of another transaction or block")
        return list(self._select(receipt.logs))

    def may_match(self, bloom: int | None) -> bool:
        """Whether a block with this bloom filter may have such a log; False is certain."""
        if bloom is None:
            return True
        return any(bloom & mask == mask for mask in self._masks())

    def _masks(self) -> Iterator[int]:
        address = bloom_mask(bytes.fromhex(self.address[2:]))
        for topic in self.topics:
            yield address | bloom_mask(topic)

    def _select(self, logs: list[msgspec.Raw]) -> Iterator[Log]:
        for each in logs:
            head = _LOG_HEADS.decode(each)
            # Parsed before it is compared: what is malformed is a failure of the node.
            if parse_address(head.address.lower()) != self.address:
                continue
            if not head.topics or parse_hex_bytes(head.topics[0]) not in self.topics:
                continue
            log = self._read_log(_LOGS.decode(each))
            if not log.removed:
                yield log

    def _read_log(self, log: _WholeLog) -> Log:
        place = LogPlace(
            self.chain_id,
            parse_hash(log.block_hash),
            parse_hex_number(log.block_number),
            parse_hex_number(log.log_index),
            parse_hash(log.transaction_hash),
        )
        topics = tuple(parse_hex_bytes(topic) for topic in log.topics)
        data, time = parse_hex_bytes(log.data), _time_or_none(log.block_timestamp)
        return Log(self.address, topics, data, place, log.removed is True, time)


def read_block(result: msgspec.Raw) -> Block | None:
    """A block without its transactions; None for null. Raises `ValueError` and `MsgspecError`."""
    return _block_of(_HEADERS.decode(result), ())


def read_whole_block(result: msgspec.Raw) -> Block | None:
    """A block with the hashes of its transactions; None for null."""
    block = _BLOCKS.decode(result)
    return _block_of(block, () if block is None else map(parse_hash, block.transactions))


def bloom_mask(value: bytes) -> int:
    """The bits that a value sets in a bloom filter."""
    digest = keccak256(value)
    mask = 0
    for start in (0, 2, 4):
        mask |= 1 << (int.from_bytes(digest[start : start + 2], "big") % BLOOM_BITS)
    return mask


def _time_or_none(value: object) -> int | None:
    """The time beside a log; not all nodes send it, or in this form, and then the block has it."""
    try:
        seconds = parse_hex_number(value)
    except NotHexadecimal:
        return None
    return seconds if seconds <= LATEST_TIME else None


def _block_of(block: _BlockHeader | None, transactions: Iterable[str]) -> Block | None:
    if block is None:
        return None
    ref = BlockRef(parse_hex_number(block.number), parse_hash(block.hash))
    hashes = tuple(transactions)
    bloom = None
    if block.logs_bloom is not None and len(block.logs_bloom) == 2 + BLOOM_BITS // 4:
        bloom = int.from_bytes(parse_hex_bytes(block.logs_bloom), "big")
        if hashes and not bloom:
            # Some chains have no filter, and send one without bits for every block.
            bloom = None
    return Block(ref, parse_hex_number(block.timestamp), bloom, hashes)
