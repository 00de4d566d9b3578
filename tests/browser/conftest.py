"""A real browser, `imprint dev`, and people with wallets.

No page may report a violation of its content security policy or an uncaught error: a test that
expects one says so with `opened.expected`.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from tests.browser.wallet import BrowserWallet
from tests.processes import PLAIN, Service, free_port, running

from imprint.domain.addresses import checksum_address, parse_address

HERE = Path(__file__).parent
AXE = HERE / "node_modules" / "axe-core" / "axe.min.js"

# As long as everything else is waited for: a busy machine is no failure.
expect.set_options(timeout=30_000)

PLAIN_HOST = "imprint.test"
"""Another name of this machine, where pages are not trusted as on loopback."""

WATCH = """
window.__violations = [];
addEventListener("securitypolicyviolation", (event) =>
  window.__violations.push(`${event.effectiveDirective} ${event.blockedURI} ${event.sample}`));
"""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    assert path is not None, "Chromium is not installed: tools/install-browser"
    with sync_playwright() as playwright:
        # As root, Chromium has no sandbox of its own; a small /dev/shm is common in containers.
        flags = ["--no-sandbox", "--disable-dev-shm-usage"]
        # Loopback counts as https; under this name it does not.
        flags.append(f"--host-resolver-rules=MAP {PLAIN_HOST} 127.0.0.1")
        opened = playwright.chromium.launch(executable_path=path, args=flags)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """`imprint dev`, with a secret for the operator's page."""
    given = {
        "DEV_RPC_PORT": str(free_port()),
        "CHAIN_FOLLOW_SECONDS": "1",
        "OPERATOR_SECRET": "an-operator-of-the-tests-7d1f0c9b2e",
    }
    with running(Service(tmp_path_factory.mktemp("dev"), given, "dev")) as opened:
        yield opened


@dataclass(slots=True)
class Chain:
    """The development chain of a service."""

    rpc_url: str
    id: int
    accounts: list[str]


@pytest.fixture
def chain(service: Service) -> Chain:
    facts = httpx2.get(f"{service.url}/.well-known/imprint.json", verify=PLAIN).json()
    rpc_url = facts["chain"]["rpc_url"]
    body = {"jsonrpc": "2.0", "id": 1, "method": "eth_accounts", "params": []}
    accounts = httpx2.post(rpc_url, json=body, verify=PLAIN).json()["result"]
    shown = [checksum_address(parse_address(each)) for each in accounts]
    return Chain(rpc_url, facts["chain"]["id"], shown)


@pytest.fixture
def wallet_of(chain: Chain) -> Callable[[int], BrowserWallet]:
    """Makes the wallet of the account with this number."""
    return lambda number: BrowserWallet(chain.rpc_url, [chain.accounts[number]], chain.id)


@dataclass(slots=True)
class Opened:
    """A browser context with a page, and what went wrong in it."""

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
        """Another tab of the same person."""
        page = self.context.new_page()
        self.watch(page)
        return page

    def watch(self, page: Page) -> None:
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        if self.wallet is not None:
            self.wallet.pages.append(page)

    def problems(self) -> list[str]:
        """Uncaught errors and violations of the policy, so far."""
        found = list(self.errors)
        for page in self.context.pages:
            if page.url.startswith(self.url):
                found += page.evaluate("window.__violations ?? []")
        return found


OpenPage = Callable[..., Opened]


@pytest.fixture
def open_page(browser: Browser, service: Service) -> Iterator[OpenPage]:
    """Opens a browser of its own for a person: `open_page(wallet, color_scheme="dark", …)`."""
    everyone: list[Opened] = []

    def open_one(wallet: BrowserWallet | None = None, **options: Any) -> Opened:
        context = browser.new_context(**{"reduced_motion": "reduce", **options})
        context.set_default_timeout(30_000)
        if options.get("java_script_enabled", True):
            context.add_init_script(WATCH)
        if wallet is not None:
            wallet.attach(context)
        opened = Opened(context, context.new_page(), service.url, wallet)
        opened.watch(opened.page)
        everyone.append(opened)
        return opened

    yield open_one
    found = [
        problem
        for each in everyone
        if not each.expected and each.context.pages
        for problem in each.problems()
    ]
    for each in everyone:
        each.context.close()
    assert found == []


def axe_violations(page: Page) -> list[str]:
    """What axe finds wrong with a page, as it is now."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{each['id']}: {node['target']} {node['failureSummary']}"
        for each in result["violations"]
        for node in each["nodes"]
    ]
