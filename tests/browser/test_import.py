"""Imports: exports of other services become drafts exactly once, and drafts become posts."""

from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from playwright.sync_api import Page, Route, expect
from tests.browser.accounts import Account
from tests.browser.exports import (
    EXPORTS,
    FIXTURES,
    PAID,
    TITLE,
    TYPO,
    Export,
    choose,
    found_posts,
    open_import,
)
from tests.browser.pages import OpenPage, axe_violations_in_both_schemes
from tests.browser.publishing import (
    expect_published,
    open_correction,
    post_title,
    publish,
    replace_word,
    see_correction,
    sign_correction,
)
from tests.browser.wallet import NewWallet, wait_until
from tests.browser.writing import editor, line, open_list, sign_in, standing
from tests.browser.writing import title as title_field

from imprint.domain.formats.addresses import parse_address
from imprint.domain.posts.feeds import author_path

TITLES = ["On “slow” bread", "Unfinished", "About", "My first oven", "Rye"]

FEED = """async (path) => (await fetch(path, { cache: "no-store" })).text()"""


def choose_export(page: Page, *others: Path) -> None:
    choose(page, FIXTURES / "ghost.json", *others)


def zip_pictures(folder: Path) -> Path:
    """The pictures of the Ghost site, as Ghost exports them."""
    path = folder / "content.zip"
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        archive.write(FIXTURES / "blog/images/oven.png", "content/images/2024/01/loaf.png")
    return path


def lose_second_response(page: Page) -> list[int]:
    """Let one draft be saved. The service also creates the next draft, but that response is lost.

    Returns the statuses of the responses so far.
    """
    statuses: list[int] = []

    def respond(route: Route) -> None:
        response = route.fetch()
        statuses.append(response.status)
        if len(statuses) == 1:
            route.fulfill(response=response)

    page.route("**/create/group", respond)
    return statuses


def test_imported_posts_become_drafts_exactly_once_despite_a_page_reload(
    open_page: OpenPage, new_wallet: NewWallet, tmp_path: Path
) -> None:
    opened = open_page(new_wallet())
    page, wallet = opened.page, opened.wallet
    assert wallet is not None
    sign_in(opened, page)
    open_import(page)
    page.get_by_label("Address of your old site").fill("baker.example")
    choose_export(page, zip_pictures(tmp_path))
    posts = found_posts(page)
    expect(posts).to_have_count(3)
    expect(posts.first).to_contain_text("1 picture inside")
    choose(page, FIXTURES / "blog")
    expect(posts).to_have_count(len(TITLES))
    page.get_by_label("What changes in On “slow” bread").click()
    expect(page.get_by_text("It was for paying members there.")).to_be_visible()
    assert axe_violations_in_both_schemes(page) == []
    before = len(wallet.prompts)
    statuses = lose_second_response(page)
    page.get_by_role("button", name="Create 5 drafts").click()
    expect(page.get_by_text("Saving drafts: 1 of 5")).to_be_visible()
    while len(statuses) < 2:
        page.wait_for_timeout(50)
    page.reload()
    page.unroute_all(behavior="ignoreErrors")
    page.get_by_role("button", name="Continue with 4 drafts").click()
    expect(page.get_by_text("4 posts already imported.")).to_be_visible()
    # One prompt for the permission to save, and none for the drafts.
    assert len(wallet.prompts) - before == 1
    choose_export(page)
    expect(page.get_by_role("button", name="Nothing to create")).to_be_disabled()
    expect(posts.get_by_text("Imported: open the draft")).to_have_count(len(TITLES))
    open_list(page)
    expect(page.locator(".draft-line")).to_have_count(len(TITLES))
    for title in TITLES:
        expect(line(page, title)).to_contain_text("Saved")
    page.get_by_role("link", name="My first oven", exact=True).click()
    expect(editor(page)).to_contain_text("Originally published on 9 August 2018")
    expect(page.locator(".folded-picture")).to_be_visible()
    open_list(page)
    page.get_by_role("link", name="On “slow” bread", exact=True).click()
    expect(editor(page)).to_contain_text("https://baker.example/slow-bread/")
    expect(page.locator(".folded-picture")).to_be_visible()
    page.goto(page.url.replace("#/draft/", "#/publish/"))
    expect(page.get_by_label("Description")).to_have_value("A loaf takes three days.")
    expect(page.get_by_role("button", name="slow-food")).to_be_visible()


def import_post(page: Page, export: Export) -> None:
    """Import the only post of an export, and open its draft."""
    open_import(page)
    choose(page, *export.files)
    post = found_posts(page)
    expect(post).to_have_count(1)
    for said in filter(None, (TITLE, export.format, export.remark)):
        expect(post).to_contain_text(said)
    page.get_by_role("button", name="Create 1 draft").click()
    page.get_by_role("link", name="Imported: open the draft").click()
    expect(title_field(page)).to_have_value(TITLE)
    for written in filter(None, (export.origin, TYPO, PAID)):
        expect(editor(page)).to_contain_text(written)


def publish_with_opening(page: Page, export: Export) -> str:
    """Publish the draft at a price, with a free opening, and return the path of the post."""
    if not export.has_line:
        editor(page).get_by_text(TYPO).click()
        page.get_by_role("button", name="Free until here").click()
    expect(page.locator(".opening-handle")).to_have_text("Free until here")
    expect(standing(page)).to_have_text("Saved")
    page.get_by_role("link", name="Publish…").click()
    expect(post_title(page)).to_have_value(TITLE)
    # The default is the first words of the opening, which could not be corrected in a description.
    page.get_by_label("Description").fill("A loaf.")
    page.get_by_label("Price in").fill("0.01")
    expect(page.locator("#publish-free-part")).to_contain_text("words")
    publish(page)
    return expect_published(page)


def feed_with(page: Page, author: Account, words: str) -> str:
    """Wait until an author's feed has these words, and return the feed."""
    path = f"{author_path(parse_address(author.address))}.atom"
    found = ""

    def is_there() -> bool:
        nonlocal found
        found = page.evaluate(FEED, path)
        return words in found

    wait_until(page, is_there)
    return found


@pytest.mark.parametrize("format_name", EXPORTS)
def test_an_export_becomes_a_post_with_an_opening_a_correction_and_a_feed_entry(
    open_page: OpenPage, new_wallet: NewWallet, tmp_path: Path, format_name: str
) -> None:
    wallet = new_wallet()
    export = EXPORTS[format_name](tmp_path, wallet.account)
    opened = open_page(wallet)
    page = opened.page
    sign_in(opened, page)
    import_post(page, export)
    path = publish_with_opening(page, export)
    feed = feed_with(page, wallet.account, TYPO)
    assert PAID not in feed
    open_list(page)
    field = open_correction(page, TITLE)
    replace_word(page, "ovven", "oven")
    expect(field).to_contain_text("The oven needs three hours.")
    sign_correction(page, "A typo.")
    see_correction(page, "A typo.")
    feed = feed_with(page, wallet.account, "The oven needs three hours.")
    assert TYPO not in feed
    assert PAID not in feed
    # Readers who have not paid.
    reader = open_page().visit(path)
    expect(reader.locator("#opening")).to_contain_text("The oven needs three hours.")
    assert PAID not in reader.content()
