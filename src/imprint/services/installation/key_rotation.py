"""Key rotation: rewraps document keys with a new master key; documents do not change."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from imprint.domain.errors import Unavailable
from imprint.ports.content import DocumentCipher
from imprint.ports.installation import KeyRecord, KeyStore

BATCH = 200
"""The number of keys replaced in one transaction, so that writes do not wait for long."""


@dataclass(frozen=True, slots=True)
class RotationProgress:
    """How many keys were rewrapped, already current, or could not be unwrapped.

    `last` is the file id up to which every key has been checked.
    """

    rewrapped: int = 0
    current: int = 0
    unreadable: int = 0
    last: str = ""


@dataclass(frozen=True, slots=True)
class KeyRotation:
    """Rewraps every key that the current master key has not wrapped.

    Each batch is one transaction, and a wrapped key contains the id of its master key: an
    interrupted rotation can be run again. The service may keep running.
    """

    keys: KeyStore
    cipher: DocumentCipher

    async def run(self) -> AsyncIterator[RotationProgress]:
        """Yield the progress after each batch.

        A key that none of the given master keys unwraps is counted and left as it is.
        """
        done = RotationProgress()
        while batch := await self.keys.wrapped_keys(done.last, BATCH):
            changes: list[tuple[KeyRecord, bytes]] = []
            current, unreadable = done.current, done.unreadable
            for record in batch:
                try:
                    wrapped = self.cipher.rewrap(record.wrapped_key, record.name)
                except Unavailable:
                    unreadable += 1
                    continue
                if wrapped is None:
                    current += 1
                else:
                    changes.append((record, wrapped))
            replaced = await self.keys.replace_keys(changes) if changes else 0
            done = RotationProgress(
                done.rewrapped + replaced, current, unreadable, batch[-1].file_id
            )
            yield done
