"""Pages opened in a browser, their errors, and their axe violations."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import BrowserContext, Page
from tests.browser.paints import TWO_FRAMES
from tests.browser.wallet import BrowserWallet

AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"

WATCH = """
window.__violations = [];
addEventListener("securitypolicyviolation", (event) =>
  window.__violations.push(`${event.effectiveDirective} ${event.blockedURI} ${event.sample}`));
"""
"""Init script that collects violations of the content security policy."""

COLOUR_RULES = ("color-contrast", "link-in-text-block")
"""The axe rules whose results depend on colours."""


MORE_RULES = {"label-content-name-mismatch": {"enabled": True}}
"""Rules that axe skips by default. Voice control needs labels that match the visible text."""


@dataclass(slots=True)
class Opened:
    """A browser context with a page, and the errors of all its pages."""

    context: BrowserContext
    page: Page
    url: str
    wallet: BrowserWallet | None
    errors: list[str] = field(default_factory=list)
    expected: bool = False
    """Whether the test expects errors and checks them itself."""

    def visit(self, path: str) -> Page:
        """Open a path of the service."""
        self.page.goto(self.url + path)
        return self.page

    def another(self) -> Page:
        """Open another tab for the same user. A background tab is slow until brought to the
        front."""
        page = self.context.new_page()
        self.watch(page)
        return page

    def watch(self, page: Page) -> None:
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        if self.wallet is not None:
            self.wallet.pages.append(page)

    def problems(self) -> list[str]:
        """Return the uncaught errors and policy violations so far."""
        found = list(self.errors)
        for page in self.context.pages:
            if page.url.startswith(self.url):
                found += page.evaluate("window.__violations ?? []")
        return found

    def describe(self) -> None:
        """Print the content of every page, for the report of a failed test."""
        for page in self.context.pages:
            print(f"--- {page.url}", *self.errors, page.inner_text("body"), sep="\n")


OpenPage = Callable[..., Opened]


def axe_violations(page: Page, **options: Any) -> list[str]:
    """Return the axe violations on a page in its current state."""
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(AXE.read_text("utf-8"))
    given = {"resultTypes": ["violations"], **options}
    given["rules"] = {**MORE_RULES, **given.get("rules", {})}
    result = page.evaluate("(given) => axe.run(document, given)", given)
    return [
        f"{each['id']}: {node['target']} {node['failureSummary']}"
        for each in result["violations"]
        for node in each["nodes"]
    ]


def axe_violations_in_both_schemes(page: Page) -> list[str]:
    """Return the axe violations in light colours, and any additional ones in dark colours."""
    _prefer(page, "light")
    light = axe_violations(page)
    _prefer(page, "dark")
    dark = axe_violations(page, runOnly=COLOUR_RULES)
    return [*(f"light: {each}" for each in light), *(f"dark: {each}" for each in dark)]


def _prefer(page: Page, scheme: Literal["light", "dark"]) -> None:
    page.emulate_media(color_scheme=scheme)
    page.evaluate(TWO_FRAMES)
