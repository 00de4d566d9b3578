"""Logging: one line per record, with its request ID and without secrets."""

import json
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import lru_cache
from queue import SimpleQueue
from typing import Any, TextIO, cast

import msgspec

log = logging.getLogger(__name__)

HIDDEN = "[hidden]"
"""Placeholder for a secret in a log line."""

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}
"""Standard record attributes. Other attributes were passed as `extra` and become fields."""

_encode_any = json.JSONEncoder(default=str).encode
_encode_quickly = msgspec.json.Encoder(enc_hook=str).encode

_SERVER_LOGGERS = ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi")


def configure_logging(
    level: str,
    style: str,
    secrets: Iterable[str] = (),
    request_id: Callable[[], str] = lambda: "-",
    stream: TextIO | None = None,
) -> None:
    """Write all log records to `stream` (standard error) in the style `json` or `text`.

    The server's access log is switched off: its lines would contain query strings, and the
    service logs every response itself.
    """
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    formatter = JsonFormatter if style == "json" else TextFormatter
    handler.setFormatter(formatter(secrets, request_id))
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
    _collect_less()


def _encode(fields: dict[str, object]) -> str:
    """Return the fields as JSON in ASCII.

    msgspec takes a third of the time, but escapes neither DEL nor characters outside ASCII.
    """
    try:
        line = msgspec.json.format(_encode_quickly(fields), indent=0)
    except (ValueError, OverflowError):
        # A lone surrogate, or a number of more than 64 bits.
        return _encode_any(fields)
    is_plain = line.isascii() and b"\x7f" not in line
    return line.decode() if is_plain else _encode_any(fields)


def _collect_less() -> None:
    """Do not look up the caller, thread and process of a record, which no line contains.

    The "Optimization" section of Python's logging how-to describes these switches.
    """
    logging._srcfile = None
    logging.logThreads = False
    logging.logProcesses = False
    logging.logMultiprocessing = False


@lru_cache(maxsize=4)
def _second(timestamp: int) -> str:
    return datetime.fromtimestamp(timestamp, UTC).strftime("%Y-%m-%dT%H:%M:%S")


class _Formatter(logging.Formatter):
    """Turns a record into fields and redacts secrets."""

    def __init__(self, secrets: Iterable[str], request_id: Callable[[], str]) -> None:
        super().__init__()
        given = {each for each in secrets if each}
        spellings = given | {json.dumps(each)[1:-1] for each in given}
        # Longest first, so that a secret that contains another one is hidden completely.
        self._secrets = sorted(spellings, key=len, reverse=True)
        self._request_id = request_id

    def format(self, record: logging.LogRecord) -> str:
        level = record.levelname.lower()
        fields = self.begin(record.created, level, record.name, record.getMessage())
        fields |= {name: value for name, value in vars(record).items() if name not in _STANDARD}
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return self.line(fields)

    def begin(self, created: float, level: str, name: str, message: str) -> dict[str, object]:
        """Return the first fields of a line, in output order."""
        second, milliseconds = divmod(int(created * 1000), 1000)
        return {
            "time": f"{_second(second)}.{milliseconds:03d}Z",
            "level": level,
            "logger": name,
            "message": message,
            "request_id": self._request_id(),
        }

    def line(self, fields: dict[str, object]) -> str:
        """Return the line with these fields, without secrets."""
        raise NotImplementedError

    def hide(self, line: str) -> str:
        """Redact every secret, whether plain or JSON-escaped."""
        for secret in self._secrets:
            if secret in line:
                line = line.replace(secret, HIDDEN)
        return line


class JsonFormatter(_Formatter):
    """Formats each record as one JSON object per line, for machines."""

    def line(self, fields: dict[str, object]) -> str:
        return self.hide(_encode(fields))


class TextFormatter(_Formatter):
    """Formats each record as one line of text, for people."""

    def line(self, fields: dict[str, object]) -> str:
        time, level, name, message = (str(fields.pop(key)) for key in list(fields)[:4])
        rest = "".join(f" {key}={value}" for key, value in fields.items() if value is not None)
        return _escape(self.hide(f"{time} {level:<7} {name}: {message}{rest}"))


def _escape(line: str) -> str:
    # Requests can contain any character, but a record must stay on one line without control codes.
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def log_response(logger: logging.Logger, fields: dict[str, object]) -> None:
    """Log a response, with the message `responded`.

    Every response has a line. In a worker, it is written without a record if no other handler
    needs one, which takes 5 µs instead of 12.
    """
    handlers = logging.getLogger().handlers
    queue = getattr(handlers[0], "stream", None) if len(handlers) == 1 else None
    if not isinstance(queue, LineQueue):
        logger.info("responded", extra=fields)
        return
    formatter = cast(_Formatter, handlers[0].formatter)
    begun = formatter.begin(time.time(), "info", logger.name, "responded")
    queue.write(f"{formatter.line(begun | fields)}\n")


# Writing from a thread

MAX_WAITING_LINES = 10_000
"""Maximum number of lines that wait while nobody reads the log. Further lines are dropped."""

MAX_WRITE = 4096
"""Maximum number of bytes written at once, except for a longer line: Linux writes no more to a
pipe without mixing them with the lines of other workers."""

PAUSE_SECONDS = 0.02
"""Seconds between two writes, in which lines collect."""

LAST_SECONDS = 2.0
"""Seconds that the last lines may take to be written."""


@contextmanager
def writing_in_thread() -> Iterator[None]:
    """Write log lines from a thread until the `with` block exits.

    Requests then share system calls, and do not wait for whoever reads the log.
    """
    queues = [(each, LineQueue(each.stream)) for each in _stream_handlers()]
    for handler, queue in queues:
        handler.setStream(queue)
    try:
        yield
    finally:
        for handler, queue in queues:
            handler.setStream(queue.stream)
            queue.close()


def _stream_handlers() -> list[logging.StreamHandler[Any]]:
    handlers = logging.getLogger().handlers
    return [each for each in handlers if isinstance(each, logging.StreamHandler)]


_END = ""
"""What a closed queue returns after its last line."""


class LineQueue:
    """A stream whose lines a thread writes to another stream."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        # The garbage collector may log a line at any moment, even in `get`, so the queue has no
        # lock that a thread can wait for twice.
        self._lines: SimpleQueue[str] = SimpleQueue()
        self._dropped = 0
        self._thread = threading.Thread(target=self._work, name="log", daemon=True)
        self._thread.start()

    def write(self, line: str) -> None:
        """Queue a line. Drops it if the queue is full."""
        if self._lines.qsize() < MAX_WAITING_LINES:
            self._lines.put(line)
        else:
            self._dropped += 1

    def flush(self) -> None:
        """Do nothing: the thread flushes what it has written."""

    def close(self) -> None:
        """Write the waiting lines, unless that takes longer than `LAST_SECONDS`."""
        self._lines.put(_END)
        self._thread.join(LAST_SECONDS)

    def _work(self) -> None:
        is_open = True
        while is_open:
            lines = [self._lines.get()]
            time.sleep(PAUSE_SECONDS)
            lines += [self._lines.get() for _ in range(self._lines.qsize())]
            is_open = _END not in lines
            if self._dropped:
                # Now, because the queue has room for this line.
                dropped, self._dropped = self._dropped, 0
                log.warning("log lines were dropped", extra={"lines": dropped})
            for batch in _batches(lines):
                # A full disk or a closed pipe takes these lines only.
                with suppress(OSError, ValueError):
                    self.stream.write(batch)
                    self.stream.flush()


def _batches(lines: Iterable[str]) -> Iterator[str]:
    """Join lines to batches of at most `MAX_WRITE` bytes."""
    batch, size = list[str](), 0
    for line in lines:
        length = len(line) if line.isascii() else len(line.encode(errors="replace"))
        if batch and size + length > MAX_WRITE:
            yield "".join(batch)
            batch, size = [], 0
        batch.append(line)
        size += length
    if batch:
        yield "".join(batch)
