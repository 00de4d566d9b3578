"""Errors of SQLite, translated into those of the service."""

import logging
import sqlite3
from collections.abc import Callable

from imprint.adapters.catalog.transaction import T, Ts, Unstorable
from imprint.adapters.outages import is_damage
from imprint.domain.errors import Damaged, Unavailable

_log = logging.getLogger(__name__)


class Malformed(Damaged):
    """A page of the database is damaged, or the file is no database at all."""


def translated(action: Callable[[*Ts], T], *args: *Ts) -> T:
    """Run an action. Raises `Unavailable`, or `Damaged`, for an error of the database."""
    try:
        return action(*args)
    except FileExistsError:
        raise
    except (sqlite3.Error, OSError, Unstorable) as error:
        _log.error("The database failed: %s", type(error).__name__)
        raise unavailable(error) from error


def unavailable(cause: Exception) -> Unavailable:
    """The error that a caller gets for an error of the database."""
    problem = Unavailable.database()
    if isinstance(cause, sqlite3.Error):
        code = getattr(cause, "sqlite_errorcode", None)
        if code is None and isinstance(cause, sqlite3.OperationalError):
            # Raised by Python's module, which quotes the text.
            problem = Damaged.record("a text that is not UTF-8")
        elif is_damage(cause):
            problem = Malformed(problem.code, cause.sqlite_errorname)
    problem.__cause__ = cause
    return problem
