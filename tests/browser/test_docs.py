"""The documentation in a browser: reading, searching, copying, and trying operations."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Error, Locator, Page, Response, expect
from tests.browser.pages import Opened, OpenPage, axe_violations, axe_violations_in_both_schemes
from tests.browser.posts import NewPost, publish
from tests.browser.wallet import NewWallet
from tests.processes import Service, free_port, running

WIDE = {"width": 1280, "height": 900}
PHONE = {"width": 320, "height": 640}

OPENED = ("createDraft", "publishDraft", "openWritingSession", "showPost", "checkHealth")
"""Operations that together cover every type of field. Only the last one is sent."""

SHORTEN = """(kept) => {
  for (const operation of document.querySelectorAll("article"))
    if (!kept.includes(operation.id)) operation.remove();
}"""
"""Removes most operations from the page, because axe is slow and they all look the same."""


@pytest.fixture
def published(service: Service) -> str:
    """The id of the newest post of the service."""
    (post_id,) = publish(service.url, [NewPost("Hello", "# Hello\n\nA first line.")])
    return post_id


class Trial:
    """The “Try it” form of an operation on the API page. Creating an instance opens the form."""

    def __init__(self, page: Page, operation: str) -> None:
        self.page = page
        self.box = page.locator(f"#{operation} .try")
        self.box.locator("> summary").click()

    def field(self, name: str) -> Locator:
        return self.box.locator(f"[name='{name}']")

    def send(self) -> None:
        self.box.get_by_role("button", name="Send", exact=True).click()

    def expect_status(self, status: str) -> None:
        expect(self.box.locator(".outcome strong")).to_contain_text(status)

    def body(self) -> Any:
        return json.loads(self.box.locator(".result > .code pre").inner_text())


def be(page: Page, name: str) -> None:
    """Choose an account in the account dialog."""
    page.get_by_role("dialog").get_by_role("button", name=name).click()


def test_a_read_operation_needs_no_account(open_page: OpenPage) -> None:
    page = open_page(viewport=WIDE).visit("/docs")
    trial = Trial(page, "getServiceFacts")
    trial.send()
    trial.expect_status("200")
    assert trial.body()["name"] == "Imprint"


def test_a_refusal_links_to_its_error_code(open_page: OpenPage) -> None:
    page = open_page(viewport=WIDE).visit("/docs")
    trial = Trial(page, "showPost")
    trial.field("id").fill("one")
    trial.send()
    trial.expect_status("400")
    trial.box.get_by_role("link", name="What invalid_post_id means").click()
    expect(page.locator("#error-invalid_post_id")).to_be_in_viewport()


def test_a_form_suggests_the_newest_post_until_another_value_is_typed(
    open_page: OpenPage, published: str
) -> None:
    page = open_page(viewport=WIDE).visit("/docs")
    trial = Trial(page, "showPost")
    expect(trial.field("id")).to_have_value(published)
    trial.send()
    trial.expect_status("200")
    assert trial.body()["id"] == published


def test_the_page_reports_being_offline(open_page: OpenPage) -> None:
    opened = open_page(viewport=WIDE)
    page = opened.visit("/docs")
    trial = Trial(page, "checkHealth")
    opened.context.set_offline(True)
    trial.send()
    expect(trial.box.get_by_role("alert")).to_contain_text("You’re offline")


def test_the_wallet_signs_in_when_a_form_needs_a_session(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    wallet = new_wallet()
    page = open_page(wallet, viewport=WIDE).visit("/docs")
    trial = Trial(page, "listDrafts")
    trial.send()
    be(page, "Test Wallet")
    trial.expect_status("403")
    expect(trial.field("owner")).to_have_value(wallet.account.address)
    trial.send()
    trial.expect_status("200")
    assert wallet.prompts == ["eth_requestAccounts", "personal_sign"]


def test_nothing_is_sent_if_the_wallet_declines_to_sign(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    wallet = new_wallet()
    wallet.refuses = {"eth_signTypedData_v4"}
    page = open_page(wallet, viewport=WIDE).visit("/docs")
    trial = Trial(page, "createDraft")
    trial.send()
    be(page, "Test Wallet")
    expect(trial.box.get_by_role("alert")).to_be_visible()
    expect(trial.box.locator(".outcome")).to_have_count(0)


def test_a_draft_is_created_read_and_deleted_after_a_confirmation(
    open_page: OpenPage,
) -> None:
    page = open_page(viewport=WIDE).visit("/docs")
    page.get_by_role("button", name="Sign in").click()
    be(page, "Ada (author)")
    expect(page.locator("#account summary")).to_be_visible()
    create = Trial(page, "createDraft")
    create.field("content").fill("A draft that is not kept.")
    expect(create.box).to_contain_text("Signed by Ada (author)")
    create.send()
    create.expect_status("200")
    cid = create.body()["updatedUpload"]["cid"]

    read = Trial(page, "readDraft")
    expect(read.field("cid")).to_have_value(cid)
    read.send()
    read.expect_status("200")
    assert read.body()["content"] == "A draft that is not kept."

    delete = Trial(page, "deleteDraft")
    expect(delete.field("cid")).to_have_value(cid)
    delete.send()
    page.get_by_role("button", name="Don’t send").click()
    expect(delete.box.locator(".outcome")).to_have_count(0)
    delete.send()
    page.get_by_role("button", name="Delete the draft").click()
    delete.expect_status("200")
    read.field("cid").fill(cid)
    read.send()
    read.expect_status("404")


def test_a_writing_session_is_opened_with_the_chosen_options_and_revoked(
    open_page: OpenPage,
) -> None:
    page = open_page(viewport=WIDE).visit("/docs")
    trial = Trial(page, "openWritingSession")
    trial.field("actions").select_option("update")
    trial.field("seconds").select_option("3600")
    trial.send()
    be(page, "Ben (reader)")
    trial.expect_status("201")
    opened = trial.body()["session"]
    assert opened["actions"] == ["update"]
    expect(trial.box).to_contain_text("Its key is gone")
    assert page.evaluate("indexedDB.databases().then((all) => all.length)") == 0
    trial.box.get_by_role("button", name="Revoke it").click()
    trial.expect_status("204")
    listed = Trial(page, "listWritingSessions")
    listed.send()
    listed.expect_status("200")
    assert opened["id"] not in {each["id"] for each in listed.body()["sessions"]}


def test_the_key_of_a_writing_session_is_stored_on_request(open_page: OpenPage) -> None:
    page = open_page(viewport=WIDE).visit("/docs")
    trial = Trial(page, "openWritingSession")
    trial.field("key").select_option("keep")
    trial.send()
    be(page, "Cleo (reader)")
    trial.expect_status("201")
    expect(trial.box).to_contain_text("Its key is in this browser")
    assert page.evaluate("indexedDB.databases().then((all) => all.length)") == 1


def test_a_picture_can_be_sent_with_a_publication(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(viewport=WIDE).visit("/docs")
    create = Trial(page, "createDraft")
    create.send()
    be(page, "Dan (author)")
    create.expect_status("200")
    publish = Trial(page, "publishDraft")
    publish.field("file").set_input_files(
        {"name": "t.png", "mimeType": "image/png", "buffer": page.screenshot()}
    )
    publish.send()
    publish.expect_status("200")
    assert publish.body()["thumbnailCid"]


def test_the_search_opens_with_a_key_and_goes_to_the_chosen_result(open_page: OpenPage) -> None:
    page = open_page(viewport=WIDE).visit("/docs")
    page.keyboard.press("/")
    page.keyboard.type("writing session")
    options = page.get_by_role("option")
    expect(options.first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    target = page.evaluate("location.hash")
    expect(page.locator(target)).to_be_in_viewport()
    assert "writing" in page.locator(target).inner_text().lower()


def test_the_search_finds_error_codes_and_closes_with_escape(open_page: OpenPage) -> None:
    page = open_page(viewport=WIDE).visit("/docs")
    page.get_by_role("button", name="Search").click()
    page.keyboard.type("not_entitled")
    expect(page.get_by_role("option").first).to_contain_text("not_entitled")
    page.keyboard.type(" nonsense")
    expect(page.get_by_text("No results.")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_code_block_can_be_copied(open_page: OpenPage, service: Service) -> None:
    permissions = ["clipboard-read", "clipboard-write"]
    page = open_page(viewport=WIDE, permissions=permissions).visit("/docs")
    page.locator(".start .copy").click()
    # Check the announcement for screen readers, which stays longer than the text on the button.
    expect(page.locator(".unseen[role=status]")).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == f'BASE={service.url}\n\ncurl "$BASE/posts"'


def test_the_chosen_language_applies_to_all_examples_and_is_remembered(open_page: OpenPage) -> None:
    page = open_page(viewport=WIDE).visit("/docs")
    page.locator("#createDraft").get_by_label("TypeScript").check()
    expect(page.locator("#showPost .panel.typescript")).to_be_visible()
    page.reload()
    expect(page.locator("#showPost").get_by_label("TypeScript")).to_be_checked()
    expect(page.locator("#showPost .panel.typescript")).to_be_visible()
    expect(page.locator("#showPost .panel.curl")).to_be_hidden()


def test_the_table_of_contents_marks_the_current_section(open_page: OpenPage) -> None:
    page = open_page(viewport=WIDE).visit("/docs")
    for name in ("createDraft", "listIndexedPosts"):
        page.locator(f"#{name} h3").evaluate("each => each.scrollIntoView()")
        marked = page.locator(".contents [aria-current]")
        expect(marked).to_have_attribute("href", f"#{name}")
        expect(marked).to_be_in_viewport()


def test_two_columns_are_shown_from_a_width_of_1200_pixels(open_page: OpenPage) -> None:
    page = open_page(viewport={"width": 1200, "height": 900}).visit("/docs")
    prose = page.locator("#createDraft .body > div").first.bounding_box()
    sample = page.locator("#createDraft .sample").bounding_box()
    assert prose
    assert sample
    assert prose["x"] + prose["width"] <= sample["x"]


def test_a_phone_shows_a_menu_of_topics(open_page: OpenPage) -> None:
    page = open_page(viewport=PHONE).visit("/docs")
    menu = page.locator(".menu")
    menu.locator("summary").click()
    menu.get_by_role("link", name="Posts").click()
    expect(page.locator("#posts > h2")).to_be_in_viewport()
    expect(menu.locator("nav")).to_be_hidden()


def test_the_page_fits_a_phone_before_and_after_sign_in(open_page: OpenPage) -> None:
    page = open_page(viewport=PHONE).visit("/docs")
    trial = Trial(page, "listIndexedPosts")
    trial.send()
    trial.expect_status("200")
    expect_to_fit_a_phone(page)
    page.get_by_role("button", name="Sign in").click()
    be(page, "Ada (author)")
    expect(page.locator("#account summary")).to_be_visible()
    expect_to_fit_a_phone(page)


def expect_to_fit_a_phone(page: Page) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    bar = page.locator(".bar").bounding_box()
    assert bar
    assert bar["height"] < 60


def test_the_page_can_be_read_without_scripts(open_page: OpenPage) -> None:
    page = open_page(viewport=WIDE, java_script_enabled=False).visit("/docs")
    page.locator("#createDraft").get_by_label("Python").check()
    expect(page.locator("#createDraft .panel.python")).to_be_visible()
    expect(page.locator(".contents").get_by_role("link", name="Create a draft")).to_be_visible()
    # Elements that need scripts are hidden.
    expect(page.locator(".try, .copy, .open-search")).to_have_count(0)


def _open_everything(opened: Opened) -> Page:
    page = opened.visit("/docs")
    for operation in OPENED[:-1]:
        Trial(page, operation)
    trial = Trial(page, OPENED[-1])
    trial.send()
    trial.expect_status("200")
    return page


def test_axe_finds_no_violations_on_the_page_with_forms_and_responses(open_page: OpenPage) -> None:
    page = _open_everything(open_page(viewport=WIDE))
    # The contrast check takes most of the time. It runs below, on operations that use every colour.
    assert axe_violations(page, rules={"color-contrast": {"enabled": False}}) == []
    page.evaluate(SHORTEN, OPENED)
    assert axe_violations_in_both_schemes(page) == []


def test_axe_finds_no_violations_in_the_dialogs(open_page: OpenPage) -> None:
    page = open_page(viewport=WIDE).visit("/docs")
    page.evaluate(SHORTEN, ["revokeWritingSessions"])
    page.keyboard.press("/")
    page.keyboard.type("draft")
    expect(page.get_by_role("option").first).to_be_visible()
    assert axe_violations_in_both_schemes(page) == []
    page.keyboard.press("Escape")
    trial = Trial(page, "revokeWritingSessions")
    trial.send()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert axe_violations_in_both_schemes(page) == []


@pytest.fixture(scope="module")
def without_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    given = {"DEV_RPC_PORT": str(free_port()), "SITE": "off"}
    with running(Service(tmp_path_factory.mktemp("dev"), given, "dev")) as opened:
        yield opened


def test_the_documentation_works_with_the_site_disabled(
    browser: Browser, without_site: Service
) -> None:
    context = browser.new_context(viewport=WIDE)
    try:
        page = context.new_page()
        responses: list[Response] = []
        errors: list[Error] = []
        # Lambdas instead of the methods themselves: Playwright sets attributes on the handlers it
        # is given.
        page.on("response", lambda each: responses.append(each))  # noqa: PLW0108
        page.on("pageerror", lambda each: errors.append(each))  # noqa: PLW0108
        page.goto(f"{without_site.url}/docs")
        trial = Trial(page, "createDraft")
        trial.send()
        be(page, "Ada (author)")
        trial.expect_status("200")
        # The menu requests the profile of the account, which fails because there is none.
        failed = [each.url for each in responses if not each.ok and "/authors/" not in each.url]
        assert failed == []
        assert errors == []
        front_page = page.goto(without_site.url)
        assert front_page
        assert front_page.status == 404
    finally:
        context.close()
