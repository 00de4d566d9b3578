"""Which media type a client prefers, by the quality values in its `Accept` header."""

import pytest
from starlette.requests import Request

from imprint.web.http.responses import CSV_TYPE, HTML_TYPE, prefers

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


def request(*accept: str) -> Request:
    headers = [(b"accept", each.encode("latin-1")) for each in accept]
    return Request({"type": "http", "headers": headers})


@pytest.mark.parametrize(
    "accept",
    [
        BROWSER,
        "text/html",
        "TEXT/HTML; level=1; Q=0.5",
        "text/*",
        "text/html;q=0.2, application/json;q=0.1",
        "*/*;q=0.1, text/html;q=0.2",
        "*/*, application/json;q=0.5, application/problem+json;q=0.5",
        "text/html,,;;=",
    ],
)
def test_html_is_sent_if_it_is_preferred_over_json(accept: str) -> None:
    assert prefers(request(accept), HTML_TYPE)


@pytest.mark.parametrize(
    "accept",
    [
        "",
        "*/*",
        "text/html;q=0",
        "text/html;q=0.0",
        "text/html, application/json",
        "text/html;q=0.5, */*",
        "text/html;q=0.5, application/*;q=0.6",
        "text/html;q=0.5, application/problem+json",
        "text/*, text/html;q=0",
        "text/html;q=nan",
        "text/html;q=-1",
        "text/html;q=1e5",
        "text/html;q=",
        "image/png",
        "x" * 2000 + ",text/html",
    ],
)
def test_json_is_sent_if_html_is_not_preferred(accept: str) -> None:
    assert not prefers(request(accept), HTML_TYPE)


def test_several_accept_headers_are_combined_into_one_list() -> None:
    assert prefers(request("application/json;q=0.5", "text/csv"), CSV_TYPE)
    assert not prefers(request("text/csv", "application/json"), CSV_TYPE)
