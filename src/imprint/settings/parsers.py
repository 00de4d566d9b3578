"""From the text of a setting to its value; each reader raises `Unreadable` for anything else."""

import ipaddress
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import SplitResult, urlsplit

from imprint.domain.addresses import ZERO_ADDRESS, Address, NotAnAddress, parse_address
from imprint.domain.rate_limits import Rate
from imprint.settings.secrets import Secret
from imprint.settings.setting import Unreadable

_Value = TypeVar("_Value")

_INTEGER = re.compile(r"-?[0-9]{1,30}")
_DECIMAL = re.compile(r"[0-9]{1,12}(\.[0-9]{1,9})?")
_RATE = re.compile(r"([0-9]{1,9})/([0-9]{1,9})")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_SWITCHES = {"on": True, "true": True, "yes": True, "1": True} | {
    "off": False,
    "false": False,
    "no": False,
    "0": False,
}


def read_text(text: str) -> str:
    """A text that is not empty and has no control characters."""
    if not text or not text.isprintable():
        raise Unreadable("must be a text without control characters, and not empty")
    return text


def read_secret(text: str) -> Secret:
    """A secret; whether it is a good one is decided when all of them are known."""
    return Secret(text)


def read_path(text: str) -> Path:
    """A path of this machine."""
    return Path(read_text(text)).expanduser()


def read_host(text: str) -> str:
    """A host name or an IP address to listen on."""
    if _is_ip(text) or _HOST.fullmatch(text):
        return text
    raise Unreadable("must be a host name or an IP address")


def read_switch(text: str) -> bool:
    """`on` or `off`, and their usual spellings."""
    value = _SWITCHES.get(text.lower())
    if value is None:
        raise Unreadable("must be 'on' or 'off'")
    return value


def read_address(text: str) -> Address:
    """The address of a contract; the zero address is nobody's."""
    try:
        address = parse_address(text)
    except NotAnAddress as error:
        raise Unreadable(f"must be an address. {error}") from error
    if address == ZERO_ADDRESS:
        raise Unreadable("must not be the zero address")
    return address


def read_rate(text: str) -> Rate:
    """`30/300`: thirty in three hundred seconds."""
    match = _RATE.fullmatch(text)
    if match is None or int(match[1]) == 0 or int(match[2]) == 0:
        raise Unreadable("must be a count and a number of seconds, like 30/300")
    return Rate(int(match[1]), int(match[2]))


def read_origin(text: str) -> str:
    """`https://example.org`: a scheme and an authority, and nothing after them."""
    parts = read_url(text)
    if parts.path.strip("/") or parts.query or parts.fragment or parts.username is not None:
        raise Unreadable("must be an origin like https://example.org, without a path")
    return f"{parts.scheme}://{parts.netloc.lower()}"


def read_allowed_origin(text: str) -> str:
    """An origin, or `*` for every one."""
    return text if text == "*" else read_origin(text)


def read_contact(text: str) -> str:
    """A `mailto:` or `https:` address to write to."""
    parts = _split_url(text)
    named = parts.hostname if parts.scheme == "https" else "@" in parts.path
    if parts.scheme not in ("mailto", "https") or not named or not text.isascii():
        raise Unreadable("must be an address like mailto:safety@example.org or https://…")
    return text


def read_domain(text: str) -> str:
    """A host, with its port if it has one, lower case; a URL is refused."""
    parts = _split_url(f"http://{text}")
    if not parts.hostname or parts.netloc != text or parts.username is not None:
        raise Unreadable("must name hosts like example.org or localhost:3000, without a scheme")
    return text.lower()


def read_secret_address(text: str) -> Secret:
    """An `http` or `https` URL whose path or user may be a key."""
    read_url(text)
    return Secret(text)


def read_proxy(text: str) -> str:
    """The IP address of a proxy."""
    if not _is_ip(text):
        raise Unreadable("must name IP addresses")
    return text


def read_url(text: str) -> SplitResult:
    """An `http` or `https` URL, in its parts."""
    parts = _split_url(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or not text.isascii():
        raise Unreadable("must be a URL that begins with http:// or https://")
    return parts


def integer(least: int, most: int) -> Callable[[str], int]:
    """A reader of whole numbers in a range."""

    def read_integer(text: str) -> int:
        if not _INTEGER.fullmatch(text) or not least <= int(text) <= most:
            raise Unreadable(f"must be a whole number from {least} to {most}")
        return int(text)

    return read_integer


def seconds(least: float, most: float) -> Callable[[str], float]:
    """A reader of durations in a range; fractions are allowed."""

    def read_seconds(text: str) -> float:
        value = float(text) if _DECIMAL.fullmatch(text) else math.nan
        if not least <= value <= most:
            raise Unreadable(f"must be a number from {least:g} to {most:g}")
        return value

    return read_seconds


def choice(*words: str) -> Callable[[str], str]:
    """A reader of one of these words."""

    def read_choice(text: str) -> str:
        if text.lower() not in words:
            raise Unreadable(f"must be one of: {', '.join(words)}")
        return text.lower()

    return read_choice


def several(read: Callable[[str], _Value]) -> Callable[[str], tuple[_Value, ...]]:
    """A reader of comma-separated values, each once; an empty text means none."""

    def read_several(text: str) -> tuple[_Value, ...]:
        parts = [part.strip() for part in text.split(",")]
        return tuple(dict.fromkeys(read(part) for part in parts if part))

    return read_several


def _split_url(text: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018 — asking for it is the check
    except ValueError as error:
        raise Unreadable("has a host or a port that is none") from error
    if any(char.isspace() or not char.isprintable() for char in text):
        raise Unreadable("must not contain spaces or control characters")
    return parts


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
