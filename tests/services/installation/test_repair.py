"""A repair stores documents so that a collector about to remove them leaves them alone."""

from datetime import timedelta

from tests.services.installations import ignore
from tests.world import World

from imprint.domain.drafts.files import Network
from imprint.domain.formats.cids import Cid
from imprint.services.installation.repair import Repair, RepairReport


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
    report = RepairReport()
    saved = [(thumbnail, Network.PUBLIC, document)]
    await Repair(
        stores.database,
        stores.records,
        stores.archives,
        stores.files,
        stores.garbage,
        content,
        lambda wanted: saved,
        report,
    ).restore_documents(ignore)
    assert report.documents_from_backup == 1
    assert report.found == [f"The picture {thumbnail} is missing or damaged."]
    await content.remove(thumbnail, Network.PUBLIC, condemned.fence)
    assert await content.read(thumbnail, Network.PUBLIC) == document
