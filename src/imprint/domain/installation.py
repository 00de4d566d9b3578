"""Installations: their identity, what a command may change, and findings of their checks."""

import re
from dataclasses import dataclass
from enum import Enum, StrEnum
from uuid import uuid4


class Access(Enum):
    """What opening an installation may change."""

    READ = "read"
    """Nothing at all, not even the files that SQLite keeps beside a database."""
    WRITE = "write"
    """Records and documents, if the schema is up to date."""
    CREATE = "create"
    """As `WRITE`; and where there is no catalog, one is made."""
    MIGRATE = "migrate"
    """As `CREATE`; and an older schema is brought up to date."""

    @property
    def creates(self) -> bool:
        """Whether a missing catalog is made."""
        return self in (Access.CREATE, Access.MIGRATE)


@dataclass(frozen=True, slots=True)
class Identity:
    """What the catalog records about its installation."""

    id: str
    """32 hexadecimal digits; empty if documents are stored without an id."""
    claimed: bool = False
    """Whether the content store has been marked with the id."""
    owns_unnamed: bool = False
    """Whether documents without an id in a shared store belong to this installation."""


INSTALLATION_ID = re.compile("[0-9a-f]{32}")
"""The format of an id."""

UNNAMED = Identity("", owns_unnamed=True)
"""The installation of the first releases, which stores documents without an id."""


def new_installation_id() -> str:
    """A new random id."""
    return uuid4().hex


class Status(StrEnum):
    """How a check ended."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Finding:
    """The finding of a check as a sentence, and what to do about it; `name` is what was checked."""

    name: str
    status: Status
    detail: str
    remedy: str = ""

    @property
    def sentence(self) -> str:
        """The detail and the remedy."""
        return f"{self.detail} {self.remedy}".strip()
