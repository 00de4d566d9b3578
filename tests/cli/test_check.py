"""`imprint check`."""

import asyncio
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from tests.cli.installations import environment_beside, environment_of, run
from tests.world import MovableClock, World, open_world

from imprint.domain.cids import Cid
from imprint.domain.files import Network
from imprint.domain.posts import Advance, BlockRef

WEBHOOK_SECRET = "5f0c1b7a93e84d26a1f47c3b9e60d815"
SUBJECTS = [
    *("settings", "database", "records", "store", "documents", "node", "contract", "webhooks"),
    "clock",
]


async def check(world: World, *options: str, **given: str) -> tuple[int, dict[str, str]]:
    """The exit status, and the mark of each subject."""
    environ = environment_beside(world) | {f"IMPRINT_{name}": text for name, text in given.items()}
    result = await asyncio.to_thread(run, environ, "check", *options)
    lines = [line.split() for line in result.output.splitlines()]
    return result.exit_code, {line[1]: line[0] for line in lines}


async def test_a_good_installation_passes_every_check(world: World):
    both = {
        "WEBHOOK_A_SECRET": WEBHOOK_SECRET,
        "WEBHOOK_B_SECRET": WEBHOOK_SECRET[::-1],
        "WEBHOOK_NETWORKS": "my-network",
    }
    assert await check(world, **both) == (0, dict.fromkeys(SUBJECTS, "✓"))


async def test_a_warning_does_not_fail_the_command(world: World):
    status, marks = await check(world)
    assert (status, marks["webhooks"]) == (0, "!")


async def test_a_chain_without_a_known_name_is_a_warning(world: World):
    status, marks = await check(world, WEBHOOK_A_SECRET=WEBHOOK_SECRET)
    assert (status, marks["webhooks"]) == (0, "!")
    status, marks = await check(
        world, WEBHOOK_A_SECRET=WEBHOOK_SECRET, WEBHOOK_NETWORKS="my-network"
    )
    assert (status, marks["webhooks"]) == (0, "✓")


async def test_neither_webhooks_nor_a_follower_fails_the_command(world: World):
    status, marks = await check(world, CHAIN_FOLLOW_SECONDS="0")
    assert (status, marks["webhooks"]) == (1, "✗")


@pytest.mark.parametrize(
    ("name", "text", "subject"),
    [("CHAIN_ID", "1", "node"), ("MARKETPLACE_ADDRESS", "0x" + "11" * 20, "contract")],
)
async def test_a_chain_other_than_the_configured_one_fails_the_command(
    world: World, name: str, text: str, subject: str
):
    status, marks = await check(world, **{name: text})
    assert (status, marks[subject]) == (1, "✗")


async def test_a_clock_behind_the_newest_block_fails_the_command(world: World):
    world.clock.advance(60)
    world.create_post(world.wallet(1), "a cid")
    status, marks = await check(world)
    assert (status, marks["clock"]) == (1, "✗")


async def test_an_old_newest_block_is_a_warning(tmp_path):
    an_hour_ago = MovableClock(datetime.now(UTC) - timedelta(hours=1))
    async with open_world(tmp_path, clock=an_hour_ago) as world:
        status, marks = await check(world)
    assert (status, marks["clock"]) == (0, "!")


def test_a_node_that_is_down_fails_the_command_and_leaves_the_clock_unchecked(tmp_path):
    result = run(environment_of(tmp_path), "check")
    assert result.exit_code == 1
    assert "✗ node       No node responds at IMPRINT_CHAIN_RPC_URL." in result.output
    assert "! clock      Not compared" in result.output


@pytest.mark.parametrize("final", ["behind", "replaced"])
async def test_a_node_without_what_was_final_fails_the_command(world: World, final: str):
    number = {"behind": 10**6, "replaced": 0}[final]
    step = Advance(final=BlockRef(number, "0x" + "e" * 64))
    await world.adapters.catalog.advance(31337, step, world.clock.now())
    status, marks = await check(world)
    assert (status, marks["node"]) == (1, "✗")


async def test_a_damaged_record_fails_the_command(world: World):
    await world.create(world.wallet(1))
    assert (await check(world))[1]["records"] == "✓"
    spoil(world, "UPDATE files SET size = size + 1")
    status, marks = await check(world)
    assert (status, marks["records"]) == (1, "✗")


async def test_a_damaged_index_fails_the_command(world: World):
    await world.create(world.wallet(1))
    drop = "DELETE FROM sqlite_schema WHERE name = 'files_posts'"
    spoil(world, f"PRAGMA writable_schema = ON; {drop}")
    status, marks = await check(world)
    assert (status, marks["records"]) == (1, "✗")


async def test_only_a_deep_check_reads_documents(world: World):
    file = await world.create(world.wallet(1))
    await world.adapters.content.remove(Cid(file["cid"]), Network.PRIVATE)
    assert (await check(world))[1]["records"] == "✓"
    status, marks = await check(world, "--deep")
    assert (status, marks["records"]) == (1, "✗")


def spoil(world: World, statements: str) -> None:
    """Change the catalog as damage does, without its triggers."""
    path = world.settings.storage.data_dir / "imprint.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DROP TRIGGER IF EXISTS files_without_checksum")
        connection.executescript(statements)
