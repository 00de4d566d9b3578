"""Machine-readable timestamps."""

from datetime import UTC, datetime, timedelta, timezone

from imprint.domain.formats.instants import format_instant


def test_a_timestamp_is_written_in_utc_to_the_second() -> None:
    assert format_instant(datetime(2026, 11, 3, 9, 30, 0, 999_999, UTC)) == "2026-11-03T09:30:00Z"
    east = timezone(timedelta(hours=2))
    assert format_instant(datetime(2026, 11, 3, 1, 30, tzinfo=east)) == "2026-11-02T23:30:00Z"
