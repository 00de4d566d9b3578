"""No text is lost by reloads, crashes, network failures, ended sessions or full disks."""

from collections.abc import Callable
from contextlib import suppress

import pytest
from playwright.sync_api import Error, expect
from tests.browser.pages import Opened, OpenPage, axe_violations_in_both_schemes
from tests.browser.wallet import NewWallet
from tests.browser.writing import (
    add,
    begin,
    editor,
    elsewhere,
    full_storage,
    line,
    save,
    save_without_prompts,
    sign_in,
    standing,
    wait_until_kept,
)
from tests.processes import Service

from imprint.client import Imprint, KeyWallet

Begin = Callable[[str], Opened]


@pytest.fixture
def begun(open_page: OpenPage, new_wallet: NewWallet) -> Begin:
    """Sign a new account in to the Studio and start a draft with a text."""

    def begin_draft(text: str) -> Opened:
        opened = open_page(new_wallet())
        sign_in(opened, opened.page)
        begin(opened.page, text)
        return opened

    return begin_draft


def test_unsaved_text_survives_a_reload(begun: Begin) -> None:
    opened = begun("Never saved.")
    page = opened.page
    expect(standing(page)).to_have_text("Only in this browser")
    wait_until_kept(page, "Never saved.")
    page.reload()
    expect(editor(page)).to_contain_text("Never saved.")
    sign_in(opened, page)
    expect(line(page, "Never saved.")).to_contain_text("Only in this browser")


def test_unsaved_text_survives_a_crash(begun: Begin) -> None:
    opened = begun("Before the crash.")
    page = opened.page
    save(page)
    add(page, " A moment before it.")
    wait_until_kept(page, "A moment before it.")
    address = page.url
    with page.expect_event("crash"), suppress(Error):
        page.goto("chrome://crash")
    page.close()
    again = opened.another()
    sign_in(opened, again)
    expect(line(again, "Before the crash.")).to_contain_text("Unsaved changes")
    again.goto(address)
    expect(editor(again)).to_contain_text("A moment before it.")
    save(again)


def test_a_text_can_be_saved_after_the_session_ended(begun: Begin) -> None:
    opened = begun("While the session ends.")
    page = opened.page
    assert opened.wallet is not None
    save(page)
    preview = page.get_by_role("region", name="Preview")
    expect(preview.locator(".text")).to_contain_text("While the session ends.")
    elsewhere(opened.url, opened.wallet.account, end_all_sessions)
    add(page, " It has ended.")
    save(page)
    note = page.get_by_text("You’re not signed in. You can still write and save")
    expect(note).to_be_visible()
    expect(editor(page)).to_contain_text("It has ended.")
    expect(preview).to_contain_text("Your session has ended")
    assert axe_violations_in_both_schemes(page) == []
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(note).to_have_count(0)
    expect(preview.locator(".text")).to_contain_text("It has ended.")
    expect(editor(page)).to_contain_text("It has ended.")
    add(page, " And on.")
    save(page)


async def end_all_sessions(imprint: Imprint, wallet: KeyWallet) -> None:
    await imprint.login(wallet)
    await imprint.logout(all=True)


def test_a_text_is_saved_when_the_network_returns(begun: Begin) -> None:
    opened = begun("# By itself\n\n")
    page = opened.page
    assert opened.wallet is not None
    save_without_prompts(page)
    before = len(opened.wallet.prompts)
    add(page, "One more line.")
    expect(standing(page)).to_have_text("Saved")
    opened.context.set_offline(True)
    add(page, " Without a network.")
    expect(standing(page)).to_have_text("Waiting for the service")
    expect(page.get_by_text("Your text is safe in this browser.")).to_be_visible()
    assert axe_violations_in_both_schemes(page) == []
    opened.context.set_offline(False)
    expect(standing(page)).to_have_text("Saved")
    assert len(opened.wallet.prompts) == before


def test_unsaved_text_survives_a_reload_while_offline(begun: Begin) -> None:
    opened = begun("On a train.")
    page = opened.page
    save(page)
    address = page.url
    opened.context.set_offline(True)
    add(page, " In a tunnel.")
    wait_until_kept(page, "In a tunnel.")
    with pytest.raises(Error, match="ERR_INTERNET_DISCONNECTED"):
        page.reload()
    page.wait_for_url("chrome-error://**", wait_until="commit")
    opened.context.set_offline(False)
    page.goto(address)
    expect(editor(page)).to_contain_text("In a tunnel.")
    expect(standing(page)).to_have_text("Unsaved changes, kept in this browser")
    save(page)


def test_a_text_is_saved_when_the_service_returns(begun: Begin, stoppable: Service) -> None:
    opened = begun("Before the pause.")
    page = opened.page
    save_without_prompts(page)
    add(page, " Now.")
    expect(standing(page)).to_have_text("Saved")
    stoppable.stop()
    add(page, " While nobody listens.")
    expect(standing(page)).to_have_text("Waiting for the service")
    wait_until_kept(page, "While nobody listens.")
    stoppable.start()
    # Click the button only if it is still there: the page also retries automatically.
    again = page.get_by_role("button", name="Try now")
    again.evaluate_all("(found) => found.forEach((button) => button.click())")
    expect(standing(page)).to_have_text("Saved")
    page.reload()
    expect(editor(page)).to_contain_text("While nobody listens.")


def test_a_full_disk_is_reported_and_the_text_can_be_saved(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    opened = open_page(new_wallet())
    page = opened.page
    with full_storage(opened):
        sign_in(opened, page)
        begin(page, "There is no room.")
        trouble = page.get_by_text("This browser has no space for a copy of your text.")
        expect(trouble).to_be_visible()
        assert axe_violations_in_both_schemes(page) == []
        save(page)
        expect(trouble).to_be_visible()
    add(page, " Now there is.")
    expect(trouble).to_have_count(0)
    wait_until_kept(page, "Now there is.")
