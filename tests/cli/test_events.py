"""Tests of `imprint events`."""

import asyncio
import json

from tests.cli.installations import environment_beside, run
from tests.world import World


async def events_of(world: World) -> str:
    environ = environment_beside(world) | {"COLUMNS": "200"}
    result = await asyncio.to_thread(run, environ, "events")
    assert result.exit_code == 0, result.output
    return result.output


async def test_only_counts_are_printed_if_there_are_no_events(world: World):
    printed = await events_of(world)
    assert "Events" in printed
    assert "Documents that are not stored here" not in printed


async def test_an_event_by_another_author_is_listed(world: World):
    draft = await world.create(world.wallet(1))
    await world.deliver_a(world.create_post(world.wallet(2), draft["cid"]))
    printed = await events_of(world)
    assert "Published by somebody who is not the owner" in printed
    assert draft["cid"] in printed


async def test_a_cid_from_the_chain_is_escaped_and_not_interpreted_as_markup(world: World):
    await world.deliver_a(world.create_post(world.wallet(1), "[red]\x1b[2Jcid"))
    printed = await events_of(world)
    assert "[red]\\x1b[2Jcid" in printed
    assert "\x1b" not in printed


async def test_events_are_printed_as_json(world: World):
    draft = await world.create(world.wallet(1))
    await world.deliver_a(world.create_post(world.wallet(2), draft["cid"]))
    result = await asyncio.to_thread(run, environment_beside(world), "events", "--json")
    report = json.loads(result.stdout)
    assert report["counts"]["author_mismatch"] == 1
    [event] = report["mismatches"]
    assert (event["post_id"], event["cid"]) == ("1", draft["cid"])
    assert event["author"] == world.wallet(2).address.lower()
    assert (report["unknown"], report["dead_letters"]) == ([], [])


async def test_the_json_output_contains_a_dead_letter_with_its_payload(world: World):
    body = world.body_a(world.create_post(world.wallet(1), "no cid"))[:-1]
    await world.send_a(body)
    result = await asyncio.to_thread(run, environment_beside(world), "events", "--json")
    [letter] = json.loads(result.stdout)["dead_letters"]
    assert letter["payload"] == body.decode()
    assert letter["reason"]
