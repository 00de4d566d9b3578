"""The service starts only if its master keys can decrypt the stored documents."""

from collections.abc import Collection
from dataclasses import dataclass, field

import pytest

from imprint.adapters.encryption import AesCipher, PlainCipher
from imprint.domain.errors import CannotStart
from imprint.ports.content import KEY_ID_BYTES, DocumentCipher
from imprint.ports.installation import KeyRecord
from imprint.services.installation.master_keys import MasterKeys

OLD, NEW, LOST = (bytes([number]) * 32 for number in (1, 2, 3))


@dataclass(slots=True)
class Stored:
    """The wrapped keys in a catalog, and the ids of the master keys it has recorded."""

    known: frozenset[bytes] | None = None
    keys: list[bytes] = field(default_factory=list)

    def add(self, *masters: bytes) -> None:
        for master in masters:
            wrapped = AesCipher(master).encrypt(b"Words.", "name").wrapped_key
            assert wrapped is not None
            self.keys.append(wrapped)

    async def master_keys(self) -> frozenset[bytes] | None:
        return self.known

    async def note_master_keys(self, added: Collection[bytes], dropped: Collection[bytes]) -> None:
        self.known = ((self.known or frozenset()) - {*dropped}) | {*added}

    async def has_wrapped_key(self, prefix: bytes) -> bool:
        return any(key.startswith(prefix) for key in self.keys)

    async def wrapped_keys(self, after: str, limit: int) -> list[KeyRecord]:
        return [KeyRecord(str(n), "name", key) for n, key in enumerate(self.keys)][:limit]


def key_id(master: bytes) -> bytes:
    return AesCipher(master).key_ids[0]


async def start(stored: Stored, cipher: DocumentCipher) -> None:
    await MasterKeys(stored, cipher).verify()


async def refuse(stored: Stored, cipher: DocumentCipher) -> str:
    before = stored.known
    with pytest.raises(CannotStart) as refused:
        await start(stored, cipher)
    assert stored.known == before
    with pytest.raises(CannotStart):
        await MasterKeys(stored, cipher).examine()
    return str(refused.value)


def test_a_wrapped_key_begins_with_the_id_of_its_master_key() -> None:
    stored = Stored()
    stored.add(OLD)
    assert stored.keys[0][:KEY_ID_BYTES] == key_id(OLD)


async def test_the_first_start_with_a_master_key_records_its_id() -> None:
    stored = Stored()
    await start(stored, AesCipher(OLD))
    assert stored.known == frozenset({key_id(OLD)})


async def test_a_wrong_key_is_refused_with_both_key_ids_and_instructions() -> None:
    stored = Stored()
    await start(stored, AesCipher(OLD))
    stored.add(OLD)
    said = await refuse(stored, AesCipher(NEW))
    assert key_id(OLD)[1:].hex() in said
    assert key_id(NEW)[1:].hex() in said
    assert "IMPRINT_ENCRYPTION_KEY_PREVIOUS" in said


async def test_starting_without_a_key_is_refused_if_documents_are_encrypted() -> None:
    stored = Stored()
    await start(stored, AesCipher(OLD))
    stored.add(OLD)
    assert "IMPRINT_ENCRYPTION_KEY is not set" in await refuse(stored, PlainCipher())


async def test_a_key_that_has_encrypted_nothing_may_be_replaced() -> None:
    stored = Stored()
    await start(stored, AesCipher(OLD))
    await start(stored, AesCipher(NEW))
    assert stored.known == frozenset({key_id(NEW)})
    await start(stored, PlainCipher())
    assert stored.known == frozenset()


async def test_both_keys_are_needed_until_a_rotation_has_finished() -> None:
    stored = Stored()
    await start(stored, AesCipher(OLD))
    stored.add(OLD)
    await start(stored, AesCipher(NEW, OLD))
    stored.add(NEW)
    await refuse(stored, AesCipher(NEW))
    await refuse(stored, AesCipher(OLD))
    await start(stored, AesCipher(OLD, NEW))
    stored.keys.clear()
    stored.add(NEW, NEW)
    await MasterKeys(stored, AesCipher(NEW, OLD)).note_rotation()
    await start(stored, AesCipher(NEW))
    assert stored.known == frozenset({key_id(NEW)})


async def test_abandoned_documents_no_longer_prevent_a_start() -> None:
    stored = Stored()
    await start(stored, AesCipher(OLD))
    stored.add(OLD)
    await MasterKeys(stored, AesCipher(NEW)).note_rotation()
    await start(stored, AesCipher(NEW))
    assert (await MasterKeys(stored, AesCipher(NEW)).examine()).by_key.total() == 1


async def test_documents_of_an_earlier_release_determine_the_required_key() -> None:
    stored = Stored()
    stored.add(OLD, OLD, OLD)
    await refuse(stored, AesCipher(NEW))
    await refuse(stored, PlainCipher())
    await start(stored, PlainCipher(AesCipher(OLD)))
    assert stored.known == frozenset({key_id(OLD)})


async def test_an_installation_with_two_keys_in_use_is_refused_until_both_are_given() -> None:
    stored = Stored()
    stored.add(OLD, OLD, *[NEW] * 20)
    await refuse(stored, AesCipher(NEW))
    await start(stored, AesCipher(NEW, OLD))
    assert stored.known == frozenset({key_id(OLD), key_id(NEW)})


async def test_one_damaged_key_does_not_prevent_a_start() -> None:
    stored = Stored()
    stored.add(OLD, OLD, LOST)
    await start(stored, AesCipher(OLD))
    assert stored.known == frozenset({key_id(OLD)})
    assert (await MasterKeys(stored, AesCipher(OLD)).examine()).by_key == {key_id(LOST): 1}
