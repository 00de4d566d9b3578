"""Actions of authors in the Studio, and conditions to wait for."""

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from playwright.sync_api import Locator, Page, expect
from tests.browser.accounts import Account
from tests.browser.pages import Opened

from imprint.client import Imprint, KeyWallet

Made = TypeVar("Made")

KEPT = """async (text) => {
  for (let tried = 0; tried < 600; tried += 1) {
    const opening = indexedDB.open("imprint-studio");
    await new Promise((resolve) => { opening.onsuccess = resolve; });
    const copies = opening.result.transaction("copies").objectStore("copies").getAll();
    await new Promise((resolve) => { copies.onsuccess = resolve; });
    opening.result.close();
    if (copies.result.some(({ content }) => content.includes(text))) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("This browser does not keep the text.");
}"""
"""Waits until the local copy in this browser contains a text."""

CARET = """() => {
  const caret = document.querySelector(".cm-cursor-primary").getBoundingClientRect();
  const head = document.querySelector(".writing-head").getBoundingClientRect();
  const foot = document.querySelector(".writing-foot").getBoundingClientRect();
  return caret.top >= head.bottom && caret.bottom <= foot.top && foot.bottom <= innerHeight + 1;
}"""
"""Whether the caret is between the bars above and below the text."""

PASTE = """(field, [plain, html]) => {
  const data = new DataTransfer();
  data.setData("text/plain", plain);
  if (html) data.setData("text/html", html);
  field.dispatchEvent(
    new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
}"""
"""Pastes a text into a field, both as plain text and as HTML."""


def sign_in(opened: Opened, page: Page) -> None:
    """Open the Studio and connect the wallet, unless the page does so automatically."""
    page.goto(f"{opened.url}/studio")
    heading = page.get_by_role("heading", name="Drafts")
    connect = page.get_by_role("button", name="Connect your wallet")
    expect(heading.or_(connect)).to_be_visible()
    if connect.is_visible():
        connect.click()
        choice = page.get_by_role("dialog").get_by_role("button", name=re.compile("Test Wallet"))
        expect(heading.or_(choice)).to_be_visible()
        if choice.is_visible():
            choice.click()
    expect(heading).to_be_visible()
    expect(page.locator("#account .account-dot[data-on]")).to_be_visible()


def begin(page: Page, text: str) -> None:
    """Write a text in a new draft."""
    page.get_by_role("button", name="New draft", exact=True).click()
    expect(title(page)).to_be_focused()
    editor(page).focus()
    page.keyboard.insert_text(text)


def add(page: Page, text: str) -> None:
    """Continue writing at the end of the text."""
    editor(page).focus()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text(text)


def save(page: Page) -> None:
    """Save with a wallet signature."""
    ask_to_save(page)
    expect(standing(page)).to_have_text("Saved")


def ask_to_save(page: Page) -> None:
    """Click the button that makes the wallet sign; the first time, choose to sign each save."""
    is_offered = page.evaluate(
        """() => isSecureContext && !Object.keys(localStorage).some(
          (key) => key.startsWith("imprint.single-saves."))"""
    )
    page.get_by_role("button", name="Save your wallet signs once").click()
    if is_offered:
        page.get_by_role("button", name="Just this once").click()


def save_without_prompts(page: Page) -> None:
    """Let the wallet allow this browser to save without prompts."""
    page.get_by_text("Your wallet confirms each save").click()
    page.get_by_role("button", name="Save automatically for 24 hours").click()
    panel = page.get_by_text("Saving automatically", exact=True)
    expect(panel).to_be_visible()
    panel.click()


def title(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Title")


def editor(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Text of the draft")


def standing(page: Page) -> Locator:
    """Return the save status next to the save button."""
    return page.locator(".standing")


def line(page: Page, title: str) -> Locator:
    """Return the line of a draft in the list."""
    return page.locator(".draft-line", has_text=title)


def text_of(page: Page) -> str:
    """The text of the draft, line by line."""
    lines: list[str] = page.locator(".cm-line").all_inner_texts()
    return "\n".join(line.rstrip("\n") for line in lines)


def expect_caret(page: Page) -> None:
    """Wait until the caret is between the bars above and below the text."""
    page.wait_for_function(CARET)


def paste(page: Page, plain: str, html: str = "", into: Locator | None = None) -> None:
    """Paste a text into a field, by default into the editor."""
    (into or page.locator(".cm-content")).evaluate(PASTE, [plain, html])


def open_list(page: Page) -> None:
    page.get_by_role("link", name="Drafts", exact=True).first.click()
    expect(page.get_by_role("heading", name="Drafts")).to_be_visible()


def wait_until_kept(page: Page, text: str) -> None:
    """Wait until this browser's local copy, which is saved after a pause, contains the text."""
    page.evaluate(KEPT, text)


@contextmanager
def full_storage(opened: Opened) -> Iterator[None]:
    """Leave the browser no storage for the service.

    The browser caches its quota for some seconds, so call this before anything is stored.
    """
    devtools = opened.context.new_cdp_session(opened.page)
    devtools.send("Storage.overrideQuotaForOrigin", {"origin": opened.url, "quotaSize": 1})
    yield
    devtools.send("Storage.overrideQuotaForOrigin", {"origin": opened.url})


def elsewhere(
    url: str, account: Account, act: Callable[[Imprint, KeyWallet], Coroutine[Any, Any, Made]]
) -> Made:
    """Act with the same account through the Python client, outside the browser."""

    async def connected() -> Made:
        async with Imprint.connect(url) as imprint:
            return await act(imprint, account.client_wallet(imprint))

    # The loop of the browser runs in this thread.
    with ThreadPoolExecutor(1) as beside:
        return beside.submit(lambda: asyncio.run(connected())).result()
