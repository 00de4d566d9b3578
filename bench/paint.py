"""The largest paint of pages in Chromium on this machine: python -m bench.paint

The first visit of a browser with an empty cache, in turns; a post is to be painted within 0.5 s.
It needs Chromium and the driver of `make test-browser`.
"""

import shutil
import tempfile
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, sync_playwright
from tests.browser.states import STATES, Place, fill
from tests.processes import Service, free_port, running

ROUNDS = 15
PAGES = ("post", "gate", "front")
TARGET = 500
"""Milliseconds."""

OBSERVE = """
window.__paints = [];
new PerformanceObserver((list) => {
  for (const paint of list.getEntries()) window.__paints.push(paint.startTime);
}).observe({type: "largest-contentful-paint", buffered: true});
"""


def main() -> None:
    """Print the median, the best and the worst of each page."""
    given = {"DEV_RPC_PORT": str(free_port()), "CHAIN_FOLLOW_SECONDS": "1", "RATE_LIMITS": "off"}
    with (
        tempfile.TemporaryDirectory() as folder,
        running(Service(Path(folder), given, "dev")) as service,
        sync_playwright() as playwright,
    ):
        place = fill(service.url)
        flags = ["--no-sandbox", "--disable-dev-shm-usage"]
        path = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        paints: dict[str, list[float]] = {page: [] for page in PAGES}
        for _ in range(ROUNDS):
            for page in PAGES:
                paints[page].append(_paint(browser, place, page))
        browser.close()
    print(f"Largest paint in milliseconds, {ROUNDS} visits each, target {TARGET}:")
    for page, found in paints.items():
        print(f"{page:>6}  median {median(found):4.0f}  {min(found):4.0f} to {max(found):4.0f}")


def _paint(browser: Browser, place: Place, state: str) -> float:
    context = browser.new_context()
    context.add_init_script(OBSERVE)
    page = context.new_page()
    STATES[state](page, place)
    page.wait_for_load_state("networkidle")
    page.wait_for_function("() => window.__paints.length > 0")
    painted = float(page.evaluate("window.__paints.at(-1)"))
    context.close()
    return painted


if __name__ == "__main__":
    main()
