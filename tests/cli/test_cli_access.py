"""Read-only commands change nothing, and only a few others may change an older schema."""

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, closing, nullcontext
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from tests.cli.installations import environment_beside, environment_of, fill_folder, run
from tests.postgresql import Server, keeping_records_on, records_of
from tests.processes import free_port
from tests.world import World, open_world

from imprint.adapters.database import schema
from imprint.adapters.database.postgresql import schema as postgresql_schema
from imprint.adapters.database.schema import known_migrations
from imprint.cli import COMMANDS

LOOKING = {
    "check": ["check"],
    "check --deep": ["check", "--deep"],
    "completion": ["completion", "bash"],
    "contract": ["contract"],
    "deploy": ["deploy", "--rpc-url", "http://127.0.0.1:1", "--from", "0x" + "11" * 20],
    "erase --dry-run": ["erase", "0x" + "11" * 20, "--dry-run"],
    "events": ["events"],
    "gc --dry-run": ["gc", "--dry-run"],
    "moderate log": ["moderate", "log"],
    "moderate reports": ["moderate", "reports"],
    "repair --dry-run": ["repair", "--dry-run"],
    "site": ["site", "preview", "--once"],
    "upgrade --check": ["upgrade", "--check"],
    "verify": ["verify", "{export}"],
}
"""Commands that only read, or do not use an installation."""

BESIDE_SERVICES = [name for name in LOOKING if name != "repair --dry-run"]

WRITING = {
    "adopt": ["adopt", "--yes"],
    "backup": ["backup", "--out", "{out}"],
    "erase": ["erase", "0x" + "11" * 20, "--yes"],
    "export": ["export", "--out", "{out}"],
    "export-site": ["export-site", "--output", "{out}", "--base-url", "https://a.example"],
    "gc --really": ["gc", "--really"],
    "import": ["import", "{export}"],
    "import-pinata": ["import-pinata"],
    "migrate-catalog": ["migrate-catalog", "--from", "{catalog}", "--to", "{target}"],
    "migrate-content": ["migrate-content", "--to", "embedded:{out}"],
    "moderate": ["moderate", "unlist", "author", "0x" + "11" * 20],
    "reconcile": ["reconcile", "--from-block", "0"],
    "repair": ["repair"],
    "rotate-key": ["rotate-key"],
}
"""Commands that need records and an up-to-date schema."""

MIGRATING = {
    "dev": ["dev", "--port", "{port}", "--rpc-port", "{rpc}", "--data-dir", "{folder}"],
    "restore": ["restore", "{backup}", "--to", "{out}"],
    "serve": ["serve", "--port", "{port}"],
    "upgrade": ["upgrade"],
}
"""Commands that may change the schema."""

WITHOUT_CATALOG = ("check", "completion", "contract", "deploy", "restore", "site", "verify")
"""Commands that need no catalog."""

DATABASES = ("sqlite", "postgresql")

_ALL = "SELECT t::text FROM {} t"


@dataclass(frozen=True, slots=True)
class Place:
    """An installation: its folder, its settings, and its database server, if any."""

    folder: Path
    environ: dict[str, str]
    server: Server | None = None

    def digest(self) -> dict[str, Any]:
        """Return the checksums of all files and the content of all rows."""
        files = {
            str(path.relative_to(self.folder)): sha256(path.read_bytes()).hexdigest()
            for path in sorted(self.folder.rglob("*"))
            if path.is_file()
        }
        return files | asyncio.run(self._rows())

    async def _columns(self) -> list[tuple[Any, ...]]:
        async with self._connect() as connection:
            columns = (
                "SELECT table_name, column_name FROM information_schema.columns"
                " WHERE table_schema = 'public' ORDER BY 1, 2"
            )
            return [tuple(row) for row in await connection.fetch(columns)]

    async def _rows(self) -> dict[str, Any]:
        if self.server is None:
            return {}
        tables = {str(table) for table, _ in await self._columns()}
        async with self._connect() as connection:
            return {
                table: [
                    str(row) for row in await connection.fetch(f"SELECT t::text FROM {table} t")
                ]
                for table in sorted(tables)
            }

    @asynccontextmanager
    async def _connect(self) -> AsyncIterator[Any]:
        connection = await asyncpg.connect(self.environ["IMPRINT_DATABASE_URL"])
        try:
            yield connection
        finally:
            await connection.close()


@pytest.fixture(params=DATABASES)
def server(request: pytest.FixtureRequest) -> Server | None:
    """The database server that holds the records, or None if they are in the folder."""
    found: Server | None = None
    if request.param == "postgresql":
        found = request.getfixturevalue("postgresql")
    return found


def keeping_on(server: Server | None) -> AbstractContextManager[None]:
    return nullcontext() if server is None else keeping_records_on(server)


@pytest.fixture
def place(filled: Path, tmp_path: Path, server: Server | None) -> Iterator[Place]:
    """An installation with three files and a stopped service."""
    folder = tmp_path / "here"
    if server is None:
        shutil.copytree(filled, folder)
        yield Place(folder, environment_of(folder))
        return
    with keeping_records_on(server):
        asyncio.run(fill_folder(folder))
        yield Place(folder, environment_of(folder) | asyncio.run(records_of(folder)), server)
    asyncio.run(server.drop_copies())


@pytest.fixture(scope="session")
def saved(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Paths of a backup and an export, by their placeholders in the lists above."""
    folder = tmp_path_factory.mktemp("saved")
    copy = shutil.copytree(filled, folder / "copy")
    assert run(environment_of(copy), "backup", "--out", folder / "all.tar").exit_code == 0
    assert run(environment_of(copy), "export", "--out", folder / "all.car").exit_code == 0
    return {"backup": str(folder / "all.tar"), "export": str(folder / "all.car")}


def words_of(line: list[str], place: Place, saved: dict[str, str]) -> list[str]:
    values = saved | {
        "out": str(place.folder.parent / "out"),
        "folder": str(place.folder),
        "catalog": f"sqlite:///{place.folder / 'imprint.db'}",
        "target": "postgresql://127.0.0.1:1/nowhere",
        "port": str(free_port()),
        "rpc": str(free_port()),
    }
    return [word.format(**values) for word in line]


def put_older_catalog(place: Place) -> None:
    """Replace the catalog with an empty one that has the first schema."""
    if place.server is not None:
        asyncio.run(_put_older_tables(place.environ["IMPRINT_DATABASE_URL"]))
        return
    (place.folder / "imprint.db").unlink()
    with closing(sqlite3.connect(place.folder / "imprint.db", isolation_level=None)) as file:
        schema.migrate(file, known_migrations()[:1])


async def _put_older_tables(address: str) -> None:
    connection = await asyncpg.connect(address)
    try:
        await connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        await postgresql_schema.migrate(connection, known_migrations("postgresql")[:1])
    finally:
        await connection.close()


async def _drop_tables(address: str) -> None:
    connection = await asyncpg.connect(address)
    try:
        await connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    finally:
        await connection.close()


def test_every_command_is_listed_as_reading_writing_or_migrating():
    listed = {line[0] for lines in (LOOKING, WRITING, MIGRATING) for line in lines.values()}
    assert listed == set(COMMANDS)


@pytest.mark.parametrize("name", LOOKING)
def test_a_read_only_command_changes_nothing(place: Place, saved, name: str):
    before = place.digest()
    result = run(place.environ, *words_of(LOOKING[name], place, saved))
    assert result.exit_code in (0, 1), result.output
    assert place.digest() == before


@pytest.mark.parametrize("name", LOOKING)
def test_a_read_only_command_keeps_the_log_of_a_killed_service(tmp_path: Path, saved, name: str):
    place = Place(tmp_path / "killed", environment_of(tmp_path / "killed"))
    asyncio.run(_leave_log(tmp_path / "running", place.folder))
    assert (place.folder / "imprint.db-wal").stat().st_size > 0
    before = place.digest()
    result = run(place.environ, *words_of(LOOKING[name], place, saved))
    assert result.exit_code in (0, 1), result.output
    if name == "check --deep":
        # The log alone has it.
        assert "1 records and their documents are intact" in result.output
    assert place.digest() == before


async def _leave_log(running: Path, killed: Path) -> None:
    async with open_world(running) as world:
        await world.create(world.wallet(1), "Words.")
        shutil.copytree(running, killed)


@pytest.mark.parametrize("name", BESIDE_SERVICES)
async def test_a_read_only_command_changes_nothing_while_a_service_runs(
    world: World, saved, name: str
):
    await world.create(world.wallet(1), "Words.")
    folder = world.settings.storage.data_dir
    place = Place(folder, environment_beside(world))
    before = await asyncio.to_thread(place.digest)
    done = await asyncio.to_thread(run_process, place, words_of(LOOKING[name], place, saved))
    assert done.returncode in (0, 1), done.stderr
    assert await asyncio.to_thread(place.digest) == before


def run_process(place: Place, words: list[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "imprint", *words],
        env={**os.environ, **place.environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("name", [*LOOKING, *WRITING])
def test_an_older_schema_is_kept_and_a_message_names_the_upgrade_command(
    place: Place, saved, name: str
):
    if name == "migrate-catalog" and place.server is not None:
        pytest.skip("The source is in a file.")
    put_older_catalog(place)
    before = place.digest()
    line = {**LOOKING, **WRITING}[name]
    result = run(place.environ, *words_of(line, place, saved))
    assert place.digest() == before
    reads_copy = name == "repair --dry-run" and place.server is None
    if line[0] in WITHOUT_CATALOG or reads_copy:
        assert result.exit_code in (0, 1), result.output
        return
    assert result.exit_code == 3, result.output
    if name != "upgrade --check":
        latest = known_migrations()[-1].number
        assert f"The database has schema 1, but this version of Imprint needs {latest}. Run" in (
            result.output
        )
        assert "`imprint upgrade`" in result.output


def test_check_warns_about_an_older_schema(place: Place):
    put_older_catalog(place)
    result = run(place.environ, "check")
    assert "! database" in result.output
    assert "The service upgrades it when it starts." in " ".join(result.output.split())


@pytest.mark.parametrize("name", [*LOOKING, *WRITING, *MIGRATING])
def test_no_command_creates_a_catalog_for_existing_documents(place: Place, saved, name: str):
    line = {**LOOKING, **WRITING, **MIGRATING}[name]
    if place.server is not None:
        if line[0] in ("dev", "migrate-catalog"):
            pytest.skip("The catalog of this command is in a file.")
        asyncio.run(_drop_tables(place.environ["IMPRINT_DATABASE_URL"]))
    else:
        (place.folder / "imprint.db").unlink()
    before = place.digest()
    words = words_of(line, place, saved)
    if line[0] in ("dev", "serve"):
        done = run_process(place, words)
        status, output = done.returncode, done.stderr
    else:
        result = run(place.environ, *words)
        status, output = result.exit_code, result.output
    found = place.digest()
    found.pop("imprint.db-lock", None)
    before.pop("imprint.db-lock", None)
    assert found == before
    if line[0] in WITHOUT_CATALOG and line[0] != "check":
        return
    if place.server is None and line[0] in ("repair", "migrate-catalog"):
        # These commands have their own message for a missing catalog.
        assert status != 0
        return
    assert status == (1 if line[0] == "check" else 2), output
    said = " ".join(output.split())
    assert "There is no catalog at" in said
    assert ("imprint repair --backup" if place.server is None else "restore the dump") in said


@pytest.mark.parametrize("name", [name for name in LOOKING if name.split()[0] != "upgrade"])
def test_a_read_only_command_creates_no_folder(tmp_path: Path, saved, name: str):
    place = Place(tmp_path / "new", environment_of(tmp_path / "new"))
    result = run(place.environ, *words_of(LOOKING[name], place, saved))
    assert result.exit_code in (0, 1, 2), result.output
    assert not place.folder.exists()
