"""The library, marks on held posts, proofs of posts, themes, and signing out."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

import httpx2
import pytest
from playwright.sync_api import Page, expect
from tests.browser.accounts import Account, Chain, NewAccount, make_account
from tests.browser.pages import OpenPage, axe_violations, axe_violations_in_both_schemes
from tests.browser.posts import NewPost, buy, give, publish
from tests.browser.shelf import SECRET, Shelf
from tests.browser.wallet import NewWallet
from tests.processes import PLAIN, Service

PAGE = 24
"""The number of posts per library page."""


@dataclass(frozen=True, slots=True)
class Holders:
    """A buyer of all posts on the shelf, and a friend who was given the last one."""

    buyer: Account
    friend: Account


@pytest.fixture(scope="session")
def holders(service: Service, chain: Chain, shelf: Shelf) -> Holders:
    buyer, friend = make_account(chain), make_account(chain)
    for post in shelf.paid:
        buy(service.url, post, buyer)
    give(service.url, shelf.paid[-1], buyer, friend)
    return Holders(buyer, friend)


SignedIn = Callable[..., Page]


@pytest.fixture
def signed_in(open_page: OpenPage, new_wallet: NewWallet) -> SignedIn:
    """Open the library of an account."""

    def open_library(account: Account, **options: object) -> Page:
        page = open_page(new_wallet(account), **options).visit("/library")
        page.locator("#library").get_by_role("button", name="Sign in").click()
        page.locator("dialog .choice", has_text="Test Wallet").click()
        expect(page.locator("#library form")).to_be_visible()
        return page

    return open_library


def titles(page: Page) -> list[str]:
    expect(page.locator(".shelf")).to_have_attribute("aria-busy", "false")
    return sorted(page.locator(".shelf-post h2").all_inner_texts())


def test_the_library_lists_bought_posts_and_opens_them(
    signed_in: SignedIn, holders: Holders
) -> None:
    page = signed_in(holders.buyer)
    assert titles(page) == ["The ferry", "The lighthouse"]
    expect(page.locator(".shelf-post").first).to_contain_text("for 0.01 ETH")
    assert axe_violations_in_both_schemes(page) == []
    page.get_by_role("link", name="The ferry").click()
    expect(page.locator("#text")).to_contain_text(SECRET)


def test_the_library_can_be_downloaded_as_readable_files(
    signed_in: SignedIn, holders: Holders, tmp_path: Path
) -> None:
    page = signed_in(holders.buyer)
    with page.expect_download() as downloading:
        page.get_by_role("button", name="Download my library").click()
    downloading.value.save_as(tmp_path / "library.zip")
    with ZipFile(tmp_path / "library.zip") as archive:
        assert archive.testzip() is None
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    (ferry,) = (text for name, text in texts.items() if name.endswith("-the-ferry/post.md"))
    assert 'title: "The ferry"' in ferry
    assert SECRET in ferry
    assert "[The ferry](posts/" in texts["README.md"]
    assert any(name.endswith("-the-ferry/document.json") for name in texts)


def test_the_library_marks_a_gift(signed_in: SignedIn, holders: Holders) -> None:
    page = signed_in(holders.friend)
    assert titles(page) == ["The salt road"]
    expect(page.locator(".shelf-post")).to_contain_text("Given to you on")


def test_the_library_can_be_searched(signed_in: SignedIn, holders: Holders) -> None:
    page = signed_in(holders.buyer)
    search = page.get_by_role("searchbox", name="Search your library")
    search.fill("ferry")
    search.press("Enter")
    expect(page.locator(".shelf-post h2")).to_have_text(["The ferry"])
    search.fill("nothing of that kind")
    search.press("Enter")
    expect(page.locator(".shelf")).to_contain_text("Nothing in your library matches")


def test_an_empty_library_links_to_the_posts(signed_in: SignedIn, new_account: NewAccount) -> None:
    page = signed_in(new_account())
    expect(page.locator(".shelf")).to_contain_text("Nothing here yet")
    assert axe_violations(page) == []
    page.get_by_role("link", name="Find something to read").click()
    expect(page.locator(".card").first).to_be_visible()


def test_a_long_library_is_paged(
    signed_in: SignedIn, service: Service, new_account: NewAccount
) -> None:
    collector = new_account()
    few = [NewPost(f"Part {number}", f"# Part {number}", price=1) for number in range(3)]
    for post in publish(service.url, few):
        buy(service.url, post, collector)
    page = signed_in(collector)
    page.route(
        re.compile("/library"), lambda route: route.continue_(url=one_by_one(route.request.url))
    )
    page.get_by_role("searchbox", name="Search your library").press("Enter")
    more = page.get_by_role("button", name="Show more")
    for shown in (1, 2):
        expect(page.locator(".shelf-post")).to_have_count(shown)
        more.click()
    expect(page.locator(".shelf-post")).to_have_count(3)
    expect(more).to_have_count(0)


def one_by_one(url: str) -> str:
    return url.replace(f"limit={PAGE}", "limit=1")


def test_a_private_feed_can_be_created_and_read(signed_in: SignedIn, holders: Holders) -> None:
    page = signed_in(holders.buyer)
    page.get_by_role("button", name="Create a private feed").click()
    address = page.get_by_role("link", name="Atom").get_attribute("href")
    assert address is not None
    assert axe_violations(page) == []
    feed = page.request.get(address)
    assert feed.ok
    assert "The ferry" in feed.text()


def test_the_library_and_a_proof_fit_a_phone(
    signed_in: SignedIn, holders: Holders, shelf: Shelf
) -> None:
    page = signed_in(holders.buyer, viewport={"width": 320, "height": 640})
    page.get_by_role("button", name="Create a private feed").click()
    expect(page.get_by_role("link", name="Atom")).to_be_visible()
    page.locator("#account summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.goto(page.url.replace("/library", f"/p/{shelf.paid[-1]}"))
    expect(page.get_by_role("button", name="Buy and read")).to_be_visible()
    page.locator("#proof summary").click()
    expect(page.locator("#proof")).to_contain_text("Marketplace")
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_cards_mark_posts_that_the_reader_holds_or_wrote(
    signed_in: SignedIn, holders: Holders, shelf: Shelf
) -> None:
    page = signed_in(holders.buyer)
    page.goto(page.url.replace("/library", shelf.path))
    held = page.locator(f'.card[data-id="{shelf.paid[0]}"] .card-foot')
    expect(held).to_have_text("0.01 ETH In your library", use_inner_text=True)
    given_away = page.locator(f'.card[data-id="{shelf.paid[-1]}"] .card-foot')
    expect(given_away).to_have_text("0.01 ETH Add to cart", use_inner_text=True)
    author = signed_in(shelf.author)
    author.goto(author.url.replace("/library", shelf.path))
    own = author.locator(f'.card[data-id="{shelf.free}"] .card-foot')
    expect(own).to_have_text("FreeYour post")


def test_the_bytes_of_a_free_post_can_be_verified(open_page: OpenPage, shelf: Shelf) -> None:
    page = open_page().visit(f"/p/{shelf.free}")
    page.locator("#proof summary").click()
    page.get_by_role("button", name="Verify in this browser").click()
    expect(page.locator(".proof-result")).to_contain_text("Verified: this browser downloaded")
    assert axe_violations(page) == []


def test_the_proof_of_a_final_post_is_checked_against_the_chain(
    open_page: OpenPage, service: Service, chain: Chain, shelf: Shelf
) -> None:
    path = f"/posts/{shelf.free}/proof.json"
    for _ in range(64):
        chain.ask("evm_mine")
    deadline = time.monotonic() + 60
    # The index reads a block twice before it is final.
    while httpx2.get(service.url + path, verify=PLAIN).status_code != 200:
        assert time.monotonic() < deadline
        chain.ask("evm_mine")
        time.sleep(0.2)
    page = open_page().visit(f"/p/{shelf.free}")
    page.locator("#proof summary").click()
    expect(page.get_by_role("link", name="Download the proof")).to_have_attribute("href", path)
    page.get_by_role("button", name="Verify in this browser").click()
    expect(page.locator(".proof-result")).to_contain_text("node confirms the proof")
    assert axe_violations(page) == []


def test_a_holder_can_verify_the_bytes_of_a_paid_post(
    signed_in: SignedIn, holders: Holders
) -> None:
    page = signed_in(holders.buyer)
    page.get_by_role("link", name="The ferry").click()
    expect(page.locator("#text")).to_contain_text(SECRET)
    page.locator("#proof summary").click()
    page.get_by_role("button", name="Verify in this browser").click()
    expect(page.locator(".proof-result")).to_contain_text("Verified: this browser downloaded")


def test_bytes_that_do_not_match_the_cid_are_reported(open_page: OpenPage, shelf: Shelf) -> None:
    page = open_page().visit(f"/p/{shelf.free}")
    page.locator("#proof summary").click()
    page.route("**/p/*/document", lambda route: route.fulfill(body="something else"))
    page.get_by_role("button", name="Verify in this browser").click()
    expect(page.locator(".proof-result")).to_contain_text("Don’t trust this text")


def test_the_proof_of_a_paid_post_explains_why_it_cannot_be_checked(
    open_page: OpenPage, shelf: Shelf
) -> None:
    page = open_page().visit(f"/p/{shelf.paid[0]}")
    page.locator("#proof summary").click()
    expect(page.locator("#proof")).to_contain_text("The document of a paid post isn’t public")
    assert axe_violations(page) == []


def test_the_chosen_theme_is_applied_before_the_first_paint(open_page: OpenPage) -> None:
    opened = open_page(color_scheme="light")
    page = opened.visit("/")
    page.get_by_role("button", name="Dark mode").click()
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    # When the body begins, nothing is painted yet, and scripts of the page have not run.
    opened.context.add_init_script(
        """new MutationObserver((_, observer) => {
          if (!document.body) return;
          observer.disconnect();
          window.__themeAtFirst = document.documentElement.dataset.theme;
        }).observe(document, { childList: true, subtree: true });"""
    )
    page.reload()
    expect(page.get_by_role("button", name="Light mode")).to_be_visible()
    assert page.evaluate("window.__themeAtFirst") == "dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark
    assert axe_violations(page) == []


def test_signing_out_on_one_device_leaves_the_others_signed_in(
    signed_in: SignedIn, holders: Holders
) -> None:
    here, there = signed_in(holders.buyer), signed_in(holders.buyer)
    here.locator("#account summary").click()
    here.get_by_role("button", name="Sign out", exact=True).click()
    expect(here.locator("#account").get_by_role("button", name="Sign in")).to_be_visible()
    there.reload()
    assert titles(there) == ["The ferry", "The lighthouse"]


def test_signing_out_on_every_device_ends_the_other_sessions(
    signed_in: SignedIn, holders: Holders
) -> None:
    here, there = signed_in(holders.buyer), signed_in(holders.buyer)
    here.locator("#account summary").click()
    here.get_by_role("button", name="Sign out on every device").click()
    expect(here.locator(".notice")).to_contain_text("signed out on every device")
    there.reload()
    expect(there.locator("#library").get_by_role("button", name="Sign in")).to_be_visible()


def test_signing_out_hides_the_text_in_every_tab(
    signed_in: SignedIn, holders: Holders, shelf: Shelf
) -> None:
    page = signed_in(holders.buyer)
    other = page.context.new_page()
    other.goto(page.url.replace("/library", f"/p/{shelf.paid[0]}"))
    expect(other.locator("#text")).to_contain_text(SECRET)
    page.bring_to_front()
    page.locator("#account summary").click()
    page.get_by_role("button", name="Sign out", exact=True).click()
    expect(other.locator("#text")).to_be_hidden()
    assert SECRET not in other.content()
