"""Logs as providers send them: sorted into events, dead letters and what is not ours."""

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
"""How many characters of a log a dead letter keeps; the chain has the rest."""

MAX_TOPICS = 4
"""A log has no more topics than this: the machine has no instruction for it."""

COUNT_LIMIT = 2**63
"""No block number or log index reaches this, and no database keeps more."""

_POST_CREATED_TEXT = "0x" + POST_CREATED.hex()
_DECIMAL = re.compile(r"[0-9]{1,78}\Z")


@dataclass(frozen=True, slots=True)
class SentLog:
    """A log as it was sent, its members unread; None is what was not sent.

    `raw` is what a dead letter keeps. `networks` and `chain_ids` are all that the delivery says
    about where the log is from.
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
    """Whose logs count."""

    chain_id: int
    address: Address


@dataclass(frozen=True, slots=True)
class Sorted:
    """What the logs of a delivery are."""

    events: tuple[PostCreated, ...]
    dead_letters: tuple[DeadLetter, ...]
    ignored: int


def read_json(body: bytes) -> Any:
    """The JSON in a body; raises ValueError for anything else, and for what is nested too deep."""
    try:
        return msgspec.json.decode(body)
    except RecursionError as error:
        raise ValueError("The body is nested too deep.") from error


def read_list(value: object) -> Sequence[object]:
    """The array that was sent; empty for everything else."""
    return value if isinstance(value, list) else ()


def read_number(value: object) -> int | None:
    """A number sent as such, or as decimal or hexadecimal text; None for everything else."""
    if isinstance(value, str):
        if _DECIMAL.match(value):
            return int(value)
        try:
            return parse_hex_number(value)
        except NotHexadecimal:
            return None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def sort_logs(sent: Iterable[SentLog], ours: Marketplace) -> Sorted:
    """Each log on its own: an event, a dead letter if it is ours but says nothing, or ignored."""
    events: list[PostCreated] = []
    dead_letters: list[DeadLetter] = []
    ignored = 0
    for one in sent:
        if not _is_ours(one, ours):
            ignored += 1
            continue
        place = None
        try:
            place, topics, data = _read_members(one, ours.chain_id)
            events.append(decode_post_created(Log(ours.address, topics, data, place)))
        except (NotHexadecimal, Undecodable) as error:
            dead_letters.append(DeadLetter(place, str(error), _write_payload(one.raw)))
    return Sorted(tuple(events), tuple(dead_letters), ignored)


def _is_ours(log: SentLog, ours: Marketplace) -> bool:
    """Whether this is the marketplace's word that a post is published, and it still stands.

    What was said about it counts against it when it cannot be read: the chain itself will tell.
    """
    topics = log.topics
    return (
        isinstance(log.address, str)
        and log.address.lower() == ours.address
        and bool(topics)
        and isinstance(topics[0], str)
        and topics[0].lower() == _POST_CREATED_TEXT
        and log.removed in (None, False)
        and (log.status is None or read_number(log.status) == 1)
        and all(read_number(chain_id) == ours.chain_id for chain_id in log.chain_ids)
        and all(_may_be(network, ours.chain_id) for network in log.networks)
    )


def _may_be(network: object, chain_id: int) -> bool:
    """Whether a network that was called so can be this chain; an unknown name says nothing."""
    meant = read_number(network)
    if meant is None and isinstance(network, str):
        meant = find_chain_id(network)
    return meant is None or meant == chain_id


def _read_members(log: SentLog, chain_id: int) -> tuple[LogPlace, tuple[bytes, ...], bytes]:
    if len(log.topics) > MAX_TOPICS:
        raise Undecodable(f"The log has more than {MAX_TOPICS} topics.")
    topics = tuple(map(parse_hex_bytes, log.topics))
    data = parse_hex_bytes(log.data)
    tx_hash, block_hash = _hash_or_none(log.tx_hash), _hash_or_none(log.block_hash)
    index, block_number = _count_or_none(log.index), _count_or_none(log.block_number)
    if block_hash is None or index is None:
        # Not every query of a provider selects them. What is said instead must be the same each
        # time this log is sent, and differ from what is said for any other log.
        known = f"{tx_hash} {block_hash} {block_number} {index}".encode()
        block_hash, index = stand_in_block_hash(known, *topics, data), index or 0
    return LogPlace(chain_id, block_hash, block_number, index, tx_hash), topics, data


def _hash_or_none(value: object) -> str | None:
    try:
        return parse_hash(value)
    except NotHexadecimal:
        return None


def _count_or_none(value: object) -> int | None:
    count = read_number(value)
    return count if count is not None and count < COUNT_LIMIT else None


def _write_payload(raw: object) -> str:
    try:
        return json.dumps(raw, separators=(",", ":"))[:MAX_PAYLOAD]
    except (RecursionError, ValueError):
        return ""


MAX_CONTAINERS = 250_000
"""How many arrays and objects are looked into; the logs of many blocks have far fewer."""

_LOG_MEMBERS = frozenset(("address", "topics", "data"))
"""An object with all of these is a log."""

_TELLING_MEMBERS = frozenset(
    ("blockHash", "blockNumber", "transactionHash", "logs", "network", "chainId", "metadata")
)
"""An object with any of these says something about the logs inside."""


class TooManyValues(Exception):
    """The delivery has more arrays and objects than anybody will look into."""


@dataclass(frozen=True, slots=True)
class _Context:
    """What receipts, transactions, blocks and envelopes around a log say about it."""

    block_hash: object = None
    block_number: object = None
    tx_hash: object = None
    status: object = None
    networks: tuple[object, ...] = ()
    chain_ids: tuple[object, ...] = ()


def find_logs(sent: Any) -> Iterator[SentLog]:
    """Every log in `sent`, in the order in which they stand there. Raises `TooManyValues`."""
    # A list instead of recursion: how deep it goes was chosen by somebody else.
    open_containers: list[tuple[Iterator[Any], _Context]] = [(iter((sent,)), _Context())]
    seen = 0
    while open_containers:
        inside, around = open_containers[-1]
        value = next((one for one in inside if isinstance(one, dict | list)), None)
        if value is None:
            open_containers.pop()
            continue
        seen += 1
        if seen > MAX_CONTAINERS:
            raise TooManyValues(f"The delivery has more than {MAX_CONTAINERS} arrays and objects.")
        if isinstance(value, list):
            open_containers.append((iter(value), around))
            continue
        around = _read_context(value, around)
        if value.keys() >= _LOG_MEMBERS:
            yield _read_nested_log(value, around)
        else:
            open_containers.append((iter(value.values()), around))


def _read_context(value: dict[str, Any], around: _Context) -> _Context:
    """The surroundings of what is inside `value`.

    Nearer words replace those from further out, except for those about the network: all count.
    """
    if _TELLING_MEMBERS.isdisjoint(value):
        return around
    metadata = value.get("metadata")
    about = (value, metadata) if isinstance(metadata, dict) else (value,)
    networks = tuple(one["network"] for one in about if one.get("network") is not None)
    chain_ids = tuple(one["chainId"] for one in about if one.get("chainId") is not None)
    tx_hash, status = value.get("transactionHash"), None
    if "logs" in value:
        # A receipt, or a transaction with its logs: only there a status is one of a transaction.
        tx_hash = tx_hash or value.get("hash")
        status = value.get("status") if tx_hash else None
    return replace(
        around,
        block_hash=value.get("blockHash") or around.block_hash,
        block_number=value.get("blockNumber") or around.block_number,
        tx_hash=tx_hash or around.tx_hash,
        status=around.status if status is None else status,
        networks=around.networks + networks,
        chain_ids=around.chain_ids + chain_ids,
    )


def _read_nested_log(log: dict[str, Any], around: _Context) -> SentLog:
    return SentLog(
        raw=log,
        address=log["address"],
        topics=read_list(log["topics"]),
        data=log["data"],
        index=log.get("logIndex"),
        block_hash=around.block_hash,
        block_number=around.block_number,
        tx_hash=around.tx_hash,
        status=log.get("status", around.status),
        removed=log.get("removed"),
        networks=around.networks,
        chain_ids=around.chain_ids,
    )
