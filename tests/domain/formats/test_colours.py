"""Contrast, and readable shades of an accent colour."""

import re
from itertools import product

import pytest
from tools.files import ROOT

from imprint.domain.formats.colours import (
    DARK_PANEL,
    LIGHT_PANEL,
    READABLE,
    Accent,
    NotAColour,
    contrast,
    parse_accent,
)


@pytest.mark.parametrize(
    ("one", "other", "ratio"),
    [
        ("#000000", "#ffffff", 21.0),
        ("#ffffff", "#000000", 21.0),
        ("#777777", "#ffffff", 4.48),
        ("#0000ff", "#ffffff", 8.59),
        ("#123456", "#123456", 1.0),
    ],
)
def test_contrast_is_computed_as_in_wcag(one: str, other: str, ratio: float) -> None:
    assert contrast(one, other) == pytest.approx(ratio, abs=0.005)


def test_every_accepted_accent_is_readable_on_light_and_dark_pages() -> None:
    accepted = 0
    for channels in product(("00", "40", "80", "c0", "ff"), repeat=3):
        try:
            accent = parse_accent("#" + "".join(channels))
        except NotAColour:
            continue
        accepted += 1
        assert contrast(accent.light, LIGHT_PANEL) >= READABLE
        assert contrast(accent.dark, DARK_PANEL) >= READABLE
        # The text colours of buttons in `tokens.css`.
        assert contrast(accent.light, "#ffffff") >= READABLE
        assert contrast(accent.dark, "#10131d") >= READABLE
    assert accepted > 90


def test_a_readable_colour_is_unchanged() -> None:
    assert parse_accent("#C2185B").light == "#c2185b"
    assert parse_accent("#ff9800").dark == "#ff9800"
    assert parse_accent("#070") == parse_accent("#007700")
    assert parse_accent("#000") == Accent("#000000", "#888888")


@pytest.mark.parametrize("text", ["#ffff00", "#fff", "#0ff"])
def test_refusing_a_colour_too_light_for_light_pages_suggests_a_darker_one(text: str) -> None:
    with pytest.raises(NotAColour, match="too light") as refused:
        parse_accent(text)
    (darker,) = re.findall(r"such as (#[0-9a-f]{6})", str(refused.value))
    assert parse_accent(darker).light == darker


@pytest.mark.parametrize("text", ["red", "24479e", "#24479", "#24479e80", "#24479g", "", "#"])
def test_text_that_is_not_a_colour_is_refused(text: str) -> None:
    with pytest.raises(NotAColour, match="must be a colour"):
        parse_accent(text)


def test_the_panel_colours_match_the_style_sheet() -> None:
    tokens = (ROOT / "site/styles/tokens.css").read_text(encoding="utf-8")
    panels = set(re.findall(r"--panel: (#[0-9a-f]{6});", tokens))
    assert panels == {LIGHT_PANEL, DARK_PANEL}
