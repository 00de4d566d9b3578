"""Reads the small documents that a damaged file of the embedded store still has.

Every document proves itself by its cid, so all pages are read, whatever they belonged to.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from functools import partial
from pathlib import Path

from imprint.adapters.content.embedded import MAX_BATCH, SMALL_DOCUMENTS, SmallDocuments
from imprint.adapters.sqlite_pages import Damaged, PageFile, PageKind
from imprint.adapters.sqlite_swap import copy_locked, copy_to_probe, replace_file
from imprint.domain.cids import Cid, document_cid
from imprint.domain.files import Network

_PAGE_BYTES = 8192
"""The size of a page, if the file does not say it any more."""


def salvage_documents(root: Path, at: datetime, *, dry_run: bool) -> list[str]:
    """Rebuild the files of small documents in a store's folder that SQLite cannot read.

    Returns a sentence for each. Raises `FileInUse` while a service uses them, and `OSError`.
    """
    said = []
    for network in Network:
        place = root / network / SMALL_DOCUMENTS
        if not place.exists() and not place.with_name(f"{SMALL_DOCUMENTS}-wal").exists():
            continue
        with copy_locked(place) as scratch:
            if _is_whole(scratch):
                continue
            new = scratch / "new.db"
            count = _rebuild(scratch, new)
            said.append(f"The file {place} is damaged: {count} documents in it can be read.")
            if not dry_run:
                replace_file(new, place, at)
    return said


def _is_whole(scratch: Path) -> bool:
    try:
        with (
            copy_to_probe(scratch) as probe,
            closing(sqlite3.connect(probe, isolation_level=None)) as connection,
        ):
            (integrity,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
            connection.execute("SELECT count(*) FROM documents").fetchone()
        with PageFile(scratch / "damaged.db", _PAGE_BYTES, scratch / "damaged.db-wal") as source:
            return bool(integrity == "ok") and source.log_whole
    except sqlite3.Error:
        return False


def _rebuild(scratch: Path, new: Path) -> int:
    documents, count = SmallDocuments(new), 0
    try:
        with PageFile(scratch / "damaged.db", _PAGE_BYTES, scratch / "damaged.db-wal") as source:
            changes = []
            for cid, document in _documents(source):
                changes.append(partial(documents.store, cid, document))
                count += 1
                if len(changes) == MAX_BATCH:
                    documents.commit(changes)
                    changes = []
            documents.commit(changes)
    finally:
        documents.close()
    return count


def _documents(source: PageFile) -> Iterator[tuple[Cid, bytes]]:
    for number in range(1, source.pages + 1):
        try:
            page = source.read(number)
        except Damaged:
            continue
        for cell in page.cells if page.kind is PageKind.TABLE_LEAF else ():
            match cell.values:
                case (str() as cid, _, bytes() as document, *_) if document_cid(document) == cid:
                    yield Cid(cid), document
