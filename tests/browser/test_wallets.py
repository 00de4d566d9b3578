"""Signing in with a browser wallet and with development accounts."""

from playwright.sync_api import Route, expect
from tests.browser.accounts import Chain, NewAccount
from tests.browser.pages import OpenPage
from tests.browser.wallet import NewWallet, wait_until

IMPOSTOR = """(() => {
  window.__impostorWasAsked = false;
  const request = async () => { window.__impostorWasAsked = true; return []; };
  const info = Object.freeze({
    uuid: "00000000-19fa-4704-a166-e52e178b59d2", name: "Test Wallet", icon: "data:image/png,",
    rdns: "org.example.wallet",
  });
  const announce = () => window.dispatchEvent(new CustomEvent("eip6963:announceProvider", {
    detail: Object.freeze({ info, provider: { request } }),
  }));
  window.addEventListener("eip6963:requestProvider", announce);
})();"""
"""A second wallet that announces itself under the name of the first."""


def test_no_page_prompts_the_wallet_before_a_click(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    wallet = new_wallet()
    page = open_page(wallet).visit("/library")
    expect(page.locator("#library").get_by_role("button", name="Sign in")).to_be_visible()
    assert wallet.prompts == []


def test_a_rejected_connection_can_be_tried_again(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    wallet = new_wallet()
    wallet.refuses.add("eth_requestAccounts")
    page = open_page(wallet).visit("/library")
    page.locator("#library").get_by_role("button", name="Sign in").click()
    choice = page.locator("dialog .choice").first
    choice.click()
    expect(page.locator("dialog")).to_contain_text("You declined")
    wallet.refuses.clear()
    choice.click()
    expect(page.locator("#library")).to_contain_text("Nothing here yet")
    assert wallet.prompts == ["eth_requestAccounts", "eth_requestAccounts", "personal_sign"]


def test_a_development_account_stays_signed_in_after_one_click_and_a_reload(
    open_page: OpenPage,
) -> None:
    page = open_page().visit("/library")
    page.locator("#library").get_by_role("button", name="Sign in").click()
    page.locator("dialog").get_by_role("button", name="Ben (reader)").click()
    expect(page.get_by_role("searchbox", name="Search your library")).to_be_visible()
    page.reload()
    expect(page.get_by_role("searchbox", name="Search your library")).to_be_visible()


def test_wallets_stay_in_place_while_development_accounts_are_loading(
    open_page: OpenPage, new_wallet: NewWallet, chain: Chain
) -> None:
    opened = open_page(new_wallet())
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    opened.page.route(f"{chain.rpc_url}/**", hold)
    page = opened.visit("/studio")
    page.get_by_role("button", name="Connect your wallet").click()
    dialog = page.locator("dialog")
    expect(dialog).to_contain_text("Loading")
    wallet = dialog.locator(".choice", has_text="Test Wallet")
    before = wallet.bounding_box()
    for route in held:
        route.continue_()
    page.unroute(f"{chain.rpc_url}/**")
    expect(dialog).to_contain_text("play money")
    assert wallet.bounding_box() == before


def test_an_impostor_wallet_is_not_used_silently(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    wallet = new_wallet()
    opened = open_page(wallet)
    page = opened.visit("/library")
    page.locator("#library").get_by_role("button", name="Sign in").click()
    page.locator("dialog .choice").first.click()
    expect(page.locator("#library")).to_contain_text("Nothing here yet")
    opened.context.add_init_script(IMPOSTOR)
    page.reload()
    page.locator("#account summary").click()
    expect(page.locator("#account")).to_contain_text("Your wallet is locked or missing")
    assert page.evaluate("window.__impostorWasAsked") is False


def test_the_page_switches_when_the_wallet_changes_its_account(
    open_page: OpenPage, new_wallet: NewWallet, new_account: NewAccount
) -> None:
    wallet, other = new_wallet(), new_account()
    page = open_page(wallet).visit("/library")
    page.locator("#library").get_by_role("button", name="Sign in").click()
    page.locator("dialog .choice").first.click()
    expect(page.locator("#library")).to_contain_text("Nothing here yet")
    wallet.choose(other)
    expect(page.locator("#account summary")).to_contain_text(other.address[-4:])
    expect(page.locator("#library").get_by_role("button", name="Sign in")).to_be_visible()


def test_detecting_the_same_account_does_not_redraw_the_menu(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    wallet = new_wallet()
    wallet.undecided.update({"eth_accounts", "personal_sign"})
    page = open_page(wallet).visit("/library")
    page.locator("#library").get_by_role("button", name="Sign in").click()
    page.locator("dialog .choice").first.click()
    menu = page.locator("#account details")
    menu.evaluate("(menu) => menu.setAttribute('data-seen', '')")
    wait_until(page, lambda: "eth_accounts" in wallet.asked)
    wallet.undecided.discard("eth_accounts")
    wait_until(page, lambda: "eth_accounts" in wallet.handled)
    expect(menu).to_have_attribute("data-seen", "")


def test_the_focus_survives_a_redraw_of_the_account_menu(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    wallet = new_wallet()
    wallet.undecided.add("personal_sign")
    page = open_page(wallet).visit("/library")
    page.locator("#library").get_by_role("button", name="Sign in").click()
    page.locator("dialog .choice").first.click()
    page.locator("#account summary").click()
    copy = page.get_by_role("button", name="Copy address")
    copy.focus()
    wallet.undecided.discard("personal_sign")
    expect(page.get_by_role("button", name="Sign out on every device")).to_be_visible()
    expect(copy).to_be_focused()
