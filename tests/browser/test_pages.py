"""Every page, as different people see it."""

import pytest
from tests.browser.conftest import OpenPage, axe_violations

PAGES = (
    "/",
    "/library",
    "/studio",
    "/search?q=nothing",
    "/docs",
    "/operator",
    "/p/999",
    "/nowhere",
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing(open_page: OpenPage, path: str, scheme: str) -> None:
    page = open_page(color_scheme=scheme).visit(path)
    page.wait_for_load_state("networkidle")
    assert axe_violations(page) == []


@pytest.mark.parametrize("path", PAGES)
def test_a_page_fits_a_narrow_phone(open_page: OpenPage, path: str) -> None:
    page = open_page(viewport={"width": 320, "height": 640}).visit(path)
    page.wait_for_load_state("networkidle")
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
