"""Log lines: each record is one line and contains no secret."""

import io
import json
import logging
import threading
from collections.abc import Iterator
from types import FrameType

import pytest

from imprint.logs import (
    HIDDEN,
    MAX_WAITING_LINES,
    MAX_WRITE,
    LineQueue,
    configure_logging,
    log_response,
    writing_in_thread,
)

log = logging.getLogger("imprint.test")


@pytest.fixture(autouse=True)
def _restored_logging(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("imprint.logs.LAST_SECONDS", 60)
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(False)


def configure(style: str = "json", *secrets: str) -> io.StringIO:
    stream = io.StringIO()
    configure_logging("info", style, secrets, lambda: "request-1", stream)
    return stream


def test_a_record_is_one_json_object_with_its_request_id():
    stream = configure()
    log.info("responded", extra={"status": 200})
    record = json.loads(stream.getvalue())
    assert record.pop("time").endswith("Z")
    assert record == {
        "level": "info",
        "logger": "imprint.test",
        "message": "responded",
        "request_id": "request-1",
        "status": 200,
    }


@pytest.mark.parametrize("style", ["json", "text"])
def test_a_record_stays_on_one_line_whatever_it_contains(style: str):
    stream = configure(style)
    try:
        raise ValueError("two\nlines\u2028and\x1b[2J")
    except ValueError:
        log.exception("path %s", "/a\r\nforged", extra={"path": "/x\nforged"})
    written = stream.getvalue()
    assert written.endswith("\n")
    assert len(written.splitlines()) == 1
    assert "\x1b" not in written


def test_the_fields_of_a_json_line_are_ascii():
    stream = configure()
    values = ["é", "\x7f", "\ud800", 2**70, -1.5, None, {"a": [1]}, ValueError("a")]
    log.info("all", extra={"values": values})
    assert stream.getvalue().rstrip("\n").isprintable()
    assert stream.getvalue().isascii()
    assert json.loads(stream.getvalue())["values"] == [*values[:-1], "a"]


@pytest.mark.parametrize("style", ["json", "text"])
def test_a_secret_is_redacted_in_messages_and_fields(style: str):
    stream = configure(style, 'ab"cdefgh')
    log.info('said ab"cdefgh', extra={"header": 'x ab"cdefgh'})
    assert "cdefgh" not in stream.getvalue()
    assert stream.getvalue().count(HIDDEN) == 2


def test_a_text_line_has_the_message_followed_by_the_fields_that_are_set():
    stream = configure("text")
    log.warning("slow", extra={"code": None, "path": "/healthz"})
    assert stream.getvalue().split(" ", 1)[1] == (
        "warning imprint.test: slow request_id=request-1 path=/healthz\n"
    )


FIELDS = {"path": '/a\u2028"b', "status": 200, "code": None, "client": "s3cret-value"}


@pytest.mark.parametrize("style", ["json", "text"])
def test_the_line_of_a_response_is_that_of_its_record(
    style: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time", lambda: 1_760_000_000.25)
    # From Python 3.13 on, records read this clock.
    monkeypatch.setattr("time.time_ns", lambda: 1_760_000_000_250_000_000)
    stream = configure(style, "s3cret-value")
    with writing_in_thread():
        log_response(log, FIELDS)
        log.info("responded", extra=FIELDS)
    short, usual = stream.getvalue().splitlines()
    assert short == usual
    assert "2025-10-09T08:53:20.250Z" in short
    assert HIDDEN in short


def test_other_handlers_receive_the_record_of_a_response() -> None:
    stream, records = configure(), list[logging.LogRecord]()
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[assignment,method-assign]
    logging.getLogger().addHandler(handler)
    with writing_in_thread():
        log_response(log, {"status": 200})
    assert [vars(each)["status"] for each in records] == [200]
    assert json.loads(stream.getvalue())["status"] == 200


def test_the_access_log_of_the_server_is_off_but_its_other_logs_are_on():
    stream = configure()
    logging.getLogger("uvicorn.access").info("GET /x?next_page_token=abc")
    logging.getLogger("uvicorn.error").info("Started")
    assert json.loads(stream.getvalue())["message"] == "Started"


def test_records_below_the_log_level_are_omitted():
    stream = configure()
    log.debug("detail")
    assert stream.getvalue() == ""


class Pipe(io.StringIO):
    """A log that its reader reads only when it is `open`. The first `failing` writes fail."""

    def __init__(self, *, is_open: bool = True, failing: int = 0) -> None:
        super().__init__()
        self.open = threading.Event()
        self.reached = threading.Event()
        self.writes: list[str] = []
        self.failing = failing
        if is_open:
            self.open.set()

    def write(self, text: str) -> int:
        self.reached.set()
        self.open.wait()
        if self.failing:
            self.failing -= 1
            raise OSError("the disk is full")
        self.writes.append(text)
        return len(text)


def test_lines_written_in_a_thread_keep_their_order_and_are_complete_at_the_end():
    stream = configure()
    with writing_in_thread():
        for number in range(500):
            log.info("line", extra={"number": number})
    log.info("line", extra={"number": 500})
    written = [json.loads(line)["number"] for line in stream.getvalue().splitlines()]
    assert written == list(range(501))


def test_a_log_that_nobody_reads_blocks_no_caller_and_loses_only_counted_lines():
    pipe = Pipe(is_open=False)
    configure_logging("info", "json", (), lambda: "-", pipe)
    with writing_in_thread():
        log.info("first")
        assert pipe.reached.wait(30)
        for _ in range(MAX_WAITING_LINES + 7):
            log.info("waiting")
        pipe.open.set()
    records = [json.loads(line) for line in "".join(pipe.writes).splitlines()]
    assert [each["lines"] for each in records if "dropped" in each["message"]] == [7]
    assert sum(each["message"] == "waiting" for each in records) == MAX_WAITING_LINES


def test_the_thread_that_writes_the_log_may_itself_log_while_it_waits() -> None:
    # The garbage collector runs in any thread at any moment, and finalizers log. A task does so if
    # nobody has read its exception. Here, the thread logs a line when it waits for lines.
    stream, waits = configure(), 0

    def log_line(frame: FrameType, event: str, argument: object) -> None:
        nonlocal waits
        if event == "call" and frame.f_code is threading.Condition.wait.__code__:
            is_waiting = frame.f_locals["timeout"] is None
        else:
            is_waiting = event == "c_call" and getattr(argument, "__name__", "") == "get"
        if is_waiting and waits < 10:
            waits += 1
            log.error("never read")

    threading.setprofile(log_line)
    try:
        with writing_in_thread():
            threading.setprofile(None)
            log.info("first")
    finally:
        threading.setprofile(None)
    messages = [json.loads(each)["message"] for each in stream.getvalue().splitlines()]
    assert messages.count("first") == 1
    assert messages.count("never read") == waits > 0


def test_lines_after_a_failed_write_are_written():
    pipe = Pipe(is_open=False, failing=1)
    queue = LineQueue(pipe)
    queue.write("lost\n")
    assert pipe.reached.wait(30)
    queue.write("kept\n")
    pipe.open.set()
    queue.close()
    assert pipe.writes == ["kept\n"]


def test_a_write_has_whole_lines_and_at_most_as_many_bytes_as_a_pipe_keeps_together():
    pipe = Pipe(is_open=False)
    queue = LineQueue(pipe)
    lines = [f"{'ä' * (number % 900)}\n" for number in range(300)]
    lines[7] = "x" * (MAX_WRITE + 1) + "\n"
    for line in lines:
        queue.write(line)
    pipe.open.set()
    queue.close()
    assert "".join(pipe.writes) == "".join(lines)
    assert all(each.endswith("\n") for each in pipe.writes)
    long = [each for each in pipe.writes if len(each.encode()) > MAX_WRITE]
    assert long == [lines[7]]
    assert len(pipe.writes) < len(lines) / 2
