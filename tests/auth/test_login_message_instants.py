"""Timestamps are parsed strictly according to RFC 3339."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imprint.auth.login_message import NotAnInstant, parse_instant


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2021-09-30T16:25:24Z", datetime(2021, 9, 30, 16, 25, 24, tzinfo=UTC)),
        ("2021-09-30t16:25:24z", datetime(2021, 9, 30, 16, 25, 24, tzinfo=UTC)),
        ("2021-09-30T16:25:24-02:00", datetime(2021, 9, 30, 18, 25, 24, tzinfo=UTC)),
        ("2021-09-30T16:25:24+05:30", datetime(2021, 9, 30, 10, 55, 24, tzinfo=UTC)),
        ("2021-09-30T16:25:24+00:59", datetime(2021, 9, 30, 15, 26, 24, tzinfo=UTC)),
        ("2021-09-30T16:25:24-00:00", datetime(2021, 9, 30, 16, 25, 24, tzinfo=UTC)),
        ("2021-09-30T16:25:24.5Z", datetime(2021, 9, 30, 16, 25, 24, 500000, tzinfo=UTC)),
        ("2021-09-30T16:25:24.000001Z", datetime(2021, 9, 30, 16, 25, 24, 1, tzinfo=UTC)),
        (
            "2021-09-30T16:25:24.123456789012Z",
            datetime(2021, 9, 30, 16, 25, 24, 123456, tzinfo=UTC),
        ),
        ("2024-02-29T00:00:00Z", datetime(2024, 2, 29, tzinfo=UTC)),
        ("9999-12-31T23:59:59.999999Z", datetime.max.replace(tzinfo=UTC)),
        ("0001-01-01T00:00:00Z", datetime.min.replace(tzinfo=UTC)),
    ],
)
def test_a_valid_timestamp_is_parsed(text: str, moment: datetime) -> None:
    instant = parse_instant(text)
    assert (instant.text, instant.moment) == (text, moment)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2021-09-30",
        "2021-09-30T16:25:24",
        "2021-09-30 16:25:24Z",
        "2021-09-30T16:25Z",
        "20210930T162524Z",
        "2021-W39-4T16:25:24Z",
        "2021-273T16:25:24Z",
        "2021-09-30T16:25:24.Z",
        "2021-09-30T16:25:24,5Z",
        "2021-09-30T16:25:24+0200",
        "2021-09-30T16:25:24+02",
        "2021-09-30T16:25:24+24:00",
        "2021-09-30T16:25:24+02:60",
        "2021-09-30T16:25:24+02:00:00",
        "2021-09-30T16:25:24ZZ",
        "2021-09-30T16:25:24Z\n",
        " 2021-09-30T16:25:24Z",
        "2021-09-30T16:25:60Z",
        "2016-12-31T23:59:60Z",
        "2021-09-30T24:00:00Z",
        "2021-09-30T16:60:24Z",
        "2021-02-29T16:25:24Z",
        "2021-13-01T16:25:24Z",
        "2021-00-01T16:25:24Z",
        "2021-09-00T16:25:24Z",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "12021-09-30T16:25:24Z",
        "-2021-09-30T16:25:24Z",
        "+2021-09-30T16:25:24Z",
        "٢٠٢١-09-30T16:25:24Z",
        "2021\u201109\u201130T16:25:24Z",
        "now",
        "1700000000",
        "Wed Oct 05 2011 16:48:00 GMT+0200 (CEST)",
    ],
)
def test_an_invalid_timestamp_is_refused(text: str) -> None:
    with pytest.raises(NotAnInstant):
        parse_instant(text)


@given(st.datetimes(timezones=st.just(UTC)))
def test_an_isoformat_timestamp_with_a_time_zone_is_parsed(moment: datetime) -> None:
    assert parse_instant(moment.isoformat()).moment == moment


digits = st.from_regex(
    r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})\Z"
)


@given(st.text() | digits)
def test_any_text_is_either_a_timestamp_or_refused(text: str) -> None:
    try:
        instant = parse_instant(text)
    except NotAnInstant:
        return
    assert instant.moment.tzinfo is UTC
