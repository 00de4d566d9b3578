"""Reads every row that a damaged SQLite catalog still has, table by table and index by index.

A row is read where its page can be read, whatever became of the pages around it. Pages that a
damaged one led to are recognised by their rows. Nothing is read from pages that were free, since
they have rows that were changed or deleted long ago. Nothing is taken from the tables of the index
of posts either, which the chain fills again; their pages are only told from those of records.
"""

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from imprint.adapters.catalog.derived_tables import INDEX_TABLES, is_of_index
from imprint.adapters.catalog.record_checksums import CHECKED_TABLES, is_damaged
from imprint.adapters.catalog.schema import known_migrations, migrate
from imprint.adapters.sqlite_pages import Cell, Damaged, Page, PageFile, PageKind, Scalar

_INDEX_MIGRATION = 6
"""The migration that added the index of posts."""

PAGE_SIZE = 4096
"""The size of a catalog's pages, if the file does not say it any more."""

_TYPES: dict[str, tuple[type, ...]] = {
    "INTEGER": (int,),
    "TEXT": (str,),
    "BLOB": (bytes,),
    "REAL": (float, int),
    "": (int, float, str, bytes),
}
"""What the values of a column may be; tables that are not ours have columns without a type."""

_ADDRESS = re.compile("0x[0-9a-f]{40}")
_SUBJECT = re.compile("0x[0-9a-f]{40}|([0-9]+-)?[0-9a-f]+")
_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_CID = re.compile("b[a-z2-7]{50,}")
_LOOKS = {
    "owner": _ADDRESS,
    "signer": _ADDRESS,
    "address": _ADDRESS,
    "author": _ADDRESS,
    "subject": _SUBJECT,
    "id": _UUID,
    "group_id": _UUID,
    "file_id": _UUID,
    "cid": _CID,
    "thumbnail_cid": _CID,
    "network": re.compile("private|public"),
    "state": re.compile("pending|onchain|superseded|deleted"),
    "kind": re.compile("stand|final"),
    "block_hash": re.compile("0x[0-9a-f]{64}"),
    "token": re.compile("[0-9a-f]{64}"),
}
"""What values of a column look like; it tells the pages of tables and indexes apart."""

_LATER_TABLES = frozenset({"installation", "private_feeds", "ended_sessions", "writing_sessions"})
"""Tables that the catalog of an earlier release does not have."""

TRANSIENT = frozenset(
    {"chain_marks", "leases", "paces", "tags", "schema_migrations", "writing_sessions"}
)
"""Tables that are computed again, or of which nothing is missed. A writing session that was revoked
must not come back, so none does."""

_NAMES = {
    "files": re.compile("0x[0-9a-f]{40}_[0-9]+"),
    "counters": re.compile("position|heartbeat|fence"),
}
"""The same for the column `name`, by its table."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table or an index."""

    name: str
    types: tuple[type, ...]
    required: bool
    default: Scalar = None


@dataclass(frozen=True, slots=True)
class Tree:
    """A table or an index as the migrations make it; `rowid` is the column that is the row's key.

    The entries of an index end with the key of their row.
    """

    name: str
    table: str
    columns: tuple[Column, ...]
    is_index: bool
    keyed: bool
    rowid: str | None = None

    def row_of(self, cell: Cell) -> dict[str, Scalar] | None:
        """The values of a cell by their columns; None if it cannot be one of this tree."""
        values = cell.values
        if values is None or len(values) > len(self.columns) or (cell.rowid is None) == self.keyed:
            return None
        row: dict[str, Scalar] = {}
        for place, column in enumerate(self.columns):
            value = values[place] if place < len(values) else column.default
            if column.name == self.rowid and value is None:
                value = cell.rowid
            if value is None:
                if column.required:
                    return None
            elif not isinstance(value, column.types):
                return None
            row[column.name] = value
        return row

    def resembles(self, row: dict[str, Scalar]) -> bool:
        """Whether the values look like those of this tree."""
        for name, value in row.items():
            look = _NAMES.get(self.table) if name == "name" else _LOOKS.get(name)
            if look is not None and isinstance(value, str) and not look.fullmatch(value):
                return False
        return True


@dataclass(slots=True)
class Salvage:
    """What was read: rows are in the new catalog, all else is here.

    `broken` has the tables and indexes of which something could not be read. `known_files` has,
    by position, what indexes say about files whose row was lost; `damaged` has rows that are not
    as they were written.
    """

    kept: dict[str, int] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    damaged: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    known_files: dict[int, dict[str, Any]] = field(default_factory=dict)
    known_thumbnails: dict[str, str] = field(default_factory=dict)
    known_tags: dict[int, list[str]] = field(default_factory=dict)
    log_whole: bool = True
    header_whole: bool = True

    @property
    def whole(self) -> bool:
        """Whether every table was read completely, and as it was written."""
        tables = {name for name in self.broken if name in self.kept}
        return self.log_whole and not tables and not any(self.damaged.values())


def salvage_rows(source: PageFile, target: sqlite3.Connection) -> Salvage:
    """Add every row that can be read to a new, empty catalog, which the migrations have made."""
    trees = describe_trees()
    salvage = Salvage(log_whole=source.log_whole, header_whole=source.header_whole)
    reader = _TreeReader(source, find_roots(source, trees), source.free_pages())
    derived = [tree for tree in trees.values() if is_of_index(tree.table)]
    tables = [tree for tree in trees.values() if not tree.is_index and tree not in derived]
    for tree in tables:
        salvage.kept[tree.name] = 0
        _add_rows(target, tree, reader.rows(tree), salvage)
    if reader.broken or any(salvage.damaged.values()):
        indexes = [tree for tree in trees.values() if tree.is_index and tree not in derived]
        # All pages that anything leads to are visited before the others are guessed at.
        for tree in indexes:
            _note_entries(target, tree, reader.rows(tree), salvage)
        for tree in derived:
            reader.visit(tree)
        lasting = [each for each in tables if each.name not in TRANSIENT]
        # Where SQLite keeps words, anything could be a row.
        derived = [each for each in derived if each.table in INDEX_TABLES]
        for tree, rows in reader.strays([*lasting, *derived]):
            if tree not in derived:
                _add_rows(target, tree, rows, salvage)
        for tree, rows in reader.strays([*indexes, *derived]):
            if tree not in derived:
                _note_entries(target, tree, rows, salvage)
        for tag, position in target.execute("SELECT tag, position FROM file_tags ORDER BY tag"):
            salvage.known_tags.setdefault(position, []).append(tag)
        for position in [each for each in salvage.known_files if _has_file(target, each)]:
            del salvage.known_files[position]
    salvage.broken |= reader.broken
    return salvage


@cache
def describe_trees() -> dict[str, Tree]:
    """Every table and index of the present schema, but for those that SQLite keeps itself."""
    with closing(_empty_catalog()) as connection:
        found = connection.execute(
            "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE type IN ('table', 'index')"
        ).fetchall()
        tables = {
            name: _describe_table(connection, name, "WITHOUT ROWID" in statement)
            for kind, name, _, statement in found
            if kind == "table"
            and not name.startswith("sqlite_")
            and not statement.startswith("CREATE VIRTUAL")
        }
        indexes = {
            name: _describe_index(connection, name, tables[table])
            for kind, name, table, statement in found
            if kind == "index" and statement is not None
        }
    return tables | indexes


def _describe_table(connection: sqlite3.Connection, name: str, keyless: bool) -> Tree:
    columns, rowid = [], None
    for _, column, kind, required, default, key in connection.execute(
        f"PRAGMA table_info({name})"
    ).fetchall():
        (value,) = connection.execute(f"SELECT {default or 'NULL'}").fetchone()
        columns.append(Column(column, _TYPES[kind], bool(required or key), value))
        if key and kind == "INTEGER" and not keyless and _is_only_key(connection, name):
            rowid = column
    return Tree(name, name, tuple(columns), False, not keyless, rowid)


def _is_only_key(connection: sqlite3.Connection, name: str) -> bool:
    keys = [row[5] for row in connection.execute(f"PRAGMA table_info({name})")]
    return sum(1 for key in keys if key) == 1


def _describe_index(connection: sqlite3.Connection, name: str, table: Tree) -> Tree:
    known = {column.name: column for column in table.columns}
    names = [row[2] for row in connection.execute(f"PRAGMA index_xinfo({name})")]
    columns = [known[each or table.rowid or ""] for each in names if each or table.rowid]
    if len(columns) < len(names):
        # The key of a table whose rowid has no name.
        columns.append(Column("rowid", (int,), True))
    return Tree(name, table.name, tuple(columns), True, False)


def find_roots(source: PageFile, trees: dict[str, Tree]) -> dict[str, int]:
    """Where each table and index begins: as the schema says, or where migrations put it."""
    roots: dict[str, int] = {}
    reader = _TreeReader(source, {"sqlite_schema": 1}, set())
    for row in reader.rows(_SCHEMA):
        root = row["rootpage"]
        if row["name"] in trees and isinstance(root, int) and 1 < root <= source.pages:
            roots[str(row["name"])] = root
    if missing := trees.keys() - roots.keys():
        layouts = [each for each in _layouts() if _agree(roots, each)]
        fitting = [each for each in layouts if _fits(source, trees, each)]
        if "sqlite_schema" in reader.broken and fitting:
            roots |= {name: fitting[0][name] for name in missing if name in fitting[0]}
    return roots


_SCHEMA = Tree(
    "sqlite_schema",
    "sqlite_schema",
    tuple(
        Column(name, (kind,), required=name != "sql")
        for name, kind in (
            ("type", str),
            ("name", str),
            ("tbl_name", str),
            ("rootpage", int),
            ("sql", str),
        )
    ),
    is_index=False,
    keyed=True,
)


def _agree(roots: dict[str, int], layout: dict[str, int]) -> bool:
    return all(layout[name] == root for name, root in roots.items() if name in layout)


def _layouts() -> Iterator[dict[str, int]]:
    """The first pages of tables and indexes in a new catalog, and in one that was restored.

    One of an earlier release had them in the same places, and got the others later, anywhere.
    """
    for number in range(len(known_migrations()), _INDEX_MIGRATION - 2, -1):
        with closing(_empty_catalog(number)) as connection:
            for statement in ("SELECT 1", "VACUUM"):
                connection.execute(statement)
                yield dict(
                    connection.execute(
                        "SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0"
                    )
                )


def _fits(source: PageFile, trees: dict[str, Tree], roots: dict[str, int]) -> bool:
    """Whether the pages at these places could all be what the layout says."""
    for name in trees.keys() & roots.keys():
        tree = trees[name]
        try:
            page = source.read(roots[name])
        except Damaged:
            continue
        rows = [tree.row_of(cell) for cell in page.cells if cell.values is not None]
        if not _is_of(page, tree) or any(row is None or not tree.resembles(row) for row in rows):
            return False
    return True


def _is_of(page: Page, tree: Tree) -> bool:
    return (page.kind in (PageKind.TABLE_LEAF, PageKind.TABLE_BRANCH)) == tree.keyed


def _empty_catalog(number: int | None = None) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection, known_migrations()[:number])
    return connection


@dataclass(slots=True)
class _TreeReader:
    """Reads trees from their roots, each page once; `broken` has those with a hole."""

    source: PageFile
    roots: dict[str, int]
    free: set[int]
    broken: set[str] = field(default_factory=set)
    visited: set[int] = field(default_factory=set)

    def rows(self, tree: Tree) -> Iterator[dict[str, Scalar]]:
        """The rows of a tree, in no order."""
        if tree.name not in self.roots:
            if tree.table not in _LATER_TABLES:
                self.broken.add(tree.name)
            return
        waiting = [self.roots[tree.name]]
        while waiting:
            number = waiting.pop()
            page = self._read(number, tree)
            if page is None:
                self.broken.add(tree.name)
                continue
            rows = [tree.row_of(cell) for cell in page.cells if cell.values is not None]
            found = [row for row in rows if row is not None]
            if rows and not found:
                # It is of something else.
                self.broken.add(tree.name)
                continue
            self.visited.add(number)
            if not page.whole or len(found) < len(rows):
                self.broken.add(tree.name)
            yield from found
            waiting += page.children

    def visit(self, tree: Tree) -> None:
        """Note which pages a tree has."""
        for _ in self.rows(tree):
            pass

    def _read(self, number: int, tree: Tree) -> Page | None:
        if number in self.visited or number in self.free:
            return None
        try:
            page = self.source.read(number)
        except Damaged:
            return None
        return page if _is_of(page, tree) else None

    def strays(self, trees: Sequence[Tree]) -> Iterator[tuple[Tree, list[dict[str, Scalar]]]]:
        """The rows of pages that nothing leads to, where exactly one broken tree can have them."""
        wanted = [tree for tree in trees if tree.name in self.broken]
        if not wanted:
            return
        for number in range(2, self.source.pages + 1):
            if number in self.visited or number in self.free:
                continue
            try:
                page = self.source.read(number)
            except Damaged:
                continue
            matches = [(tree, rows) for tree in wanted if (rows := _rows_of(page, tree))]
            if len(matches) == 1:
                self.visited.add(number)
                yield matches[0]


def _rows_of(page: Page, tree: Tree) -> list[dict[str, Scalar]]:
    """The rows of a page, if all of them look like rows of this tree."""
    if not _is_of(page, tree):
        return []
    rows = [tree.row_of(cell) for cell in page.cells if cell.values is not None]
    found = [row for row in rows if row is not None and tree.resembles(row)]
    return found if len(found) == len(rows) else []


def _add_rows(
    target: sqlite3.Connection, tree: Tree, rows: Iterable[dict[str, Any]], salvage: Salvage
) -> None:
    names = [column.name for column in tree.columns]
    statement = (
        f"INSERT OR {'REPLACE' if tree.name == 'counters' else 'IGNORE'} INTO {tree.name} "  # noqa: S608
        f"({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
    )
    for row in rows:
        if tree.name in CHECKED_TABLES and not _is_as_written(tree.name, row):
            salvage.damaged.setdefault(tree.name, []).append(row)
            continue
        cursor = target.execute(statement, [row[name] for name in names])
        if cursor.rowcount == 1:
            salvage.kept[tree.name] += 1
        elif tree.name != "schema_migrations":
            # Another row has its key already, or a constraint refuses it.
            salvage.damaged.setdefault(tree.name, []).append(row)


def _is_as_written(table: str, row: dict[str, Any]) -> bool:
    if table == "file_groups":
        try:
            tags = json.loads(row["hashtags"])
        except ValueError:
            return False
        if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
            return False
    return not is_damaged(table, row)


_STATES = {"files_posts": "onchain", "files_drafts": "pending", "files_by_post": "onchain"}
"""The indexes that have files in one state only."""


def _note_entries(
    target: sqlite3.Connection, tree: Tree, rows: Iterable[dict[str, Scalar]], salvage: Salvage
) -> None:
    """Note what an index knows about files and groups whose rows were lost."""
    for row in rows:
        if tree.table == "files" and isinstance(position := row["position"], int):
            if not _has_file(target, position):
                known = salvage.known_files.setdefault(position, {"position": position})
                known.update(row)
                if tree.name in _STATES:
                    known["state"] = _STATES[tree.name]
                elif tree.name == "files_live":
                    known.setdefault("state", "live")
        elif tree.name == "file_groups_by_thumbnail":
            salvage.known_thumbnails[str(row["id"])] = str(row["thumbnail_cid"])


def _has_file(target: sqlite3.Connection, position: int) -> bool:
    found = target.execute("SELECT 1 FROM files WHERE position = ?", (position,))
    return found.fetchone() is not None
