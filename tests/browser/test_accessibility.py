"""Accessibility of every page and state: axe, narrow screens, keyboard, reduced motion."""

import pytest
from playwright.sync_api import Page, expect
from tests.browser.pages import (
    COLOUR_RULES,
    OpenPage,
    axe_violations,
    axe_violations_in_both_schemes,
)
from tests.browser.paints import TWO_FRAMES
from tests.browser.posts import NewPost, publish
from tests.browser.states import STATES, TEXT, Place
from tests.browser.wallet import NewWallet

WITHOUT_COLOURS = {each: {"enabled": False} for each in COLOUR_RULES}

NARROW = {"width": 320, "height": 640}

MOVING = """
[...document.querySelectorAll("*")].flatMap((element) => {
  const {transitionDuration, animationDuration, animationName, scrollBehavior} =
    getComputedStyle(element);
  const isStill = animationName === "none" || animationName.startsWith("cm-blink");
  const seconds = [transitionDuration, isStill ? "0s" : animationDuration]
    .flatMap((list) => list.split(",")).map(parseFloat);
  return Math.max(...seconds) > 0.01 || scrollBehavior === "smooth" ? [element.outerHTML] : [];
})
"""
"""Elements that would animate for more than ten milliseconds, except a blinking caret."""

RUNNING = """
document.getAnimations().map(({animationName}) => animationName ?? "transition")
  .filter((name) => !name.startsWith("cm-blink"))
"""

FOCUS = """
(() => {
  const element = document.activeElement;
  if (element === null || element === document.body) return null;
  const {outlineStyle, outlineWidth, boxShadow} = getComputedStyle(element);
  const hasOutline = outlineStyle !== "none" && parseFloat(outlineWidth) > 0;
  const isMarked = hasOutline || boxShadow !== "none";
  return [element.outerHTML.slice(0, 120), element.textContent.trim(), isMarked];
})()
"""
"""The focused element, and whether its focus is visible."""

ENOUGH_TABS = 60
"""Number of Tab presses, higher than the number of focusable elements on any tested page."""


@pytest.mark.parametrize("state", STATES)
def test_page_passes_axe_in_both_schemes_fits_a_phone_and_has_no_motion(
    open_page: OpenPage, place: Place, state: str
) -> None:
    page = open_page(reduced_motion="reduce").page
    STATES[state](page, place)
    assert page.evaluate(MOVING) == []
    assert page.evaluate(RUNNING) == []
    # The documentation is long: test_docs.py runs axe on it once, with everything open.
    if state != "docs":
        assert axe_violations_in_both_schemes(page) == []
    page.set_viewport_size(NARROW)
    page.evaluate(TWO_FRAMES)
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    if state != "docs":
        # A narrow page may show different elements, and different elements may scroll.
        assert axe_violations(page, rules=WITHOUT_COLOURS) == []


def test_the_motion_check_finds_a_transition(open_page: OpenPage, place: Place) -> None:
    page = open_page(reduced_motion="no-preference").page
    STATES["front"](page, place)
    page.locator("h1").evaluate("(h1) => h1.style.setProperty('transition', 'color 1s')")
    assert any(found.startswith("<h1") for found in page.evaluate(MOVING))


def test_a_withheld_post_and_its_reports_pass_axe(open_page: OpenPage, place: Place) -> None:
    (post,) = publish(place.url, [NewPost("A post that is withheld", TEXT)])
    reader = open_page(reduced_motion="reduce").page
    reader.goto(f"{place.url}/p/{post}")
    reader.locator("#account > *").first.wait_for()
    reader.get_by_text("Report this post").click()
    reader.get_by_label("Details").fill("It is not theirs.")
    assert axe_violations_in_both_schemes(reader) == []
    reader.get_by_role("button", name="Send report").click()
    expect(reader.get_by_text("We’ve received your report.")).to_be_visible()
    desk = open_page(reduced_motion="reduce").page
    STATES["desk"](desk, place)
    report = desk.locator("article.operator-report").filter(has_text="A post that is withheld")
    expect(report).to_contain_text("It’s illegal")
    report.get_by_label("Measure").select_option("Withhold")
    report.get_by_label("Statement").fill("Somebody else wrote it.")
    assert axe_violations_in_both_schemes(desk) == []
    report.get_by_role("button", name="Apply").click()
    expect(desk.locator("#in-force")).to_contain_text("Withheld: Post")
    assert axe_violations_in_both_schemes(desk) == []
    # A new browser, because the first one may have the page in its cache for some seconds.
    later = open_page(reduced_motion="reduce").page
    later.goto(f"{place.url}/p/{post}")
    expect(later.get_by_text("Somebody else wrote it.")).to_be_visible()
    later.locator("#account > *").first.wait_for()
    assert axe_violations_in_both_schemes(later) == []


def press_until(page: Page, text: str) -> None:
    """Press Tab until the element with this text has focus, checking that focus is visible."""
    for _ in range(ENOUGH_TABS):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUS)
        if focused is not None:
            assert focused[2], f"The focus is not visible: {focused[0]}"
            if text in focused[1]:
                return
    raise AssertionError(f"The keyboard does not reach '{text}'.")


def test_the_first_tab_stop_skips_to_the_content(open_page: OpenPage, place: Place) -> None:
    page = open_page().page
    STATES["front"](page, place)
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


def test_the_account_menu_opens_and_closes_with_keys(open_page: OpenPage, place: Place) -> None:
    page = open_page().page
    STATES["account-menu"](page, place)
    expect(page.locator(".account-funds")).to_contain_text("ETH")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Copy address")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#account details")).not_to_have_attribute("open", "")
    expect(page.locator(".account-panel")).to_be_hidden()
    expect(page.locator("#account summary")).to_be_focused()


def test_the_account_dialog_traps_the_focus_and_closes_with_escape(
    open_page: OpenPage, place: Place
) -> None:
    page = open_page().page
    STATES["chooser"](page, place)
    for _ in range(ENOUGH_TABS // 2):
        page.keyboard.press("Tab")
        inside = (
            "document.activeElement === document.body || !!document.activeElement.closest('dialog')"
        )
        assert page.evaluate(inside)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_post_is_found_bought_and_read_with_the_keyboard_alone(
    open_page: OpenPage, new_wallet: NewWallet, place: Place
) -> None:
    title = "A post for the keyboard"
    # The newest post is the first one on the front page.
    publish(place.url, [NewPost(title, TEXT, price=10**16)])
    page = open_page(new_wallet()).page
    STATES["front"](page, place)
    press_until(page, title)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Buy and read").wait_for()
    press_until(page, "Buy and read")
    page.keyboard.press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="Test Wallet").wait_for()
    press_until(page, "Test Wallet")
    page.keyboard.press("Enter")
    expect(page.locator("#text h2")).to_have_text("A list and a quote")
    expect(page.locator("#text")).to_be_focused()


def test_the_buy_button_is_visible_without_scrolling(open_page: OpenPage, place: Place) -> None:
    title = "What the tide tables of 1912 knew about the ships of the next summer"
    description = "A clerk, a harbour and a column of numbers that nobody had asked for: " * 2
    (post,) = publish(place.url, [NewPost(title, "A text.", description, price=10**16)])
    page = open_page(viewport={"width": 1280, "height": 800}).page
    page.goto(f"{place.url}/p/{post}")
    expect(page.get_by_role("button", name="Buy and read")).to_be_in_viewport(ratio=1)


def test_the_first_lines_of_a_post_are_on_the_first_screen(
    open_page: OpenPage, place: Place
) -> None:
    title = "What the tide tables of 1912 knew about the ships"
    (post,) = publish(
        place.url, [NewPost(title, TEXT, "A clerk, a harbour and a column of numbers.")]
    )
    page = open_page(viewport={"width": 1280, "height": 800}).page
    page.goto(f"{place.url}/p/{post}")
    expect(page.locator(".post-picture")).to_be_visible()
    expect(page.locator("#text > p").first).to_be_in_viewport(ratio=1)


def test_the_newest_post_is_at_the_top_of_the_front_page(open_page: OpenPage, place: Place) -> None:
    page = open_page(viewport={"width": 1280, "height": 800}).page
    STATES["front"](page, place)
    lead = page.locator(".featured .card").first.bounding_box()
    top = page.locator("header.top").bounding_box()
    assert lead is not None
    assert top is not None
    assert lead["y"] - top["height"] <= 120
    expect(page.locator(".featured .card-title").first).to_be_in_viewport(ratio=1)
