"""Many concurrent writers: each nonce takes effect once, and one update per draft wins."""

import asyncio
from collections import Counter
from datetime import UTC, datetime

import pytest

from imprint.domain.drafts.files import Action, File
from imprint.domain.errors import NonceUsed, Unavailable
from imprint.domain.posts.indexed_posts import OwnDrafts, PublicList
from imprint.domain.posts.posts import EventStatus

AT = datetime(2026, 1, 1, tzinfo=UTC)


async def test_only_one_of_fifty_updates_to_a_draft_wins(world):
    file = await world.draft()
    results = await asyncio.gather(*(world.update(file) for _ in range(50)))
    winners = [result for result in results if result is not None]
    assert len(winners) == 1
    assert await world.pages(OwnDrafts(world.alice)) == winners


async def test_concurrent_updates_deletions_and_preparations_are_atomic(world):
    file = await world.draft()
    await asyncio.gather(
        *(world.update(file) for _ in range(5)),
        *(world.delete(file) for _ in range(5)),
        *(world.prepare(file, "a") for _ in range(5)),
    )
    drafts = await world.pages(OwnDrafts(world.alice))
    assert len(drafts) <= 1
    assert await world.pages(PublicList(("a",), True)) == [d for d in drafts if d.hashtags]


async def test_one_of_fifty_writes_with_one_nonce_succeeds_and_others_get_its_file(world):
    prepared = []
    for _ in range(50):
        write, version = world.write(Action.CREATE, nonce="n"), world.version()
        prepared.append((write, await world.begin(write, version), version))
    results = await asyncio.gather(
        *(world.stores.drafts.add_draft(*each) for each in prepared), return_exceptions=True
    )
    made = [result for result in results if isinstance(result, File)]
    refused = [result for result in results if isinstance(result, NonceUsed)]
    assert (len(made), len(refused)) == (1, 49)
    assert {refusal.file for refusal in refused} == set(made)


async def test_an_event_applied_concurrently_takes_effect_once(world):
    event = world.event(await world.draft())
    statuses = await asyncio.gather(*(world.see(event) for _ in range(10)))
    assert Counter(status for each in statuses for status in each) == {
        EventStatus.ONCHAIN: 1,
        EventStatus.ALREADY_ONCHAIN: 9,
    }


async def test_a_catalog_sees_commits_of_another_catalog_on_the_same_database(world, open_another):
    other = open_another()
    file = await world.draft()
    assert await other.files.file_by_cid(file.cid) == file


async def test_a_cancelled_write_takes_effect_completely_or_not_at_all(world, open_another):
    write, version = world.write(Action.CREATE, nonce="n"), world.version()
    intent = await world.begin(write, version)
    task = asyncio.ensure_future(world.stores.drafts.add_draft(write, intent, version))
    await asyncio.sleep(0)
    task.cancel()
    await world.stores.close()
    again = open_another()
    file = await again.files.file_by_cid(version.cid)
    if file is None:
        await again.writing_sessions.check_nonce(world.alice, "n")
    else:
        with pytest.raises(NonceUsed):
            await again.writing_sessions.check_nonce(world.alice, "n")


async def test_two_catalogs_can_write_concurrently(world, open_another):
    other = open_another()
    files = await asyncio.gather(*(world.draft() for _ in range(20)))
    applied = await asyncio.gather(
        *(world.see(world.event(file)) for file in files),
        *(other.events.apply_events(None, [world.event(file)], [], AT) for file in files),
        return_exceptions=True,
    )
    assert not [result for result in applied if isinstance(result, Unavailable)]
    assert len(await world.pages(PublicList())) == 20
