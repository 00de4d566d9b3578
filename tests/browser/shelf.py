"""Posts to buy and read, and actions of a reader in a browser."""

from dataclasses import dataclass

from playwright.sync_api import Page, expect
from tests.browser.accounts import Account
from tests.browser.pages import Opened, OpenPage
from tests.browser.posts import NewPost, publish
from tests.browser.wallet import BrowserWallet

PRICE = 10**16

SECRET = "The lamp was lit by nobody"
"""A phrase that occurs only in the texts of paid posts."""

FREE_TEXT = "Everybody may read how the tide turns"


@dataclass(frozen=True, slots=True)
class Shelf:
    """Posts published by one author."""

    author: Account
    free: str
    paid: list[str]

    @property
    def path(self) -> str:
        """The path of the page that lists exactly these posts."""
        return f"/a/{self.author.address}"


def publish_shelf(url: str, author: Account) -> Shelf:
    """Publish one free post and several paid ones."""
    posts = [NewPost("Tides", f"# Tides\n\n{FREE_TEXT}.", "On water", hashtags=["sea"])]
    for title in ("The lighthouse", "The ferry", "The salt road"):
        text = f"# {title}\n\n{SECRET}."
        posts.append(NewPost(title, text, "A short story", PRICE, ["stories"]))
    free, *paid = publish(url, posts, author)
    return Shelf(author, free, paid)


@dataclass(slots=True)
class Visit:
    """A reader with a wallet, on the page of a post they do not hold."""

    opened: Opened
    wallet: BrowserWallet
    post: str

    @property
    def page(self) -> Page:
        return self.opened.page

    @property
    def bought(self) -> int:
        """The number of payments requested from the wallet."""
        return self.wallet.prompts.count("eth_sendTransaction")

    def sign_out(self) -> None:
        """Sign out through the account menu."""
        self.page.locator("#account summary").click()
        self.page.get_by_role("button", name="Sign out", exact=True).click()
        expect(self.page.locator("#account").get_by_role("button", name="Sign in")).to_be_visible()

    def buy(self) -> None:
        """Click the buy button."""
        self.click("Buy and read")

    def connect(self) -> None:
        """Choose the wallet in the dialog."""
        self.page.locator("dialog .choice", has_text="Test Wallet").click()

    def click(self, name: str) -> None:
        """Click a button in the gate."""
        self.page.locator("#gate").get_by_role("button", name=name).click()

    def expect_text(self, page: Page | None = None) -> None:
        """Wait until the text of the post is shown."""
        expect((page or self.page).locator("#text")).to_contain_text(SECRET)

    def expect_said(self, text: str) -> None:
        """Wait until the gate shows a text."""
        expect(self.page.locator("#gate")).to_contain_text(text)


def visit(open_page: OpenPage, wallet: BrowserWallet, shelf: Shelf) -> Visit:
    """Open a paid post as a reader who does not hold it."""
    opened = open_page(wallet)
    opened.visit(f"/p/{shelf.paid[0]}")
    return Visit(opened, wallet, shelf.paid[0])
