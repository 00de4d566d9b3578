"""What the first visit to a page costs: bytes, requests and stability.

The time of the largest paint is measured by `python -m bench.paint`, on a machine that does nothing
else; here it has a bound that only a defect reaches.
"""

from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from playwright.sync_api import BrowserContext, Page
from tests.browser.conftest import OpenPage
from tests.browser.states import STATES, Place, fill
from tests.processes import PLAIN, Service

SCRIPT_BYTES = 60_000
ALL_BYTES = 120_000
PAINT_MILLISECONDS = 2_500

EDITOR = "cm-content"
"""A class that is only in the scripts of the editor."""

OBSERVE = """
window.__shifts = [];
window.__paints = [];
new PerformanceObserver((list) => {
  for (const shift of list.getEntries())
    if (!shift.hadRecentInput)
      window.__shifts.push(shift.sources.map(({node}) => `${shift.value} ${node?.outerHTML}`));
}).observe({type: "layout-shift", buffered: true});
new PerformanceObserver((list) => {
  for (const paint of list.getEntries()) window.__paints.push(paint.startTime);
}).observe({type: "largest-contentful-paint", buffered: true});
"""

PAINTED = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


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
    page.evaluate(PAINTED)
    assert page.evaluate("window.__shifts") == []


def test_the_largest_paint_of_a_post_is_early(open_page: OpenPage, place: Place) -> None:
    paints = []
    for _ in range(5):
        opened = open_page()
        opened.context.add_init_script(OBSERVE)
        STATES["post"](opened.page, place)
        opened.page.wait_for_function("() => window.__paints.length > 0")
        paints.append(opened.page.evaluate("window.__paints.at(-1)"))
    # The best of five: other processes of this machine delay some of them.
    assert min(paints) < PAINT_MILLISECONDS
