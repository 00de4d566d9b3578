"""JSON-RPC parameters, parsed strictly."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from imprint.devchain.blocks import Block
from imprint.devchain.calls import Request
from imprint.devchain.chain import Chain

T = TypeVar("T")

_QUANTITY = re.compile(r"0x(0|[1-9a-fA-F][0-9a-fA-F]{0,63})", re.ASCII)
_BYTES = re.compile(r"0x([0-9a-fA-F]{2})*", re.ASCII)
_SLOT = re.compile(r"0x[0-9a-fA-F]{1,64}", re.ASCII)
_ADDRESS_BYTES = 20
_HASH_BYTES = 32

_HEAD_TAGS = frozenset({"latest", "pending", "safe", "finalized"})
"""Names of the newest block: nothing is pending, and a block is final at once."""


class BadParameter(Exception):
    """A parameter is missing, superfluous or malformed."""


class Unavailable(Exception):
    """The parameters are well formed, but name something that this chain does not have."""


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
    """Parse a hash of 32 bytes."""
    data = parse_bytes(value)
    if len(data) != _HASH_BYTES:
        raise BadParameter("expected 32 bytes")
    return data


def parse_address(value: object) -> str:
    """Parse an address in any case into lower case."""
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
    """Parse a transaction or call object; unknown members are ignored."""
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
    """Accept only names of the newest block. Raises `Unavailable`: older state is not kept."""
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
