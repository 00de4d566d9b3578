"""Checks that the configured master keys decrypt the stored documents, before encrypting any.

With a wrong key, stored drafts could not be read, and new drafts would be encrypted with the wrong
key. Therefore the catalog records the IDs of the master keys that encrypt its documents, beginning
with the first start that has a key. A rotation wraps the keys of all documents with a new master
key.
"""

from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass

from imprint.domain.errors import CannotStart, Unavailable
from imprint.ports.content import KEY_ID_BYTES, DocumentCipher
from imprint.ports.installation import KeyRecord, KeyStore

SAMPLE = 1_000
"""Number of wrapped keys in a sample. File IDs are random, so any sample is representative."""

DAMAGE = 1
"""Up to this number of sampled keys of the same unknown master key are taken for damaged
records."""

_REMEDY = (
    "Nothing was changed. Set the master key with which they were stored in "
    "IMPRINT_ENCRYPTION_KEY, or in IMPRINT_ENCRYPTION_KEY_PREVIOUS until `imprint rotate-key` "
    "has finished. If it is lost for good, `imprint rotate-key --accept-loss` gives these "
    "documents up."
)


@dataclass(frozen=True, slots=True)
class KeySample:
    """The size of a sample of wrapped keys, and the number of these keys per master key."""

    looked_at: int
    by_key: Counter[bytes]


@dataclass(frozen=True, slots=True)
class MasterKeys:
    """The configured master keys, compared with the keys that the catalog records."""

    keys: KeyStore
    cipher: DocumentCipher

    async def verify(self) -> None:
        """Check that the configured keys decrypt the stored documents, and record the keys in use.

        Any number of processes may do this at the same time. Raises `CannotStart` if
        the keys do not decrypt them, and `Unavailable`.
        """
        added, dropped = await self._compare()
        known = await self.keys.master_keys()
        if known is None or added - known or dropped & known:
            await self.keys.note_master_keys(added, dropped)

    async def examine(self) -> KeySample:
        """Check that the configured keys decrypt the stored documents, without changing anything.

        Returns a sample that counts only keys that were wrapped by master keys that are not
        configured. Raises the same errors as `verify`.
        """
        await self._compare()
        sample = await self._take_sample()
        return KeySample(sample.looked_at, self._unknown(sample))

    async def note_rotation(self) -> None:
        """Record that only the current key is in use from now on."""
        known = await self.keys.master_keys() or frozenset()
        current = {*self.cipher.key_ids[:1]}
        await self.keys.note_master_keys(current, known - current)

    async def _compare(self) -> tuple[frozenset[bytes], frozenset[bytes]]:
        """Return the IDs to add to the catalog's record, and the IDs to remove from it."""
        given = frozenset(self.cipher.key_ids)
        used = frozenset(self.cipher.key_ids[:1] if self.cipher.encrypts else ())
        known = await self.keys.master_keys()
        if known is None:
            sample = await self._take_sample()
            unknown = self._unknown(sample)
            opened = sample.looked_at - unknown.total()
            if unknown and (not opened or max(unknown.values()) > DAMAGE):
                raise CannotStart(self._refusal(unknown.most_common(1)[0][0]), _REMEDY)
            return used | (given & sample.by_key.keys()), frozenset()
        missing = known - given
        for key_id in sorted(missing):
            if await self.keys.has_wrapped_key(key_id):
                raise CannotStart(self._refusal(key_id), _REMEDY)
        return used, missing

    async def _take_sample(self) -> KeySample:
        records = await self.keys.wrapped_keys("", SAMPLE)
        by_key = Counter(each.wrapped_key[:KEY_ID_BYTES] for each in records)
        return KeySample(len(records), by_key)

    def _unknown(self, sample: KeySample) -> Counter[bytes]:
        given = self.cipher.key_ids
        return Counter({key: count for key, count in sample.by_key.items() if key not in given})

    def _refusal(self, key_id: bytes) -> str:
        if not self.cipher.key_ids:
            return (
                "Documents are encrypted, but IMPRINT_ENCRYPTION_KEY is not set, so nobody "
                f"could read them (the id of their master key is {name_key(key_id)})."
            )
        given = " and ".join(map(name_key, self.cipher.key_ids))
        return (
            "IMPRINT_ENCRYPTION_KEY does not decrypt the stored documents: they are encrypted "
            f"with the master key with the id {name_key(key_id)}, but the id of the given key is "
            f"{given}."
        )


def name_key(key_id: bytes) -> str:
    """Return the fingerprint of a master key as shown to operators."""
    return key_id[1:].hex()


BATCH = 200
"""Number of keys replaced in one transaction. A small number keeps writes from waiting long."""


@dataclass(frozen=True, slots=True)
class RotationProgress:
    """Counts of keys that were rewrapped, were already current, or could not be unwrapped.

    `last` is the file ID up to which every key has been checked.
    """

    rewrapped: int = 0
    current: int = 0
    unreadable: int = 0
    last: str = ""


@dataclass(frozen=True, slots=True)
class KeyRotation:
    """Rewraps every key that was not wrapped by the current master key.

    Each batch is one transaction, and a wrapped key contains the ID of its master key, so
    that an interrupted rotation can be run again. The service may keep running.
    """

    keys: KeyStore
    cipher: DocumentCipher

    async def run(self) -> AsyncIterator[RotationProgress]:
        """Yield the progress after each batch.

        A key that none of the configured master keys unwraps is counted and left unchanged.
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
