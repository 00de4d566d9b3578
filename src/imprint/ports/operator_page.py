"""Ports for the operator's page: the state of the database and of the nodes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, runtime_checkable

from imprint.domain.posts.posts import EventStatus, KeptLetter, KnownEvent


@dataclass(frozen=True, slots=True)
class EventsToExamine:
    """Events that an operator should look at, the newest first.

    `counts` are of all of them, up to the requested number.
    """

    counts: Mapping[EventStatus, int]
    mismatches: tuple[KnownEvent, ...]
    dead_letters: tuple[KeptLetter, ...]


@dataclass(frozen=True, slots=True)
class DatabaseFacts:
    """The name and version of a database, and the number of its schema."""

    name: str
    version: str
    schema: int


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """What this process knows about a node; its address is without path and credentials."""

    address: str
    is_failing: bool
    block: int | None
    shown_ago: float | None
    """Seconds since the node first reported this block."""


class OperatorFacts(Protocol):
    """What the database knows about the operation of the service. No query grows with the number of
    files."""

    async def events_to_examine(self, limit: int, count_to: int) -> EventsToExamine:
        """The newest `limit` events of each kind, counted up to `count_to`."""

    async def last_deliveries(self, providers: Sequence[str]) -> dict[str, datetime | None]:
        """When each provider sent its last delivery; None if there is no record of one."""

    async def database(self) -> DatabaseFacts:
        """Name, version and schema number of the database."""

    async def last_backup(self) -> datetime | None:
        """The moment that the last complete backup reflects; None if there is none."""

    async def note_backup(self, made_at: datetime) -> None:
        """Record that a backup with everything up to this moment is complete."""


@runtime_checkable
class NodeReport(Protocol):
    """A reader of the chain that reports the state of its nodes."""

    def nodes(self) -> list[NodeStatus]:
        """The nodes in order of preference."""


class DiskReport(Protocol):
    """The disks that the service writes to."""

    @property
    def floor(self) -> int:
        """The amount of free bytes below which no more documents are stored."""

    def free_bytes(self) -> int | None:
        """The free bytes of the fullest disk; None if no local disk is used."""
