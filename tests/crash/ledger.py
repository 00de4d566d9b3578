"""The records of a stopped service, read from disk and checked for consistency."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.documents import Document, list_documents, read_document

from imprint.adapters.stores.drafts.garbage import COMPARE_USAGE
from imprint.domain.formats.cids import Cid, document_cid

LIVE = "state IN ('pending', 'onchain')"


@contextmanager
def _reading(folder: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(folder / "imprint.db")) as connection:
        yield connection


def stored_documents(folder: Path) -> set[Document]:
    """Return every document on the disk."""
    return list_documents(folder / "content")


def known_documents(folder: Path) -> set[Document]:
    """Return every document referenced by a record, an intent or a tombstone."""
    with _reading(folder) as catalog:
        written = "SELECT cid FROM files UNION ALL SELECT cid FROM revisions"
        versions = {(cid, "private") for (cid,) in catalog.execute(written)}
        shown = """SELECT thumbnail_cid FROM file_groups WHERE thumbnail_cid IS NOT NULL
            UNION ALL SELECT avatar_cid FROM profiles WHERE avatar_cid IS NOT NULL"""
        pictures = {(cid, "public") for (cid,) in catalog.execute(shown)}
        noted = set(catalog.execute("SELECT cid, network FROM intents"))
        return (
            versions | pictures | noted | set(catalog.execute("SELECT cid, network FROM detached"))
        )


def find_faults(folder: Path, *, destroyed: bool = False) -> list[str]:
    """Return every inconsistency on the disk.

    With `destroyed`, nonces whose versions no longer exist are not reported.
    """
    faults = [f"{document} is unknown" for document in sorted(_unknown(folder))]
    stored = stored_documents(folder)
    with _reading(folder) as catalog:
        (verdict,) = catalog.execute("PRAGMA integrity_check").fetchone()
        faults += [] if verdict == "ok" else [f"the database is damaged: {verdict}"]
        readable = f"SELECT cid FROM files WHERE {LIVE} UNION ALL SELECT cid FROM revisions"
        for (cid,) in catalog.execute(readable):
            faults += _look_at(folder, cid, "private", stored)
        held = f"""SELECT DISTINCT g.thumbnail_cid FROM file_groups g JOIN files f
            ON f.group_id = g.id WHERE f.{LIVE} AND g.thumbnail_cid IS NOT NULL
            UNION SELECT avatar_cid FROM profiles WHERE avatar_cid IS NOT NULL"""
        for (cid,) in catalog.execute(held):
            faults += _look_at(folder, cid, "public", stored)
        burnt = """SELECT nonce FROM nonces WHERE action IN ('create', 'update', 'publish')
            AND file_id NOT IN (SELECT id FROM files)"""
        spent = [] if destroyed else catalog.execute(burnt).fetchall()
        faults += [f"nonce {nonce} is spent on nothing" for (nonce,) in spent]
        faults += _miscounted_tags(catalog)
        for owner, size, drafts in catalog.execute(COMPARE_USAGE):
            faults.append(f"{owner} has {size} bytes and {drafts} drafts more than are counted")
    return faults


def open_intents(folder: Path) -> int:
    """Return the number of unfinished intents."""
    with _reading(folder) as catalog:
        (number,) = catalog.execute("SELECT count(*) FROM intents").fetchone()
        return int(number)


def _unknown(folder: Path) -> set[Document]:
    return stored_documents(folder) - known_documents(folder)


def _look_at(folder: Path, cid: str, network: str, stored: set[Document]) -> Iterator[str]:
    if (cid, network) not in stored:
        yield f"{cid} is live and not stored"
        return
    if document_cid(read_document(folder / "content", network, cid)) != Cid(cid):
        yield f"{cid} has other bytes"


def _miscounted_tags(catalog: sqlite3.Connection) -> Iterator[str]:
    live = catalog.execute(
        f"SELECT g.hashtags FROM files f JOIN file_groups g ON g.id = f.group_id WHERE f.{LIVE}"
    )
    counts: dict[str, int] = {}
    for (hashtags,) in live:
        for tag in json.loads(hashtags):
            counts[tag] = counts.get(tag, 0) + 1
    for tag, count in catalog.execute("SELECT tag, posts + drafts FROM tags"):
        if counts.get(tag, 0) != count:
            yield f"the tag {tag} is counted {count} times, not {counts.get(tag, 0)}"
