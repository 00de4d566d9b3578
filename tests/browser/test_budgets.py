"""The cost of a first visit to a page: bytes, requests, stability, and blocking resources.

`python -m bench.paint` measures the time of the largest paint. These tests check the causes
of an early paint: its content is in the HTML, and no resource is discovered late.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from playwright.sync_api import Browser, BrowserContext, Page
from tests.browser.paints import BLOCKING, HAS_PAINTED, OBSERVE, PAINTS, SHIFTS, TWO_FRAMES
from tests.browser.states import STATES, Place
from tests.processes import PLAIN

SCRIPT_BYTES = 60_000
ALL_BYTES = 120_000

WIDE, PHONE = 1280, 390

EDITOR = "cm-content"
"""A class name that occurs only in the editor scripts."""


@dataclass(slots=True)
class Traffic:
    """Transferred bytes by type, without the pictures of posts."""

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


@dataclass(frozen=True, slots=True)
class FirstVisit:
    """The resources and paints of a page in a new browser."""

    traffic: Traffic
    blocking: list[str]
    """The paths of the render-blocking resources."""
    paints: list[dict[str, str]]
    shifts: list[list[str]]
    html: str
    """The page as sent by the server."""
    text: str
    """The text of the page without scripts."""

    @property
    def scripts(self) -> list[str]:
        return [each for each in self.traffic.addresses if each.endswith(".js")]


FirstVisits = Callable[..., FirstVisit]


@pytest.fixture(scope="session")
def visits(browser: Browser, place: Place) -> FirstVisits:
    """Record a first visit to a state of the site. Later tests get the same record."""

    @cache
    def record(state: str, width: int) -> FirstVisit:
        context, traffic = browser.new_context(viewport={"width": width, "height": 800}), Traffic()
        context.add_init_script(OBSERVE)
        page = context.new_page()
        traffic.record(context, page)
        STATES[state](page, place)
        page.wait_for_load_state("networkidle")
        page.evaluate(TWO_FRAMES)
        page.wait_for_function(HAS_PAINTED)
        blocking, paints, shifts = (page.evaluate(each) for each in (BLOCKING, PAINTS, SHIFTS))
        address = page.url
        context.close()
        html, text = served(address), _text_without_scripts(browser, address)
        return FirstVisit(traffic, blocking, paints, shifts, html, text)

    return lambda state, width=WIDE: record(state, width)


def _text_without_scripts(browser: Browser, address: str) -> str:
    page = browser.new_page(java_script_enabled=False)
    page.goto(address)
    text = page.locator("body").text_content() or ""
    page.close()
    return text


def served(address: str) -> str:
    return httpx2.get(address, verify=PLAIN).text


@cache
def has_editor(script: str) -> bool:
    return EDITOR in served(script)


@pytest.mark.parametrize("state", ["front", "post", "gate"])
def test_a_first_visit_stays_within_its_byte_budget(visits: FirstVisits, state: str) -> None:
    traffic = visits(state).traffic
    assert 0 < traffic.scripts < SCRIPT_BYTES, traffic.addresses
    assert 0 < traffic.total < ALL_BYTES, traffic.addresses


@pytest.mark.parametrize("state", ["front", "tag", "author", "search", "post", "gate", "library"])
def test_the_editor_is_not_loaded_for_readers(visits: FirstVisits, state: str) -> None:
    scripts = visits(state).scripts
    assert scripts
    assert [each for each in scripts if has_editor(each)] == []


def test_the_studio_loads_the_editor(visits: FirstVisits) -> None:
    assert any(has_editor(each) for each in visits("studio").scripts)


@pytest.mark.parametrize("width", [WIDE, PHONE])
@pytest.mark.parametrize("state", ["front", "tag", "author", "search", "post", "gate"])
def test_a_page_loads_without_layout_shifts(visits: FirstVisits, state: str, width: int) -> None:
    assert visits(state, width).shifts == []


@pytest.mark.parametrize("state", ["front", "post", "gate"])
def test_only_the_theme_and_one_style_sheet_block_the_first_paint(
    visits: FirstVisits, state: str
) -> None:
    visit = visits(state)
    # The HTML names every blocking resource, so that none is discovered late.
    assert [each for each in visit.blocking if f'"{each}"' not in visit.html] == []
    names = [each.rpartition("/")[2].partition("-")[0] for each in visit.blocking]
    assert sorted(names) == ["site", "theme"]


def test_the_style_sheet_imports_no_other_style_sheet(visits: FirstVisits, place: Place) -> None:
    sheets = [each for each in visits("post").blocking if each.endswith(".css")]
    assert sheets
    assert [each for each in sheets if "@import" in served(place.url + each)] == []


@pytest.mark.parametrize("state", ["front", "post", "gate"])
def test_the_content_of_the_largest_paint_is_in_the_html(visits: FirstVisits, state: str) -> None:
    visit = visits(state)
    assert visit.paints
    assert [each for each in visit.paints if each["text"] not in visit.text] == []
    addresses = [urlsplit(each["address"]).path for each in visit.paints]
    assert [each for each in addresses if each not in visit.html] == []
