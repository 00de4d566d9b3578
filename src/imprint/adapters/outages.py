"""Tells failures that may pass by themselves from those that somebody has to repair."""

import errno
import sqlite3

_PASSING_STATES = ("08", "25006", "40", "53", "55", "57", "58")
"""SQLSTATEs of PostgreSQL, or their classes: connections, a standby, conflicts, resources, locks,
shutdown and restart, and errors of the system."""

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
"""Primary result codes of SQLite that say nothing about the file itself."""

_DAMAGE_CODES = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
"""Primary result codes of SQLite about the bytes of the file."""

_PRIMARY = 0xFF
"""The bits of a result code of SQLite that are its primary code."""

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
"""Errors of the system about a path or a permission."""


def may_pass(error: BaseException | None) -> bool:
    """Whether what failed with this error may succeed later, with nothing changed.

    Refused connections, timeouts, locks, full disks and I/O errors may; wrong passwords, missing
    permissions, damaged files and invalid addresses do not.
    """
    state = getattr(error, "sqlstate", None)
    if isinstance(state, str):
        return state.startswith(_PASSING_STATES)
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", None)
        return code is not None and code & _PRIMARY in _PASSING_CODES
    if isinstance(error, ValueError):
        # An invalid address, or a certificate that is not trusted, which is an `OSError` too.
        return False
    if isinstance(error, OSError):
        return error.errno not in _LASTING_ERRORS
    return error is not None


def is_damage(error: BaseException | None) -> bool:
    """Whether a file of SQLite is damaged, or is none at all."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & _PRIMARY in _DAMAGE_CODES


def remedy(error: BaseException | None) -> str:
    """What the operator can do about it, as a sentence after the reason; often nothing is known."""
    if is_damage(error):
        return " It is damaged: run imprint repair, or restore a backup."
    return ""


def failure_reason(error: BaseException | None) -> str:
    """Why something failed, in words that quote no value and no address with a password."""
    if isinstance(error, sqlite3.Error):
        return str(error)
    if isinstance(error, OSError) and error.strerror and not isinstance(error, ValueError):
        return error.strerror
    state = getattr(error, "sqlstate", None)
    name = type(error).__name__
    return f"{name} {state}" if state else name
