"""`imprint upgrade` from the first schema: whole runs, killed runs, and reverted upgrades."""

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from click.testing import Result
from tests.adapters.database.test_schema_upgrades import fill_first_schema
from tests.adapters.stores.databases import SQLITE
from tests.cli.installations import environment_beside, environment_of, run
from tests.postgresql import Server
from tests.world import MovableClock, World, open_world

from imprint import failpoints
from imprint.adapters.database.postgresql import schema as postgresql_schema
from imprint.adapters.database.schema import known_migrations
from imprint.domain.formats.cids import document_cid

LATEST = known_migrations()[-1].number

DOCUMENT = b"Words of the first release."

SMALL_DOCUMENTS = """
CREATE TABLE documents (cid TEXT PRIMARY KEY, stored_at REAL NOT NULL, document BLOB NOT NULL)
STRICT"""
"""The table of small documents in the first release."""

KILLS = (
    "before_migration",
    "during_migration:1",
    "during_migration:4",
    f"during_migration:{len(known_migrations()) - 1}",
    "after_migration",
)

KILLED_UPGRADE = """
import sys
from imprint import failpoints
from imprint.cli import main
failpoints.arm(sys.argv[1])
main(sys.argv[2:])
"""


class Installation:
    """An installation of the first release on SQLite or PostgreSQL."""

    def __init__(self, folder: Path, address: str, dump: Path) -> None:
        self.folder = folder
        self.address = address
        self.dump = dump
        self.environ = environment_of(folder) | {"IMPRINT_DATABASE_URL": address}

    @property
    def is_file(self) -> bool:
        return self.address.startswith(SQLITE)

    def upgrade(self, *options: str) -> Result:
        named = [] if self.is_file or "--no-backup" in options else ["--backup", str(self.dump)]
        return run(self.environ, "upgrade", *named, *options)

    def upgrade_until(self, failpoint: str) -> int:
        words = ["upgrade", *([] if self.is_file else ["--backup", str(self.dump)])]
        return subprocess.run(
            [sys.executable, "-c", KILLED_UPGRADE, failpoint, *words],
            env={**os.environ, **self.environ},
            timeout=60,
            check=False,
        ).returncode

    def schema(self) -> int:
        return int(self.rows("SELECT max(number) FROM schema_migrations")[0][0])

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        if self.is_file:
            with closing(sqlite3.connect(self.folder / "imprint.db")) as connection:
                return connection.execute(text).fetchall()
        return asyncio.run(self._rows(text))

    async def _rows(self, text: str) -> list[tuple[Any, ...]]:
        connection = await asyncpg.connect(self.address)
        try:
            return [tuple(row) for row in await connection.fetch(text)]
        finally:
            await connection.close()

    def records(self) -> list[tuple[Any, ...]]:
        texts = (
            "SELECT id, cid, state, size, position, draft_position FROM files ORDER BY id",
            "SELECT owner, last_number FROM owners ORDER BY owner",
            "SELECT cid, network, owner, size FROM detached ORDER BY cid, network",
        )
        return [tuple(self.rows(text)) for text in texts]


@pytest.fixture(params=["sqlite", "postgresql"])
def first(request: pytest.FixtureRequest, tmp_path: Path) -> Installation:
    folder, dump = tmp_path / "data", tmp_path / "dump.sql"
    address = f"{SQLITE}{folder / 'imprint.db'}"
    folder.mkdir(mode=0o700)
    dump.write_text("-- PostgreSQL database dump")
    if request.param == "postgresql":
        server: Server = request.getfixturevalue("postgresql")
        asyncio.run(server.execute("DROP DATABASE IF EXISTS first_release WITH (FORCE)"))
        address = asyncio.run(server.create_database("first_release"))
    asyncio.run(fill_first_schema(address))
    for network in ("private", "public"):
        (folder / "content" / network).mkdir(parents=True)
        with closing(sqlite3.connect(folder / "content" / network / "small.db")) as documents:
            documents.execute(SMALL_DOCUMENTS)
            row = (document_cid(DOCUMENT), 1.0, DOCUMENT)
            documents.execute("INSERT INTO documents VALUES (?, ?, ?)", row)
            documents.commit()
    return Installation(folder, address, dump)


def test_the_first_schema_is_upgraded_to_the_latest_one(first: Installation):
    done = first.upgrade()
    assert done.exit_code == 0, done.output
    assert first.schema() == LATEST
    assert f"now has schema {LATEST}" in done.output
    columns = "SELECT name FROM pragma_table_info('documents')"
    for network in ("private", "public"):
        path = first.folder / "content" / network / "small.db"
        with closing(sqlite3.connect(path)) as documents:
            assert ("fence",) in documents.execute(columns).fetchall()
    again = first.upgrade()
    assert (again.exit_code, "there is nothing to do" in again.output) == (0, True)
    # Commands that need an upgraded schema work now.
    assert run(first.environ, "events").exit_code == 0


def test_upgrade_check_describes_the_upgrade_and_changes_nothing(first: Installation):
    before = first.rows("SELECT * FROM files ORDER BY id")
    planned = run(first.environ, "upgrade", "--check")
    assert planned.exit_code == 3
    said = " ".join(planned.output.split())
    assert "has schema 1, " in said
    assert f"The upgrade to {LATEST} takes about 1 seconds" in said
    assert f"{LATEST:04} {known_migrations()[-1].name}" in said
    assert "The files of small documents get a new column." in said
    way_back = f"the backup {first.folder / 'imprint.db.schema-1'}"
    assert (way_back if first.is_file else "that --backup names") in said
    assert first.rows("SELECT * FROM files ORDER BY id") == before
    assert first.schema() == 1
    assert first.upgrade().exit_code == 0
    done = run(first.environ, "upgrade", "--check")
    assert (done.exit_code, "there is nothing to do" in done.output) == (0, True)


@pytest.mark.parametrize("at", KILLS)
def test_a_killed_upgrade_is_completed_by_the_next_one(first: Installation, at: str):
    assert first.upgrade_until(at) == failpoints.KILLED
    assert first.schema() == (LATEST if at == "after_migration" else 1)
    done = first.upgrade()
    assert done.exit_code == 0, done.output
    assert first.schema() == LATEST
    assert [row[0] for row in first.records()[0]] == ["f1", "f2", "f3", "f4", "f5"]
    assert first.records()[1] == (("0xa", 9), ("0xb", 9))
    if first.is_file:
        assert list(first.folder.glob("*.partial")) == []
        assert list(first.folder.glob("*.new*")) == []
        assert read_schema(first.folder / "imprint.db.schema-1") == 1


def read_schema(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT max(number) FROM schema_migrations").fetchone()[0])


def test_an_upgrade_can_be_reverted_with_the_copy_made_before_it(first: Installation):
    if not first.is_file:
        pytest.skip("The way back is the operator's dump.")
    before = first.rows("SELECT * FROM files ORDER BY id")
    assert first.upgrade().exit_code == 0
    (first.folder / "imprint.db.schema-1").replace(first.folder / "imprint.db")
    assert first.schema() == 1
    assert first.rows("SELECT * FROM files ORDER BY id") == before
    # The next upgrade also copies data written since the revert.
    with closing(sqlite3.connect(first.folder / "imprint.db")) as connection:
        connection.execute("UPDATE owners SET last_number = 77")
        connection.commit()
    assert first.upgrade().exit_code == 0
    with closing(sqlite3.connect(first.folder / "imprint.db.schema-1")) as connection:
        assert connection.execute("SELECT last_number FROM owners").fetchone() == (77,)


def test_upgrading_a_server_requires_a_dump_or_consent(first: Installation):
    if first.is_file:
        pytest.skip("The command makes the copy.")
    for options in ([], ["--backup", str(first.folder / "nowhere")]):
        refused = run(first.environ, "upgrade", *options)
        assert (refused.exit_code, "pg_dump" in refused.output) == (2, True)
    assert first.schema() == 1
    assert first.upgrade("--no-backup").exit_code == 0
    assert first.schema() == LATEST


def test_the_copy_is_written_to_the_given_path_and_overwrites_nothing(
    first: Installation, tmp_path: Path
):
    if not first.is_file:
        pytest.skip("The dump is there already.")
    (tmp_path / "letter").write_text("Something else.")
    refused = run(first.environ, "upgrade", "--backup", tmp_path / "letter")
    assert (refused.exit_code, first.schema()) == (2, 1)
    assert (tmp_path / "letter").read_text() == "Something else."
    assert run(first.environ, "upgrade", "--backup", tmp_path / "copy.db").exit_code == 0
    assert read_schema(tmp_path / "copy.db") == 1
    assert not (first.folder / "imprint.db.schema-1").exists()


def test_a_damaged_catalog_is_not_upgraded(first: Installation):
    if not first.is_file:
        pytest.skip("A server looks after its own files.")
    catalog = first.folder / "imprint.db"
    content = bytearray(catalog.read_bytes())
    content[5 * 4096 : 6 * 4096] = b"x" * 4096
    catalog.write_bytes(content)
    refused = first.upgrade()
    assert refused.exit_code == 2, refused.output
    assert "damaged" in refused.output
    assert read_schema(catalog) == 1


async def test_a_catalog_in_use_is_not_upgraded(world: World):
    refused = await asyncio.to_thread(run, environment_beside(world), "upgrade")
    assert (refused.exit_code, f"processes: {os.getpid()}" in refused.output) == (2, True)
    planned = await asyncio.to_thread(run, environment_beside(world), "upgrade", "--check")
    assert planned.exit_code == 0


def test_a_missing_catalog_is_created(tmp_path: Path):
    environ = environment_of(tmp_path / "new")
    planned = run(environ, "upgrade", "--check")
    assert (planned.exit_code, "There is no catalog" in planned.output) == (3, True)
    assert not (tmp_path / "new").exists()
    assert run(environ, "upgrade").exit_code == 0
    assert read_schema(tmp_path / "new" / "imprint.db") == LATEST
    assert run(environ, "events").exit_code == 0


def test_a_schema_from_a_newer_release_is_refused(first: Installation):
    assert first.upgrade().exit_code == 0
    text = f"INSERT INTO schema_migrations (number, name) VALUES ({LATEST + 1}, 'later')"
    if first.is_file:
        with closing(sqlite3.connect(first.folder / "imprint.db")) as connection:
            connection.execute(text)
            connection.commit()
    else:
        first.rows(text)
    for options in (["--check"], []):
        refused = run(first.environ, "upgrade", *options)
        assert (refused.exit_code, "Run the newer version" in refused.output) == (2, True)


FIRST_RELEASE = Path(__file__).parents[1] / "vectors" / "first_release"
"""An installation created by the first release: drafts, a post, a replaced and a deleted
version."""

MADE_AT = datetime(2026, 11, 18, 2, tzinfo=UTC)
"""A time after the installation was created."""


@pytest.fixture(params=["sqlite", "postgresql"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Installation:
    """Data created by the code of the first release, on SQLite or PostgreSQL."""
    folder, dump = tmp_path / "data", tmp_path / "dump.sql"
    dump.write_text("-- PostgreSQL database dump")
    files = {
        "imprint.sql": folder / "imprint.db",
        "private.sql": folder / "content" / "private" / "small.db",
        "public.sql": folder / "content" / "public" / "small.db",
    }
    for name, path in files.items():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript((FIRST_RELEASE / name).read_text("utf-8"))
    shutil.copy(FIRST_RELEASE / "chain.jsonl", folder)
    address = f"{SQLITE}{folder / 'imprint.db'}"
    if request.param == "postgresql":
        server: Server = request.getfixturevalue("postgresql")
        asyncio.run(server.execute("DROP DATABASE IF EXISTS made WITH (FORCE)"))
        address = asyncio.run(server.create_database("made"))
        asyncio.run(move_records(folder / "imprint.db", address))
        (folder / "imprint.db").unlink()
    return Installation(folder, address, dump)


async def move_records(path: Path, address: str) -> None:
    """Copy the rows of a SQLite file with the first schema to a server, unchanged."""
    connection = await asyncpg.connect(address)
    await postgresql_schema.migrate(connection, known_migrations("postgresql")[:1])
    # A row may be copied before the rows that it refers to.
    await connection.execute("SET session_replication_role = replica")
    with closing(sqlite3.connect(path)) as file:
        listed = "SELECT name FROM sqlite_schema WHERE type = 'table'"
        for (table,) in file.execute(listed).fetchall():
            if table in {"counters", "schema_migrations", "tags"}:
                continue
            cursor = file.execute(f"SELECT * FROM {table}")
            columns = [each[0] for each in cursor.description]
            for row in cursor.fetchall():
                values = ", ".join(f"${number}" for number in range(1, len(row) + 1))
                text = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({values})"
                await connection.execute(text, *row)
        (last,) = file.execute("SELECT value FROM counters WHERE name = 'position'").fetchone()
        await connection.execute(f"SELECT setval('positions', {last})")
    await connection.close()


@pytest.mark.parametrize("at", KILLS)
def test_an_installation_of_the_first_release_survives_a_killed_upgrade(
    made: Installation, at: str
):
    assert made.upgrade_until(at) == failpoints.KILLED
    done = made.upgrade()
    assert done.exit_code == 0, done.output
    asyncio.run(use(made))


async def use(made: Installation) -> None:
    """Read and write the data that the first release left."""
    given = {"DATABASE_URL": made.address}
    async with open_world(made.folder, clock=MovableClock(MADE_AT), **given) as world:
        alice, bob = world.wallet(1), world.wallet(2)
        (tagged,) = (await world.client.get("/filesByTags", params={"tags": "ink"})).json()["files"]
        assert (tagged["hashtags"], tagged["post_id"]) == (["ink", "paper"], "1")
        post = await world.read_post(alice, 1, await world.login(alice))
        assert post.json()["content"] == "A post of Alice."
        for wallet, content in ((alice, "The second draft of Alice."), (bob, "A draft of Bob.")):
            session = await world.login(wallet)
            own = {"owner": wallet.address}
            listed = await world.client.get("/pendingFilesByOwner", params=own, headers=session)
            (draft,) = listed.json()["files"]
            read = await world.read_draft(wallet, draft["cid"])
            assert read.json()["content"] == content
            updated = await world.update(wallet, draft["cid"], "Written by this release.")
            read = await world.read_draft(wallet, updated["cid"])
            assert read.json()["content"] == "Written by this release."
        await world.index()
        assert (await world.client.get("/posts/1")).json()["hosted"] is True
        assert await world.adapters.stores.garbage.recount_usage() == 0
        assert await world.adapters.stores.records.compare_tags() == []
