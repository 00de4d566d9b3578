"""Content migrations are complete, resumable, and read every document back."""

from dataclasses import replace

import pytest
from tests.services.installation.test_exports import fill
from tests.services.installations import files_of, ignore
from tests.world import World

from imprint.adapters.archives.migration_progress import open_progress
from imprint.adapters.content.embedded import EmbeddedStore
from imprint.domain.drafts.files import Network
from imprint.domain.errors import Unavailable
from imprint.services.installation.content_migration import ContentMigration, NotMigrated
from imprint.services.installation.exports import DocumentMissing


@pytest.fixture
async def target(world, tmp_path):
    store = EmbeddedStore(tmp_path / "other", world.clock)
    yield store
    await store.close()


@pytest.fixture
def migration(world: World, target, tmp_path):
    with open_progress(tmp_path / "moved.db") as migrated:
        yield ContentMigration(
            world.adapters.stores.archives,
            world.adapters.stores.files,
            world.adapters.stores.garbage,
            world.adapters.stores.leases,
            world.adapters.content,
            target,
            world.clock,
            migrated,
        )


class Watched:
    """A store that records the documents stored in it, and can be made to fail."""

    def __init__(self, store, breaks_after: int | None = None) -> None:
        self.store, self.breaks_after = store, breaks_after
        self.stored = []

    async def put(self, cid, document, network, label=None, fence=0):
        if len(self.stored) == self.breaks_after:
            raise Unavailable.storage()
        self.stored.append((cid, network, label))
        await self.store.put(cid, document, network, label)

    async def read(self, cid, network):
        return await self.store.read(cid, network)


async def test_every_document_is_copied(world, target, migration):
    await fill(world)
    reported = []
    result = await migration.run(lambda done, total: reported.append((done, total)))
    assert result.copied == result.documents
    assert reported[0] == (0, result.documents)
    assert reported[-1] == (result.documents, result.documents)
    for each in await files_of(world):
        file = each.file
        there = await target.read(file.cid, Network.PRIVATE)
        assert there == await world.adapters.content.read(file.cid, Network.PRIVATE)
        if file.thumbnail_cid is not None:
            assert await target.read(file.thumbnail_cid, Network.PUBLIC) is not None
            assert await target.read(file.thumbnail_cid, Network.PRIVATE) is None


async def test_versions_that_an_event_may_restore_are_copied_too(world, target, migration):
    alice = world.wallet(1)
    old = await world.create(alice)
    await world.update(alice, old["cid"], "New.")
    await migration.run(ignore)
    assert await target.read(old["cid"], Network.PRIVATE) is not None


async def test_a_second_run_copies_only_new_documents(world, target, migration):
    alice = world.wallet(1)
    await fill(world)
    first = await migration.run(ignore)
    fresh = await world.create(alice)
    thumbnail = await world.publish(alice, fresh["cid"])
    watched = Watched(target)
    second = await replace(migration, target=watched).run(ignore)
    assert {(cid, network) for cid, network, _ in watched.stored} == {
        (fresh["cid"], Network.PRIVATE),
        (thumbnail, Network.PUBLIC),
    }
    assert (second.copied, second.documents) == (2, first.documents + 2)
    assert (await migration.run(ignore)).copied == 0


async def test_an_interrupted_run_continues_where_it_stopped(world, target, migration, tmp_path):
    alice = world.wallet(1)
    for number in range(20):
        await world.create(alice, f"Number {number}.")
    broken = Watched(target, breaks_after=11)
    with pytest.raises(Unavailable):
        await replace(migration, target=broken).run(ignore)
    watched = Watched(target)
    result = await replace(migration, target=watched).run(ignore)
    assert result.documents == 20
    assert 20 - 11 <= len(watched.stored) < 20


async def test_the_label_of_a_document_is_copied_to_the_target(world, target, migration):
    alice = world.wallet(1)
    file = await world.create(alice)
    watched = Watched(target)
    await replace(migration, target=watched).run(ignore)
    ((_, _, label),) = watched.stored
    assert (label.name, label.owner, label.status) == (file["name"], alice.address, "pending")


async def test_a_document_that_cannot_be_read_back_is_reported(world, migration):
    class Forgetful:
        async def put(self, cid, document, network, label=None, fence=0):
            pass

        async def read(self, cid, network):
            return None

    file = await world.create(world.wallet(1))
    with pytest.raises(NotMigrated, match=file["cid"]):
        await replace(migration, target=Forgetful()).run(ignore)
    assert (await migration.run(ignore)).copied == 1


async def test_a_missing_document_is_reported(world, migration):
    file = await world.create(world.wallet(1))
    await world.adapters.content.remove(file["cid"], Network.PRIVATE)
    with pytest.raises(DocumentMissing, match=file["cid"]):
        await migration.run(ignore)


async def test_unencrypted_documents_are_not_copied_to_a_public_store(world, target, migration):
    file = await world.create(world.wallet(1))
    with pytest.raises(NotMigrated, match="not encrypted"):
        await replace(migration, publicly_readable=True).run(ignore)
    assert await target.read(file["cid"], Network.PRIVATE) is None
