"""What carries files elsewhere, put together from settings: exports, imports, moves, backups."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from imprint.adapters.archives.car_file import open_car
from imprint.adapters.archives.journal import open_journal
from imprint.adapters.archives.key_file import NoKey, load_seed
from imprint.auth.export_keys import SEED_BYTES, ExportKey
from imprint.bootstrap.parts import Parts
from imprint.bootstrap.starting import CannotStart
from imprint.flows.exporting import Exporting
from imprint.flows.importing import Importing
from imprint.flows.moving import Moving
from imprint.ports import ContentStore
from imprint.ports.archives import Archive, Journal
from imprint.settings import EmbeddedContent, Settings

EXPORT_KEY = "export.key"
"""The file in the data folder that the key for exports is kept in."""

Tell = Callable[[int, int], None]


def build_exporting(settings: Settings, parts: Parts) -> Exporting:
    """Exports of what the settings name. Raises `CannotStart` if there is no key to sign with."""
    chain = settings.chain
    key = load_export_key(settings.storage.data_dir)
    return Exporting(parts.catalog, parts.content, parts.clock, key, chain.id, chain.marketplace)


def build_importing(settings: Settings, parts: Parts) -> Importing:
    """Imports into what the settings name."""
    chain = settings.chain
    exposed = settings.storage.content.public and not settings.encryption.allow_readable
    return Importing(
        parts.catalog, parts.content, parts.clock, chain.id, chain.marketplace, exposed
    )


def load_export_key(folder: Path) -> ExportKey:
    """The key that this installation signs exports with. Raises `CannotStart`."""
    try:
        return ExportKey(load_seed(folder / EXPORT_KEY, SEED_BYTES, os.urandom))
    except NoKey as error:
        raise CannotStart(str(error)) from error


@contextmanager
def open_archive(path: Path, tell: Tell) -> Iterator[Archive]:
    """An export's file. Raises `CannotStart` if it cannot be read, and `NotAnExport`."""
    try:
        with open_car(path, tell) as archive:
            yield archive
    except OSError as error:
        raise CannotStart(f"The file {path} cannot be read: {error.strerror}.") from error


def describe_place(settings: Settings) -> str:
    """A content store in words that say where it is."""
    place = settings.storage.content
    if isinstance(place, EmbeddedContent):
        return f"embedded in {settings.storage.data_dir.absolute()}"
    return repr(place)


@contextmanager
def open_move_journal(settings: Settings, target: Settings, afresh: bool) -> Iterator[Journal]:
    """What has been copied to the target's store, kept in the data folder."""
    name = sha256(describe_place(target).encode()).hexdigest()[:16]
    path = settings.storage.data_dir / f"moved-{name}.db"
    if afresh:
        path.unlink(missing_ok=True)
    with open_journal(path) as journal:
        yield journal


def build_moving(parts: Parts, target: Settings, store: ContentStore, journal: Journal) -> Moving:
    """A move from the store in use to the one of other settings."""
    exposed = target.storage.content.public and not target.encryption.allow_readable
    return Moving(parts.catalog, parts.content, store, parts.clock, journal, exposed)
