"""The identity of an installation: one catalog, and the documents in its content store."""

import re
from dataclasses import dataclass
from uuid import uuid4


@dataclass(frozen=True, slots=True)
class Identity:
    """What the catalog says about its installation."""

    id: str
    """32 hexadecimal digits; empty where documents are stored without an id."""
    claimed: bool = False
    """Whether the content store has been marked with the id."""
    owns_unnamed: bool = False
    """Whether documents without an id in a shared store are of this installation."""


INSTALLATION_ID = re.compile("[0-9a-f]{32}")
"""What an id looks like."""

UNNAMED = Identity("", owns_unnamed=True)
"""Stores documents without an id, as the first releases did."""


def new_installation_id() -> str:
    """A new random id."""
    return uuid4().hex
