"""What the first visit to a page costs: bytes, requests, stability, and what paint waits for.

How long the largest paint takes is measured by `python -m bench.paint`; here is tested what makes
it early: that it is in the HTML, and that nothing is found late.
"""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from playwright.sync_api import BrowserContext, Page
from tests.browser.conftest import OpenPage
from tests.browser.paints import BLOCKING, HAS_PAINTED, OBSERVE, PAINTS, SHIFTS, TWO_FRAMES
from tests.browser.states import STATES, Place, fill
from tests.processes import PLAIN, Service

SCRIPT_BYTES = 60_000
ALL_BYTES = 120_000

EDITOR = "cm-content"
"""A class that is only in the scripts of the editor."""


@pytest.fixture(scope="module")
def place(service: Service) -> Place:
    return fill(service.url)


@dataclass(slots=True)
class Traffic:
    """The bytes that came over the network, by kind, without the pictures of posts."""

    scripts: int = 0
    total: int = 0
    kinds: dict[str, str] = field(default_factory=dict)
    addresses: list[str] = field(default_factory=list)

    def record(self, context: BrowserContext, page: Page) -> None:
        client = context.new_cdp_session(page)
        # Not bound methods: Playwright sets attributes on their object, which has slots.
        client.on("Network.responseReceived", lambda event: self._received(event))  # noqa: PLW0108
        client.on("Network.loadingFinished", lambda event: self._finished(event))  # noqa: PLW0108
        client.send("Network.enable")

    def _received(self, event: dict[str, Any]) -> None:
        address = event["response"]["url"]
        if "/ipfs/" not in address and not address.startswith("data:"):
            self.kinds[event["requestId"]] = event["type"]
            self.addresses.append(address)

    def _finished(self, event: dict[str, Any]) -> None:
        kind = self.kinds.get(event["requestId"])
        if kind is not None:
            self.total += event["encodedDataLength"]
            if kind == "Script":
                self.scripts += event["encodedDataLength"]


@pytest.mark.parametrize("state", ["front", "post", "gate"])
def test_a_first_visit_stays_within_its_bytes(
    open_page: OpenPage, place: Place, state: str
) -> None:
    opened, traffic = open_page(), Traffic()
    page = opened.page
    traffic.record(opened.context, page)
    STATES[state](page, place)
    page.wait_for_load_state("networkidle")
    assert 0 < traffic.scripts < SCRIPT_BYTES, traffic.addresses
    assert 0 < traffic.total < ALL_BYTES, traffic.addresses


def scripts_of(page: Page) -> set[str]:
    """The addresses of the scripts that a page loads from now on."""
    found: set[str] = set()
    page.on("request", lambda sent: found.add(sent.url) if sent.url.endswith(".js") else None)
    return found


def has_editor(script: str) -> bool:
    return EDITOR in httpx2.get(script, verify=PLAIN).text


@pytest.mark.parametrize("state", ["front", "tag", "author", "search", "post", "gate", "library"])
def test_the_editor_is_not_loaded_for_readers(
    open_page: OpenPage, place: Place, state: str
) -> None:
    page = open_page().page
    scripts = scripts_of(page)
    STATES[state](page, place)
    page.wait_for_load_state("networkidle")
    assert scripts
    assert [each for each in scripts if has_editor(each)] == []


def test_the_editor_is_loaded_by_the_studio(open_page: OpenPage, place: Place) -> None:
    page = open_page().page
    scripts = scripts_of(page)
    STATES["studio"](page, place)
    assert any(has_editor(each) for each in scripts)


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("state", ["front", "tag", "author", "search", "post", "gate"])
def test_nothing_moves_while_a_page_loads(
    open_page: OpenPage, place: Place, state: str, width: int
) -> None:
    opened = open_page(viewport={"width": width, "height": 800})
    opened.context.add_init_script(OBSERVE)
    page = opened.page
    STATES[state](page, place)
    page.wait_for_load_state("networkidle")
    page.evaluate(TWO_FRAMES)
    assert page.evaluate(SHIFTS) == []


def served(address: str) -> str:
    return httpx2.get(address, verify=PLAIN).text


@pytest.mark.parametrize("state", ["front", "post", "gate"])
def test_the_first_paint_waits_for_the_theme_and_one_style_sheet(
    open_page: OpenPage, place: Place, state: str
) -> None:
    page = open_page().page
    STATES[state](page, place)
    blocking = page.evaluate(BLOCKING)
    # Named in the HTML: no request waits for another one first.
    assert [each for each in blocking if f'"{each}"' not in served(page.url)] == []
    names = [each.rpartition("/")[2].partition("-")[0] for each in blocking]
    assert sorted(names) == ["site", "theme"]


def test_the_style_sheet_imports_no_other(open_page: OpenPage, place: Place) -> None:
    page = open_page().page
    STATES["post"](page, place)
    sheets = [each for each in page.evaluate(BLOCKING) if each.endswith(".css")]
    assert sheets
    assert [each for each in sheets if "@import" in served(place.url + each)] == []


@pytest.mark.parametrize("state", ["front", "post", "gate"])
def test_the_largest_paint_is_of_what_the_server_wrote(
    open_page: OpenPage, place: Place, state: str
) -> None:
    opened = open_page()
    opened.context.add_init_script(OBSERVE)
    page = opened.page
    STATES[state](page, place)
    page.wait_for_function(HAS_PAINTED)
    paints = page.evaluate(PAINTS)
    html = served(page.url)
    without_scripts = open_page(java_script_enabled=False).page
    without_scripts.goto(page.url)
    written = without_scripts.locator("body").text_content() or ""
    assert [each for each in paints if each["text"] not in written] == []
    assert [each for each in paints if urlsplit(each["address"]).path not in html] == []
