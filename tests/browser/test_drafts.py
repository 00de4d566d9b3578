"""The list of drafts: paging, searching, and deleting drafts."""

from playwright.sync_api import expect
from tests.browser.pages import OpenPage, axe_violations_in_both_schemes
from tests.browser.wallet import NewWallet
from tests.browser.writing import (
    begin,
    editor,
    elsewhere,
    line,
    open_list,
    save,
    sign_in,
)

from imprint.client import Imprint, KeyWallet

TITLES = [f"Draft {number:02}" for number in range(1, 15)]
"""More titles than fit on one page."""


async def write_many(imprint: Imprint, wallet: KeyWallet) -> None:
    for title in TITLES:
        await imprint.create_draft(wallet, f"# {title}\n\nIts text.")


def test_long_lists_are_paged_and_can_be_searched_by_title(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    opened = open_page(new_wallet())
    assert opened.wallet is not None
    elsewhere(opened.url, opened.wallet.account, write_many)
    page = opened.page
    sign_in(opened, page)
    lines = page.locator(".draft-line")
    expect(lines).to_have_count(12)
    expect(line(page, "Draft 14")).to_contain_text("Saved")
    expect(line(page, "Draft 01")).to_have_count(0)
    page.get_by_role("button", name="Show more drafts").click()
    expect(lines).to_have_count(len(TITLES))
    expect(page.get_by_role("button", name="Show more drafts")).to_have_count(0)
    search = page.get_by_role("searchbox", name="Find a draft by its title")
    search.fill("ft 13")
    expect(lines).to_have_count(1)
    expect(lines).to_contain_text("Draft 13")
    search.fill("no such")
    expect(page.get_by_text("No draft has “no such” in its title.")).to_be_visible()
    search.fill("")
    expect(lines).to_have_count(len(TITLES))
    for title in TITLES:
        entry = page.get_by_role("link", name=title, exact=True)
        entry.scroll_into_view_if_needed()
        expect(entry).to_be_visible()
    assert axe_violations_in_both_schemes(page) == []


def test_a_draft_is_deleted_after_a_confirmation_and_a_signature(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    opened = open_page(new_wallet())
    wallet, page = opened.wallet, opened.page
    assert wallet is not None
    sign_in(opened, page)
    begin(page, "# To be deleted")
    save(page)
    open_list(page)
    delete = page.get_by_role("button", name="Delete “To be deleted”")
    delete.press("Enter")
    keep = page.get_by_role("button", name="Keep it")
    expect(keep).to_be_focused()
    expect(page.get_by_role("alertdialog")).to_contain_text("Your wallet signs once.")
    assert axe_violations_in_both_schemes(page) == []
    keep.press("Enter")
    expect(delete).to_be_focused()
    wallet.refuses.add("eth_signTypedData_v4")
    delete.click()
    page.get_by_role("alertdialog").get_by_role("button", name="Delete").click()
    expect(delete).to_be_visible()
    wallet.refuses.clear()
    before = len(wallet.prompts)
    delete.click()
    page.get_by_role("alertdialog").get_by_role("button", name="Delete").click()
    expect(line(page, "To be deleted")).to_have_count(0)
    assert wallet.prompts[before:] == ["eth_signTypedData_v4"]
    sign_in(opened, page)
    expect(page.get_by_text("No drafts yet.")).to_be_visible()


def test_an_unsaved_draft_can_be_deleted_without_a_signature(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    opened = open_page(new_wallet())
    page = opened.page
    sign_in(opened, page)
    begin(page, "# Never sent")
    # Open the list without waiting: the local copy is written while the list opens.
    open_list(page)
    assert opened.wallet is not None
    before = len(opened.wallet.prompts)
    page.get_by_role("button", name="Delete “Never sent”").click()
    confirmation = page.get_by_role("alertdialog")
    expect(confirmation).to_contain_text("It exists only in this browser.")
    confirmation.get_by_role("button", name="Delete").click()
    expect(line(page, "Never sent")).to_have_count(0)
    assert len(opened.wallet.prompts) == before
    assert axe_violations_in_both_schemes(page) == []


def test_a_deletion_can_be_undone_for_ten_seconds(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    opened = open_page(new_wallet())
    page = opened.page
    page.clock.install()
    sign_in(opened, page)
    begin(page, "# Not so fast\n\nIt was needed.")
    save(page)
    open_list(page)
    undo = page.get_by_role("button", name="Undo")

    def delete() -> None:
        page.get_by_role("button", name="Delete “Not so fast”").press("Enter")
        confirmation = page.get_by_role("alertdialog").get_by_role("button", name="Delete")
        confirmation.wait_for()
        page.clock.pause_at(page.evaluate("Date.now() / 1000 + 1"))
        confirmation.press("Enter")
        expect(undo).to_be_visible()
        page.clock.run_for(100)
        expect(undo).to_be_focused()

    delete()
    page.clock.run_for(9_800)
    undo.press("Enter")
    page.clock.resume()
    expect(page.get_by_role("heading", name="Drafts")).to_be_focused()
    expect(line(page, "Not so fast")).to_contain_text("Only in this browser")
    line(page, "Not so fast").get_by_role("link").click()
    expect(editor(page)).to_have_text("It was needed.")
    open_list(page)
    delete()
    page.clock.run_for(10_000)
    expect(undo).to_have_count(0)
    expect(page.get_by_role("heading", name="Drafts")).to_be_focused()
