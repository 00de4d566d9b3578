"""Writing in the Studio: text, preview, pictures, keyboard use, and saving with a wallet."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser.accounts import NewAccount
from tests.browser.pages import OpenPage, axe_violations_in_both_schemes
from tests.browser.wallet import NewWallet
from tests.browser.writing import (
    add,
    begin,
    editor,
    elsewhere,
    line,
    open_list,
    save,
    save_without_prompts,
    sign_in,
    standing,
    title,
    wait_until_kept,
)

from imprint.client import Imprint, KeyWallet

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

KEYS = """async () => {
  const opening = indexedDB.open("imprint");
  await new Promise((resolve) => { opening.onsuccess = resolve; });
  const count = opening.result.transaction("keys").objectStore("keys").count();
  await new Promise((resolve) => { count.onsuccess = resolve; });
  opening.result.close();
  return count.result;
}"""
"""Counts the writing keys stored in this browser."""


def test_a_text_is_saved_with_one_signature_and_listed(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    opened = open_page(new_wallet())
    page = opened.page
    sign_in(opened, page)
    begin(page, "# A first text\n\nWith **strong** words.")
    expect(page.locator(".preview strong")).to_have_text("strong")
    expect(page.locator(".counts")).to_contain_text("6 words")
    assert opened.wallet is not None
    before = len(opened.wallet.prompts)
    save(page)
    assert opened.wallet.prompts[before:] == ["eth_signTypedData_v4"]
    assert axe_violations_in_both_schemes(page) == []
    open_list(page)
    expect(line(page, "A first text")).to_contain_text("Saved")
    line(page, "A first text").get_by_role("link").click()
    expect(editor(page)).to_contain_text("With **strong** words.")


def test_a_writing_session_saves_without_prompts_until_it_is_ended(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    opened = open_page(new_wallet())
    page = opened.page
    sign_in(opened, page)
    begin(page, "# By itself\n\n")
    save_without_prompts(page)
    assert opened.wallet is not None
    before = len(opened.wallet.prompts)
    add(page, "One more line.")
    expect(standing(page)).to_have_text("Saved")
    page.reload()
    expect(editor(page)).to_contain_text("One more line.")
    page.get_by_text("Saving automatically", exact=True).click()
    assert axe_violations_in_both_schemes(page) == []
    assert len(opened.wallet.prompts) == before
    page.get_by_role("button", name="Stop saving automatically").click()
    expect(page.get_by_text("Your wallet confirms each save")).to_be_visible()
    add(page, " And one that waits.")
    expect(standing(page)).to_have_text("Unsaved changes, kept in this browser")
    save(page)
    assert opened.wallet.prompts[before:] == ["eth_signTypedData_v4"]


def test_the_first_save_offers_to_save_automatically(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    opened = open_page(new_wallet(), viewport={"width": 320, "height": 568}, has_touch=True)
    wallet, page = opened.wallet, opened.page
    assert wallet is not None
    sign_in(opened, page)
    begin(page, "# The first save")
    before = len(wallet.prompts)
    page.get_by_role("button", name="Save your wallet signs once").tap()
    offer = page.get_by_role("dialog", name="How do you want to save?")
    automatic = offer.get_by_role("button", name="Save automatically today")
    expect(automatic).to_be_focused()
    assert axe_violations_in_both_schemes(page) == []
    page.keyboard.press("Escape")
    expect(offer).to_have_count(0)
    wallet.undecided.add("eth_signTypedData_v4")
    page.get_by_role("button", name="Save your wallet signs once").tap()
    expect(automatic).to_be_focused()
    page.keyboard.press("Enter")
    expect(offer.get_by_role("button", name="Check your wallet")).to_be_disabled()
    wallet.refuses.add("eth_signTypedData_v4")
    wallet.undecided.clear()
    expect(automatic).to_be_enabled()
    wallet.refuses.clear()
    automatic.tap()
    expect(standing(page)).to_have_text("Saved")
    add(page, " by itself")
    expect(standing(page)).to_have_text("Saved")
    assert wallet.prompts[before:] == ["eth_signTypedData_v4"] * 2, "declined once, then signed"


def test_the_preview_appears_after_sign_in(open_page: OpenPage, new_wallet: NewWallet) -> None:
    opened = open_page(new_wallet())
    page = opened.page
    sign_in(opened, page)
    begin(page, "# Before a session\n\nWith *leaning* words.")
    expect(page.locator(".preview em")).to_have_text("leaning")
    wait_until_kept(page, "leaning")
    page.evaluate('localStorage.removeItem("imprint.session")')
    page.reload()
    preview = page.get_by_role("region", name="Preview")
    expect(preview).to_contain_text("Sign in to see the preview.")
    expect(editor(page)).to_contain_text("leaning")
    assert axe_violations_in_both_schemes(page) == []
    preview.get_by_role("button", name="Sign in for the preview").click()
    expect(preview.locator("em")).to_have_text("leaning")
    expect(preview.get_by_role("button")).to_have_count(0)


def test_signing_out_on_every_device_ends_saving_without_prompts(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    async def list_sessions(imprint: Imprint, wallet: KeyWallet) -> int:
        await imprint.login(wallet)
        return len(await imprint.list_writing_sessions())

    wallet = new_wallet()
    opened = open_page(wallet)
    page = opened.page
    sign_in(opened, page)
    begin(page, "# Then no more\n\n")
    save_without_prompts(page)
    assert page.evaluate(KEYS) == 1
    assert elsewhere(opened.url, wallet.account, list_sessions) == 1
    page.goto(f"{opened.url}/library")
    expect(page.locator("#account .account-name")).to_contain_text("Test Wallet")
    page.locator("#account summary").click()
    page.get_by_role("button", name="Sign out on every device").click()
    expect(page.get_by_text("You’re signed out on every device.")).to_be_visible()
    assert page.evaluate(KEYS) == 0
    assert elsewhere(opened.url, wallet.account, list_sessions) == 0


def test_a_pasted_picture_is_collapsed_and_previewed(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    opened = open_page(new_wallet())
    page = opened.page
    sign_in(opened, page)
    begin(page, "Before.\n\n")
    page.evaluate(PICTURE)
    dialog = page.get_by_role("dialog", name="About this picture")
    expect(dialog.get_by_label("What does it show?")).to_have_value("A teal field")
    assert axe_violations_in_both_schemes(page) == []
    dialog.get_by_label("Caption (optional)").fill("Near the sea")
    page.keyboard.press("Enter")
    expect(editor(page)).to_be_focused()
    expect(page.locator(".folded-picture")).to_be_visible()
    expect(editor(page)).to_contain_text("![A teal field]")
    assert "base64" not in editor(page).inner_text()
    picture = page.locator(".preview img")
    expect(picture).to_have_attribute("alt", "A teal field")
    assert axe_violations_in_both_schemes(page) == []
    assert picture.evaluate("async (shown) => (await shown.decode(), shown.naturalWidth)") == 1600


def test_a_text_stays_with_its_owner_when_the_account_changes(
    open_page: OpenPage, new_wallet: NewWallet, new_account: NewAccount
) -> None:
    opened = open_page(new_wallet())
    page = opened.page
    sign_in(opened, page)
    begin(page, "Mine alone.")
    wallet = opened.wallet
    assert wallet is not None
    mine = wallet.account
    wallet.choose(new_account())
    expect(page.get_by_role("alert")).to_contain_text("This text belongs to")
    assert axe_violations_in_both_schemes(page) == []
    expect(editor(page)).to_contain_text("Mine alone.")
    wallet.choose(mine)
    expect(page.get_by_text("This text belongs to")).to_have_count(0)


def test_a_restored_session_does_not_replace_a_wallet(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    opened = open_page(new_wallet())
    wallet, page = opened.wallet, opened.page
    assert wallet is not None
    sign_in(opened, page)
    wallet.connected = False
    page.reload()
    page.get_by_role("button", name="Connect your wallet").click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("Test Wallet")).click()
    expect(page.get_by_role("heading", name="Drafts")).to_be_visible()


def test_a_draft_can_be_written_and_saved_with_the_keyboard_alone(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    opened = open_page(new_wallet())
    page = opened.visit("/studio")
    press(page, page.get_by_role("button", name="Connect your wallet"))
    press(page, page.get_by_role("dialog").get_by_role("button", name=re.compile("Test Wallet")))
    press(page, page.get_by_role("button", name="New draft", exact=True))
    expect(title(page)).to_be_focused()
    page.keyboard.type("By keys")
    page.keyboard.press("Enter")
    expect(editor(page)).to_be_focused()
    page.keyboard.type("- one")
    page.keyboard.press("Enter")
    page.keyboard.type("two")
    expect(editor(page)).to_contain_text("- two")
    page.keyboard.press("Control+s")
    press(page, page.get_by_role("button", name="Just this once"))
    expect(standing(page)).to_have_text("Saved")
    expect(editor(page)).to_be_focused()
    page.keyboard.type(" and a half")
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(editor(page)).not_to_be_focused()
    press(page, page.get_by_role("button", name="Save your wallet signs once"), "Shift+Tab")
    expect(standing(page)).to_have_text("Saved")
    press(page, page.get_by_role("link", name="Drafts", exact=True).first, "Shift+Tab")
    expect(line(page, "By keys")).to_contain_text("Saved")


def press(page: Page, wanted: Locator, step: str = "Tab") -> None:
    """Move the focus to an element with the keyboard and press Enter."""
    wanted.wait_for()
    for _ in range(100):
        page.keyboard.press(step)
        if wanted.evaluate("(element) => element === document.activeElement"):
            page.keyboard.press("Enter")
            return
    pytest.fail(f"No key leads to {wanted}.")


def test_every_state_passes_axe_and_fits_a_phone(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    opened = open_page(new_wallet(), viewport={"width": 320, "height": 640})
    page = opened.visit("/studio")
    expect(page.get_by_role("heading", name="Start writing")).to_be_visible()
    expect_to_fit(page)
    sign_in(opened, page)
    begin(page, f"# {'Long' * 40}\n\n[{'link' * 30}](https://example.org/{'path' * 30})\n")
    expect_to_fit(page)
    page.get_by_text("Your wallet confirms each save").click()
    expect_to_fit(page)
    page.get_by_text("Your wallet confirms each save").click()
    page.get_by_role("button", name="Preview", exact=True).click()
    expect(page.locator(".preview a")).to_be_visible()
    expect_to_fit(page)
    save(page)
    open_list(page)
    expect(line(page, "Long")).to_contain_text("Saved")
    expect_to_fit(page)
    page.get_by_role("button", name="Delete").first.click()
    expect(page.get_by_role("alertdialog")).to_be_visible()
    expect_to_fit(page)


def expect_to_fit(page: Page) -> None:
    """Check that nothing is clipped or scrolls sideways, and that axe finds no violations."""
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    assert axe_violations_in_both_schemes(page) == []
