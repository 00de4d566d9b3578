"""The editor by keyboard and by touch: the caret in view, the toolbar, lists, tables, pasting."""

import pytest
from playwright.sync_api import Page, expect
from tests.browser.pages import OpenPage, axe_violations_in_both_schemes
from tests.browser.wallet import NewWallet
from tests.browser.writing import KEPT, begin, editor, sign_in, title

SIZES = {"desk": (1280, 800), "small desk": (1024, 600), "tablet": (768, 1024), "phone": (320, 568)}

CARET = """() => {
  const caret = document.querySelector(".cm-cursor-primary").getBoundingClientRect();
  const head = document.querySelector(".writing-head").getBoundingClientRect();
  const foot = document.querySelector(".writing-foot").getBoundingClientRect();
  return caret.top >= head.bottom && caret.bottom <= foot.top && foot.bottom <= innerHeight + 1;
}"""
"""Whether the caret is between the bars above and below the text."""

PASTE = """([plain, html]) => {
  const data = new DataTransfer();
  data.setData("text/plain", plain);
  if (html) data.setData("text/html", html);
  document.querySelector(".cm-content").dispatchEvent(
    new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
}"""


def text_of(page: Page) -> str:
    """The text of the draft, line by line."""
    lines: list[str] = page.locator(".cm-line").all_inner_texts()
    return "\n".join(line.rstrip("\n") for line in lines)


def expect_caret(page: Page) -> None:
    page.wait_for_function(CARET)


@pytest.mark.parametrize("size", SIZES)
def test_the_caret_stays_between_the_bars(
    open_page: OpenPage, new_wallet: NewWallet, size: str
) -> None:
    width, height = SIZES[size]
    opened = open_page(new_wallet(), viewport={"width": width, "height": height})
    page = opened.page
    sign_in(opened, page)
    begin(page, "Begin.")
    for _ in range(40):
        page.keyboard.press("Enter")
    page.keyboard.insert_text("The end.")
    expect_caret(page)
    # As with the keyboard of a phone, which takes half of the page.
    page.set_viewport_size({"width": width, "height": height // 2 + 60})
    expect_caret(page)
    page.keyboard.press("Enter")
    expect_caret(page)
    for _ in range(30):
        page.keyboard.press("ArrowUp")
    expect_caret(page)
    page.keyboard.press("Control+Home")
    expect_caret(page)
    page.keyboard.press("Control+End")
    expect_caret(page)


def test_the_title_has_a_field_of_its_own(open_page: OpenPage, new_wallet: NewWallet) -> None:
    opened = open_page(new_wallet())
    page = opened.page
    sign_in(opened, page)
    page.get_by_role("button", name="New draft").click()
    expect(title(page)).to_be_focused()
    page.keyboard.type("On glue")
    page.keyboard.press("Enter")
    page.keyboard.type("It holds.")
    page.evaluate(KEPT, "# On glue\n\nIt holds.")
    assert axe_violations_in_both_schemes(page) == []
    page.reload()
    expect(title(page)).to_have_value("On glue")
    expect(editor(page)).to_have_text("It holds.")


@pytest.mark.parametrize(
    "viewport", [{"width": 1280, "height": 800}, {"width": 320, "height": 568}]
)
def test_the_toolbar_leaves_the_caret_where_writing_goes_on(
    open_page: OpenPage, new_wallet: NewWallet, viewport: dict[str, int]
) -> None:
    opened = open_page(new_wallet(), viewport=viewport, has_touch=True)
    page = opened.page
    sign_in(opened, page)
    begin(page, "")

    def tap(name: str) -> None:
        page.get_by_role("button", name=name, exact=True).tap()
        expect(editor(page)).to_be_focused()

    tap("Heading")
    page.keyboard.type("Parts")
    page.keyboard.press("Enter")
    tap("List")
    page.keyboard.type("one")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.keyboard.type("After")
    tap("Footnote")
    page.keyboard.type("Indeed.")
    assert text_of(page) == "## Parts\n- one\n\nAfter[^1]\n\n[^1]: Indeed."
    page.keyboard.press("Enter")
    tap("Table")
    for word in ("A", "B", "1", "2", "3"):
        page.keyboard.type(word)
        page.keyboard.press("Tab")
    assert text_of(page).endswith("| A | B |\n| --- | --- |\n| 1 | 2 |\n| 3 |  |\n")
    expect_caret(page)


def test_rich_text_is_pasted_as_markdown_and_undo_brings_the_words_back(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    opened = open_page(new_wallet())
    page = opened.page
    sign_in(opened, page)
    begin(page, "")
    html = '<h2>Why</h2><p>It <b>holds</b> <a href="https://a.example/">fast</a>.</p><script>x</script>'
    page.evaluate(PASTE, ["Why\nIt holds fast.", html])
    expect(editor(page)).to_contain_text("## Why")
    assert text_of(page) == "## Why\n\nIt **holds** [fast](https://a.example/)."
    page.keyboard.type(" Always.")
    expect(page.locator(".preview strong")).to_have_text("holds")
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    assert text_of(page) == "Why\nIt holds fast."
    page.keyboard.press("Control+Shift+ArrowLeft")
    page.keyboard.press("Control+Shift+ArrowLeft")
    page.evaluate(PASTE, ["https://b.example/", ""])
    assert text_of(page) == "Why\nIt holds [fast.](https://b.example/)"


def test_the_preview_shows_footnotes_coloured_code_and_aligned_tables(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    opened = open_page(new_wallet())
    page = opened.page
    sign_in(opened, page)
    begin(page, "Held[^1].\n\n```py\nreturn 1\n```\n\n|a|\n|-:|\n|1|\n\n[^1]: By glue.")
    preview = page.locator(".preview")
    expect(preview.locator("sup a")).to_have_text("1")
    expect(preview.locator(".footnotes li")).to_contain_text("By glue.")
    expect(preview.locator(".c-keyword")).to_have_text("return")
    expect(preview.locator("td")).to_have_css("text-align", "right")
    assert axe_violations_in_both_schemes(page) == []
