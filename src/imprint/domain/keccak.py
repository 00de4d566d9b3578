"""Keccak-256, the hash of Ethereum."""

from Crypto.Hash import keccak


def keccak256(data: bytes) -> bytes:
    """The Keccak-256 digest of `data` (not the later SHA3-256)."""
    return keccak.new(data=data, digest_bits=256).digest()
