"""Pages and crawler files, which the API description omits: no request causes a server error."""

import time
from collections.abc import Iterator
from urllib.parse import quote

import httpx2
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.fuzz.live import Live, run_live

PAGES = [
    "/?next_page_token={}",
    "/t/{}",
    "/a/{}",
    "/search?q={}",
    "/p/{}",
    "/p/{}/a-title",
    "/p/1/{}",
    "/p/{}/text",
    "/p/{}/document",
    "/sitemaps/{}.xml",
    "/assets/{}",
]
"""Every page that has parameters in its path."""

TEXTS = st.text(max_size=80) | st.integers(-1, 2**257).map(str) | st.binary(max_size=60)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with run_live(tmp_path_factory.mktemp("live")) as running:
        yield running


@pytest.fixture(scope="module")
def client(live: Live) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=live.origin, headers=live.session, timeout=60) as opened:
        # Lists are 503 until the index has reached the newest block for the first time.
        for _ in range(600):
            if opened.get("/").status_code == 200:
                break
            time.sleep(0.1)
        yield opened


@pytest.mark.parametrize("page", PAGES)
@settings(max_examples=30, deadline=None)
@given(value=TEXTS)
@example(value="0x" + "ab" * 20)
@example(value='"ink" -')
def test_no_page_path_causes_a_server_error(
    page: str, client: httpx2.Client, value: str | bytes
) -> None:
    response = client.get(page.format(quote(value, safe="")))
    assert response.status_code < 500, response.text


@settings(max_examples=30, deadline=None)
@given(content=st.text(max_size=300))
def test_no_preview_text_causes_a_server_error(client: httpx2.Client, content: str) -> None:
    response = client.post("/studio/preview", json={"content": content})
    assert response.status_code < 500, response.text
