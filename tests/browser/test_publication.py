"""A customized site in a browser: a TOML file and two Markdown pages, light and dark."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest
from eth_account import Account as Keys
from playwright.sync_api import Browser, Page, Route, expect
from tests.browser.accounts import Account, Chain
from tests.browser.pages import WATCH, axe_violations_in_both_schemes
from tests.browser.wallet import BrowserWallet
from tests.processes import PLAIN, Process

CONFIG = """
[publication]
name = "Tidewater"
description = "Letters from the coast, about boats, bread, maps and money."
accent = "#ff9800"
logo = "{folder}/logo.svg"
pages = "{folder}/pages"
footer = "© 2026 Tidewater"
contact = "mailto:editors@tidewater.example"
terms = "/house-rules"
front = "featured"
featured = [12, 7]

[publication.navigation]
Essays = "/t/essay"
"House rules" = "/house-rules"
"Our code" = "https://tidewater.example/code"
"""

LOGO = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 160 40"><script>window.parent.x = 1'
    '</script><rect width="160" height="40" fill="#0f766e"/></svg>'
)

PAGES = {
    "about.md": "# About Tidewater\n\nWe write [letters](/house-rules).\n\n> Standing up.",
    "house-rules.md": "# House rules\n\n1. Be kind.\n2. Say where you know it from.",
}


@pytest.fixture(scope="module")
def tidewater(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a preview of the customized site."""
    folder = tmp_path_factory.mktemp("tidewater")
    (folder / "pages").mkdir()
    for name, text in PAGES.items():
        (folder / "pages" / name).write_text(text, encoding="utf-8")
    (folder / "logo.svg").write_text(LOGO)
    (folder / "imprint.toml").write_text(CONFIG.format(folder=folder), encoding="utf-8")
    command = ["-m", "imprint", "site", "preview", "--port", "0", "--config"]
    process = Process(
        [sys.executable, *command, str(folder / "imprint.toml")], folder / "preview.log"
    )
    process.start(lambda: "Open http" in process.tail())
    try:
        found = re.search(r"Open (http://\S+)", process.tail())
        assert found
        yield found[1]
    finally:
        process.kill()


@pytest.mark.parametrize("width", [360, 1280])
def test_a_customized_site_is_accessible_on_phones_and_desktops_in_both_modes(
    browser: Browser, tidewater: str, width: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 800})
    context.add_init_script(WATCH)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    for path in ("/", "/about", "/house-rules", "/p/12", "/p/7"):
        page.goto(tidewater + path)
        expect(page.get_by_role("img", name="Tidewater")).to_be_visible()
        page.locator("#account button").wait_for()
        assert axe_violations_in_both_schemes(page) == [], path
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert page.evaluate("window.__violations") == [], path
    assert errors == []
    context.close()


def test_the_accent_colour_has_a_shade_for_each_mode_and_the_links_work(
    browser: Browser, tidewater: str
) -> None:
    page = browser.new_page()
    shade = "getComputedStyle(document.documentElement).getPropertyValue('--accent')"
    page.emulate_media(color_scheme="light")
    page.goto(tidewater)
    assert page.evaluate(shade) == "#9f5f00"
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(shade) == "#ff9800"
    page.evaluate("localStorage.setItem('imprint.theme', 'light')")
    page.reload()
    assert page.evaluate(shade) == "#9f5f00"
    expect(page.locator(".card").first).to_have_attribute("data-id", "12")
    expect(page.locator(".card .author").first).to_contain_text("Ada Lindqvist")
    page.get_by_label("Sections").get_by_role("link", name="House rules").click()
    expect(page.locator("h1")).to_have_text("House rules")
    page.get_by_role("contentinfo").get_by_role("link", name="About").click()
    expect(page.locator("h1")).to_have_text("About Tidewater")
    expect(page.get_by_text("Paid to authors")).to_be_visible()
    page.close()


ORIGIN = "https://tidewater.example"

IPHONE: dict[str, Any] = {
    "user_agent": "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15",
    "viewport": {"width": 390, "height": 780},
    "has_touch": True,
    "is_mobile": True,
}


@contextmanager
def visitor(
    browser: Browser, tidewater: str, wallet: BrowserWallet | None = None, **options: Any
) -> Iterator[Page]:
    """A page of a visitor who opens the site at its public address."""
    context = browser.new_context(reduced_motion="reduce", **options)
    context.add_init_script(WATCH)
    if wallet is not None:
        wallet.attach(context)

    def serve(route: Route) -> None:
        address = route.request.url.replace(ORIGIN, tidewater)
        route.fulfill(response=route.fetch(url=address))

    context.route(f"{ORIGIN}/**", serve)
    page = context.new_page()
    yield page
    assert page.evaluate("window.__violations") == []
    context.unroute_all(behavior="ignoreErrors")
    context.close()


def ask_to_sign_in(page: Page, path: str) -> None:
    page.goto(f"{ORIGIN}{path}")
    page.locator("#account button").press("Enter")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_a_phone_without_a_wallet_gets_links_that_open_the_page_in_wallet_apps(
    browser: Browser, tidewater: str
) -> None:
    with visitor(browser, tidewater, **IPHONE) as page:
        ask_to_sign_in(page, "/p/7?utm_source=letter")
        dialog = page.get_by_role("dialog")
        links = dialog.get_by_role("link", name=re.compile("^Open in "))
        expect(links).to_have_count(4)
        expect(dialog.get_by_role("link", name="Open in MetaMask")).to_have_attribute(
            "href", "https://link.metamask.io/dapp/tidewater.example/p/7?utm_source=letter"
        )
        for link in links.all():
            box = link.bounding_box()
            assert box is not None
            assert box["height"] >= 44
        expect(dialog.get_by_role("img", name="QR code")).to_have_count(0)
        expect(dialog.get_by_role("link", name="Find a wallet")).to_be_visible()
        assert axe_violations_in_both_schemes(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_desktop_without_a_wallet_gets_a_qr_code_generated_by_the_page(
    browser: Browser, tidewater: str
) -> None:
    asked: list[str] = []
    with visitor(browser, tidewater) as page:
        page.on("request", lambda request: asked.append(request.url))
        ask_to_sign_in(page, "/p/7")
        dialog = page.get_by_role("dialog")
        picture = dialog.get_by_role("img", name="QR code with the address of this page")
        expect(picture).to_be_visible()
        assert picture.evaluate("(picture) => picture.naturalWidth") > 0
        expect(dialog.get_by_role("link", name=re.compile("^Open in "))).to_have_count(0)
        assert axe_violations_in_both_schemes(page) == []
    assert [each for each in asked if not each.startswith((ORIGIN, "data:"))] == []


def test_an_address_that_phones_cannot_open_gets_no_link_or_qr_code(
    browser: Browser, tidewater: str
) -> None:
    page = browser.new_page(**IPHONE)
    page.goto(tidewater)
    page.locator("#account button").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("begins with https://")
    expect(dialog.get_by_role("link", name=re.compile("^Open in "))).to_have_count(0)
    page.close()
    page = browser.new_page()
    page.goto(tidewater)
    page.locator("#account button").click()
    expect(page.get_by_role("dialog")).to_contain_text("then reload this page")
    expect(page.get_by_role("dialog").get_by_role("img")).to_have_count(0)
    page.close()


def test_a_network_without_a_public_node_is_explained_with_a_contact(
    browser: Browser, tidewater: str
) -> None:
    keys = Keys.create()
    account = Account(keys.address, f"0x{keys.key.hex()}")
    wallet = BrowserWallet(Chain("http://127.0.0.1:1", 1), [account], knows_chain=False)
    listed = httpx2.get(f"{tidewater}/posts?free=false", verify=PLAIN).json()
    with visitor(browser, tidewater, wallet) as page:
        page.goto(f"{ORIGIN}/p/{listed['posts'][0]['id']}")
        page.get_by_role("button", name="Buy and read").press("Enter")
        page.get_by_role("dialog").get_by_role("button", name="Test Wallet").press("Enter")
        alert = page.get_by_text("this site publishes no node address")
        expect(alert).to_contain_text("ask editors@tidewater.example")
        assert "wallet_addEthereumChain" not in wallet.asked
        assert axe_violations_in_both_schemes(page) == []
