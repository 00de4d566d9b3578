"""Revisions: corrected versions that authors add to their posts."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from imprint.domain.drafts.files import File, Write
from imprint.domain.errors import Code, Refusal
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid

MAX_REVISIONS = 50
"""Maximum number of revisions of a post."""

MAX_NOTE = 280
"""Maximum number of code points in a revision's note."""

_CONTROLS = ("Cc", "Cs", "Zl", "Zp")
_BIDIRECTIONAL = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
"""Characters that change the direction of the text after them."""


@dataclass(frozen=True, slots=True)
class SignedRevision:
    """A verified revision of the post `post_id`, before its text is stored.

    `document` is the CID of the post's document on the chain, and `envelope` is the typed data that
    the author signed.
    """

    write: Write
    post_id: int
    document: Cid
    note: str
    envelope: Mapping[str, Any]
    signature: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Revision:
    """A corrected version of the document `document`, numbered from 1.

    `salt` is the JSON of the typed data that its owner signed. `words` is None until its text has
    been read for the index.
    """

    id: str
    document: Cid
    number: int
    owner: Address
    name: str
    cid: Cid
    size: int
    note: str
    created_at: datetime
    salt: str = field(repr=False)
    signature: str = field(repr=False)
    wrapped_key: bytes | None = field(default=None, repr=False)
    words: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class RevisionSummary:
    """The public data about the newest revision of a post."""

    number: int
    note: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class PostVersion:
    """One version of a post: the document on the chain, or a revision of it.

    `file` is the post's file, and `text` is the same file with the document of this version.
    """

    file: File
    revision: Revision | None = None

    @property
    def number(self) -> int:
        """The number of the revision, or 0 for the document on the chain."""
        return 0 if self.revision is None else self.revision.number

    @property
    def text(self) -> File:
        if self.revision is None:
            return self.file
        made = self.revision
        return replace(
            self.file, name=made.name, cid=made.cid, size=made.size, wrapped_key=made.wrapped_key
        )


def is_note(text: str) -> bool:
    """Whether a text is valid as a revision's note: a single line without hidden characters."""
    return len(text) <= MAX_NOTE and not any(
        unicodedata.category(each) in _CONTROLS or each in _BIDIRECTIONAL for each in text
    )


def too_many_revisions() -> Refusal:
    """Return the refusal for a post that already has the maximum number of revisions."""
    return Refusal(Code.TOO_MANY_REVISIONS, f"A post has at most {MAX_REVISIONS} corrections.")


def unknown_revision() -> Refusal:
    """Return the refusal for a revision number that the post does not have."""
    return Refusal(Code.UNKNOWN_REVISION, "This post has no revision with this number.")
