"""Exports and imports between installations in a test."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.world import World

from imprint.adapters.archives.car_file import CarFile, open_car
from imprint.auth.export_keys import ExportKey
from imprint.bootstrap.archives import build_backup, open_backup, open_backup_writer, open_restore
from imprint.domain.exports import ExportedFile, Manifest
from imprint.services.installation.backup import BackupManifest
from imprint.services.installation.exports import Export, Import, check_export, open_export

KEY = ExportKey(bytes(range(32)))


def say_nothing(sentence: str) -> None:
    """Print nothing."""


def ignore(done: int, total: int) -> None:
    """Ignore progress reports."""


def export_of(world: World, **given: Any) -> Export:
    adapters, chain = world.adapters, world.settings.chain
    made = {"content": adapters.content, "key": KEY} | given
    return Export(
        adapters.stores.archives,
        adapters.stores.leases,
        clock=world.clock,
        chain_id=chain.id,
        marketplace=chain.marketplace,
        **made,
    )


def import_of(world: World, **given: Any) -> Import:
    adapters, chain = world.adapters, world.settings.chain
    made = {"chain_id": chain.id, "marketplace": chain.marketplace, **given}
    return Import(
        adapters.stores.archives,
        adapters.stores.leases,
        adapters.stores.garbage,
        adapters.content,
        world.clock,
        **made,
    )


async def write_export(
    world: World, owner: str | None = None, **given: Any
) -> tuple[bytes, Manifest]:
    car = io.BytesIO()
    manifest = await export_of(world, **given).run(owner, io.BytesIO(), car.write, ignore)
    return car.getvalue(), manifest


@contextmanager
def opened_car(folder: Path, car: bytes) -> Iterator[CarFile]:
    path = folder / "archive.car"
    path.write_bytes(car)
    with open_car(path, ignore) as archive:
        yield archive


def verify(folder: Path, car: bytes, key: bytes | None = None) -> Manifest:
    """Verify an export and return its manifest. Raises `NotAnExport` if it is invalid."""
    with opened_car(folder, car) as archive:
        opened = open_export(archive, key)
        check_export(archive, opened, ignore)
        return opened.manifest


async def import_car(world: World, folder: Path, car: bytes) -> dict[str, int]:
    with opened_car(folder, car) as archive:
        opened = open_export(archive)
        check_export(archive, opened, ignore)
        counts = await import_of(world).run(archive, opened, ignore)
    return {kind.value: count for kind, count in counts.items()}


async def files_of(world: World) -> list[ExportedFile]:
    """Return all live files in order, with all fields except their position."""
    walked = world.adapters.stores.archives.walk_files(None, 100)
    return [each async for files in walked for each in files]


async def save(world: World, out: Path) -> BackupManifest:
    """Back up an installation."""
    with open_backup_writer(out, say_nothing) as (writer, scratch):
        return await build_backup(world.adapters).run(writer, scratch, ignore)


async def restore(saved: Path, folder: Path) -> BackupManifest:
    """Restore a backup into a new folder."""
    with open_restore(folder, say_nothing) as (service, store):
        try:
            return await service.run(open_backup(saved), ignore)
        finally:
            await store.close()
