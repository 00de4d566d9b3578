"""Parses and writes login messages: the text of EIP-4361 ("Sign-In with Ethereum").

This module has three sections: the URI grammar (RFC 3986), timestamps (RFC 3339), and the message
itself. Every pattern matches in linear time.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from ipaddress import AddressValueError, IPv6Address
from typing import NoReturn

from imprint.domain.errors import Code, Refusal
from imprint.domain.formats.addresses import NotAnAddress, parse_address

# --- URIs (RFC 3986) ---

_UNRESERVED = r"A-Za-z0-9\-._~"
_SUB_DELIMS = r"!$&'()*+,;="
_ENCODED = r"%[0-9A-Fa-f]{2}"


def _many(characters: str) -> str:
    # Possessive quantifiers do not backtrack.
    return rf"(?:[{_UNRESERVED}{_SUB_DELIMS}{characters}]++|{_ENCODED})*+"


_URI = re.compile(
    rf"(?P<scheme>[A-Za-z][A-Za-z0-9+\-.]*+):"
    rf"(?://(?P<authority>[^/?#]*+)|(?!//)){_many(':@/')}"
    rf"(?:\?{_many(':@/?')})?+(?:\#{_many(':@/?')})?+"
)
_USERINFO = re.compile(_many(":"))
_HOST_NAME = re.compile(_many(""))
_BRACKETED = re.compile(
    rf"\[(?:(?P<six>[0-9A-Fa-f:.]{{2,45}}+)|[vV][0-9A-Fa-f]++\.[{_UNRESERVED}{_SUB_DELIMS}:]++)\]"
)
_PORT = re.compile(r"[0-9]*+")
_PATH_CHARACTERS = re.compile(_many(":@"))
_SCHEME_NAME = re.compile(r"[A-Za-z][A-Za-z0-9+\-.]*+")


class NotAUri(ValueError):
    """The text is not a URI, or not an authority."""


@dataclass(frozen=True, slots=True)
class Authority:
    """The parts of an authority. `userinfo` and `port` are None if their delimiter is missing."""

    host: str
    userinfo: str | None = None
    port: str | None = None


@dataclass(frozen=True, slots=True)
class Uri:
    """A URI as written, and the components that are compared: its scheme and its authority."""

    text: str
    scheme: str
    authority: str | None


def parse_uri(text: str) -> Uri:
    """Parse an absolute URI. Raises `NotAUri`."""
    match = _URI.fullmatch(text)
    if match is None:
        raise NotAUri("This is not a URI.")
    authority = match["authority"]
    if authority is not None:
        parse_authority(authority)
    return Uri(text, match["scheme"], authority)


def parse_authority(text: str) -> Authority:
    """Parse an authority, whose host may be empty, as in `file:///`. Raises `NotAUri`."""
    userinfo, at, rest = text.rpartition("@")
    host, port = split_port(rest)
    well_formed = _USERINFO.fullmatch(userinfo) and _is_host(host) and _PORT.fullmatch(port or "")
    if not well_formed:
        raise NotAUri("This is not a host with an optional port.")
    return Authority(host, userinfo if at else None, port)


def is_scheme(text: str) -> bool:
    """Whether `text` is a scheme name."""
    return _SCHEME_NAME.fullmatch(text) is not None


def is_path_segment(text: str) -> bool:
    """Whether `text` is a valid path segment (`*pchar`)."""
    return _PATH_CHARACTERS.fullmatch(text) is not None


def split_port(text: str) -> tuple[str, str | None]:
    """The host of an authority without userinfo, and its port if it has one."""
    bracket = text.rfind("]")
    colon = text.find(":", bracket + 1)
    return (text, None) if colon < 0 else (text[:colon], text[colon + 1 :])


def _is_host(text: str) -> bool:
    bracketed = _BRACKETED.fullmatch(text)
    if bracketed is None:
        return _HOST_NAME.fullmatch(text) is not None
    if bracketed["six"] is not None:
        try:
            IPv6Address(bracketed["six"])
        except AddressValueError:
            return False
    return True


# --- Instants (RFC 3339) ---

_INSTANT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})"
    r"(?:\.([0-9]+))?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))"
)


class NotAnInstant(ValueError):
    """The text is not a date and time with a zone, or names a time that does not exist."""


@dataclass(frozen=True, slots=True)
class Instant:
    """A timestamp as written, and its UTC time truncated to microseconds."""

    text: str
    moment: datetime


def parse_instant(text: str) -> Instant:
    """Parse a full date, time and zone.

    Raises `NotAnInstant`, even for leap seconds, which `datetime` does not support.
    """
    match = _INSTANT.fullmatch(text)
    if match is None:
        raise NotAnInstant("A time must look like 2030-01-31T12:00:00Z.")
    fraction, sign, hours, minutes = match.group(7, 8, 9, 10)
    microsecond = int((fraction or "")[:6].ljust(6, "0"))
    year, month, day, hour, minute, second = map(int, match.group(1, 2, 3, 4, 5, 6))
    try:
        zone = _read_zone(sign, int(hours or 0), int(minutes or 0))
        local = datetime(year, month, day, hour, minute, second, microsecond, tzinfo=zone)
        return Instant(text, local.astimezone(UTC))
    except (ValueError, OverflowError) as error:
        raise NotAnInstant("There is no such date or time.") from error


def _read_zone(sign: str | None, hours: int, minutes: int) -> timezone:
    # `timezone` checks that the offset is below a day, but not that minutes are below 60.
    if minutes > 59:
        raise NotAnInstant("There is no such time zone offset.")
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(-offset if sign == "-" else offset)


# --- The message (EIP-4361) ---

MAX_MESSAGE_BYTES = 4096
"""Length limit of a login message in bytes, ten times what wallets show."""

_OPENING = " wants you to sign in with your Ethereum account:"
_STATEMENT = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;= ]*")
_CHAIN_ID = re.compile(r"0|[1-9][0-9]{0,77}")
_NONCE = re.compile(r"[A-Za-z0-9]{8,}")


@dataclass(frozen=True, slots=True)
class LoginMessage:
    """A parsed login message. Absent fields are None, and empty ones are empty strings."""

    scheme: str | None
    domain: str
    address: str
    statement: str | None
    uri: Uri | None
    chain_id: int
    nonce: str
    issued_at: Instant
    expires_at: Instant | None = None
    not_before: Instant | None = None
    request_id: str | None = None
    resources: tuple[Uri, ...] | None = None


class _Lines:
    """The lines of a message, consumed one at a time."""

    def __init__(self, text: str) -> None:
        self._waiting = text.split("\n")[::-1]

    def take(self, label: str = "") -> str:
        """Consume the next line, which must begin with `label`, and return the rest of it."""
        rest = self.take_if(label)
        if rest is None:
            _refuse(f"The line '{label.strip()}' of the login message is missing or misplaced.")
        return rest

    def take_if(self, label: str) -> str | None:
        """Consume the next line if it begins with `label` and return the rest of it, or None."""
        if not self._waiting or not self._waiting[-1].startswith(label):
            return None
        return self._waiting.pop()[len(label) :]

    def take_blank(self) -> None:
        """Consume the next line, which must be empty."""
        if self.take():
            _refuse("An empty line is missing.")

    @property
    def next_is_blank(self) -> bool:
        return bool(self._waiting) and not self._waiting[-1]

    @property
    def finished(self) -> bool:
        return not self._waiting


def parse_login_message(text: str) -> LoginMessage:
    """Parse a login message. Refuses with `invalid_login_message` if it violates the grammar."""
    if len(text) > MAX_MESSAGE_BYTES or not text.isascii():
        _refuse(f"A login message must be plain ASCII of at most {MAX_MESSAGE_BYTES} bytes.")
    lines = _Lines(text)
    try:
        message = _read_message(lines)
    except (NotAUri, NotAnInstant, NotAnAddress) as error:
        raise Refusal(Code.INVALID_LOGIN_MESSAGE, str(error)) from error
    if not lines.finished or write_login_message(message) != text:
        _refuse("The login message has an unexpected line.")
    return message


def write_login_message(message: LoginMessage) -> str:
    """Return the text of a login message."""
    lines = [
        (f"{message.scheme}://" if message.scheme is not None else "") + message.domain + _OPENING,
        message.address,
        "",
        *([message.statement] if message.statement is not None else []),
        "",
        *([f"URI: {message.uri.text}"] if message.uri is not None else []),
        "Version: 1",
        f"Chain ID: {message.chain_id}",
        f"Nonce: {message.nonce}",
        f"Issued At: {message.issued_at.text}",
    ]
    if message.expires_at is not None:
        lines.append(f"Expiration Time: {message.expires_at.text}")
    if message.not_before is not None:
        lines.append(f"Not Before: {message.not_before.text}")
    if message.request_id is not None:
        lines.append(f"Request ID: {message.request_id}")
    if message.resources is not None:
        lines += ["Resources:", *(f"- {resource.text}" for resource in message.resources)]
    return "\n".join(lines)


def _read_message(lines: _Lines) -> LoginMessage:
    scheme, domain = _read_opening(lines.take())
    address = lines.take()
    parse_address(address)
    lines.take_blank()
    statement = _read_statement(lines)
    uri = lines.take_if("URI: ")
    if lines.take("Version: ") != "1":
        _refuse("The version of a login message must be 1.")
    return LoginMessage(
        scheme,
        domain,
        address,
        statement,
        uri=None if uri is None else parse_uri(uri),
        chain_id=int(_match(_CHAIN_ID, lines.take("Chain ID: "), "The chain id must be a number.")),
        nonce=_match(
            _NONCE, lines.take("Nonce: "), "The nonce must be at least 8 letters and digits."
        ),
        issued_at=parse_instant(lines.take("Issued At: ")),
        expires_at=_read_instant(lines.take_if("Expiration Time: ")),
        not_before=_read_instant(lines.take_if("Not Before: ")),
        request_id=_read_request_id(lines.take_if("Request ID: ")),
        resources=_read_resources(lines),
    )


def _read_opening(line: str) -> tuple[str | None, str]:
    origin = line.removesuffix(_OPENING)
    scheme, separator, domain = origin.rpartition("://")
    if origin == line or (separator and not is_scheme(scheme)) or not parse_authority(domain).host:
        _refuse("The first line does not name the domain that requests the login.")
    return (scheme if separator else None), domain


def _read_statement(lines: _Lines) -> str | None:
    """Parse the statement and the empty line after it. Returns None if there is only the empty
    line."""
    statement = lines.take()
    if not statement and not lines.next_is_blank:
        return None
    lines.take_blank()
    return _match(_STATEMENT, statement, "The statement contains a character that is not allowed.")


def _read_instant(text: str | None) -> Instant | None:
    return None if text is None else parse_instant(text)


def _read_request_id(text: str | None) -> str | None:
    if text is not None and not is_path_segment(text):
        _refuse("The request id contains a character that is not allowed.")
    return text


def _read_resources(lines: _Lines) -> tuple[Uri, ...] | None:
    if lines.take_if("Resources:") is None:
        return None
    resources = []
    while (resource := lines.take_if("- ")) is not None:
        resources.append(parse_uri(resource))
    return tuple(resources)


def _match(pattern: re.Pattern[str], text: str, error_message: str) -> str:
    return text if pattern.fullmatch(text) else _refuse(error_message)


def _refuse(detail: str) -> NoReturn:
    raise Refusal(Code.INVALID_LOGIN_MESSAGE, detail)
