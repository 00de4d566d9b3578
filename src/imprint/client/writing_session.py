"""Writing sessions: a wallet signs once, and a local key then signs creates and updates."""

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol

import msgspec
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from imprint.client.typed_data import TypedData
from imprint.domain.formats.addresses import keccak256
from imprint.interface.accounts import WritingSessionRecord

_CURVE = ec.SECP256R1()
_SHA256 = ec.ECDSA(hashes.SHA256())


def new_key() -> ec.EllipticCurvePrivateKey:
    """Generate a P-256 key."""
    return ec.generate_private_key(_CURVE)


def public_point(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return the 65 bytes of a key's public point."""
    return key.public_key().public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
    )


@dataclass(frozen=True, slots=True)
class WritingSession:
    """A key that may sign some writes of a wallet until the key expires or is revoked."""

    record: WritingSessionRecord
    key: ec.EllipticCurvePrivateKey = field(repr=False)
    key_store: "KeyStore | None" = field(default=None, repr=False)

    @property
    def id(self) -> str:
        """The ID that identifies this session in writes."""
        return self.record.id

    @property
    def address(self) -> str:
        """The wallet that this session writes for."""
        return self.record.wallet

    @property
    def actions(self) -> tuple[str, ...]:
        """Actions that this session may sign: `create`, `update` or both."""
        return self.record.actions

    @property
    def expires(self) -> datetime:
        """The time at which this session expires."""
        return self.record.expires

    def sign_typed_data(self, data: TypedData) -> str:
        """Sign typed data on behalf of the wallet, and return 64 bytes as 0x-prefixed hex."""
        r, s = decode_dss_signature(self.key.sign(data.signed_bytes, _SHA256))
        return f"0x{r:064x}{s:064x}"

    def forget(self, service: str) -> None:
        """Remove the key from its store."""
        if self.key_store is not None:
            # If this fails, the service refuses the key the next time, and it is removed then.
            with suppress(Exception):
                self.key_store.remove(service, self.address)


class KeyStore(Protocol):
    """Stores the writing session of each wallet at each service, across processes."""

    def load(self, service: str, wallet: str) -> WritingSession | None:
        """Return the session of a wallet, or None."""

    def save(self, service: str, session: WritingSession) -> None:
        """Store a session, replacing the wallet's previous session."""

    def remove(self, service: str, wallet: str) -> None:
        """Delete the session of a wallet, if there is one."""


class MemoryKeyStore:
    """Stores writing sessions in memory."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], WritingSession] = {}

    def load(self, service: str, wallet: str) -> WritingSession | None:
        """Return the session of a wallet, or None."""
        return self._kept.get((service, wallet.lower()))

    def save(self, service: str, session: WritingSession) -> None:
        """Store a session, replacing the wallet's previous session."""
        self._kept[service, session.address.lower()] = session

    def remove(self, service: str, wallet: str) -> None:
        """Delete the session of a wallet, if there is one."""
        self._kept.pop((service, wallet.lower()), None)


class _Kept(msgspec.Struct, frozen=True):
    """A session in a file."""

    session: WritingSessionRecord
    key: bytes


class FileKeyStore:
    """Stores sessions in files that only their owner can read, one file per service and wallet."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, service: str, wallet: str) -> WritingSession | None:
        """Return a wallet's session, or None if there is none or the file cannot be read."""
        try:
            kept = msgspec.json.decode(self._path(service, wallet).read_bytes(), type=_Kept)
            key = serialization.load_der_private_key(kept.key, None)
        except (OSError, ValueError, msgspec.DecodeError):
            return None
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            return None
        return WritingSession(kept.session, key)

    def save(self, service: str, session: WritingSession) -> None:
        """Store a session, replacing the wallet's previous session. Raises OSError."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        secret = session.key.private_bytes(
            serialization.Encoding.DER,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        path = self._path(service, session.address)
        unfinished = path.with_suffix(".new")
        unfinished.unlink(missing_ok=True)
        unfinished.touch(mode=0o600, exist_ok=False)
        unfinished.write_bytes(msgspec.json.encode(_Kept(session.record, secret)))
        unfinished.replace(path)

    def remove(self, service: str, wallet: str) -> None:
        """Delete the session of a wallet, if there is one. Raises OSError."""
        self._path(service, wallet).unlink(missing_ok=True)

    def _path(self, service: str, wallet: str) -> Path:
        return self._folder / f"{keccak256(f'{service} {wallet.lower()}'.encode()).hex()}.json"
