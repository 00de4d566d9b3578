"""Pages of SQLite files, compared with what SQLite reads."""

import random
import sqlite3
from contextlib import closing

import pytest

from imprint.adapters.sqlite_pages import Damaged, PageFile

SCRIPT = """
PRAGMA journal_mode = WAL;
PRAGMA wal_autocheckpoint = 0;
CREATE TABLE rows (a INTEGER PRIMARY KEY, b TEXT, c BLOB, d REAL) STRICT;
CREATE TABLE keyed (a TEXT, b INTEGER, c TEXT, PRIMARY KEY (a, b)) STRICT, WITHOUT ROWID;
CREATE INDEX by_b ON rows (b);
"""


@pytest.fixture
def connection(tmp_path):
    chance = random.Random(1)
    with closing(sqlite3.connect(tmp_path / "some.db", isolation_level=None)) as opened:
        opened.executescript(SCRIPT)
        opened.execute("BEGIN")
        for number in range(1200):
            long = chance.randrange(9000) if number % 40 == 0 else 9
            row = (number * 3 - 100, "x" * chance.randrange(30), bytes(long), number / 7)
            opened.execute("INSERT INTO rows VALUES (?, ?, ?, ?)", row)
            text = "z" * (chance.randrange(3000) if number % 9 == 0 else 3)
            opened.execute(
                "INSERT INTO keyed VALUES (?, ?, ?)", (str(chance.random()), number, text)
            )
        opened.execute("COMMIT")
        opened.execute("DELETE FROM rows WHERE a % 7 = 0")
        opened.execute("UPDATE keyed SET c = 'short' WHERE b % 5 = 0")
        yield opened


def read_tree(file, root):
    rows, waiting = [], [root]
    while waiting:
        page = file.read(waiting.pop())
        assert page.whole
        waiting += page.children
        rows += [(cell.rowid, cell.values) for cell in page.cells if cell.values is not None]
    return rows


def roots(connection):
    return dict(connection.execute("SELECT name, rootpage FROM sqlite_schema"))


@pytest.mark.parametrize("checkpoint", [False, True])
def test_all_rows_are_read_from_the_file_and_from_its_log(connection, tmp_path, checkpoint):
    if checkpoint:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    begin = roots(connection)
    with PageFile(tmp_path / "some.db", 4096, tmp_path / "some.db-wal") as file:
        rows = sorted((key, *values[1:]) for key, values in read_tree(file, begin["rows"]))
        assert rows == connection.execute("SELECT * FROM rows ORDER BY a").fetchall()
        keyed = sorted(values for _, values in read_tree(file, begin["keyed"]))
        assert keyed == sorted(connection.execute("SELECT * FROM keyed"))
        entries = sorted(values for _, values in read_tree(file, begin["by_b"]))
        assert entries == sorted(connection.execute("SELECT b, a FROM rows"))
        (free,) = connection.execute("PRAGMA freelist_count").fetchone()
        assert len(file.free_pages()) == free
        assert file.log_whole


def test_a_log_that_ends_in_the_middle_of_a_commit_is_read_up_to_the_one_before(
    connection, tmp_path
):
    log = tmp_path / "some.db-wal"
    before = connection.execute("SELECT * FROM keyed ORDER BY a, b").fetchall()
    size = log.stat().st_size
    connection.execute("UPDATE keyed SET c = 'changed'")
    copy = tmp_path / "copy.db-wal"
    copy.write_bytes(log.read_bytes()[: size + 3 * (4096 + 24) + 1000])
    with PageFile(tmp_path / "some.db", 4096, copy) as file:
        keyed = sorted(values for _, values in read_tree(file, roots(connection)["keyed"]))
        assert (keyed, file.log_whole) == (before, True)


def test_a_damaged_frame_in_the_middle_of_a_log_is_noticed(connection, tmp_path):
    copy = tmp_path / "copy.db-wal"
    data = bytearray((tmp_path / "some.db-wal").read_bytes())
    data[32 + 5 * (4096 + 24) + 500] ^= 1
    copy.write_bytes(data)
    with PageFile(tmp_path / "some.db", 4096, copy) as file:
        assert not file.log_whole


def test_a_page_with_missing_cells_is_not_whole(connection, tmp_path):
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with PageFile(tmp_path / "some.db", 4096) as file:
        number = roots(connection)["rows"]
        while children := list(file.read(number).children):
            number = children[0]
    data = bytearray((tmp_path / "some.db").read_bytes())
    data[(number - 1) * 4096 + 3 : (number - 1) * 4096 + 5] = b"\0\2"
    (tmp_path / "copy.db").write_bytes(data)
    with PageFile(tmp_path / "copy.db", 4096) as file:
        assert (len(file.read(number).cells), file.read(number).whole) == (2, False)


@pytest.mark.parametrize("seed", range(20))
def test_random_damage_raises_only_damaged(connection, tmp_path, seed):
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    chance = random.Random(seed)
    data = bytearray((tmp_path / "some.db").read_bytes())
    for _ in range(300):
        data[chance.randrange(len(data))] = chance.randrange(256)
    (tmp_path / "copy.db").write_bytes(data[: chance.randrange(len(data))])
    with PageFile(tmp_path / "copy.db", 4096) as file:
        file.free_pages()
        for number in range(file.pages + 2):
            try:
                file.read(number)
            except Damaged:
                continue
