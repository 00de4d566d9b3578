"""Problems while buying a post: each has a message and a way out, and nothing is lost."""

import datetime

from playwright.sync_api import expect
from tests.browser.accounts import NewAccount
from tests.browser.pages import OpenPage, axe_violations
from tests.browser.posts import end_sessions
from tests.browser.shelf import PRICE, SECRET, Shelf, Visit
from tests.browser.wallet import NewWallet, wait_until
from tests.processes import Service

MINUTE = 60_000
"""A minute in milliseconds: longer than the pause between requests to an unreachable node."""


def test_a_wallet_on_another_network_is_asked_to_switch(reader: Visit) -> None:
    reader.wallet.chain_id = 1
    reader.buy()
    reader.connect()
    reader.expect_text()
    assert "wallet_switchEthereumChain" in reader.wallet.prompts
    assert "wallet_addEthereumChain" not in reader.wallet.prompts


def test_an_unknown_network_is_added_to_the_wallet(reader: Visit) -> None:
    reader.wallet.chain_id, reader.wallet.knows_chain = 1, False
    reader.buy()
    reader.connect()
    reader.expect_text()
    assert "wallet_addEthereumChain" in reader.wallet.prompts


def test_a_locked_wallet_can_be_unlocked(reader: Visit) -> None:
    reader.wallet.locked = True
    reader.buy()
    reader.connect()
    expect(reader.page.locator("dialog")).to_contain_text("already showing a request")
    reader.wallet.locked = False
    reader.connect()
    reader.expect_text()


def test_a_wallet_that_was_locked_before_a_reload_can_be_connected_again(reader: Visit) -> None:
    reader.wallet.refuses.add("eth_sendTransaction")
    reader.buy()
    reader.connect()
    reader.expect_said("You declined")
    reader.wallet.locked = True
    reader.page.reload()
    reader.buy()
    reader.wallet.locked = False
    reader.wallet.refuses.clear()
    reader.connect()
    reader.expect_text()


def test_an_ended_session_is_reported_and_signing_in_opens_the_text(
    reader: Visit, service: Service
) -> None:
    reader.buy()
    reader.connect()
    reader.expect_text()
    end_sessions(service.url, reader.wallet.account)
    reader.page.reload()
    expect(reader.page.locator(".notice")).to_contain_text("Your session has ended")
    reader.click("Sign in and read")
    reader.expect_text()


def test_a_wrong_device_clock_is_corrected_by_a_second_signature(
    open_page: OpenPage, new_wallet: NewWallet, shelf: Shelf
) -> None:
    wallet, post = new_wallet(), shelf.paid[0]
    reader = Visit(open_page(wallet), wallet, post)
    reader.page.clock.install(
        time=datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=3)
    )
    reader.opened.visit(f"/p/{post}")
    reader.buy()
    reader.connect()
    reader.expect_said("The clocks of this device and the service differ")
    reader.click("Try again")
    reader.click("Sign in and read")
    reader.expect_text()
    reader.page.reload()
    reader.expect_text()
    assert reader.bought == 1


def test_insufficient_funds_are_reported(
    open_page: OpenPage, new_wallet: NewWallet, new_account: NewAccount, shelf: Shelf
) -> None:
    wallet = new_wallet(new_account(funds=PRICE))
    reader = Visit(open_page(wallet), wallet, shelf.paid[0])
    reader.opened.visit(f"/p/{reader.post}")
    reader.buy()
    reader.connect()
    reader.expect_said("You need 0.01 ETH plus a small network fee; this account has 0.01 ETH.")
    assert axe_violations(reader.page) == []


def test_requests_to_an_unreachable_node_are_retried(reader: Visit) -> None:
    reader.wallet.waits_for_blocks = True
    reader.buy()
    reader.connect()
    reader.expect_said("Sent to the chain")
    reader.wallet.unreachable = True
    reader.expect_said("The network isn’t responding. Nothing is lost")
    reader.wallet.unreachable = reader.wallet.waits_for_blocks = False
    expect(reader.page.locator("#text")).to_contain_text(SECRET, timeout=MINUTE)
    assert reader.bought == 1


def test_a_payment_unknown_to_the_node_stays_uncertain(reader: Visit) -> None:
    reader.wallet.waits_for_blocks = True
    reader.wallet.withholds.add("eth_getTransactionByHash")
    reader.buy()
    reader.connect()
    reader.expect_said("We’re not sure the payment went through")
    [sent] = reader.wallet.sent
    reader.expect_said(sent)
    assert "othing was" not in reader.page.locator("#gate").inner_text()
    assert axe_violations(reader.page) == []
    reader.page.reload()
    reader.expect_said("We’re not sure the payment went through")
    expect(reader.page.get_by_role("button", name="Buy and read")).to_have_count(0)
    reader.wallet.waits_for_blocks = False
    reader.wallet.withholds.clear()
    reader.click("Check again")
    reader.click("Sign in and read")
    reader.expect_text()
    assert reader.bought == 1


def test_a_purchase_resumes_after_the_service_and_chain_have_been_down(
    open_page: OpenPage, reader: Visit, stoppable: Service
) -> None:
    reader.wallet.undecided.add("personal_sign")
    reader.buy()
    reader.connect()
    wait_until(reader.page, lambda: "personal_sign" in reader.wallet.asked)
    stranger = open_page()
    stranger.visit(f"/p/{reader.post}")
    # An account whose key the development chain has.
    developer = open_page().visit(f"/p/{reader.post}")
    developer.get_by_role("button", name="Buy and read").click()
    account = developer.get_by_role("dialog").get_by_role("button", name="Gus (reader)")
    expect(account).to_be_visible()
    stoppable.kill()
    account.click()
    expect(developer.locator("#gate")).to_contain_text("The development chain isn’t responding")
    reader.wallet.undecided.clear()
    reader.expect_said("The service isn’t responding. Nothing is lost")
    stranger.page.get_by_role("button", name="Buy and read").click()
    expect(stranger.page.locator(".notice")).to_contain_text("the service isn’t responding")
    stoppable.start()
    reader.click("Try again")
    reader.click("Sign in and read")
    reader.expect_text()
    assert reader.bought == 1
    stranger.page.locator(".notice").get_by_role("button", name="Reload").click()
    stranger.page.get_by_role("button", name="Buy and read").click()
    expect(stranger.page.locator("dialog")).to_be_visible()
