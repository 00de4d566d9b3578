"""Quotas: which data counts towards a signer's usage, and which writes are refused."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from dataclasses import replace

import hypothesis
import pytest
from hypothesis import strategies as st
from tests.adapters.stores import rivals
from tests.adapters.stores.databases import open_any
from tests.hypothesis_settings import SHARED_FIXTURE

from imprint.adapters.stores.drafts.garbage import COMPARE_USAGE
from imprint.adapters.stores.files import COUNT_USAGE
from imprint.domain.drafts.files import Action, File, Network, Quota, State
from imprint.domain.errors import Code, NonceUsed, Refusal
from imprint.domain.exports import ExportedFile
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.posts.indexed_posts import OwnDrafts
from imprint.domain.posts.posts import Advance, EventStatus

PICTURE = Cid("picture")


@pytest.fixture
def used(world, database):
    """Return the usage of a signer in bytes and drafts."""

    async def read(owner=world.alice):
        rows = await database.rows(
            "SELECT used_bytes, drafts - (SELECT coalesce(sum(drafts), 0) FROM detached d"
            f" WHERE d.owner = owners.owner) FROM owners WHERE owner = '{owner}'"
        )
        assert await database.rows(COMPARE_USAGE) == []
        return rows[0] if rows else (0, 0)

    return read


async def destroy_all(world):
    """Run the garbage collector after the grace period."""
    world.later(hours=25)
    for cid, network in await world.condemn():
        await world.purge(cid, Network(network))


def over_quota():
    return pytest.raises(Refusal, match="have reached their quota")


async def test_the_bytes_of_a_draft_count_towards_usage(world, used):
    file = await world.draft()
    assert await used() == (file.size, 1)
    assert await used(world.bob) == (0, 0)


async def test_a_replaced_version_counts_towards_usage_until_it_is_destroyed(world, used):
    old = await world.draft()
    new = await world.update(old)
    assert await used() == (old.size + new.size, 1)
    await destroy_all(world)
    assert await used() == (new.size, 1)


async def test_a_deleted_draft_counts_towards_usage_until_it_is_destroyed(world, used):
    file = await world.prepare(await world.draft())
    await world.delete(file)
    assert await used() == (file.size + 10, 0)
    world.later(hours=25)
    condemned = await world.condemn()
    assert await used() == (file.size + 10, 0)
    for cid, network in condemned:
        await world.purge(cid, Network(network))
    assert await used() == (0, 0)


async def test_a_thumbnail_counts_towards_usage_with_its_draft(world, used):
    file = await world.draft()
    write = world.write(Action.PUBLISH)
    intent = await world.begin_thumbnail(write, PICTURE, size=70)
    assert await used() == (file.size + 70, 1)
    await world.stores.drafts.prepare_draft(write, intent, file.cid, ())
    assert await used() == (file.size + 70, 1)


async def test_a_replaced_thumbnail_counts_towards_usage_until_it_is_destroyed(world, used):
    file = await world.draft()
    await world.prepare(file, thumbnail=PICTURE)
    await world.prepare(file)
    assert await used() == (file.size + 20, 1)
    await destroy_all(world)
    assert await used() == (file.size + 10, 1)


async def test_a_thumbnail_that_is_set_repeatedly_counts_towards_usage_once(world, used):
    file = await world.draft()
    for _ in range(3):
        await world.prepare(file, thumbnail=PICTURE)
        assert await used() == (file.size + 10, 1)


async def test_a_restored_thumbnail_counts_towards_usage_once(world, used):
    file = await world.draft()
    for thumbnail in (PICTURE, Cid("other"), PICTURE):
        await world.prepare(file, thumbnail=thumbnail)
    assert await used() == (file.size + 20, 1)


async def test_a_shared_picture_counts_towards_the_usage_of_the_last_owner_to_delete_it(
    world, used
):
    mine = await world.prepare(await world.draft(), thumbnail=PICTURE)
    theirs = await world.prepare(await world.draft(world.bob), thumbnail=PICTURE)
    await world.delete(mine)
    assert await used() == (mine.size + 10, 0)
    await world.delete(theirs)
    assert await used() == (mine.size, 0)
    assert await used(world.bob) == (theirs.size + 10, 0)
    await destroy_all(world)
    assert await used() == await used(world.bob) == (0, 0)


async def test_a_shared_picture_counts_towards_the_usage_of_the_owner_who_still_uses_it(
    world, used
):
    mine = await world.prepare(await world.draft(), thumbnail=PICTURE)
    theirs = await world.prepare(await world.draft(world.bob), thumbnail=PICTURE)
    await world.delete(mine)
    await destroy_all(world)
    assert await used() == (0, 0)
    assert await used(world.bob) == (theirs.size + 10, 1)


async def test_a_post_does_not_count_towards_usage_until_a_reorg_makes_it_a_draft_again(
    world, used
):
    file = await world.prepare(await world.draft())
    event = world.event(file)
    await world.see(event)
    assert await used() == (0, 0)
    await world.stores.events.advance(31337, Advance(lost=(event.place,)), world.now)
    assert await used() == (file.size + 10, 1)


async def test_a_draft_published_before_it_was_added_does_not_count_towards_usage(world, used):
    version = world.version()
    await world.see(world.event(version))
    write = world.write(Action.CREATE)
    file = await world.stores.drafts.add_draft(write, await world.begin(write, version), version)
    assert file.state is State.ONCHAIN
    assert await used() == (0, 0)


@pytest.mark.parametrize("end", ["update", "delete"])
async def test_a_restored_version_does_not_count_towards_usage_until_its_event_is_lost(
    world, used, end
):
    file = await world.prepare(await world.draft())
    new = await getattr(world, end)(file)
    event = world.event(file)
    await world.see(event)
    newer = (new.size + 10, 1) if end == "update" else (0, 0)
    assert await used() == newer
    await world.stores.events.advance(31337, Advance(lost=(event.place,)), world.now)
    assert await used() == (newer[0] + file.size + 10, newer[1] + 1)
    await destroy_all(world)
    assert await used() == (newer[0] + file.size + 10, newer[1] + 1)


async def test_an_unfinished_write_counts_towards_usage_until_its_document_is_destroyed(
    world, used
):
    version = world.version()
    await world.begin(world.write(Action.CREATE), version)
    assert await used() == (version.size, 1)
    world.later(minutes=11)
    await world.condemn()
    assert await used() == (version.size, 0)
    await world.purge(version.cid, Network.PRIVATE)
    assert await used() == (0, 0)


async def test_an_expired_write_with_a_picture_in_use_no_longer_counts_towards_usage(world, used):
    await world.prepare(await world.draft(), thumbnail=PICTURE)
    for _ in range(2):
        await world.begin_thumbnail(world.write(Action.PUBLISH, world.bob), PICTURE)
    assert await used(world.bob) == (20, 0)
    world.later(hours=1)
    await world.condemn()
    assert await used(world.bob) == (0, 0)


async def test_an_import_counts_towards_usage_but_is_never_refused(world, used):
    document = (Cid("c"), 90, world.now)
    draft = File("f", "g", world.alice, f"{world.alice}_5", *document, State.PENDING, 0)
    draft = replace(draft, thumbnail_cid=PICTURE)
    await world.stores.archives.import_file(ExportedFile(draft), 7)
    assert await used() == (97, 1)
    await world.see(world.event(draft))
    assert await used() == (0, 0)


async def test_an_imported_document_that_was_detached_counts_towards_usage_once(world, used):
    version = world.version()
    await world.begin(world.write(Action.CREATE), version)
    world.later(minutes=11)
    await world.stores.garbage.condemn_documents(world.now, world.now.replace(year=1960), 5)
    assert await used() == (version.size, 0)
    document = (version.cid, version.size, world.now)
    draft = File("f", "g", world.alice, version.name, *document, State.PENDING, 0)
    await world.stores.archives.import_file(ExportedFile(draft))
    assert await used() == (version.size, 1)


async def test_a_document_above_the_quota_is_refused_and_nothing_is_stored(world, used, database):
    file = await world.draft()
    version, write = world.version(), world.write(Action.CREATE, nonce="kept")
    world.quota = Quota(bytes=file.size + version.size - 1)
    with over_quota() as refused:
        await world.begin(write, version)
    assert refused.value.code == "quota_exceeded"
    assert await used() == (file.size, 1)
    assert await database.rows("SELECT count(*) FROM intents") == [(0,)]
    await world.stores.writing_sessions.check_nonce(world.alice, "kept")
    world.quota = Quota(bytes=file.size + version.size)
    await world.stores.drafts.add_draft(write, await world.begin(write, version), version)
    with pytest.raises(NonceUsed):
        await world.stores.writing_sessions.check_nonce(world.alice, "kept")


async def test_even_the_first_document_of_a_signer_is_refused_if_it_is_above_the_quota(world, used):
    world.quota = Quota(bytes=10)
    with over_quota():
        await world.draft()
    assert await used() == (0, 0)


async def test_a_quota_applies_to_each_signer_separately(world):
    world.quota = Quota(drafts=1)
    await world.draft()
    await world.draft(world.bob)
    with over_quota():
        await world.draft()


async def test_a_write_refused_for_its_quota_reserves_no_number(world):
    world.quota = Quota(drafts=1)
    await world.draft()
    refused = world.version()
    with over_quota():
        await world.begin(world.write(Action.CREATE), refused)
    world.quota = Quota()
    intent = world.intent(world.write(Action.CREATE), refused.cid, number=refused.number)
    assert await world.stores.drafts.begin_write(intent) is None


async def test_a_taken_number_does_not_bypass_the_quota(world, used):
    file = await world.draft()
    world.quota = Quota(drafts=1)
    write = world.write(Action.CREATE)
    for number in (1, None):
        intent = world.intent(write, world.cid(), number=number)
        with over_quota():
            await world.stores.drafts.begin_write(intent, world.quota)
    assert await used() == (file.size, 1)


async def test_a_signer_at_the_draft_limit_can_still_update_prepare_and_delete(world, used):
    drafts = [await world.draft() for _ in range(3)]
    world.quota = Quota(drafts=2)
    with over_quota():
        await world.draft()
    updated = await world.update(drafts[0])
    assert await world.prepare(updated, "a")
    for draft in (updated, drafts[1]):
        await world.delete(draft)
    await world.draft()
    assert (await used())[1] == 2


async def test_bytes_of_a_deleted_draft_are_freed_only_when_it_is_destroyed(world):
    file = await world.draft()
    world.quota = Quota(bytes=file.size + 5)
    await world.delete(file)
    with over_quota():
        await world.draft()
    await destroy_all(world)
    world.quota = Quota(bytes=200)
    await world.draft()


async def test_concurrent_writes_never_exceed_a_quota(world, open_another, used):
    worlds = [replace(world, stores=open_another(), quota=Quota(drafts=7)) for _ in range(3)]
    attempts = [each.draft() for each in worlds for _ in range(6)]
    done = await asyncio.gather(*attempts, return_exceptions=True)
    kept = [each for each in done if isinstance(each, File)]
    refused = [each for each in done if isinstance(each, Refusal)]
    assert (len(kept), len(refused)) == (7, 11)
    assert await used() == (sum(file.size for file in kept), 7)


async def test_several_processes_together_never_exceed_a_quota(database):
    await open_any(database.address).close()
    command = [sys.executable, rivals.__file__, database.address]
    others = [
        await asyncio.create_subprocess_exec(*command, str(n), "150", "13", stdout=PIPE)
        for n in range(4)
    ]
    for other in others:
        await other.communicate()
        assert other.returncode == 0
    counted = await database.rows("SELECT used_bytes, drafts FROM owners")
    assert counted == [(13, 13)] * len(rivals.OWNERS)
    assert await database.rows(COMPARE_USAGE) == []


async def test_a_recount_corrects_only_incorrect_usage(world, used, database):
    mine, theirs = await world.draft(), await world.draft(world.bob)
    await world.stores.database.transact((), spoil, world.alice)
    assert await world.stores.garbage.recount_usage() == 1
    assert await used() == (mine.size, 1)
    assert await used(world.bob) == (theirs.size, 1)
    assert await world.stores.garbage.recount_usage() == 0


async def spoil(tx, owner):
    await tx.execute(COUNT_USAGE, owner=owner, bytes=-1000, drafts=5)


async def test_deleting_drafts_frees_the_draft_quota_immediately(world, used):
    world.quota = Quota(drafts=3)
    for _ in range(3):
        files = [await world.draft() for _ in range(3)]
        with over_quota():
            await world.draft()
        assert (await used())[1] == 3
        for file in files:
            await world.delete(file)
        assert (await used())[1] == 0


async def test_a_destroyed_draft_no_longer_counts_towards_usage(world, used):
    world.quota = Quota(drafts=1)
    await world.delete(await world.draft())
    await destroy_all(world)
    assert await used() == (0, 0)
    await world.draft()
    with over_quota():
        await world.draft()


async def test_a_deleted_draft_that_an_event_publishes_no_longer_counts_towards_usage(world, used):
    file = await world.draft()
    await world.delete(file)
    assert await world.see(world.event(file)) == [EventStatus.ONCHAIN]
    assert await used() == (0, 0)


STEPS = st.lists(
    st.lists(st.sampled_from(["create", "update", "delete"]), min_size=1, max_size=6), max_size=6
)


@hypothesis.settings(SHARED_FIXTURE, max_examples=15)
@hypothesis.given(steps=STEPS)
async def test_a_quota_is_exact_under_concurrent_writes(world, open_another, steps):
    """Run the writes of a step concurrently through two catalogs, as in two processes."""
    owner = Address(f"0x{world.number():040x}")
    worlds = [world, replace(world, stores=open_another())]
    most = 3

    async def write(action, number, known):
        each = worlds[number % 2]
        each.quota = Quota(drafts=most)
        if action == "create":
            return await each.draft(owner)
        if not known:
            return None
        file = known[number % len(known)]
        return await (each.update(file) if action == "update" else each.delete(file))

    for step in steps:
        known = await world.pages(OwnDrafts(owner))
        creates, deletes = step.count("create"), step.count("delete")
        results = await asyncio.gather(
            *(write(action, number, known) for number, action in enumerate(step)),
            return_exceptions=True,
        )
        made = sum(
            action == "create" and isinstance(result, File)
            for action, result in zip(step, results, strict=True)
        )
        refused = [result for result in results if isinstance(result, BaseException)]
        assert all(isinstance(each, Refusal) for each in refused)
        assert {each.code for each in refused if isinstance(each, Refusal)} <= {Code.QUOTA_EXCEEDED}
        # There was room for this many even without the concurrent deletions.
        assert made >= min(creates, most - len(known))
        assert made <= min(creates, most - len(known) + min(deletes, len(known)))
        assert len(await world.pages(OwnDrafts(owner))) <= most
        assert await world.stores.garbage.recount_usage() == 0
