"""Income in the Studio: an author's view after a sale, and price changes."""

import csv
import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser.accounts import NewAccount
from tests.browser.pages import (
    Opened,
    OpenPage,
    axe_violations,
    axe_violations_in_both_schemes,
)
from tests.browser.posts import NewPost, buy, publish
from tests.browser.wallet import BrowserWallet, NewWallet
from tests.browser.writing import sign_in
from tests.processes import Service

PRICE = 5 * 10**16


@dataclass(frozen=True, slots=True)
class Author:
    """An author in the Studio who has published one post."""

    opened: Opened
    wallet: BrowserWallet
    post: str

    @property
    def page(self) -> Page:
        return self.opened.page


NewAuthor = Callable[..., Author]


@pytest.fixture
def new_author(open_page: OpenPage, new_wallet: NewWallet, service: Service) -> NewAuthor:
    """Publish a post by a new account and open its income page."""

    def make(title: str, price: int = PRICE) -> Author:
        wallet = new_wallet()
        content = f"# {title}\n\nThe text of it."
        [post] = publish(service.url, [NewPost(title, content, price=price)], wallet.account)
        opened = open_page(wallet)
        sign_in(opened, opened.page)
        open_income(opened.page)
        return Author(opened, wallet, post)

    return make


def open_income(page: Page) -> None:
    page.get_by_role("link", name="Income").first.click()
    expect(page.get_by_role("heading", name="Income")).to_be_visible()


def begin_price_change(page: Page, title: str, price: str) -> Locator:
    """Start changing the price of a post and return the line of that post."""
    line = page.locator(".own-post", has_text=title)
    line.locator("summary").click()
    line.get_by_label("Price in ETH").fill(price)
    line.get_by_role("button", name="Change price").click()
    return line


def test_an_author_without_posts_sees_an_explanation(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    opened = open_page(new_wallet())
    page = opened.page
    sign_in(opened, page)
    open_income(page)
    expect(page.get_by_text("You haven’t published anything yet.")).to_be_visible()
    assert axe_violations(page) == []


def test_a_sale_is_shown_and_can_be_downloaded(
    new_author: NewAuthor, new_account: NewAccount
) -> None:
    author = new_author("Sold once")
    page = author.page
    expect(page.get_by_text("No sales yet.")).to_be_visible()
    buy(author.opened.url, author.post, new_account())
    requested: list[str] = []
    page.on("request", lambda request: requested.append(urlsplit(request.url).path))
    page.reload()
    expect(page.locator(".income-totals div", has_text="Earned")).to_contain_text("0.05 ETH")
    expect(page.get_by_text("0.05 ETH from 1 sale in this period.")).to_be_visible()
    expect(page.locator(".income-newest")).to_contain_text("Sold once")
    assert "/me/sales" in requested
    assert f"/posts/{author.post}" not in requested
    page.get_by_role("slider", name="Earnings by day").focus()
    expect(page.locator("figcaption")).to_contain_text("0.05 ETH, 1 sale")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("figcaption")).to_contain_text("0 ETH, 0 sales")
    assert axe_violations_in_both_schemes(page) == []
    page.set_viewport_size({"width": 320, "height": 640})
    page.wait_for_function("() => document.documentElement.scrollWidth <= 320")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download all sales (CSV)").click()
    rows = list(csv.DictReader(io.StringIO(Path(saved.value.path()).read_text())))
    shown = ("postId", "price", "title", "amount", "coin")
    assert [tuple(row[name] for name in shown) for row in rows] == [
        (author.post, str(PRICE), "Sold once", "0.05", "ETH")
    ]


def test_a_sale_shows_who_received_a_gift(new_author: NewAuthor, new_account: NewAccount) -> None:
    author, payer, receiver = new_author("Given away"), new_account(), new_account()
    page = author.page
    buy(author.opened.url, author.post, payer, receiver.address)
    page.reload()
    row = page.locator(".income-newest tbody tr")
    expect(row.get_by_role("link").nth(1)).to_have_attribute("title", payer.address.lower())
    expect(row).to_contain_text("Gift to 0x")
    expect(row.get_by_role("link").nth(2)).to_have_attribute("title", receiver.address.lower())
    assert axe_violations(page) == []
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download all sales (CSV)").click()
    (sale,) = csv.DictReader(io.StringIO(Path(saved.value.path()).read_text()))
    assert (sale["buyer"], sale["receiver"]) == (payer.address.lower(), receiver.address.lower())


def test_a_price_can_be_changed_and_its_history_has_dates(new_author: NewAuthor) -> None:
    page = new_author("Dearer tomorrow", price=0).page
    line = begin_price_change(page, "Dearer tomorrow", "0.2")
    expect(line).to_contain_text("now 0.2 ETH, first free")
    expect(line.get_by_text("Price changed.")).to_be_visible()
    prices = line.locator(".income-prices li")
    expect(prices).to_contain_text(["0.2 ETH since", "free since"])
    page.reload()
    line.locator("summary").click()
    line.get_by_role("button", name="Show price history").click()
    expect(prices).to_contain_text(["0.2 ETH since", "free since"])
    for each in prices.locator("time").all():
        expect(each).to_have_attribute("datetime", re.compile(r"^20\d\d-"))
    assert axe_violations(page) == []


def test_a_declined_price_change_can_be_abandoned(new_author: NewAuthor) -> None:
    author = new_author("Stays cheap")
    page = author.page
    author.wallet.refuses.add("eth_sendTransaction")
    line = begin_price_change(page, "Stays cheap", "0.9")
    expect(line.get_by_role("alert")).to_contain_text("You declined in your wallet.")
    assert axe_violations(page) == []
    line.get_by_role("button", name="Keep the current price").click()
    expect(line.get_by_label("Price in ETH")).to_be_visible()
    page.reload()
    expect(line).to_contain_text("0.05 ETH")
    expect(line).not_to_contain_text("first")


def test_a_price_change_is_still_followed_after_a_reload(new_author: NewAuthor) -> None:
    author = new_author("Reloaded price")
    author.wallet.withholds.add("eth_getTransactionReceipt")
    line = begin_price_change(author.page, "Reloaded price", "0.4")
    expect(line.locator(".publish-step[data-state=now]")).to_contain_text("Confirmed")
    author.page.reload()
    expect(line.locator(".publish-step[data-state=now]")).to_contain_text("Confirmed")
    author.wallet.withholds.clear()
    expect(line).to_contain_text("now 0.4 ETH, first 0.05 ETH")
    assert len(author.wallet.sent) == 1


@pytest.mark.parametrize("is_open_before", [True, False], ids=["open form", "new tab"])
def test_a_price_change_is_also_followed_in_a_second_tab(
    new_author: NewAuthor, is_open_before: bool
) -> None:
    author = new_author("In two tabs")
    first, second = author.page, author.opened.another()
    other = second.locator(".own-post", has_text="In two tabs")
    if is_open_before:
        second.goto(first.url)
        other.locator("summary").click()
        expect(other.get_by_label("Price in ETH")).to_be_visible()
    author.wallet.withholds.add("eth_getTransactionReceipt")
    first.bring_to_front()
    line = begin_price_change(first, "In two tabs", "0.4")
    expect(line.locator(".publish-step[data-state=now]")).to_contain_text("Confirmed")
    if not is_open_before:
        second.goto(first.url)
    expect(other).to_contain_text("You’re changing this price in another tab.")
    expect(other.get_by_role("button", name="Continue", exact=True)).to_have_count(0)
    assert axe_violations(second) == []
    author.wallet.withholds.clear()
    for each in (line, other):
        expect(each).to_contain_text("now 0.4 ETH, first 0.05 ETH")
        expect(each).not_to_contain_text("Another tab")
    assert len(author.wallet.sent) == 1
