"""A repair stores documents so that a collector about to remove them leaves them alone."""

from datetime import timedelta

from tests.revisions import published_post, revise
from tests.services.installations import ignore
from tests.world import World

from imprint.domain.drafts.files import Network
from imprint.domain.formats.cids import Cid
from imprint.services.installation.repair import Repair, RepairReport


async def repair(world: World, saved: list[tuple[Cid, Network, bytes]]) -> RepairReport:
    """Restore documents from a backup that contains the given ones."""
    stores, report = world.adapters.stores, RepairReport()
    await Repair(
        stores.database,
        stores.records,
        stores.archives,
        stores.files,
        stores.revisions,
        stores.garbage,
        world.adapters.content,
        lambda wanted: [each for each in saved if each[:2] in wanted],
        report,
    ).restore_documents(ignore)
    return report


async def test_a_document_restored_from_a_backup_survives_an_older_removal(world: World) -> None:
    stores, content = world.adapters.stores, world.adapters.content
    author = world.wallet(1)
    gone = await world.create(author, "Gone.")
    await world.send_delete(author, gone["cid"])
    world.clock.advance(25 * 3600)
    now = world.clock()
    (condemned,) = await stores.garbage.condemn_documents(now, now - timedelta(hours=24), 10)
    draft = await world.create(author, "With a picture.")
    thumbnail = Cid(await world.publish(author, draft["cid"]))
    document = await content.read(thumbnail, Network.PUBLIC)
    assert document is not None
    await content.remove(thumbnail, Network.PUBLIC)
    report = await repair(world, [(thumbnail, Network.PUBLIC, document)])
    assert report.documents_from_backup == 1
    assert report.found == [f"The picture {thumbnail} is missing or damaged."]
    await content.remove(thumbnail, Network.PUBLIC, condemned.fence)
    assert await content.read(thumbnail, Network.PUBLIC) == document


async def test_the_document_of_a_revision_is_restored_from_a_backup(world: World) -> None:
    content, author = world.adapters.content, world.wallet(1)
    post = post_id, _ = await published_post(world, author)
    cid = Cid((await revise(world, author, post, "A better text."))["cid"])
    document = await content.read(cid, Network.PRIVATE)
    assert document is not None
    await content.remove(cid, Network.PRIVATE)
    lost = await repair(world, [])
    assert lost.lost == [f"The document {cid} of {author.address}."]
    report = await repair(world, [(cid, Network.PRIVATE, document)])
    assert (report.documents_from_backup, report.lost) == (1, [])
    shown = (await world.client.get(f"/posts/{post_id}/content")).json()
    assert shown["content"] == "A better text."
