"""`imprint events`."""

import asyncio

from tests.cli.installations import environment_beside, run
from tests.world import World


async def events_of(world: World) -> str:
    environ = environment_beside(world) | {"COLUMNS": "200"}
    result = await asyncio.to_thread(run, environ, "events")
    assert result.exit_code == 0, result.output
    return result.output


async def test_without_events_there_are_only_counts(world: World):
    printed = await events_of(world)
    assert "Events" in printed
    assert "Without a file here" not in printed


async def test_an_event_by_another_author_is_listed(world: World):
    draft = await world.create(world.wallet(1))
    await world.deliver_a(world.create_post(world.wallet(2), draft["cid"]))
    printed = await events_of(world)
    assert "Published by somebody who is not the owner" in printed
    assert draft["cid"] in printed


async def test_a_cid_from_the_chain_is_escaped_and_never_markup(world: World):
    await world.deliver_a(world.create_post(world.wallet(1), "[red]\x1b[2Jcid"))
    printed = await events_of(world)
    assert "[red]\\x1b[2Jcid" in printed
    assert "\x1b" not in printed
