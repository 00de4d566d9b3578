"""Port for the database itself, which reports whether it works and what damage was found."""

import logging
from dataclasses import dataclass, field
from typing import Protocol

from imprint.metrics import DAMAGED_DOCUMENTS, DAMAGED_RECORDS

log = logging.getLogger(__name__)

MOST = 1000
"""Maximum number of damaged records, and of damaged documents, that are tracked and logged."""


@dataclass(slots=True)
class Damage:
    """Damage that this process has found. Each instance is logged once.

    If `structure` is set, records may be missing from indexes, so a record that is not found may
    exist. `index` has the same meaning for the post index only, and does not affect files.
    """

    structure: str | None = None
    index: str | None = None
    examined: bool = False
    records: set[str] = field(default_factory=set)
    documents: set[str] = field(default_factory=set)

    @property
    def found(self) -> bool:
        """Whether any damage has been found."""
        return bool(self.structure or self.index or self.records or self.documents)

    def note_structure(self, finding: str | None) -> None:
        """Record the first finding of an integrity check, or None if it found nothing."""
        if finding is not None and self.structure is None:
            log.critical(
                "The database is damaged (%s). Until it is repaired, requests for records that "
                "are not found get 503. Run imprint check --deep, and see "
                "docs/operating/damage.md.",
                finding,
            )
        elif finding is None and self.structure is not None:
            log.warning("The integrity check of the database no longer finds damage.")
        self.structure, self.examined = finding, True
        self._count()

    def note_index(self, finding: str | None) -> None:
        """Record damage that is limited to the post index, or None if there is none."""
        if finding is not None and self.index is None:
            log.critical(
                "The index of posts is damaged (%s). Files are not affected. Stop the service "
                "and run imprint repair: the index is rebuilt, and nothing is lost.",
                finding,
            )
        elif finding is None and self.index is not None:
            log.warning("The integrity check no longer finds damage in the index of posts.")
        self.index = finding
        self._count()

    def note_record(self, what: str) -> None:
        """Record that a record is damaged."""
        if what not in self.records and len(self.records) < MOST:
            log.critical("A record is damaged and hidden: %s.", what)
            self.records.add(what)
            self._count()

    def note_document(self, what: str) -> None:
        """Record that a document is missing or damaged."""
        if what not in self.documents and len(self.documents) < MOST:
            log.error("A document is missing or damaged: %s.", what)
            self.documents.add(what)
            self._count()

    def keep_only(self, records: set[str], documents: set[str]) -> None:
        """Discard damage that a complete pass did not find again."""
        self.records &= records
        self.documents &= documents
        self._count()

    def _count(self) -> None:
        DAMAGED_RECORDS.set(len(self.records) + len({self.structure, self.index} - {None}))
        DAMAGED_DOCUMENTS.set(len(self.documents))


class CatalogDamaged(Exception):
    """The records, or a copy of them, are damaged. The message says where."""


class DatabaseHealth(Protocol):
    """The database that holds all records."""

    @property
    def damage(self) -> Damage:
        """The damage that this process has found."""
        ...

    async def check_files(self) -> None:
        """Raise `Unavailable` if the database files have been replaced since they were opened."""

    async def examine(self) -> list[str]:
        """Check the database structure and record the damage, up to a limited number of findings.

        A database server checks itself, so nothing is checked there.
        """

    async def warnings(self) -> list[str]:
        """Return recommended changes to the database for the operator, as sentences."""

    async def probe_reads(self) -> None:
        """Check that records can be read."""

    async def probe(self, *, grow: bool = False) -> None:
        """Check that records can be written and, with `grow`, that there is room for more."""
