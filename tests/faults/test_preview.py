"""`imprint site preview` as a process: it needs no chain, and leaves nothing behind."""

import re
import signal
import sys
from pathlib import Path

import httpx2
from tests.processes import PLAIN, Process

CONFIG = """
[publication]
name = "Tidewater"
description = "Letters from the coast."
accent = "#0f766e"
pages = "{pages}"
front = "featured"
featured = [40, 12]

[publication.navigation]
Rules = "/rules"
"""


def test_a_preview_shows_the_site_with_sample_posts(tmp_path: Path) -> None:
    pages, scratch = tmp_path / "pages", tmp_path / "scratch"
    pages.mkdir()
    scratch.mkdir()
    (pages / "rules.md").write_text("# House rules\n\nBe kind.")
    config = tmp_path / "imprint.toml"
    config.write_text(CONFIG.format(pages=pages))
    process = Process(
        [
            sys.executable,
            "-m",
            "imprint",
            "site",
            "preview",
            "--port",
            "0",
            "--config",
            str(config),
        ],
        tmp_path / "preview.log",
        {"TMPDIR": str(scratch), "IMPRINT_DATA_DIR": str(tmp_path / "installation")},
    )
    process.start(lambda: "Open http" in process.tail())
    try:
        found = re.search(r"Open (http://127\.0\.0\.1:\d+)", process.tail())
        assert found
        with httpx2.Client(
            base_url=found[1], verify=PLAIN, timeout=60, follow_redirects=True
        ) as client:
            client.headers["Accept"] = "text/html"
            front = client.get("/").text
            shown = re.findall(r'<article class="card" data-id="(\d+)"', front)
            assert shown[:2] == ["40", "12"]
            assert "Tidewater" in front
            assert '<a href="/rules">Rules</a>' in front
            assert "Be kind." in client.get("/rules").text
            assert "Paid to authors" in client.get("/about").text
            free = client.get("/p/40").text
            assert "This is a sample post." in free
            paid = client.get("/p/12").text
            assert "This is a sample post." not in paid
            assert 'id="gate"' in paid
            pictures = set(re.findall(r'src="(/ipfs/[^"?]+)', front))
            assert pictures
            for path in pictures:
                assert client.get(path).headers["content-type"] == "image/png"
        assert process.stop(how=signal.SIGINT) == 0
    finally:
        process.kill()
    assert list(scratch.iterdir()) == []
    assert not (tmp_path / "installation").exists()
    assert "Traceback" not in process.tail(200)
