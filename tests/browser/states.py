"""Every page of the site in every state, by name."""

from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import Page, expect
from tests.browser.posts import NewPost, publish
from tests.browser.publishing import post_title
from tests.browser.wallet import wait_until

OPERATOR_SECRET = "an-operator-of-the-tests-7d1f0c9b2e"

AUTHOR, READER, BUYER = "Ada (author)", "Ben (reader)", "Cleo (reader)"
"""Names of development accounts, as shown on the pages."""

TEXT = """
The first paragraph has *emphasis*, **strong words**, `code` and [a link](https://a.example/).

## A list and a quote

- one
- two
  1. and a half

> Somebody said this before.

| Word | Count |
| --- | --- |
| paper | 12 |

```
make run
```
"""


HELD = """(id) => fetch(`/posts/${id}`, {cache: "no-store"})
  .then((response) => response.json()).then(({holders}) => holders > 0)"""
"""Whether a post has a holder according to the index, which is slightly behind the chain."""


@dataclass(frozen=True, slots=True)
class Place:
    """A service with posts."""

    url: str
    free: str
    paid: str
    draft: str = f"# On glue\n{TEXT}"
    """The text that an author writes in the Studio."""

    def visit(self, page: Page, path: str) -> None:
        """Open a path and wait until scripts have shown the account."""
        page.goto(self.url + path)
        page.locator("#account > *").first.wait_for()


def fill(url: str) -> Place:
    """Publish one free and one paid post."""
    free, paid = publish(
        url,
        [
            NewPost("On paper", TEXT, "What it was made of.", hashtags=("essays", "paper")),
            NewPost("On ink", TEXT, "What it costs.", price=10**16, hashtags=("essays",)),
        ],
    )
    return Place(url, free, paid)


def sign_in(page: Page, name: str) -> None:
    """Sign in with a development account."""
    page.locator("#account").get_by_role("button", name="Sign in").click()
    page.get_by_role("dialog").get_by_role("button", name=name).click()
    page.locator("#account .account-dot[data-on]").wait_for()
    expect(page.get_by_role("dialog")).to_have_count(0)


def _at(path: str) -> Callable[[Page, Place], None]:
    return lambda page, place: place.visit(page, path)


def _author(page: Page, place: Place) -> None:
    place.visit(page, f"/p/{place.free}")
    page.locator(".post-head a[href^='/a/']").click()
    page.locator(".address").wait_for()
    page.locator("#account > *").first.wait_for()


def _free_post(page: Page, place: Place) -> None:
    place.visit(page, f"/p/{place.free}")


def _paid_post(page: Page, place: Place) -> None:
    place.visit(page, f"/p/{place.paid}")
    page.get_by_role("button", name="Buy and read").wait_for()


def _chooser(page: Page, place: Place) -> None:
    place.visit(page, "/")
    page.locator("#account").get_by_role("button", name="Sign in").click()
    page.get_by_role("dialog").get_by_role("button", name=AUTHOR).wait_for()


def _account_menu(page: Page, place: Place) -> None:
    place.visit(page, "/")
    sign_in(page, READER)
    page.locator("#account summary").click()
    page.get_by_role("button", name="Copy address").wait_for()


def _own_text(page: Page, place: Place) -> None:
    _paid_post(page, place)
    sign_in(page, AUTHOR)
    page.locator("#text > *").first.wait_for()


def _proof(page: Page, place: Place) -> None:
    _free_post(page, place)
    page.locator("#proof summary").click()
    page.locator("#proof button").first.wait_for()


def _bought(page: Page, place: Place) -> None:
    """Buy the post as a reader unless already bought, so that the library shows it."""
    _paid_post(page, place)
    sign_in(page, BUYER)
    buy, text = page.get_by_role("button", name="Buy and read"), page.locator("#text > *").first
    expect(buy.or_(text).first).to_be_visible()
    # Click the button only if it is still there: signing in may open the text in the meantime.
    buy.evaluate_all("(found) => found.forEach((button) => button.click())")
    text.wait_for(timeout=60_000)


def _library(page: Page, place: Place) -> None:
    _bought(page, place)
    wait_until(page, lambda: bool(page.evaluate(HELD, place.paid)))
    place.visit(page, "/library")
    page.locator("#library").get_by_role("link").first.wait_for()


def _drafts(page: Page, place: Place) -> None:
    place.visit(page, "/studio")
    page.get_by_role("button", name="Connect your wallet").click()
    page.get_by_role("dialog").get_by_role("button", name=AUTHOR).click()
    page.get_by_role("heading", name="Drafts").wait_for()
    page.get_by_role("button", name="New draft", exact=True).wait_for()
    page.locator("#account summary").wait_for()
    expect(page.get_by_text("Sign in to see the drafts")).to_have_count(0)


def _editor(page: Page, place: Place) -> None:
    _drafts(page, place)
    page.get_by_role("button", name="New draft", exact=True).click()
    page.locator(".text-title:focus").wait_for()
    title, _, text = place.draft.partition("\n")
    page.keyboard.insert_text(title.removeprefix("# "))
    page.keyboard.press("Enter")
    page.keyboard.insert_text(text.lstrip("\n"))
    page.keyboard.press("Control+Home")
    page.evaluate("scrollTo(0, 0)")
    expect(page.locator(".counts")).to_contain_text("words")
    if page.locator(".preview").is_visible():
        page.locator(".preview .text h2").first.wait_for()


def _publish(page: Page, place: Place) -> None:
    _editor(page, place)
    page.get_by_text("Only in this browser").first.wait_for()
    key = page.url.rpartition("/")[2]
    page.evaluate("(key) => { location.hash = `#/publish/${key}` }", key)
    expect(post_title(page)).to_have_value(place.draft.splitlines()[0].removeprefix("# "))
    page.locator(".publish-card").wait_for()


def _profile(page: Page, place: Place) -> None:
    _drafts(page, place)
    page.get_by_role("link", name="Profile").first.click()
    page.get_by_label("Name", exact=True).wait_for()


def _import(page: Page, place: Place) -> None:
    _drafts(page, place)
    page.get_by_role("link", name="Import").first.click()
    page.get_by_role("heading", name="Import").wait_for()


def _income(page: Page, place: Place) -> None:
    _drafts(page, place)
    page.get_by_role("link", name="Income").first.click()
    page.locator(".income-totals").wait_for()


def _operator(page: Page, place: Place) -> None:
    page.goto(f"{place.url}/operator")
    page.get_by_label("Secret").fill(OPERATOR_SECRET)
    page.get_by_role("button", name="Open").click()
    page.get_by_role("heading", name="Chain follower").wait_for()


def _desk(page: Page, place: Place) -> None:
    _operator(page, place)
    page.goto(f"{place.url}/operator/desk")
    page.locator("#log-title").wait_for()


def _own_page(page: Page, place: Place) -> None:
    place.visit(page, "/about")
    page.locator(".totals").wait_for()


def _signed_in(path: str) -> Callable[[Page, Place], None]:
    def go(page: Page, place: Place) -> None:
        place.visit(page, "/")
        sign_in(page, READER)
        place.visit(page, path)
        page.locator("#account .account-dot[data-on]").wait_for()

    return go


def _bare(path: str) -> Callable[[Page, Place], None]:
    def go(page: Page, place: Place) -> None:
        page.goto(place.url + path)
        page.locator("main").wait_for()

    return go


STATES: dict[str, Callable[[Page, Place], None]] = {
    "front": _at("/"),
    "front-signed-in": _signed_in("/"),
    "tag": _at("/t/essays"),
    "author": _author,
    "about": _own_page,
    "search": _at("/search?q=paper"),
    "search-signed-in": _signed_in("/search?q=paper"),
    "search-nothing": _at("/search?q=nothing+of+this"),
    "post": _free_post,
    "proof": _proof,
    "gate": _paid_post,
    "own-text": _own_text,
    "bought": _bought,
    "chooser": _chooser,
    "account-menu": _account_menu,
    "library-signed-out": _at("/library"),
    "library": _library,
    "not-found": _at("/nowhere"),
    "no-post": _at("/p/999"),
    "studio-welcome": _at("/studio"),
    "drafts": _drafts,
    "studio": _editor,
    "publish": _publish,
    "income": _income,
    "profile": _profile,
    "import": _import,
    "docs": _bare("/docs"),
    "operator-sign-in": _bare("/operator"),
    "operator": _operator,
    "desk": _desk,
}
