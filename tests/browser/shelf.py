"""Posts to buy and read, and what a reader does with them in a browser."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from playwright.sync_api import Page, expect
from tests.browser.conftest import Opened, OpenPage
from tests.browser.posts import NewPost, publish
from tests.browser.wallet import BrowserWallet

WalletOf = Callable[[int], BrowserWallet]

PRICE = 10**16
READERS = range(1, 9)
"""Accounts of readers; number 0 is the author, and the last one is for those without money."""

SECRET = "The lamp was lit by nobody"
"""What stands in the text of every paid post, and nowhere else."""

FREE_TEXT = "Everybody may read how the tide turns"


@dataclass(slots=True)
class Shelf:
    """Published posts. A pair of a post and a reader is given out once."""

    free: str
    paid: list[str]
    pairs: Iterator[tuple[str, int]] = field(init=False)

    def __post_init__(self) -> None:
        self.pairs = iter([(post, reader) for post in self.paid for reader in READERS])


def publish_shelf(url: str, paid: int = 3) -> Shelf:
    """Publish a free post and some paid ones."""
    titles = ["The lighthouse", "The ferry", "The salt road", "The glass house"]
    posts = [NewPost("Tides", f"# Tides\n\n{FREE_TEXT}.", "On water", hashtags=["sea"])]
    for title in itertools.islice(titles, paid):
        text = f"# {title}\n\n{SECRET}."
        posts.append(NewPost(title, text, "A short story", PRICE, ["stories"]))
    free, *others = publish(url, posts)
    return Shelf(free, others)


@dataclass(slots=True)
class Visit:
    """A reader with a wallet of their own, on the page of a post that they do not hold."""

    opened: Opened
    wallet: BrowserWallet
    post: str

    @property
    def page(self) -> Page:
        return self.opened.page

    @property
    def bought(self) -> int:
        """How often the wallet was asked to pay."""
        return self.wallet.prompts.count("eth_sendTransaction")

    def sign_out(self) -> None:
        """Sign out by the account menu."""
        self.page.locator("#account summary").click()
        self.page.get_by_role("button", name="Sign out", exact=True).click()
        expect(self.page.locator("#account").get_by_role("button", name="Sign in")).to_be_visible()

    def buy(self) -> None:
        """Click on buying."""
        self.click("Buy and read")

    def doubt(self) -> None:
        """Buy, and reload before the wallet responds: nobody knows whether it was paid."""
        self.wallet.undecided.add("eth_sendTransaction")
        self.buy()
        self.connect()
        self.expect_said("Confirm the purchase in Test Wallet")
        self.page.reload()
        self.expect_said("The payment is not certain")
        self.wallet.undecided.clear()

    def connect(self) -> None:
        """Choose the wallet in the dialog."""
        self.page.locator("dialog .choice", has_text="Test Wallet").click()

    def click(self, name: str) -> None:
        """Click a button of the gate."""
        self.page.locator("#gate").get_by_role("button", name=name).click()

    def expect_text(self, page: Page | None = None) -> None:
        """Wait until the text is open."""
        expect((page or self.page).locator("#text")).to_contain_text(SECRET)

    def expect_said(self, text: str) -> None:
        """Wait until the gate says something."""
        expect(self.page.locator("#gate")).to_contain_text(text)


def visit(open_page: OpenPage, wallet_of: WalletOf, shelf: Shelf, **options: object) -> Visit:
    """Open a paid post as a reader who does not hold it."""
    post, reader = next(shelf.pairs)
    wallet = wallet_of(reader)
    opened = open_page(wallet, **options)
    opened.visit(f"/p/{post}")
    return Visit(opened, wallet, post)
