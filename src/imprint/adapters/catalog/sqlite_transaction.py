"""Transactions of SQLite: rules run to their end without suspending, in the thread that calls."""

import sqlite3
from collections.abc import Collection, Mapping, Sequence

from imprint.adapters.catalog.transaction import Row, Rule, T, Ts, Unstorable, Value

_REFUSED = (sqlite3.IntegrityError, sqlite3.DataError, OverflowError, UnicodeEncodeError)
"""Errors about the values of a statement, rather than about the database."""


class SqliteTransaction:
    """`Transaction` on one connection; its methods never suspend."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        connection.row_factory = sqlite3.Row
        self._connection = connection

    async def fetchone(self, sql: str, /, **values: Value) -> Row | None:
        try:
            row: Row | None = self._connection.execute(sql, values).fetchone()
        except _REFUSED as error:
            raise Unstorable(type(error).__name__) from error
        return row

    async def fetchall(self, sql: str, /, **values: Value) -> list[Row]:
        try:
            return self._connection.execute(sql, values).fetchall()
        except _REFUSED as error:
            raise Unstorable(type(error).__name__) from error

    async def execute(self, sql: str, /, **values: Value) -> None:
        try:
            self._connection.execute(sql, values)
        except _REFUSED as error:
            raise Unstorable(type(error).__name__) from error

    async def executemany(self, sql: str, /, rows: Sequence[Mapping[str, Value]]) -> None:
        try:
            self._connection.executemany(sql, rows)
        except _REFUSED as error:
            raise Unstorable(type(error).__name__) from error

    async def lock(self, names: Collection[str]) -> None:
        """Do nothing: SQLite runs one writing transaction at a time."""


def run_rule(tx: SqliteTransaction, rule: Rule[*Ts, T], args: tuple[*Ts]) -> T:
    """Run a rule to its end, in this thread. Raises `RuntimeError` if it suspends."""
    running = rule(tx, *args)
    try:
        running.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    running.close()
    raise RuntimeError("A rule of the catalog may await nothing but its transaction.")
