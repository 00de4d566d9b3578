"""A key rotation goes through all keys in batches, and leaves alone what it cannot rewrap."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from imprint.adapters.catalog.sqlite import SqliteCatalog, open_catalog
from imprint.adapters.encryption import AesCipher
from imprint.domain.drafts.files import Action, File, Intent, Network, Version, Write
from imprint.domain.errors import Unavailable
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import document_cid
from imprint.ports.catalog import KeyRecord
from imprint.services.installation import key_rotation
from imprint.services.installation.key_rotation import KeyRotation, RotationProgress

ALICE = Address("0x" + "a1" * 20)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
OLD, NEW, FOREIGN = (bytes([number]) * 32 for number in (1, 2, 3))
DOCUMENT = b"Some words."
ROTATED = AesCipher(NEW, previous=OLD)


@pytest.fixture
async def catalog(tmp_path: Path) -> AsyncIterator[SqliteCatalog]:
    opened = open_catalog(tmp_path / "catalog.db")
    yield opened
    await opened.close()


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_rotation, "BATCH", 2)


async def add_file(catalog: SqliteCatalog, number: int, master: bytes) -> tuple[File, bytes]:
    """A file whose key this master key has wrapped, and its encrypted document."""
    encrypted = AesCipher(master).encrypt(DOCUMENT, f"{ALICE}_{number}")
    cid = document_cid(encrypted.document)
    size = len(encrypted.document)
    version = Version(
        f"file-{number}", f"group-{number}", ALICE, number, cid, size, NOW, encrypted.wrapped_key
    )
    write = Write(ALICE, Action.CREATE, f"nonce-{number}", NOW)
    until = NOW + timedelta(minutes=10)
    intent = Intent(f"intent-{number}", write, cid, size, Network.PRIVATE, until, number)
    await catalog.begin_write(intent)
    return await catalog.add_draft(write, intent, version), encrypted.document


async def keys_of(catalog: SqliteCatalog) -> list[bytes]:
    return [each.wrapped_key for each in await catalog.wrapped_keys("", 100)]


async def rotate(catalog: object, cipher: AesCipher = ROTATED) -> list[RotationProgress]:
    return [done async for done in KeyRotation(catalog, cipher).run()]


@dataclass(slots=True)
class Interrupted:
    """A catalog in which something happens just before keys are replaced."""

    catalog: SqliteCatalog
    interrupt: Callable[[], Awaitable[object]]

    async def wrapped_keys(self, after: str, limit: int) -> list[KeyRecord]:
        return await self.catalog.wrapped_keys(after, limit)

    async def replace_keys(self, changes: Sequence[tuple[KeyRecord, bytes]]) -> int:
        await self.interrupt()
        return await self.catalog.replace_keys(changes)


async def test_without_keys_there_is_no_progress(catalog: SqliteCatalog) -> None:
    assert await rotate(catalog) == []


async def test_a_rewrapped_key_decrypts_its_document_without_the_old_master_key(
    catalog: SqliteCatalog,
) -> None:
    file, document = await add_file(catalog, 1, OLD)
    await rotate(catalog)
    (wrapped,) = await keys_of(catalog)
    assert AesCipher(NEW).decrypt(document, wrapped, file.name) == DOCUMENT


@pytest.mark.usefixtures("small_batches")
async def test_progress_adds_up_over_the_batches(catalog: SqliteCatalog) -> None:
    for number, master in enumerate((OLD, NEW, OLD, FOREIGN, OLD), start=1):
        await add_file(catalog, number, master)
    assert await rotate(catalog) == [
        RotationProgress(rewrapped=1, current=1, unreadable=0, last="file-2"),
        RotationProgress(rewrapped=2, current=1, unreadable=1, last="file-4"),
        RotationProgress(rewrapped=3, current=1, unreadable=1, last="file-5"),
    ]


@pytest.mark.usefixtures("small_batches")
async def test_a_batch_of_unreadable_keys_does_not_end_the_rotation(catalog: SqliteCatalog) -> None:
    for number, master in enumerate((FOREIGN, FOREIGN, OLD), start=1):
        await add_file(catalog, number, master)
    assert (await rotate(catalog))[-1].rewrapped == 1


async def test_a_current_key_and_an_unreadable_one_stay_as_they_are(catalog: SqliteCatalog) -> None:
    await add_file(catalog, 1, NEW)
    await add_file(catalog, 2, FOREIGN)
    before = await keys_of(catalog)
    await rotate(catalog)
    assert await keys_of(catalog) == before


async def test_a_second_rotation_rewraps_nothing(catalog: SqliteCatalog) -> None:
    await add_file(catalog, 1, OLD)
    await rotate(catalog)
    before = await keys_of(catalog)
    assert await rotate(catalog) == [RotationProgress(current=1, last="file-1")]
    assert await keys_of(catalog) == before


async def test_a_key_replaced_by_a_concurrent_rotation_is_left_alone(
    catalog: SqliteCatalog,
) -> None:
    await add_file(catalog, 1, OLD)
    rivals: list[bytes] = []

    async def rotate_first() -> None:
        await rotate(catalog)
        rivals.extend(await keys_of(catalog))

    (done,) = await rotate(Interrupted(catalog, rotate_first))
    assert done.rewrapped == 0
    assert await keys_of(catalog) == rivals


async def test_an_unavailable_database_ends_the_rotation(catalog: SqliteCatalog) -> None:
    async def fail() -> None:
        raise Unavailable.database()

    await add_file(catalog, 1, OLD)
    with pytest.raises(Unavailable):
        await rotate(Interrupted(catalog, fail))
