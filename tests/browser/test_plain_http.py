"""Pages over plain http, not on localhost: features that need https say so, others work."""

from urllib.parse import urlsplit

from playwright.sync_api import Page, expect
from tests.browser.chromium import PLAIN_HOST
from tests.browser.pages import Opened, OpenPage, axe_violations
from tests.browser.states import Place
from tests.browser.wallet import NewWallet
from tests.browser.writing import begin, editor, save, standing

NEEDS = "needs a secure connection."


def open_plain(opened: Opened, path: str) -> Page:
    """Open a path over plain http under a host name that is not a secure context."""
    port = urlsplit(opened.url).port
    opened.url = f"http://{PLAIN_HOST}:{port}"
    page = opened.visit(path)
    assert page.evaluate("isSecureContext") is False
    return page


def test_a_draft_is_written_stored_locally_and_saved(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    page = open_plain(open_page(new_wallet()), "/studio")
    page.get_by_role("button", name="Connect your wallet").click()
    page.locator("dialog .choice-name", has_text="Test Wallet").click()
    begin(page, "Without a lock on the door.")
    expect(standing(page)).to_have_text("Only in this browser")
    page.reload()
    expect(editor(page)).to_contain_text("Without a lock on the door.")
    save(page)
    page.get_by_text("Your wallet confirms each save").click()
    panel = page.locator(".writing-panel")
    expect(panel).to_contain_text(NEEDS)
    expect(panel.get_by_role("button", name="Save automatically")).to_have_count(0)
    assert axe_violations(page) == []


def test_the_proof_explains_why_it_cannot_be_verified(open_page: OpenPage, place: Place) -> None:
    page = open_plain(open_page(), f"/p/{place.free}")
    page.locator("#proof > summary").click()
    expect(page.locator("#proof")).to_contain_text(f"Verifying here {NEEDS}")
    expect(page.get_by_role("button", name="Verify in this browser")).to_have_count(0)


def test_the_copy_button_explains_how_to_copy_by_hand(open_page: OpenPage) -> None:
    page = open_plain(open_page(), "/docs")
    page.get_by_role("button", name="Copy", exact=True).first.click()
    expect(page.locator(".notice")).to_contain_text("select the text and copy it yourself")
