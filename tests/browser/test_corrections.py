"""Corrections, from a typo in the Studio to the change that readers see."""

import re

import pytest
from playwright.sync_api import Locator, Page, Route, expect
from tests.browser.pages import Opened, OpenPage, axe_violations, axe_violations_in_both_schemes
from tests.browser.posts import NewPost, publish
from tests.browser.publishing import open_correction, replace_word, see_correction, sign_correction
from tests.browser.shelf import PRICE, SECRET, Visit
from tests.browser.wallet import BrowserWallet, NewWallet
from tests.browser.writing import expect_caret, paste, sign_in
from tests.processes import Service

TYPO = "The ink is wett."
RIGHT = "The ink is wet."
NOTE = "A typo in the first sentence."

END_SESSION = """() => {
  localStorage.removeItem("imprint.session");
  dispatchEvent(new StorageEvent("storage", { key: "imprint.session" }));
}"""
"""Signs out, as if in another tab."""

KEPT_PAGE = """async (path) => (await fetch(path, { cache: "force-cache" })).text()"""
"""Returns a page from the browser's cache, no matter how old it is."""


def begin_correction(
    open_page: OpenPage, wallet: BrowserWallet, service: Service, title: str
) -> tuple[Opened, str, Locator]:
    """Publish a post with a typo, and mend it without signing.

    Returns the page, the post's ID and the field.
    """
    [post_id] = publish(service.url, [NewPost(title, TYPO)], wallet.account)
    opened = open_page(wallet)
    sign_in(opened, opened.page)
    field = open_correction(opened.page, title)
    replace_word(opened.page, "wett", "wet")
    return opened, post_id, field


def correct(page: Page, title: str) -> None:
    """Correct the typo in a post from the Studio's list of posts, and open the post."""
    field = open_correction(page, title)
    expect(page.get_by_role("button", name="Sign the correction")).to_be_disabled()
    replace_word(page, "wett", "wet")
    expect(field).to_contain_text(RIGHT)
    versions = page.get_by_role("region", name="Both versions")
    expect(versions.locator("ins")).to_have_text("wet")
    expect(versions.locator("mark")).to_have_text("wett")
    sign_correction(page, NOTE)
    see_correction(page, NOTE)


def test_an_author_corrects_a_typo_and_readers_see_what_changed(
    open_page: OpenPage, new_wallet: NewWallet, service: Service
) -> None:
    wallet = new_wallet()
    text = f"{TYPO}\n\nIt shines."
    [post_id] = publish(service.url, [NewPost("A wet ink", text)], wallet.account)
    opened = open_page(wallet)
    page = opened.page
    sign_in(opened, page)
    before = len(wallet.prompts)
    correct(page, "A wet ink")
    assert len(wallet.prompts) == before + 1
    # Readers without a wallet.
    page = open_page().visit(f"/p/{post_id}")
    correction = page.locator("#correction")
    expect(correction).to_contain_text(re.compile(r"Corrected on .+: A typo in the first sentence"))
    expect(page.locator("#text")).to_contain_text(RIGHT)
    assert axe_violations(page) == []
    correction.get_by_role("link", name="See what changed").click()
    changes = page.get_by_role("group", name="What changed")
    expect(changes.locator("del")).to_have_text("wett.")
    expect(changes.locator("ins")).to_have_text("wet.")
    expect(page.locator(".corrections")).to_contain_text(NOTE)
    assert axe_violations(page) == []
    page.get_by_role("link", name="As first published").click()
    expect(page.get_by_text(TYPO)).to_be_visible()
    expect(page.get_by_text(RIGHT)).to_have_count(0)
    page.get_by_role("link", name="Read the newest version").click()
    expect(page.locator("#text")).to_contain_text(RIGHT)


@pytest.mark.parametrize(
    "viewport", [{"width": 1280, "height": 800}, {"width": 320, "height": 568}]
)
def test_the_text_of_a_post_is_corrected_in_the_draft_editor(
    open_page: OpenPage, new_wallet: NewWallet, service: Service, viewport: dict[str, int]
) -> None:
    wallet = new_wallet()
    text = f"# A wet ink\n\n{TYPO}\n\nIt shines."
    [post_id] = publish(service.url, [NewPost("A wet ink", text)], wallet.account)
    opened = open_page(wallet, viewport=viewport, has_touch=True)
    page = opened.page
    sign_in(opened, page)
    opened.visit(f"/p/{post_id}")
    page.get_by_role("link", name="Correct", exact=True).tap()
    field = page.get_by_role("textbox", name="Text of the post")
    # The title is on the chain: its heading is not part of what is corrected.
    expect(field).to_have_text(f"{TYPO}It shines.")
    replace_word(page, "wett", "wet")
    replace_word(page, "shines", "dries")
    page.keyboard.press("Control+Shift+ArrowLeft")
    page.get_by_role("button", name="Bold").tap()
    expect(field).to_be_focused()
    page.keyboard.press("Control+End")
    page.keyboard.press("Enter")
    paste(page, "Look here.", 'Look <a href="https://a.example/">here</a>.')
    expect(field).to_contain_text("Look [here](https://a.example/).")
    expect(field).to_contain_text("It **dries**.")
    expect(page.get_by_role("region", name="Both versions").locator("mark").first).to_be_visible()
    expect_caret(page)
    page.get_by_role("button", name="Preview", exact=True).tap()
    expect(page.locator(".preview strong")).to_have_text("dries")
    assert axe_violations_in_both_schemes(page) == []
    sign_correction(page, NOTE)
    # The browser had the page of the post in its cache.
    kept = page.evaluate(
        KEPT_PAGE, page.get_by_role("link", name="See the post").get_attribute("href")
    )
    assert "<strong>dries</strong>" in kept
    see_correction(page, NOTE)
    expect(page.locator("#text strong")).to_have_text("dries")
    expect(page.locator("#text").get_by_role("heading")).to_have_count(0)


def test_an_unsigned_correction_survives_a_locked_wallet_an_ended_session_and_other_views(
    open_page: OpenPage, new_wallet: NewWallet, service: Service
) -> None:
    wallet = new_wallet()
    opened, post_id, field = begin_correction(open_page, wallet, service, "A patient ink")
    page = opened.page
    wallet.locked = True
    wallet.emit("accountsChanged", [])
    page.evaluate(END_SESSION)
    expect(field).to_contain_text(RIGHT)
    page.get_by_role("link", name="Import", exact=True).click()
    expect(field).to_have_count(0)
    wallet.locked = False
    wallet.emit("accountsChanged", wallet.addresses)
    page.goto(f"{opened.url}/studio#/correct/{post_id}")
    button = re.compile("^(Connect your wallet|Sign in)$")
    page.locator(".studio-view").get_by_role("button", name=button).click()
    choice = page.get_by_role("dialog").get_by_role("button", name=re.compile("Test Wallet"))
    expect(field.or_(choice)).to_be_visible()
    if choice.is_visible():
        choice.click()
    expect(field).to_contain_text(RIGHT)
    sign_correction(page, NOTE)
    see_correction(page, NOTE)


def test_a_correction_whose_response_was_lost_is_published_once(
    open_page: OpenPage, new_wallet: NewWallet, service: Service
) -> None:
    wallet = new_wallet()
    opened, post_id, _ = begin_correction(open_page, wallet, service, "A lost ink")
    page = opened.page

    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    page.route("**/revise/post?**", lose, times=1)
    before = len(wallet.prompts)
    sign_correction(page, NOTE)
    assert len(wallet.prompts) == before + 1
    see_correction(page, NOTE)
    listed = page.evaluate(f"async () => (await fetch('/posts/{post_id}/revisions')).json()")
    assert [revision["number"] for revision in listed["revisions"]] == [1]


def test_a_buyer_sees_what_changed_in_a_paid_post_and_others_only_the_note(
    open_page: OpenPage, new_wallet: NewWallet, service: Service
) -> None:
    author = new_wallet()
    post = NewPost("A paid ink", f"{TYPO}\n\n{SECRET}.", price=PRICE)
    [post_id] = publish(service.url, [post], author.account)
    opened = open_page(author)
    sign_in(opened, opened.page)
    correct(opened.page, "A paid ink")
    opened = open_page(new_wallet())
    assert opened.wallet is not None
    reader = Visit(opened, opened.wallet, post_id)
    page = opened.visit(f"/p/{post_id}")
    correction = page.locator("#correction")
    expect(correction).to_contain_text(NOTE)
    expect(correction.get_by_role("link")).to_have_count(0)
    assert "ink is" not in page.content()
    reader.buy()
    reader.connect()
    reader.expect_text()
    expect(page.locator("#text")).to_contain_text(RIGHT)
    correction.get_by_role("link", name="See what changed").click()
    versions = page.locator("#versions")
    expect(versions.locator("del")).to_have_text("wett.")
    expect(versions).to_be_focused()
    assert axe_violations(page) == []
    correction.get_by_role("link", name="As first published").click()
    expect(versions).to_contain_text(TYPO)
    reader.sign_out()
    expect(versions).to_be_empty()
    assert "ink is" not in page.content()
