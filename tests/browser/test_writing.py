"""The writing half of the Studio, with a wallet, several tabs, and no network."""

import re
from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect
from tests.browser.conftest import Opened, OpenPage, axe_violations
from tests.browser.wallet import BrowserWallet

WalletOf = Callable[[int], BrowserWallet]

PICTURE = """async () => {
  const canvas = document.createElement("canvas");
  canvas.width = 2400;
  canvas.height = 1200;
  const context = canvas.getContext("2d");
  context.fillStyle = "teal";
  context.fillRect(0, 0, 2400, 1200);
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  const data = new DataTransfer();
  data.items.add(new File([blob], "A teal field.png", { type: "image/png" }));
  document.querySelector(".cm-content").dispatchEvent(
    new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
}"""
"""Pastes a picture into the text."""


def sign_in(opened: Opened, page: Page) -> None:
    """Connect the wallet in the Studio, if the page does not do that by itself."""
    page.goto(f"{opened.url}/studio")
    heading = page.get_by_role("heading", name="Drafts")
    connect = page.get_by_role("button", name="Connect your wallet")
    expect(heading.or_(connect)).to_be_visible()
    if connect.is_visible():
        connect.click()
        choice = page.get_by_role("dialog").get_by_role("button", name=re.compile("Test Wallet"))
        expect(heading.or_(choice)).to_be_visible()
        if choice.is_visible():
            choice.click()
    expect(heading).to_be_visible()
    expect(page.get_by_text("Sign in to see the drafts")).to_have_count(0)


def begin(page: Page, text: str) -> None:
    """Write in a new draft."""
    page.get_by_role("button", name="New draft").click()
    editor(page).wait_for()
    page.keyboard.insert_text(text)


def editor(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Text of the draft")


def standing(page: Page) -> Locator:
    return page.locator(".standing")


def save(page: Page) -> None:
    page.get_by_role("button", name="Save your wallet signs once").click()
    expect(standing(page)).to_have_text("Saved")


def test_a_text_is_written_saved_with_one_signature_and_found_again(
    open_page: OpenPage, wallet_of: WalletOf
) -> None:
    opened = open_page(wallet_of(0))
    page = opened.page
    sign_in(opened, page)
    begin(page, "# A first text\n\nWith **strong** words.")
    expect(page.locator(".preview strong")).to_have_text("strong")
    expect(page.locator(".counts")).to_contain_text("6 words")
    assert opened.wallet is not None
    before = len(opened.wallet.prompts)
    save(page)
    assert opened.wallet.prompts[before:] == ["eth_signTypedData_v4"]
    assert axe_violations(page) == []
    page.get_by_role("link", name="Drafts", exact=True).first.click()
    line = page.locator(".draft-line", has_text="A first text")
    expect(line).to_contain_text("Saved")
    line.get_by_role("link").click()
    expect(editor(page)).to_contain_text("With **strong** words.")


def test_what_was_not_saved_is_there_after_a_reload(
    open_page: OpenPage, wallet_of: WalletOf
) -> None:
    opened = open_page(wallet_of(1))
    page = opened.page
    sign_in(opened, page)
    begin(page, "Never saved.")
    expect(standing(page)).to_have_text("Only in this browser")
    page.evaluate("dispatchEvent(new Event('pagehide'))")
    sign_in(opened, page)
    line = page.locator(".draft-line", has_text="Never saved.")
    expect(line).to_contain_text("Only in this browser")
    line.get_by_role("link").click()
    expect(editor(page)).to_contain_text("Never saved.")


def test_a_writing_session_saves_without_prompts_and_after_a_lost_network(
    open_page: OpenPage, wallet_of: WalletOf
) -> None:
    opened = open_page(wallet_of(2))
    page = opened.page
    sign_in(opened, page)
    begin(page, "# By itself\n\n")
    page.get_by_text("Each save asks your wallet").click()
    page.get_by_role("button", name="Write without prompts for 24 hours").click()
    expect(page.get_by_text("Saves without prompts")).to_be_visible()
    assert opened.wallet is not None
    before = len(opened.wallet.prompts)
    editor(page).focus()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("One more line.")
    expect(standing(page)).to_have_text("Saved")
    opened.context.set_offline(True)
    page.keyboard.insert_text(" Without a network.")
    expect(standing(page)).to_have_text("Waiting for the service")
    opened.context.set_offline(False)
    expect(standing(page)).to_have_text("Saved")
    assert len(opened.wallet.prompts) == before


def test_two_tabs_on_one_draft_see_both_texts(open_page: OpenPage, wallet_of: WalletOf) -> None:
    opened = open_page(wallet_of(3))
    one = opened.page
    sign_in(opened, one)
    begin(one, "The first line.")
    save(one)
    address = one.url
    other = opened.another()
    sign_in(opened, other)
    other.goto(address)
    expect(editor(other)).to_contain_text("The first line.")
    expect(one.get_by_text("open in another tab")).to_be_visible()
    editor(other).focus()
    other.keyboard.press("Control+End")
    other.keyboard.insert_text(" From the other tab.")
    editor(one).focus()
    one.keyboard.press("Control+End")
    one.keyboard.insert_text(" From this tab.")
    save(other)
    versions = one.get_by_role("region", name="Both versions")
    expect(versions).to_contain_text("From this tab.")
    expect(versions.locator("ins")).to_have_text("this")
    expect(versions).to_contain_text("From the other tab.")
    expect(versions.locator("mark")).to_have_text("the other")
    assert axe_violations(one) == []
    one.get_by_role("button", name="Take the other one").click()
    expect(editor(one)).to_contain_text("From the other tab.")
    one.get_by_role("link", name="Drafts", exact=True).first.click()
    expect(one.locator(".draft-line", has_text="Only in this browser")).to_contain_text(
        "Your version of"
    )


def test_a_pasted_picture_is_folded_in_the_text_and_shown_in_the_preview(
    open_page: OpenPage, wallet_of: WalletOf
) -> None:
    opened = open_page(wallet_of(4))
    page = opened.page
    sign_in(opened, page)
    begin(page, "Before.\n\n")
    page.evaluate(PICTURE)
    expect(page.locator(".folded-picture")).to_be_visible()
    expect(editor(page)).to_contain_text("![A teal field]")
    assert "base64" not in editor(page).inner_text()
    picture = page.locator(".preview img")
    expect(picture).to_have_attribute("alt", "A teal field")
    assert picture.evaluate("async (shown) => (await shown.decode(), shown.naturalWidth)") == 1600


def test_another_account_in_the_wallet_leaves_the_text_with_its_own(
    open_page: OpenPage, wallet_of: WalletOf
) -> None:
    opened = open_page(wallet_of(5))
    page = opened.page
    sign_in(opened, page)
    begin(page, "Mine alone.")
    wallet = opened.wallet
    assert wallet is not None
    mine, (other, *_) = wallet.accounts[0], wallet_of(6).accounts
    wallet.choose(other)
    expect(page.get_by_role("alert")).to_contain_text("This text belongs to")
    expect(editor(page)).to_contain_text("Mine alone.")
    wallet.choose(mine)
    expect(page.get_by_text("This text belongs to")).to_have_count(0)


def test_the_editor_is_left_by_keyboard(open_page: OpenPage, wallet_of: WalletOf) -> None:
    opened = open_page(wallet_of(7))
    page = opened.page
    sign_in(opened, page)
    page.get_by_role("button", name="New draft").press("Enter")
    editor(page).wait_for()
    page.keyboard.type("- one")
    page.keyboard.press("Enter")
    page.keyboard.type("two")
    expect(editor(page)).to_contain_text("- two")
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(editor(page)).not_to_be_focused()
    editor(page).focus()
    page.keyboard.press("Control+s")
    expect(standing(page)).to_have_text("Saved")
