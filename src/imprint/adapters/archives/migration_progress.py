"""Progress of a content migration, stored in a small SQLite file in the data folder."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from imprint.domain.drafts.files import Network
from imprint.ports.archives import StoredDocument

_TABLE = """
CREATE TABLE IF NOT EXISTS copied (
    network TEXT NOT NULL, cid TEXT NOT NULL, PRIMARY KEY (network, cid)
) WITHOUT ROWID"""


@dataclass(frozen=True, slots=True)
class MigrationProgressFile:
    """`MigrationProgress` in a SQLite file."""

    connection: sqlite3.Connection

    def pending(
        self, network: Network, documents: Sequence[StoredDocument]
    ) -> list[StoredDocument]:
        query = "SELECT 1 FROM copied WHERE network = ? AND cid = ?"
        return [
            each
            for each in documents
            if not self.connection.execute(query, (network.value, each.cid)).fetchall()
        ]

    def note(self, network: Network, documents: Sequence[StoredDocument]) -> None:
        rows = [(network.value, each.cid) for each in documents]
        with self.connection:
            self.connection.executemany("INSERT OR IGNORE INTO copied VALUES (?, ?)", rows)


@contextmanager
def open_progress(path: Path) -> Iterator[MigrationProgressFile]:
    """Open the progress file, creating it if it does not exist."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(_TABLE)
        yield MigrationProgressFile(connection)
