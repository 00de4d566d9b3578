"""Signatures of Ethereum accounts: parsing, and recovery of the signer."""

import re
from dataclasses import dataclass

from coincurve import PublicKey

from imprint.domain.addresses import ZERO_ADDRESS, Address, NotAnAddress, keccak256, parse_address
from imprint.domain.errors import Code, Refusal

CURVE_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
"""The order of secp256k1; `r` and `s` are numbers from 1 to below it."""

HIGHEST_S = CURVE_ORDER // 2
"""The highest `s`: above it, every signature has a second form that anybody can compute (EIP-2)."""

_SHAPE = re.compile(r"0x(?:[0-9a-fA-F]{128}|[0-9a-fA-F]{130})")
_PARITIES = {0: 0, 1: 1, 27: 0, 28: 1}
_PARITY_BIT = 1 << 255


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature in range and with low `s`; `parity` selects one of two possible keys."""

    r: int
    s: int
    parity: int


def parse_signature(text: str) -> Signature:
    """Parse `0x` and 65 bytes in hex (r, s, v), or the 64 of EIP-2098.

    Refuses `signature_invalid` for any other length or `v`, a high `s`, and numbers out of range.
    """
    if not _SHAPE.fullmatch(text):
        raise _invalid()
    raw = bytes.fromhex(text[2:])
    r, s = int.from_bytes(raw[:32]), int.from_bytes(raw[32:64])
    if len(raw) == 65:
        parity = _PARITIES.get(raw[64])
    else:
        parity, s = s >> 255, s & ~_PARITY_BIT
    if parity is None or not 1 <= r < CURVE_ORDER or not 1 <= s <= HIGHEST_S:
        raise _invalid()
    return Signature(r, s, parity)


def recover_signer(digest: bytes, signature: Signature) -> Address:
    """Return the address whose key signed the 32 bytes of `digest`.

    Refuses `signature_invalid` if no key can have made this signature.
    """
    compact = signature.r.to_bytes(32) + signature.s.to_bytes(32) + bytes([signature.parity])
    try:
        key = PublicKey.from_signature_and_message(compact, digest, hasher=None)
    except ValueError as error:
        raise _invalid() from error
    return Address("0x" + keccak256(key.format(compressed=False)[1:])[12:].hex())


def parse_signer(text: str) -> Address:
    """Parse the address of the claimed signer. Refuses `invalid_address`."""
    try:
        return parse_address(text)
    except NotAnAddress as error:
        raise Refusal(Code.INVALID_ADDRESS, str(error)) from error


def verify_signer(digest: bytes, signature: str, signer: Address) -> None:
    """Check that `signer` made `signature` over `digest`. Refuses `signature_invalid`.

    The zero address is never a signer: nobody has its key.
    """
    if recover_signer(digest, parse_signature(signature)) != signer or signer == ZERO_ADDRESS:
        raise _invalid()


def personal_digest(message: bytes) -> bytes:
    """Return the 32 bytes that a wallet signs for a text (ERC-191, version `E`)."""
    return keccak256(b"\x19Ethereum Signed Message:\n%d%s" % (len(message), message))


def _invalid() -> Refusal:
    return Refusal(Code.SIGNATURE_INVALID, "The signature is not a valid one of this address.")
