"""Log filters of `eth_getLogs`."""

from collections.abc import Sequence
from dataclasses import dataclass

from imprint.devchain.blocks import Block, JsonObject, encode_logs
from imprint.devchain.chain import Chain
from imprint.devchain.parameters import (
    BadParameter,
    Unavailable,
    find_block,
    parse_address,
    parse_hash,
    parse_object,
)

_MAX_TOPICS = 4
"""The most topics of a log."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A block range, and what the logs in it must match; an empty set matches everything."""

    first: int
    last: int
    addresses: frozenset[str]
    topics: tuple[frozenset[str], ...]

    def matches(self, log: JsonObject) -> bool:
        """Whether a log matches: each topic position must have one of its alternatives."""
        if self.addresses and log["address"] not in self.addresses:
            return False
        topics = log["topics"]
        return len(topics) >= len(self.topics) and all(
            not wanted or topic in wanted
            for wanted, topic in zip(self.topics, topics, strict=False)
        )


def parse_filter(chain: Chain, value: object) -> Filter:
    """Parse a filter object.

    Raises `BadParameter`, also for a range together with a block hash, and `Unavailable` for an
    unknown block.
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
    """Collect the matching logs in order of their blocks."""
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
