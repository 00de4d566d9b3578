"""The editor by keyboard and by touch: the caret in view, the toolbar, lists, tables, pasting."""

import pytest
from playwright.sync_api import expect
from tests.browser.pages import OpenPage, axe_violations_in_both_schemes
from tests.browser.wallet import NewWallet
from tests.browser.writing import (
    KEPT,
    begin,
    editor,
    expect_caret,
    paste,
    sign_in,
    text_of,
    title,
)

SIZES = {"desk": (1280, 800), "small desk": (1024, 600), "tablet": (768, 1024), "phone": (320, 568)}


@pytest.mark.parametrize("size", SIZES)
def test_the_caret_stays_between_the_bars_above_and_below_the_text(
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
    # As when the on-screen keyboard of a phone covers half of the page.
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


def test_the_title_has_its_own_field(open_page: OpenPage, new_wallet: NewWallet) -> None:
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
def test_the_toolbar_leaves_the_caret_where_the_author_continues_writing(
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


def test_rich_text_is_pasted_as_markdown_and_undo_restores_the_plain_text(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    opened = open_page(new_wallet())
    page = opened.page
    sign_in(opened, page)
    begin(page, "")
    html = '<h2>Why</h2><p>It <b>holds</b> <a href="https://a.example/">fast</a>.</p><script>x</script>'
    paste(page, "Why\nIt holds fast.", html)
    expect(editor(page)).to_contain_text("## Why")
    assert text_of(page) == "## Why\n\nIt **holds** [fast](https://a.example/)."
    page.keyboard.insert_text(" Always.")
    expect(page.locator(".preview strong")).to_have_text("holds")
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    assert text_of(page) == "Why\nIt holds fast."
    page.keyboard.press("Control+Shift+ArrowLeft")
    page.keyboard.press("Control+Shift+ArrowLeft")
    paste(page, "https://b.example/")
    assert text_of(page) == "Why\nIt holds [fast.](https://b.example/)"


@pytest.mark.parametrize("is_in_title", [False, True], ids=["the text", "the title"])
def test_a_heading_pasted_into_an_empty_draft_immediately_becomes_its_title(
    open_page: OpenPage, new_wallet: NewWallet, is_in_title: bool
) -> None:
    opened = open_page(new_wallet())
    page = opened.page
    sign_in(opened, page)
    begin(page, "")
    field = title(page) if is_in_title else editor(page)
    paste(page, "# On glue\n\nIt holds.\n\n## Why", into=field)
    expect(title(page)).to_have_value("On glue")
    expect(editor(page)).to_be_focused()
    assert text_of(page) == "It holds.\n\n## Why"
    page.keyboard.type("?")
    page.evaluate(KEPT, "# On glue\n\nIt holds.\n\n## Why?")
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    expect(title(page)).to_have_value("")
    paste(page, "Glue\nIt holds fast.", "<h1>Glue</h1><p>It holds <b>fast</b>.</p>")
    expect(title(page)).to_have_value("Glue")
    assert text_of(page) == "It holds **fast**."


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
