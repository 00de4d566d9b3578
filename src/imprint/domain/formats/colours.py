"""Colours, their contrast (WCAG 2), and the two readable shades of an accent."""

import re
from dataclasses import dataclass

LIGHT_PANEL = "#f5f2ec"
"""The darkest background of light pages, as in `tokens.css`."""

DARK_PANEL = "#1f2125"
"""The lightest background of dark pages, as in `tokens.css`."""

READABLE = 4.5
"""The minimum contrast of text with its background."""

MOST_DARKENED = 0.5
"""Maximum share of black mixed into an accent. More black would make it another colour."""

_COLOUR = re.compile(r"#([0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_STEPS = 200


class NotAColour(ValueError):
    """The text is not a colour, or the colour would be unreadable on a page."""


@dataclass(frozen=True, slots=True)
class Accent:
    """The shades of an accent on light and on dark pages."""

    light: str
    dark: str


def parse_accent(text: str) -> Accent:
    """Parse `#rgb` or `#rrggbb`, and darken or lighten it only as much as readability requires.

    Raises `NotAColour`, including for a colour too light for light pages.
    """
    if not _COLOUR.fullmatch(text):
        raise NotAColour("must be a colour like #24479e")
    digits = text[1:].lower()
    colour = "#" + (digits if len(digits) == 6 else "".join(digit * 2 for digit in digits))
    light, darkened = _readable(colour, "#000000", LIGHT_PANEL)
    if darkened > MOST_DARKENED:
        ratio = contrast(colour, LIGHT_PANEL)
        raise NotAColour(
            f"is too light: its contrast with a light page is {ratio:.1f}, text needs"
            f" {READABLE:g}. Choose a darker colour, such as {light}"
        )
    return Accent(light, _readable(colour, "#ffffff", DARK_PANEL)[0])


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, from 1 to 21."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _readable(colour: str, mixed_in: str, background: str) -> tuple[str, float]:
    """Return the nearest shade readable on this background, and the share of `mixed_in` in it."""
    shades = ((_mix(colour, mixed_in, step / _STEPS), step / _STEPS) for step in range(_STEPS + 1))
    return next(each for each in shades if contrast(each[0], background) >= READABLE)


def _channels(colour: str) -> list[int]:
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]


def _mix(one: str, other: str, share: float) -> str:
    pairs = zip(_channels(one), _channels(other), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def _luminance(colour: str) -> float:
    linear = [
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in (channel / 255 for channel in _channels(colour))
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
