"""The profile in the Studio: an author sets it, and readers see it in every byline."""

import io

from PIL import Image
from playwright.sync_api import expect
from tests.browser.pages import (
    Opened,
    OpenPage,
    axe_violations,
    axe_violations_in_both_schemes,
)
from tests.browser.posts import NewPost, publish
from tests.browser.wallet import NewWallet
from tests.browser.writing import sign_in
from tests.processes import Service


def _portrait() -> dict[str, object]:
    file = io.BytesIO()
    Image.new("RGB", (800, 600), "#24479e").save(file, "PNG")
    return {"name": "me.png", "mimeType": "image/png", "buffer": file.getvalue()}


def test_a_profile_set_by_an_author_is_shown_in_the_byline(
    open_page: OpenPage, new_wallet: NewWallet, service: Service
) -> None:
    wallet = new_wallet()
    content = "# With a name\n\nThe text of it."
    [post] = publish(service.url, [NewPost("With a name", content)], wallet.account)
    address = wallet.account.address.lower()
    short = f"{address[:6]}…{address[-4:]}"
    opened = open_page(wallet)
    page = opened.page
    sign_in(opened, page)
    page.get_by_role("link", name="Profile").first.click()

    page.get_by_role("button", name="Save profile").click()
    expect(page.get_by_text("Enter the name that readers should see.")).to_be_visible()
    page.get_by_label("Name", exact=True).fill("Ada\u200b Ink")
    page.get_by_label("About you").fill("Writes by hand.")
    page.get_by_label("Links").fill("ada.example")
    page.get_by_label("Picture file").set_input_files(_portrait())
    expect(page.get_by_label("Visible part of the picture")).to_be_visible()
    preview = page.get_by_role("complementary", name="Preview")
    expect(preview).to_contain_text("Ada Ink")
    expect(preview).to_contain_text(short)
    assert axe_violations_in_both_schemes(page) == []
    page.get_by_role("button", name="Save profile").click()
    expect(page.get_by_text("Saved. Readers see it now.")).to_be_visible()

    reader = open_page()
    shown = reader.visit(f"/p/{post}")
    byline = shown.locator(".byline a.author").first
    expect(byline).to_have_text("Ada Ink")
    expect(byline).to_have_attribute("title", short)
    assert byline.locator("img").evaluate("image => image.decode().then(() => image.naturalWidth)")
    byline.click()
    heading = shown.get_by_role("heading", level=1)
    expect(heading).to_contain_text("Ada Ink")
    expect(heading).to_contain_text(short)
    link = shown.get_by_role("link", name="ada.example")
    expect(link).to_have_attribute("href", "https://ada.example")
    expect(link).to_have_attribute("rel", "ugc nofollow")
    assert axe_violations_in_both_schemes(shown) == []

    page.reload()
    expect(page.get_by_label("Name", exact=True)).to_have_value("Ada Ink")


def _save_profile(opened: Opened, name: str) -> None:
    page = opened.page
    sign_in(opened, page)
    page.get_by_role("link", name="Profile").first.click()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Picture file").set_input_files(_portrait())
    page.get_by_role("button", name="Save profile").click()
    expect(page.get_by_text("Saved. Readers see it now.")).to_be_visible()


def test_a_profile_is_in_every_byline(
    open_page: OpenPage, new_wallet: NewWallet, service: Service
) -> None:
    wallet, tag = new_wallet(), "everybyline"
    posts = [
        NewPost(f"Quill number {number}", "A text.", hashtags=(tag,), price=number * 10**15)
        for number in range(2)
    ]
    free, paid = publish(service.url, posts, wallet.account)
    _save_profile(open_page(wallet), "Bea Quill")
    buyer = open_page(new_wallet())
    page = buyer.visit(f"/p/{paid}")
    page.get_by_role("button", name="Buy and read").click()
    page.get_by_role("dialog").get_by_role("button", name="Test Wallet").click()
    expect(page.locator("#text")).to_contain_text("A text.")
    for path in ("/", f"/t/{tag}", "/search?q=quill", f"/a/{wallet.account.address}"):
        shown = buyer.visit(path)
        for post in (free, paid):
            byline = shown.locator(f'.card[data-id="{post}"] .byline a.author')
            expect(byline).to_have_text("Bea Quill")
            picture = byline.locator("img")
            picture.scroll_into_view_if_needed()
            assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)")
    shown = buyer.visit(f"/p/{free}")
    expect(shown.locator(".post-head .byline")).to_contain_text("Bea Quill")
    expect(shown.locator(".author-box")).to_contain_text("Bea Quill")
    expect(shown.locator('meta[name="author"]')).to_have_attribute("content", "Bea Quill")
    shown = buyer.visit("/library")
    expect(shown.locator("#library")).to_contain_text("Bea Quill")


def test_the_account_menu_shows_the_name_of_the_profile(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    wallet = new_wallet()
    opened = open_page(wallet)
    page, menu = opened.page, opened.page.locator("#account summary")
    sign_in(opened, page)
    expect(menu).to_contain_text("…")
    _save_profile(opened, "A name that is far too long for the menu of a phone, it seems")
    expect(menu).to_contain_text("A name that is far too long")
    expect(menu).to_have_attribute("title", wallet.account.address)
    page.set_viewport_size({"width": 320, "height": 640})
    opened.visit("/")
    expect(menu).to_contain_text("A name that is far too long")
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    assert axe_violations(page) == []
    menu.click()
    page.get_by_role("button", name="Sign out", exact=True).click()
    expect(page.locator("#account").get_by_role("button", name="Sign in")).to_be_visible()
    assert page.evaluate("localStorage.getItem('imprint.name')") is None
    elsewhere = open_page(wallet)
    sign_in(elsewhere, elsewhere.page)
    expect(elsewhere.page.locator("#account summary")).to_contain_text("A name that")


def test_two_authors_with_the_same_name_can_be_distinguished(
    open_page: OpenPage, new_wallet: NewWallet, service: Service
) -> None:
    tag, shorts = "twonames", []
    for name in ("Sam Twin", "SAM  TWIN"):
        wallet = new_wallet()
        publish(service.url, [NewPost("By one of two", "A text.", hashtags=(tag,))], wallet.account)
        _save_profile(open_page(wallet), name)
        address = wallet.account.address.lower()
        shorts.append(f"{address[:6]}…{address[-4:]}")
    page = open_page().visit(f"/t/{tag}")
    beside = page.locator(".card .byline .author-address")
    expect(beside).to_have_count(2)
    assert sorted(beside.all_text_contents()) == sorted(shorts)
    assert axe_violations_in_both_schemes(page) == []
    page.locator(".card-title a").first.click()
    expect(page.locator(".author-box .author-address")).to_be_visible()
