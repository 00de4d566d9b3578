"""Durability: syncs files and the names in a folder to disk."""

import os
from pathlib import Path


def sync_path(path: Path | str) -> None:
    """Sync a file, or the names in a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
