"""Profiles: what authors say about themselves."""

import unicodedata
from dataclasses import dataclass
from datetime import datetime

from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid

_JOINERS = "\u200c\u200d"
"""The invisible characters that texts may have: several scripts cannot be spelled without them."""


@dataclass(frozen=True, slots=True)
class Byline:
    """What is shown of the author beside a post."""

    name: str
    avatar_cid: Cid | None


@dataclass(frozen=True, slots=True)
class ProfileTexts:
    """The texts of a profile, which satisfy the rules."""

    name: str
    bio: str
    links: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """What an author says about themselves. A name proves nothing: only the address does."""

    address: Address
    texts: ProfileTexts
    avatar_cid: Cid | None
    updated_at: datetime

    @property
    def byline(self) -> Byline:
        return Byline(self.texts.name, self.avatar_cid)


def name_key(name: str) -> str:
    """A key that is the same for names that look alike: case, width and joiners do not count."""
    return " ".join(_fold(name).split())


def _fold(text: str) -> str:
    for joiner in _JOINERS:
        text = text.replace(joiner, "")
    return unicodedata.normalize("NFKC", text).casefold()
