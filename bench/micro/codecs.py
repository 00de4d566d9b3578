"""Compare our codecs with the libraries they replace.

    python -m bench.micro.codecs

Prints the CPU time of one call in microseconds, from the best of several rounds.
"""

import time
import timeit
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import eth_abi
import jwt
from Crypto.Hash import keccak
from eth_account.messages import encode_typed_data

from imprint.auth.login_message import parse_login_message
from imprint.auth.sessions import SessionKeys, Sessions
from imprint.auth.typed_data import SigningDomain
from imprint.domain.drafts.files import Action
from imprint.domain.errors import Refusal
from imprint.domain.formats.abi import Tuple, encode_call
from imprint.domain.formats.addresses import Address, checksum_address, keccak256, parse_address
from imprint.domain.formats.cids import Codec, cid_of, digest_of, parse_cid
from imprint.domain.posts.marketplace import BALANCE_OF

try:
    from siwe import SiweMessage
except ImportError:
    SiweMessage = None

ROUNDS = 40
"""Number of rounds per function. The best round counts."""

ROUND_SECONDS = 0.005
"""Approximate CPU time of one round in seconds."""

NOW = datetime(2030, 1, 31, 12, 0, 0, tzinfo=UTC)
READER = Address("0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266")
CID = "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy"
CID_V0 = "Qmf412jQZiuVUtdgnB36FXFX7xg5V6KEbSJ4dpQuhkLyfD"

ENTRY_TYPES = ["address", "string", "string", "string", "string", "uint256"]
ENTRY = eth_abi.encode(ENTRY_TYPES, [READER, CID, "On ink", CID, "A short text.", 5])

DOMAIN = SigningDomain("Imprint", "1", 31337)
WRITE = {"action": "create", "nonce": f"{READER}-17", "timestamp": "1767225600"}
TYPED_DATA = {
    "domain": {"name": "Imprint", "version": "1", "chainId": 31337},
    "primaryType": "CreateFile",
    "types": {
        "EIP712Domain": [
            {"name": "name", "type": "string"},
            {"name": "version", "type": "string"},
            {"name": "chainId", "type": "uint256"},
        ],
        "CreateFile": [{"name": name, "type": "string"} for name in WRITE],
    },
    "message": WRITE,
}

LOGIN = f"""example.org wants you to sign in with your Ethereum account:
{checksum_address(READER)}

Log in to read.

URI: https://example.org/login
Version: 1
Chain ID: 31337
Nonce: 1234567890abcdef
Issued At: 2030-01-31T12:00:00Z"""

KEY = b"k" * 32
WORDS = bytes(64)
MEBIBYTE = bytes(1 << 20)


def measure(call: Callable[[], object]) -> float:
    """Return the CPU time of one call in microseconds, from the best of several rounds."""
    once = timeit.timeit(call, number=10, timer=time.process_time) / 10
    number = max(1, round(ROUND_SECONDS / max(once, 1e-7)))
    rounds = timeit.repeat(call, number=number, repeat=ROUNDS, timer=time.process_time)
    return min(rounds) / number * 1e6


def decode_entry() -> tuple[object, ...]:
    """Decode every field of a marketplace entry."""
    entry = Tuple(ENTRY, 6)
    strings = [entry.string(place) for place in range(1, 5)]
    return entry.address(0), *strings, entry.uint256(5)


def digest_write() -> bytes:
    """Compute the digest of a signed write."""
    return DOMAIN.digest(Action.CREATE, WRITE["nonce"], WRITE["timestamp"])


def digest_write_with_eth_account() -> bytes:
    """Compute the digest of a signed write with eth-account."""
    message = encode_typed_data(full_message=TYPED_DATA)
    return keccak256(b"\x19" + message.version + message.header + message.body)


def main() -> None:
    """Measure everything and print a table."""
    sessions = Sessions(SessionKeys(KEY), "imprint", "imprint")
    token = sessions.issue(READER, NOW).token
    header = f"Bearer {token}"
    sessions.read(header, NOW)
    uncached = Sessions(SessionKeys(KEY), "imprint", "imprint")
    options = {"require": ["exp", "iat", "sub", "jti"], "verify_exp": False, "verify_iat": False}
    digest = digest_of(parse_cid(CID))
    mixed = checksum_address(READER)
    assert digest_write() == digest_write_with_eth_account()

    def verify_session() -> object:
        # Use an expired session: it is removed from the cache at once, and so verified each time.
        try:
            return uncached.read(header, NOW + timedelta(days=1))
        except Refusal as error:
            return error

    def decode_with_pyjwt() -> object:
        return jwt.decode(
            token, KEY, ["HS256"], options=options, audience="imprint", issuer="imprint"
        )

    rows: list[tuple[str, Callable[[], object] | None]] = [
        ("ABI decode of six members", decode_entry),
        ("  eth-abi", lambda: eth_abi.decode(ENTRY_TYPES, ENTRY)),
        ("ABI encode of a call", lambda: encode_call(BALANCE_OF, READER, 7)),
        ("  eth-abi", lambda: BALANCE_OF + eth_abi.encode(["address", "uint256"], [READER, 7])),
        ("typed-data digest", digest_write),
        ("  eth-account", digest_write_with_eth_account),
        ("session, verified", verify_session),
        ("session, cached", lambda: sessions.read(header, NOW)),
        ("  PyJWT", decode_with_pyjwt),
        ("login message", lambda: parse_login_message(LOGIN)),
        ("  siwe", SiweMessage and (lambda: SiweMessage.from_message(LOGIN))),
        ("CID parsed (libipld)", lambda: parse_cid(CID)),
        ("CIDv0 parsed (libipld)", lambda: parse_cid(CID_V0)),
        ("CID of a digest (libipld)", lambda: cid_of(Codec.RAW, digest)),
        ("Keccak-256 of 64 bytes (tiny-keccak)", lambda: keccak256(WORDS)),
        ("  pycryptodome", lambda: keccak.new(data=WORDS, digest_bits=256).digest()),
        ("Keccak-256 of a mebibyte (tiny-keccak)", lambda: keccak256(MEBIBYTE)),
        ("address in mixed case, cached", lambda: parse_address(mixed)),
        ("address in mixed case", lambda: parse_address.__wrapped__(mixed)),
    ]
    for name, call in rows:
        print(f"{name:38}", f"{measure(call):9.2f} µs" if call else "   not installed")


if __name__ == "__main__":
    main()
