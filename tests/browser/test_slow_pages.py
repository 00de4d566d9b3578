"""Slow browsers, wallets or services: no click is lost or undone by a late response."""

import re

from playwright.sync_api import APIResponse, Page, Route, expect
from tests.browser.pages import OpenPage
from tests.browser.posts import buy
from tests.browser.shelf import Shelf, Visit
from tests.browser.wallet import NewWallet, wait_until
from tests.processes import Service

SCRIPTS = "**/part-*.js"
"""URL pattern of the scripts that a page loads on demand."""


def hold(page: Page, url: str | re.Pattern[str]) -> list[Route]:
    """Hold back matching requests until the route is removed, which sends them."""
    held: list[Route] = []
    page.route(url, lambda route: held.append(route))  # noqa: PLW0108
    return held


def sign_in(reader: Visit) -> None:
    """Sign in through the account menu."""
    reader.page.locator("#account").get_by_role("button", name="Sign in").click()
    reader.connect()
    expect(reader.page.locator("#account .account-dot[data-on]")).to_be_visible()


def test_a_click_on_buy_before_its_script_has_loaded_is_not_lost(reader: Visit) -> None:
    page = reader.page
    page.locator("#account").get_by_role("button", name="Sign in").click()
    expect(page.locator("dialog .choice", has_text="Test Wallet")).to_be_visible()
    held = hold(page, SCRIPTS)
    reader.connect()
    wait_until(page, lambda: bool(held))
    reader.buy()
    page.unroute(SCRIPTS)
    reader.expect_text()
    assert reader.bought == 1


def test_signing_out_does_not_wait_for_the_service(reader: Visit) -> None:
    sign_in(reader)
    held = hold(reader.page, "**/auth/logout")
    reader.sign_out()
    wait_until(reader.page, lambda: bool(held))
    kept = reader.page.evaluate("() => localStorage.getItem('imprint.session')")
    assert kept is None


def test_a_slow_wallet_does_not_undo_a_sign_out(reader: Visit) -> None:
    sign_in(reader)
    other = reader.opened.another()
    reader.wallet.asked.clear()
    reader.wallet.handled.clear()
    reader.wallet.undecided.add("eth_accounts")
    other.goto(reader.page.url)
    wait_until(other, lambda: "eth_accounts" in reader.wallet.asked)
    reader.page.bring_to_front()
    reader.sign_out()
    reader.wallet.undecided.clear()
    wait_until(other, lambda: "eth_accounts" in reader.wallet.handled)
    expect(other.get_by_role("button", name="Buy and read")).to_be_visible()
    # Give the page time to do what it must not do.
    other.wait_for_timeout(300)
    expect(reader.page.locator("#account").get_by_role("button", name="Sign in")).to_be_visible()
    expect(other.locator("#account summary")).to_have_count(0)
    assert other.evaluate("() => localStorage.getItem('imprint.wallet')") is None


def test_marks_loaded_late_for_one_account_are_not_shown_to_another(
    open_page: OpenPage, new_wallet: NewWallet, shelf: Shelf, service: Service
) -> None:
    wallet, post = new_wallet(), shelf.paid[0]
    buy(service.url, post, wallet.account)
    opened = open_page(wallet)
    page = opened.visit("/library")
    page.locator("#library").get_by_role("button", name="Sign in").click()
    page.locator("dialog .choice", has_text="Test Wallet").click()
    expect(page.locator(".shelf-post").first).to_be_visible()
    held: list[tuple[Route, APIResponse]] = []
    page.route(re.compile("/library"), lambda route: held.append((route, route.fetch())))
    opened.visit(shelf.path)
    wait_until(page, lambda: bool(held))
    expect(page.locator("#account .account-name")).to_contain_text("Test Wallet")
    page.locator("#account summary").click()
    page.get_by_role("button", name="Sign out", exact=True).click()
    expect(page.locator("#account").get_by_role("button", name="Sign in")).to_be_visible()
    [(route, response)] = held
    with page.expect_response(re.compile("/library")):
        route.fulfill(response=response)
    # Give the page time to do what it must not do.
    page.wait_for_timeout(300)
    expect(page.locator(f'.card[data-id="{post}"] .card-price')).to_have_text("0.01 ETH")


def test_two_clicks_create_only_one_private_feed(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    page = open_page(new_wallet()).visit("/library")
    page.locator("#library").get_by_role("button", name="Sign in").click()
    page.locator("dialog .choice", has_text="Test Wallet").click()
    made: list[str] = []
    page.on("request", lambda request: made.append(request.method + request.url))
    button = page.get_by_role("button", name="Create a private feed")
    button.evaluate("(button) => { button.click(); button.click(); }")
    expect(page.get_by_role("link", name="Atom")).to_be_visible()
    assert len([each for each in made if re.match("POST.*feed", each)]) == 1


def test_a_proof_opened_before_its_script_has_loaded_is_shown(
    open_page: OpenPage, shelf: Shelf
) -> None:
    opened = open_page()
    page = opened.page
    scripts = "**/reader-*.js"
    held = hold(page, scripts)
    page.goto(f"{opened.url}/p/{shelf.free}", wait_until="commit")
    page.locator("#proof summary").click()
    wait_until(page, lambda: bool(held))
    page.unroute(scripts)
    expect(page.locator("#proof button").first).to_be_visible()
