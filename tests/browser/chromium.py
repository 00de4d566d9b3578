"""Debian's Chromium, as started by the tests, the screenshots and the benchmark."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

PLAIN_HOST = "imprint.test"
"""A name of this machine: loopback counts as https, but not under this name."""

SUGGESTIONS = ("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup")
"""The suggestions below the address bar: separate pages, two per window, which take as long to open
as the window."""

WITHOUT = (
    *("AimEnabled", "AvoidCorsURLLoaderRestartOnRedirect", "AvoidUnnecessaryBeforeUnloadCheckSync"),
    *("DestroyProfileOnBrowserClose", "HttpsFirstBalancedModeAutoEnable", "HttpsUpgrades"),
    *("LensOverlay", "MediaRouter", "NetworkTimeServiceQuerying", "OptimizationHints"),
    *("PaintHolding", "PreconnectToSearch", "ThirdPartyStoragePartitioning"),
)
"""What Playwright switches off. Chromium reads only the last of two such flags."""

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
    """The program: of `CHROMIUM`, or the one on the path. Raises `RuntimeError` without any."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        raise RuntimeError("Chromium is not installed: tools/install-browser")
    return path


@contextmanager
def open_chromium() -> Iterator[Browser]:
    """Run Chromium without a window until the block ends."""
    path = find_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()
