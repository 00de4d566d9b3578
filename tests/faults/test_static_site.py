"""Static copies of a large site, and the files that a killed export leaves."""

import asyncio
import subprocess
import sys
import time
from pathlib import Path

from tests.web.site.static_files import SECRET, broken_links, export, files_in, many_posts

POSTS = 1_000

KILLED = """
import asyncio, sys, time
from pathlib import Path
from imprint.bootstrap.static_site import SiteFormat, write_site
from tests.web.site.static_files import BASE, many_posts

async def main(data, output):
    def progress(done, total):
        if done == 3:
            (data / "third").touch()
            time.sleep(600)

    async with many_posts(data, 6) as world:
        given = (world.settings, world.adapters, BASE, output, SiteFormat.HTML)
        await write_site(*given, progress=progress, report=print)

asyncio.run(main(*map(Path, sys.argv[1:])))
"""


async def test_two_exports_of_a_thousand_posts_have_the_same_bytes(tmp_path: Path) -> None:
    async with many_posts(tmp_path / "data", POSTS) as world:
        assert await export(world, tmp_path / "one") == POSTS
        world.clock.advance(400 * 86400)
        await export(world, tmp_path / "other")
    first = files_in(tmp_path / "one")
    assert first == files_in(tmp_path / "other")
    assert sum(name.startswith("p/") for name in first) == 2 * POSTS
    assert not any(SECRET.encode() in each for each in first.values())
    assert list(broken_links(tmp_path / "one")) == []


def test_a_killed_export_leaves_the_earlier_copy_unchanged(tmp_path: Path) -> None:
    async def write(data: str, count: int) -> None:
        async with many_posts(tmp_path / data, count) as world:
            await export(world, tmp_path / "copy")

    asyncio.run(write("first", 2))
    before = files_in(tmp_path / "copy")
    command = [sys.executable, "-c", KILLED, tmp_path / "second", tmp_path / "copy"]
    with subprocess.Popen(command) as running:
        try:
            while not (tmp_path / "second/third").exists():
                assert running.poll() is None
                time.sleep(0.05)
        finally:
            running.kill()
    assert files_in(tmp_path / "copy") == before
    assert (tmp_path / "copy.partial/p").is_dir()
    asyncio.run(write("third", 4))
    assert "p/4/title-3-more/index.html" in files_in(tmp_path / "copy")
    assert not (tmp_path / "copy.partial").exists()
