"""Ethereum signatures: parsing, and recovering the signer.

A signature that does not recover to its signer may still be valid if the signer is a contract. Such
a signature is `Unproved` until the contract has verified it.
"""

import re
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from coincurve import PublicKey

from imprint.domain.errors import Code, Refusal
from imprint.domain.formats.addresses import (
    ZERO_ADDRESS,
    Address,
    NotAnAddress,
    keccak256,
    parse_address,
)

CURVE_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
"""The order of secp256k1. `r` and `s` are at least 1 and below the order."""

HIGHEST_S = CURVE_ORDER // 2
"""The highest accepted `s`. If higher values were accepted, anybody could compute a second form of
a signature (EIP-2)."""

MAX_SIGNATURE_BYTES = 16 * 1024
"""Length limit of a contract signature in bytes, so that the validator's call data fits into
the 49 152 bytes of init code that a chain runs (EIP-3860)."""

_SHAPE = re.compile(r"0x(?:[0-9a-fA-F]{128}|[0-9a-fA-F]{130})")
_HEX = re.compile("0x[0-9a-fA-F]*")
_PARITIES = {0: 0, 1: 1, 27: 0, 28: 1}
_PARITY_BIT = 1 << 255


Proof = TypeVar("Proof")


@dataclass(frozen=True, slots=True)
class Unproved(Generic[Proof]):
    """A proof that is valid only if the contract at the signer's address accepts the signature."""

    proof: Proof
    signer: Address
    digest: bytes
    signature: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature with numbers in range and low `s`. `parity` selects one of two possible keys."""

    r: int
    s: int
    parity: int


def parse_signature(text: str) -> Signature:
    """Parse `0x` and 65 bytes in hex (r, s, v), or the 64 bytes of EIP-2098.

    Refuses with `signature_invalid` for any other length or `v`, a high `s`, and numbers out of
    range.
    """
    if not _SHAPE.fullmatch(text):
        raise invalid_signature()
    raw = bytes.fromhex(text[2:])
    r, s = int.from_bytes(raw[:32]), int.from_bytes(raw[32:64])
    if len(raw) == 65:
        parity = _PARITIES.get(raw[64])
    else:
        parity, s = s >> 255, s & ~_PARITY_BIT
    if parity is None or not 1 <= r < CURVE_ORDER or not 1 <= s <= HIGHEST_S:
        raise invalid_signature()
    return Signature(r, s, parity)


def recover_signer(digest: bytes, signature: Signature) -> Address:
    """Return the address whose key signed the 32-byte `digest`.

    Refuses with `signature_invalid` if no key can have produced this signature.
    """
    compact = signature.r.to_bytes(32) + signature.s.to_bytes(32) + bytes([signature.parity])
    try:
        key = PublicKey.from_signature_and_message(compact, digest, hasher=None)
    except ValueError as error:
        raise invalid_signature() from error
    return Address("0x" + keccak256(key.format(compressed=False)[1:])[12:].hex())


def parse_signer(text: str) -> Address:
    """Parse the claimed signer's address. Refuses with `invalid_address`."""
    try:
        return parse_address(text)
    except NotAnAddress as error:
        raise Refusal(Code.INVALID_ADDRESS, str(error)) from error


def prove(proof: Proof, signer: Address, digest: bytes, signature: str) -> Proof | Unproved[Proof]:
    """Return the proof if `signer`'s key signed `digest`, and an unproved one otherwise.

    Refuses with `signature_invalid` for anything a contract cannot verify either: text that is not
    hex or too long, and the zero address, which is never a signer.
    """
    if signer != ZERO_ADDRESS:
        try:
            if recover_signer(digest, parse_signature(signature)) == signer:
                return proof
        except Refusal:
            # Each contract defines its own signature format.
            pass
        if _is_bytes(signature):
            return Unproved(proof, signer, digest, bytes.fromhex(signature[2:]))
    raise invalid_signature()


def _is_bytes(text: str) -> bool:
    # The length is checked separately, because counting pairs in the pattern is far slower.
    size = len(text)
    return size % 2 == 0 and size <= 2 + 2 * MAX_SIGNATURE_BYTES and bool(_HEX.fullmatch(text))


def personal_digest(message: bytes) -> bytes:
    """Return the 32 bytes a wallet signs for a text (ERC-191, version `E`)."""
    return keccak256(b"\x19Ethereum Signed Message:\n%d%s" % (len(message), message))


def invalid_signature() -> Refusal:
    """The refusal for an invalid signature."""
    return Refusal(
        Code.SIGNATURE_INVALID, "The signature is not a valid signature by this address."
    )
