"""Tests of `imprint moderate` and `imprint erase`."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

from click.testing import Result
from tests.cli.installations import environment_beside, run
from tests.web.site.publication import publish
from tests.world import World, open_world

from imprint.domain.moderation import LoggedDecision
from imprint.services.moderation import CurrentMeasures, Moderation


async def moderate(world: World, *words: str) -> Result:
    environ = environment_beside(world)

    return await asyncio.to_thread(run, environ, "moderate", *words)


async def test_a_running_service_applies_a_moderation_measure_within_a_second(world: World) -> None:
    post_id = await publish(world, 1, "ink")
    assert (await world.client.get(f"/posts/{post_id}")).status_code == 200
    said = ("--ground", "legal", "--statement", "By law.")
    done = await moderate(world, "withhold", "post", post_id, *said)
    assert done.exit_code == 0, done.output
    assert f"https://imprint.test/p/{post_id}\n" in done.output
    assert "https://imprint.test/feeds/tags/ink.atom\n" in done.output
    world.clock.advance(1)
    response = await world.client.get(f"/posts/{post_id}")
    assert (response.status_code, response.json()["statement"]) == (451, "By law.")
    assert (await moderate(world, "undo", "post", post_id)).exit_code == 0
    world.clock.advance(1)
    assert (await world.client.get(f"/posts/{post_id}")).status_code == 200
    log = json.loads((await moderate(world, "log", "--json")).stdout)
    assert [each["measure"] for each in log] == ["withheld", "undone"]


async def test_an_unknown_post_is_refused(world: World) -> None:
    result = await moderate(world, "withhold", "post", "99")
    assert (result.exit_code, result.stderr) == (1, "There is no post 99 here.\n")
    assert json.loads((await moderate(world, "log", "--json")).stdout) == []


async def test_invalid_targets_are_refused(world: World) -> None:
    for words in (
        ("refuse", "post", "1"),
        ("allow", "tag", "ink"),
        ("unlist", "author", "0x12"),
        ("unlist", "cid", "bafy"),
        ("undo", "tag", "ink"),
    ):
        assert (await moderate(world, *words)).exit_code == 1, words
    for line in ("unlist", "unlist tag", "log tag ink", "unlist planet x"):
        assert (await moderate(world, *line.split())).exit_code == 2, line


async def test_reports_are_listed_without_control_characters(world: World) -> None:
    post_id = await publish(world, 1)
    body = {"postId": post_id, "reason": "other", "text": "Grüße [red]"}
    await world.client.post("/reports", json=body)
    printed = (await moderate(world, "reports")).output
    assert "Gr\\xfc\\xdfe [red]" in printed
    (record,) = json.loads((await moderate(world, "reports", "--json")).stdout)
    assert (record["postId"], record["text"]) == (post_id, "Grüße [red]")


async def test_restoring_with_a_newer_log_withholds_posts_withheld_since_the_backup(
    world: World, tmp_path: Path
) -> None:
    first, second = await publish(world, 1), await publish(world, 1)
    environ = environment_beside(world)
    assert (await moderate(world, "withhold", "post", first)).exit_code == 0
    saved, folder, log = tmp_path / "saved.tar", tmp_path / "restored", tmp_path / "log.json"
    assert (await asyncio.to_thread(run, environ, "backup", "--out", saved)).exit_code == 0
    assert (await moderate(world, "withhold", "post", second)).exit_code == 0
    log.write_text((await moderate(world, "log", "--json")).stdout)
    words = ("restore", saved, "--to", folder, "--measures", log)
    restored = await asyncio.to_thread(run, environ, *words)
    assert restored.exit_code == 0, restored.output
    async with open_world(folder) as other:
        for post_id in (first, second):
            assert (await other.client.get(f"/posts/{post_id}")).status_code == 410
        assert (await other.client.get("/posts")).json()["posts"] == []
        assert len([each async for each in _log_of(other)]) == 2


def _log_of(world: World) -> AsyncIterator[LoggedDecision]:
    stores = world.adapters.stores
    measures = CurrentMeasures(stores.moderation)
    desk = Moderation(
        stores.moderation,
        stores.index_reader,
        stores.files,
        stores.revisions,
        measures,
        world.clock,
    )
    return desk.whole_log()


async def test_a_log_of_another_installation_is_not_restored(world: World, tmp_path: Path) -> None:
    environ, log = environment_beside(world), tmp_path / "log.json"
    await moderate(world, "unlist", "tag", "ink")
    saved = tmp_path / "saved.tar"
    assert (await asyncio.to_thread(run, environ, "backup", "--out", saved)).exit_code == 0
    records = json.loads((await moderate(world, "log", "--json")).stdout)
    log.write_text(json.dumps([records[0] | {"target": "other"}]))
    words = ("restore", saved, "--to", tmp_path / "restored", "--measures", log)
    assert (await asyncio.to_thread(run, environ, *words)).exit_code == 1
    log.write_text("[{}]")
    assert (await asyncio.to_thread(run, environ, *words)).exit_code == 2


async def erase(world: World, *words: str, typed: str | None = None) -> Result:
    environ = environment_beside(world)
    return await asyncio.to_thread(run, environ, "erase", *words, typed=typed)


async def test_the_data_of_a_person_can_be_erased_while_the_service_is_running(
    world: World, tmp_path: Path
) -> None:
    post_id, other = await publish(world, 1, content="Gone."), await publish(world, 2)
    post = (await world.client.get(f"/posts/{post_id}")).json()
    done = await erase(world, world.wallet(1).address, "--yes")
    assert done.exit_code == 0, done.output
    assert f"  post {post['cid']}\n" in done.output
    assert "1 files. 2 documents were destroyed." in done.output
    assert "The chain keeps what was published there" in done.output
    assert "backups, exports" in done.output
    world.clock.advance(1)
    assert (await world.client.get(f"/posts/{post_id}.md")).status_code == 410
    assert (await world.read_free(post_id)).status_code == 410
    assert (await world.client.get(f"/posts/{other}")).status_code == 200
    assert f"https://imprint.test/ipfs/{post['thumbnailCid']}\n" in done.output
    # A backup verifies every record and document.
    saved = tmp_path / "saved.tar"
    backup = await asyncio.to_thread(run, environment_beside(world), "backup", "--out", saved)
    assert backup.exit_code == 0, backup.output
    again = await erase(world, world.wallet(1).address, "--yes")
    assert again.exit_code == 0, again.output
    assert "0 files. 0 documents were destroyed." in again.output


async def test_nothing_is_erased_by_a_dry_run_or_without_confirmation(world: World) -> None:
    post_id = await publish(world, 1)
    author = world.wallet(1).address
    listed = await erase(world, author, "--dry-run")
    assert listed.exit_code == 0, listed.output
    assert "Would be erased:\n  post baf" in listed.output
    refused = await erase(world, author, typed="n\n")
    assert refused.exit_code == 1
    world.clock.advance(1)
    assert (await world.client.get(f"/posts/{post_id}/content")).status_code == 200
    assert json.loads((await moderate(world, "log", "--json")).stdout) == []


async def test_a_target_that_cannot_be_erased_is_refused(world: World) -> None:
    for word in ("0x12", "bafy", world.wallet(3).address):
        result = await erase(world, word, "--yes")
        assert (result.exit_code, result.stdout) == (1, ""), word


async def test_an_import_does_not_restore_erased_files(world: World, tmp_path: Path) -> None:
    first, second = await publish(world, 1), await publish(world, 2)
    environ, saved = environment_beside(world), tmp_path / "saved.car"
    assert (await asyncio.to_thread(run, environ, "export", "--out", saved)).exit_code == 0
    post = (await world.client.get(f"/posts/{second}")).json()
    author = world.wallet(1).address
    assert (await erase(world, author, "--yes")).exit_code == 0
    assert (await erase(world, post["cid"], "--yes")).exit_code == 0
    imported = await asyncio.to_thread(run, environ, "import", saved)
    assert imported.exit_code == 0, imported.output
    assert "0 files were imported.\n2 have since been" in imported.output
    world.clock.advance(1)
    for post_id in (first, second):
        assert (await world.read_free(post_id)).status_code == 410
    assert (await erase(world, author, "--dry-run")).output.splitlines()[1].startswith("  no rec")
