"""Logs in webhook deliveries, found in decoded JSON and sorted into events and dead letters."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from imprint.adapters.webhooks.networks import find_chain_id
from imprint.domain.addresses import Address
from imprint.domain.hexadecimal import NotHexadecimal, parse_hash, parse_hex_bytes, parse_hex_number
from imprint.domain.marketplace import (
    POST_CREATED,
    Log,
    Undecodable,
    decode_post_created,
    stand_in_block_hash,
)
from imprint.domain.posts import DeadLetter, LogPlace, PostCreated

MAX_PAYLOAD = 64 * 1024
"""Characters of a log that a dead letter keeps; the whole log is on the chain."""

MAX_TOPICS = 4
"""Topics of a log; the EVM has no instruction for more."""

COUNT_LIMIT = 2**63
"""No block number or log index reaches this, and databases store no larger integers."""

MAX_CONTAINERS = 250_000
"""Arrays and objects of a delivery that are searched; the logs of many blocks have far fewer."""

_POST_CREATED_TOPIC = "0x" + POST_CREATED.hex()
_DECIMAL = re.compile(r"[0-9]{1,78}\Z")

_LOG_MEMBERS = frozenset(("address", "topics", "data"))
"""An object with all of these members is a log."""

_CONTEXT_MEMBERS = frozenset(
    ("blockHash", "blockNumber", "transactionHash", "logs", "network", "chainId", "metadata")
)
"""An object with any of these members describes the logs inside it."""


class TooManyValues(Exception):
    """The delivery has more than `MAX_CONTAINERS` arrays and objects."""


@dataclass(frozen=True, slots=True)
class SentLog:
    """A log as it was sent, with members that are not validated; None for those not sent.

    A dead letter keeps `raw`. `networks` and `chain_ids` are all statements of the delivery about
    the chain of the log.
    """

    raw: object
    address: object = None
    topics: Sequence[object] = ()
    data: object = None
    index: object = None
    block_hash: object = None
    block_number: object = None
    tx_hash: object = None
    status: object = None
    removed: object = None
    networks: tuple[object, ...] = ()
    chain_ids: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True)
class Marketplace:
    """The contract whose logs are read."""

    chain_id: int
    address: Address


@dataclass(frozen=True, slots=True)
class SortedLogs:
    """The logs of a delivery by kind."""

    events: tuple[PostCreated, ...]
    dead_letters: tuple[DeadLetter, ...]
    ignored: int


def read_json(body: bytes) -> Any:
    """The JSON in a body. Raises ValueError if it is malformed, or nested too deep."""
    try:
        return msgspec.json.decode(body)
    except RecursionError as error:
        raise ValueError("The body is nested too deep.") from error


def read_list(value: object) -> Sequence[object]:
    """A JSON array; empty for any other value."""
    return value if isinstance(value, list) else ()


def sort_logs(sent: Iterable[SentLog], marketplace: Marketplace) -> SortedLogs:
    """Sort logs one by one: PostCreated events, dead letters if undecodable, others ignored."""
    events: list[PostCreated] = []
    dead_letters: list[DeadLetter] = []
    ignored = 0
    for log in sent:
        if not _is_post_created(log, marketplace):
            ignored += 1
            continue
        place = None
        try:
            place, topics, data = _read_members(log, marketplace.chain_id)
            events.append(decode_post_created(Log(marketplace.address, topics, data, place)))
        except (NotHexadecimal, Undecodable) as error:
            dead_letters.append(DeadLetter(place, str(error), _write_payload(log.raw)))
    return SortedLogs(tuple(events), tuple(dead_letters), ignored)


def _is_post_created(log: SentLog, marketplace: Marketplace) -> bool:
    """Whether this is a PostCreated log of the marketplace that was not removed or reverted.

    Statements that cannot be read count against the log: the chain itself will show it.
    """
    topics = log.topics
    return (
        isinstance(log.address, str)
        and log.address.lower() == marketplace.address
        and bool(topics)
        and isinstance(topics[0], str)
        and topics[0].lower() == _POST_CREATED_TOPIC
        and log.removed in (None, False)
        and (log.status is None or _read_number(log.status) == 1)
        and all(_read_number(chain_id) == marketplace.chain_id for chain_id in log.chain_ids)
        and all(_may_be(network, marketplace.chain_id) for network in log.networks)
    )


def _may_be(network: object, chain_id: int) -> bool:
    """Whether a network may be this chain; an unknown name may be any."""
    found = _read_number(network)
    if found is None and isinstance(network, str):
        found = find_chain_id(network)
    return found is None or found == chain_id


def _read_members(log: SentLog, chain_id: int) -> tuple[LogPlace, tuple[bytes, ...], bytes]:
    if len(log.topics) > MAX_TOPICS:
        raise Undecodable(f"The log has more than {MAX_TOPICS} topics.")
    topics = tuple(map(parse_hex_bytes, log.topics))
    data = parse_hex_bytes(log.data)
    tx_hash, block_hash = _hash_or_none(log.tx_hash), _hash_or_none(log.block_hash)
    index, block_number = _count_or_none(log.index), _count_or_none(log.block_number)
    if block_hash is None or index is None:
        # Not every query of a provider selects them. The stand-in must be the same each time this
        # log is sent, and differ from that of any other log.
        known = f"{tx_hash} {block_hash} {block_number} {index}".encode()
        block_hash, index = stand_in_block_hash(known, *topics, data), index or 0
    return LogPlace(chain_id, block_hash, block_number, index, tx_hash), topics, data


def _read_number(value: object) -> int | None:
    """A JSON number, or decimal or hexadecimal text; None for any other value."""
    if isinstance(value, str):
        if _DECIMAL.match(value):
            return int(value)
        try:
            return parse_hex_number(value)
        except NotHexadecimal:
            return None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _hash_or_none(value: object) -> str | None:
    try:
        return parse_hash(value)
    except NotHexadecimal:
        return None


def _count_or_none(value: object) -> int | None:
    count = _read_number(value)
    return count if count is not None and count < COUNT_LIMIT else None


def _write_payload(raw: object) -> str:
    try:
        return json.dumps(raw, separators=(",", ":"))[:MAX_PAYLOAD]
    except (RecursionError, ValueError):
        return ""


@dataclass(frozen=True, slots=True)
class _Context:
    """Members of the receipts, transactions, blocks and envelopes around a log."""

    block_hash: object = None
    block_number: object = None
    tx_hash: object = None
    status: object = None
    networks: tuple[object, ...] = ()
    chain_ids: tuple[object, ...] = ()


def find_logs(sent: Any) -> Iterator[SentLog]:
    """Every log at any depth of decoded JSON, in document order. Raises `TooManyValues`."""
    # An explicit stack instead of recursion: the sender chooses the depth.
    stack: list[tuple[Iterator[Any], _Context]] = [(iter((sent,)), _Context())]
    seen = 0
    while stack:
        values, context = stack[-1]
        value = next((one for one in values if isinstance(one, dict | list)), None)
        if value is None:
            stack.pop()
            continue
        seen += 1
        if seen > MAX_CONTAINERS:
            raise TooManyValues(f"The delivery has more than {MAX_CONTAINERS} arrays and objects.")
        if isinstance(value, list):
            stack.append((iter(value), context))
            continue
        context = _read_context(value, context)
        if value.keys() >= _LOG_MEMBERS:
            yield _read_nested_log(value, context)
        else:
            stack.append((iter(value.values()), context))


def _read_context(value: dict[str, Any], outer: _Context) -> _Context:
    """The context of what is inside `value`.

    Inner members replace outer ones, except for networks and chain ids, which are collected.
    """
    if _CONTEXT_MEMBERS.isdisjoint(value):
        return outer
    metadata = value.get("metadata")
    described = (value, metadata) if isinstance(metadata, dict) else (value,)
    networks = tuple(one["network"] for one in described if one.get("network") is not None)
    chain_ids = tuple(one["chainId"] for one in described if one.get("chainId") is not None)
    tx_hash, status = value.get("transactionHash"), None
    if "logs" in value:
        # A receipt, or a transaction with its logs: only there is `status` that of a transaction.
        tx_hash = tx_hash or value.get("hash")
        status = value.get("status") if tx_hash else None
    return replace(
        outer,
        block_hash=value.get("blockHash") or outer.block_hash,
        block_number=value.get("blockNumber") or outer.block_number,
        tx_hash=tx_hash or outer.tx_hash,
        status=outer.status if status is None else status,
        networks=outer.networks + networks,
        chain_ids=outer.chain_ids + chain_ids,
    )


def _read_nested_log(log: dict[str, Any], context: _Context) -> SentLog:
    return SentLog(
        raw=log,
        address=log["address"],
        topics=read_list(log["topics"]),
        data=log["data"],
        index=log.get("logIndex"),
        block_hash=context.block_hash,
        block_number=context.block_number,
        tx_hash=context.tx_hash,
        status=log.get("status", context.status),
        removed=log.get("removed"),
        networks=context.networks,
        chain_ids=context.chain_ids,
    )
