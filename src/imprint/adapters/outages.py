"""Distinguishes transient failures from those that need repair."""

import errno
import socket
import sqlite3
import ssl
from typing import NamedTuple

_PASSING_STATES = ("08", "25006", "40", "53", "55", "57", "58")
"""PostgreSQL SQLSTATEs, or their classes, of transient failures: connections, a standby, conflicts,
resources, locks, shutdown and restart, and system errors."""

_PASSING_CODES = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_PROTOCOL,
    }
)
"""SQLite's primary result codes that do not indicate a bad file."""

_DAMAGE_CODES = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
"""SQLite's primary result codes that indicate a bad file."""

_PRIMARY = 0xFF
"""Mask for the primary code of a SQLite result code."""

_LASTING_ERRORS = frozenset(
    {
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.EEXIST,
        errno.EISDIR,
        errno.ENOTDIR,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.EINVAL,
    }
)
"""Operating system errors caused by a bad path or missing permissions."""

_URL = "IMPRINT_DATABASE_URL"


class _Failure(NamedTuple):
    """The reason why a database connection fails, and what to do about it."""

    reason: str
    remedy: str = ""


_FAILURES_BY_STATE = {
    "28P01": _Failure("the server refuses the user or the password", f"Correct them in {_URL}."),
    "28000": _Failure(
        "the server does not allow this user to connect",
        f"Check the user in {_URL} and pg_hba.conf on the server.",
    ),
    "3D000": _Failure(
        "the server has no database of this name", f"Create it, or correct its name in {_URL}."
    ),
    "42501": _Failure(
        "the user lacks a permission",
        "Whoever creates or migrates the tables must own them: see docs/postgresql.md.",
    ),
    "53300": _Failure(
        "the server has no connections left",
        "Raise its max_connections, or lower IMPRINT_DATABASE_CONNECTIONS.",
    ),
    "57P03": _Failure("the server is starting or stopping"),
}
"""Explanations of PostgreSQL server errors, by SQLSTATE."""

_STANDBY = _Failure(
    "the server is a standby, which accepts no writes",
    f"Name the primary in {_URL}, or all servers of the cluster.",
)

_NO_TLS = _Failure(
    "the server does not support TLS",
    f"Switch it on there, or correct sslmode in {_URL}.",
)

_FAILURES_BY_TYPE: tuple[tuple[type[BaseException], _Failure], ...] = (
    (ssl.SSLError, _Failure("TLS fails", f"Check sslmode and the certificates in {_URL}.")),
    (
        socket.gaierror,
        _Failure("its host name is unknown", f"Correct the host in {_URL}."),
    ),
    (
        ConnectionRefusedError,
        _Failure(
            "no server accepts connections there",
            f"Start it, or correct the host and port in {_URL}.",
        ),
    ),
    (TimeoutError, _Failure("the server does not respond in time")),
    (ValueError, _Failure("its address is malformed")),
)
"""Explanations of connection errors. The first matching type counts."""


def may_pass(error: BaseException | None) -> bool:
    """Whether an operation that failed with this error may succeed later without a repair.

    Returns True for refused connections, timeouts, locks, full disks and I/O errors, but not for
    wrong passwords, missing permissions, damaged files and invalid addresses.
    """
    state = getattr(error, "sqlstate", None)
    if isinstance(state, str):
        return state.startswith(_PASSING_STATES)
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", None)
        return code is not None and code & _PRIMARY in _PASSING_CODES
    if isinstance(error, ValueError) or _lacks_tls(error):
        # An invalid address, or a certificate that is not trusted, which is an `OSError` too.
        return False
    if isinstance(error, OSError):
        return error.errno not in _LASTING_ERRORS
    return error is not None


def is_damage(error: BaseException | None) -> bool:
    """Whether the error means that a SQLite file is damaged or is not a SQLite file at all."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & _PRIMARY in _DAMAGE_CODES


def remedy(error: BaseException | None) -> str:
    """Advice to the operator about the error: a sentence to follow the reason, often empty."""
    if is_damage(error):
        return " It is damaged: run imprint repair, or restore a backup."
    known = _known_failure(error)
    return f" {known.remedy}" if known is not None and known.remedy else ""


def failure_reason(error: BaseException | None) -> str:
    """Describe an error without quoting values or an address with a password."""
    if isinstance(error, sqlite3.Error):
        return str(error)
    known = _known_failure(error)
    if known is not None:
        return known.reason
    if isinstance(error, OSError) and error.strerror and not isinstance(error, ValueError):
        return error.strerror
    state = getattr(error, "sqlstate", None)
    name = type(error).__name__
    return f"{name} {state}" if state else name


def _known_failure(error: BaseException | None) -> _Failure | None:
    state = getattr(error, "sqlstate", None)
    if isinstance(state, str):
        return _FAILURES_BY_STATE.get(state)
    if _lacks_tls(error):
        return _NO_TLS
    if type(error).__name__ == "TargetServerAttributeNotMatched":
        # The driver is not always installed, so its classes are matched by name.
        return _STANDBY
    if isinstance(error, ssl.SSLCertVerificationError):
        return _Failure(
            f"the certificate of the server is not trusted ({error.verify_message})",
            "Name the certificate of its authority with sslrootcert in IMPRINT_DATABASE_URL.",
        )
    return next((found for kind, found in _FAILURES_BY_TYPE if isinstance(error, kind)), None)


def _lacks_tls(error: BaseException | None) -> bool:
    # The driver has no class for this error.
    return isinstance(error, ConnectionError) and "rejected SSL" in str(error)
