"""A new catalog from what a damaged one, its indexes, backups and documents still know.

Rows that could be read are taken as they are. A lost file is taken from a backup, and what indexes
know about it now is put over what the backup knew then; without a backup it is built from indexes
and its document. The damaged file is copied first, and only read.
"""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from imprint.adapters.catalog import repair_sql
from imprint.adapters.catalog.derived_tables import is_of_index
from imprint.adapters.catalog.record_checksums import is_damaged, record_checksum
from imprint.adapters.catalog.schema import LATEST, NewerSchema, known_migrations, migrate
from imprint.adapters.catalog.sqlite_backup import check_copy
from imprint.adapters.catalog.sqlite_salvage import (
    PAGE_SIZE,
    TRANSIENT,
    Salvage,
    describe_trees,
    salvage_rows,
)
from imprint.adapters.catalog.transaction import micros
from imprint.adapters.sqlite_pages import PageFile
from imprint.adapters.sqlite_swap import copy_to_probe, replace_file
from imprint.domain.cids import Cid
from imprint.domain.files import new_id
from imprint.domain.installation import Identity
from imprint.ports.catalog import CatalogDamaged
from imprint.ports.repair import LostFile, SalvageCounts

_IDENTITY = ("files_by_id", "files_by_name", "files_by_cid")
"""The indexes that have every file, in every state."""

_NAMES = ("id", "cid", "name")
"""The columns that name a file."""

_LIVENESS = {"files_live", "files_posts", "files_drafts"}
"""The indexes that tell the states of files apart."""

_KEPT_FOR_EVER = ("nonces", "login_nonces", "deliveries", "dead_letters")
"""Tables whose rows never change, so that those of a backup are right."""

_MOST_NAMED = 10
"""How many damaged tables and indexes are named one by one."""

Row = dict[str, Any]


@dataclass(slots=True)
class Salvaged:
    """`SalvagedCatalog` in SQLite, built in the folder `scratch` from the copy that is there."""

    place: Path
    scratch: Path
    connection: sqlite3.Connection
    salvage: Salvage
    whole: bool
    counts: SalvageCounts = field(default_factory=SalvageCounts)
    _lost: dict[int, Row] = field(default_factory=dict, init=False)
    _places: dict[tuple[str, str], int] = field(default_factory=dict, init=False)
    _broken: dict[str, Row] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.counts.kept = {
            name: count
            for name, count in self.salvage.kept.items()
            if name not in TRANSIENT | {"file_tags"}
        }
        self._lost = dict(self.salvage.known_files)
        for position, known in self._lost.items():
            self._note_place(position, known)
        for row in self.salvage.damaged.get("files", ()):
            self._note_damaged(row)
        for row in self.salvage.damaged.get("file_groups", ()):
            self._broken[row["id"]] = row
        self.counts.unreadable = _describe(self.salvage)
        if "private_feeds" in self.salvage.broken:
            # Those of a backup may have been revoked since, or got other tokens.
            self.counts.lost.append(
                "Private feeds that could not be read: their readers create new ones."
            )
        if "ended_sessions" in self.salvage.broken:
            self.counts.lost.append(
                "Sessions that were ended: those that could not be read and that no backup has are "
                "valid until they expire, for two hours at most. Another IMPRINT_JWT_SECRET ends "
                "all sessions at once."
            )
        if "nonces" in self.salvage.broken:
            self.counts.lost.append(
                "Nonces that were spent: those that could not be read and that no backup has. A "
                "signed write is valid for one minute, so none that was signed earlier than that "
                "takes effect again. A writing session can be opened again by who has its key, "
                "until it would have expired, for 24 hours at most."
            )

    def _note_damaged(self, row: Row) -> None:
        """A row that was read, but not as it was written: often an index knows what it was."""
        place = self._places.get(("id", row["id"]))
        known = None if place is None else self._lost.get(place)
        known = known or self._lost.get(row["position"]) or {"position": row["position"]}
        mended = row | {name: known[name] for name in known if name in row and name != "state"}
        if known.get("state") in ("pending", "onchain"):
            mended["state"] = known["state"]
        if not is_damaged("files", mended) and self._insert("files", mended):
            self._lost.pop(mended["position"], None)
            self.counts.indexes += 1
            return
        hints = {name: row[name] for name in ("id", "name", "cid", "group_id")}
        position = known["position"]
        self._lost[position] = hints | {"damaged": row} | self._lost.get(position, known)
        self._note_place(position, self._lost[position])

    def _note_place(self, position: int, known: Row) -> None:
        for name in _NAMES:
            if name in known:
                self._places[name, known[name]] = position

    @property
    def new(self) -> Path:
        """The file of the new catalog."""
        return self.scratch / "new.db"

    # Identity

    @property
    def identity(self) -> Identity | None:
        return read_identity(self.connection)

    def set_installation(self, installation: str | None) -> None:
        if installation is not None and self.identity is None:
            self.connection.execute(repair_sql.SET_INSTALLATION, (installation,))

    # Backups

    def add_backup(self, copy: Path) -> None:
        # SQLite attaches and detaches nothing inside a transaction.
        self.connection.execute("COMMIT")
        self.connection.execute("ATTACH ? AS saved", (f"{copy.absolute().as_uri()}?mode=ro",))
        self.connection.execute("BEGIN")
        try:
            for table in _KEPT_FOR_EVER:
                if table in self.salvage.broken:
                    self._count_backup(table, self._copy(table))
            if "events" in self.salvage.broken:
                self._count_backup("events", self._copy("events", repair_sql.UNBOUND))
            for statement in repair_sql.FROM_BACKUP:
                self.connection.execute(statement)
            if "ended_sessions" in self.salvage.broken and self._saved_has("ended_sessions"):
                added = self.connection.execute(repair_sql.ENDED_SESSIONS_OF_BACKUP)
                self._count_backup("ended_sessions", added.rowcount)
            if self.identity is None and self._saved_has("installation"):
                self._count_backup("installation", self._copy("installation"))
            for row in self.connection.execute(repair_sql.FILES_ONLY_IN_BACKUP).fetchall():
                self._add_saved_file(dict(row))
            for row in self.connection.execute(repair_sql.GROUPS_ONLY_IN_BACKUP).fetchall():
                self._add_saved_group(dict(row))
        finally:
            self.connection.execute("COMMIT")
            self.connection.execute("DETACH saved")
            self.connection.execute("BEGIN")

    def _copy(self, table: str, values: dict[str, str] | None = None) -> int:
        """Add the rows of a backup's table that are missing; returns how many there were."""
        columns = self._common_columns(table)
        chosen = ", ".join((values or {}).get(name, name) for name in columns)
        cursor = self.connection.execute(
            f"INSERT OR IGNORE INTO main.{table} ({', '.join(columns)}) "  # noqa: S608
            f"SELECT {chosen} FROM saved.{table}"
        )
        return cursor.rowcount

    def _common_columns(self, table: str) -> list[str]:
        here = [row[1] for row in self.connection.execute(f"PRAGMA main.table_info({table})")]
        there = {row[1] for row in self.connection.execute(f"PRAGMA saved.table_info({table})")}
        return [name for name in here if name in there]

    def _saved_has(self, table: str) -> bool:
        return bool(self.connection.execute(f"PRAGMA saved.table_info({table})").fetchall())

    def _add_saved_file(self, saved: Row) -> None:
        """Add a file that a backup has, unless it was purged since, as it should be now."""
        known = self._find_known(saved)
        if known is None and any(name not in self.salvage.broken for name in _IDENTITY):
            # An index that has every file does not have it: its document was destroyed.
            return
        row: Row = {"draft_position": None, **saved, "checksum": None}
        if known is None:
            row["state"] = self._present_state(row)
        else:
            row["state"] = self._known_state(known, row)
            row |= {name: known[name] for name in ("position", "group_id") if name in known}
        self._settle_publication(row, known or {})
        if self._insert("files", row):
            self._lost.pop(row["position"], None)
            self._count_backup("files", 1)

    def _find_known(self, saved: Row) -> Row | None:
        """What is known about a lost file that a backup has."""
        for name in _NAMES:
            position = self._places.get((name, saved[name]))
            if position in self._lost:
                return self._lost[position]
        return None

    def _known_state(self, known: Row, row: Row) -> str:
        """The state of a file as indexes say, or as in a backup where they say nothing."""
        state: str | None = known.get("state")
        if state in ("pending", "onchain"):
            return state
        if state == "live":
            return "onchain" if known.get("post_id") else "pending"
        if _LIVENESS & self.salvage.broken:
            return self._present_state(row)
        return row["state"] if row["state"] in ("superseded", "deleted") else "superseded"

    def _present_state(self, row: Row) -> str:
        """The state of a file in a backup as other records say that it is now."""
        values = {"id": row["id"], "cid": row["cid"], "group_id": row["group_id"]}
        if self.connection.execute(repair_sql.RETIRED, values).fetchone():
            return "deleted"
        if self.connection.execute(repair_sql.LIVE_IN_GROUP, values).fetchone():
            return "superseded"
        return str(row["state"])

    def _settle_publication(self, row: Row, known: Row) -> None:
        """Give a post its post id, time and transaction, and anything else none."""
        post_id = known.get("post_id") or row.get("post_id")
        if row["state"] != "onchain" or post_id is None:
            row["state"] = "pending" if row["state"] == "onchain" else row["state"]
            row |= {"post_id": None, "published_at": None, "tx_hash": None}
            return
        if row.get("post_id") != post_id or row.get("published_at") is None:
            event = self.connection.execute(
                repair_sql.EVENT_OF_POST, {"post_id": post_id, "cid": row["cid"]}
            ).fetchone()
            row["tx_hash"] = None if event is None else event["tx_hash"]
            row["published_at"] = row["created_at"] if event is None else event["seen_at"]
        row["post_id"] = post_id

    def _add_saved_group(self, saved: Row) -> None:
        """Add a group that some file needs, with the tags and the thumbnail that it has now."""
        row: Row = {"thumbnail_size": 0, **saved, "checksum": None}
        self._insert("file_groups", self._present_group(row))
        self._count_backup("file_groups", 1)

    def _present_group(self, row: Row) -> Row:
        thumbnail = self.salvage.known_thumbnails.get(row["id"])
        known = thumbnail or "file_groups_by_thumbnail" not in self.salvage.broken
        if known and thumbnail != row["thumbnail_cid"]:
            row |= {"thumbnail_cid": thumbnail, "thumbnail_size": 0}
        live = self.connection.execute(repair_sql.LIVE_IN_GROUP, {"group_id": row["id"]}).fetchone()
        if live is not None and "file_tags" not in self.salvage.broken:
            tags = self.salvage.known_tags.get(live["position"], [])
            if sorted(tags) != sorted(set(json.loads(row["hashtags"]))):
                row["hashtags"] = json.dumps(tags, ensure_ascii=False)
        return row

    def _count_backup(self, table: str, count: int) -> None:
        if count:
            self.counts.backup[table] = self.counts.backup.get(table, 0) + count

    # Indexes and documents

    def lost_files(self) -> Sequence[LostFile]:
        return [
            LostFile(
                position,
                row.get("cid"),
                row.get("id"),
                row.get("name"),
                row.get("damaged", {}).get("wrapped_key"),
            )
            for position, row in sorted(self._lost.items())
        ]

    def rebuild_file(
        self, lost: LostFile, name: str, cid: Cid, size: int, wrapped_key: bytes | None
    ) -> bool:
        known = self._lost[lost.position]
        owner, _, number = name.rpartition("_")
        row: Row = {
            "id": known.get("id") or new_id(),
            "group_id": known.get("group_id") or str(uuid4()),
            "owner": owner,
            "name": name,
            "cid": cid,
            "size": size,
            "created_at": int(number),
            "position": lost.position,
            "draft_position": None,
            "wrapped_key": wrapped_key,
            "checksum": None,
        }
        row["state"] = self._known_state(known, row | {"state": "pending"})
        self._settle_publication(row, known)
        if not self._insert("files", self._as_written(row, known.get("damaged"))):
            return False
        del self._lost[lost.position]
        self.counts.indexes += 1
        return True

    @staticmethod
    def _as_written(row: Row, damaged: Row | None) -> Row:
        """The damaged row with as few other values as its checksum needs to be right again."""
        if damaged is not None:
            for name in row.keys() - {"checksum"}:
                tried = damaged | {name: row[name]}
                if not is_damaged("files", tried):
                    return tried
        return row

    def unknown_documents(self, cids: Sequence[Cid]) -> list[Cid]:
        return [
            cid
            for cid in cids
            if self.connection.execute(repair_sql.KNOWN_DOCUMENT, {"cid": cid}).fetchone() is None
        ]

    def add_draft(self, cid: Cid, name: str, size: int) -> bool:
        owner, _, number = name.rpartition("_")
        (position,) = self.connection.execute(repair_sql.NEXT_POSITION).fetchone()
        self.connection.execute("DELETE FROM detached WHERE cid = ?", (cid,))
        row: Row = {
            "id": new_id(),
            "group_id": str(uuid4()),
            "owner": owner,
            "name": name,
            "cid": cid,
            "size": size,
            "created_at": int(number),
            "state": "pending",
            "position": position,
            "checksum": None,
        }
        self._settle_publication(row, {})
        if not self._insert("files", row):
            return False
        self._insert("file_groups", _empty_group(row))
        self.counts.documents += 1
        return True

    def _insert(self, table: str, row: Row) -> bool:
        """Add a row with its checksum; False if another row has its key."""
        if row["checksum"] is None:
            row["checksum"] = record_checksum(table, row)
        names = [column.name for column in describe_trees()[table].columns if column.name in row]
        cursor = self.connection.execute(
            f"INSERT OR IGNORE INTO {table} ({', '.join(names)}) "  # noqa: S608
            f"VALUES ({', '.join(f':{name}' for name in names)})",
            row,
        )
        return cursor.rowcount == 1

    # The end

    def finish(self, at: datetime) -> None:
        connection = self.connection
        for row in connection.execute(repair_sql.MISSING_GROUPS).fetchall():
            self._rebuild_group(dict(row))
        # Documents were stored with fences up to the one that is lost; a moment is above them all.
        fence = micros(at) if "counters" in self.salvage.broken else 0
        values = {"now": micros(at), "whole": int(self.salvage.whole), "fence": fence}
        for statement in repair_sql.CONSISTENT:
            connection.execute(statement, values)
        for row in connection.execute(repair_sql.UNCHECKED_FILES).fetchall():
            connection.execute(repair_sql.SET_CHECKSUM, (record_checksum("files", row), row["id"]))
        connection.execute("COMMIT")
        connection.close()
        check_copy(self.new)

    def _rebuild_group(self, row: Row) -> None:
        """A group of which only its files are left."""
        damaged = self._broken.get(row["group_id"], {})
        group = self._present_group(_empty_group(row))
        if damaged:
            tried = damaged | {name: group[name] for name in ("hashtags", "thumbnail_cid")}
            tries = (damaged | {"thumbnail_cid": group["thumbnail_cid"]}, damaged | tried)
            group = next((each for each in tries if not is_damaged("file_groups", each)), group)
        elif "file_tags" in self.salvage.broken:
            self.counts.lost.append(f"The hashtags of the group {row['group_id']}.")
        self._insert("file_groups", group)

    def replace(self, at: datetime) -> Path:
        return replace_file(self.new, self.place, at)


def open_salvaged(place: Path, scratch: Path) -> Salvaged:
    """Read the copy `damaged.db` in the scratch folder into a new catalog beside it.

    Raises `NewerSchema` for a catalog of a newer version.
    """
    new = scratch / "new.db"
    new.touch(mode=0o600)
    connection = sqlite3.connect(new, isolation_level=None, check_same_thread=False, uri=True)
    migrate(connection, known_migrations())
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.execute("BEGIN")
    damaged = scratch / "damaged.db"
    damaged.touch()
    with PageFile(damaged, PAGE_SIZE, scratch / "damaged.db-wal") as source:
        salvage = salvage_rows(source, connection)
    known = known_migrations()[-1].number
    (number,) = connection.execute(LATEST).fetchone()
    if number > known:
        raise NewerSchema(number, known)
    damage = _find_damage(scratch)
    salvaged = Salvaged(place, scratch, connection, salvage, salvage.whole and damage is None)
    if damage is not None and not salvaged.counts.unreadable:
        # Its tables are whole, so it is in an index.
        salvaged.counts.unreadable.append(damage)
    return salvaged


def _empty_group(file: Row) -> Row:
    """The group of a file, without hashtags and thumbnail."""
    return {
        "id": file["group_id"],
        "owner": file["owner"],
        "created_at": file["created_at"],
        "hashtags": "[]",
        "thumbnail_cid": None,
        "thumbnail_size": 0,
        "checksum": None,
    }


def _describe(salvage: Salvage) -> list[str]:
    found = []
    if not salvage.header_whole:
        found.append("There is no catalog, or its first page, with the schema, is damaged.")
    if not salvage.log_whole:
        found.append("The write-ahead log is damaged; commits behind the damage were read.")
    trees = describe_trees()
    named = salvage.broken & trees.keys()
    broken = sorted(name for name in named if not is_of_index(trees[name].table))
    if len(broken) < len(named):
        found.append("A part of the index of posts cannot be read.")
    for name in broken[:_MOST_NAMED]:
        kind = "index" if trees[name].is_index else "table"
        found.append(f"A part of the {kind} {name} cannot be read.")
    if len(broken) > _MOST_NAMED:
        found.append(f"… and {len(broken) - _MOST_NAMED} more tables and indexes.")
    for name, rows in sorted(salvage.damaged.items()):
        found.append(f"{len(rows)} rows of {name} are not as they were written.")
    return found


def _find_damage(scratch: Path) -> str | None:
    """What SQLite or a checksum finds wrong with the copy `damaged.db`, if anything."""
    try:
        with copy_to_probe(scratch) as probe:
            with closing(sqlite3.connect(probe, isolation_level=None)) as connection:
                connection.execute("PRAGMA journal_mode = DELETE")
            check_copy(probe)
    except CatalogDamaged as error:
        return str(error)
    except sqlite3.Error as error:
        return f"The catalog is damaged: {error}."
    return None


def read_identity(connection: sqlite3.Connection) -> Identity | None:
    """The identity in a catalog; None if it has none."""
    row = connection.execute("SELECT id, claimed, owns_unnamed FROM installation").fetchone()
    return None if row is None else Identity(row[0], bool(row[1]), bool(row[2]))
