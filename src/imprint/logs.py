"""Logging: one record, one line, with the id of its request and without any secret."""

import json
import logging
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TextIO

HIDDEN = "[hidden]"
"""What stands in a log line where a secret would have been."""

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}
_SERVER_LOGGERS = ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi")


class _Line(logging.Formatter):
    """What both formats share: the members of a record, cleaned."""

    def __init__(self, secrets: Iterable[str], request_id: Callable[[], str]) -> None:
        super().__init__()
        # The longest first, so that a secret which contains another is hidden as a whole.
        self._secrets = sorted({each for each in secrets if each}, key=len, reverse=True)
        self._request_id = request_id

    def members(self, record: logging.LogRecord) -> dict[str, object]:
        """The record as names and values, in the order in which they are read."""
        moment = datetime.fromtimestamp(record.created, UTC)
        found: dict[str, object] = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "request_id": self._request_id(),
        }
        extra = {name: value for name, value in vars(record).items() if name not in _STANDARD}
        found |= extra
        if record.exc_info:
            found["exception"] = self.formatException(record.exc_info)
        return found

    def hide(self, line: str) -> str:
        """The line without the secrets, as they are written there."""
        for secret in self._secrets:
            line = line.replace(secret, HIDDEN)
            line = line.replace(json.dumps(secret)[1:-1], HIDDEN)
        return line


class JsonLine(_Line):
    """One JSON object a line, for machines."""

    def format(self, record: logging.LogRecord) -> str:
        return self.hide(json.dumps(self.members(record), default=str))


class TextLine(_Line):
    """One line of words, for people."""

    def format(self, record: logging.LogRecord) -> str:
        members = self.members(record)
        time, level, name, message = (str(members.pop(key)) for key in list(members)[:4])
        rest = "".join(f" {key}={value}" for key, value in members.items() if value is not None)
        return _escape(self.hide(f"{time} {level:<7} {name}: {message}{rest}"))


def set_up_logs(
    level: str,
    style: str,
    secrets: Iterable[str] = (),
    request_id: Callable[[], str] = lambda: "-",
    stream: TextIO | None = None,
) -> None:
    """Send every record of the process to `stream` (standard error) as lines of this style.

    The access log of the server is switched off: its lines would carry queries, and every answer
    has a record of its own.
    """
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    line = JsonLine if style == "json" else TextLine
    handler.setFormatter(line(secrets, request_id))
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    for name in _SERVER_LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = name != "uvicorn.access"
        logger.setLevel(logging.WARNING if name == "uvicorn.access" else logging.NOTSET)
    logging.captureWarnings(True)


def _escape(line: str) -> str:
    # Whatever a stranger puts into a request, a record stays on one line and moves no cursor.
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
