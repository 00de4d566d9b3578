"""JSON-RPC methods: read-only queries, and actions."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from imprint.devchain.blocks import (
    Block,
    JsonObject,
    encode_block,
    encode_bytes,
    encode_logs,
    encode_quantity,
    encode_receipt,
    encode_transaction,
)
from imprint.devchain.calls import GAS_PRICE, Request, call, estimate_gas, sign_request, to_message
from imprint.devchain.chain import Chain
from imprint.devchain.evm import BLOCK_GAS_LIMIT

T = TypeVar("T")

_QUANTITY = re.compile(r"0x(0|[1-9a-fA-F][0-9a-fA-F]{0,63})", re.ASCII)
_BYTES = re.compile(r"0x([0-9a-fA-F]{2})*", re.ASCII)
_SLOT = re.compile(r"0x[0-9a-fA-F]{1,64}", re.ASCII)
_ADDRESS_BYTES = 20
_HASH_BYTES = 32

_HEAD_TAGS = frozenset({"latest", "pending", "safe", "finalized"})
"""Tags that mean the newest block. Nothing is ever pending, and every block is final
immediately."""


class BadParameter(Exception):
    """A parameter is missing, superfluous or malformed."""


class Unavailable(Exception):
    """The parameters are well formed but refer to something that this chain does not have."""


class Parameters:
    """The positional parameters of one request."""

    def __init__(self, values: Sequence[object], most: int) -> None:
        if len(values) > most:
            raise BadParameter(f"too many arguments, want at most {most}")
        self._values = values

    def take(self, index: int, parse: Callable[[object], T]) -> T:
        """Parse a required parameter."""
        if index >= len(self._values):
            raise BadParameter(f"missing value for required argument {index}")
        try:
            return parse(self._values[index])
        except BadParameter as error:
            raise BadParameter(f"invalid argument {index}: {error}") from error

    def take_or(self, index: int, parse: Callable[[object], T], default: T) -> T:
        """Parse a parameter that may be absent or null."""
        if index >= len(self._values) or self._values[index] is None:
            return default
        return self.take(index, parse)


def parse_quantity(value: object) -> int:
    """Parse a hexadecimal number of at most 256 bits, without leading zeros."""
    if not isinstance(value, str) or not _QUANTITY.fullmatch(value):
        raise BadParameter("expected a hex quantity without leading zeros")
    return int(value, 16)


def parse_bytes(value: object) -> bytes:
    """Parse hexadecimal bytes."""
    if not isinstance(value, str) or not _BYTES.fullmatch(value):
        raise BadParameter("expected hex bytes of even length with the prefix 0x")
    return bytes.fromhex(value[2:])


def parse_hash(value: object) -> bytes:
    """Parse a 32-byte hash."""
    data = parse_bytes(value)
    if len(data) != _HASH_BYTES:
        raise BadParameter("expected 32 bytes")
    return data


def parse_address(value: object) -> str:
    """Parse an address in any letter case and return it in lower case."""
    data = parse_bytes(value)
    if len(data) != _ADDRESS_BYTES:
        raise BadParameter("expected an address of 20 bytes")
    return "0x" + data.hex()


def parse_slot(value: object) -> int:
    """Parse the index of a storage slot, which may have leading zeros."""
    if not isinstance(value, str) or not _SLOT.fullmatch(value):
        raise BadParameter("expected a storage slot in hex")
    return int(value, 16)


def parse_request(value: object) -> Request:
    """Parse a transaction or call object. Unknown members are ignored."""
    fields = parse_object(value)

    def read(name: str, parse: Callable[[object], T]) -> T | None:
        given = fields.get(name)
        try:
            return None if given is None else parse(given)
        except BadParameter as error:
            raise BadParameter(f"{name}: {error}") from error

    data, spelled_input = read("data", parse_bytes), read("input", parse_bytes)
    if data is not None and spelled_input is not None and data != spelled_input:
        raise BadParameter('both "data" and "input" are set and not equal')
    return Request(
        sender=read("from", parse_address),
        to=read("to", parse_address),
        data=data or spelled_input or b"",
        value=read("value", parse_quantity) or 0,
        gas=read("gas", parse_quantity),
        nonce=read("nonce", parse_quantity),
        gas_price=read("gasPrice", parse_quantity),
        max_fee=read("maxFeePerGas", parse_quantity),
        max_priority_fee=read("maxPriorityFeePerGas", parse_quantity),
        access_list=read("accessList", _parse_access_list),
    )


def parse_object(value: object) -> Mapping[str, object]:
    """Check that a value is a JSON object."""
    if not isinstance(value, dict):
        raise BadParameter("expected an object")
    return value


def find_block(chain: Chain, value: object) -> Block | None:
    """Find the block named by a tag, a number, or an object with a number or hash."""
    if isinstance(value, dict):
        if "blockHash" in value:
            return chain.block_by_hash(parse_hash(value["blockHash"]))
        return chain.block(parse_quantity(value.get("blockNumber")))
    if isinstance(value, str) and value in _HEAD_TAGS:
        return chain.head
    if value == "earliest":
        return chain.block(0)
    return chain.block(parse_quantity(value))


def require_head(chain: Chain, value: object) -> None:
    """Accept only references to the newest block, because older state is not kept.

    Raises `Unavailable`.
    """
    block = find_block(chain, value)
    if block is None:
        raise Unavailable("header not found")
    if block is not chain.head:
        raise Unavailable(
            f"state of block {block.number} is not kept: only of the newest, {chain.head.number}"
        )


def _parse_access_list(value: object) -> tuple[tuple[str, tuple[int, ...]], ...]:
    if not isinstance(value, list):
        raise BadParameter("expected an array")
    entries: list[tuple[str, tuple[int, ...]]] = []
    for one in value:
        fields = parse_object(one)
        keys = fields.get("storageKeys")
        if not isinstance(keys, list):
            raise BadParameter("expected storageKeys")
        slots = tuple(int.from_bytes(parse_hash(key), "big") for key in keys)
        entries.append((parse_address(fields.get("address")), slots))
    return tuple(entries)


_MAX_TOPICS = 4
"""Maximum number of topics in a log."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A block range and the criteria for its logs. An empty set matches everything."""

    first: int
    last: int
    addresses: frozenset[str]
    topics: tuple[frozenset[str], ...]

    def matches(self, log: JsonObject) -> bool:
        """Whether a log matches: the topic at each position must be one of the alternatives."""
        if self.addresses and log["address"] not in self.addresses:
            return False
        topics = log["topics"]
        return len(topics) >= len(self.topics) and all(
            not wanted or topic in wanted
            for wanted, topic in zip(self.topics, topics, strict=False)
        )


def parse_filter(chain: Chain, value: object) -> Filter:
    """Parse a filter object.

    Raises `BadParameter` for a malformed filter or one with both a range and a block hash,
    and `Unavailable` for an unknown block.
    """
    fields = parse_object(value)
    first, last = _parse_range(chain, fields)
    return Filter(
        first=first,
        last=last,
        addresses=frozenset(parse_address(one) for one in _listed(fields.get("address"))),
        topics=_parse_topics(fields.get("topics")),
    )


def select_logs(chain: Chain, wanted: Filter) -> Sequence[JsonObject]:
    """Collect the matching logs in block order."""
    found: list[JsonObject] = []
    for number in range(wanted.first, min(wanted.last, chain.head.number) + 1):
        block = chain.block(number)
        if block is not None:
            found.extend(log for log in encode_logs(block) if wanted.matches(log))
    return found


def _parse_range(chain: Chain, fields: object) -> tuple[int, int]:
    range_fields = parse_object(fields)
    block_hash = range_fields.get("blockHash")
    if block_hash is not None:
        if range_fields.get("fromBlock") is not None or range_fields.get("toBlock") is not None:
            raise BadParameter("cannot specify both blockHash and fromBlock/toBlock")
        block = chain.block_by_hash(parse_hash(block_hash))
        if block is None:
            raise Unavailable("unknown block")
        return block.number, block.number
    first = _parse_edge(chain, range_fields.get("fromBlock"))
    last = _parse_edge(chain, range_fields.get("toBlock"))
    if first > last:
        raise BadParameter("invalid block range params")
    return first, last


def _parse_edge(chain: Chain, value: object) -> int:
    if value is None:
        return chain.head.number
    block: Block | None = find_block(chain, value)
    # A range may end above the newest block.
    return block.number if block is not None else chain.head.number + 1


def _listed(value: object) -> list[object]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _parse_topics(value: object) -> tuple[frozenset[str], ...]:
    positions = _listed(value)
    if len(positions) > _MAX_TOPICS:
        raise BadParameter("exceed max topics")
    return tuple(_parse_position(one) for one in positions)


def _parse_position(value: object) -> frozenset[str]:
    alternatives = _listed(value)
    if None in alternatives:
        return frozenset()
    return frozenset("0x" + parse_hash(one).hex() for one in alternatives)


_MAX_FEE_HISTORY = 1024
"""Maximum number of blocks in one `eth_feeHistory` call."""

_MAX_ADVANCE = 10**9
"""Maximum number of seconds in one `evm_increaseTime` call, about thirty years."""


class LogRangeExceeded(Exception):
    """A log filter covers more blocks than this node allows."""


@dataclass(frozen=True, slots=True)
class Method:
    """A JSON-RPC method, and the maximum number of parameters that it accepts."""

    run: Callable[[Chain, Parameters], object]
    most: int


def select_logs_within(limit: int | None) -> Method:
    """Build `eth_getLogs` with a limit on its block range."""

    def run(chain: Chain, parameters: Parameters) -> Sequence[JsonObject]:
        wanted = parameters.take(0, lambda value: parse_filter(chain, value))
        if limit is not None and wanted.last - wanted.first >= limit:
            raise LogRangeExceeded(f"query exceeds max block range {limit}")
        return select_logs(chain, wanted)

    return Method(run, 1)


def _at_head(
    parse: Callable[[object], T], read: Callable[[Chain, T], object]
) -> Callable[[Chain, Parameters], object]:
    """Build a method that reads the newest block. Its last parameter may name that block."""

    def run(chain: Chain, parameters: Parameters) -> object:
        subject = parameters.take(0, parse)
        parameters.take_or(1, lambda value: require_head(chain, value), None)
        return read(chain, subject)

    return run


def _read_slot(chain: Chain, parameters: Parameters) -> str:
    address, index = parameters.take(0, parse_address), parameters.take(1, parse_slot)
    parameters.take_or(2, lambda value: require_head(chain, value), None)
    return encode_bytes(chain.slot(address, index).to_bytes(32, "big"))


def _call(chain: Chain, parameters: Parameters) -> str:
    request = parameters.take(0, parse_request)
    parameters.take_or(1, lambda value: require_head(chain, value), None)
    for index in (2, 3):
        parameters.take_or(index, _refuse_override, None)
    return encode_bytes(call(chain, to_message(request)))


def _refuse_override(value: object) -> None:
    if value != {}:
        raise BadParameter("state and block overrides are not supported")


def _estimate(chain: Chain, parameters: Parameters) -> str:
    request = parameters.take(0, parse_request)
    parameters.take_or(1, lambda value: require_head(chain, value), None)
    parameters.take_or(2, _refuse_override, None)
    return encode_quantity(estimate_gas(chain, to_message(request)))


def _parse_flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise BadParameter("expected true or false")
    return value


def _block_by_number(chain: Chain, parameters: Parameters) -> JsonObject | None:
    block = parameters.take(0, lambda value: find_block(chain, value))
    whole = parameters.take_or(1, _parse_flag, False)
    return None if block is None else encode_block(block, whole=whole)


def _block_by_hash(chain: Chain, parameters: Parameters) -> JsonObject | None:
    block = chain.block_by_hash(parameters.take(0, parse_hash))
    whole = parameters.take_or(1, _parse_flag, False)
    return None if block is None else encode_block(block, whole=whole)


def _transaction(chain: Chain, parameters: Parameters) -> JsonObject | None:
    block = chain.block_of(parameters.take(0, parse_hash))
    if block is None or block.receipt is None:
        return None
    return encode_transaction(block, block.receipt)


def _receipt(chain: Chain, parameters: Parameters) -> JsonObject | None:
    block = chain.block_of(parameters.take(0, parse_hash))
    if block is None or block.receipt is None:
        return None
    return encode_receipt(block, block.receipt)


def _parse_block_name(chain: Chain, value: object) -> Block | None:
    is_hash = isinstance(value, str) and len(value) == 66
    return chain.block_by_hash(parse_hash(value)) if is_hash else find_block(chain, value)


def _block_receipts(chain: Chain, parameters: Parameters) -> list[JsonObject] | None:
    block = parameters.take(0, lambda value: _parse_block_name(chain, value))
    if block is None:
        return None
    return [] if block.receipt is None else [encode_receipt(block, block.receipt)]


def _parse_count(value: object) -> int:
    # Some clients send this count as a plain number.
    count = value if type(value) is int else parse_quantity(value)
    if not 1 <= count <= _MAX_FEE_HISTORY:
        raise BadParameter(f"expected a count from 1 to {_MAX_FEE_HISTORY}")
    return count


def _parse_percentiles(value: object) -> list[float]:
    if not isinstance(value, list) or any(type(one) not in {int, float} for one in value):
        raise BadParameter("expected an array of numbers")
    if any(not 0 <= one <= 100 for one in value) or sorted(value) != value:
        raise BadParameter("expected rising percentiles from 0 to 100")
    return value


def _fee_history(chain: Chain, parameters: Parameters) -> JsonObject:
    count = parameters.take(0, _parse_count)
    newest = parameters.take(1, lambda value: find_block(chain, value))
    none: list[float] = []
    percentiles = parameters.take_or(2, _parse_percentiles, none)
    if newest is None:
        raise Unavailable("request beyond head block")
    oldest = max(0, newest.number - count + 1)
    blocks = [chain.block(number) for number in range(oldest, newest.number + 1)]
    history: dict[str, Any] = {
        "oldestBlock": encode_quantity(oldest),
        "baseFeePerGas": ["0x0"] * (len(blocks) + 1),
        "baseFeePerBlobGas": ["0x1"] * (len(blocks) + 1),
        "gasUsedRatio": [block.gas_used / BLOCK_GAS_LIMIT for block in blocks if block],
        "blobGasUsedRatio": [0.0] * len(blocks),
    }
    if percentiles:
        paid = [block.receipt.gas_price if block and block.receipt else 0 for block in blocks]
        history["reward"] = [[encode_quantity(price)] * len(percentiles) for price in paid]
    return history


QUERIES: Mapping[str, Method] = {
    "web3_clientVersion": Method(lambda chain, _: "Imprint/devchain", 0),
    "net_version": Method(lambda chain, _: str(chain.id), 0),
    "eth_chainId": Method(lambda chain, _: encode_quantity(chain.id), 0),
    "eth_syncing": Method(lambda chain, _: False, 0),
    "eth_accounts": Method(lambda chain, _: list(chain.wallet.addresses), 0),
    "eth_requestAccounts": Method(lambda chain, _: list(chain.wallet.addresses), 0),
    "eth_blockNumber": Method(lambda chain, _: encode_quantity(chain.head.number), 0),
    "eth_gasPrice": Method(lambda chain, _: encode_quantity(GAS_PRICE), 0),
    "eth_maxPriorityFeePerGas": Method(lambda chain, _: encode_quantity(GAS_PRICE), 0),
    "eth_feeHistory": Method(_fee_history, 3),
    "eth_getBalance": Method(
        _at_head(parse_address, lambda chain, who: encode_quantity(chain.account(who).balance)), 2
    ),
    "eth_getCode": Method(
        _at_head(parse_address, lambda chain, who: encode_bytes(chain.account(who).code)), 2
    ),
    "eth_getTransactionCount": Method(
        _at_head(parse_address, lambda chain, who: encode_quantity(chain.account(who).nonce)), 2
    ),
    "eth_getStorageAt": Method(_read_slot, 3),
    "eth_call": Method(_call, 4),
    "eth_estimateGas": Method(_estimate, 3),
    "eth_getTransactionByHash": Method(_transaction, 1),
    "eth_getTransactionReceipt": Method(_receipt, 1),
    "eth_getBlockByNumber": Method(_block_by_number, 2),
    "eth_getBlockByHash": Method(_block_by_hash, 2),
    "eth_getBlockReceipts": Method(_block_receipts, 1),
}


def _send(chain: Chain, parameters: Parameters) -> str:
    request = parameters.take(0, parse_request)
    return _hash_of(chain.submit(sign_request(chain, request)))


def _send_raw(chain: Chain, parameters: Parameters) -> str:
    return _hash_of(chain.submit(parameters.take(0, parse_bytes)))


def _hash_of(block: Block) -> str:
    if block.receipt is None:
        raise RuntimeError("a transaction was mined into a block without a receipt")
    return encode_bytes(block.receipt.transaction.hash)


def _sign_personal(chain: Chain, parameters: Parameters) -> str:
    text, signer = parameters.take(0, parse_bytes), parameters.take(1, parse_address)
    return encode_bytes(chain.wallet.sign_text(signer, text))


def _sign(chain: Chain, parameters: Parameters) -> str:
    signer, text = parameters.take(0, parse_address), parameters.take(1, parse_bytes)
    return encode_bytes(chain.wallet.sign_text(signer, text))


def _sign_typed_data(chain: Chain, parameters: Parameters) -> str:
    signer = parameters.take(0, parse_address)
    return encode_bytes(chain.wallet.sign_typed_data(signer, parameters.take(1, _parse_typed_data)))


def _parse_typed_data(value: object) -> Mapping[str, object]:
    if not isinstance(value, str):
        return parse_object(value)
    try:
        return parse_object(json.loads(value))
    except (ValueError, RecursionError) as error:
        raise BadParameter("typed data is not JSON") from error


def _mine(chain: Chain, _: Parameters) -> str:
    chain.mine()
    return "0x0"


def _advance_clock(chain: Chain, parameters: Parameters) -> str:
    return encode_quantity(chain.advance_clock(parameters.take(0, _parse_seconds)))


def _parse_seconds(value: object) -> int:
    # Other development chains accept plain numbers here, and tools rely on it.
    seconds = value if type(value) is int else parse_quantity(value)
    if not 0 <= seconds <= _MAX_ADVANCE:
        raise BadParameter(f"expected seconds from 0 to {_MAX_ADVANCE}")
    return seconds


def _snapshot(chain: Chain, _: Parameters) -> str:
    return encode_quantity(chain.snapshot())


def _restore(chain: Chain, parameters: Parameters) -> bool:
    return chain.restore(parameters.take(0, parse_quantity))


ACTIONS: Mapping[str, Method] = {
    "eth_sendTransaction": Method(_send, 1),
    "eth_sendRawTransaction": Method(_send_raw, 1),
    # Wallets ignore the password that some clients send as a third parameter.
    "personal_sign": Method(_sign_personal, 3),
    "eth_sign": Method(_sign, 2),
    "eth_signTypedData_v4": Method(_sign_typed_data, 2),
    "evm_mine": Method(_mine, 0),
    "evm_increaseTime": Method(_advance_clock, 1),
    "evm_snapshot": Method(_snapshot, 0),
    "evm_revert": Method(_restore, 1),
}
