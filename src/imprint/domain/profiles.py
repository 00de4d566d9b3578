"""Profiles: the information that authors give about themselves, and the rules for its texts."""

import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from urllib.parse import urlsplit

from imprint.domain.drafts.files import Write
from imprint.domain.errors import Code, Refusal
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid

MAX_NAME = 64
"""Maximum number of code points in a name."""

MAX_BIO = 500
"""Maximum number of code points in a bio."""

MAX_LINKS = 5
"""Maximum number of links in a profile."""

MAX_LINK = 300
"""Maximum number of characters in a link."""

AVATAR_SIDE = 512
"""Maximum side length of an avatar in pixels."""

_JOINERS = "\u200c\u200d"
"""The invisible characters that texts may contain, because several scripts need them."""

_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U000e0000-\U000e0fff]"
)
"""Invisible characters that are not in the categories of `_HIDDEN`."""

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of control, format and separator characters, including bidirectional controls."""

_SPACES = " \u00a0\u3000"
"""The spaces allowed in a name or bio. Other spaces look the same but would make names differ."""

_ADDRESS = re.compile(r"(?<![^\W_])0x|[.\u3002]eth(?![^\W_])")
"""Matches the beginning of an address, or the end of an ENS name."""

_LIKE_X = str.maketrans("хχ×", "xxx")
"""Letters that look like an x."""

_LINK = re.compile(r"(?:https://|mailto:)[^\s\"<>\\^`{|}]+", re.IGNORECASE)
"""Matches an `https:` or `mailto:` URL without characters that are invalid in URLs."""


@dataclass(frozen=True, slots=True)
class Byline:
    """The author's name and picture shown next to a post."""

    name: str
    avatar_cid: Cid | None


@dataclass(frozen=True, slots=True)
class ProfileTexts:
    """The texts of a profile, checked against the rules."""

    name: str
    bio: str
    links: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """Information that authors give about themselves. Only the address proves their identity."""

    address: Address
    texts: ProfileTexts
    avatar_cid: Cid | None
    updated_at: datetime

    @property
    def byline(self) -> Byline:
        return Byline(self.texts.name, self.avatar_cid)


class AvatarChange(StrEnum):
    """Whether the picture of a profile is kept, replaced or removed."""

    KEEP = "keep"
    NONE = "none"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True)
class ProfileUpdate:
    """A verified update of a profile: the signed write and the texts."""

    write: Write
    texts: ProfileTexts
    avatar: AvatarChange


def parse_profile(name: str, bio: str, links: str) -> ProfileTexts:
    """Check the texts of a profile, whose links are separated by line feeds.

    Refuses with `invalid_profile`.
    """
    return ProfileTexts(_parse_name(name), _parse_bio(bio), _parse_links(links))


def invalid_profile(detail: str) -> Refusal:
    """Return the refusal for a profile that breaks a rule."""
    return Refusal(Code.INVALID_PROFILE, detail)


def name_key(name: str) -> str:
    """Return a key that is equal for names that look alike, ignoring case, width and joiners."""
    return " ".join(_fold(name).split())


def _parse_name(given: str) -> str:
    name = _normalized(given, MAX_NAME).strip(_SPACES)
    _check_characters("name", name)
    if len(name) > MAX_NAME or not name.strip(_JOINERS + _SPACES):
        raise invalid_profile(f"A name has 1 to {MAX_NAME} characters.")
    if _ADDRESS.search(_skeleton(name)):
        raise invalid_profile("A name may not read as an address (0x…) or an ENS name (….eth).")
    return name


def _parse_bio(given: str) -> str:
    bio = _normalized(given, MAX_BIO)
    _check_characters("bio", bio.replace("\n", " "))
    if len(bio) > MAX_BIO:
        raise invalid_profile(f"A bio has at most {MAX_BIO} characters.")
    return bio


def _normalized(text: str, most: int) -> str:
    """Return the text in NFC. An overlong text is cut, but stays long enough to be refused."""
    return unicodedata.normalize("NFC", text[: 4 * most + 1])


def _check_characters(member: str, text: str) -> None:
    for each in text:
        category = unicodedata.category(each)
        hidden = category in _HIDDEN and each not in _JOINERS
        if hidden or _INVISIBLE.match(each) or (category == "Zs" and each not in _SPACES):
            raise invalid_profile(
                f"The {member} has a control or invisible character, U+{ord(each):04X}."
            )


def _parse_links(given: str) -> tuple[str, ...]:
    if not given:
        return ()
    if given.count("\n") >= MAX_LINKS:
        raise invalid_profile(f"A profile has at most {MAX_LINKS} links.")
    return tuple(_parse_link(link) for link in given.split("\n"))


def _parse_link(link: str) -> str:
    if len(link) > MAX_LINK:
        raise invalid_profile(f"A link has at most {MAX_LINK} characters.")
    _check_characters("list of links", link)
    if not _LINK.fullmatch(link) or not _is_usable(link):
        raise invalid_profile("A link begins with https:// or mailto:, and is a complete address.")
    return link


def _is_usable(link: str) -> bool:
    try:
        parts = urlsplit(link)
        # A user name before an @ can disguise the host that a link leads to.
        if parts.scheme == "https":
            return bool(parts.hostname) and parts.username is None and parts.port != 0
    except ValueError:
        return False
    mailbox, _, host = parts.path.partition("@")
    return bool(mailbox and host)


def _fold(text: str) -> str:
    for joiner in _JOINERS:
        text = text.replace(joiner, "")
    return unicodedata.normalize("NFKC", text).casefold()


def _skeleton(name: str) -> str:
    """Fold a name by its looks: zero digits become 0, and letters that look like an x become x."""
    folded = _fold(name).translate(_LIKE_X)
    return "".join("0" if unicodedata.digit(each, None) == 0 else each for each in folded)
