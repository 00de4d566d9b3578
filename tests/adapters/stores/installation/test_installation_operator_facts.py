"""Operational data from the database: backups, deliveries, dead letters, and versions."""

from datetime import timedelta

from tests.adapters.stores.conftest import World

from imprint.adapters.database.schema import known_migrations
from imprint.domain.posts.posts import DeadLetter, DeliveryKey, EventStatus


async def test_no_backup_is_reported_before_the_first_one(world: World) -> None:
    assert await world.stores.operator_facts.last_backup() is None


async def test_the_time_of_the_last_backup_is_remembered(world: World) -> None:
    operations = world.stores.operator_facts
    await operations.note_backup(world.now)
    await operations.note_backup(world.later(hours=1))
    assert await operations.last_backup() == world.now


async def test_a_renamed_copy_of_an_installation_has_no_recorded_backup(
    world: World,
) -> None:
    operations = world.stores.operator_facts
    await operations.note_backup(world.now)
    await world.stores.installation.rename_installation("another")
    assert await operations.last_backup() is None


async def test_the_last_delivery_of_each_provider_is_found(world: World) -> None:
    first = world.now
    await world.stores.events.apply_events(DeliveryKey("provider-a", "1", "n1"), (), (), first)
    await world.stores.events.apply_events(
        DeliveryKey("provider-a", "2", "n2"), (), (), first + timedelta(seconds=9)
    )
    found = await world.stores.operator_facts.last_deliveries(["provider-a", "provider-b"])
    assert found == {"provider-a": first + timedelta(seconds=9), "provider-b": None}


async def test_dead_letters_are_listed_newest_first_and_counted_up_to_a_limit(
    world: World,
) -> None:
    for number in range(4):
        letter = DeadLetter(None, f"reason {number}", f"payload {number}")
        await world.stores.events.apply_events(
            DeliveryKey("provider-a", str(number), f"n{number}"),
            (),
            (letter,),
            world.later(seconds=1),
        )
    found = await world.stores.operator_facts.events_to_examine(2, 3)
    assert [each.reason for each in found.dead_letters] == ["reason 3", "reason 2"]
    assert found.counts[EventStatus.DEAD_LETTER] == 3
    assert found.counts[EventStatus.AUTHOR_MISMATCH] == 0


async def test_the_database_reports_its_version_and_schema(world: World) -> None:
    facts = await world.stores.operator_facts.database()
    assert facts.version[0].isdigit()
    assert facts.schema == known_migrations()[-1].number
