"""Port for the database itself: whether it works, and what is damaged in it."""

from typing import Protocol

from imprint.ports.damage import Damage


class CatalogDamaged(Exception):
    """The records, or a copy of them, are damaged; the text says where."""


class DatabaseHealth(Protocol):
    """The database that all records are in."""

    @property
    def damage(self) -> Damage:
        """What this process knows to be damaged."""
        ...

    async def check_files(self) -> None:
        """Raise `Unavailable` if the database is not in the files that were opened."""

    async def examine(self) -> list[str]:
        """What is damaged in the structure of the database, up to some findings; notes it.

        A server examines itself: nothing is found there.
        """

    async def warnings(self) -> list[str]:
        """What an operator should change about the database, in sentences."""

    async def probe_reads(self) -> None:
        """Return if records can be read."""

    async def probe(self, *, grow: bool = False) -> None:
        """Return if records can be written; with `grow`, also if there is space for more."""
