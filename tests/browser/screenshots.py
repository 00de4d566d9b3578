"""Screenshots of every page state: `python -m tests.browser.screenshots [FOLDER [STATE …]]`

All screenshots are saved to a folder, and small versions of the best to `docs/pictures`.
"""

import io
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import httpx2
from PIL import Image
from playwright.sync_api import Browser, Page, expect
from tests.browser.chromium import open_chromium
from tests.browser.states import OPERATOR_SECRET, STATES, Place
from tests.processes import PLAIN, Service, free_port, running

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "docs" / "pictures"

SIZES = {"desktop": (1280, 800), "phone": (390, 844)}
SCHEMES = ("light", "dark")

BEST = {
    *("front-desktop-light", "post-desktop-light", "gate-desktop-light", "library-desktop-light"),
    *("studio-desktop-light", "studio-desktop-dark", "publish-desktop-light"),
    *("income-desktop-light", "docs-desktop-light", "operator-desktop-light"),
}
"""The screenshots used in the README and the documentation."""

PUBLICATION = {
    "PUBLICATION_NAME": "Tidewater",
    "PUBLICATION_DESCRIPTION": "Letters from the coast, about boats, bread, maps and money.",
    "PUBLICATION_ACCENT": "#0f766e",
    "PUBLICATION_NAVIGATION": "Essays /t/essays, Fiction /t/fiction",
    "PUBLICATION_FOOTER": "© 2026 Tidewater",
    "PUBLICATION_CONTACT": "mailto:editors@tidewater.example",
}
"""The settings of the publication in the screenshots."""

PAGES = {
    "about.md": """# About Tidewater

Three of us live within sight of the same harbour. We write about what comes in with the tide:
boats, bread, maps, money, and the birds that steal it.

New letters appear when they are ready. Some are free, some cost about as much as a coffee, and
whatever you buy is yours to keep.

> Write as if the reader had a train to catch, and might miss it.
""",
    "house-rules.md": "# House rules\n\n1. Be kind.\n2. Say how you know.",
}

DRAFT = """# The ferry that waits

There is a ferry on our coast that leaves *when it is full*. No timetable says so. The one on the
pier promises nine, noon and four, and visitors stand beside it with their watches.

## What full means

Full is not a number. On a market day it means **forty people and a goat**. In February it means
the doctor.

> You don't wait for the ferry, the pilot says. The ferry waits for you.

I asked how he knows. He counted it off on his fingers:

- who said last night that they would come
- who always says so, and doesn't
- whose light is on

| Month | Promised | Sailed |
| --- | --- | --- |
| February | 84 | 31 |
| July | 93 | 118 |
"""

MOST_BYTES = 120 * 1024
COLOURS = (256, 128, 64, 32)

LOADED = """
Promise.all([document.fonts.ready, ...Array.from(document.images, (image) => {
  image.loading = "eager";
  return image.decode().catch(() => null);
})])
"""


def main(folder: Path, states: Sequence[str]) -> None:
    """Take screenshots of a service filled with the sample posts."""
    folder.mkdir(parents=True, exist_ok=True)
    KEPT.mkdir(parents=True, exist_ok=True)
    given = {
        "DEV_RPC_PORT": str(free_port()),
        "CHAIN_FOLLOW_SECONDS": "1",
        "OPERATOR_SECRET": OPERATOR_SECRET,
        "RATE_LIMITS": "off",
        **PUBLICATION,
    }
    with tempfile.TemporaryDirectory() as data, open_chromium() as browser:
        pages = Path(data) / "pages"
        pages.mkdir()
        for name, text in PAGES.items():
            (pages / name).write_text(text, "utf-8")
        settings = {**given, "PUBLICATION_PAGES": str(pages)}
        with running(Service(Path(data), settings, "dev")) as service:
            _take_all(browser, service.url, folder, states)
    print(f"{len(list(folder.glob('*.png')))} pictures are in {folder}, the best in {KEPT}")


def _take_all(browser: Browser, url: str, folder: Path, states: Sequence[str]) -> None:
    place = _fill(browser, url)
    for name in states:
        for size in SIZES:
            for scheme in SCHEMES:
                _take(browser, place, folder, (name, size, scheme))


def _fill(browser: Browser, url: str) -> Place:
    """Publish the samples through the front page, and pick a free and a paid post."""
    page = browser.new_page()
    page.goto(url)
    page.get_by_role("button", name="Fill with sample posts").first.click()
    expect(page.locator("article.card")).to_have_count(12, timeout=240_000)
    page.close()
    posts = httpx2.get(f"{url}/posts?limit=50&sort=sales", verify=PLAIN).json()["posts"]
    free = next(post["id"] for post in posts if post["free"])
    paid = next(post["id"] for post in posts if not post["free"])
    return Place(url, free, paid, DRAFT)


def _take(browser: Browser, place: Place, folder: Path, wanted: tuple[str, str, str]) -> None:
    state, size, scheme = wanted
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if scheme == "dark" else "light",
        reduced_motion="reduce",
    )
    name = f"{state}-{size}-{scheme}"
    page: Page = context.new_page()
    try:
        STATES[state](page, place)
        page.evaluate(LOADED)
        taken = page.screenshot(full_page=False)
    finally:
        context.close()
    (folder / f"{name}.png").write_bytes(taken)
    if name in BEST:
        (KEPT / f"{name}.png").write_bytes(_small(taken))


def _small(taken: bytes) -> bytes:
    """Reduce a screenshot to as many colours as fit into the size limit."""
    picture = Image.open(io.BytesIO(taken)).convert("RGB")
    for colours in COLOURS:
        made = io.BytesIO()
        picture.quantize(colours, dither=Image.Dither.NONE).save(made, "PNG", optimize=True)
        if made.tell() <= MOST_BYTES:
            break
    return made.getvalue()


if __name__ == "__main__":
    given = sys.argv[1:]
    folder = given[0] if given else tempfile.mkdtemp(prefix="pictures-")
    main(Path(folder), given[1:] or list(STATES))
