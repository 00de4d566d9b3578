"""Detached documents are kept for a while, marked for deletion when unused, and then purged."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from tests.adapters.stores.conftest import World
from tests.adapters.stores.databases import Database

from imprint.adapters.database.transaction import Transaction, micros
from imprint.adapters.stores.drafts.garbage import COMPARE_USAGE
from imprint.domain.drafts.files import Action, Network
from imprint.domain.errors import NonceUsed, Unavailable
from imprint.domain.formats.cids import Cid
from imprint.ports.drafts import Condemned, PurgeOutcome

PICTURE = Cid("bafypicture")


async def test_documents_of_live_files_are_never_marked_for_deletion(world):
    await world.prepare(await world.draft(), "a")
    await world.post("b")
    world.later(days=400)
    assert await world.condemn(grace_hours=0) == set()


@pytest.mark.parametrize("end", ["update", "delete"])
async def test_a_removed_version_is_marked_for_deletion_after_the_grace_period(world, end):
    file = await world.draft()
    await getattr(world, end)(file)
    world.later(hours=24)
    assert await world.condemn() == set()
    world.later(microseconds=1)
    assert await world.condemn() == {(file.cid, "private")}


async def test_the_thumbnail_of_a_deleted_file_is_also_marked_for_deletion(world):
    file = await world.prepare(await world.draft(), thumbnail=PICTURE)
    await world.delete(file)
    world.later(hours=25)
    assert await world.condemn() == {(file.cid, "private"), (PICTURE, "public")}


async def test_a_replaced_thumbnail_is_marked_for_deletion(world):
    file = await world.prepare(await world.draft(), thumbnail=PICTURE)
    await world.prepare(file)
    world.later(hours=25)
    assert await world.condemn() == {(PICTURE, "public")}


async def test_setting_the_same_thumbnail_again_does_not_detach_it(world):
    file = await world.prepare(await world.draft(), thumbnail=PICTURE)
    await world.prepare(file, thumbnail=PICTURE)
    world.later(hours=25)
    assert await world.condemn() == set()
    assert await world.stores.files.public_size(PICTURE) is not None


async def test_a_thumbnail_used_by_another_group_is_not_marked_for_deletion(world):
    mine = await world.prepare(await world.draft(), thumbnail=PICTURE)
    theirs = await world.prepare(await world.draft(world.bob), thumbnail=PICTURE)
    await world.delete(mine)
    world.later(hours=25)
    assert (PICTURE, "public") not in await world.condemn()
    assert await world.stores.files.public_size(PICTURE) is not None
    await world.delete(theirs)
    world.later(hours=25)
    assert (PICTURE, "public") in await world.condemn()


async def test_the_same_cid_on_the_other_network_is_a_separate_document(world):
    file = await world.draft()
    other = await world.draft()
    await world.prepare(other, thumbnail=file.cid)
    await world.delete(other)
    world.later(hours=25)
    assert (file.cid, "public") in await world.condemn()
    assert await world.live(file.cid) == file


async def test_a_document_marked_for_deletion_is_listed_until_it_is_purged(world):
    file = await world.draft()
    await world.delete(file)
    world.later(hours=25)
    assert await world.condemn() == await world.condemn() == {(file.cid, "private")}
    await world.purge(file.cid, Network.PRIVATE)
    assert await world.condemn() == set()


async def test_each_round_marks_up_to_its_limit_and_later_rounds_mark_the_rest(world):
    files = [await world.draft() for _ in range(5)]
    for file in files:
        await world.delete(file)
    world.later(hours=25)
    seen = set()
    for _ in range(3):
        some = await world.condemn(limit=2)
        assert len(some) <= 2
        seen |= some
        for cid, network in some:
            await world.purge(cid, Network(network))
    assert seen == {(file.cid, "private") for file in files}


async def test_the_document_of_an_expired_intent_is_marked_for_deletion(world):
    write, version = world.write(Action.CREATE), world.version()
    await world.begin(write, version)
    world.later(minutes=10)
    assert await world.condemn() == set()
    world.later(microseconds=1)
    assert await world.condemn() == {(version.cid, "private")}


async def test_an_expired_intent_does_not_mark_a_document_in_use_for_deletion(world):
    file = await world.prepare(await world.draft(), thumbnail=PICTURE)
    await world.begin_thumbnail(world.write(Action.PUBLISH, world.bob), PICTURE)
    world.later(hours=1)
    assert await world.condemn() == set()
    assert (await world.live(file.cid)).thumbnail_cid == PICTURE


async def test_an_expired_intent_does_not_shorten_the_grace_period(world):
    file = await world.prepare(await world.draft(), thumbnail=PICTURE)
    await world.delete(file)
    await world.begin_thumbnail(world.write(Action.PUBLISH, world.bob), PICTURE)
    world.later(hours=1)
    assert await world.condemn() == set()
    await world.see(world.event(file))
    assert (await world.live(file.cid)).thumbnail_cid == PICTURE


async def test_the_document_of_an_unexpired_intent_is_kept(world):
    file = await world.prepare(await world.draft(), thumbnail=PICTURE)
    await world.delete(file)
    world.later(hours=25)
    other = await world.draft(world.bob)
    write = world.write(Action.PUBLISH, world.bob)
    intent = await world.begin_thumbnail(write, PICTURE)
    assert await world.condemn() == {(file.cid, "private")}
    assert await world.stores.drafts.prepare_draft(write, intent, other.cid, []) is not None
    world.later(hours=25)
    assert (PICTURE, "public") not in await world.condemn()


async def condemned_picture(world):
    """A draft, and a picture marked for deletion because no draft uses it anymore."""
    file = await world.prepare(await world.draft(), thumbnail=PICTURE)
    file = await world.prepare(file)
    world.later(hours=25)
    assert await world.condemn() == {(PICTURE, "public")}
    return file


async def test_a_write_rescues_a_document_marked_for_deletion(world):
    file = await condemned_picture(world)
    write = world.write(Action.PUBLISH)
    intent = await world.begin_thumbnail(write, PICTURE)
    assert await world.condemn() == set()
    assert await world.purge(PICTURE, Network.PUBLIC) is PurgeOutcome.PENDING
    await world.stores.drafts.prepare_draft(write, intent, file.cid, [])
    assert await world.purge(PICTURE, Network.PUBLIC) is PurgeOutcome.USED
    assert await world.stores.files.public_size(PICTURE) is not None


async def test_a_rescued_document_is_marked_again_if_the_write_is_never_finished(world):
    await condemned_picture(world)
    before = world.fences[PICTURE, Network.PUBLIC]
    await world.begin_thumbnail(world.write(Action.PUBLISH), PICTURE)
    world.later(hours=1)
    assert (PICTURE, "public") in await world.condemn()
    assert world.fences[PICTURE, Network.PUBLIC] > before


async def test_a_purge_with_a_stale_fence_is_ignored(world):
    await condemned_picture(world)
    stale = world.fences[PICTURE, Network.PUBLIC]
    await world.begin_thumbnail(world.write(Action.PUBLISH), PICTURE)
    world.later(hours=1)
    await world.condemn()
    assert await world.stores.garbage.purge(PICTURE, Network.PUBLIC, stale) is PurgeOutcome.PASSED
    assert (PICTURE, "public") in await world.condemn()
    assert await world.purge(PICTURE, Network.PUBLIC) is PurgeOutcome.PURGED
    assert await world.purge(PICTURE, Network.PUBLIC) is PurgeOutcome.PASSED


async def test_a_document_stays_marked_for_deletion_until_a_write_rescues_it(world):
    await condemned_picture(world)
    mine = Condemned(PICTURE, Network.PUBLIC, world.fences[PICTURE, Network.PUBLIC])
    assert await world.stores.garbage.is_condemned(mine)
    assert not await world.stores.garbage.is_condemned(replace(mine, fence=mine.fence + 1))
    await world.begin_thumbnail(world.write(Action.PUBLISH), PICTURE)
    assert not await world.stores.garbage.is_condemned(mine)


async def test_the_fence_is_raised_only_when_documents_are_marked_for_deletion(world):
    file = await world.draft()
    seen = [await world.stores.garbage.fence()]
    await world.condemn()
    seen.append(await world.stores.garbage.fence())
    await world.delete(file)
    world.later(hours=25)
    await world.condemn()
    seen.append(await world.stores.garbage.fence())
    await world.condemn()
    seen.append(await world.stores.garbage.fence())
    first, idle, raised, listed = seen
    assert (idle, raised, listed) == (first, first + 1, first + 1)
    assert world.fences[file.cid, Network.PRIVATE] == raised


async def test_usage_is_released_when_another_write_rescues_a_marked_document(world, database):
    await condemned_picture(world)
    await world.begin_thumbnail(world.write(Action.PUBLISH, world.bob), PICTURE)
    assert await database.rows(COMPARE_USAGE) == []


async def condemn_as_before(world, cid):
    """Mark a document for deletion as a process of an earlier release does."""

    async def unfence(tx):
        await tx.execute("UPDATE detached SET fence = 0 WHERE cid = :cid", cid=cid)

    await world.stores.database.transact((), unfence)


async def test_a_write_is_refused_while_an_earlier_release_destroys_its_document(world):
    await condemned_picture(world)
    await condemn_as_before(world, PICTURE)
    intent = world.intent(world.write(Action.PUBLISH), PICTURE, Network.PUBLIC)
    with pytest.raises(Unavailable) as refused:
        await world.stores.drafts.begin_write(intent)
    assert refused.value.code == "storage_unavailable"
    assert await world.condemn() == {(PICTURE, "public")}
    assert world.fences[PICTURE, Network.PUBLIC] == await world.stores.garbage.fence()
    assert await world.stores.drafts.begin_write(intent) is None


async def test_a_round_continues_after_the_last_document_it_handled(world):
    for _ in range(3):
        await world.delete(await world.draft())
        world.later(seconds=1)
    world.later(hours=25)
    before = world.now - timedelta(hours=24)
    first = await world.stores.garbage.condemn_documents(world.now, before, 2)
    rest = await world.stores.garbage.condemn_documents(world.now, before, 2, first[-1])
    assert [len(first), len(rest)] == [2, 1]
    assert not {each.cid for each in first} & {each.cid for each in rest}
    assert await world.stores.garbage.condemn_documents(world.now, before, 2, rest[-1]) == []
    assert await world.stores.garbage.condemn_documents(world.now, before, 2) == first


async def test_a_report_lists_documents_to_be_marked_and_changes_nothing(world):
    gone, live = await world.draft(), await world.prepare(await world.draft(), thumbnail=PICTURE)
    await world.delete(gone)
    version = world.version()
    await world.begin(world.write(Action.CREATE), version)
    await world.stores.garbage.detach_strays([world.cid()], Network.PRIVATE, world.now)
    before = world.now - timedelta(hours=24)
    report = await world.stores.garbage.report_garbage(world.now, before, 10)
    assert (report.due, report.waiting, report.first) == (0, 2, ())
    world.later(hours=25)
    before = world.now - timedelta(hours=24)
    report = await world.stores.garbage.report_garbage(world.now, before, 10)
    assert (report.due, report.due_bytes, report.waiting) == (3, gone.size + version.size, 0)
    assert len(report.first) == 3
    assert {(cid, network.value) for cid, network in report.first} == await world.condemn()
    assert await world.stores.garbage.report_garbage(world.now, before, 10) == report
    assert await world.live(live.cid) == live


async def test_a_report_leaves_out_documents_that_are_in_use_again(world):
    file = await world.prepare(await world.draft(), thumbnail=PICTURE)
    await world.prepare(await world.draft(world.bob), thumbnail=PICTURE)
    await world.prepare(file)
    world.later(hours=25)
    await world.begin_thumbnail(world.write(Action.PUBLISH), PICTURE)
    assert (await world.stores.garbage.report_garbage(world.now, world.now, 10)).due == 0


async def test_a_slow_write_with_a_destroyed_thumbnail_is_refused(world):
    file = await world.prepare(await world.draft(), thumbnail=PICTURE)
    write = world.write(Action.PUBLISH, world.bob)
    intent = await world.begin_thumbnail(write, PICTURE)
    other = await world.draft(world.bob)
    await world.prepare(file)
    world.later(hours=25)
    assert (PICTURE, "public") in await world.condemn(limit=1)
    await world.purge(PICTURE, Network.PUBLIC)
    with pytest.raises(Unavailable):
        await world.stores.drafts.prepare_draft(write, intent, other.cid, [])


async def test_a_slow_write_is_refused_even_if_its_intent_was_not_collected_yet(world):
    held = await world.prepare(await world.draft())
    for _ in range(2):
        await world.begin_thumbnail(world.write(Action.PUBLISH), held.thumbnail_cid)
    world.later(minutes=1)
    file = await world.prepare(await world.draft(), thumbnail=PICTURE)
    write = world.write(Action.PUBLISH, world.bob)
    intent = await world.begin_thumbnail(write, PICTURE)
    other = await world.draft(world.bob)
    await world.prepare(file)
    world.later(hours=25)
    assert await world.condemn(limit=2) == {(PICTURE, "public")}
    await world.purge(PICTURE, Network.PUBLIC)
    with pytest.raises(Unavailable):
        await world.stores.drafts.prepare_draft(write, intent, other.cid, [])


async def test_a_restored_version_is_not_marked_for_deletion(world):
    file = await world.prepare(await world.draft(), "a")
    await world.delete(file)
    await world.see(world.event(file))
    world.later(hours=25)
    assert await world.condemn() == set()


async def test_a_file_restored_after_its_thumbnail_was_destroyed_has_no_thumbnail(world):
    earlier = Cid("aaaa")
    file = await world.prepare(await world.draft(), thumbnail=earlier)
    await world.delete(file)
    world.later(hours=25)
    assert await world.condemn(limit=1) == {(earlier, "public")}
    await world.see(world.event(file))
    assert (await world.live(file.cid)).thumbnail_cid is None
    assert await world.stores.files.public_size(earlier) is None


async def test_nonces_outlive_their_documents(world):
    file = await world.draft(nonce="n")
    await world.delete(file, nonce="d")
    world.later(hours=25)
    await world.condemn()
    await world.purge(file.cid, Network.PRIVATE)
    for nonce in ("n", "d"):
        with pytest.raises(NonceUsed) as refused:
            await world.stores.writing_sessions.check_nonce(world.alice, nonce)
        assert refused.value.file is None


async def test_purging_an_unmarked_document_changes_nothing(world):
    file = await world.draft()
    await world.delete(file)
    await world.purge(file.cid, Network.PRIVATE)
    world.later(hours=25)
    assert await world.condemn() == {(file.cid, "private")}


async def test_a_document_without_any_record_is_detached_once(world):
    stray = world.cid()
    assert await world.stores.garbage.detach_strays([stray], Network.PRIVATE, world.now) == 1
    assert await world.stores.garbage.detach_strays([stray], Network.PRIVATE, world.now) == 0
    assert await world.condemn() == set()
    world.later(hours=25)
    assert await world.condemn() == {(stray, "private")}


async def test_versions_thumbnails_and_intents_are_not_strays(world):
    file = await world.draft()
    gone = await world.draft()
    await world.stores.drafts.delete_draft(world.write(Action.DELETE), gone.cid)
    thumbnail, coming = world.cid(), world.cid()
    publish = world.write(Action.PUBLISH)
    intent = await world.begin_thumbnail(publish, thumbnail)
    await world.stores.drafts.prepare_draft(publish, intent, file.cid, ())
    await world.begin_thumbnail(world.write(Action.PUBLISH), coming)
    known = [file.cid, gone.cid, thumbnail, coming]
    for network in Network:
        assert await world.stores.garbage.detach_strays(known, network, world.now) == 0


async def test_strays_are_found_until_they_are_detached(world):
    file, stray = await world.draft(), world.cid()
    for network in Network:
        assert await world.stores.garbage.find_strays([file.cid, stray], network) == [stray]
    await world.stores.garbage.detach_strays([stray], Network.PRIVATE, world.now)
    assert await world.stores.garbage.find_strays([file.cid, stray], Network.PRIVATE) == []


async def test_a_clock_ahead_of_the_server_does_not_shorten_the_grace_period(world, kind):
    """SQLite has no server clock and marks the document early, but never a live one."""
    world.now = datetime.now(UTC) - timedelta(hours=1)
    live, file = await world.draft(), await world.draft()
    await world.delete(file)
    world.later(days=30)
    condemned = await world.condemn()
    assert condemned == (set() if kind == "postgresql" else {(file.cid, "private")})
    world.now = datetime.now(UTC)
    assert await world.condemn(grace_hours=0.5) == {(file.cid, "private")}
    assert await world.live(live.cid) == live


ADD_ENDED = """
INSERT INTO ended_sessions (subject, generation, expires_at) VALUES (:name, 1, :expires_at)"""
ADD_WRITING = """
INSERT INTO writing_sessions (id, wallet, public_key, actions, not_before, expires_at, created_at)
VALUES (:name, 'wallet', :key, 'create', 1, :expires_at, 1)"""


async def add_sessions(tx: Transaction, now: datetime) -> None:
    for name, expires_at in (("expired", micros(now) - 1), ("valid", micros(now))):
        await tx.execute(ADD_ENDED, name=name, expires_at=expires_at)
        await tx.execute(ADD_WRITING, name=name, expires_at=expires_at, key=b"\x04")


async def test_expired_sessions_are_removed(world: World, database: Database):
    await world.stores.database.transact((), add_sessions, world.now)
    await world.stores.garbage.prune_replays(world.now)
    assert await database.rows("SELECT subject FROM ended_sessions") == [("valid",)]
    assert await database.rows("SELECT id FROM writing_sessions") == [("valid",)]
