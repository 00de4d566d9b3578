"""Logs in any nesting of arrays and objects, with what the objects around them say about them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from imprint.adapters.deliveries.logs import SentLog, read_list

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
class _Surroundings:
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
    open_containers: list[tuple[Iterator[Any], _Surroundings]] = [(iter((sent,)), _Surroundings())]
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
        around = _look_around(value, around)
        if value.keys() >= _LOG_MEMBERS:
            yield _read_log(value, around)
        else:
            open_containers.append((iter(value.values()), around))


def _look_around(value: dict[str, Any], around: _Surroundings) -> _Surroundings:
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


def _read_log(log: dict[str, Any], around: _Surroundings) -> SentLog:
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
