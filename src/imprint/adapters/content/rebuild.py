"""Rebuilds a damaged file of small documents from those that SQLite can read.

Every document is verified by its cid.
"""

from contextlib import closing
from datetime import datetime
from functools import partial
from pathlib import Path

from imprint.adapters.content.embedded import MAX_BATCH, SMALL_DOCUMENTS, SmallDocuments
from imprint.adapters.database.sqlite.damaged_file import (
    UNREADABLE,
    ReadableRows,
    connect_damaged,
    copy_locked,
    is_whole,
    replace_file,
)
from imprint.adapters.database.sqlite.log import (
    DamagedLog,
    check_log,
    log_file,
    read_boot,
    replacement_of,
)
from imprint.domain.drafts.files import Network
from imprint.domain.formats.cids import Cid, document_cid


def rebuild_small_documents(root: Path, at: datetime, *, dry_run: bool) -> list[str]:
    """Rebuild the damaged files of small documents in a store's folder.

    Returns a sentence for each. Raises `FileInUse` while a service uses them, and `OSError`.
    """
    said = []
    for network in Network:
        file = root / network / SMALL_DOCUMENTS
        if not any(path.exists() for path in (file, log_file(file), replacement_of(file))):
            continue
        with copy_locked(file, dry_run=dry_run) as copy:
            if _is_undamaged(copy):
                continue
            new = copy.with_name("new.db")
            count = _rebuild(copy, new)
            sentence = f"The file {file} is damaged: {count} documents in it can be read."
            if not dry_run:
                sentence += f" It is kept as {replace_file(new, file, at).name}."
            said.append(sentence)
    return said


def _is_undamaged(copy: Path) -> bool:
    try:
        check_log(copy, read_boot())
        with closing(connect_damaged(copy)) as connection:
            connection.execute("SELECT count(*) FROM documents").fetchone()
            return is_whole(connection)
    except (DamagedLog, *UNREADABLE):
        return False


def _rebuild(copy: Path, new: Path) -> int:
    """Write a new file with the readable documents; returns their number."""
    documents, changes, count = SmallDocuments(new), [], 0
    try:
        with closing(connect_damaged(copy)) as source:
            rows = ReadableRows(source, "SELECT cid, document FROM documents", ("rowid",))
            for cid, document in rows:
                if isinstance(document, bytes) and document_cid(document) == cid:
                    changes.append(partial(documents.store, Cid(cid), document))
                    count += 1
                if len(changes) == MAX_BATCH:
                    documents.commit(changes)
                    changes = []
            documents.commit(changes)
    finally:
        documents.close()
    return count
