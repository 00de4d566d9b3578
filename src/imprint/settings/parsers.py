"""Parsers for the text of settings, each of which raises `InvalidSetting`."""

import ipaddress
import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import SplitResult, urlsplit

from imprint.domain.formats.addresses import ZERO_ADDRESS, Address, NotAnAddress, parse_address
from imprint.domain.rate_limits import Rate
from imprint.settings.declaration import InvalidSetting
from imprint.settings.secrets import Secret

_Value = TypeVar("_Value")

_INTEGER = re.compile(r"-?[0-9]{1,30}")
_DECIMAL = re.compile(r"[0-9]{1,12}(\.[0-9]{1,9})?")
_RATE = re.compile(r"([0-9]{1,12})/([0-9]{1,9})")
_CPUS = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_COIN = re.compile(r"[A-Za-z0-9]{1,11}")
_LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")
_ON = ("on", "true", "yes", "1")
_OFF = ("off", "false", "no", "0")


def parse_text(text: str) -> str:
    """Parse a non-empty text without control characters."""
    if not text or not text.isprintable():
        raise InvalidSetting("must be text without control characters, and not empty")
    return text


def parse_path(text: str) -> Path:
    """Parse a path on this machine, expanding `~`."""
    return Path(parse_text(text)).expanduser()


def parse_switch(text: str) -> bool:
    """Parse `on` or `off`, in their usual spellings."""
    if text.lower() not in _ON + _OFF:
        raise InvalidSetting("must be 'on' or 'off'")
    return text.lower() in _ON


def parse_rate(text: str) -> Rate:
    """Parse a rate: `30/300` means thirty in three hundred seconds."""
    match = _RATE.fullmatch(text)
    if match is None or int(match[1]) == 0 or int(match[2]) == 0:
        raise InvalidSetting("must be a count and a number of seconds, like 30/300")
    return Rate(int(match[1]), int(match[2]))


def parse_contract(text: str) -> Address:
    """Parse the address of a contract. The zero address is refused."""
    try:
        address = parse_address(text)
    except NotAnAddress as error:
        raise InvalidSetting(f"must be an address. {error}") from error
    if address == ZERO_ADDRESS:
        raise InvalidSetting("must not be the zero address")
    return address


def parse_host(text: str) -> str:
    """Parse a host name or an IP address to listen on."""
    if _is_ip(text) or _HOST.fullmatch(text):
        return text
    raise InvalidSetting("must be a host name or an IP address")


def parse_proxy(text: str) -> str:
    """Parse the IP address of a proxy, or a network of proxies."""
    try:
        # The zone of an address says how this machine reaches it, not which address it is.
        network = ipaddress.ip_network(text.partition("%")[0] if _is_ip(text) else text)
    except ValueError as error:
        if (meant := _without_host_bits(text)) is not None:
            raise InvalidSetting(
                f"names {text}, which is an address inside a network: write {meant} for the "
                f"whole network, or {text.partition('/')[0]} for the one address"
            ) from error
        raise InvalidSetting(
            "must name IP addresses and networks, like 192.0.2.1 or 10.0.0.0/8"
        ) from error
    first = network.network_address
    if isinstance(first, ipaddress.IPv6Address) and first.ipv4_mapped is not None:
        network = ipaddress.ip_network((first.ipv4_mapped, max(network.prefixlen - 96, 0)))
    return str(network.network_address) if network.num_addresses == 1 else str(network)


def parse_cpus(text: str) -> tuple[int, ...]:
    """Parse the CPUs that the process may use, as `0,1` or `0-3`. `auto` gives ()."""
    if text.lower() == "auto":
        return ()
    found: dict[int, None] = {}
    for part in text.split(","):
        match = _CPUS.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            raise InvalidSetting("must be auto, or CPU numbers like 0,1 or 0-3")
        found |= dict.fromkeys(range(first, last + 1))
    if not hasattr(os, "sched_setaffinity"):
        raise InvalidSetting("must be auto: this system cannot pin a process to a CPU")
    usable = os.sched_getaffinity(0)
    if missing := [cpu for cpu in found if cpu not in usable]:
        have = ",".join(map(str, sorted(usable)))
        raise InvalidSetting(f"names CPU {missing[0]}, but this process may use only {have}")
    return tuple(found)


def parse_domain(text: str) -> str:
    """Parse a host with an optional port into lower case. A URL is refused.

    A loopback name may have any port: `localhost:*`.
    """
    host, _, port = text.rpartition(":")
    if port == "*" and host.lower() in _LOOPBACK_HOSTS:
        return text.lower()
    parts = _split_url(f"http://{text}")
    if not parts.hostname or parts.netloc != text or parts.username is not None:
        raise InvalidSetting("must name hosts like example.org or localhost:3000, without a scheme")
    return text.lower()


def parse_url(text: str) -> SplitResult:
    """Parse an `http` or `https` URL and split it into its components."""
    parts = _split_url(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or not text.isascii():
        raise InvalidSetting("must be a URL that begins with http:// or https://")
    return parts


def parse_secret_url(text: str) -> Secret:
    """Parse an `http` or `https` URL whose path, query or user may be an API key."""
    parse_url(text)
    return Secret(text)


def parse_origin(text: str) -> str:
    """Parse an origin such as `https://example.org`: a scheme and an authority only."""
    parts = parse_url(text)
    if parts.path.strip("/") or parts.query or parts.fragment or parts.username is not None:
        raise InvalidSetting("must be an origin like https://example.org, without a path")
    return f"{parts.scheme}://{parts.netloc.lower()}"


def parse_allowed_origin(text: str) -> str:
    """Parse an origin, or `*` for all origins."""
    return text if text == "*" else parse_origin(text)


def parse_hub(text: str) -> str:
    """Parse an `http` or `https` URL to be published, without a user and in printable ASCII
    only."""
    parts = parse_url(text)
    if parts.fragment or parts.username is not None or set(text) & set('<>"'):
        raise InvalidSetting("must be a URL without a user or a fragment")
    return text


def parse_public_url(text: str) -> str:
    """Parse an `https` URL to be published, without a trailing slash. On this machine, `http` is
    allowed."""
    parts = urlsplit(parse_hub(text))
    if parts.scheme != "https" and parts.netloc.rpartition(":")[0] not in _LOOPBACK_HOSTS:
        raise InvalidSetting("must be a URL that begins with https://")
    return text.rstrip("/")


def parse_coin(text: str) -> str:
    """Parse the symbol of a coin."""
    if not _COIN.fullmatch(text):
        raise InvalidSetting("must be a symbol of at most 11 letters and digits, like ETH")
    return text


def parse_contact(text: str) -> str:
    """Parse a `mailto:` or `https:` URL."""
    parts = _split_url(text)
    named = parts.hostname if parts.scheme == "https" else "@" in parts.path
    if parts.scheme not in ("mailto", "https") or not named or not text.isascii():
        raise InvalidSetting("must be an address like mailto:safety@example.org or https://…")
    return text


def integer(least: int, most: int) -> Callable[[str], int]:
    """Return a parser for whole numbers in a range."""

    def parse_integer(text: str) -> int:
        if not _INTEGER.fullmatch(text) or not least <= int(text) <= most:
            raise InvalidSetting(f"must be a whole number from {least} to {most}")
        return int(text)

    return parse_integer


def seconds(least: float, most: float) -> Callable[[str], float]:
    """Return a parser for durations in a range, whole or fractional."""

    def parse_seconds(text: str) -> float:
        value = float(text) if _DECIMAL.fullmatch(text) else math.nan
        if not least <= value <= most:
            raise InvalidSetting(f"must be a number from {least:g} to {most:g}")
        return value

    return parse_seconds


def automatic(parse: Callable[[str], _Value]) -> Callable[[str], _Value | None]:
    """Return a parser that turns `auto` into None, for a value that is chosen later."""

    def parse_automatic(text: str) -> _Value | None:
        return None if text.lower() == "auto" else parse(text)

    return parse_automatic


def choice(*words: str) -> Callable[[str], str]:
    """Return a parser for one of these words."""

    def parse_choice(text: str) -> str:
        if text.lower() not in words:
            raise InvalidSetting(f"must be one of: {', '.join(words)}")
        return text.lower()

    return parse_choice


def several(parse: Callable[[str], _Value]) -> Callable[[str], tuple[_Value, ...]]:
    """Return a parser for comma-separated values without duplicates. Empty text gives ()."""

    def parse_several(text: str) -> tuple[_Value, ...]:
        parts = [part.strip() for part in text.split(",")]
        return tuple(dict.fromkeys(parse(part) for part in parts if part))

    return parse_several


def _split_url(text: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018 - reading the port validates it
    except ValueError as error:
        raise InvalidSetting("has an invalid host or port") from error
    if any(char.isspace() or not char.isprintable() for char in text):
        raise InvalidSetting("must not contain spaces or control characters")
    return parts


def _without_host_bits(text: str) -> str | None:
    """Return the network that an address with a prefix belongs to, or None for any other text."""
    try:
        return str(ipaddress.ip_network(text, strict=False))
    except ValueError:
        return None


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
