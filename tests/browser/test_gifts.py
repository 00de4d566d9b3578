"""Giving a post away, and buying several at once, through the purchase adapter."""

from playwright.sync_api import Page, expect
from tests.browser.pages import OpenPage, axe_violations
from tests.browser.shelf import SECRET, Shelf, Visit
from tests.browser.wallet import NewWallet, wait_until


def connect(page: Page) -> None:
    page.locator("dialog .choice", has_text="Test Wallet").click()


def put_into_cart(page: Page, *titles: str) -> None:
    for title in titles:
        page.get_by_role("button", name=f"Add to cart: {title}").click()
        expect(page.get_by_role("button", name=f"In your cart: {title}")).to_be_visible()


def test_a_post_can_be_given_only_to_an_address_with_a_valid_checksum(
    reader: Visit, open_page: OpenPage, new_wallet: NewWallet
) -> None:
    friend, page = new_wallet(), reader.page
    page.get_by_role("button", name="Give this post").click()
    order = page.locator("dialog.order")
    address = friend.account.address
    wrong = address[:-1] + ("0" if address[-1] != "0" else "1")
    order.get_by_label("Give it to").fill(wrong)
    order.get_by_role("button", name="Give it for 0.01 ETH").click()
    expect(order.get_by_role("alert")).to_contain_text("isn’t a valid address")
    assert axe_violations(page) == []
    order.get_by_label("Give it to").fill(address)
    order.get_by_role("button", name="Give it for 0.01 ETH").click()
    connect(page)
    expect(order.get_by_role("status")).to_contain_text("The post is in the library of")
    assert axe_violations(page) == []
    assert reader.bought == 1
    given = open_page(friend)
    received = Visit(given, friend, reader.post)
    given.visit(f"/p/{reader.post}")
    received.click("Already bought it? Sign in")
    received.connect()
    received.expect_text()


def test_a_cart_is_bought_with_one_payment(
    open_page: OpenPage, new_wallet: NewWallet, shelf: Shelf
) -> None:
    wallet = new_wallet()
    opened = open_page(wallet)
    page = opened.visit(shelf.path)
    put_into_cart(page, "The lighthouse", "The ferry")
    page.reload()
    expect(page.locator(".cart")).to_contain_text("2 posts in your cart · 0.02 ETH")
    assert axe_violations(page) == []
    page.get_by_role("button", name="Buy all").click()
    order = page.locator("dialog.order")
    order.get_by_role("button", name="Buy for 0.02 ETH").click()
    connect(page)
    expect(order.get_by_role("status")).to_contain_text("All 2 posts are yours")
    expect(page.locator(".cart")).to_be_hidden()
    assert wallet.prompts.count("eth_sendTransaction") == 1
    order.get_by_role("link", name="Open your library").click()
    page.locator("main").get_by_role("button", name="Sign in").click()
    expect(page.locator(".shelf-post")).to_have_count(2)
    expect(page.locator(".shelf-post").first).to_contain_text("for 0.01 ETH")
    assert SECRET not in page.content()


def test_an_interrupted_payment_is_completed_and_not_repeated(
    open_page: OpenPage, new_wallet: NewWallet, shelf: Shelf
) -> None:
    wallet = new_wallet()
    opened = open_page(wallet)
    page = opened.visit(shelf.path)
    wallet.undecided.add("eth_sendTransaction")
    put_into_cart(page, "The lighthouse", "The ferry")
    page.get_by_role("button", name="Buy all").click()
    page.get_by_role("button", name="Buy for 0.02 ETH").click()
    connect(page)
    expect(page.locator("dialog.order")).to_contain_text("Confirm the purchase in Test Wallet")
    wait_until(page, lambda: "eth_sendTransaction" in wallet.prompts)
    page.goto("about:blank")
    wallet.undecided.clear()
    wallet.confirm_last()
    opened.visit(shelf.path)
    expect(page.locator(".cart")).to_contain_text("isn’t finished")
    page.get_by_role("button", name="Continue", exact=True).click()
    expect(page.locator("dialog.order").get_by_role("status")).to_contain_text("posts are yours")
    assert len(wallet.sent) == 1
