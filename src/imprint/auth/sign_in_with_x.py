"""Single-request sign-in (x402 extension `sign-in-with-x`): challenges and their proofs.

A challenge is stateless. Its nonce contains a MAC over its time of issue and its path, with a key
derived from the session secret. Refusals, in the order of the checks:

| wrong                                                                | code                    |
|----------------------------------------------------------------------|-------------------------|
| the address is malformed                                             | `invalid_address`       |
| a field or the message built from the fields is malformed            | `invalid_login_message` |
| its domain, URI or chain is wrong                                    | `signature_invalid`     |
| its nonce was not issued here, at this time, for this path           | `signature_invalid`     |
| issued too long ago or in the future, expired, not valid yet         | `signature_stale`       |
| the signature is malformed or not of that address                    | `signature_invalid`     |
"""

import hmac
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from urllib.parse import urlsplit

from imprint.auth.login_message import (
    Instant,
    LoginMessage,
    NotAnInstant,
    NotAUri,
    Uri,
    parse_instant,
    parse_login_message,
    parse_uri,
    write_login_message,
)
from imprint.auth.sessions import CLOCK_SKEW_SECONDS, SessionKeys
from imprint.auth.signatures import Unproved, parse_signer, personal_digest, prove
from imprint.domain.errors import Code, Refusal, SignatureStale
from imprint.domain.formats.addresses import Address, checksum_address
from imprint.domain.formats.instants import format_instant

CHALLENGE_TIME = timedelta(seconds=300)
"""How long a signed challenge is valid."""

SIGNATURE_TYPE = "eip191"
"""The type of signature that wallets on EVM chains create for a text."""

CLOCK_SKEW = timedelta(seconds=CLOCK_SKEW_SECONDS)

_PURPOSE = b"imprint sign-in-with-x 1"
_RANDOM_BYTES = 8
_MAC_BYTES = 8
_NETWORK = re.compile(r"eip155:([1-9][0-9]{0,77})")
_CHALLENGED = re.compile(r"[^/]*//[^/]*/posts/[^/?#]+(?:\.md|/content)(?:[?#].*)?")


@dataclass(frozen=True, slots=True)
class Challenge:
    """The message fields that are new in every challenge for reading a path."""

    nonce: str
    issued_at: str
    expires_at: str


@dataclass(frozen=True, slots=True)
class SignInClaim:
    """An unverified signed challenge: the fields of the message, and its signature.

    `client` identifies the client that sent it.
    """

    domain: str
    address: str
    uri: str
    network: str
    nonce: str
    issued_at: str
    signature: str = field(repr=False)
    version: str = "1"
    type: str = SIGNATURE_TYPE
    statement: str | None = None
    expires_at: str | None = None
    not_before: str | None = None
    request_id: str | None = None
    resources: tuple[str, ...] | None = None
    client: str = ""


@dataclass(frozen=True, slots=True)
class SignInProof:
    """A proven address, and the nonce that the read spends."""

    address: Address
    nonce: str


class Challenges:
    """Issues challenges of one service on one chain, and verifies signed ones."""

    def __init__(
        self,
        keys: SessionKeys,
        service: str,
        chain_id: int,
        random_bytes: Callable[[int], bytes] = os.urandom,
    ) -> None:
        derived = [hmac.digest(key, _PURPOSE, "sha256") for key in keys.all]
        self._macs = tuple(hmac.new(key, digestmod="sha256") for key in derived)
        self._service = service
        self._domain = urlsplit(service).netloc
        self._chain_id = chain_id
        self._random_bytes = random_bytes

    def issue(self, path: str, now: datetime) -> Challenge:
        """Issue a challenge for reading this path."""
        issued_at, expires_at = _period(int(now.timestamp()))
        prefix = self._random_bytes(_RANDOM_BYTES)
        nonce = prefix.hex() + _mac(self._macs[0], prefix, issued_at, path)
        return Challenge(nonce, issued_at, expires_at)

    def verify(
        self, claim: SignInClaim, path: str, now: datetime
    ) -> SignInProof | Unproved[SignInProof]:
        """Return the proof that `claim` gives for reading this path, or would give if its signer is
        a contract.

        The nonce is checked later. Refuses as listed at the top of this module.
        """
        address = parse_signer(claim.address)
        message = _message_of(claim, address)
        text = write_login_message(message)
        # A field with a line break would make another message out of the same fields.
        if parse_login_message(text) != message:
            raise _malformed("A field of the proof contains a line break.")
        if message.domain != self._domain or claim.uri != self._service + path:
            raise _failed("The proof is for another address.")
        if message.chain_id != self._chain_id:
            raise _failed("The proof is for another chain.")
        if not self._is_ours(message, path):
            raise _failed("The nonce of the proof was not issued by this service for this address.")
        _check_time(message, now)
        digest = personal_digest(text.encode())
        return prove(SignInProof(address, message.nonce), address, digest, claim.signature)

    def _is_ours(self, message: LoginMessage, path: str) -> bool:
        try:
            prefix = bytes.fromhex(message.nonce[: 2 * _RANDOM_BYTES])
        except ValueError:
            return False
        issued_at, given = message.issued_at.text, message.nonce[2 * _RANDOM_BYTES :]
        return prefix.hex() == message.nonce[: 2 * _RANDOM_BYTES] and any(
            hmac.compare_digest(_mac(mac, prefix, issued_at, path), given) for mac in self._macs
        )


def is_challenged(uri: Uri) -> bool:
    """Whether a challenge may name this URI. A signed challenge must not pass as a login."""
    return _CHALLENGED.fullmatch(uri.text) is not None


@lru_cache(maxsize=4)
def _period(second: int) -> tuple[str, str]:
    """Return the times of issue and of expiry for a challenge issued in this second."""
    moment = datetime.fromtimestamp(second, UTC)
    return format_instant(moment), format_instant(moment + CHALLENGE_TIME)


def _mac(keyed: hmac.HMAC, prefix: bytes, issued_at: str, path: str) -> str:
    # A copy of a keyed MAC costs less than a new one.
    mac = keyed.copy()
    mac.update(prefix + f"{issued_at} {path}".encode())
    return mac.hexdigest()[: 2 * _MAC_BYTES]


def _message_of(claim: SignInClaim, address: Address) -> LoginMessage:
    network = _NETWORK.fullmatch(claim.network)
    if network is None or claim.version != "1" or claim.type != SIGNATURE_TYPE:
        raise _malformed("The version, type or chain of the proof is not supported.")
    resources = claim.resources
    try:
        return LoginMessage(
            None,
            claim.domain,
            checksum_address(address),
            claim.statement,
            parse_uri(claim.uri),
            int(network[1]),
            claim.nonce,
            parse_instant(claim.issued_at),
            _instant(claim.expires_at),
            _instant(claim.not_before),
            claim.request_id,
            None if resources is None else tuple(map(parse_uri, resources)),
        )
    except (NotAUri, NotAnInstant) as error:
        raise _malformed(str(error)) from error


def _instant(text: str | None) -> Instant | None:
    return None if text is None else parse_instant(text)


def _check_time(message: LoginMessage, now: datetime) -> None:
    issued_at, expires_at = message.issued_at.moment, message.expires_at
    if now >= issued_at + CHALLENGE_TIME:
        raise SignatureStale("The challenge was issued too long ago. Ask for another one.", now)
    if now < issued_at - CLOCK_SKEW:
        raise SignatureStale("The challenge was issued in the future.", now)
    if expires_at is not None and now >= expires_at.moment:
        raise SignatureStale("The proof has expired.", now)
    if message.not_before is not None and now < message.not_before.moment:
        raise SignatureStale("The proof is not valid yet.", now)


def _malformed(detail: str) -> Refusal:
    return Refusal(Code.INVALID_LOGIN_MESSAGE, detail)


def _failed(detail: str) -> Refusal:
    return Refusal(Code.SIGNATURE_INVALID, detail)
