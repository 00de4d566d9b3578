"""Imports: exports of other services become drafts exactly once, whatever happens in between."""

from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from playwright.sync_api import Page, Route, expect
from tests.browser.pages import OpenPage, axe_violations_in_both_schemes
from tests.browser.wallet import NewWallet
from tests.browser.writing import editor, line, open_list, sign_in

FIXTURES = Path(__file__).parents[2] / "site" / "studio" / "import" / "fixtures"
TITLES = ["On “slow” bread", "Unfinished", "About", "My first oven", "Rye"]


def open_import(page: Page) -> None:
    page.get_by_role("link", name="Import", exact=True).click()
    expect(page.get_by_role("heading", name="Import")).to_be_visible()


def choose_export(page: Page, *others: Path) -> None:
    page.get_by_label("Files or zips").set_input_files([FIXTURES / "ghost.json", *others])


def zip_pictures(folder: Path) -> Path:
    """The pictures of the Ghost site, as Ghost exports them."""
    path = folder / "content.zip"
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        archive.write(FIXTURES / "blog/images/oven.png", "content/images/2024/01/loaf.png")
    return path


def lose_second_response(page: Page) -> list[int]:
    """Let one draft be saved. The service also creates the next one, but its response is lost.

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


def test_posts_become_drafts_exactly_once_despite_a_page_reload(
    open_page: OpenPage, new_wallet: NewWallet, tmp_path: Path
) -> None:
    opened = open_page(new_wallet())
    page, wallet = opened.page, opened.wallet
    assert wallet is not None
    sign_in(opened, page)
    open_import(page)
    page.get_by_label("Address of your old site").fill("baker.example")
    choose_export(page, zip_pictures(tmp_path))
    posts = page.get_by_role("list", name="Posts in your files").locator(".import-line")
    expect(posts).to_have_count(3)
    expect(posts.first).to_contain_text("1 picture inside")
    page.get_by_label("A folder").set_input_files(FIXTURES / "blog")
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
    # One for the permission to save, none for each draft.
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
