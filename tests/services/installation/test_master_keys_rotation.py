"""A key rotation processes all keys in batches, and skips keys that it cannot rewrap."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.stores import open_sqlite_stores

from imprint.adapters.encryption import AesCipher
from imprint.bootstrap.stores import Stores
from imprint.domain.drafts.files import Action, File, Intent, Network, Version, Write
from imprint.domain.errors import Unavailable
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import document_cid
from imprint.ports.installation import KeyRecord, KeyStore
from imprint.services.installation import master_keys
from imprint.services.installation.master_keys import KeyRotation, RotationProgress

ALICE = Address("0x" + "a1" * 20)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
OLD, NEW, FOREIGN = (bytes([number]) * 32 for number in (1, 2, 3))
DOCUMENT = b"Some words."
ROTATED = AesCipher(NEW, previous=OLD)


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[Stores]:
    opened = open_sqlite_stores(tmp_path / "catalog.db")
    yield opened
    await opened.close()


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(master_keys, "BATCH", 2)


async def add_file(stores: Stores, number: int, master: bytes) -> tuple[File, bytes]:
    """Add a file whose key is wrapped by this master key, and return the file with its encrypted
    document."""
    encrypted = AesCipher(master).encrypt(DOCUMENT, f"{ALICE}_{number}")
    cid = document_cid(encrypted.document)
    size = len(encrypted.document)
    version = Version(
        f"file-{number}", f"group-{number}", ALICE, number, cid, size, NOW, encrypted.wrapped_key
    )
    write = Write(ALICE, Action.CREATE, f"nonce-{number}", NOW)
    until = NOW + timedelta(minutes=10)
    intent = Intent(f"intent-{number}", write, cid, size, Network.PRIVATE, until, number)
    await stores.drafts.begin_write(intent)
    return await stores.drafts.add_draft(write, intent, version), encrypted.document


async def keys_of(stores: Stores) -> list[bytes]:
    return [each.wrapped_key for each in await stores.keys.wrapped_keys("", 100)]


async def rotate(stores: Stores, cipher: AesCipher = ROTATED) -> list[RotationProgress]:
    return [done async for done in KeyRotation(stores.keys, cipher).run()]


@dataclass(slots=True)
class Interrupted:
    """A key store that runs a callback just before keys are replaced."""

    keys: KeyStore
    interrupt: Callable[[], Awaitable[object]]

    async def wrapped_keys(self, after: str, limit: int) -> list[KeyRecord]:
        return await self.keys.wrapped_keys(after, limit)

    async def replace_keys(self, changes: Sequence[tuple[KeyRecord, bytes]]) -> int:
        await self.interrupt()
        return await self.keys.replace_keys(changes)


async def test_a_catalog_without_keys_reports_no_progress(stores: Stores) -> None:
    assert await rotate(stores) == []


async def test_a_rewrapped_key_works_without_the_old_master_key(
    stores: Stores,
) -> None:
    file, document = await add_file(stores, 1, OLD)
    await rotate(stores)
    (wrapped,) = await keys_of(stores)
    assert AesCipher(NEW).decrypt(document, wrapped, file.name) == DOCUMENT


@pytest.mark.usefixtures("small_batches")
async def test_progress_accumulates_over_the_batches(stores: Stores) -> None:
    for number, master in enumerate((OLD, NEW, OLD, FOREIGN, OLD), start=1):
        await add_file(stores, number, master)
    assert await rotate(stores) == [
        RotationProgress(rewrapped=1, current=1, unreadable=0, last="file-2"),
        RotationProgress(rewrapped=2, current=1, unreadable=1, last="file-4"),
        RotationProgress(rewrapped=3, current=1, unreadable=1, last="file-5"),
    ]


@pytest.mark.usefixtures("small_batches")
async def test_a_batch_of_unreadable_keys_does_not_end_the_rotation(stores: Stores) -> None:
    for number, master in enumerate((FOREIGN, FOREIGN, OLD), start=1):
        await add_file(stores, number, master)
    assert (await rotate(stores))[-1].rewrapped == 1


async def test_current_and_unreadable_keys_are_left_unchanged(stores: Stores) -> None:
    await add_file(stores, 1, NEW)
    await add_file(stores, 2, FOREIGN)
    before = await keys_of(stores)
    await rotate(stores)
    assert await keys_of(stores) == before


async def test_a_second_rotation_rewraps_nothing(stores: Stores) -> None:
    await add_file(stores, 1, OLD)
    await rotate(stores)
    before = await keys_of(stores)
    assert await rotate(stores) == [RotationProgress(current=1, last="file-1")]
    assert await keys_of(stores) == before


async def test_a_key_replaced_by_a_concurrent_rotation_is_left_alone(
    stores: Stores,
) -> None:
    await add_file(stores, 1, OLD)
    rivals: list[bytes] = []

    async def rotate_first() -> None:
        await rotate(stores)
        rivals.extend(await keys_of(stores))

    (done,) = await rotate(replace(stores, keys=Interrupted(stores.keys, rotate_first)))
    assert done.rewrapped == 0
    assert await keys_of(stores) == rivals


async def test_an_unavailable_database_ends_the_rotation(stores: Stores) -> None:
    async def fail() -> None:
        raise Unavailable.database()

    await add_file(stores, 1, OLD)
    with pytest.raises(Unavailable):
        await rotate(replace(stores, keys=Interrupted(stores.keys, fail)))
