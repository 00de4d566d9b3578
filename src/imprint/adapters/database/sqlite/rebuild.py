"""Builds a new catalog from the readable rows of a damaged one and from a backup.

The damaged catalog is newer than the backup, so its rows are kept if their checksums match. Tables
derived from records are recomputed, and tables derived from the chain are left out.
"""

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from imprint.adapters.database.schema import (
    LATEST,
    NewerSchema,
    is_of_index,
    known_migrations,
    migrate,
)
from imprint.adapters.database.sqlite.backup import check_copy, schema_after
from imprint.adapters.database.sqlite.connections import Connect, connect_reader
from imprint.adapters.database.sqlite.damaged_file import (
    UNREADABLE,
    ReadableRows,
    connect_damaged,
    is_whole,
)
from imprint.adapters.database.sqlite.log import DamagedLog, check_log, read_boot
from imprint.adapters.database.transaction import CHECKED_TABLES, is_damaged, micros
from imprint.adapters.outages import is_damage
from imprint.domain.installation import INSTALLATION_ID, Identity
from imprint.ports.damage import CatalogDamaged

SMALL_CATALOG = 16 * 1024 * 1024
"""Catalogs of up to this many bytes are checked before use, which takes a quarter of a second."""

_CACHE_KILOBYTES = 64_000
"""Page cache in kilobytes for a check, which looks up every row in every index."""

MOST_FINDINGS = 20
"""Maximum number of findings to report. One finding is enough for an alarm."""


_SHARED = ("reference to page", "reelist", "never used")
"""Phrases in findings about pages that have two owners or none."""


@dataclass(frozen=True, slots=True)
class Findings:
    """Damage in a catalog: in record tables, or only in index tables."""

    records: tuple[str, ...] = ()
    index: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.records or self.index)


def examine_catalog(
    path: Path, most: int = MOST_FINDINGS, connect: Connect = connect_reader
) -> Findings:
    """Check the catalog in this file for damage.

    Looks up every row in every index, which takes a second per 70 MB if the file fits into the
    cache. Other processes may write meanwhile, but the log grows until the check ends. SQLite 3.44
    and newer compare the search words with the texts; older versions check only the pages that
    hold the words.
    """
    try:
        with closing(connect(path, _CACHE_KILOBYTES)) as connection:
            connection.execute("PRAGMA cell_size_check = ON")
            found = _check(connection, str(most))
            if connection.execute("PRAGMA foreign_key_check").fetchone() is not None:
                return Findings((*found, "A file has no group."))
            if found and not any(each in text for text in found for each in _SHARED):
                tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
                lasting = [name for (name,) in tables.fetchall() if not is_of_index(name)]
                if not any(_check(connection, f"'{name}'") for name in lasting):
                    return Findings((), found)
    except sqlite3.Error as error:
        return Findings((str(error),))
    return Findings(found)


def _check(connection: sqlite3.Connection, what: str) -> tuple[str, ...]:
    """Findings of an integrity check. `what` is a table to check with its indexes, or the maximum
    number of findings about all tables."""
    try:
        rows = connection.execute(f"PRAGMA integrity_check({what})").fetchall()
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        return (str(error),)
    # The findings can contain texts of damaged rows.
    return tuple(ascii(text)[1:201] for (text,) in rows if text != "ok")


_NOT_KEPT = frozenset(
    {
        "chain_marks",
        "disputed_blocks",
        "file_tags",
        "leases",
        "paces",
        "schema_migrations",
        "tags",
        "writing_sessions",
    }
)
"""Tables that are recomputed or not needed. A writing session revoked in a lost commit must not
become valid again, so no writing session is kept."""

_NOT_FROM_BACKUP = frozenset({"intents", "private_feeds"})
"""Tables that are not taken from a backup, because a private feed may have been revoked or given a
new token since."""

_LOST_ROWS = {
    "measure_log": "Decisions of the operator that could not be read and that no backup has: they"
    " no longer apply. Compare `imprint moderate log` with your own notes.",
    "reports": "Reports of readers that could not be read and that no backup has.",
    "private_feeds": "Private feeds that could not be read: readers must create new ones.",
    "profiles": "Profiles that could not be read and that no backup has: their authors must save "
    "them again. One restored from a backup may be older than the lost one.",
    "revisions": "Corrections of posts that could not be read and that no backup has: their authors"
    " must sign them again.",
    "ended_sessions": "Ended sessions that could not be read and that no backup has: they are "
    "valid again until they expire, for two hours at most. Changing "
    "IMPRINT_JWT_SECRET ends all sessions at once.",
    "nonces": "Spent nonces that could not be read and that no backup has. A signed write is"
    " valid for one minute, so none signed earlier than that can take effect again. A writing"
    " session can be opened again by whoever has its key, until it would have expired, for 24"
    " hours at most.",
}
"""For each table, a description of lost rows that have no name."""

_NAMES = {"id": "files_by_id", "name": "files_by_name", "cid": "files_by_cid"}
"""For each column that identifies a file, the index that lists all files by it."""

_KNOWN = """
CREATE TEMP TABLE known (position INTEGER PRIMARY KEY, id TEXT, name TEXT, cid TEXT) STRICT"""
_MISSING = """
SELECT position, name, id, cid FROM temp.known k WHERE NOT EXISTS (
    SELECT 1 FROM main.files f WHERE f.position = k.position
    UNION ALL SELECT 1 FROM main.files f WHERE f.id = k.id
    UNION ALL SELECT 1 FROM main.files f WHERE f.name = k.name
    UNION ALL SELECT 1 FROM main.files f WHERE f.cid = k.cid) ORDER BY position"""
"""Selects files that an index lists but that have no row."""

_FILES_OF_BACKUP = """
INSERT OR IGNORE INTO main.files (position, id, group_id, owner, name, cid, size, created_at,
    draft_position, wrapped_key, state, post_id, published_at, tx_hash, checksum)
SELECT position, id, group_id, owner, name, cid, size, created_at, draft_position, wrapped_key,
    present, iif(present = 'onchain', post_id, NULL), iif(present = 'onchain', published_at, NULL),
    iif(present = 'onchain', tx_hash, NULL), iif(present = state, checksum, NULL)
FROM (SELECT s.*, CASE
          WHEN s.state NOT IN ('pending', 'onchain') THEN s.state
          WHEN EXISTS (SELECT 1 FROM main.nonces n WHERE n.action = 'delete' AND n.file_id = s.id)
              THEN 'deleted'
          WHEN EXISTS (SELECT 1 FROM main.files f WHERE f.group_id = s.group_id
                       AND f.state IN ('pending', 'onchain')) THEN 'superseded'
          ELSE s.state END AS present
      FROM saved.files s
      WHERE NOT EXISTS (SELECT 1 FROM main.files f WHERE f.id = s.id)
        AND (:all OR s.id IN (SELECT id FROM temp.known)))"""
"""Marks files that were deleted or replaced after the backup."""

_GROUPS_OF_BACKUP = """
INSERT INTO main.file_groups (id, owner, hashtags, thumbnail_cid, created_at, thumbnail_size,
    checksum, hashtags_of_chain)
SELECT id, owner, hashtags, thumbnail_cid, created_at, thumbnail_size, checksum, hashtags_of_chain
FROM saved.file_groups s
WHERE NOT EXISTS (SELECT 1 FROM main.file_groups g WHERE g.id = s.id)
  AND EXISTS (SELECT 1 FROM main.files f WHERE f.group_id = s.id)"""
_WITHOUT_GROUP = """
SELECT name FROM files f WHERE state IN ('pending', 'onchain')
  AND NOT EXISTS (SELECT 1 FROM file_groups g WHERE g.id = f.group_id) ORDER BY position"""
_EMPTY_GROUPS = """
INSERT INTO file_groups (id, owner, hashtags, created_at)
SELECT group_id, min(owner), '[]', min(created_at) FROM files f
WHERE NOT EXISTS (SELECT 1 FROM file_groups g WHERE g.id = f.group_id) GROUP BY group_id"""

COUNT_TAGS = """
INSERT INTO tags (tag, posts, drafts)
SELECT tag, sum(state = 'onchain'), sum(state = 'pending') FROM file_tags GROUP BY tag"""
"""Fills the table that counts each tag's live files."""

_CONSISTENT = (
    # A file is a post only because of its event.
    """
UPDATE OR IGNORE files SET state = 'onchain', post_id = e.post_id, tx_hash = e.tx_hash,
       published_at = max(e.seen_at, files.created_at)
FROM events e WHERE e.file_id = files.id AND e.cid = files.cid AND e.author = files.owner
  AND e.canonical = 1 AND files.state = 'pending'""",
    # The follower reads the other events again.
    """
DELETE FROM events WHERE canonical = 1 AND NOT EXISTS (
    SELECT 1 FROM files f WHERE f.id = events.file_id AND f.post_id = events.post_id
      AND f.cid = events.cid AND f.owner = events.author)""",
    """
UPDATE files SET state = 'pending', post_id = NULL, published_at = NULL, tx_hash = NULL,
       draft_position = NULL
WHERE state = 'onchain' AND NOT EXISTS (SELECT 1 FROM events e WHERE e.file_id = files.id)""",
    # A file that is not a post has no hashtags from the chain.
    """
UPDATE file_groups SET hashtags = '[]', hashtags_of_chain = 0, checksum = NULL
WHERE hashtags_of_chain = 1 AND NOT EXISTS (
    SELECT 1 FROM files f WHERE f.group_id = file_groups.id AND f.state = 'onchain')""",
    """
INSERT OR IGNORE INTO detached (cid, network, detached_at, owner, size)
SELECT cid, 'private', :now, owner, size FROM files WHERE state IN ('superseded', 'deleted')""",
    "INSERT OR IGNORE INTO counters (name, value) VALUES ('heartbeat', 0)",
    """
INSERT INTO counters (name, value)
SELECT 'position', max(coalesce(max(position), 0), coalesce(max(draft_position), 0)) FROM files
WHERE true ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)""",
    """
INSERT INTO counters (name, value)
SELECT 'fence', max(coalesce(max(fence), 0), :fence) FROM detached WHERE true
ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)""",
    """
INSERT INTO owners (owner, last_number)
SELECT owner, max(CAST(substr(name, length(owner) + 2) AS INTEGER))
FROM (SELECT owner, name FROM files UNION ALL SELECT owner, name FROM revisions) GROUP BY owner
ON CONFLICT (owner) DO UPDATE SET last_number = max(last_number, excluded.last_number)""",
    """
INSERT OR IGNORE INTO owners (owner, last_number)
SELECT owner, 0 FROM detached WHERE owner IS NOT NULL UNION SELECT signer, 0 FROM intents
UNION SELECT address, 0 FROM profiles""",
    """
INSERT OR IGNORE INTO file_tags (tag, position, state)
SELECT t.value, f.position, f.state FROM files f JOIN file_groups g ON g.id = f.group_id,
       json_each(g.hashtags) t WHERE f.state IN ('pending', 'onchain')""",
    COUNT_TAGS,
)
"""Makes records consistent, and fills the tables derived from them."""


@dataclass(frozen=True, slots=True)
class DamagedCatalog:
    """A copy of a catalog, and the damage known before its rows are read."""

    path: Path
    file_damage: str | None
    """Damage in the file, or None if there is none."""
    log_damage: str | None
    """Damage in the write-ahead log, whose commits are dropped."""
    schema: int | None = None
    """The schema version, or None if SQLite cannot open the file."""
    identity: Identity | None = None
    backed_up_at: int | None = None
    """Time of the last backup that the catalog records."""

    @property
    def is_damaged(self) -> bool:
        """Whether anything in the catalog is damaged."""
        return self.file_damage is not None or self.log_damage is not None


def examine_copy(path: Path) -> DamagedCatalog:
    """Check a copy of a catalog and merge its log. Raises `NewerSchema`."""
    log_damage: str | None = None
    try:
        check_log(path, read_boot())
    except DamagedLog:
        log_damage = "The write-ahead log is damaged: commits in it cannot be read."
    if not path.exists():
        return DamagedCatalog(path, "There is no catalog.", log_damage)
    try:
        with closing(connect_damaged(path)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
            schema = _read_schema_number(connection)
            identity, backed_up_at = _read_installation(connection)
    except UNREADABLE as error:
        damage = f"The catalog cannot be opened: {ascii(str(error))[1:-1]}."
        return DamagedCatalog(path, damage, log_damage)
    file_damage = None
    try:
        check_copy(path)
    except CatalogDamaged as error:
        file_damage = str(error)
    return DamagedCatalog(path, file_damage, log_damage, schema, identity, backed_up_at)


def _read_schema_number(connection: sqlite3.Connection) -> int:
    """The last migration's number, or this release's if none is readable. Raises `NewerSchema`."""
    known = known_migrations()[-1].number
    try:
        (number,) = connection.execute(LATEST).fetchone()
    except UNREADABLE:
        # Raises again for a file whose schema cannot be read.
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        return known
    if number > known:
        raise NewerSchema(number, known)
    return int(number) or known


def _read_installation(connection: sqlite3.Connection) -> tuple[Identity | None, int | None]:
    with suppress(*UNREADABLE):
        connection.row_factory = sqlite3.Row
        row = connection.execute("SELECT * FROM installation").fetchone()
        if row is not None and _is_installation(row):
            moment = row["backed_up_at"] if "backed_up_at" in row.keys() else None  # noqa: SIM118
            identity = Identity(row["id"], bool(row["claimed"]), bool(row["owns_unnamed"]))
            return identity, moment if isinstance(moment, int) else None
    return None, None


def _is_installation(row: sqlite3.Row) -> bool:
    return INSTALLATION_ID.fullmatch(str(row["id"])) is not None


def open_saved(path: Path) -> Identity | None:
    """Check the catalog of a backup, migrate it, and return the installation that owns it.

    Raises `CatalogDamaged` and `NewerSchema`.
    """
    check_copy(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, known_migrations())
        return _read_installation(connection)[0]


@dataclass(slots=True)
class Rebuilt:
    """Result of a rebuild: damage and losses as sentences, and numbers of files."""

    found: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    kept: int = 0
    from_backup: int = 0


def rebuild_catalog(
    damaged: DamagedCatalog, new: Path, saved: Path | None, installation: str | None, at: datetime
) -> Rebuilt:
    """Write a new catalog from the damaged one and a backup.

    `saved` is a copy checked by `open_saved`, and `installation` the id in the content store.
    """
    new.touch(mode=0o600)
    with closing(sqlite3.connect(new, isolation_level=None, uri=True)) as target:
        target.row_factory = sqlite3.Row
        migrate(target, known_migrations())
        target.execute(_KNOWN)
        if saved is not None:
            target.execute("ATTACH ? AS saved", (f"{saved.absolute().as_uri()}?mode=ro",))
        target.execute("BEGIN")
        target.execute("DELETE FROM counters")
        rebuild = _Rebuild(target, damaged)
        rebuild.read_damaged()
        if saved is not None:
            rebuild.read_backup()
        rebuild.finish(installation, at)
        target.execute("COMMIT")
    check_copy(new)
    return rebuild.rebuilt


@dataclass(slots=True)
class _Rebuild:
    """One run of a rebuild. `broken` lists the tables that may lack rows."""

    target: sqlite3.Connection
    damaged: DamagedCatalog
    rebuilt: Rebuilt = field(default_factory=Rebuilt)
    broken: set[str] = field(default_factory=set)
    names_complete: bool = False
    """Whether the indexes name all files."""

    def read_damaged(self) -> None:
        """Keep every readable row, and record the names of files whose rows are unreadable."""
        found = self.rebuilt.found
        tables = self._tables()
        if self.damaged.schema is None:
            found.append(str(self.damaged.file_damage))
            self.broken = set(tables)
            self.rebuilt.lost.append(
                "Anything written after the backup was made, which cannot be listed."
            )
            return
        if self.damaged.log_damage is not None:
            found.append(self.damaged.log_damage)
            self.rebuilt.lost.append("The last commits, which were in the damaged log.")
        with closing(connect_damaged(self.damaged.path)) as source:
            there = self._expected_tables(source, self.damaged.schema)
            for table in tables:
                if table in there:
                    self._copy_table(source, table)
            self._note_names(source)
        self._describe()
        self.rebuilt.kept = self._count_files()
        if not found and self.damaged.file_damage is not None:
            index = examine_catalog(self.damaged.path).index
            found.append("The index of posts is damaged." if index else self.damaged.file_damage)

    def _tables(self) -> list[str]:
        rows = self.target.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table'")
        names = [name for (name,) in rows.fetchall() if not name.startswith("sqlite_")]
        return [each for each in names if not is_of_index(each) and each not in _NOT_KEPT]

    @staticmethod
    def _expected_tables(source: sqlite3.Connection, schema: int) -> set[str]:
        """Tables of the release that wrote the damaged catalog, and tables that the catalog has."""
        applied = tuple(each for each in known_migrations() if each.number <= schema)
        names = {name for _, name, _ in schema_after(applied)}
        return names | {name for (name,) in source.execute("SELECT name FROM sqlite_schema")}

    def _copy_table(self, source: sqlite3.Connection, table: str) -> None:
        columns, key = self._common_columns(source, table), self._key(table)
        marks = ", ".join("?" * len(columns))
        insert = f"INSERT INTO main.{table} ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608
        rows = ReadableRows(source, f"SELECT {', '.join(columns)} FROM {table}", key)  # noqa: S608
        kept = refused = 0
        for row in rows if columns else ():
            if self._is_as_written(table, row) and self._add(insert, tuple(row)):
                kept += 1
            else:
                refused += 1
                self._note_refused(table, row)
        whole = is_whole(source, f"'{table}'")
        if not rows.complete or refused or not (whole or _has_index_of(source, table, kept)):
            self.broken.add(table)
            self.rebuilt.found.append(f"A part of the table {table} cannot be read.")
        elif not whole:
            self.rebuilt.found.append(f"An index of the table {table} is damaged.")

    def _common_columns(self, source: sqlite3.Connection, table: str) -> list[str]:
        here = [row["name"] for row in self.target.execute(f"PRAGMA main.table_info({table})")]
        there: set[str] = set()
        with suppress(*UNREADABLE):
            there = {row["name"] for row in source.execute(f"PRAGMA table_info({table})")}
        return [name for name in here if name in there]

    def _key(self, table: str) -> tuple[str, ...]:
        """The columns by which a table is ordered on disk."""
        statement = "SELECT sql FROM main.sqlite_schema WHERE name = ?"
        (text,) = self.target.execute(statement, (table,)).fetchone()
        if "WITHOUT ROWID" not in text:
            return ("rowid",)
        info = self.target.execute(f"PRAGMA main.table_info({table})").fetchall()
        keyed = sorted((row for row in info if row["pk"]), key=lambda row: row["pk"])
        return tuple(row["name"] for row in keyed)

    def _add(self, insert: str, values: tuple[Any, ...]) -> bool:
        """Add a row. Returns False if it does not fit the table or its key is taken."""
        try:
            self.target.execute(insert, values)
        except (sqlite3.IntegrityError, UnicodeEncodeError):
            return False
        return True

    @staticmethod
    def _is_as_written(table: str, row: sqlite3.Row) -> bool:
        if table == "installation":
            return _is_installation(row)
        if table not in CHECKED_TABLES or "checksum" not in row.keys():  # noqa: SIM118
            return True
        values: Mapping[str, Any] = dict(row)
        try:
            if table == "file_groups" and not isinstance(json.loads(values["hashtags"]), list):
                return False
            return not is_damaged(table, values)
        except (TypeError, ValueError, OverflowError):
            return False

    def _note_refused(self, table: str, row: sqlite3.Row) -> None:
        """Record the names in a damaged row. Names in the indexes take precedence."""
        if table == "files":
            self._add(
                "INSERT INTO temp.known (position, id, name, cid) VALUES (?, ?, ?, ?)",
                tuple(row[column] for column in ("position", *_NAMES)),
            )

    def _note_names(self, source: sqlite3.Connection) -> None:
        counts, complete = set(), self.damaged.log_damage is None
        for column, index in _NAMES.items():
            select = f"SELECT position, {column} FROM files INDEXED BY {index}"  # noqa: S608
            rows, count = ReadableRows(source, select, (column,)), 0
            for row in rows:
                count += self._add(
                    f"INSERT INTO temp.known (position, {column}) VALUES (?, ?) "  # noqa: S608
                    f"ON CONFLICT (position) DO UPDATE SET {column} = excluded.{column}",
                    tuple(row),
                )
            complete = complete and rows.complete
            counts.add(count)
        self.names_complete = complete and len(counts) == 1

    def _describe(self) -> None:
        """Describe the damaged or missing records in the result."""
        missing = self.target.execute(_MISSING).fetchall()
        if missing:
            self.broken.add("files")
        self.rebuilt.found += [f"The record of the {_name(row)} cannot be read." for row in missing]
        self.rebuilt.found += [
            f"The hashtags and the thumbnail of the file {name} cannot be read."
            for (name,) in self.target.execute(_WITHOUT_GROUP)
        ]

    def _count_files(self) -> int:
        (count,) = self.target.execute("SELECT count(*) FROM main.files").fetchone()
        return int(count)

    def read_backup(self) -> None:
        """Take the missing rows from the backup."""
        before = self._count_files()
        for table in sorted(self.broken - _NOT_FROM_BACKUP - {"file_groups", "files"}):
            columns = ", ".join(
                row["name"] for row in self.target.execute(f"PRAGMA main.table_info({table})")
            )
            self.target.execute(
                f"INSERT OR IGNORE INTO main.{table} ({columns}) "  # noqa: S608
                f"SELECT {columns} FROM saved.{table}"
            )
        if "files" in self.broken:
            self.target.execute(_FILES_OF_BACKUP, {"all": not self.names_complete})
        self.target.execute(_GROUPS_OF_BACKUP)
        self.rebuilt.from_backup = self._count_files() - before

    def finish(self, installation: str | None, at: datetime) -> None:
        """Describe the losses in the result, and make the records consistent."""
        lost = self.rebuilt.lost
        missing = self.target.execute(_MISSING).fetchall()
        lost += [f"The {_name(row)}." for row in missing]
        if self.damaged.schema is not None and "files" in self.broken and not self.names_complete:
            lost.append(
                "Files that no backup has, if there are more: a part of the indexes that name them"
                " cannot be read either."
            )
        lost += [
            f"The hashtags and the thumbnail of the file {name}."
            for (name,) in self.target.execute(_WITHOUT_GROUP)
        ]
        lost += [text for table, text in _LOST_ROWS.items() if table in self.broken]
        self.target.execute(_EMPTY_GROUPS)
        if installation is not None:
            self.target.execute(
                "INSERT OR IGNORE INTO installation (only_row, id, claimed) VALUES (1, ?, 1)",
                (installation,),
            )
        # The highest fence of a stored document is lost, but a timestamp is above all fences.
        fence = micros(at) if "counters" in self.broken else 0
        for statement in _CONSISTENT:
            self.target.execute(statement, {"now": micros(at), "fence": fence})


def _name(row: sqlite3.Row) -> str:
    """A readable name for a file, built from its name, document, id or position."""
    if row["name"] is not None:
        document = "" if row["cid"] is None else f" with the document {row['cid']}"
        return f"file {row['name']}{document}"
    if row["cid"] is not None:
        return f"file with the document {row['cid']}"
    return f"file {row['id']}" if row["id"] is not None else f"file at position {row['position']}"


def _has_index_of(source: sqlite3.Connection, table: str, count: int) -> bool:
    """Whether an index has as many rows as the table, in which case the table is complete."""
    indexes = []
    with suppress(*UNREADABLE):
        indexes = source.execute(f"PRAGMA index_list({table})").fetchall()
    for index in indexes:
        if index["origin"] == "c" and not index["partial"]:
            select = f"SELECT count(*) FROM {table} INDEXED BY {index['name']}"  # noqa: S608
            with suppress(*UNREADABLE):
                (entries,) = source.execute(select).fetchone()
                if entries == count:
                    return True
    return False
