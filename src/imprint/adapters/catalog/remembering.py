"""Remembering: answers of reads that stay true until somebody commits.

Between two commits every reader of the front page gets the same page. SQLite tells cheaply whether
anything was committed, by this process or another one, and until then nothing is read again.
"""

import sqlite3
from collections.abc import Hashable
from typing import Any

MOST = 4096
"""How many answers are kept at once."""


class Memory:
    """Answers as of one version of the database, seen through one connection that never writes."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._version = -1
        self._answers: dict[Hashable, Any] = {}

    def refresh(self) -> int:
        """Forget everything if somebody has committed; the version that is remembered now."""
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        if version != self._version:
            self._answers.clear()
            self._version = version
        return self._version

    def recall(self, key: Hashable, default: object) -> Any:
        """What is remembered under this key."""
        return self._answers.get(key, default)

    def keep(self, version: int, key: Hashable, answer: object) -> None:
        """Remember an answer that was read when `version` or a later one was current.

        Not if the memory has moved on: the answer may be older than that.
        """
        if version != self._version:
            return
        if len(self._answers) >= MOST:
            self._answers.clear()
        self._answers[key] = answer
