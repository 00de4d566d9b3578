"""What goes wrong while a post is bought: each has a sentence and a way on, and nothing is lost."""

import datetime

from playwright.sync_api import APIResponse, Route, expect
from tests.browser.accounts import NewAccount
from tests.browser.pages import OpenPage, axe_violations
from tests.browser.posts import NewPost, change_price, end_sessions, publish
from tests.browser.shelf import PRICE, SECRET, Shelf, Visit
from tests.browser.wallet import NewWallet, wait_until
from tests.processes import Service

MINUTE = 60_000
"""Longer than the pauses between two questions to a node that was away."""


def test_a_declined_purchase_can_be_tried_again(reader: Visit) -> None:
    reader.wallet.refuses.add("eth_sendTransaction")
    reader.buy()
    reader.connect()
    reader.expect_said("You declined in your wallet. Nothing was sent.")
    assert axe_violations(reader.page) == []
    reader.wallet.refuses.clear()
    reader.buy()
    reader.expect_text()


def test_a_bought_post_can_be_opened_after_a_declined_sign_in(reader: Visit) -> None:
    reader.wallet.refuses.add("personal_sign")
    reader.buy()
    reader.connect()
    reader.expect_said("The post is yours")
    reader.expect_said("You declined to sign in. The post stays yours")
    reader.wallet.refuses.clear()
    reader.click("Sign in and read")
    reader.expect_text()
    assert reader.bought == 1


def test_a_closed_dialog_leaves_the_offer(reader: Visit) -> None:
    reader.buy()
    expect(reader.page.locator("dialog")).to_be_visible()
    reader.page.keyboard.press("Escape")
    expect(reader.page.locator("dialog")).to_have_count(0)
    reader.buy()
    reader.connect()
    reader.expect_text()


def test_a_wallet_on_another_network_is_switched(reader: Visit) -> None:
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


def test_declining_the_network_switch_sends_nothing(reader: Visit) -> None:
    reader.wallet.chain_id = 1
    reader.wallet.refuses.add("wallet_switchEthereumChain")
    reader.buy()
    reader.connect()
    reader.expect_said("You declined in your wallet. Nothing was sent.")
    assert reader.bought == 0


def test_a_locked_wallet_can_be_unlocked(reader: Visit) -> None:
    reader.wallet.locked = True
    reader.buy()
    reader.connect()
    expect(reader.page.locator("dialog")).to_contain_text("Open your wallet")
    reader.wallet.locked = False
    reader.connect()
    reader.expect_text()


def test_a_wallet_locked_after_a_reload_is_connected_again(reader: Visit) -> None:
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


def test_a_purchase_stays_with_its_account_after_an_account_change(
    reader: Visit, new_account: NewAccount
) -> None:
    buyer, other = reader.wallet.account, new_account()
    reader.wallet.undecided.add("eth_sendTransaction")
    reader.buy()
    reader.connect()
    reader.expect_said("Confirm the purchase in Test Wallet")
    reader.wallet.choose(other)
    expect(reader.page.locator("#account summary")).to_contain_text(other.address[-4:])
    reader.wallet.undecided.clear()
    reader.expect_said("The account in your wallet changed")
    reader.wallet.choose(buyer)
    reader.page.reload()
    reader.click("Sign in and read")
    reader.expect_text()
    assert reader.bought == 1


def test_a_purchase_wrongly_reported_as_failed_is_not_repeated(reader: Visit) -> None:
    reader.wallet.misreports.add("eth_sendTransaction")
    reader.buy()
    reader.connect()
    reader.expect_said("Your wallet says: Internal JSON-RPC error.")
    reader.wallet.misreports.clear()
    reader.click("Try again")
    reader.click("Sign in and read")
    reader.expect_text()
    assert len(reader.wallet.sent) == 1


def test_a_text_that_arrives_after_sign_out_is_not_shown(reader: Visit) -> None:
    reader.buy()
    reader.connect()
    reader.expect_text()
    held: list[tuple[Route, APIResponse]] = []

    def hold(route: Route) -> None:
        held.append((route, route.fetch()))

    reader.page.route("**/p/*/text", hold)
    with reader.page.expect_request("**/p/*/text"):
        reader.page.reload()
    wait_until(reader.page, lambda: bool(held))
    reader.sign_out()
    expect(reader.page.get_by_role("button", name="Buy and read")).to_be_visible()
    [(route, response)] = held
    assert SECRET in response.text()
    with reader.page.expect_response("**/p/*/text"):
        route.fulfill(response=response)
    # Time for the page to do what it must not.
    reader.page.evaluate("new Promise((resolve) => setTimeout(resolve, 200))")
    assert SECRET not in reader.page.content()
    expect(reader.page.get_by_role("button", name="Buy and read")).to_be_visible()


def test_an_account_change_closes_the_text(reader: Visit, new_account: NewAccount) -> None:
    reader.buy()
    reader.connect()
    reader.expect_text()
    reader.wallet.choose(new_account())
    expect(reader.page.locator("#text")).to_be_hidden()
    assert SECRET not in reader.page.content()


def test_an_ended_session_is_reported_and_sign_in_opens_the_text(
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


def test_an_expired_session_keeps_the_text_open_until_a_reload(
    open_page: OpenPage, new_wallet: NewWallet, shelf: Shelf
) -> None:
    wallet, post = new_wallet(), shelf.paid[0]
    reader = Visit(open_page(wallet), wallet, post)
    reader.page.clock.install()
    reader.opened.visit(f"/p/{post}")
    reader.buy()
    reader.connect()
    reader.expect_text()
    reader.page.clock.fast_forward("02:01:00")
    expect(reader.page.locator(".account-dot")).not_to_have_attribute("data-on", "")
    reader.expect_text()
    reader.page.reload()
    reader.expect_said("You hold this")
    assert SECRET not in reader.page.content()


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
    reader.expect_said("The clocks of this device and of the service differ")
    reader.click("Try again")
    reader.click("Sign in and read")
    reader.expect_text()
    reader.page.reload()
    reader.expect_text()
    assert reader.bought == 1


def test_a_changed_price_is_reported_before_anything_is_sent(
    open_page: OpenPage, new_wallet: NewWallet, service: Service
) -> None:
    [post] = publish(service.url, [NewPost("The bell", f"# The bell\n\n{SECRET}.", price=PRICE)])
    wallet = new_wallet()
    reader = Visit(open_page(wallet), wallet, post)
    reader.opened.visit(f"/p/{post}")
    change_price(service.url, post, 2 * PRICE)
    reader.buy()
    reader.connect()
    reader.expect_said("The author changed the price from 0.01 ETH to 0.02 ETH. Nothing was sent.")
    assert reader.bought == 0
    reader.buy()
    reader.expect_text()


def test_missing_funds_are_reported(
    open_page: OpenPage, new_wallet: NewWallet, new_account: NewAccount, shelf: Shelf
) -> None:
    wallet = new_wallet(new_account(funds=PRICE))
    reader = Visit(open_page(wallet), wallet, shelf.paid[0])
    reader.opened.visit(f"/p/{reader.post}")
    reader.buy()
    reader.connect()
    reader.expect_said("This account has too little for the price and the network's fee")
    assert axe_violations(reader.page) == []


def test_an_unreachable_node_is_retried(reader: Visit) -> None:
    reader.wallet.waits_for_blocks = True
    reader.buy()
    reader.connect()
    reader.expect_said("Sent to the chain")
    reader.wallet.unreachable = True
    reader.expect_said("The chain’s node does not respond. Nothing is lost")
    reader.wallet.unreachable = reader.wallet.waits_for_blocks = False
    expect(reader.page.locator("#text")).to_contain_text(SECRET, timeout=MINUTE)
    assert reader.bought == 1


def test_a_payment_unknown_to_the_node_stays_uncertain(reader: Visit) -> None:
    reader.wallet.waits_for_blocks = True
    reader.wallet.withholds.add("eth_getTransactionByHash")
    reader.buy()
    reader.connect()
    reader.expect_said("The payment is not certain")
    [sent] = reader.wallet.sent
    reader.expect_said(sent)
    assert "othing was" not in reader.page.locator("#gate").inner_text()
    assert axe_violations(reader.page) == []
    reader.page.reload()
    reader.expect_said("The payment is not certain")
    expect(reader.page.get_by_role("button", name="Buy and read")).to_have_count(0)
    reader.wallet.waits_for_blocks = False
    reader.wallet.withholds.clear()
    reader.click("Look again")
    reader.click("Sign in and read")
    reader.expect_text()
    assert reader.bought == 1


def test_a_declined_second_payment_leaves_the_first_uncertain(reader: Visit) -> None:
    reader.doubt()
    reader.wallet.refuses.add("eth_sendTransaction")
    reader.click("Buy again")
    wait_until(reader.page, lambda: reader.bought == 2)
    reader.expect_said("The payment is not certain")
    reader.page.reload()
    reader.expect_said("The payment is not certain")
    assert reader.wallet.sent == []


def test_a_payment_hidden_by_the_node_is_found_by_its_token(reader: Visit) -> None:
    reader.wallet.withholds |= {"eth_getTransactionReceipt", "eth_getTransactionByHash"}
    reader.buy()
    reader.connect()
    reader.expect_text()
    assert reader.bought == 1


def test_a_payment_with_a_lost_hash_is_found_after_a_reload(
    reader: Visit,
) -> None:
    reader.wallet.loses.add("eth_sendTransaction")
    reader.buy()
    reader.connect()
    reader.expect_said("Confirm the purchase in Test Wallet")
    wait_until(reader.page, lambda: len(reader.wallet.sent) == 1)
    reader.page.reload()
    reader.click("Sign in and read")
    reader.expect_text()
    assert reader.bought == 1


def test_an_unreachable_service_loses_nothing(reader: Visit) -> None:
    reader.page.route("**/p/*/text", lambda route: route.abort())
    reader.buy()
    reader.connect()
    reader.expect_said("The service does not respond. Nothing is lost")
    reader.page.unroute("**/p/*/text")
    reader.click("Try again")
    reader.expect_text()
    assert reader.bought == 1


def test_a_purchase_continues_after_service_and_chain_were_down(
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
    expect(developer.locator("#gate")).to_contain_text("The development chain does not respond")
    reader.wallet.undecided.clear()
    reader.expect_said("The service does not respond. Nothing is lost")
    stranger.page.get_by_role("button", name="Buy and read").click()
    expect(stranger.page.locator(".notice")).to_contain_text("The service does not respond")
    stoppable.start()
    reader.click("Try again")
    reader.click("Sign in and read")
    reader.expect_text()
    assert reader.bought == 1
    stranger.page.locator(".notice").get_by_role("button", name="Reload").click()
    stranger.page.get_by_role("button", name="Buy and read").click()
    expect(stranger.page.locator("dialog")).to_be_visible()
