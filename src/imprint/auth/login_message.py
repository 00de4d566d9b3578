"""The login message of EIP-4361: its grammar, and nothing else.

The grammar is the ERC's, with one leniency: the `URI` line may be absent. It is read line by
line, each line once. A message that is read but written again differently is refused, so no two
readings of one text exist.
"""

import re
from dataclasses import dataclass
from typing import NoReturn

from imprint.auth.instants import Instant, NotAnInstant, parse_instant
from imprint.auth.uris import NotAUri, Uri, is_path_segment, is_scheme, parse_authority, parse_uri
from imprint.domain.addresses import NotAnAddress, parse_address
from imprint.domain.refusals import Code, Refusal

MAX_MESSAGE_BYTES = 4096
"""How long a login message may be: ten times what wallets show."""

_OPENING = " wants you to sign in with your Ethereum account:"
_STATEMENT = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;= ]*")
_CHAIN_ID = re.compile(r"0|[1-9][0-9]{0,77}")
_NONCE = re.compile(r"[A-Za-z0-9]{8,}")


@dataclass(frozen=True, slots=True)
class LoginMessage:
    """A message that follows the grammar; what is absent is None, what is empty is empty."""

    scheme: str | None
    domain: str
    address: str
    statement: str | None
    uri: Uri | None
    chain_id: int
    nonce: str
    issued_at: Instant
    expires_at: Instant | None
    not_before: Instant | None
    request_id: str | None
    resources: tuple[Uri, ...] | None


class _Lines:
    """The lines of a message, each taken once, in order."""

    def __init__(self, text: str) -> None:
        self._waiting = text.split("\n")[::-1]

    def take(self, label: str = "") -> str:
        """What follows `label` on the next line, which must begin with it."""
        rest = self.take_if(label)
        if rest is None:
            _refuse(f"The line '{label.strip()}' of the login message is missing or misplaced.")
        return rest

    def take_if(self, label: str) -> str | None:
        """What follows `label` on the next line, or None if another line is next."""
        if not self._waiting or not self._waiting[-1].startswith(label):
            return None
        return self._waiting.pop()[len(label) :]

    def take_blank(self) -> None:
        """Pass an empty line, which must be next."""
        if self.take():
            _refuse("An empty line is missing.")

    @property
    def next_is_blank(self) -> bool:
        return bool(self._waiting) and not self._waiting[-1]

    @property
    def finished(self) -> bool:
        return not self._waiting


def parse_login_message(text: str) -> LoginMessage:
    """The fields of a login message. Refuses `invalid_login_message` by grammar alone."""
    if len(text) > MAX_MESSAGE_BYTES or not text.isascii():
        _refuse(f"A login message is plain ASCII of at most {MAX_MESSAGE_BYTES} bytes.")
    lines = _Lines(text)
    try:
        message = _read_message(lines)
    except (NotAUri, NotAnInstant, NotAnAddress) as error:
        raise Refusal(Code.INVALID_LOGIN_MESSAGE, str(error)) from error
    if not lines.finished or write_login_message(message) != text:
        _refuse("The login message has a line that does not belong there.")
    return message


def write_login_message(message: LoginMessage) -> str:
    """The one text of a login message."""
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
        _refuse("The version of a login message is 1.")
    return LoginMessage(
        scheme,
        domain,
        address,
        statement,
        uri=None if uri is None else parse_uri(uri),
        chain_id=int(_match(_CHAIN_ID, lines.take("Chain ID: "), "The chain id is a number.")),
        nonce=_match(
            _NONCE, lines.take("Nonce: "), "The nonce has at least 8 letters and digits, only."
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
        _refuse("The first line does not say which domain wants a login.")
    return (scheme if separator else None), domain


def _read_statement(lines: _Lines) -> str | None:
    """The statement and the empty line after it; or None where an empty line is all there is."""
    statement = lines.take()
    if not statement and not lines.next_is_blank:
        return None
    lines.take_blank()
    return _match(_STATEMENT, statement, "The statement has a character that is not allowed.")


def _read_instant(text: str | None) -> Instant | None:
    return None if text is None else parse_instant(text)


def _read_request_id(text: str | None) -> str | None:
    if text is not None and not is_path_segment(text):
        _refuse("The request id has a character that is not allowed.")
    return text


def _read_resources(lines: _Lines) -> tuple[Uri, ...] | None:
    if lines.take_if("Resources:") is None:
        return None
    resources = []
    while (resource := lines.take_if("- ")) is not None:
        resources.append(parse_uri(resource))
    return tuple(resources)


def _match(pattern: re.Pattern[str], text: str, complaint: str) -> str:
    return text if pattern.fullmatch(text) else _refuse(complaint)


def _refuse(detail: str) -> NoReturn:
    raise Refusal(Code.INVALID_LOGIN_MESSAGE, detail)
