"""Login verification: a signed login message becomes the proof of who logs in.

Refusals, in the order of the checks:

| wrong                                                                  | code                    |
|------------------------------------------------------------------------|-------------------------|
| the message does not follow the grammar                                | `invalid_login_message` |
| the address sent with it is malformed                                  | `invalid_address`       |
| its domain is not allowed, or its scheme is neither http nor https     | `invalid_login_message` |
| its chain id is wrong (a version other than 1 fails the grammar)       | `invalid_login_message` |
| its URI is given and names a host or port other than its domain        | `invalid_login_message` |
| its URI is a post's content: the message is a challenge, not a login   | `invalid_login_message` |
| its address is not the one sent with it                                | `signature_invalid`     |
| issued too long ago or in the future, expired, not valid yet           | `signature_stale`       |
| the signature is malformed or not of that address                      | `signature_invalid`     |
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NoReturn

from imprint.auth.login_message import (
    LoginMessage,
    parse_authority,
    parse_login_message,
    split_port,
)
from imprint.auth.sign_in_with_x import is_challenged
from imprint.auth.signatures import Unproved, parse_signer, personal_digest, prove
from imprint.domain.errors import Code, Refusal, SignatureStale
from imprint.domain.formats.addresses import Address, parse_address

LOGIN_FRESHNESS = timedelta(seconds=60)
"""Maximum age of a message, fixed by the protocol."""

LOGIN_SKEW = timedelta(seconds=5)
"""How far a reader's clock may be ahead of ours."""

ANY_PORT = ":*"
"""Suffix of a domain whose host may have any port."""

_SCHEMES = ("http", "https")


@dataclass(frozen=True, slots=True)
class LoginClaim:
    """An unverified login: the exact signed text, the address and the signature.

    `client` identifies the client that sent it.
    """

    message: str
    address: str
    signature: str = field(repr=False)
    client: str = ""


@dataclass(frozen=True, slots=True)
class Login:
    """A proven login: the address and the nonce it spends."""

    address: Address
    nonce: str


class LoginVerifier:
    """Verifies that a claim proves a login to this service."""

    def __init__(
        self,
        domains: Iterable[str],
        chain_id: int,
        freshness: timedelta = LOGIN_FRESHNESS,
        skew: timedelta = LOGIN_SKEW,
    ) -> None:
        """Accept logins to `domains`: hosts, with a port unless it is the default one.

        `localhost:*` accepts any port, or none. Raises `ValueError` for a domain that no message
        can name.
        """
        domains = tuple(domains)
        exact = [each for each in domains if not each.endswith(ANY_PORT)]
        self._domains = frozenset(_checked_domain(domain) for domain in exact)
        hosts = [each.removesuffix(ANY_PORT) for each in domains if each.endswith(ANY_PORT)]
        self._hosts = frozenset(_checked_domain(host) for host in hosts)
        self._accepted = ", ".join(domains)
        self._chain_id = chain_id
        self._freshness = freshness
        self._skew = skew

    def verify(self, claim: LoginClaim, now: datetime) -> Login | Unproved[Login]:
        """Return the login that `claim` proves, or would prove if its signer is a contract.

        The nonce is checked later.

        Refuses with `invalid_login_message`, `invalid_address`, `signature_stale` and
        `signature_invalid`, as listed at the top of this module.
        """
        message = parse_login_message(claim.message)
        address = parse_signer(claim.address)
        self._check_target(message)
        if parse_address(message.address) != address:
            detail = "The address in the login message differs from the address of this login."
            raise Refusal(Code.SIGNATURE_INVALID, detail)
        self._check_time(message, now)
        digest = personal_digest(claim.message.encode())
        return prove(Login(address, message.nonce), address, digest, claim.signature)

    def _check_target(self, message: LoginMessage) -> None:
        # The allowed domains have no userinfo, so a message domain with one never matches.
        domain = message.domain.lower()
        if not self._accepts(domain):
            _refuse(
                f"The login message is for another domain. Accepted domains: {self._accepted}. "
                "The operator sets them with IMPRINT_LOGIN_DOMAINS."
            )
        if (message.scheme or "https").lower() not in _SCHEMES:
            _refuse("The scheme of the login message must be http or https.")
        if message.chain_id != self._chain_id:
            _refuse("The login message is for another chain.")
        uri = message.uri
        if uri is None:
            return
        if uri.scheme.lower() not in _SCHEMES or (uri.authority or "").lower() != domain:
            _refuse("The URI of the login message is not on its domain.")
        if is_challenged(uri):
            _refuse("This message signs in for reading one post only.")

    def _accepts(self, domain: str) -> bool:
        return domain in self._domains or split_port(domain)[0] in self._hosts

    def _check_time(self, message: LoginMessage, now: datetime) -> None:
        age = now - message.issued_at.moment
        if age > self._freshness:
            _refuse_time("The login message was issued too long ago.", now)
        if age < -self._skew:
            _refuse_time("The login message was issued in the future.", now)
        if message.expires_at is not None and now >= message.expires_at.moment:
            _refuse_time("The login message has expired.", now)
        if message.not_before is not None and now < message.not_before.moment:
            _refuse_time("The login message is not valid yet.", now)


def _checked_domain(text: str) -> str:
    authority = parse_authority(text)
    if not authority.host or authority.userinfo is not None:
        raise ValueError("A login domain must be a host with an optional port.")
    return text.lower()


def _refuse(detail: str) -> NoReturn:
    raise Refusal(Code.INVALID_LOGIN_MESSAGE, detail)


def _refuse_time(detail: str, now: datetime) -> NoReturn:
    raise SignatureStale(detail, now)
