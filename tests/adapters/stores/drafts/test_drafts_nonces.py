"""Nonces of writes and logins, intents, and file numbers."""

import asyncio
from dataclasses import replace

import pytest

from imprint.adapters.stores.drafts.drafts import SqlDraftStore
from imprint.domain.drafts.files import Action, File, Quota
from imprint.domain.errors import Code, NonceUsed, RateLimited, Refusal, Unavailable
from imprint.domain.formats.cids import Cid
from imprint.domain.rate_limits import Rate
from imprint.ports.drafts import NO_QUOTA


async def file_of_spent(world, nonce):
    with pytest.raises(NonceUsed) as refused:
        await world.stores.writing_sessions.check_nonce(world.alice, nonce)
    return refused.value.file


async def test_an_unused_nonce_is_accepted(world):
    await world.stores.writing_sessions.check_nonce(world.alice, "fresh")


async def test_the_refusal_of_a_spent_nonce_names_the_file_it_created(world):
    file = await world.draft(nonce="n")
    assert await file_of_spent(world, "n") == file


async def test_add_draft_refuses_a_spent_nonce_even_after_begin_write(world):
    first = await world.draft(nonce="n")
    write, version = world.write(Action.CREATE, nonce="n"), world.version()
    intent = await world.begin(write, version)
    with pytest.raises(NonceUsed) as refused:
        await world.stores.drafts.add_draft(write, intent, version)
    assert refused.value.file == first
    assert await world.stores.files.file_by_cid(version.cid) is None


@pytest.mark.parametrize("change", ["update", "prepare", "delete"])
async def test_every_change_refuses_a_spent_nonce_and_does_nothing(world, change):
    file = await world.draft()
    fresh = world.write(Action.UPDATE)
    version = world.version(group_id=file.group_id)
    intent = await world.begin(fresh, version)
    await world.draft(nonce="n")
    spent = world.write(Action.UPDATE, nonce="n")
    attempt = {
        "update": world.stores.drafts.replace_draft(spent, intent, file.cid, version),
        "prepare": world.stores.drafts.prepare_draft(spent, intent, file.cid, ["tag"]),
        "delete": world.stores.drafts.delete_draft(spent, file.cid),
    }
    with pytest.raises(NonceUsed):
        await attempt.pop(change)
    for other in attempt.values():
        other.close()
    assert await world.live(file.cid) == file


async def test_every_change_spends_its_nonce(world):
    file = await world.draft()
    new = await world.update(file, nonce="update")
    prepared = await world.prepare(new, "art", nonce="prepare")
    assert await file_of_spent(world, "update") == prepared
    assert await file_of_spent(world, "prepare") == prepared
    await world.delete(prepared, nonce="delete")
    assert await file_of_spent(world, "delete") is None


async def test_a_spent_nonce_names_no_file_after_the_file_it_created_is_replaced(world):
    file = await world.draft(nonce="n")
    await world.update(file)
    assert await file_of_spent(world, "n") is None


async def test_a_deletion_nonce_names_no_file_even_after_a_restore(world):
    file = await world.draft()
    await world.delete(file, nonce="n")
    await world.see(world.event(file))
    assert await world.live(file.cid)
    assert await file_of_spent(world, "n") is None


async def test_a_write_without_effect_does_not_spend_its_nonce(world):
    file = await world.draft()
    await world.update(file)
    assert await world.update(file, nonce="n") is None
    assert await world.prepare(file, nonce="n") is None
    assert await world.delete(file, nonce="n") is None
    assert (await world.draft(nonce="n")).owner == world.alice


async def test_a_nonce_is_specific_to_its_signer(world):
    await world.draft(world.alice, nonce="n")
    assert (await world.draft(world.bob, nonce="n")).owner == world.bob


@pytest.mark.parametrize(
    "nonce", ["\0", "a\0b", "\\x00", "\ud800", "\\ud800", "\n", "ü", "\\", "x" * 200, "' OR 1=1"]
)
async def test_any_text_can_be_a_nonce(world, nonce):
    file = await world.draft(nonce=nonce)
    assert await file_of_spent(world, nonce) == file


async def test_similar_nonces_are_distinct(world):
    composed, decomposed = "\u00fc", "u\u0308"
    texts = ["\0", "\\x00", "\\\\x00", "\ufffd", "?", "\ud800", "\ud801", "\\ud800", "a", "A"]
    for nonce in [*texts, composed, decomposed]:
        await world.draft(nonce=nonce)


async def test_a_login_nonce_is_spent_once_per_address(world):
    spend = world.stores.sessions.spend_login_nonce
    assert await spend(world.alice, "n", world.now) is not None
    assert await spend(world.alice, "n", world.later(days=400)) is None
    assert await spend(world.bob, "n", world.now) is not None


async def test_logins_and_writes_have_separate_nonces(world):
    assert await world.stores.sessions.spend_login_nonce(world.alice, "n", world.now) is not None
    assert (await world.draft(nonce="n")).owner == world.alice


async def test_begin_write_reserves_the_next_free_number_if_the_given_one_is_taken(world):
    write = world.write(Action.CREATE)
    begin = world.stores.drafts.begin_write
    assert await begin(world.intent(write, world.cid(), number=7)) is None
    assert await begin(world.intent(write, world.cid(), number=7)) == 8
    assert await begin(world.intent(write, world.cid(), number=3)) == 9
    assert await begin(world.intent(write, world.cid(), number=9)) == 10
    assert await begin(world.intent(write, world.cid(), number=11)) is None


async def test_file_numbers_of_different_owners_are_independent(world):
    begin = world.stores.drafts.begin_write
    await begin(world.intent(world.write(Action.CREATE, world.alice), world.cid(), number=7))
    other = world.write(Action.CREATE, world.bob)
    assert await begin(world.intent(other, world.cid(), number=1)) is None


async def test_an_intent_with_a_taken_number_is_not_stored(world):
    write = world.write(Action.CREATE)
    await world.stores.drafts.begin_write(world.intent(write, world.cid(), number=7))
    refused = world.intent(write, world.cid(), number=7)
    await world.stores.drafts.begin_write(refused)
    version = world.version()
    with pytest.raises(Unavailable):
        await world.stores.drafts.add_draft(write, refused, version)


async def test_a_slow_write_succeeds_until_its_intent_is_collected(world):
    write, version = world.write(Action.CREATE), world.version()
    intent = await world.begin(write, version)
    world.later(hours=1)
    assert (await world.stores.drafts.add_draft(write, intent, version)).cid == version.cid


@pytest.mark.parametrize("purged", [False, True])
async def test_a_refused_write_of_a_document_marked_for_deletion_spends_no_nonce(world, purged):
    write, version = world.write(Action.CREATE, nonce="n"), world.version()
    intent = await world.begin(write, version)
    world.later(hours=1)
    assert await world.condemn() == {(version.cid, "private")}
    if purged:
        await world.purge(version.cid, intent.network)
    with pytest.raises(Unavailable) as refused:
        await world.stores.drafts.add_draft(write, intent, version)
    assert refused.value.code == "storage_unavailable"
    await world.stores.writing_sessions.check_nonce(world.alice, "n")


async def test_only_one_of_two_concurrent_writes_with_the_same_nonce_takes_effect(
    world, open_another
):
    other = replace(world, stores=open_another())
    for number in range(6):
        drafts = [await world.draft() for _ in range(3)]
        nonce = f"shared-{number}"
        results = await asyncio.gather(
            world.draft(nonce=nonce),
            other.draft(nonce=nonce),
            world.update(drafts[0], nonce),
            other.delete(drafts[1], nonce),
            other.prepare(drafts[2], "tag", nonce=nonce),
            return_exceptions=True,
        )
        assert sum(isinstance(result, File) for result in results) == 1
        assert sum(isinstance(result, NonceUsed) for result in results) == 4
        assert await world.stores.garbage.recount_usage() == 0


async def test_open_write_returns_the_live_file_with_the_given_cid(world):
    file = await world.draft()
    write = world.write(Action.UPDATE)
    assert await world.stores.drafts.open_write(write, None, "key") is None
    assert await world.stores.drafts.open_write(write, None, "key", file.cid) == file
    assert await world.stores.drafts.open_write(write, Rate(5, 60), "key", file.cid) == file
    assert await world.stores.drafts.open_write(write, None, "key", Cid("bafynobody")) is None
    await world.delete(file)
    assert await world.stores.drafts.open_write(write, None, "key", file.cid) is None


async def test_a_write_with_a_spent_nonce_cannot_be_opened(world):
    file = await world.draft(nonce="n")
    write = world.write(Action.UPDATE, nonce="n")
    for rate in (None, Rate(5, 60)):
        with pytest.raises(NonceUsed) as refused:
            await world.stores.drafts.open_write(write, rate, "key", file.cid)
        assert refused.value.file == file


class OvertakenFiles:
    """A file store in which the first attempt of a write commits just before a file is read."""

    def __init__(self, world, draft: File) -> None:
        self.world, self.draft = world, draft

    async def file_by_cid(self, cid: Cid) -> File | None:
        await self.world.update(self.draft, nonce="n")
        return await self.world.stores.files.file_by_cid(cid)


async def test_a_repeated_write_is_refused_if_the_first_attempt_commits_just_before_the_read(world):
    file = await world.draft()
    stores, files = world.stores, OvertakenFiles(world, file)
    drafts = SqlDraftStore(stores.database, files, stores.rate_limits)
    with pytest.raises(NonceUsed) as refused:
        await drafts.open_write(world.write(Action.UPDATE, nonce="n"), None, "key", file.cid)
    assert refused.value.file is not None


async def test_the_rate_limit_is_checked_before_the_nonce(world):
    await world.draft(nonce="n")
    write = world.write(Action.UPDATE, nonce="n")
    rate = Rate(2, 60)
    for expected in (NonceUsed, NonceUsed, RateLimited):
        with pytest.raises(expected):
            await world.stores.drafts.open_write(write, rate, "key")
    assert await world.stores.drafts.open_write(world.write(Action.CREATE), rate, "other") is None


def create_of(world, nonce: str | None = None):
    """Return the write, the version and the intent of a draft created by Alice."""
    write, version = world.write(Action.CREATE, nonce=nonce), world.version()
    return (
        write,
        version,
        world.intent(write, version.cid, number=version.number, size=version.size),
    )


@pytest.mark.parametrize("rate", [None, Rate(5, 60)], ids=str)
async def test_open_create_opens_and_begins_a_write_in_one_step(world, rate):
    write, version, intent = create_of(world)
    assert await world.stores.drafts.open_create(write, rate, "key", intent, NO_QUOTA) is None
    file = await world.stores.drafts.add_draft(write, intent, version)
    assert await world.stores.files.file_by_cid(version.cid) == file
    assert await world.stores.garbage.recount_usage() == 0


@pytest.mark.parametrize("rate", [None, Rate(5, 60)], ids=str)
async def test_open_create_with_a_spent_nonce_begins_no_write(world, rate):
    file = await world.draft(nonce="n")
    write, _, intent = create_of(world, "n")
    with pytest.raises(NonceUsed) as refused:
        await world.stores.drafts.open_create(write, rate, "key", intent, NO_QUOTA)
    assert refused.value.file == file
    assert await world.stores.garbage.recount_usage() == 0


async def test_open_create_above_the_rate_limit_begins_no_write(world):
    rate = Rate(2, 60)
    for _ in range(2):
        write, _, intent = create_of(world)
        assert await world.stores.drafts.open_create(write, rate, "key", intent, NO_QUOTA) is None
    write, _, intent = create_of(world)
    with pytest.raises(RateLimited):
        await world.stores.drafts.open_create(write, rate, "key", intent, NO_QUOTA)
    # The refused write was not recorded, so it can begin later.
    assert await world.stores.drafts.begin_write(intent) is None


async def test_open_create_above_the_quota_is_refused_but_counts_towards_the_rate(world):
    rate, quota = Rate(1, 60), Quota(bytes=1, drafts=0)
    write, _, intent = create_of(world)
    with pytest.raises(Refusal) as refused:
        await world.stores.drafts.open_create(write, rate, "key", intent, quota)
    assert refused.value.code is Code.QUOTA_EXCEEDED
    with pytest.raises(RateLimited):
        await world.stores.drafts.open_create(write, rate, "key", intent, NO_QUOTA)


async def test_open_create_with_a_taken_number_gets_the_next_one(world):
    first, _, begun = create_of(world)
    assert await world.stores.drafts.open_create(first, None, "key", begun, NO_QUOTA) is None
    write, version = world.write(Action.CREATE), world.version()
    intent = world.intent(write, version.cid, number=begun.number, size=version.size)
    reserved = await world.stores.drafts.open_create(write, None, "key", intent, NO_QUOTA)
    assert reserved == begun.number + 1
