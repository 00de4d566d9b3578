"""Measure signature verification of a write: python -m bench.micro.signatures

Measures bare curve operations on 66 bytes of typed data first, then whole verifications. Each
figure is in microseconds, from the best of several alternating rounds.
"""

import os
import time
from collections.abc import Callable

from coincurve import PrivateKey, PublicKey
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from bench.floors import (
    CONTENT,
    VERIFICATIONS,
    time_bound_verification,
    time_key_verification,
    time_verification,
)

ROUNDS = 15
"""Number of rounds per type of signature."""

KINDS = {
    "private key, imprint-1": time_verification,
    f"private key, imprint-2 with {len(CONTENT)} bytes": time_bound_verification,
    f"session key, imprint-2 with {len(CONTENT)} bytes": time_key_verification,
}


def main() -> None:
    """Print how long it takes to verify each type of signature."""
    print(f"Best of {ROUNDS} rounds of {VERIFICATIONS}, a curve alone, and a whole write:")
    curves = {name: _timed(call) for name, call in _curves().items()}
    for kinds in (curves, KINDS):
        best = dict.fromkeys(kinds, float("inf"))
        for _ in range(ROUNDS):
            for name, measure in kinds.items():
                best[name] = min(best[name], measure())
        for name, seconds in best.items():
            print(f"{name:45} {seconds * 1e6:8.0f} µs")


def _curves() -> dict[str, Callable[[], object]]:
    """Return functions that each verify one signature, one per curve, and one that loads a key."""
    signed, digest, algorithm = os.urandom(66), os.urandom(32), ec.ECDSA(hashes.SHA256())
    recoverable = PrivateKey().sign_recoverable(digest, hasher=None)
    p256, edwards = ec.generate_private_key(ec.SECP256R1()), ed25519.Ed25519PrivateKey.generate()
    p256_key, p256_signature = p256.public_key(), p256.sign(signed, algorithm)
    edwards_key, edwards_signature = edwards.public_key(), edwards.sign(signed)
    point = p256_key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    load = ec.EllipticCurvePublicKey.from_encoded_point
    return {
        "secp256k1, recovery": lambda: PublicKey.from_signature_and_message(
            recoverable, digest, hasher=None
        ),
        "P-256": lambda: p256_key.verify(p256_signature, signed, algorithm),
        "Ed25519": lambda: edwards_key.verify(edwards_signature, signed),
        "loading the point of a P-256 key": lambda: load(ec.SECP256R1(), point),
    }


def _timed(call: Callable[[], object]) -> Callable[[], float]:
    def measure() -> float:
        began = time.perf_counter()
        for _ in range(VERIFICATIONS):
            call()
        return (time.perf_counter() - began) / VERIFICATIONS

    return measure


if __name__ == "__main__":
    main()
