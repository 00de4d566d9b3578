"""Many writers at once: one effect for each nonce, one winner for each draft."""

import asyncio
import multiprocessing
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from imprint.adapters.catalog.sqlite import open_catalog
from imprint.domain.addresses import Address
from imprint.domain.cids import Cid
from imprint.domain.files import Action, File, Intent, Network, Version, Write
from imprint.domain.paging import OwnDrafts, PublicList
from imprint.domain.posts import EventStatus
from imprint.domain.refusals import NonceUsed, Unavailable

AT = datetime(2026, 1, 1, tzinfo=UTC)


async def test_of_fifty_updates_of_one_draft_one_wins(world):
    file = await world.draft()
    results = await asyncio.gather(*(world.update(file) for _ in range(50)))
    winners = [result for result in results if result is not None]
    assert len(winners) == 1
    assert await world.pages(OwnDrafts(world.alice)) == winners


async def test_of_updates_discards_and_dressings_each_is_whole(world):
    file = await world.draft()
    await asyncio.gather(
        *(world.update(file) for _ in range(5)),
        *(world.discard(file) for _ in range(5)),
        *(world.dress(file, "a") for _ in range(5)),
    )
    drafts = await world.pages(OwnDrafts(world.alice))
    assert len(drafts) <= 1
    assert await world.pages(PublicList(("a",), True)) == [d for d in drafts if d.hashtags]


async def test_one_nonce_sent_fifty_times_has_one_effect_that_the_others_are_told(world):
    prepared = []
    for _ in range(50):
        write, version = world.write(Action.CREATE, nonce="n"), world.version()
        prepared.append((write, await world.begin(write, version), version))
    results = await asyncio.gather(
        *(world.catalog.add_draft(*each) for each in prepared), return_exceptions=True
    )
    made = [result for result in results if isinstance(result, File)]
    refused = [result for result in results if isinstance(result, NonceUsed)]
    assert (len(made), len(refused)) == (1, 49)
    assert {refusal.file for refusal in refused} == set(made)


async def test_one_event_from_two_sides_at_once_is_applied_once(world):
    event = world.event(await world.draft())
    statuses = await asyncio.gather(*(world.see(event) for _ in range(10)))
    assert Counter(status for each in statuses for status in each) == {
        EventStatus.ONCHAIN: 1,
        EventStatus.ALREADY_ONCHAIN: 9,
    }


async def test_two_catalogs_on_one_database_see_each_other(world, open_another):
    other = open_another()
    file = await world.draft()
    assert await other.file_by_cid(file.cid) == file


async def test_a_caller_who_stops_waiting_breaks_nothing(world):
    write, version = world.write(Action.CREATE, nonce="n"), world.version()
    intent = await world.begin(write, version)
    task = asyncio.ensure_future(world.catalog.add_draft(write, intent, version))
    await asyncio.sleep(0)
    task.cancel()
    await world.catalog.probe()
    file = await world.catalog.file_by_cid(version.cid)
    if file is None:
        await world.catalog.check_nonce(world.alice, "n")
    else:
        with pytest.raises(NonceUsed):
            await world.catalog.check_nonce(world.alice, "n")


async def _send(catalog, process: int, number: int) -> int:
    owner = Address("0x" + "0" * 40)
    write = Write(owner, Action.CREATE, f"nonce-{number}", AT)
    unique = number * 10 + process
    version = Version(f"f{unique}", f"g{unique}", owner, unique, Cid(f"bafy{unique}"), 1, AT)
    intent = Intent(
        f"i{unique}", write, version.cid, Network.PRIVATE, AT + timedelta(hours=1), None
    )
    try:
        await catalog.begin_write(intent)
        await catalog.add_draft(write, intent, version)
    except NonceUsed:
        return 0
    return 1


async def _send_all(path: Path, process: int) -> int:
    catalog = open_catalog(path)
    try:
        return sum(await asyncio.gather(*(_send(catalog, process, n) for n in range(200))))
    finally:
        await catalog.close()


def _run_process(path: Path, process: int, results: "multiprocessing.Queue[int]") -> None:
    results.put(asyncio.run(_send_all(path, process)))


async def test_the_same_200_nonces_from_two_processes_have_200_effects(tmp_path):
    spawn = multiprocessing.get_context("spawn")
    results = spawn.Queue()
    path = tmp_path / "catalog.db"
    others = [
        spawn.Process(target=_run_process, args=(path, process, results)) for process in (1, 2)
    ]
    for process in others:
        process.start()
    effects = [await asyncio.to_thread(results.get, True, 60) for _ in others]
    for process in others:
        await asyncio.to_thread(process.join)
    assert sum(effects) == 200
    catalog = open_catalog(path)
    owner = Address("0x" + "0" * 40)
    assert len(await catalog.list_files(OwnDrafts(owner), None, 1000)) == 200
    await catalog.close()


async def test_two_catalogs_that_write_at_once_both_get_through(world, open_another):
    other = open_another()
    files = await asyncio.gather(*(world.draft() for _ in range(20)))
    settled = await asyncio.gather(
        *(world.see(world.event(file)) for file in files),
        *(other.settle(None, [world.event(file)], [], AT) for file in files),
        return_exceptions=True,
    )
    assert not [result for result in settled if isinstance(result, Unavailable)]
    assert len(await world.pages(PublicList())) == 20
