"""Log lines: each record is one line and contains no secret."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from imprint.logs import HIDDEN, configure_logging

log = logging.getLogger("imprint.test")


@pytest.fixture(autouse=True)
def _restored_logging() -> Iterator[None]:
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


def test_the_access_log_of_the_server_is_off_but_its_other_logs_are_on():
    stream = configure()
    logging.getLogger("uvicorn.access").info("GET /x?next_page_token=abc")
    logging.getLogger("uvicorn.error").info("Started")
    assert json.loads(stream.getvalue())["message"] == "Started"


def test_records_below_the_log_level_are_omitted():
    stream = configure()
    log.debug("detail")
    assert stream.getvalue() == ""
