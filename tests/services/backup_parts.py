"""Parts from which tests assemble valid and invalid backups."""

import io
import json
import os
import sqlite3
import tarfile
from collections.abc import Mapping
from contextlib import closing
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from imprint.adapters.database.schema import known_migrations, migrate
from imprint.domain.formats.cids import Cid, document_cid

_ADD_GROUP = """
INSERT INTO file_groups (id, owner, hashtags, created_at) VALUES (?, 'owner', '[]', 0)"""
_ADD_FILE = """
INSERT INTO files (id, group_id, owner, name, cid, size, created_at, state)
VALUES (?, ?, 'owner', ?, ?, ?, 0, 'pending')"""

DOCUMENTS = (b"A document.", b"Another document.")


def catalog_of(documents: Mapping[str, int], script: str = "") -> bytes:
    """The bytes of a catalog that refers to these documents, modified by an SQL script."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "imprint.db")
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            migrate(connection, known_migrations())
            for cid, size in documents.items():
                connection.execute(_ADD_GROUP, (cid,))
                connection.execute(_ADD_FILE, (cid, cid, cid, cid, size))
            connection.executescript(script)
        return path.read_bytes()


@cache
def good_catalog() -> bytes:
    return catalog_of({document_cid(each): len(each) for each in DOCUMENTS})


def entry_of(cid: Cid) -> str:
    return f"content/private/{cid[-3:-1]}/{cid}"


def document_entries() -> dict[str, bytes]:
    return {entry_of(document_cid(each)): each for each in DOCUMENTS}


def manifest_of(catalog: bytes, cids: tuple[str, ...] | None = None, **given: Any) -> bytes:
    """The manifest of a backup with this catalog and these documents."""
    named = sorted(document_cid(each) for each in DOCUMENTS) if cids is None else sorted(cids)
    listed = "".join(f"private {cid}\n" for cid in named)
    members = {
        "kind": "imprint-backup",
        "version": 1,
        "made_at": "2026-11-15T00:00:00.000000Z",
        "catalog_bytes": len(catalog),
        "catalog_sha256": sha256(catalog).hexdigest(),
        "documents": {
            "private": len(named),
            "public": 0,
            "digest": sha256(listed.encode()).hexdigest(),
        },
    }
    return json.dumps(members | given).encode()


def entries_of(catalog: bytes | None = None, manifest: bytes | None = None) -> dict[str, bytes]:
    """The entries of a backup by name, in the order in which Imprint writes them."""
    catalog = good_catalog() if catalog is None else catalog
    manifest = manifest_of(catalog) if manifest is None else manifest
    return {"imprint.db": catalog, **document_entries(), "backup.json": manifest}


def header_of(name: str, size: int, kind: bytes = tarfile.REGTYPE, **given: Any) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    for each, value in given.items():
        setattr(info, each, value)
    return info.tobuf(tarfile.GNU_FORMAT)


def member_of(name: str, data: bytes, kind: bytes = tarfile.REGTYPE, **given: Any) -> bytes:
    return header_of(name, len(data), kind, **given) + data + bytes(-len(data) % 512)


def tar_of(entries: Mapping[str, bytes]) -> bytes:
    return b"".join(member_of(*each) for each in entries.items())


def write_tar(folder: Path, *parts: bytes) -> Path:
    path = folder / "saved.tar"
    path.write_bytes(b"".join(parts) + bytes(1024))
    return path


def write_folder(folder: Path, entries: Mapping[str, bytes]) -> Path:
    root = folder / "saved"
    for name, data in entries.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root


def valid(folder: Path) -> Path:
    """A valid backup."""
    return write_tar(folder, tar_of(entries_of()))


def valid_folder(folder: Path) -> Path:
    return write_folder(folder, entries_of())


def valid_in_another_order(folder: Path) -> Path:
    """A valid backup that was repacked in another order, with folders and extended headers."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in reversed(entries_of().items()):
            above = tarfile.TarInfo(os.path.dirname(name) or "content")  # noqa: PTH120
            above.type = tarfile.DIRTYPE
            tar.addfile(above)
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(data), 1.5
            info.pax_headers = {"size": str(len(data)), "comment": "x=y\n"}
            tar.addfile(info, io.BytesIO(data))
    path = folder / "saved.tar"
    path.write_bytes(made.getvalue())
    return path
