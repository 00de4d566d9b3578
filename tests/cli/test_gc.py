"""Tests of `imprint gc`."""

import asyncio
import json
from pathlib import Path
from typing import Any

from click.testing import Result
from tests.cli.installations import environment_beside, environment_of, run
from tests.world import World

from imprint.domain.drafts.files import Network
from imprint.domain.formats.cids import Cid, document_cid

NOW = {"IMPRINT_WRITE_LEASE_SECONDS": "1"}
"""Settings under which documents are old enough to be strays after one second."""


async def leave(world: World, count: int) -> list[Cid]:
    """Store documents that have no record in the catalog."""
    cids = []
    for number in range(count):
        document = b"stray %d" % number
        cids.append(document_cid(document))
        await world.adapters.content.put(cids[-1], document, Network.PRIVATE)
    await asyncio.sleep(1.1)
    return cids


async def gc(world: World, *arguments: str, **given: str) -> Result:
    environ = environment_beside(world) | NOW | given
    return await asyncio.to_thread(run, environ, "gc", *arguments)


async def find(world: World, **given: str) -> dict[str, Any]:
    result = await gc(world, "--dry-run", "--json", **given)
    assert result.exit_code == 0, result.output
    report: dict[str, Any] = json.loads(result.stdout)
    return report


async def delete_draft(world: World) -> str:
    draft = await world.create(world.wallet(1), "Gone.")
    assert (await world.send_delete(world.wallet(1), draft["cid"])).status_code == 200
    return str(draft["cid"])


def test_gc_without_an_option_explains_the_options(tmp_path: Path):
    result = run(environment_of(tmp_path), "gc")
    assert result.exit_code == 2
    assert "--dry-run" in result.output
    assert "--really" in result.output
    assert not (tmp_path / "imprint.db").exists()
    assert run(environment_of(tmp_path), "gc", "--dry-run", "--really").exit_code == 2


async def test_a_dry_run_lists_due_and_waiting_documents(world: World):
    cid = await delete_draft(world)
    kept = await world.create(world.wallet(1), "Kept.")
    waiting = await find(world)
    assert (waiting["due"]["documents"], waiting["waiting"]) == (0, 1)
    due = await find(world, IMPRINT_GRACE_HOURS="0")
    assert due["due"]["documents"] == 1
    assert due["due"]["bytes"] > 0
    assert due["due"]["first"] == [{"cid": cid, "network": "private"}]
    assert due["strays"]["private"]["strays"] == 0
    assert await world.adapters.content.read(Cid(cid), Network.PRIVATE) is not None
    assert (await world.read_draft(world.wallet(1), kept["cid"])).status_code == 200


async def test_a_dry_run_lists_strays_that_are_held_back_and_changes_nothing(world: World):
    cids = await leave(world, 21)
    found = (await find(world))["strays"]["private"]
    assert (found["documents"], found["strays"], found["held"]) == (21, 21, True)
    assert len(found["first"]) == 10
    assert set(found["first"]) <= set(cids)
    assert (await find(world))["strays"]["private"] == found
    result = await gc(world, "--dry-run", "--limit", "3")
    assert (
        "21 of 21 finished private documents are strays: none are destroyed without"
        in result.output
    )
    assert sum(cid in result.output for cid in cids) == 3


async def test_the_really_option_destroys_only_strays_and_due_documents(world: World):
    author = world.wallet(1)
    kept = await world.create(author, "Kept.")
    thumbnail = await world.publish(author, kept["cid"])
    gone = await delete_draft(world)
    strays = await leave(world, 25)
    result = await gc(world, "--really", IMPRINT_GRACE_HOURS="0")
    assert result.exit_code == 0, result.output
    assert "26 documents were destroyed." in result.stdout
    for cid in (gone, *strays):
        assert await world.adapters.content.read(Cid(cid), Network.PRIVATE) is None
    assert (await world.read_draft(author, kept["cid"])).json()["content"] == "Kept."
    assert (await world.client.get(f"/ipfs/{thumbnail}")).status_code == 200
    assert (await find(world))["strays"]["private"]["strays"] == 0


async def test_the_really_option_respects_the_grace_period_of_deleted_drafts(world: World):
    gone = await delete_draft(world)
    result = await gc(world, "--really", "--json")
    assert json.loads(result.stdout) == {"destroyed": 0}
    assert await world.adapters.content.read(Cid(gone), Network.PRIVATE) is not None
