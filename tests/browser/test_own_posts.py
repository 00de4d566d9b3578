"""An author's own posts: in the Studio, on their pages, and when the operator hides them."""

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser.accounts import NewAccount
from tests.browser.pages import Opened, OpenPage, axe_violations, axe_violations_in_both_schemes
from tests.browser.posts import NewPost, buy, publish
from tests.browser.test_operator import sign_in as operator_sign_in
from tests.browser.wallet import NewWallet
from tests.browser.writing import editor, sign_in
from tests.processes import Service

PRICE = 5 * 10**16
PHONE = {"viewport": {"width": 390, "height": 780}, "has_touch": True, "is_mobile": True}


def own_post(page: Page, title: str) -> Locator:
    return page.locator(".own-post", has_text=title)


def moderate(page: Page, measure: str, post_id: str, statement: str) -> None:
    """Apply a moderation measure to a post at the operator's desk."""
    page.goto(f"{page.url.partition('/operator')[0]}/operator/desk")
    form = page.locator("form", has=page.get_by_label("ID, address, CID or hashtag"))
    form.get_by_label("About").select_option("post")
    form.get_by_label("ID, address, CID or hashtag").fill(post_id)
    form.get_by_label("Measure").select_option(measure)
    form.get_by_label("Statement").fill(statement)
    form.get_by_role("button", name="Apply").click()
    expect(page.get_by_role("heading", name="Done")).to_be_visible()


@pytest.mark.parametrize("is_phone", [False, True], ids=["desk", "phone"])
def test_published_posts_show_their_price_sales_readers_and_actions(
    open_page: OpenPage,
    new_wallet: NewWallet,
    new_account: NewAccount,
    service: Service,
    is_phone: bool,
) -> None:
    wallet = new_wallet()
    post = NewPost("Sold to one", "# Sold to one\n\nThe text.", price=PRICE)
    [post_id] = publish(service.url, [post], wallet.account)
    buy(service.url, post_id, new_account())
    opened = open_page(wallet, **(PHONE if is_phone else {}))
    page = opened.page
    sign_in(opened, page)
    line = own_post(page, "Sold to one")
    expect(line).to_contain_text("Published")
    for fact in ("0.05 ETH", "1 sale", "0.05 ETH earned", "1 reader"):
        expect(line.locator(".draft-facts")).to_contain_text(fact)
    expect(line.get_by_role("link", name="Sold to one")).to_have_attribute(
        "href", f"/p/{post_id}/sold-to-one"
    )
    for name in ("Copy link", "Continue in a new draft"):
        box = line.get_by_role("button", name=name).bounding_box()
        assert box is not None
        assert box["height"] >= 40
    assert axe_violations_in_both_schemes(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_post_is_continued_in_a_new_draft_with_the_keyboard(
    open_page: OpenPage, new_wallet: NewWallet, service: Service
) -> None:
    wallet = new_wallet()
    post = NewPost("Part one", "# Part one\n\nIt goes on.", price=PRICE)
    publish(service.url, [post], wallet.account)
    opened = open_page(wallet)
    page = opened.page
    sign_in(opened, page)
    own_post(page, "Part one").get_by_role("button", name="Continue in a new draft").press("Enter")
    expect(editor(page)).to_contain_text("It goes on.")
    page.go_back()
    expect(page.locator(".draft-line", has_text="Continues “Part one”")).to_be_visible()
    assert len(wallet.prompts) == 2, "connecting and signing in, and nothing else"


def test_hidden_posts_stay_in_their_authors_list_with_the_operators_statement(
    open_page: OpenPage, new_wallet: NewWallet, service: Service
) -> None:
    wallet = new_wallet()
    posts = [NewPost(title, f"# {title}\n\nThe text.") for title in ("Off lists", "Gone words")]
    unlisted, withheld = publish(service.url, posts, wallet.account)
    desk = open_page().visit("/operator")
    operator_sign_in(desk)
    moderate(desk, "unlisted", unlisted, "Too long for the front page.")
    moderate(desk, "withheld", withheld, "A reader complained.")
    opened = open_page(wallet)
    page = opened.page
    sign_in(opened, page)
    line = own_post(page, "Off lists")
    expect(line.locator(".draft-state")).to_have_text("Unlisted")
    expect(line).to_contain_text("The operator says: Too long for the front page.")
    gone = own_post(page, f"Post {withheld}")
    expect(gone.locator(".draft-state")).to_have_text("Withheld")
    expect(gone).to_contain_text("The operator says: A reader complained.")
    expect(gone.get_by_role("button")).to_have_count(0)
    expect(page.get_by_text("Gone words")).to_have_count(0)
    assert axe_violations_in_both_schemes(page) == []


def visit_own(opened: Opened, post_id: str) -> Page:
    page = opened.page
    sign_in(opened, page)
    page.goto(f"{opened.url}/p/{post_id}")
    return page


@pytest.mark.parametrize("is_phone", [False, True], ids=["desk", "phone"])
def test_an_author_changes_the_price_from_the_page_of_the_post(
    open_page: OpenPage, new_wallet: NewWallet, service: Service, is_phone: bool
) -> None:
    wallet = new_wallet()
    post = NewPost("From its page", "# From its page\n\nThe text.", price=PRICE)
    [post_id] = publish(service.url, [post], wallet.account)
    page = visit_own(open_page(wallet, **(PHONE if is_phone else {})), post_id)
    panel = page.get_by_role("region", name="Your post")
    expect(panel).to_contain_text("0.05 ETH")
    expect(panel).to_contain_text("0 readers")
    assert axe_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    panel.get_by_role("link", name="Change price").press("Enter")
    field = page.get_by_label("Price in ETH")
    field.fill("0.2")
    field.press("Enter")
    expect(page.get_by_text("Price changed.")).to_be_visible()
    expect(page.locator(".own-post")).to_contain_text("now 0.2 ETH, first 0.05 ETH")
    assert axe_violations(page) == []


def test_an_author_continues_a_post_from_its_page(
    open_page: OpenPage, new_wallet: NewWallet, service: Service
) -> None:
    wallet = new_wallet()
    [post_id] = publish(service.url, [NewPost("Chapter", "# Chapter\n\nOne.")], wallet.account)
    page = visit_own(open_page(wallet), post_id)
    link = page.get_by_role("region", name="Your post")
    link.get_by_role("link", name="Continue in a new draft").click()
    expect(editor(page)).to_contain_text("One.")
    # Going back leads to the page of the post, and does not create another draft.
    page.go_back()
    expect(page.get_by_role("heading", name="Chapter")).to_be_visible()


def test_readers_do_not_see_the_authors_panel(
    open_page: OpenPage, new_wallet: NewWallet, service: Service
) -> None:
    [post_id] = publish(service.url, [NewPost("Not mine", "# Not mine\n\nText.")])
    opened = open_page(new_wallet())
    page = visit_own(opened, post_id)
    expect(page.locator("#account summary")).to_be_visible()
    page.wait_for_load_state("networkidle")
    expect(page.locator(".own-panel")).to_have_count(0)
    page.goto(f"{opened.url}/studio#/post/{post_id}")
    expect(page.get_by_text("This post belongs to another account.")).to_be_visible()
