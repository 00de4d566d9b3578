"""Installations: their identity, access levels, and check results."""

import re
from dataclasses import dataclass
from enum import Enum, StrEnum
from uuid import uuid4


class Access(Enum):
    """The access level for opening an installation, which limits the possible changes."""

    READ = "read"
    """Changes nothing, not even the files that SQLite creates next to a database."""
    WRITE = "write"
    """Changes records and documents if the schema is up to date."""
    CREATE = "create"
    """Like `WRITE`, but also creates the catalog if it is missing."""
    MIGRATE = "migrate"
    """Like `CREATE`, but also upgrades an outdated schema."""

    @property
    def creates(self) -> bool:
        """Whether a missing catalog is created."""
        return self in (Access.CREATE, Access.MIGRATE)


@dataclass(frozen=True, slots=True)
class Identity:
    """The catalog's record of the installation that it belongs to."""

    id: str
    """32 hexadecimal digits, or empty if documents are stored without an installation ID."""
    claimed: bool = False
    """Whether the content store has been marked with this ID."""
    owns_unnamed: bool = False
    """Whether this installation owns the documents without an ID in a shared store."""


INSTALLATION_ID = re.compile("[0-9a-f]{32}")
"""The format of an installation ID."""

UNNAMED = Identity("", owns_unnamed=True)
"""The identity of installations from the first releases, which store documents without an ID."""


def new_installation_id() -> str:
    """Return a new random installation ID."""
    return uuid4().hex


class Status(StrEnum):
    """The outcome of a check."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check as a sentence, with a remedy. `name` identifies the check."""

    name: str
    status: Status
    detail: str
    remedy: str = ""

    @property
    def sentence(self) -> str:
        """The detail followed by the remedy."""
        return f"{self.detail} {self.remedy}".strip()
