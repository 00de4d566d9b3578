"""Documents of an embedded store, seen and touched behind its back: in boxes and in files."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from imprint.domain.cids import Cid
from imprint.domain.files import Network

Document = tuple[str, str]
"""A cid and the network it is in."""


@contextmanager
def _open_box(content: Path, network: str) -> Iterator[sqlite3.Connection]:
    path = content / network / "small.db"
    if not path.exists():
        yield sqlite3.connect(":memory:")
        return
    with closing(sqlite3.connect(path, isolation_level=None)) as box:
        yield box


def _has_table(box: sqlite3.Connection) -> bool:
    return bool(box.execute("SELECT 1 FROM sqlite_schema WHERE name = 'documents'").fetchall())


def list_documents(content: Path) -> set[Document]:
    """Every document in the folder of a store."""
    found = {
        (path.name, network.value)
        for network in Network
        for path in (content / network).glob("??/*")
    }
    for network in Network:
        with _open_box(content, network) as box:
            if _has_table(box):
                found |= {
                    (cid, network.value) for (cid,) in box.execute("SELECT cid FROM documents")
                }
    return found


def read_document(content: Path, network: str, cid: str) -> bytes:
    """The bytes that are stored under a cid."""
    with _open_box(content, network) as box:
        if _has_table(box):
            rows = box.execute("SELECT document FROM documents WHERE cid = ?", (cid,)).fetchall()
            if rows:
                return bytes(rows[0][0])
    (path,) = (content / network).glob(f"??/{cid}")
    return path.read_bytes()


def change_document(content: Path, network: str, cid: Cid | str, document: bytes | None) -> None:
    """Put other bytes in the place of a document, or take it away."""
    with _open_box(content, network) as box:
        if document is None:
            changed = box.execute("DELETE FROM documents WHERE cid = ?", (cid,))
        else:
            values = (document, cid)
            changed = box.execute("UPDATE documents SET document = ? WHERE cid = ?", values)
        if changed.rowcount:
            return
    (path,) = (content / network).glob(f"??/{cid}")
    if document is None:
        path.unlink()
    else:
        path.write_bytes(document)
