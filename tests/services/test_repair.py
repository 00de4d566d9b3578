"""A repair stores documents so that a collector which is about to remove them spares them."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from tests.services.installations import ignore
from tests.world import World

from imprint.adapters.encryption import PlainCipher
from imprint.domain.cids import Cid
from imprint.domain.files import Network
from imprint.services.repair import Repair, RepairReport


@dataclass
class Saved:
    """A backup with these documents."""

    kept: dict[tuple[Cid, Network], bytes] = field(default_factory=dict)
    name: str = "saved"
    made_at: str = "2026-01-01T00:00:00Z"

    def catalog(self) -> Path:
        raise NotImplementedError

    def documents(
        self, wanted: Collection[tuple[Cid, Network]]
    ) -> Iterator[tuple[Cid, Network, bytes]]:
        for (cid, network), document in self.kept.items():
            if (cid, network) in wanted:
                yield cid, network, document


async def test_a_document_from_a_backup_survives_an_older_removal(world: World) -> None:
    catalog, content = world.adapters.catalog, world.adapters.content
    author = world.wallet(1)
    gone = await world.create(author, "Gone.")
    await world.send_delete(author, gone["cid"])
    world.clock.advance(25 * 3600)
    now = world.clock()
    (condemned,) = await catalog.condemn_documents(now, now - timedelta(hours=24), 10)
    draft = await world.create(author, "With a picture.")
    thumbnail = Cid(await world.publish(author, draft["cid"]))
    document = await content.read(thumbnail, Network.PUBLIC)
    assert document is not None
    await content.remove(thumbnail, Network.PUBLIC)
    saved = Saved({(thumbnail, Network.PUBLIC): document})
    report = RepairReport()
    repair = Repair(content, None, PlainCipher(), world.clock, [saved], report)
    await repair.restore_documents(catalog, ignore)
    assert report.documents_from_backups == 1
    await content.remove(thumbnail, Network.PUBLIC, condemned.fence)
    assert await content.read(thumbnail, Network.PUBLIC) == document
