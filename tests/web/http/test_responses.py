"""Responses with validators, and 304 responses to conditional requests."""

import pytest
from starlette.requests import Request

from imprint.domain.rate_limits import Budget
from imprint.web.http.large_responses import LargeResponse, ResponseBudget
from imprint.web.http.responses import reserved_response, validators

BODY = b"x" * 100


def make_request(**headers: str) -> Request:
    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": "GET", "headers": named})


async def load() -> bytes:
    return BODY


@pytest.mark.parametrize("unchanged", [True, False])
async def test_a_304_response_releases_the_bytes_reserved_for_its_body(unchanged: bool) -> None:
    budget = ResponseBudget(Budget.of(1_000))
    reservation = await budget.reserve("client", len(BODY), load)
    headers = {**validators(BODY), "Cache-Control": "no-cache"}
    request = make_request(if_none_match=headers["ETag"] if unchanged else '"another"')
    response = reserved_response(request, reservation, headers, "text/plain")
    assert (response.status_code, response.body) == ((304, b"") if unchanged else (200, BODY))
    assert response.headers["etag"] == headers["ETag"]
    assert response.headers["cache-control"] == "no-cache"
    assert isinstance(response, LargeResponse) is not unchanged
    assert budget.budget.taken == (0 if unchanged else len(BODY))
