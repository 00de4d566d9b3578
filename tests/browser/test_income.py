"""Income in the Studio: what an author sees after a sale, and how a price is changed."""

import csv
import io
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser.conftest import OpenPage, axe_violations
from tests.browser.posts import buy
from tests.browser.publishing import WalletOf, expect_published, publish, write

PRICE = 5 * 10**16


def open_income(page: Page) -> None:
    page.get_by_role("link", name="Income").first.click()
    expect(page.get_by_role("heading", name="Income")).to_be_visible()


def publish_one(page: Page, price: str) -> str:
    """Publish what is in the form; the id of the post."""
    page.get_by_label("Price in ETH").fill(price)
    publish(page)
    return expect_published(page).rpartition("/")[2]


def begin_price_change(page: Page, title: str, price: str) -> Locator:
    """Ask for another price of a post; the line of that post."""
    open_income(page)
    line = page.locator(".income-post", has_text=title)
    line.get_by_text("Price", exact=True).click()
    line.get_by_label("Price in ETH").fill(price)
    line.get_by_role("button", name="Change the price").click()
    return line


def test_an_author_without_posts_is_told_what_comes_here(
    open_page: OpenPage, wallet_of: WalletOf
) -> None:
    page = write(open_page(wallet_of(5)), "Not published")
    open_income(page)
    expect(page.get_by_text("You have published nothing yet.")).to_be_visible()
    assert axe_violations(page) == []


@pytest.mark.parametrize(("author", "scheme"), [(0, "light"), (3, "dark")])
def test_a_sale_is_shown_and_can_be_downloaded(
    open_page: OpenPage, wallet_of: WalletOf, author: int, scheme: str
) -> None:
    opened = open_page(wallet_of(author), color_scheme=scheme)
    page = write(opened, "Sold once")
    post_id = publish_one(page, "0.05")
    open_income(page)
    expect(page.get_by_text("No sale yet.")).to_be_visible()
    buy(opened.url, post_id)
    page.reload()
    expect(page.locator(".income-totals div", has_text="Earned")).to_contain_text("0.05 ETH")
    expect(page.get_by_text("0.05 ETH from 1 sale in this period.")).to_be_visible()
    expect(page.locator(".income-newest")).to_contain_text("Sold once")
    page.get_by_role("slider", name="Earnings by day").focus()
    expect(page.locator("figcaption")).to_contain_text("0.05 ETH, 1 sale")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("figcaption")).to_contain_text("0 ETH, 0 sales")
    assert axe_violations(page) == []
    page.set_viewport_size({"width": 320, "height": 640})
    page.wait_for_function("() => document.documentElement.scrollWidth <= 320")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download all sales (CSV)").click()
    rows = list(csv.DictReader(io.StringIO(Path(saved.value.path()).read_text())))
    assert [(row["postId"], row["price"]) for row in rows] == [(post_id, str(PRICE))]


def test_a_price_is_changed_and_its_history_has_dates(
    open_page: OpenPage, wallet_of: WalletOf
) -> None:
    page = write(open_page(wallet_of(2)), "Dearer tomorrow")
    publish_one(page, "")
    line = begin_price_change(page, "Dearer tomorrow", "0.2")
    expect(line).to_contain_text("now 0.2 ETH, first free")
    expect(line.get_by_text("The price is changed.")).to_be_visible()
    line.get_by_role("button", name="Show price changes").click()
    expect(line.locator(".income-changes li")).to_contain_text("free → 0.2 ETH")
    expect(line.locator(".income-changes time")).to_have_attribute(
        "datetime", re.compile(r"^20\d\d-")
    )
    assert axe_violations(page) == []


def test_a_rejected_price_can_be_left_as_it_is(open_page: OpenPage, wallet_of: WalletOf) -> None:
    wallet = wallet_of(4)
    page = write(open_page(wallet), "Stays cheap")
    publish_one(page, "0.1")
    wallet.refuses.add("eth_sendTransaction")
    line = begin_price_change(page, "Stays cheap", "0.9")
    expect(line.get_by_role("alert")).to_contain_text("You declined in your wallet.")
    assert axe_violations(page) == []
    line.get_by_role("button", name="Leave the price as it is").click()
    expect(line.get_by_label("Price in ETH")).to_be_visible()
    page.reload()
    expect(line).to_contain_text("now 0.1 ETH")


def test_a_reload_follows_a_change_of_price(open_page: OpenPage, wallet_of: WalletOf) -> None:
    wallet = wallet_of(6)
    page = write(open_page(wallet), "Reloaded price")
    publish_one(page, "0.1")
    wallet.withholds.add("eth_getTransactionReceipt")
    line = begin_price_change(page, "Reloaded price", "0.4")
    expect(line.locator(".publish-step[data-state=now]")).to_contain_text("Mined")
    page.reload()
    expect(line.locator(".publish-step[data-state=now]")).to_contain_text("Mined")
    wallet.withholds.clear()
    expect(line).to_contain_text("now 0.4 ETH, first 0.1 ETH")
    assert len(wallet.sent) == 2


def test_a_reload_between_prompt_and_hash_sends_nothing_again(
    open_page: OpenPage, wallet_of: WalletOf
) -> None:
    wallet = wallet_of(7)
    page = write(open_page(wallet), "Hash lost")
    publish_one(page, "0.1")
    # The wallet sends it, and the page never hears of it.
    wallet.loses.add("eth_sendTransaction")
    line = begin_price_change(page, "Hash lost", "0.4")
    expect(line.locator(".publish-step[data-state=now]")).to_contain_text("Confirm")
    page.wait_for_function("() => window.__walletLost === 1")
    page.reload()
    expect(line).to_contain_text("now 0.4 ETH, first 0.1 ETH")
    assert len(wallet.sent) == 2


@pytest.mark.parametrize("title", ["In an open form", "In a new tab"])
def test_a_second_tab_says_who_changes_the_price_and_follows(
    open_page: OpenPage, wallet_of: WalletOf, title: str
) -> None:
    wallet = wallet_of(8)
    opened = open_page(wallet)
    first = write(opened, title)
    publish_one(first, "0.1")
    second = opened.another()
    other = second.locator(".income-post", has_text=title)
    if title == "In an open form":
        open_income(first)
        second.goto(first.url)
        other.get_by_text("Price", exact=True).click()
        expect(other.get_by_label("Price in ETH")).to_be_visible()
    wallet.withholds.add("eth_getTransactionReceipt")
    line = begin_price_change(first, title, "0.4")
    expect(line.locator(".publish-step[data-state=now]")).to_contain_text("Mined")
    if title == "In a new tab":
        second.goto(first.url)
    expect(other).to_contain_text("Another tab is changing this price.")
    expect(other.get_by_role("button", name="Continue")).to_have_count(0)
    assert axe_violations(second) == []
    wallet.withholds.clear()
    for each in (line, other):
        expect(each).to_contain_text("now 0.4 ETH, first 0.1 ETH")
        expect(each).not_to_contain_text("Another tab")
    assert len(wallet.sent) == 2
