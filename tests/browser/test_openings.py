"""The opening of a paid post, which everybody can read, and the line with which it ends."""

from playwright.sync_api import Page, expect
from tests.browser.pages import OpenPage, axe_violations, axe_violations_in_both_schemes
from tests.browser.posts import NewPost, publish
from tests.browser.shelf import PRICE, SECRET, Shelf, Visit
from tests.browser.wallet import NewWallet
from tests.browser.writing import begin, editor, sign_in

TEXT = f"# The harbour\n\nEverybody may read this.\n\n<!--more-->\n\n{SECRET}."


def test_everybody_reads_the_opening_and_only_buyers_read_the_rest(
    open_page: OpenPage, new_wallet: NewWallet, shelf: Shelf
) -> None:
    opened = open_page(new_wallet())
    (post,) = publish(opened.url, [NewPost("The harbour", TEXT, "", PRICE)], shelf.author)
    opened.visit(f"/p/{post}")
    assert opened.wallet is not None
    reader = Visit(opened, opened.wallet, post)
    page = reader.page
    opening = page.locator("#opening")
    # The text is read in the background a moment after the post is listed.
    for _ in range(60):
        if opening.count():
            break
        page.wait_for_timeout(500)
        page.reload()
    expect(opening).to_contain_text("Everybody may read this.")
    reader.expect_said("12 words, 1 min read.")
    assert SECRET not in page.content()
    assert axe_violations(page) == []
    reader.buy()
    reader.connect()
    reader.expect_text()
    expect(opening).to_be_hidden()
    expect(page.locator("#text")).to_contain_text("Everybody may read this.")


def test_an_author_inserts_the_free_until_here_line_and_drags_it(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    opened = open_page(new_wallet())
    page = opened.page
    sign_in(opened, page)
    begin(page, "# A walk\n\nOne two.\n\nThree four.\n\nFive six.")
    editor(page).get_by_text("One two.").click()
    page.get_by_role("button", name="Free until here").click()
    handle = page.locator(".opening-handle")
    expect(handle).to_have_text("Free until here")
    assert _lines_above(page) == ["# A walk", "One two."]
    expect(page.locator(".preview")).not_to_contain_text("more")
    assert axe_violations_in_both_schemes(page) == []
    target = editor(page).get_by_text("Three four.").bounding_box()
    assert target is not None
    handle.hover()
    page.mouse.down()
    page.mouse.move(target["x"] + 5, target["y"] + target["height"] / 2, steps=4)
    expect(page.locator(".opening-target")).to_have_text("Three four.")
    page.mouse.up()
    expect(page.locator(".opening-target")).to_have_count(0)
    assert _lines_above(page) == ["# A walk", "One two.", "Three four."]
    page.get_by_role("link", name="Publish…").click()
    price = page.get_by_label("Price in")
    price.fill("0.01")
    part = page.locator("#publish-free-part")
    expect(part).to_contain_text("the first 6 of 8 words")
    price.fill("0")
    expect(part).to_have_count(0)


def _lines_above(page: Page) -> list[str]:
    """The lines of text above “Free until here”, the line that ends the opening."""
    lines = page.locator(".cm-line").all_inner_texts()
    end = next(number for number, text in enumerate(lines) if "Free until here" in text)
    return [text.strip() for text in lines[:end] if text.strip()]
