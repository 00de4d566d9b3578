"""The operator's page in a browser."""

from playwright.sync_api import Page, expect
from tests.browser.pages import OpenPage
from tests.browser.states import OPERATOR_SECRET
from tests.browser.wallet import wait_until


def sign_in(page: Page) -> None:
    page.get_by_label("Secret").fill(OPERATOR_SECRET)
    page.get_by_role("button", name="Open").press("Enter")
    expect(page.get_by_role("heading", name="Chain follower")).to_be_visible()


def test_only_the_correct_secret_opens_the_page(open_page: OpenPage) -> None:
    page = open_page().visit("/operator")
    page.get_by_label("Secret").fill("a guess")
    page.get_by_label("Secret").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("isn’t the secret")
    sign_in(page)
    health = page.locator("#health")
    # A slow probe counts as a failed one until the page is loaded again.
    wait_until(page, lambda: page.reload() is not None and "ready" in health.inner_text())


def test_the_page_works_without_scripts(open_page: OpenPage) -> None:
    page = open_page(java_script_enabled=False).visit("/operator")
    sign_in(page)
    page.get_by_role("link", name="Refresh", exact=True).click()
    expect(page.get_by_role("heading", name="Versions")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Secret")).to_be_visible()
