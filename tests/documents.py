"""Documents of an embedded store, as rows or files, accessed without the store itself."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from imprint.domain.drafts.files import Network
from imprint.domain.formats.cids import Cid

Document = tuple[str, str]
"""A CID and its network."""


@contextmanager
def _open_small_documents(content: Path, network: str) -> Iterator[sqlite3.Connection]:
    path = content / network / "small.db"
    if not path.exists():
        yield sqlite3.connect(":memory:")
        return
    with closing(sqlite3.connect(path, isolation_level=None)) as small:
        yield small


def _has_table(small: sqlite3.Connection) -> bool:
    return bool(small.execute("SELECT 1 FROM sqlite_schema WHERE name = 'documents'").fetchall())


def list_documents(content: Path) -> set[Document]:
    """Return every document in the folder of a store."""
    found = {
        (path.name, network.value)
        for network in Network
        for path in (content / network).glob("??/*")
    }
    for network in Network:
        with _open_small_documents(content, network) as small:
            if _has_table(small):
                found |= {
                    (cid, network.value) for (cid,) in small.execute("SELECT cid FROM documents")
                }
    return found


def read_document(content: Path, network: str, cid: str) -> bytes:
    """Return the bytes stored under a CID."""
    with _open_small_documents(content, network) as small:
        if _has_table(small):
            rows = small.execute("SELECT document FROM documents WHERE cid = ?", (cid,)).fetchall()
            if rows:
                return bytes(rows[0][0])
    (path,) = (content / network).glob(f"??/{cid}")
    return path.read_bytes()


def change_document(content: Path, network: str, cid: Cid | str, document: bytes | None) -> None:
    """Replace the bytes of a document, or delete it."""
    with _open_small_documents(content, network) as small:
        if document is None:
            changed = small.execute("DELETE FROM documents WHERE cid = ?", (cid,))
        else:
            values = (document, cid)
            changed = small.execute("UPDATE documents SET document = ? WHERE cid = ?", values)
        if changed.rowcount:
            return
    (path,) = (content / network).glob(f"??/{cid}")
    if document is None:
        path.unlink()
    else:
        path.write_bytes(document)
