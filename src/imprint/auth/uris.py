"""URIs and authorities by the grammar of RFC 3986, in linear time."""

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv6Address

_UNRESERVED = r"A-Za-z0-9\-._~"
_SUB_DELIMS = r"!$&'()*+,;="
_ENCODED = r"%[0-9A-Fa-f]{2}"


def _many(characters: str) -> str:
    # Possessive: no character is ever looked at twice.
    return rf"(?:[{_UNRESERVED}{_SUB_DELIMS}{characters}]++|{_ENCODED})*+"


_URI = re.compile(
    rf"(?P<scheme>[A-Za-z][A-Za-z0-9+\-.]*+):"
    rf"(?://(?P<authority>[^/?#]*+)|(?!//)){_many(':@/')}"
    rf"(?:\?{_many(':@/?')})?+(?:\#{_many(':@/?')})?+"
)
_USERINFO = re.compile(_many(":"))
_NAME = re.compile(_many(""))
_BRACKETED = re.compile(
    rf"\[(?:(?P<six>[0-9A-Fa-f:.]{{2,45}}+)|[vV][0-9A-Fa-f]++\.[{_UNRESERVED}{_SUB_DELIMS}:]++)\]"
)
_PORT = re.compile(r"[0-9]*+")
_PATH_CHARACTERS = re.compile(_many(":@"))
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+\-.]*+")


class NotAUri(ValueError):
    """The text does not follow the grammar."""


@dataclass(frozen=True, slots=True)
class Authority:
    """Who is meant: `host`, and `userinfo` and `port` if their delimiters are there."""

    host: str
    userinfo: str | None = None
    port: str | None = None


@dataclass(frozen=True, slots=True)
class Uri:
    """A URI as it was written, and the two parts of it that are ever compared."""

    text: str
    scheme: str
    authority: str | None


def parse_uri(text: str) -> Uri:
    """The URI written as `text`; raises `NotAUri` for a relative or malformed one."""
    match = _URI.fullmatch(text)
    if match is None:
        raise NotAUri("This is no URI.")
    authority = match["authority"]
    if authority is not None:
        parse_authority(authority)
    return Uri(text, match["scheme"], authority)


def parse_authority(text: str) -> Authority:
    """The parts of an authority; the host may be empty, as in `file:///`. Raises `NotAUri`."""
    userinfo, at, rest = text.rpartition("@")
    host, port = _split_port(rest)
    well_formed = _USERINFO.fullmatch(userinfo) and _is_host(host) and _PORT.fullmatch(port or "")
    if not well_formed:
        raise NotAUri("This is no authority.")
    return Authority(host, userinfo if at else None, port)


def is_scheme(text: str) -> bool:
    """Whether `text` is the name of a scheme."""
    return _SCHEME.fullmatch(text) is not None


def is_path_segment(text: str) -> bool:
    """Whether `text` may stand between two slashes of a path (`*pchar`)."""
    return _PATH_CHARACTERS.fullmatch(text) is not None


def _split_port(text: str) -> tuple[str, str | None]:
    bracket = text.rfind("]")
    colon = text.find(":", bracket + 1)
    return (text, None) if colon < 0 else (text[:colon], text[colon + 1 :])


def _is_host(text: str) -> bool:
    bracketed = _BRACKETED.fullmatch(text)
    if bracketed is None:
        return _NAME.fullmatch(text) is not None
    if bracketed["six"] is not None:
        try:
            IPv6Address(bracketed["six"])
        except AddressValueError:
            return False
    return True
