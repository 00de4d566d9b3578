"""Proofs for tests in which every signer has a key and no contract is called."""

from typing import TypeVar

from imprint.auth.signatures import Unproved, invalid_signature, prove
from imprint.domain.formats.addresses import Address

Proof = TypeVar("Proof")


def proved(proof: Proof | Unproved[Proof]) -> Proof:
    """Return a proof by a key. Raises `signature_invalid` if only a contract could verify it."""
    if isinstance(proof, Unproved):
        raise invalid_signature()
    return proof


def verify_signer(digest: bytes, signature: str, signer: Address) -> None:
    """Raise `signature_invalid` unless the key of `signer` signed `digest`."""
    proved(prove(None, signer, digest, signature))
