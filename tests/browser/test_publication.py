"""A customized site in a browser: a TOML file and two Markdown pages, light and dark."""

import re
import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect
from tests.browser.pages import WATCH, axe_violations_in_both_schemes
from tests.processes import Process

CONFIG = """
[publication]
name = "Tidewater"
description = "Letters from the coast, about boats, bread, maps and money."
accent = "#ff9800"
logo = "{folder}/logo.svg"
pages = "{folder}/pages"
footer = "© 2026 Tidewater"
contact = "mailto:editors@tidewater.example"
terms = "/house-rules"
front = "featured"
featured = [12, 7]

[publication.navigation]
Essays = "/t/essay"
"House rules" = "/house-rules"
"Our code" = "https://tidewater.example/code"
"""

LOGO = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 160 40"><script>window.parent.x = 1'
    '</script><rect width="160" height="40" fill="#0f766e"/></svg>'
)

PAGES = {
    "about.md": "# About Tidewater\n\nWe write [letters](/house-rules).\n\n> Standing up.",
    "house-rules.md": "# House rules\n\n1. Be kind.\n2. Say where you know it from.",
}


@pytest.fixture(scope="module")
def tidewater(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a preview of the customized site."""
    folder = tmp_path_factory.mktemp("tidewater")
    (folder / "pages").mkdir()
    for name, text in PAGES.items():
        (folder / "pages" / name).write_text(text, encoding="utf-8")
    (folder / "logo.svg").write_text(LOGO)
    (folder / "imprint.toml").write_text(CONFIG.format(folder=folder), encoding="utf-8")
    command = ["-m", "imprint", "site", "preview", "--port", "0", "--config"]
    process = Process(
        [sys.executable, *command, str(folder / "imprint.toml")], folder / "preview.log"
    )
    process.start(lambda: "Open http" in process.tail())
    try:
        found = re.search(r"Open (http://\S+)", process.tail())
        assert found
        yield found[1]
    finally:
        process.kill()


@pytest.mark.parametrize("width", [360, 1280])
def test_a_customized_site_is_accessible_on_phones_and_desktops_in_both_modes(
    browser: Browser, tidewater: str, width: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 800})
    context.add_init_script(WATCH)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    for path in ("/", "/about", "/house-rules", "/p/12", "/p/7"):
        page.goto(tidewater + path)
        expect(page.get_by_role("img", name="Tidewater")).to_be_visible()
        page.locator("#account button").wait_for()
        assert axe_violations_in_both_schemes(page) == [], path
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert page.evaluate("window.__violations") == [], path
    assert errors == []
    context.close()


def test_the_accent_has_a_shade_for_each_mode_and_the_links_work(
    browser: Browser, tidewater: str
) -> None:
    page = browser.new_page()
    shade = "getComputedStyle(document.documentElement).getPropertyValue('--accent')"
    page.emulate_media(color_scheme="light")
    page.goto(tidewater)
    assert page.evaluate(shade) == "#9f5f00"
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(shade) == "#ff9800"
    page.evaluate("localStorage.setItem('imprint.theme', 'light')")
    page.reload()
    assert page.evaluate(shade) == "#9f5f00"
    expect(page.locator(".card").first).to_have_attribute("data-id", "12")
    page.get_by_label("Sections").get_by_role("link", name="House rules").click()
    expect(page.locator("h1")).to_have_text("House rules")
    page.get_by_role("contentinfo").get_by_role("link", name="About").click()
    expect(page.locator("h1")).to_have_text("About Tidewater")
    expect(page.get_by_text("Paid to authors")).to_be_visible()
    page.close()
