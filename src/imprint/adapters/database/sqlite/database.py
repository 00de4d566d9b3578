"""`Database` in a SQLite file that several processes of one machine may share.

One thread writes. Reads run on the event loop: they walk an index and take microseconds, less than
a switch to a thread and back. A list filtered by several common tags can take longer, so it is
interrupted after a while and run again in a separate thread. Searches have their own thread and are
interrupted as well. Between two commits, no list is read twice.
"""

import asyncio
import logging
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from imprint import failpoints
from imprint.adapters.database.database import Database, ReadFor, find_identity, identify
from imprint.adapters.database.group_commit import CALL_SECONDS, GroupCommit, Job, lower_scheduling
from imprint.adapters.database.schema import (
    expect_schema,
    find_schema,
    is_index_rule,
    known_migrations,
    migrate,
)
from imprint.adapters.database.sqlite.backup import copy_catalog
from imprint.adapters.database.sqlite.connections import (
    CACHE_KILOBYTES,
    Connect,
    OpenedFiles,
    closing_on_error,
    connect_looker,
    connect_reader,
    connect_writer,
)
from imprint.adapters.database.sqlite.log import begin_log, check_log, log_file, read_boot
from imprint.adapters.database.sqlite.rebuild import SMALL_CATALOG, Findings, examine_catalog
from imprint.adapters.database.sqlite.use_lock import UseLock
from imprint.adapters.database.transaction import Row, Rows, Rule, T, Ts, Unstorable, Value
from imprint.adapters.outages import is_damage
from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.errors import CannotStart, Damaged, Problem, Unavailable
from imprint.domain.installation import Access, new_installation_id
from imprint.domain.sessions import Session
from imprint.ports import Monotonic, monotonic
from imprint.ports.damage import Damage
from imprint.traces import timed_call

_log = logging.getLogger(__name__)

_LONG_REACH = 2_000
"""Number of rows that a read may visit without being interruptible, about a millisecond of work."""

_BRIEF = 0.001
"""Seconds of processor time before a read on the event loop is interrupted."""

_LONGEST_SEARCH = 0.5
"""Seconds of processor time before a search is interrupted."""

_CHECKED_EVERY = 400
"""Number of SQLite instructions between checks of the processor time. When reading a list, they
take about ten microseconds. In a full-text query, which runs four instructions per index page, they
take four milliseconds."""

_LARGEST_COMMIT = 256
"""Maximum number of transactions per commit, so that the first does not wait long."""

_CACHE_SIZE = 4096
"""Number of results in the query cache."""

_MISSING = object()
"""The query cache's value for a missing key."""


def open_sqlite(
    path: Path,
    clock: Monotonic = monotonic,
    *,
    is_copy: bool = False,
    access: Access = Access.MIGRATE,
) -> "SqliteDatabase":
    """Open the database in this file.

    Leases use `clock`, which all processes sharing the file must have in common. A copy that no
    other process uses is not locked against a move. A small database is checked for damage.

    Raises the same errors as `expect_schema`, `DamagedLog` if commits would be lost, and
    `BeingMoved` while the catalog is being moved.
    """
    found = read_schema(path)
    if found is not None:
        # Checked before a lock file is created, so that a refusal leaves no new file behind.
        expect_schema(found, known_migrations(), access)
    lock = None if is_copy else UseLock(path, makes_file=access is not Access.READ)
    try:
        database = _open(path, clock, access)
    except BaseException:
        if lock is not None:
            lock.close()
        raise
    database.lock = lock
    return database


def read_schema(path: Path) -> int | None:
    """The schema version of the catalog in this file, 0 if there is none, None if it is unreadable.

    Changes nothing. Raises `DamagedLog` for a log without its database.
    """
    if not path.exists() or not path.stat().st_size:
        check_log(path, None)
        return 0
    try:
        with closing(connect_looker(path)) as connection:
            return find_schema(connection)
    except (sqlite3.Error, OSError):
        # The reason is reported when the file is opened.
        return None


def _open(path: Path, clock: Monotonic, access: Access) -> "SqliteDatabase":
    reads_only = access is Access.READ
    try:
        boot = read_boot()
        is_to_begin = check_log(path, boot)
        connection = connect_looker(path) if reads_only else connect_writer(path)
        with closing_on_error(connection):
            if is_to_begin and not reads_only:
                begin_log(connection, path, boot)
            expect_schema(find_schema(connection), known_migrations(), access)
            if access.creates:
                migrate(connection, known_migrations())
            is_small = path.stat().st_size <= SMALL_CATALOG
            connect = connect_looker if reads_only else connect_reader
            findings = examine_catalog(path, connect=connect) if is_small else Findings()
            database = SqliteDatabase(path, connection, clock=clock, reads_only=reads_only)
        if is_small:
            database.note_findings(findings)
        return database
    except (sqlite3.Error, OSError) as error:
        # Logged as DEBUG only: the caller reports why opening fails, and may retry for hours.
        _log.debug("The catalog cannot be opened: %s", error)
        raise Unavailable.database() from error


_REFUSED = (sqlite3.IntegrityError, sqlite3.DataError, OverflowError, UnicodeEncodeError)
"""Errors caused by a statement's values rather than by the database."""


class SqliteTransaction:
    """`Transaction` on one connection, whose methods never suspend."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        connection.row_factory = sqlite3.Row
        self._connection = connection

    async def fetchone(self, sql: str, /, **values: Value) -> Row | None:
        row: Row | None = self._run(self._connection.execute, sql, values).fetchone()
        return row

    async def fetchall(self, sql: str, /, **values: Value) -> list[Row]:
        return self._run(self._connection.execute, sql, values).fetchall()

    async def execute(self, sql: str, /, **values: Value) -> None:
        self._run(self._connection.execute, sql, values)

    async def executemany(self, sql: str, /, rows: Rows) -> None:
        self._run(self._connection.executemany, sql, rows)

    def _run(self, method: Callable[..., sqlite3.Cursor], *given: object) -> sqlite3.Cursor:
        try:
            return method(*given)
        except _REFUSED as error:
            raise Unstorable(type(error).__name__) from error

    async def lock(self, names: Collection[str]) -> None:
        """Do nothing: SQLite runs one writing transaction at a time."""


def run_rule(tx: SqliteTransaction, rule: Rule[*Ts, T], args: tuple[*Ts]) -> T:
    """Run a rule to completion in this thread. Raises `RuntimeError` if it suspends."""
    running = rule(tx, *args)
    try:
        running.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    running.close()
    raise RuntimeError("A rule may only await its transaction.")


@dataclass(frozen=True, slots=True)
class _Change:
    rule: Rule[*tuple[Any, ...], Any]
    args: tuple[Any, ...]
    durable: bool


class _Spoiled(Exception):
    """A rule failed after changing something in a shared commit."""


class Writer:
    """The writer thread: runs all waiting transactions and commits them with one fsync.

    If a rule fails, only its own changes are undone. Nearly all rules fail before changing
    anything. If a rule fails later, the whole commit is run again with a savepoint around each
    rule. Callers get a result only after the commit. Cancelling a caller does not cancel its
    transaction: once queued, it takes effect or fails as a whole. A transaction that waited too
    long for another process's commit is not run, because its caller has already received an error.
    """

    def __init__(
        self, connection: sqlite3.Connection, files: OpenedFiles, seconds: float = CALL_SECONDS
    ) -> None:
        self._connection = connection
        self._files = files
        self._tx = SqliteTransaction(connection)
        self._commits = GroupCommit[_Change](
            "catalog-writer", self._commit, _LARGEST_COMMIT, Unavailable.database, seconds
        )
        self._closed = False
        self._synchronous: bool | None = None
        self._saved = False
        self.commits = 0

    async def transact(self, rule: Rule[*Ts, T], args: tuple[*Ts], durable: bool) -> T:
        """Run a rule and wait for its commit, and with `durable` also for the disk.

        A non-durable commit becomes durable with the next durable one.
        """
        if self._closed:
            raise Unavailable.database()
        result: T = await self._commits.submit(_Change(rule, args, durable))
        return result

    async def close(self) -> None:
        """Finish the queued transactions and end the thread."""
        self._closed = True
        await self._commits.close()

    def _commit(self, jobs: Sequence[Job[_Change]]) -> None:
        try:
            sound = self._commit_sound(jobs)
            while len(sound) < len(jobs):
                # A transaction that has hit damage cannot continue, not even from a savepoint.
                jobs = sound
                sound = self._commit_sound(jobs) if jobs else jobs
        except Exception as error:  # noqa: BLE001  every caller gets it; the thread must live on
            _log.error("The database refused a commit: %s: %s", type(error).__name__, error)
            with suppress(sqlite3.Error, OSError):
                self._roll_back()
                self._save_log()
            for job in jobs:
                job.error = unavailable(error)

    def _commit_sound(self, jobs: Sequence[Job[_Change]]) -> Sequence[Job[_Change]]:
        """Commit all jobs, or no jobs if one hits a damaged page. Returns the jobs without
        damage."""
        try:
            try:
                self._commit_once(jobs, self._run)
            except _Spoiled:
                self._commit_once(jobs, self._run_in_savepoint)
        except sqlite3.DatabaseError as error:
            sound = [job for job in jobs if not isinstance(job.error, Malformed)]
            if len(sound) == len(jobs):
                raise
            _log.error("A change hit damage in the database: %s", error)
            self._roll_back()
            return sound
        return jobs

    def _commit_once(
        self, jobs: Sequence[Job[_Change]], run: Callable[[Job[_Change]], None]
    ) -> None:
        self._roll_back()
        if self._files.missing is not None:
            self._files.check()
        durable = any(job.work.durable for job in jobs)
        self._synchronize(durable)
        self._connection.execute("BEGIN IMMEDIATE")
        for job in jobs:
            if job.is_overdue:
                job.error = Unavailable.database()
            else:
                run(job)
        failpoints.reach("during_commit")
        self._connection.execute("COMMIT")
        if durable:
            # Writes to a deleted file are lost when this process ends, so nobody may rely on them.
            self._files.check()
        self.commits += 1

    def _save_log(self) -> None:
        """Copy commits that exist only in a deleted log into the database, which is still at its
        path."""
        if self._files.log_is_gone and not self._saved:
            (row,) = self._connection.execute("PRAGMA wal_checkpoint(FULL)").fetchall()
            self._saved = row["busy"] == 0
            if self._saved:
                _log.critical("All commits of the deleted log were moved into the database.")

    def _run(self, job: Job[_Change]) -> None:
        before = self._connection.total_changes
        self._try(job)
        if job.error is not None and self._connection.total_changes != before:
            raise _Spoiled

    def _run_in_savepoint(self, job: Job[_Change]) -> None:
        self._connection.execute("SAVEPOINT one_change")
        self._try(job)
        if job.error is not None:
            self._connection.execute("ROLLBACK TO SAVEPOINT one_change")
        self._connection.execute("RELEASE SAVEPOINT one_change")

    def _try(self, job: Job[_Change]) -> None:
        job.error = None
        try:
            job.result = run_rule(self._tx, job.work.rule, job.work.args)
        except sqlite3.Error as error:
            # The database failed, not the rule: the whole commit fails.
            if is_damage(error):
                # The commit may succeed without this job, because the others may use other pages.
                job.error = unavailable(error)
            raise
        except Problem as problem:
            job.error = problem
        except Unstorable as refused:
            _log.error("The database refused the values of a change.", exc_info=refused)
            job.error = unavailable(refused)
        except Exception as mistake:  # noqa: BLE001  the caller gets it; the thread must live on
            job.error = mistake

    def _synchronize(self, durable: bool) -> None:
        if durable != self._synchronous:
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._synchronous = durable

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")


class QueryCache:
    """Caches results of reads until any process commits.

    `PRAGMA data_version` changes with every commit of another connection, so the connection given
    here must never write.
    """

    def __init__(self, connection: sqlite3.Connection, size: int = _CACHE_SIZE) -> None:
        self._connection = connection
        self._version = -1
        self._is_current = False
        self._results: BoundedCache[Hashable, Any] = BoundedCache(size)

    def refresh(self) -> int:
        """Clear the cache if there was a commit, and return the cache's current version.

        Callers in the same turn of the event loop share a look at the database, because all of
        their requests arrived before it.
        """
        if not self._is_current:
            asyncio.get_running_loop().call_soon(self._expire)
            (version,) = self._connection.execute("PRAGMA data_version").fetchone()
            if version != self._version:
                self._results.clear()
                self._version = version
            self._is_current = True
        return self._version

    def _expire(self) -> None:
        self._is_current = False

    def find(self, key: Hashable, default: object) -> Any:
        """The cached result for this key."""
        return self._results.get(key, default)

    def keep(self, version: int, key: Hashable, result: object) -> None:
        """Cache a result that was read at `version` or later.

        Does nothing if the cache has another version by now, because the result may be older.
        """
        if version == self._version:
            self._results.put(key, result)


class _TooLong(Exception):
    """A read exceeded its processor time."""


class SqliteDatabase(Database):
    """`Database` in SQLite."""

    name = "SQLite"

    def __init__(
        self,
        path: Path,
        writer: sqlite3.Connection,
        long_reach: int = _LONG_REACH,
        clock: Monotonic = monotonic,
        *,
        reads_only: bool = False,
    ) -> None:
        self.lock: UseLock | None = None
        self.damage = Damage()
        self._path = path
        self._clock = clock
        self._files = OpenedFiles(path)
        # Without a log nobody writes, but a service that starts meanwhile would change the file.
        is_unlogged = reads_only and not log_file(path).exists()
        self._unlogged_since = path.stat().st_mtime_ns if is_unlogged else None
        self._connect: Connect = connect_looker if reads_only else connect_reader
        self._writing = writer
        opened = SqliteTransaction(writer)
        if reads_only:
            self.identity = run_rule(opened, find_identity, ())
        else:
            self.identity = run_rule(opened, identify, (new_installation_id(),))
        self._writer = Writer(writer, self._files)
        self._reading = self._connect(path, CACHE_KILOBYTES)
        self._reader = SqliteTransaction(self._reading)
        self._cache = QueryCache(self._reading)
        with closing_on_error(self._reading):
            self._long_reading = self._connect(path, CACHE_KILOBYTES)
        self._long_reader = SqliteTransaction(self._long_reading)
        self._long_reads = ThreadPoolExecutor(1, "catalog-reader")
        with closing_on_error(self._reading), closing_on_error(self._long_reading):
            self._searching = connect_reader(path)
        self._searcher = SqliteTransaction(self._searching)
        self._searches = ThreadPoolExecutor(1, "catalog-search")
        self._long_reach = long_reach
        self._closed = False

    @property
    def commits(self) -> int:
        """Number of commits by this process."""
        return self._writer.commits

    async def close(self) -> None:
        self._closed = True
        await self._writer.close()
        await asyncio.to_thread(self._long_reads.shutdown)
        await asyncio.to_thread(self._searches.shutdown)
        for connection in (self._searching, self._long_reading, self._reading, self._writing):
            connection.close()
        if self.lock is not None:
            self.lock.close()
        if self._unlogged_since not in (None, self._path.stat().st_mtime_ns):
            raise CannotStart(
                "A service that started in the meantime changed the database. Please try again."
            )

    def lease_now(self) -> int:
        return int(self._clock() * 1_000_000)

    async def backup_to(self, path: Path) -> None:
        await asyncio.to_thread(translated, copy_catalog, self._path, path)

    async def transact(
        self, locks: Collection[str], rule: Rule[*Ts, T], *args: *Ts, durable: bool = True
    ) -> T:
        try:
            with timed_call("database", "write"):
                return await self._writer.transact(rule, args, durable)
        except Damaged as damaged:
            self._note(damaged, rule)
            raise

    async def read(self, rule: Rule[*Ts, T], *args: *Ts, reach: int = 0) -> T:
        if self._files.missing is not None:
            raise Unavailable.database()
        try:
            with timed_call("database", "read"):
                if reach <= self._long_reach:
                    return translated(run_rule, self._reader, rule, args)
                try:
                    return translated(_run_within, _BRIEF, self._reading, self._reader, rule, args)
                except _TooLong:
                    longer = partial(run_rule, self._long_reader, rule, args)
                    return await self._read_in_thread(self._long_reads, longer)
        except Damaged as damaged:
            self._note(damaged, rule)
            raise

    async def search(self, rule: Rule[*Ts, T], beyond: Rule[*Ts, T], *args: *Ts) -> T:
        if self._files.missing is not None:
            raise Unavailable.database()
        try:
            with timed_call("database", "read"):
                within = partial(self._search, rule, beyond, args)
                return await self._read_in_thread(self._searches, within)
        except Damaged as damaged:
            self._note(damaged, rule)
            raise

    async def check_files(self) -> None:
        try:
            self._files.check()
        except OSError as error:
            # The writer recovers commits that exist only in a deleted log.
            await self.probe()
            raise Unavailable.database() from error

    async def examine(self) -> list[str]:
        """Check the file for damage and return a few findings. Takes seconds for a large file."""
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1, "catalog-examiner", initializer=lower_scheduling) as thread:
            examine = partial(examine_catalog, self._path, connect=self._connect)
            findings = await loop.run_in_executor(thread, examine)
        self.note_findings(findings)
        return [*findings.records, *findings.index]

    async def warnings(self) -> list[str]:
        if os.access(self._path, os.W_OK) and os.access(self._path.parent, os.W_OK):
            return []
        return [f"This user is not allowed to write to {self._path} and its folder."]

    def note_findings(self, findings: Findings) -> None:
        """Record the findings of an integrity check."""
        self.damage.note_structure(next(iter(findings.records), None))
        self.damage.note_index(next(iter(findings.index), None))

    def _note(self, damaged: Damaged, rule: Callable[..., object] | None = None) -> None:
        if isinstance(damaged, Malformed) and rule is not None and is_index_rule(rule):
            self.damage.note_index(damaged.what)
        elif isinstance(damaged, Malformed):
            self.damage.note_structure(damaged.what)
        else:
            self.damage.note_record(damaged.what)

    async def cached_for(
        self,
        session: Session | None,
        key: Hashable,
        read: ReadFor[T],
        refuse_ended: Rule[Session, None],
    ) -> T:
        version, result = self._find_cached(key)
        # A session that was found live is cached under its id, and no other key has this form.
        if session is not None and self._cache.find(session.id, _MISSING) is not _MISSING:
            session = None
        if result is _MISSING:
            result = await read(session)
            self._cache.keep(version, key, result)
        elif session is not None:
            await self.read(refuse_ended, session)
        if session is not None:
            self._cache.keep(version, session.id, None)
        found: T = result
        return found

    async def cached(self, key: Hashable, read: Callable[[], Awaitable[T]]) -> T:
        version, result = self._find_cached(key)
        if result is _MISSING:
            result = await read()
            self._cache.keep(version, key, result)
        found: T = result
        return found

    def _find_cached(self, key: Hashable) -> tuple[int, Any]:
        """The version of the cache, and its value for a key."""
        if self._files.missing is not None:
            raise Unavailable.database()
        return translated(self._cache.refresh), self._cache.find(key, _MISSING)

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator["_Snapshot"]:
        translated(self._files.check)
        connection = await asyncio.to_thread(
            translated, partial(self._connect, self._path, CACHE_KILOBYTES)
        )
        try:
            # The first read in this transaction fixes the snapshot.
            connection.execute("BEGIN")
            yield _Snapshot(SqliteTransaction(connection))
        except Damaged as damaged:
            self._note(damaged)
            raise
        finally:
            connection.close()

    async def _read_in_thread(self, thread: ThreadPoolExecutor, read: Callable[[], T]) -> T:
        if self._closed:
            raise Unavailable.database()
        return await asyncio.get_running_loop().run_in_executor(thread, translated, read)

    def _search(self, rule: Rule[*Ts, T], beyond: Rule[*Ts, T], args: tuple[*Ts]) -> T:
        try:
            return _run_within(_LONGEST_SEARCH, self._searching, self._searcher, rule, args)
        except _TooLong:
            return run_rule(self._searcher, beyond, args)


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """A separate read transaction that runs in threads, for many or large reads."""

    tx: SqliteTransaction

    async def read(self, rule: Rule[*Ts, T], *args: *Ts) -> T:
        return await asyncio.to_thread(translated, run_rule, self.tx, rule, args)


def _run_within(
    seconds: float,
    connection: sqlite3.Connection,
    tx: SqliteTransaction,
    rule: Rule[*Ts, T],
    args: tuple[*Ts],
) -> T:
    """Run a rule. Raises `_TooLong` after `seconds` of processor time."""
    deadline = time.thread_time() + seconds
    connection.set_progress_handler(lambda: time.thread_time() > deadline, _CHECKED_EVERY)
    try:
        return run_rule(tx, rule, args)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            raise _TooLong from None
        raise
    finally:
        connection.set_progress_handler(None, 0)


class Malformed(Damaged):
    """A database page is damaged, or the file is not a database."""


def translated(action: Callable[[*Ts], T], *args: *Ts) -> T:
    """Run an action. Raises `Unavailable` or `Damaged` for a database error."""
    try:
        return action(*args)
    except FileExistsError:
        raise
    except (sqlite3.Error, OSError, Unstorable) as error:
        _log.error("The database failed: %s", type(error).__name__)
        raise unavailable(error) from error


def unavailable(cause: Exception) -> Unavailable:
    """The error that a caller gets for a database error."""
    problem = Unavailable.database()
    if isinstance(cause, sqlite3.Error):
        code = getattr(cause, "sqlite_errorcode", None)
        if code is None and isinstance(cause, sqlite3.OperationalError):
            # Python's `sqlite3` module raises this error with a message that quotes the text.
            problem = Damaged.record("a text that is not UTF-8")
        elif is_damage(cause):
            problem = Malformed(problem.code, cause.sqlite_errorname)
    problem.__cause__ = cause
    return problem
