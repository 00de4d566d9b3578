"""Income in the Studio: what an author sees after a sale."""

import csv
import io
from collections.abc import Callable
from pathlib import Path

import httpx2
from playwright.sync_api import expect
from tests.browser.conftest import Chain, OpenPage, axe_violations
from tests.browser.test_publishing import expect_published, publish, write
from tests.browser.wallet import BrowserWallet
from tests.processes import PLAIN

WalletOf = Callable[[int], BrowserWallet]

SUBSCRIBE = "0xdf58067d"
PRICE = 5 * 10**16


def test_an_author_without_posts_is_told_what_comes_here(
    open_page: OpenPage, wallet_of: WalletOf
) -> None:
    page = write(open_page(wallet_of(5)), "Not published")
    page.get_by_role("link", name="Income").first.click()
    expect(page.get_by_text("You have published nothing yet.")).to_be_visible()


def test_a_sale_is_shown_and_can_be_downloaded(
    open_page: OpenPage, wallet_of: WalletOf, chain: Chain
) -> None:
    author, reader = wallet_of(0), wallet_of(1)
    page = write(open_page(author), "Sold once")
    page.get_by_label("Price in ETH").fill("0.05")
    publish(page)
    post_id = expect_published(page).rpartition("/")[2]
    call = {"to": marketplace(page.url), "data": f"{SUBSCRIBE}{int(post_id):064x}"}
    buy = {"from": chain.accounts[1], "value": hex(PRICE), **call}
    reader._call("eth_sendTransaction", [buy])
    page.get_by_role("link", name="Income").first.click()
    total = page.locator(".income-totals div", has_text="Earned")
    for _ in range(30):
        page.reload()
        expect(total).to_be_visible()
        if "0.05 ETH" in total.inner_text():
            break
        page.wait_for_timeout(500)
    expect(total).to_contain_text("0.05 ETH")
    expect(page.get_by_text("0.05 ETH from 1 sale in this period.")).to_be_visible()
    page.get_by_role("slider", name="Earnings by day").focus()
    expect(page.locator("figcaption")).to_contain_text("0.05 ETH, 1 sale")
    assert axe_violations(page) == []
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download all sales (CSV)").click()
    rows = list(csv.DictReader(io.StringIO(Path(saved.value.path()).read_text())))
    assert [(row["postId"], row["price"]) for row in rows] == [(post_id, str(PRICE))]


def test_a_price_is_changed_from_the_line_of_the_post(
    open_page: OpenPage, wallet_of: WalletOf
) -> None:
    page = write(open_page(wallet_of(2)), "Dearer tomorrow")
    publish(page)
    expect_published(page)
    page.get_by_role("link", name="Income").first.click()
    line = page.locator(".income-post", has_text="Dearer tomorrow")
    line.get_by_text("Price", exact=True).click()
    line.get_by_label("Price in ETH").fill("0.2")
    line.get_by_role("button", name="Change the price").click()
    expect(line).to_contain_text("now 0.2 ETH, first free")
    line.get_by_role("button", name="Show price changes").click()
    expect(line).to_contain_text("free → 0.2 ETH")


def marketplace(url: str) -> str:
    address = url.partition("/studio")[0] + "/.well-known/marketplace.json"
    found: str = httpx2.get(address, verify=PLAIN).json()["address"]
    return found
