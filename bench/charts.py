"""Draws line charts with Pillow, which the service depends on anyway."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

WIDTH, HEIGHT, MARGIN = 900, 540, 80
"""Width and height of a chart, and the width of its margin, in pixels."""

MARK_WIDTH = 45
"""Least distance of two marks of the x-axis in pixels."""

COLORS = ("#1f6feb", "#d1242f", "#1a7f37", "#9a6700", "#8250df", "#57606a")
"""Line colors."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a chart."""

    name: str
    points: Sequence[tuple[float, float]]


def draw_chart(path: Path, title: str, labels: tuple[str, str], lines: Sequence[Line]) -> None:
    """Draw a chart. The x-axis is logarithmic if it spans more than a factor of 50."""
    image = Image.new("RGB", (WIDTH, HEIGHT), "white")
    pen = ImageDraw.Draw(image)
    font, small = ImageFont.load_default(18), ImageFont.load_default(13)
    across = sorted({x for line in lines for x, _ in line.points})
    top = max(y for line in lines for _, y in line.points) * 1.1 or 1
    logarithmic = across[-1] > 50 * max(across[0], 1e-9)

    def place(x: float, y: float) -> tuple[float, float]:
        low, high = across[0], across[-1]
        share = (
            (math.log(x) - math.log(low)) / (math.log(high) - math.log(low))
            if logarithmic
            else (x - low) / ((high - low) or 1)
        )
        return MARGIN + share * (WIDTH - 2 * MARGIN), HEIGHT - MARGIN - y / top * (
            HEIGHT - 2 * MARGIN
        )

    pen.text((MARGIN, 20), title, "black", font)
    for step in range(6):
        y = top * step / 5
        (left, height) = place(across[0], y)
        pen.line([(left, height), (WIDTH - MARGIN, height)], "#d8dee4")
        pen.text((8, height - 8), f"{y:,.3g}", "#57606a", small)
    free = 0.0
    for x in across:
        at, _ = place(x, 0)
        if at >= free:
            pen.text((at - 12, HEIGHT - MARGIN + 8), f"{x:,.0f}", "#57606a", small)
            free = at + MARK_WIDTH
    pen.text((WIDTH / 2 - 60, HEIGHT - 36), labels[0], "black", small)
    pen.text((8, MARGIN - 28), labels[1], "black", small)
    for number, line in enumerate(lines):
        color = COLORS[number % len(COLORS)]
        points = [place(x, y) for x, y in line.points]
        pen.line(points, color, 3)
        for x, y in points:
            pen.ellipse([x - 4, y - 4, x + 4, y + 4], color)
        pen.text((WIDTH - MARGIN - 210, MARGIN + 20 * number), line.name, color, small)
    image.save(path)


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar, of which the first part is marked."""

    name: str
    part: float
    whole: float


def draw_bars(path: Path, title: str, bars: Sequence[Bar]) -> None:
    """Draw horizontal bars with their values, one below the other."""
    left, height = 330, 26
    image = Image.new("RGB", (WIDTH, MARGIN + height * len(bars) + 20), "white")
    pen = ImageDraw.Draw(image)
    font, small = ImageFont.load_default(18), ImageFont.load_default(13)
    scale = (WIDTH - left - MARGIN) / (max(bar.whole for bar in bars) or 1)
    pen.text((20, 20), title, "black", font)
    for number, bar in enumerate(bars):
        top = MARGIN + number * height
        pen.text((20, top), bar.name, "black", small)
        pen.rectangle((left, top, left + bar.whole * scale, top + height - 9), COLORS[0])
        pen.rectangle((left, top, left + bar.part * scale, top + height - 9), COLORS[5])
        end = left + bar.whole * scale
        pen.text((end + 6, top), f"{bar.whole:,.0f}", "#57606a", small)
    image.save(path)
