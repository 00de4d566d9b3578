"""Measure how long two tasks take an author in the Studio: python -m bench.authors

The author turns thirty posts of a Ghost export into drafts, and corrects a typo in a post, without
pauses for reading or thinking. Needs Chromium and the driver of `make test-browser`, and an
otherwise idle machine.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

from playwright.sync_api import Browser, expect
from tests.browser.accounts import Chain, find_chain, make_account
from tests.browser.chromium import open_chromium
from tests.browser.exports import found_posts, ghost_json, open_import
from tests.browser.pages import Opened
from tests.browser.posts import NewPost, publish
from tests.browser.publishing import replace_word, see_correction, sign_correction
from tests.browser.wallet import BrowserWallet
from tests.browser.writing import sign_in
from tests.processes import Service, free_port, running

ROUNDS = 5
POSTS = 30
PARAGRAPH = '<p>Flour, <strong>water</strong> and <a href="https://mill.example/">time</a>.</p>'
TEXT = "The ovven needs three hours.\n\nSo does the baker."

CLICKS = 'Number(sessionStorage.getItem("clicks"))'
"""JavaScript that returns the number of clicks in a tab."""

COUNT_CLICKS = f"""addEventListener("pointerdown",
  () => sessionStorage.setItem("clicks", {CLICKS} + 1), {{ capture: true }})"""


@dataclass(slots=True)
class Author:
    """A signed-in author, and the seconds, clicks and wallet prompts that their task took."""

    opened: Opened
    wallet: BrowserWallet
    seconds: float = 0.0
    clicks: int = 0
    prompts: int = 0

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Measure the actions within the `with` block."""
        clicks, prompts = self.opened.page.evaluate(CLICKS), len(self.wallet.prompts)
        start = perf_counter()
        yield
        self.seconds = perf_counter() - start
        self.clicks = self.opened.page.evaluate(CLICKS) - clicks
        self.prompts = len(self.wallet.prompts) - prompts


def main() -> None:
    """Print the seconds, clicks and wallet prompts of both tasks."""
    expect.set_options(timeout=60_000)
    given = {"DEV_RPC_PORT": str(free_port()), "CHAIN_FOLLOW_SECONDS": "1", "RATE_LIMITS": "off"}
    with (
        tempfile.TemporaryDirectory() as folder,
        open_chromium() as browser,
        running(Service(Path(folder), given, "dev")) as service,
    ):
        export = Path(folder) / "ghost.json"
        posts = {f"Loaf {number}": PARAGRAPH * 40 for number in range(1, POSTS + 1)}
        export.write_text(ghost_json(posts), "utf-8")
        chain = find_chain(service.url)
        print(f"Medians of {ROUNDS} authors, at a load of {os.getloadavg()[0]:.1f}:")
        name = f"a Ghost export of {POSTS} posts to {POSTS} drafts"
        _measure(name, browser, chain, service.url, lambda author: _import(author, export))
        _measure("a typo to its correction", browser, chain, service.url, _correct)


def _measure(
    name: str, browser: Browser, chain: Chain, url: str, task: Callable[[Author], None]
) -> None:
    """Let several authors do a task, and print the measurements."""
    authors = []
    for _ in range(ROUNDS):
        wallet = BrowserWallet(chain, [make_account(chain)])
        context = browser.new_context(reduced_motion="reduce")
        context.set_default_timeout(60_000)
        wallet.attach(context)
        author = Author(Opened(context, context.new_page(), url, wallet), wallet)
        author.opened.watch(author.opened.page)
        context.add_init_script(COUNT_CLICKS)
        task(author)
        context.close()
        authors.append(author)
    seconds = [author.seconds for author in authors]
    clicks = median(author.clicks for author in authors)
    prompts = median(author.prompts for author in authors)
    print(
        f"from {name}: {median(seconds):.1f} s ({min(seconds):.1f} to {max(seconds):.1f}), "
        f"clicks: {clicks:.0f}, wallet prompts: {prompts:.0f}"
    )


def _import(author: Author, export: Path) -> None:
    """Import posts, from opening the list of drafts until each post is a saved draft."""
    page = author.opened.page
    sign_in(author.opened, page)
    with author.at_work():
        open_import(page)
        with page.expect_file_chooser() as chooser:
            page.get_by_label("Files or zips").click()
        chooser.value.set_files(export)
        expect(found_posts(page)).to_have_count(POSTS)
        page.get_by_role("button", name=f"Create {POSTS} drafts").click()
        drafts = page.get_by_role("link", name="Imported: open the draft")
        expect(drafts).to_have_count(POSTS)


def _correct(author: Author) -> None:
    """Correct a post, from opening the page with a typo until the page shows the correction."""
    [post] = publish(author.opened.url, [NewPost("On ovens", TEXT)], author.wallet.account)
    page = author.opened.page
    sign_in(author.opened, page)
    author.opened.visit(f"/p/{post}")
    link = page.get_by_role("link", name="Correct", exact=True)
    expect(link).to_be_visible()
    with author.at_work():
        link.click()
        expect(page.get_by_role("textbox", name="Text of the post")).to_be_visible()
        replace_word(page, "ovven", "oven")
        sign_correction(page, "A typo.")
        see_correction(page, "A typo.")
        expect(page.locator("#text")).to_contain_text("The oven needs three hours.")


if __name__ == "__main__":
    main()
