"""One draft in two tabs or on two machines: both texts are shown, and neither is overwritten."""

import re

from playwright.sync_api import Page, expect
from tests.browser.pages import Opened, OpenPage, axe_violations_in_both_schemes
from tests.browser.wallet import NewWallet
from tests.browser.writing import (
    add,
    ask_to_save,
    begin,
    editor,
    full_storage,
    line,
    open_list,
    save,
    sign_in,
    standing,
)


def test_conflicting_edits_in_two_tabs_show_both_versions(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    opened = open_page(new_wallet())
    one = opened.page
    sign_in(opened, one)
    begin(one, "The first line.")
    save(one)
    other = opened.another()
    sign_in(opened, other)
    other.goto(one.url)
    expect(editor(other)).to_contain_text("The first line.")
    expect(one.get_by_text("open in another tab")).to_be_visible()
    add(other, " From the other tab.")
    add(one, " From this tab.")
    save(other)
    versions = one.get_by_role("region", name="Both versions")
    expect(versions).to_contain_text("From this tab.")
    expect(versions.locator("ins")).to_have_text("this")
    expect(versions).to_contain_text("From the other tab.")
    expect(versions.locator("mark")).to_have_text("the other")
    one.bring_to_front()
    assert axe_violations_in_both_schemes(one) == []
    one.get_by_role("button", name="Use the other version").click()
    expect(editor(one)).to_contain_text("From the other tab.")
    open_list(one)
    aside = line(one, "Only in this browser")
    expect(aside).to_contain_text("Your version of")
    expect(line(one, "Unsaved changes")).to_have_count(0)
    aside.get_by_role("link").click()
    expect(editor(one)).to_contain_text("From this tab.")


def two_machines(open_page: OpenPage, new_wallet: NewWallet) -> tuple[Opened, Opened]:
    """Open two browsers for one account, each with its own wallet."""
    wallet = new_wallet()
    return open_page(wallet), open_page(new_wallet(wallet.account))


def conflict(first: Opened, second: Opened) -> None:
    """Edit one draft on two machines, and save on the second before the first."""
    one, other = first.page, second.page
    sign_in(first, one)
    begin(one, "Common ground.")
    save(one)
    sign_in(second, other)
    other.goto(one.url)
    expect(editor(other)).to_contain_text("Common ground.")
    add(one, " Written at home.")
    add(other, " Written at work.")
    save(other)
    ask_to_save(one)
    expect(one.get_by_role("heading", name="This draft was also saved elsewhere")).to_be_visible()


def test_a_version_saved_on_another_machine_is_not_overwritten_silently(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    first, second = two_machines(open_page, new_wallet)
    conflict(first, second)
    one, other = first.page, second.page
    versions = one.get_by_role("region", name="Both versions")
    one.set_viewport_size({"width": 320, "height": 640})
    one.wait_for_function("() => document.documentElement.scrollWidth <= 320")
    expect(versions.locator("ins")).to_have_text("home")
    expect(versions.locator("mark")).to_have_text("work")
    one.get_by_role("button", name="Keep mine").click()
    expect(standing(one)).to_have_text("Saved")
    expect(editor(one)).to_contain_text("Written at home.")
    look_again(other)
    expect(editor(other)).to_contain_text("Written at home.")
    expect(other.get_by_text("You’re now seeing that version")).to_be_visible()


def test_both_versions_can_be_saved_as_drafts(open_page: OpenPage, new_wallet: NewWallet) -> None:
    first, second = two_machines(open_page, new_wallet)
    conflict(first, second)
    one, other = first.page, second.page
    assert first.wallet is not None
    before, address = len(first.wallet.prompts), one.url
    one.get_by_role("button", name="Keep both").click()
    expect(one.get_by_text("Both are kept")).to_be_visible()
    expect(editor(one)).to_contain_text("Written at home.")
    expect(standing(one)).to_have_text("Saved")
    assert first.wallet.prompts[before:] == ["eth_signTypedData_v4"]
    assert one.url != address
    sign_in(second, other)
    expect(line(other, "Common ground.").filter(has_text="Saved")).to_have_count(2)
    other.goto(one.url)
    expect(editor(other)).to_contain_text("Written at home.")
    other.goto(address)
    expect(editor(other)).to_contain_text("Written at work.")


def test_both_versions_stay_in_the_browser_if_the_signature_is_declined(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    first, second = two_machines(open_page, new_wallet)
    conflict(first, second)
    one = first.page
    assert first.wallet is not None
    first.wallet.refuses.add("eth_signTypedData_v4")
    one.get_by_role("button", name="Keep both").click()
    expect(standing(one)).to_have_text("Not saved")
    expect(one.get_by_role("alert")).to_contain_text("Your text is safe in this browser.")
    first.wallet.refuses.clear()
    one.get_by_role("button", name="Save again").click()
    expect(standing(one)).to_have_text("Saved")
    expect(editor(one)).to_contain_text("Written at home.")


def test_a_full_disk_prevents_storing_a_second_version(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    first, second = two_machines(open_page, new_wallet)
    one = first.page
    with full_storage(first):
        conflict(first, second)
        one.get_by_role("button", name="Use the other version").click()
        expect(one.get_by_text("no space to set your version aside")).to_be_visible()
        expect(one.get_by_role("region", name="Both versions")).to_contain_text("Written at home.")
        assert axe_violations_in_both_schemes(one) == []
    one.get_by_role("button", name="Use the other version").click()
    expect(editor(one)).to_contain_text("Written at work.")


def look_again(page: Page) -> None:
    """Simulate returning to the window."""
    page.evaluate("dispatchEvent(new Event('focus'))")


def test_an_earlier_version_can_be_brought_back(open_page: OpenPage, new_wallet: NewWallet) -> None:
    opened = open_page(new_wallet(), viewport={"width": 320, "height": 568})
    page = opened.page
    sign_in(opened, page)
    begin(page, "# Once\n\nAs it was at first.")
    save(page)
    page.reload()
    expect(editor(page)).to_have_text("As it was at first.")
    page.keyboard.press("Tab")
    editor(page).focus()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("As it became.")
    page.get_by_text("Versions", exact=True).click()
    page.get_by_role("button", name=re.compile("6 words$")).press("Enter")
    heading = page.get_by_role("heading", name=re.compile("^Version from"))
    expect(heading).to_be_focused()
    expect(page.get_by_role("region", name="Both versions")).to_contain_text("at first")
    assert axe_violations_in_both_schemes(page) == []
    page.get_by_role("button", name="Bring this version back").press("Enter")
    expect(editor(page)).to_have_text("As it was at first.")
    expect(editor(page)).to_be_focused()
    page.get_by_text("Versions", exact=True).click()
    page.get_by_role("button", name=re.compile("4 words$")).click()
    expect(page.get_by_role("region", name="Both versions")).to_contain_text("became")
    page.get_by_role("button", name="Back to the text").click()
    expect(editor(page)).to_have_text("As it was at first.")
