"""Measures the caches of a post page: text as HTML, and the compressed page.

python -m bench.micro.rendered_pages
"""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from imprint.domain.posts.text_work import TextWork
from imprint.services.content.text_conversions import TextConversions
from imprint.web.site.rendered_page import RenderedPage
from imprint.web.site.texts.post_html import TextMarkup, text_markup

TEXTS = Path(__file__).parents[2] / "site" / "samples" / "texts"

CALLS = 400
"""Number of calls per step. The fastest call counts, since other processes only slow it down."""


def main() -> None:
    """Print the microseconds of each step for the longest sample post."""
    text = max((each.read_text(encoding="utf-8") for each in TEXTS.glob("*.md")), key=len)
    texts = TextConversions()
    made = asyncio.run(_convert(texts, text))
    print(f"A text of {len(text)} characters, {len(made)} as HTML; microseconds:")
    steps: dict[str, Callable[[], object]] = {
        "render and sanitise it": lambda: text_markup(text, "", TextWork()),
        "find it by its cid": lambda: _find(texts, text),
        "compress and digest a page of it": lambda: RenderedPage.of(made.markup),
    }
    for name, step in steps.items():
        print(f"{_best(step):8.1f}  {name}")


async def _convert(texts: TextConversions, text: str) -> TextMarkup:
    async def load() -> str:
        return text

    return await texts.of("client", "cid", load, lambda given, work: text_markup(given, "", work))


def _find(texts: TextConversions, text: str) -> None:
    # A cached result is returned without waiting.
    try:
        _convert(texts, text).send(None)
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
