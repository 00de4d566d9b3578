"""Fixtures: a real browser, one `imprint dev` for all tests in a worker, and wallets.

Tests share the chain and the index, so each creates its own accounts and finds posts by id.

No page may report an uncaught error or a violation of its content security policy. A test that
expects such an error declares it with `opened.expected`.
"""

from collections.abc import Generator, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect
from tests.browser.accounts import FUNDS, Account, Chain, NewAccount, find_chain, make_account
from tests.browser.chromium import open_chromium
from tests.browser.pages import WATCH, Opened, OpenPage
from tests.browser.shelf import Shelf, Visit, publish_shelf, visit
from tests.browser.states import OPERATOR_SECRET, Place, fill
from tests.browser.wallet import BrowserWallet, NewWallet
from tests.processes import Service, free_port, running

# The same timeout as for every other wait: a slow response on a busy machine is not a failure.
expect.set_options(timeout=30_000)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let all cases take turns in CI.

    The module that has its own service comes first, so that one worker runs the whole module.
    """
    items.sort(key=lambda item: item.path.name != "test_hostile_content.py")
    for item in items:
        item.add_marker("rotates")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with open_chromium() as opened:
        yield opened


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """`imprint dev` with a secret for the operator's page, reading new blocks almost at once."""
    given = {
        "DEV_RPC_PORT": str(free_port()),
        "CHAIN_FOLLOW_SECONDS": "0.2",
        "OPERATOR_SECRET": OPERATOR_SECRET,
    }
    with running(Service(tmp_path_factory.mktemp("dev"), given, "dev")) as opened:
        yield opened


@pytest.fixture
def stoppable(service: Service) -> Iterator[Service]:
    """The service, for a test that stops it. It is restarted after the test."""
    yield service
    if not service.process.runs:
        service.start()


@pytest.fixture(scope="session")
def chain(service: Service) -> Chain:
    return find_chain(service.url)


@pytest.fixture(scope="session")
def place(service: Service) -> Place:
    """The service with a free and a paid post by the first development account."""
    return fill(service.url)


@pytest.fixture(scope="session")
def shelf(service: Service, chain: Chain) -> Shelf:
    """One free and three paid posts by a new author."""
    return publish_shelf(service.url, make_account(chain))


@pytest.fixture
def new_account(chain: Chain) -> NewAccount:
    """Create an account that holds only coins."""

    def make(funds: int = FUNDS) -> Account:
        return make_account(chain, funds)

    return make


@pytest.fixture
def new_wallet(chain: Chain, new_account: NewAccount) -> NewWallet:
    """Create a browser wallet for the given account or a new one."""

    def make(account: Account | None = None) -> BrowserWallet:
        return BrowserWallet(chain, [account or new_account()])

    return make


FAILED = pytest.StashKey[bool]()
"""Whether the body of a test failed."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: "pytest.CallInfo[None]"
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "call":
        item.stash[FAILED] = report.failed
    return report


@pytest.fixture
def open_page(
    browser: Browser, service: Service, request: pytest.FixtureRequest
) -> Iterator[OpenPage]:
    """Open a separate browser for a user: `open_page(wallet, color_scheme="dark", …)`."""
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
    if request.node.stash.get(FAILED, False):
        for each in everyone:
            each.describe()
    found = [
        problem
        for each in everyone
        if not each.expected and each.context.pages
        for problem in each.problems()
    ]
    for each in everyone:
        each.context.close()
    assert found == []


@pytest.fixture
def reader(open_page: OpenPage, new_wallet: NewWallet, shelf: Shelf) -> Visit:
    """A page on which a new reader views a paid post."""
    return visit(open_page, new_wallet(), shelf)
