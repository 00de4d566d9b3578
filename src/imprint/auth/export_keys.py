"""The Ed25519 key with which an installation signs its exports."""

from dataclasses import dataclass, field

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

SEED_BYTES = 32
"""Size of a key's seed in bytes."""


@dataclass(frozen=True, slots=True)
class ExportKey:
    """A key pair, derived from its seed."""

    seed: bytes = field(repr=False)

    @property
    def public(self) -> bytes:
        """The public key, which identifies this installation."""
        return self._private().public_key().public_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        """Sign a message."""
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
