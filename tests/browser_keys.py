"""P-256 keys as held by a browser, for tests and benchmarks."""

from dataclasses import dataclass, field

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


@dataclass(slots=True)
class BrowserKey:
    """A P-256 key: a new one, unless a key is given."""

    key: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1()), kw_only=True
    )

    @property
    def point(self) -> bytes:
        """The public key as clients send it: an uncompressed point."""
        return self.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)

    def sign(self, signed: bytes) -> str:
        """Return a signature in the format of WebCrypto: `r` and `s` with 32 bytes each."""
        r, s = decode_dss_signature(self.key.sign(signed, ec.ECDSA(hashes.SHA256())))
        return "0x" + (r.to_bytes(32) + s.to_bytes(32)).hex()
