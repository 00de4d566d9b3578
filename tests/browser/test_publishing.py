"""Publishing in the Studio: from a text to a post on the chain, through everything that fails."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import Opened, OpenPage, axe_violations
from tests.browser.wallet import BrowserWallet

WalletOf = Callable[[int], BrowserWallet]


def write(opened: Opened, title: str) -> Page:
    """Connect, write a text, and open the form of its publication."""
    page = opened.visit("/studio")
    page.get_by_role("button", name="Connect your wallet").click()
    page.locator("dialog .choice-name", has_text="Test Wallet").click()
    page.get_by_role("button", name="New draft").click()
    editor = page.locator(".cm-content")
    editor.click()
    page.keyboard.type(f"# {title}\n\nThe text of it.")
    page.wait_for_timeout(1_000)
    key = page.url.rpartition("/")[2]
    page.evaluate("key => { location.hash = `#/publish/${key}` }", key)
    expect(page.get_by_label("Title", exact=True)).to_have_value(title)
    return page


def publish(page: Page) -> None:
    page.get_by_role("button", name="Publish", exact=True).click()


def expect_published(page: Page) -> str:
    """The path of the post."""
    link = page.get_by_role("link", name="See the post")
    expect(link).to_be_visible()
    return link.get_attribute("href") or ""


@pytest.mark.parametrize(("price", "shown"), [("", "Free"), ("0.05", "0.05 ETH")])
def test_a_text_becomes_a_post(
    open_page: OpenPage, wallet_of: WalletOf, price: str, shown: str
) -> None:
    wallet = wallet_of(0)
    page = write(open_page(wallet), f"A post that is {shown}")
    page.get_by_label("Price in ETH").fill(price)
    expect(page.locator(".publish-card .card-price")).to_have_text(shown)
    publish(page)
    path = expect_published(page)
    assert len(wallet.sent) == 1
    page.goto(re.sub(r"/studio.*", path, page.url))
    expect(page.get_by_role("heading", name=f"A post that is {shown}")).to_be_visible()


def test_limits_are_counted_while_typing(open_page: OpenPage, wallet_of: WalletOf) -> None:
    page = write(open_page(wallet_of(1)), "Limits")
    page.get_by_label("Title", exact=True).fill("é" * 51)
    expect(page.get_by_text("102 of 100 bytes")).to_be_visible()
    expect(page.get_by_text("Shorten the title by 2 bytes.")).to_be_visible()
    page.get_by_label("Price in ETH").fill("1.5")
    expect(page.get_by_text("The price can be at most 1.")).to_be_visible()
    page.get_by_label("Hashtags").fill("#Essay, ")
    expect(page.get_by_role("button", name="Remove #essay")).to_be_visible()
    publish(page)
    expect(page.get_by_role("alert")).to_contain_text("Shorten the title")
    assert axe_violations(page) == []


def test_a_rejected_transaction_is_asked_for_again(
    open_page: OpenPage, wallet_of: WalletOf
) -> None:
    wallet = wallet_of(2)
    wallet.refuses.add("eth_sendTransaction")
    page = write(open_page(wallet), "Rejected first")
    publish(page)
    expect(page.get_by_role("alert")).to_be_visible()
    assert wallet.sent == []
    wallet.refuses.clear()
    page.get_by_role("button", name="Try again").click()
    expect_published(page)
    assert len(wallet.sent) == 1


@pytest.mark.parametrize("method", ["eth_signTypedData_v4", "eth_sendTransaction"])
def test_a_reload_goes_on_where_it_was(
    open_page: OpenPage, wallet_of: WalletOf, method: str
) -> None:
    wallet = wallet_of(3)
    page = write(open_page(wallet), "Reloaded in between")
    wallet.refuses.add(method)
    publish(page)
    expect(page.get_by_role("alert")).to_be_visible()
    wallet.refuses.clear()
    page.reload()
    page.get_by_role("button", name="Continue publishing").click()
    expect_published(page)
    assert len(wallet.sent) == 1


def test_keys_crop_a_picture(open_page: OpenPage, wallet_of: WalletOf) -> None:
    page = write(open_page(wallet_of(4)), "With a picture")
    with page.expect_file_chooser() as chosen:
        page.get_by_role("button", name="Choose a picture…").click()
    picture = page.screenshot()
    chosen.value.set_files({"name": "a.png", "mimeType": "image/png", "buffer": picture})
    stage = page.get_by_label("Part of the picture that is shown")
    stage.focus()
    page.keyboard.press("+")
    expect(page.get_by_label("Zoom")).not_to_have_value("1")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("0")
    expect(page.get_by_label("Zoom")).to_have_value("1")
    publish(page)
    expect_published(page)
