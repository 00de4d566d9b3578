"""Temporary failures, and permanent ones that need to be repaired."""

import errno
import socket
import sqlite3
import ssl
from pathlib import Path

import asyncpg
import pytest

from imprint.adapters.outages import failure_reason, may_pass, remedy


def _locked(folder: Path) -> sqlite3.Error:
    path = folder / "locked.db"
    with sqlite3.connect(path, isolation_level=None) as holder:
        holder.execute("CREATE TABLE t (x)")
        holder.execute("BEGIN EXCLUSIVE")
        other = sqlite3.connect(path, timeout=0)
        with pytest.raises(sqlite3.OperationalError) as raised:
            other.execute("SELECT * FROM t")
        other.close()
        holder.execute("ROLLBACK")
    holder.close()
    return raised.value


def _damaged(folder: Path) -> sqlite3.Error:
    path = folder / "damaged.db"
    path.write_bytes(b"This is no database." * 500)
    connection = sqlite3.connect(path)
    with pytest.raises(sqlite3.DatabaseError) as raised:
        connection.execute("SELECT * FROM t")
    connection.close()
    return raised.value


def test_a_locked_file_is_a_temporary_failure_and_a_damaged_one_is_not(tmp_path: Path) -> None:
    assert may_pass(_locked(tmp_path))
    assert not may_pass(_damaged(tmp_path))


PASSING = [
    ConnectionRefusedError(errno.ECONNREFUSED, "refused"),
    FileNotFoundError(errno.ENOENT, "the socket of a server that does not run"),
    OSError(errno.ENOSPC, "full"),
    OSError(errno.EIO, "broken"),
    TimeoutError(),
    asyncpg.CannotConnectNowError("starting up"),
    asyncpg.TooManyConnectionsError("too many"),
    asyncpg.DiskFullError("full"),
    asyncpg.ReadOnlySQLTransactionError("a standby"),
    asyncpg.ConnectionDoesNotExistError("gone"),
    asyncpg.InterfaceError("closed"),
]
LASTING = [
    PermissionError(errno.EACCES, "not allowed"),
    NotADirectoryError(errno.ENOTDIR, "a file"),
    OSError(errno.EROFS, "read only"),
    ssl.SSLCertVerificationError(1, "unknown authority"),
    ValueError("an invalid address"),
    asyncpg.InvalidPasswordError("wrong"),
    asyncpg.InvalidCatalogNameError("no such database"),
    asyncpg.InsufficientPrivilegeError("not allowed"),
    asyncpg.ClientConfigurationError("wrong"),
    None,
]


@pytest.mark.parametrize("error", PASSING, ids=lambda error: type(error).__name__)
def test_temporary_failures_are_classified_as_such(error: Exception) -> None:
    assert may_pass(error)


@pytest.mark.parametrize("error", LASTING, ids=lambda error: type(error).__name__)
def test_permanent_failures_are_classified_as_such(error: Exception | None) -> None:
    assert not may_pass(error)


def test_a_failure_reason_does_not_quote_the_server() -> None:
    assert failure_reason(asyncpg.InvalidPasswordError("for user alice")) == (
        "the server refuses the user or the password"
    )
    assert failure_reason(asyncpg.UndefinedTableError("of alice")) == "UndefinedTableError 42P01"
    assert failure_reason(OSError(errno.EIO, "Input/output error")) == "Input/output error"


@pytest.mark.parametrize(
    ("error", "reason", "helps"),
    [
        (asyncpg.InvalidPasswordError(""), "refuses the user or the password", True),
        (
            asyncpg.InvalidAuthorizationSpecificationError(""),
            "does not allow this user to connect",
            True,
        ),
        (asyncpg.InvalidCatalogNameError(""), "no database of this name", True),
        (asyncpg.InsufficientPrivilegeError(""), "lacks a permission", True),
        (asyncpg.TooManyConnectionsError(""), "no connections left", True),
        (asyncpg.CannotConnectNowError(""), "starting or stopping", False),
        (ConnectionRefusedError(errno.ECONNREFUSED, "no"), "no server accepts connections", True),
        (socket.gaierror(socket.EAI_NONAME, "no"), "its host name is unknown", True),
        (TimeoutError(), "does not respond in time", False),
        (ConnectionError("the server at x rejected SSL upgrade"), "does not support TLS", True),
        (ssl.SSLError("no"), "TLS fails", True),
        (asyncpg.exceptions.TargetServerAttributeNotMatched(""), "is a standby", True),
        (asyncpg.exceptions.ClientConfigurationError("x"), "address is malformed", False),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, Exception) else "",
)
def test_the_reason_for_a_failed_connection_is_readable(
    error: Exception, reason: str, helps: bool
) -> None:
    assert reason in failure_reason(error)
    assert bool(remedy(error)) is helps


def test_a_server_without_tls_is_a_permanent_failure() -> None:
    assert not may_pass(ConnectionError("the server at x rejected SSL upgrade"))
