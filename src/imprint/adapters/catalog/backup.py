"""A whole copy of a SQLite catalog, taken while others write."""

import os
from pathlib import Path

from imprint.adapters.catalog.connecting import connect_copier


def copy_catalog(source: Path, target: Path) -> None:
    """Copy the catalog as it is at one moment; the copy appears under its name when it is complete.

    Refuses with `FileExistsError` a target that exists.
    """
    if target.exists():
        raise FileExistsError(target)
    partial = target.with_name(target.name + ".partial")
    partial.unlink(missing_ok=True)
    connection = connect_copier(source)
    try:
        connection.execute("VACUUM INTO ?", (str(partial),))
    finally:
        connection.close()
    partial.chmod(0o600)
    _sync(partial)
    partial.rename(target)
    _sync(target.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
