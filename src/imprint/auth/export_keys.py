"""The key that an installation signs its exports with, Ed25519."""

from dataclasses import dataclass, field

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

SEED_BYTES = 32
"""How many random bytes a key is made from."""


@dataclass(frozen=True, slots=True)
class ExportKey:
    """A key pair, from its seed."""

    seed: bytes = field(repr=False)

    @property
    def public(self) -> bytes:
        """The public half, by which others know this installation."""
        return self._private().public_key().public_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        """The signature of a message."""
        return self._private().sign(message)

    def _private(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(self.seed)


def is_signed(public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the holder of this public key signed this message."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
