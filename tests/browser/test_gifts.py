"""Giving a post away, and buying several at once, through the purchase adapter."""

from playwright.sync_api import Page, expect
from tests.browser.pages import OpenPage, axe_violations
from tests.browser.shelf import SECRET, Shelf, Visit
from tests.browser.wallet import BrowserWallet, NewWallet, wait_until

PHONE = {"viewport": {"width": 320, "height": 568}, "has_touch": True, "is_mobile": True}


def expect_to_read(open_page: OpenPage, wallet: BrowserWallet, post: str) -> None:
    """Sign in on the page of a post and wait until its text is shown."""
    reader = Visit(open_page(wallet), wallet, post)
    reader.opened.visit(f"/p/{post}")
    reader.click("Already bought it? Sign in")
    reader.connect()
    reader.expect_text()


def focused(page: Page) -> str:
    """Return the id or the accessible name of the control with the keyboard focus."""
    name: str = page.evaluate(
        "(({id, ariaLabel, textContent}) => id || ariaLabel || textContent)(document.activeElement)"
    )
    return name


def tab_to(page: Page, name: str) -> None:
    """Press the Tab key until the control with this id or name has the focus."""
    for _ in range(60):
        if focused(page) == name:
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"The Tab key does not reach {name}.")


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
    order.get_by_role("button", name="Close", exact=True).last.click()
    expect_to_read(open_page, friend, reader.post)
    reader.click("Already bought it? Sign in")
    wait_until(page, lambda: "personal_sign" in reader.wallet.handled)
    expect(page.locator("#gate").get_by_role("button", name="Buy and read")).to_be_visible()
    assert SECRET not in page.content()


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


def test_a_post_can_be_given_with_the_keyboard_alone(
    reader: Visit, open_page: OpenPage, new_wallet: NewWallet
) -> None:
    friend, page = new_wallet(), reader.page
    page.get_by_role("button", name="Give this post").focus()
    page.keyboard.press("Enter")
    order = page.locator("dialog.order")
    tab_to(page, "order-receiver")
    page.keyboard.type("0x12")
    page.keyboard.press("Enter")
    expect(order.get_by_role("alert")).to_be_visible()
    assert focused(page) == "order-receiver"
    page.keyboard.press("Control+A")
    page.keyboard.type(friend.account.address)
    page.keyboard.press("Enter")
    expect(page.locator("dialog .choice", has_text="Test Wallet")).to_be_visible()
    tab_to(page, "Test Wallet")
    page.keyboard.press("Enter")
    expect(order.get_by_role("status")).to_contain_text("The post is in the library of")
    page.keyboard.press("Escape")
    expect(order).to_have_count(0)
    assert reader.bought == 1
    expect_to_read(open_page, friend, reader.post)


def test_a_cart_can_be_filled_and_changed_with_the_keyboard_alone(
    open_page: OpenPage, shelf: Shelf
) -> None:
    page = open_page().visit(shelf.path)
    for title in ("The lighthouse", "The ferry", "The salt road"):
        page.get_by_role("button", name=f"Add to cart: {title}").focus()
        page.keyboard.press("Enter")
    expect(page.locator(".cart")).to_contain_text("3 posts in your cart")
    tab_to(page, "Buy all")
    page.keyboard.press("Enter")
    order = page.locator("dialog.order")
    order.get_by_label("Give them to somebody else").fill("0x12")
    tab_to(page, "Remove: The ferry")
    page.keyboard.press("Enter")
    expect(order.locator(".order-items li")).to_have_count(2)
    expect(order).to_contain_text("0.02 ETH")
    expect(order.get_by_label("Give them to somebody else")).to_have_value("0x12")
    expect(page.locator(".cart")).to_contain_text("2 posts in your cart")
    assert focused(page).startswith("Remove: ")
    for _ in range(2):
        page.keyboard.press("Enter")
    expect(order.get_by_role("alert")).to_contain_text("nothing left to buy")
    assert order.evaluate("(dialog) => dialog.contains(document.activeElement)")
    expect(order.get_by_role("button", name="Buy for")).to_be_disabled()
    page.keyboard.press("Escape")
    expect(page.locator(".cart")).to_be_hidden()


def test_gifts_and_carts_fit_a_phone(
    open_page: OpenPage, new_wallet: NewWallet, shelf: Shelf
) -> None:
    wallet = new_wallet()
    opened = open_page(wallet, **PHONE)
    page = opened.visit(shelf.path)
    for title in ("The lighthouse", "The ferry"):
        page.get_by_role("button", name=f"Add to cart: {title}").tap()
    page.get_by_role("button", name="Buy all").tap()
    order = page.locator("dialog.order")
    expect(order.get_by_role("button", name="Remove: The ferry")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    assert order.evaluate("(dialog) => dialog.scrollWidth - dialog.clientWidth") == 0
    assert axe_violations(page) == []
    order.get_by_role("button", name="Remove: The ferry").tap()
    order.get_by_role("button", name="Buy for 0.01 ETH").tap()
    connect(page)
    expect(order.get_by_role("status")).to_contain_text("yours")
    opened.visit(f"/p/{shelf.paid[0]}")
    page.get_by_role("button", name="Give this post").tap()
    expect(order.get_by_label("Give it to")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_a_wallet_that_supports_batches_buys_a_cart_in_one_batch(
    open_page: OpenPage, new_wallet: NewWallet, shelf: Shelf
) -> None:
    wallet = new_wallet()
    wallet.batches = {}
    page = open_page(wallet).visit(shelf.path)
    put_into_cart(page, "The lighthouse", "The ferry")
    page.get_by_role("button", name="Buy all").click()
    page.get_by_role("button", name="Buy for 0.02 ETH").click()
    connect(page)
    expect(page.locator("dialog.order").get_by_role("status")).to_contain_text("All 2 posts")
    assert wallet.prompts.count("wallet_sendCalls") == len(wallet.batches) == 1
    assert "eth_sendTransaction" not in wallet.prompts
    for post in shelf.paid[:2]:
        expect_to_read(open_page, wallet, post)


def test_a_pending_batch_is_followed_after_a_reload(
    open_page: OpenPage, new_wallet: NewWallet, shelf: Shelf
) -> None:
    wallet = new_wallet()
    wallet.batches, wallet.delays_batches = {}, True
    opened = open_page(wallet)
    page = opened.visit(shelf.path)
    put_into_cart(page, "The lighthouse", "The ferry")
    page.get_by_role("button", name="Buy all").click()
    page.get_by_role("button", name="Buy for 0.02 ETH").click()
    connect(page)
    wait_until(page, lambda: "wallet_getCallsStatus" in wallet.handled)
    wallet.handled.clear()
    page.reload()
    page.get_by_role("button", name="Continue", exact=True).click()
    wait_until(page, lambda: "wallet_getCallsStatus" in wallet.handled)
    assert wallet.sent == []
    wallet.delays_batches = False
    expect(page.locator("dialog.order").get_by_role("status")).to_contain_text("posts are yours")
    assert wallet.prompts.count("wallet_sendCalls") == 1
    assert len(wallet.sent) == 2
    expect(page.locator(".cart")).to_be_hidden()
