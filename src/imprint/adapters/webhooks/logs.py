"""Finds logs in decoded webhook JSON and classifies them as events or dead letters."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard

from imprint.adapters.webhooks.payloads import Payload, simplify_name
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.hexadecimal import (
    NotHexadecimal,
    parse_hash,
    parse_hex_bytes,
    parse_hex_number,
)
from imprint.domain.posts.marketplace import (
    POST_CREATED,
    POST_PRICE_UPDATED,
    POST_SUBSCRIBED,
    TRANSFER,
    Log,
    Undecodable,
    decode_access_changed,
    decode_post_created,
    stand_in_block_hash,
)
from imprint.domain.posts.posts import AccessChanged, DeadLetter, LogPosition, PostCreated

MAX_PAYLOAD = 64 * 1024
"""Number of characters of a log that a dead letter keeps. The whole log is on the chain."""

MAX_PAYLOADS = 1024 * 1024
"""Total number of characters that all dead letters of one delivery keep. Beyond this total, a dead
letter keeps only its reason."""

MAX_DEAD_LETTERS = 1_000
"""Maximum number of dead letters per delivery. One more reports how many were dropped."""

MAX_TOPICS = 4
"""Maximum number of topics per log. The EVM has no instruction for more."""

COUNT_LIMIT = 2**63
"""Exclusive limit of block numbers and log indexes, because databases store no larger integers."""

MAX_VALUES = 250_000
"""Maximum number of arrays, objects and logs read per delivery. Even deliveries of many blocks
have far fewer."""

_POST_CREATED_TOPIC = "0x" + POST_CREATED.hex()
_ACCESS_TOPICS = frozenset(
    "0x" + topic.hex() for topic in (TRANSFER, POST_SUBSCRIBED, POST_PRICE_UPDATED)
)
_DECIMAL = re.compile(r"[0-9]{1,78}\Z")
_ADDRESS = re.compile(r"0x[0-9a-f]{40}\Z")
_TOPIC = re.compile(r"0x[0-9a-f]{64}\Z")

_LOG_MEMBERS = frozenset(("address", "topics", "data"))
"""An object with all of these members is a log."""

_CONTEXT_MEMBERS = frozenset(
    ("blockHash", "blockNumber", "transactionHash", "logs", "network", "chainId", "metadata")
)
"""An object with any of these members describes the logs inside it."""

_END = object()
"""Marks the end of an array or object."""


class TooManyValues(Exception):
    """The delivery has more than `MAX_VALUES` values."""

    def __init__(self) -> None:
        super().__init__(f"The delivery has more than {MAX_VALUES} arrays, objects and logs.")


@dataclass(frozen=True, slots=True)
class SentLog:
    """A log as sent, with unvalidated members that are None if they were not sent.

    For a value that should be a log but is not, only `raw` is set, which a dead letter keeps.
    `networks` and `chain_ids` are all of the delivery's claims about the chain of the log.
    """

    raw: object
    address: object = None
    topics: object = None
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
    """The contract whose logs are read. `networks` are the names of its chain."""

    chain_id: int
    address: Address
    networks: frozenset[str]


@dataclass(frozen=True, slots=True)
class SortedLogs:
    """The logs of a delivery by category, as in `Delivery`."""

    findings: tuple[PostCreated | DeadLetter, ...]
    access_changes: tuple[AccessChanged, ...] | None
    ignored: int


def read_list(value: object) -> Sequence[object]:
    """A JSON array, or an empty one for any other value."""
    return value if isinstance(value, list) else ()


@dataclass(slots=True)
class _Findings:
    """Collects events and dead letters in order, and limits the number and size of dead letters."""

    found: list[PostCreated | DeadLetter] = field(default_factory=list)
    letters: int = 0
    room: int = MAX_PAYLOADS

    def add_letter(self, place: LogPosition | None, reason: str, payload: str) -> None:
        self.letters += 1
        if self.letters <= MAX_DEAD_LETTERS:
            kept = payload[: min(MAX_PAYLOAD, self.room)]
            self.room -= len(kept)
            self.found.append(DeadLetter(place, reason, kept))

    def end(self) -> tuple[PostCreated | DeadLetter, ...]:
        if (more := self.letters - MAX_DEAD_LETTERS) > 0:
            reason = f"{more} more dead letters of one delivery were discarded."
            self.found.append(DeadLetter(None, reason, ""))
        return tuple(self.found)


def sort_logs(sent: Iterable[SentLog], payload: Payload, marketplace: Marketplace) -> SortedLogs:
    """Classify the logs of a payload.

    The marketplace's PostCreated logs are events, and its Transfer, PostSubscribed and
    PostPriceUpdated logs are access changes. A log of either kind becomes a dead letter if it
    cannot be decoded, and so does a value that is not a log. All other logs are ignored, and access
    changes count as ignored, too. If no part of a malformed payload becomes a dead letter, the
    whole payload does.
    """
    findings = _Findings()
    changes: list[AccessChanged] = []
    all_known = True
    ignored = 0
    try:
        for log in sent:
            place = topic = None
            try:
                topic = _find_topic(log, marketplace)
                if topic is None:
                    ignored += 1
                    continue
                place, topics, data = _read_members(log, marketplace.chain_id)
                read = Log(marketplace.address, topics, data, place)
                if topic == _POST_CREATED_TOPIC:
                    findings.found.append(decode_post_created(read))
                else:
                    changes.append(decode_access_changed(read))
                    ignored += 1
            except (NotHexadecimal, Undecodable) as error:
                all_known = all_known and topic == _POST_CREATED_TOPIC
                findings.add_letter(place, str(error), _write_payload(log.raw))
    except TooManyValues as error:
        all_known = False
        findings.add_letter(None, str(error), payload.excerpt)
    if payload.problem:
        all_known = False
        if not findings.letters:
            findings.add_letter(None, payload.problem, payload.excerpt)
    return SortedLogs(findings.end(), tuple(changes) if all_known else None, ignored)


def _find_topic(log: SentLog, marketplace: Marketplace) -> str | None:
    """The first topic of a log that is an event or an access change, or None for any other log.

    Logs of another network or contract, removed logs, and logs of failed transactions count as
    other logs. Raises `Undecodable` for a value that is not a log.
    """
    if not all(_read_number(each) == marketplace.chain_id for each in log.chain_ids):
        return None
    if not all(_names_chain(each, marketplace) for each in log.networks):
        return None
    address = log.address.lower() if isinstance(log.address, str) else ""
    if address != marketplace.address:
        if _ADDRESS.match(address):
            return None
        raise Undecodable("This is not a log: it has no contract address.")
    if not isinstance(log.topics, list):
        raise Undecodable("This is not a log: its topics are not a list.")
    if not log.topics:
        return None
    topic = log.topics[0].lower() if isinstance(log.topics[0], str) else ""
    if not _TOPIC.match(topic):
        raise Undecodable("This is not a log: its first topic is malformed.")
    if topic == _POST_CREATED_TOPIC:
        return topic if _is_effective(log) else None
    # Removing a transfer also changes who may read.
    return topic if topic in _ACCESS_TOPICS else None


def _is_effective(log: SentLog) -> bool:
    """Whether the log was neither removed nor reverted.

    Unreadable claims count against the log, because the log can still be read from the chain.
    """
    return log.removed in (None, False) and (log.status is None or _read_number(log.status) == 1)


def is_given(network: object) -> bool:
    """Whether a member names a network at all. Some providers send an empty string."""
    return network is not None and network != ""


def _names_chain(network: object, marketplace: Marketplace) -> bool:
    """Whether a network is the marketplace's chain, by id or by a known name."""
    if isinstance(network, str) and simplify_name(network) in marketplace.networks:
        return True
    return _read_number(network) == marketplace.chain_id


def _read_members(log: SentLog, chain_id: int) -> tuple[LogPosition, tuple[bytes, ...], bytes]:
    sent = read_list(log.topics)
    if len(sent) > MAX_TOPICS:
        raise Undecodable(f"The log has more than {MAX_TOPICS} topics.")
    topics = tuple(map(parse_hex_bytes, sent))
    data = parse_hex_bytes(log.data)
    tx_hash, block_hash = _hash_or_none(log.tx_hash), _hash_or_none(log.block_hash)
    index, block_number = _count_or_none(log.index), _count_or_none(log.block_number)
    if block_hash is None or index is None:
        # Not every query selects the block hash and the log index. The stand-in must be the same
        # each time this log is sent, and different for every other log.
        known = f"{tx_hash} {block_hash} {block_number} {index}".encode()
        block_hash, index = stand_in_block_hash(known, *topics, data), index or 0
    return LogPosition(chain_id, block_hash, block_number, index, tx_hash), topics, data


def _read_number(value: object) -> int | None:
    """Parse a JSON number, or decimal or hexadecimal text. Returns None for any other value."""
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
        return json.dumps(raw, separators=(",", ":"))
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


@dataclass(slots=True)
class _Container:
    """An array or object being searched. `logs` is an object's array of logs.

    `beside_logs` means that the values of this container should be logs. `in_place` means that the
    container itself should be a log. It is malformed if no log is found in it, that is, if the
    number of logs found is still `found_before` at its end.
    """

    value: object
    values: Iterator[Any]
    context: _Context
    beside_logs: bool = False
    logs: object = None
    in_place: bool = False
    found_before: int = 0


def find_logs(sent: Any, networks: tuple[object, ...] = ()) -> Iterator[SentLog]:
    """Yield every log at any depth of decoded JSON, in document order, and misplaced values.

    `networks` are claims from outside the JSON. Raises `TooManyValues`.
    """
    # An explicit stack instead of recursion, because the sender chooses the depth.
    stack = [_Container(sent, iter((sent,)), _Context(networks=networks))]
    seen = found = 0
    while stack:
        around = stack[-1]
        context, beside_logs = around.context, around.beside_logs
        value = next((one for one in around.values if _is_read(one, beside_logs)), _END)
        if value is _END:
            stack.pop()
            if around.in_place and around.found_before == found:
                yield _not_a_log(around.value, context)
            continue
        seen += 1
        if seen > MAX_VALUES:
            raise TooManyValues
        if _is_log(value):
            found += 1
            yield _read_nested_log(value, _read_context(value, context))
        elif isinstance(value, list):
            has_logs = value is around.logs or any(map(_is_log, value))
            stack.append(
                _Container(value, iter(value), context, has_logs, None, beside_logs, found)
            )
        elif not isinstance(value, dict) or (beside_logs and "topics" in value):
            yield _not_a_log(value, context)
        else:
            logs = value.get("logs")
            in_place = beside_logs and "logs" not in value and "metadata" not in value
            context = _read_context(value, context)
            stack.append(
                _Container(value, iter(value.values()), context, False, logs, in_place, found)
            )


def _not_a_log(value: object, context: _Context) -> SentLog:
    return SentLog(value, networks=context.networks, chain_ids=context.chain_ids)


def _is_read(value: Any, beside_logs: bool) -> bool:
    """Whether a value may contain a log, or should be one but is not."""
    if isinstance(value, list):
        return bool(value)
    return beside_logs or (isinstance(value, dict) and bool(value))


def _is_log(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict) and value.keys() >= _LOG_MEMBERS


def _read_context(value: dict[str, Any], outer: _Context) -> _Context:
    """Return the context for the members of `value`."""
    if _CONTEXT_MEMBERS.isdisjoint(value):
        return outer
    metadata = value.get("metadata")
    described = (value, metadata) if isinstance(metadata, dict) else (value,)
    networks = tuple(one["network"] for one in described if is_given(one.get("network")))
    chain_ids = tuple(one["chainId"] for one in described if one.get("chainId") is not None)
    tx_hash, status = value.get("transactionHash"), None
    if "logs" in value:
        # A receipt, or a transaction with its logs. Without a hash, it may be an envelope whose
        # `status` means something else, so only 0 and 1 are taken for the status of a receipt.
        tx_hash, status = tx_hash or value.get("hash"), value.get("status")
        if not tx_hash and _read_number(status) not in (0, 1):
            status = None
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
        topics=log["topics"],
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
