"""Corrections: from a typo in the Studio to what readers see of the change."""

import re

from playwright.sync_api import Page, expect
from tests.browser.pages import OpenPage, axe_violations, axe_violations_in_both_schemes
from tests.browser.posts import NewPost, publish
from tests.browser.shelf import PRICE, SECRET, Visit
from tests.browser.wallet import NewWallet
from tests.browser.writing import sign_in
from tests.processes import Service

TYPO = "The ink is wett."
RIGHT = "The ink is wet."
NOTE = "A typo in the first sentence."


def correct(page: Page, title: str) -> None:
    """Correct the typo of a post from the list in the Studio, and go to the post."""
    page.locator(".own-post", has_text=title).get_by_role("link", name="Correct").click()
    expect(page.get_by_role("heading", name=f"Correct “{title}”")).to_be_visible()
    sign = page.get_by_role("button", name="Sign the correction")
    expect(sign).to_be_disabled()
    field = page.get_by_label("Text", exact=True)
    field.fill(field.input_value().replace(TYPO, RIGHT))
    versions = page.get_by_role("region", name="Both versions")
    expect(versions.locator("ins")).to_have_text("wet")
    expect(versions.locator("mark")).to_have_text("wett")
    page.get_by_label("What did you correct?").fill(NOTE)
    assert axe_violations_in_both_schemes(page) == []
    sign.click()
    link = page.get_by_role("link", name="See the post")
    expect(link).to_be_focused()
    link.press("Enter")
    expect(page.get_by_role("heading", name=title)).to_be_visible()


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
