"""Debian's Chromium, as started by the tests, the screenshots and the benchmark."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

PLAIN_HOST = "imprint.test"
"""A host name for loopback that, unlike localhost, does not count as secure."""

SUGGESTIONS = ("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup")
"""Browser features that show suggestions below the address bar.

Suggestions are separate pages, two per window, that take as long to open as the window.
"""

WITHOUT = (
    *("AimEnabled", "AvoidCorsURLLoaderRestartOnRedirect", "AvoidUnnecessaryBeforeUnloadCheckSync"),
    *("DestroyProfileOnBrowserClose", "HttpsFirstBalancedModeAutoEnable", "HttpsUpgrades"),
    *("LensOverlay", "MediaRouter", "NetworkTimeServiceQuerying", "OptimizationHints"),
    *("PaintHolding", "PreconnectToSearch", "ThirdPartyStoragePartitioning"),
)
"""Features disabled by Playwright, repeated because Chromium reads only the last flag."""

FLAGS = (
    # As root, Chromium has no sandbox of its own.
    "--no-sandbox",
    # A small /dev/shm is common in containers.
    "--disable-dev-shm-usage",
    # There is no GPU, and drawing without one is faster than with an emulated one.
    "--disable-gpu",
    f"--disable-features={','.join((*WITHOUT, *SUGGESTIONS))}",
    f"--host-resolver-rules=MAP {PLAIN_HOST} 127.0.0.1",
)


def find_chromium() -> str:
    """Return the path from `CHROMIUM` or the search path. Raises `RuntimeError` if not found."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        raise RuntimeError("Chromium is not installed: tools/install-browser")
    return path


@contextmanager
def open_chromium() -> Iterator[Browser]:
    """Run headless Chromium until the context exits."""
    path = find_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()
