"""A slow browser, wallet or service: no click is lost, and no late response undoes it."""

import re

from playwright.sync_api import APIResponse, Page, Route, expect
from tests.browser.accounts import NewAccount
from tests.browser.pages import OpenPage
from tests.browser.posts import buy
from tests.browser.shelf import Shelf, Visit
from tests.browser.wallet import NewWallet, wait_until
from tests.processes import Service

SCRIPTS = "**/part-*.js"
"""The scripts that a page loads when somebody needs them."""


def hold(page: Page, url: str | re.Pattern[str]) -> list[Route]:
    """Keep requests back until the rule is removed: the driver sends them then."""
    held: list[Route] = []
    page.route(url, lambda route: held.append(route))  # noqa: PLW0108
    return held


def sign_in(reader: Visit) -> None:
    """Sign in by the account menu."""
    reader.page.locator("#account").get_by_role("button", name="Sign in").click()
    reader.connect()
    expect(reader.page.locator("#account .account-dot[data-on]")).to_be_visible()


def test_a_click_on_buy_before_its_script_is_loaded_is_not_lost(reader: Visit) -> None:
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


def test_two_clicks_on_buy_are_one_purchase(reader: Visit) -> None:
    sign_in(reader)
    button = reader.page.locator("#gate").get_by_role("button", name="Buy and read")
    expect(button).to_be_visible()
    reader.wallet.asked.clear()
    reader.wallet.undecided.add("eth_chainId")
    button.evaluate("(button) => { button.click(); button.click(); }")
    wait_until(reader.page, lambda: "eth_chainId" in reader.wallet.asked)
    # Time for the page to do what it must not.
    reader.page.wait_for_timeout(300)
    expect(reader.page.locator("#gate")).not_to_contain_text("Another tab")
    reader.wallet.undecided.clear()
    reader.expect_text()
    assert reader.bought == 1


def test_an_uncertain_payment_is_not_shown_to_another_account(
    reader: Visit, new_account: NewAccount
) -> None:
    sign_in(reader)
    reader.wallet.undecided.add("eth_sendTransaction")
    reader.buy()
    reader.expect_said("Confirm the purchase in Test Wallet")
    reader.page.reload()
    reader.expect_said("The payment is not certain")
    reader.wallet.undecided.clear()
    reader.wallet.choose(new_account())
    expect(reader.page.get_by_role("button", name="Buy and read")).to_be_visible()
    expect(reader.page.locator("#gate")).not_to_contain_text("account")


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
    reader.wallet.answered.clear()
    reader.wallet.undecided.add("eth_accounts")
    other.goto(reader.page.url)
    wait_until(other, lambda: "eth_accounts" in reader.wallet.asked)
    reader.page.bring_to_front()
    reader.sign_out()
    reader.wallet.undecided.clear()
    wait_until(other, lambda: "eth_accounts" in reader.wallet.answered)
    expect(other.get_by_role("button", name="Buy and read")).to_be_visible()
    # Time for the page to do what it must not.
    other.wait_for_timeout(300)
    expect(reader.page.locator("#account").get_by_role("button", name="Sign in")).to_be_visible()
    expect(other.locator("#account summary")).to_have_count(0)
    assert other.evaluate("() => localStorage.getItem('imprint.wallet')") is None


def test_another_account_signs_in_while_the_first_prompt_is_open(
    reader: Visit, new_account: NewAccount
) -> None:
    reader.wallet.undecided.add("personal_sign")
    reader.page.locator("#account").get_by_role("button", name="Sign in").click()
    reader.connect()
    wait_until(reader.page, lambda: reader.wallet.prompts.count("personal_sign") == 1)
    other = new_account()
    reader.wallet.choose(other)
    # In one step: the look at the other account may draw the gate anew meanwhile.
    button = reader.page.locator("#gate").get_by_role("button", name="I have bought it: sign in")
    button.dispatch_event("click")
    wait_until(reader.page, lambda: reader.wallet.prompts.count("personal_sign") == 2)
    reader.wallet.undecided.clear()
    expect(reader.page.locator("#account .account-dot[data-on]")).to_be_visible()
    expect(reader.page.locator("#account summary")).to_contain_text(other.address[-4:])


def test_late_marks_of_one_account_are_not_shown_to_another(
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
    # Time for the page to do what it must not.
    page.wait_for_timeout(300)
    expect(page.locator(f'.card[data-id="{post}"] .card-price')).to_have_text("0.01 ETH")


def test_two_clicks_make_one_private_feed(open_page: OpenPage, new_wallet: NewWallet) -> None:
    page = open_page(new_wallet()).visit("/library")
    page.locator("#library").get_by_role("button", name="Sign in").click()
    page.locator("dialog .choice", has_text="Test Wallet").click()
    made: list[str] = []
    page.on("request", lambda request: made.append(request.method + request.url))
    button = page.get_by_role("button", name="Make a private feed")
    button.evaluate("(button) => { button.click(); button.click(); }")
    expect(page.get_by_role("link", name="Atom")).to_be_visible()
    assert len([each for each in made if re.match("POST.*feed", each)]) == 1


def test_a_proof_opened_before_its_script_is_loaded_is_shown(
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
