"""Tests of `imprint reconcile`."""

import asyncio

from tests.cli.installations import environment_beside, files_in, run
from tests.world import World

from imprint.domain.drafts.files import State


async def test_posts_not_reported_by_a_webhook_are_found_on_the_chain(world: World):
    alice = world.wallet(1)
    draft = await world.create(alice, "A draft.")
    block = world.create_post(alice, draft["cid"])
    environ = environment_beside(world)
    result = await asyncio.to_thread(run, environ, "reconcile", "--from-block", "0")
    assert result.exit_code == 0, result.output
    assert f"matches the chain from block 0 to {block.number}." in result.output
    (file,) = await asyncio.to_thread(files_in, world.settings.storage.data_dir)
    assert file.state is State.ONCHAIN


async def test_the_post_index_is_rebuilt(world: World):
    alice = world.wallet(1)
    draft = await world.create(alice, "A draft.")
    block = world.create_post(alice, draft["cid"])
    environ = environment_beside(world)
    for _ in range(2):
        result = await asyncio.to_thread(run, environ, "reconcile", "--from-block", "0")
        assert result.exit_code == 0, result.output
        assert f"The index of posts is rebuilt up to block {block.number}." in result.output
    state = await world.adapters.stores.index_writer.index_state()
    assert state is not None
    assert (state.block and state.block.number, state.complete) == (block.number, True)


async def test_a_node_on_another_chain_is_refused(world: World):
    environ = environment_beside(world) | {"IMPRINT_CHAIN_ID": "5"}
    result = await asyncio.to_thread(run, environ, "reconcile", "--from-block", "0")
    assert (result.exit_code, "chain 5 is configured" in result.output) == (2, True)


async def test_an_unreachable_node_is_reported_as_the_reason(world: World):
    environ = environment_beside(world)
    await world.node.stop()
    result = await asyncio.to_thread(run, environ, "reconcile", "--from-block", "0")
    assert isinstance(result.exception, SystemExit)
    assert result.exit_code in (1, 2)
    assert result.stderr.strip()
