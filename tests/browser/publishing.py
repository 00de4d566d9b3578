"""Publishing steps in the Studio shared by several tests."""

import json
from typing import Any

from playwright.sync_api import Locator, Page, expect
from tests.browser.pages import Opened

PUT_PICTURE = """async ([kind, selector]) => {
  const canvas = document.createElement("canvas");
  canvas.width = 1200;
  canvas.height = 800;
  const context = canvas.getContext("2d");
  for (const [index, colour] of ["#f00", "#00f"].entries()) {
    context.fillStyle = colour;
    context.fillRect(index * 600, 0, 600, 800);
  }
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  const data = new DataTransfer();
  data.items.add(new File([blob], "red and blue.png", { type: "image/png" }));
  const options = { bubbles: true, cancelable: true };
  document.querySelector(selector).dispatchEvent(kind === "paste"
    ? new ClipboardEvent("paste", { ...options, clipboardData: data })
    : new DragEvent("drop", { ...options, dataTransfer: data }));
}"""
"""Drops or pastes a picture that is red on the left and blue on the right."""

WORD_POSITION = """(word) => {
  const words = document.createTreeWalker(document.querySelector(".cm-content"), 4);
  for (let node = words.nextNode(); node; node = words.nextNode()) {
    const at = node.data.search(new RegExp(`\\\\b${word}\\\\b`));
    if (at < 0) continue;
    node.parentElement.scrollIntoView({ block: "center" });
    const range = document.createRange();
    range.setStart(node, at);
    range.setEnd(node, at + word.length);
    const { x, y, width, height } = range.getBoundingClientRect();
    return [x + width / 2, y + height / 2];
  }
  return null;
}"""
"""Scrolls a word of the text in the editor into view and returns its centre."""


def write(opened: Opened, title: str) -> Page:
    """Connect, write a text, and open its publication form."""
    page = opened.visit("/studio")
    page.get_by_role("button", name="Connect your wallet").click()
    page.locator("dialog .choice-name", has_text="Test Wallet").click()
    page.get_by_role("button", name="New draft", exact=True).click()
    page.locator(".text-title:focus").wait_for()
    page.keyboard.insert_text(title)
    page.keyboard.press("Enter")
    page.keyboard.insert_text("The text of it.")
    # Click without waiting: the text is stored when the editor is left, and saved by publishing.
    page.get_by_role("link", name="Publish…").click()
    expect(post_title(page)).to_have_value(title)
    return page


def post_title(page: Page) -> Locator:
    """Return the title field of the publication form. The editor also has a title field."""
    return page.locator(".publish-form").get_by_label("Title", exact=True)


def publish(page: Page) -> None:
    page.get_by_role("button", name="Publish", exact=True).click()


def present_step(page: Page) -> Locator:
    """Return the current publishing step."""
    return page.locator(".publish-step[data-state=now]")


def put_picture(page: Page, kind: str) -> Locator:
    """Drop or paste a picture and return the area in which it is cropped."""
    page.evaluate(PUT_PICTURE, [kind, ".publish-picture"])
    stage = page.get_by_label("Visible part of the picture")
    expect(stage).to_be_visible()
    return stage


def expect_published(page: Page) -> str:
    """Wait until the post is listed and return its path."""
    link = page.get_by_role("link", name="View post")
    expect(link).to_be_visible()
    return link.get_attribute("href") or ""


def kept_progress(page: Page) -> dict[str, Any]:
    """Return the only running publication as stored in the browser."""
    found: str = page.evaluate(
        """() => Object.entries(localStorage).find(([key]) =>
          /^imprint\\.publication\\.0x/.test(key))[1]"""
    )
    progress: dict[str, Any] = json.loads(found)
    return progress


def change_progress(page: Page, **details: object) -> None:
    """Change details of the stored publication."""
    page.evaluate(
        """details => {
          const key = Object.keys(localStorage).find((each) =>
            /^imprint\\.publication\\.0x/.test(each));
          const progress = JSON.parse(localStorage.getItem(key));
          Object.assign(progress.details, details);
          localStorage.setItem(key, JSON.stringify(progress));
        }""",
        details,
    )


def replace_word(page: Page, wrong: str, right: str) -> None:
    """Select a word in the editor with a double click, and type another."""
    # Content that loads above the text moves the word, so the click may miss it.
    while page.evaluate("getSelection().toString()") != wrong:
        x, y = page.wait_for_function(WORD_POSITION, arg=wrong).json_value()
        page.mouse.dblclick(x, y)
    page.keyboard.type(right)


def open_correction(page: Page, title: str) -> Locator:
    """Open the correction of a post from the list in the Studio and return its text field."""
    page.locator(".own-post", has_text=title).get_by_role("link", name="Correct").click()
    expect(page.get_by_role("heading", name=f"Correct “{title}”")).to_be_visible()
    field = page.get_by_role("textbox", name="Text of the post")
    expect(field).to_be_visible()
    return field


def sign_correction(page: Page, note: str) -> None:
    """Enter a note about the correction, and let the wallet sign it."""
    page.get_by_label("What did you correct?").fill(note)
    page.get_by_role("button", name="Sign the correction").click()
    expect(page.get_by_role("link", name="See the post")).to_be_focused()


def see_correction(page: Page, note: str) -> None:
    """Follow the link to the post that was corrected."""
    page.keyboard.press("Enter")
    expect(page.locator("#correction")).to_contain_text(note)
