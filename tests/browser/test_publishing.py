"""Publishing in the Studio: the form, the picture, and the steps from a text to a post."""

import re

import pytest
from playwright.sync_api import Locator, Route, expect
from tests.browser.pages import OpenPage, axe_violations, axe_violations_in_both_schemes
from tests.browser.publishing import (
    expect_published,
    post_title,
    present_step,
    publish,
    put_picture,
    write,
)
from tests.browser.wallet import NewWallet
from tests.browser.writing import add, begin, editor, full_storage, save, sign_in
from tests.browser.writing import title as title_field

LIST = "**/pendingFilesByOwner*"
"""URL pattern of requests for the list of drafts."""

MIDDLE = """([canvas, colour]) => {
  const { width, height } = canvas;
  const [red, , blue] = canvas.getContext("2d").getImageData(width / 2, height / 2, 1, 1).data;
  return red !== blue && (red > blue ? "red" : "blue") === colour;
}"""
"""Whether the centre of a canvas has the given colour."""

HELD_DECODING = """() => {
  const decode = globalThis.createImageBitmap;
  const released = new Promise((release) => { globalThis.decodePictures = release; });
  globalThis.createImageBitmap = async (source) => { await released; return decode(source); };
}"""
"""Delays the decoding of pictures until the page calls `decodePictures`."""

LEFT_COLOUR = """async (picture) => {
  await picture.decode();
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("2d");
  context.drawImage(picture, 0, 0);
  return [...context.getImageData(20, 20, 1, 1).data.slice(0, 3)];
}"""
"""The colour of a picture near its top left corner."""


@pytest.mark.parametrize(("price", "shown"), [("", "Free"), ("0.05", "0.05 ETH")])
def test_a_draft_can_be_published_in_the_studio(
    open_page: OpenPage, new_wallet: NewWallet, price: str, shown: str
) -> None:
    wallet = new_wallet()
    page = write(open_page(wallet), f"A post that is {shown}")
    page.get_by_label("Price in ETH").fill(price)
    expect(page.locator(".publish-card .card-price")).to_have_text(shown)
    publish(page)
    path = expect_published(page)
    expect(page.get_by_role("link", name="View post")).to_be_focused()
    assert len(wallet.sent) == 1
    page.goto(re.sub(r"/studio.*", path, page.url))
    expect(page.get_by_role("heading", name=f"A post that is {shown}")).to_be_visible()


def test_exceeded_limits_are_shown_while_typing(open_page: OpenPage, new_wallet: NewWallet) -> None:
    page = write(open_page(new_wallet()), "Limits")
    title = post_title(page)
    title.fill("é" * 51)
    expect(page.get_by_text("51 of 50 characters")).to_be_visible()
    expect(page.get_by_text("Shorten the title by 1 character.")).to_be_visible()
    page.get_by_label("Price in ETH").fill("1.5")
    expect(page.get_by_text("The price can be at most 1 ETH.")).to_be_visible()
    page.get_by_label("Hashtags").fill("#Essay, ")
    expect(page.get_by_role("button", name="Remove #essay")).to_be_visible()
    publish(page)
    expect(page.get_by_role("alert")).to_contain_text("Shorten the title")
    expect(title).to_be_focused()
    title.fill("é" * 50)
    expect(page.get_by_role("alert")).to_have_count(0)


def test_the_form_lists_what_is_missing_and_what_cannot_change_later(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    opened = open_page(new_wallet(), viewport={"width": 320, "height": 568})
    page = opened.page
    sign_in(opened, page)
    begin(page, "# A list\n\nIt *begins* here.\n\n![](https://a.example/b.png)")
    page.get_by_role("link", name="Publish…").click()
    description = page.get_by_label("Description")
    expect(description).to_have_value("It begins here.")
    check = page.get_by_role("region", name="Before you publish")
    expect(check).to_contain_text("The picture made from your title")
    expect(check.get_by_role("link")).to_have_text("A description of 1 picture in the text")
    expect(check.get_by_role("button")).to_have_count(0)
    description.fill("")
    check.get_by_role("button", name="A description, for lists and search").press("Enter")
    expect(description).to_be_focused()
    title = post_title(page)
    title.fill("")
    publish(page)
    expect(title).to_be_focused()
    expect(page.get_by_role("alert")).to_have_text("Give the post a title.")
    expect(page.get_by_role("alert")).to_be_in_viewport()
    page.get_by_label("Hashtags").fill("one，two three")
    expect(page.get_by_role("button", name="Remove #three")).to_be_visible()
    assert axe_violations(page) == []


def test_the_form_survives_a_reload(open_page: OpenPage, new_wallet: NewWallet) -> None:
    page = write(open_page(new_wallet()), "Filled in")
    page.get_by_label("Description").fill("What it is about.")
    page.get_by_label("Price in ETH").fill("0.25")
    page.get_by_label("Hashtags").fill("essay, unfini")
    put_picture(page, "drop").press("+")
    zoom = page.get_by_label("Zoom").input_value()
    page.reload()
    expect(page.get_by_label("Description")).to_have_value("What it is about.")
    expect(page.get_by_label("Price in ETH")).to_have_value("0.25")
    expect(page.get_by_role("button", name="Remove #essay")).to_be_visible()
    expect(page.get_by_role("button", name="Remove #unfini")).to_be_visible()
    expect(page.get_by_label("Visible part of the picture")).to_be_visible()
    expect(page.get_by_label("Zoom")).to_have_value(zoom)


def test_a_half_typed_hashtag_survives_a_reload(open_page: OpenPage, new_wallet: NewWallet) -> None:
    page = write(open_page(new_wallet()), "Half a hashtag")
    page.get_by_label("Hashtags").fill("unfini")
    page.reload()
    expect(page.get_by_label("Hashtags")).to_have_value("unfini")


def test_a_picture_that_cannot_be_stored_is_shown_with_a_warning(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    opened = open_page(new_wallet())
    page = opened.page
    with full_storage(opened):
        sign_in(opened, page)
        begin(page, "# No room")
        expect(page.get_by_text("This browser has no space for a copy")).to_be_visible()
        page.get_by_role("link", name="Publish…").click()
        expect(page.get_by_text("This browser can’t keep a copy of your text.")).to_be_visible()
        save(page)
        page.get_by_role("link", name="Publish…").click()
        expect(post_title(page)).to_have_value("No room")
        put_picture(page, "drop")
        alert = page.get_by_role("alert")
        expect(alert).to_contain_text("This browser can’t store your picture")
        assert axe_violations(page) == []
        publish(page)
        expect(alert.filter(has_text="nothing was started")).to_be_visible()
    page.get_by_role("radio", name="Made from the title").check()
    expect(alert).to_have_count(0)


def test_a_draft_without_a_text_says_that_its_text_is_missing(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    opened = open_page(new_wallet())
    page = opened.page
    sign_in(opened, page)
    begin(page, " ")
    page.get_by_role("button", name="Publish…").click()
    expect(page.get_by_text("There’s nothing to publish yet.")).to_be_visible()
    expect(editor(page)).to_be_focused()
    assert axe_violations(page) == []
    page.keyboard.insert_text("# Now there is")
    page.get_by_role("link", name="Publish…").click()
    expect(post_title(page)).to_have_value("Now there is")


def test_unsaved_changes_are_published(open_page: OpenPage, new_wallet: NewWallet) -> None:
    opened = open_page(new_wallet())
    page = opened.page
    sign_in(opened, page)
    begin(page, "# Changed at the end\n\nSaved.")
    save(page)
    add(page, " Written last.")
    page.get_by_role("link", name="Publish…").click()
    publish(page)
    path = expect_published(page)
    page.goto(opened.url + path)
    expect(page.locator("#text")).to_contain_text("Saved. Written last.")


def test_a_version_newer_than_the_one_in_the_draft_list_is_published(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    opened = open_page(new_wallet())
    page = opened.page
    sign_in(opened, page)
    begin(page, "# Saved")
    save(page)
    with page.expect_response(LIST):
        page.reload()
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    # Hold back the list, so that it stays outdated. Lookups of the current version succeed.
    page.route(LIST, hold, times=1)
    title_field(page).fill("Saved twice")
    save(page)
    page.get_by_role("link", name="Publish…").click()
    expect(post_title(page)).to_have_value("Saved twice")
    for route in held:
        route.continue_()


def test_publishing_waits_for_a_picture_to_be_decoded(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    opened = open_page(new_wallet())
    page = write(opened, "A slow picture")
    put_picture(page, "drop")
    page.add_init_script(f"({HELD_DECODING})()")
    page.reload()
    expect(page.get_by_role("radio", name="My own picture")).to_be_checked()
    publish(page)
    expect(page.get_by_role("button", name="Publish", exact=True)).to_be_disabled()
    page.evaluate("decodePictures()")
    page.goto(opened.url + expect_published(page))
    red, _, blue = page.locator(".post-picture").evaluate(LEFT_COLOUR)
    assert red > 200
    assert blue < 50


def test_a_picture_from_a_file_can_be_cropped_with_keys(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    page = write(open_page(new_wallet()), "With a picture")
    with page.expect_file_chooser() as chosen:
        page.get_by_role("button", name="Choose a picture…").click()
    picture = page.screenshot()
    chosen.value.set_files({"name": "a.png", "mimeType": "image/png", "buffer": picture})
    page.get_by_label("Visible part of the picture").focus()
    page.keyboard.press("+")
    expect(page.get_by_label("Zoom")).not_to_have_value("1")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("0")
    expect(page.get_by_label("Zoom")).to_have_value("1")
    publish(page)
    expect_published(page)


def test_a_picture_can_be_pasted_and_removed(open_page: OpenPage, new_wallet: NewWallet) -> None:
    page = write(open_page(new_wallet()), "A pasted picture")
    put_picture(page, "paste")
    expect(page.get_by_role("radio", name="My own picture")).to_be_checked()
    page.get_by_role("radio", name="Made from the title").check()
    expect(page.get_by_label("Visible part of the picture")).to_have_count(0)


def test_a_picture_can_be_cropped_by_touch(open_page: OpenPage, new_wallet: NewWallet) -> None:
    opened = open_page(new_wallet(), has_touch=True, viewport={"width": 390, "height": 844})
    page = write(opened, "By touch")
    stage = put_picture(page, "drop")
    stage.scroll_into_view_if_needed()
    box = stage.bounding_box()
    assert box is not None
    left, middle, y = box["x"] + 20, box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    expect_in_the_middle(stage, "blue")
    fingers = opened.context.new_cdp_session(page)

    def touch(kind: str, *across: float) -> None:
        points = [{"x": x, "y": y, "id": number} for number, x in enumerate(across)]
        fingers.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": points})

    touch("Start", middle - 30, middle + 30)
    touch("Move", middle - 60, middle + 60)
    touch("End")
    expect(page.get_by_label("Zoom")).not_to_have_value("1")
    touch("Start", left)
    touch("Move", left + 60)
    touch("Move", left + 120)
    touch("End")
    # The left part of the picture is now in the middle.
    expect_in_the_middle(stage, "red")


def expect_in_the_middle(stage: Locator, colour: str) -> None:
    stage.page.wait_for_function(MIDDLE, arg=[stage.element_handle(), colour])


def test_a_post_can_be_published_with_the_keyboard_alone(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    wallet = new_wallet()
    wallet.refuses.add("eth_sendTransaction")
    page = write(open_page(wallet), "By keys alone")
    post_title(page).focus()
    page.keyboard.press("Tab")
    page.keyboard.type("Written without a mouse.")
    page.keyboard.press("Tab")
    page.keyboard.type("keys ")
    page.keyboard.press("Tab")
    page.keyboard.type("0.01")
    button = page.get_by_role("button", name="Publish", exact=True)
    for _ in range(8):
        page.keyboard.press("Tab")
        if button.evaluate("element => element === document.activeElement"):
            break
    expect(button).to_be_focused()
    page.keyboard.press("Enter")
    again = page.get_by_role("button", name="Try again")
    expect(again).to_be_focused()
    wallet.refuses.clear()
    page.keyboard.press("Enter")
    expect_published(page)


def test_every_step_passes_axe_and_fits_a_phone(open_page: OpenPage, new_wallet: NewWallet) -> None:
    wallet = new_wallet()
    phone = {"width": 320, "height": 640}
    page = write(open_page(wallet, viewport=phone), "Looked at")

    def look() -> None:
        assert axe_violations_in_both_schemes(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 320

    look()
    page.get_by_label("Price in ETH").fill("7")
    page.get_by_label("Hashtags").fill("essay, ")
    publish(page)
    look()
    page.get_by_label("Price in ETH").fill("0.5")
    put_picture(page, "drop")
    look()
    wallet.refuses.add("eth_signTypedData_v4")
    publish(page)
    expect(page.get_by_role("alert")).to_be_visible()
    look()
    wallet.refuses.clear()
    wallet.withholds.add("eth_getTransactionReceipt")
    page.get_by_role("button", name="Try again").click()
    expect(present_step(page)).to_contain_text("Confirmed")
    look()
    wallet.withholds.clear()
    expect_published(page)
    look()
