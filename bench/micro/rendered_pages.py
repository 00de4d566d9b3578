"""Measures what the site keeps of a post's page: its text as HTML, and the page, compressed.

python -m bench.micro.rendered_pages
"""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from imprint.web.site.rendered_page import RenderedPage
from imprint.web.site.texts.post_html import post_html
from imprint.web.site.texts.rendered_texts import RenderedTexts

TEXTS = Path(__file__).parents[2] / "site" / "samples" / "texts"

CALLS = 400
"""Calls of each step; the best one counts, as other processes can only slow it down."""


def main() -> None:
    """Print the microseconds of each step, for the longest sample post."""
    text = max((each.read_text(encoding="utf-8") for each in TEXTS.glob("*.md")), key=len)
    texts = RenderedTexts()
    made = asyncio.run(texts.of("client", "cid", text, ""))
    print(f"A text of {len(text)} characters, {len(made)} as HTML; microseconds:")
    steps: dict[str, Callable[[], object]] = {
        "render and sanitise it": lambda: post_html(text, ""),
        "find it by its cid": lambda: _find(texts, text),
        "compress and digest a page of it": lambda: RenderedPage.of(made),
    }
    for name, step in steps.items():
        print(f"{_best(step):8.1f}  {name}")


def _find(texts: RenderedTexts, text: str) -> None:
    # What is kept is returned without waiting for anything.
    try:
        texts.of("client", "cid", text, "").send(None)
    except StopIteration:
        return
    raise RuntimeError("The text is not kept.")


def _best(step: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(CALLS):
        started = time.perf_counter()
        step()
        best = min(best, time.perf_counter() - started)
    return best * 1e6


if __name__ == "__main__":
    main()
