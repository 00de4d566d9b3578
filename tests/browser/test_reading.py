"""Buying and reading a post: the whole path, and a reload at every step."""

from playwright.sync_api import Request, expect
from tests.browser.pages import OpenPage, axe_violations
from tests.browser.shelf import SECRET, Shelf, Visit
from tests.browser.wallet import NewWallet


def test_a_post_is_locked_then_bought_and_read(reader: Visit) -> None:
    reader.click("Already bought it? Sign in")
    reader.connect()
    reader.expect_said("This account doesn’t own the post")
    assert SECRET not in reader.page.content()
    reader.buy()
    reader.expect_text()
    reader.expect_said("You own this")
    assert reader.wallet.prompts == ["eth_requestAccounts", "personal_sign", "eth_sendTransaction"]
    reader.page.reload()
    reader.expect_text()
    assert reader.bought == 1


def test_a_first_view_of_a_paid_post_loads_no_wallet_code(
    open_page: OpenPage, shelf: Shelf
) -> None:
    opened = open_page()
    loaded: list[Request] = []
    opened.page.on("requestfinished", lambda request: loaded.append(request))  # noqa: PLW0108
    page = opened.visit(f"/p/{shelf.paid[0]}")
    expect(page.get_by_role("button", name="Buy and read")).to_be_visible()
    scripts = [each for each in loaded if each.resource_type == "script"]
    assert sum(each.sizes()["responseBodySize"] for each in scripts) < 15_000


def test_every_step_is_shown_and_passes_axe(reader: Visit) -> None:
    steps = reader.page.locator(".steps li")
    reader.wallet.undecided.add("eth_sendTransaction")
    reader.wallet.waits_for_blocks = True
    reader.buy()
    expect(reader.page.locator("dialog")).to_be_visible()
    assert axe_violations(reader.page) == []
    reader.connect()
    expect(steps.nth(0)).to_have_attribute("data-state", "now")
    assert axe_violations(reader.page) == []
    reader.wallet.undecided.clear()
    expect(steps.nth(2)).to_have_attribute("data-state", "now")
    assert axe_violations(reader.page) == []
    reader.wallet.undecided.add("personal_sign")
    reader.wallet.waits_for_blocks = False
    expect(steps.nth(3)).to_have_attribute("data-state", "now")
    assert axe_violations(reader.page) == []
    reader.wallet.undecided.clear()
    reader.expect_text()
    assert axe_violations(reader.page) == []


def test_a_payment_sent_during_a_reload_is_not_repeated(reader: Visit) -> None:
    reader.wallet.undecided.add("eth_sendTransaction")
    reader.buy()
    reader.connect()
    reader.expect_said("Confirm the purchase in Test Wallet")
    reader.page.goto("about:blank")
    reader.wallet.undecided.clear()
    reader.wallet.confirm_last()
    reader.opened.visit(f"/p/{reader.post}")
    reader.click("Sign in and read")
    reader.expect_text()
    assert len(reader.wallet.sent) == 1


def test_a_pending_payment_is_still_followed_after_a_reload(reader: Visit) -> None:
    reader.wallet.waits_for_blocks = True
    reader.buy()
    reader.connect()
    sent = reader.page.locator('.steps li[data-state="done"]', has_text="Sent to the chain")
    expect(sent).to_be_visible()
    reader.page.reload()
    expect(sent).to_be_visible()
    reader.wallet.waits_for_blocks = False
    reader.click("Sign in and read")
    reader.expect_text()
    assert reader.bought == 1


def test_two_tabs_do_not_buy_twice(reader: Visit) -> None:
    reader.wallet.undecided.add("eth_sendTransaction")
    reader.buy()
    reader.connect()
    reader.expect_said("Confirm the purchase in Test Wallet")
    other = reader.opened.another()
    other.goto(reader.page.url)
    expect(other.locator("#gate")).to_contain_text("You’re buying this post in another tab")
    reader.wallet.undecided.clear()
    reader.expect_text()
    reader.expect_text(other)
    assert reader.bought == 1


def test_a_holder_does_not_pay_again(open_page: OpenPage, reader: Visit) -> None:
    reader.buy()
    reader.connect()
    reader.expect_text()
    reader.wallet.prompts.clear()
    new_browser = open_page(reader.wallet)
    reader.wallet.connected = False
    again = Visit(new_browser, reader.wallet, reader.post)
    new_browser.visit(f"/p/{reader.post}")
    again.buy()
    again.connect()
    again.expect_text()
    assert reader.wallet.prompts == ["eth_requestAccounts", "personal_sign"]


def test_the_author_can_open_the_post_without_buying_it(
    open_page: OpenPage, new_wallet: NewWallet, shelf: Shelf
) -> None:
    wallet = new_wallet(shelf.author)
    author = Visit(open_page(wallet), wallet, shelf.paid[0])
    author.opened.visit(f"/p/{author.post}")
    author.buy()
    author.connect()
    author.expect_text()
    author.expect_said("You wrote this")
    assert author.bought == 0


def test_choosing_a_development_account_is_enough_to_buy(open_page: OpenPage, shelf: Shelf) -> None:
    page = open_page().visit(f"/p/{shelf.paid[-1]}")
    page.get_by_role("button", name="Buy and read").click()
    page.locator("dialog").get_by_role("button", name="Jon (reader)").click()
    expect(page.locator("#text")).to_contain_text(SECRET)
