"""Tests of `imprint export-site`."""

import asyncio
from pathlib import Path

import pytest
from click.testing import Result
from tests.cli.installations import environment_beside, environment_of, run
from tests.indexed import fill_index
from tests.world import World

BASE = "https://copy.example"


async def export(world: World, output: Path, *more: str) -> Result:
    given = ("--output", output, "--base-url", f"{BASE}/")
    return await asyncio.to_thread(run, environment_beside(world), "export-site", *given, *more)


async def test_a_site_can_be_exported_while_the_service_is_running(
    world: World, tmp_path: Path
) -> None:
    await world.post(world.wallet(1), "Words for everybody.", 0)
    await world.post(world.wallet(1), "Words for sale.")
    await fill_index(world)
    result = await export(world, tmp_path / "site")
    assert result.exit_code == 0, result.output
    assert f"2 posts are in {tmp_path / 'site'}." in result.output
    page = (tmp_path / "site/p/1/a-title/index.html").read_text()
    assert "Words for everybody." in page
    assert f'<link rel="canonical" href="{BASE}/p/1/a-title/">' in page
    again = await export(world, tmp_path / "site", "--format", "markdown")
    assert again.exit_code == 0, again.output
    assert not (tmp_path / "site/p").exists()
    assert (tmp_path / "site/content/posts/1-a-title.md").is_file()


async def test_a_folder_with_other_files_is_refused(world: World, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site/precious").touch()
    result = await export(world, tmp_path / "site")
    assert result.exit_code == 2
    assert "neither empty nor an earlier export" in result.output
    assert not (tmp_path / "site.partial").exists()


def test_a_site_without_a_complete_index_is_not_exported(here: Path, tmp_path: Path) -> None:
    given = ("--output", tmp_path / "site", "--base-url", BASE)
    result = run(environment_of(here), "export-site", *given)
    assert result.exit_code == 1
    assert "The index of posts is being built" in result.output
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize(
    "base", ["copy.example", "ftp://copy.example", "https://a.example/?x", 'https://a.example/"']
)
def test_a_malformed_base_url_is_refused(here: Path, tmp_path: Path, base: str) -> None:
    given = ("--output", tmp_path / "site", "--base-url", base)
    result = run(environment_of(here), "export-site", *given)
    assert (result.exit_code, "--base-url" in result.output) == (2, True)
