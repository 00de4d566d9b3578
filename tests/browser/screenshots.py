"""Screenshots of every page state: `python -m tests.browser.screenshots [FOLDER [STATE …]]`

All of them go to a folder, and small versions of the best to `docs/pictures`.
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
    }
    with (
        tempfile.TemporaryDirectory() as data,
        open_chromium() as browser,
        running(Service(Path(data), given, "dev")) as service,
    ):
        place = _fill(browser, service.url)
        for name in states:
            for size in SIZES:
                for scheme in SCHEMES:
                    _take(browser, place, folder, (name, size, scheme))
    print(f"{len(list(folder.glob('*.png')))} pictures are in {folder}, the best in {KEPT}")


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
    return Place(url, free, paid)


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
