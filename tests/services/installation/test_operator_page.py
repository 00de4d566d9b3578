"""The formatting of numbers and times on the operator's page."""

from datetime import UTC, datetime, timedelta

import pytest

from imprint.services.installation.operator_page import (
    Fact,
    Mark,
    Panel,
    write_bytes,
    write_count,
    write_duration,
    write_moment,
)
from imprint.web.site.words import page_words

SAY = page_words().text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (1023, "1\N{NO-BREAK SPACE}023 bytes"),
        (1024, "1.0 KiB"),
        (3 * 2**30 // 2, "1.5 GiB"),
        (2**60, "1024.0 PiB"),
    ],
)
def test_a_size_is_shown_in_its_largest_unit(size: int, text: str) -> None:
    assert write_bytes(SAY, size) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 seconds"),
        (-5, "0 seconds"),
        (1, "1 second"),
        (61, "1 minute 1 second"),
        (3600, "1 hour"),
        (3605, "1 hour"),
        (90_061, "1 day 1 hour"),
    ],
)
def test_a_duration_is_shown_in_at_most_two_units(seconds: int, text: str) -> None:
    assert write_duration(SAY, timedelta(seconds=seconds)) == text
    assert write_duration(SAY, seconds) == text


def test_a_count_uses_the_singular_or_plural_noun() -> None:
    written = [write_count(SAY, "panels.blocks", number) for number in (1, 2, 1234)]
    assert written == ["1 block", "2 blocks", "1\N{NO-BREAK SPACE}234 blocks"]


def test_a_time_is_shown_in_utc() -> None:
    assert write_moment(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)) == "2026-01-02 03:04:05 UTC"


def test_the_worst_fact_of_a_panel_determines_its_mark() -> None:
    good, warn = Fact("a", "1", Mark.GOOD), Fact("b", "2", Mark.WARN)
    assert Panel(facts=(good, warn)).mark is Mark.WARN
    assert Panel(facts=(Fact("c", "3"),)).mark is Mark.PLAIN
    assert Panel(problem="it is away").mark is Mark.BAD
