"""A service starts only on the document store of its own installation."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.stores import open_sqlite_stores
from tests.world import World, open_world

from imprint.adapters.content.embedded import EmbeddedStore
from imprint.bootstrap.stores import Stores
from imprint.domain.drafts.files import Network
from imprint.domain.errors import CannotStart, StoreMisconfigured, Unavailable
from imprint.domain.formats.cids import document_cid
from imprint.ports import utc_now
from imprint.services.content import store_claim as installation
from imprint.services.content.store_claim import InstallationClaim

DOCUMENT = b"somebody's words"


class Places:
    """Catalogs and content folders, by name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.opened: list[InstallationClaim] = []
        self.stores: list[Stores] = []

    def claim(self, catalog: str, content: str) -> InstallationClaim:
        store = EmbeddedStore(self.folder / content, utc_now)
        records = open_sqlite_stores(self.folder / f"{catalog}.db")
        self.stores.append(records)
        self.opened.append(InstallationClaim(records.installation, records.archives, store, store))
        return self.opened[-1]


class RefusingStore:
    """A store that refuses everything."""

    def __init__(self, refusal: Unavailable) -> None:
        self._refusal = refusal

    async def claimed_by(self, installation: str) -> str | None:
        raise self._refusal

    async def close(self) -> None:
        """Do nothing, because nothing is open."""


@pytest.fixture
async def places(tmp_path: Path) -> AsyncIterator[Places]:
    made = Places(tmp_path)
    yield made
    for claim in made.opened:
        await claim.content.close()
    for stores in made.stores:
        await stores.close()


async def test_a_new_catalog_claims_an_empty_store(places: Places) -> None:
    claim = places.claim("catalog", "content")
    await claim.verify()
    assert await claim.holder() == claim.identity.id
    assert places.claim("catalog", "content").identity.claimed
    await places.claim("catalog", "content").verify()


async def test_a_misconfigured_store_is_refused_with_a_reason(places: Places) -> None:
    claim = places.claim("catalog", "content")
    sentence = "The bucket s3://bucket does not exist."
    claim.content = RefusingStore(StoreMisconfigured(sentence))  # type: ignore[assignment]
    with pytest.raises(CannotStart, match=sentence):
        await claim.verify()
    claim.content = RefusingStore(Unavailable.storage())  # type: ignore[assignment]
    with pytest.raises(Unavailable):
        await claim.verify()
    assert not claim.identity.claimed


async def test_the_store_of_another_installation_is_refused(places: Places) -> None:
    first, second = places.claim("first", "content"), places.claim("second", "content")
    await first.verify()
    with pytest.raises(CannotStart, match=r"belongs to the installation .*`imprint adopt`") as said:
        await second.verify()
    assert first.identity.id in str(said.value)
    assert second.identity.id in str(said.value)
    assert not second.identity.claimed
    await first.verify()


async def test_one_of_two_catalogs_that_claim_a_store_concurrently_is_refused(
    places: Places,
) -> None:
    claims = [places.claim(name, "content") for name in ("first", "second") * 3]
    outcomes = await asyncio.gather(*(each.verify() for each in claims), return_exceptions=True)
    refused = [claim for claim, outcome in zip(claims, outcomes, strict=True) if outcome]
    assert [type(each) for each in outcomes if each] == [CannotStart] * 3
    assert len({each.identity.id for each in refused}) == 1


async def test_workers_that_start_simultaneously_all_accept_the_claim(places: Places) -> None:
    claims = [places.claim("catalog", "content") for _ in range(4)]
    await asyncio.gather(*(each.verify() for each in claims))


async def test_a_store_that_lost_its_marker_is_refused(places: Places) -> None:
    await places.claim("catalog", "content").verify()
    (places.folder / "content" / "installation").unlink()
    with pytest.raises(CannotStart, match="not mounted"):
        await places.claim("catalog", "content").verify()
    with pytest.raises(CannotStart, match="not mounted"):
        await places.claim("catalog", "another").verify()


async def test_a_store_with_documents_unknown_to_the_catalog_is_refused(places: Places) -> None:
    claim = places.claim("catalog", "content")
    await claim.content.put(document_cid(DOCUMENT), DOCUMENT, Network.PUBLIC)
    with pytest.raises(CannotStart, match="None of the 1 documents"):
        await claim.verify()
    assert await claim.holder() is None
    assert await claim.content.read(document_cid(DOCUMENT), Network.PUBLIC) == DOCUMENT


async def test_a_store_without_the_documents_of_the_catalog_is_refused(
    tmp_path: Path, places: Places
) -> None:
    async with open_world(tmp_path / "world") as world:
        await world.create(world.wallet(0))
        claim = forgotten(world, places)
        with pytest.raises(CannotStart, match="none of the 1 documents that were looked up"):
            await claim.verify()
        assert await claim.holder() is None


def forgotten(world: World, places: Places) -> InstallationClaim:
    """The claim on an empty store by a catalog that has not claimed any store yet."""
    stores = open_sqlite_stores(world.settings.storage.data_dir / "imprint.db")
    stores.database.identity = replace(stores.database.identity, claimed=False)
    places.stores.append(stores)
    store = EmbeddedStore(places.folder / "empty", utc_now)
    places.opened.append(InstallationClaim(stores.installation, stores.archives, store, store))
    return places.opened[-1]


async def test_a_store_without_a_marker_is_claimed_if_it_has_a_known_document(
    tmp_path: Path,
) -> None:
    async with open_world(tmp_path) as world:
        await world.create(world.wallet(0))
        stray = document_cid(DOCUMENT)
        await world.adapters.content.put(stray, DOCUMENT, Network.PRIVATE)
    (tmp_path / "content" / "installation").unlink()
    stores = open_sqlite_stores(tmp_path / "imprint.db")
    await stores.installation.rename_installation(stores.installation.identity.id)
    await stores.close()
    async with open_world(tmp_path) as world:
        assert world.adapters.stores.installation.identity.claimed


async def test_an_unreachable_store_is_neither_refused_nor_claimed(
    places: Places,
) -> None:
    claim = places.claim("catalog", "content")
    await claim.content.close()
    with pytest.raises(Unavailable):
        await claim.verify()
    assert not places.claim("catalog", "content").identity.claimed


async def test_an_adopted_store_belongs_to_the_catalog(places: Places) -> None:
    first, second = places.claim("first", "content"), places.claim("second", "content")
    await first.content.put(document_cid(DOCUMENT), DOCUMENT, Network.PUBLIC)
    await first.adopt(None)
    await second.adopt(first.identity.id)
    await second.verify()
    with pytest.raises(CannotStart, match="belongs to"):
        await first.verify()
    assert await second.content.read(document_cid(DOCUMENT), Network.PUBLIC) == DOCUMENT


async def test_a_store_whose_owner_changed_is_not_adopted(places: Places) -> None:
    first, second = places.claim("first", "content"), places.claim("second", "content")
    await first.verify()
    with pytest.raises(CannotStart, match="belongs to"):
        await second.adopt(None)
    with pytest.raises(CannotStart, match="belongs to"):
        await second.adopt("ab" * 16)
    await first.verify()


async def test_a_copied_catalog_becomes_a_separate_installation(places: Places) -> None:
    claim = places.claim("catalog", "content")
    await claim.verify()
    before = claim.identity.id
    copy = InstallationClaim(
        claim.installation, claim.archives, places.claim("unused", "copy").content
    )
    await copy.rename()
    assert copy.identity.id != before
    assert copy.identity.claimed
    await copy.verify()
    with pytest.raises(CannotStart, match="belongs to"):
        await claim.verify()


async def test_a_store_is_marked_before_documents_are_copied_to_it(places: Places) -> None:
    claim, other = places.claim("catalog", "content"), places.claim("other", "taken")
    await claim.verify()
    await other.verify()
    target = replace(claim, content=places.claim("unused", "target").content)
    await target.mark_copy()
    await target.mark_copy()
    await target.verify()
    with pytest.raises(CannotStart, match="belongs to"):
        await replace(claim, content=other.content, inventory=None).mark_copy()
    await claim.verify()


async def test_a_running_service_reports_that_its_store_was_adopted(
    places: Places, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = places.claim("first", "content"), places.claim("second", "content")
    await first.verify()
    await second.adopt(first.identity.id)
    watching = asyncio.create_task(first.run())
    while not caplog.records:  # noqa: ASYNC110 - a log has no event
        await asyncio.sleep(0.01)
    watching.cancel()
    assert caplog.records[0].levelname == "CRITICAL"
    assert second.identity.id in caplog.records[0].getMessage()
    assert not first.stands()


async def test_a_claim_is_valid_again_once_the_store_is_back(
    places: Places, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(installation, "VERIFY_SECONDS", 0.001)
    claim = places.claim("catalog", "content")
    await claim.verify()
    marker = places.folder / "content" / "installation"
    watching = asyncio.create_task(claim.run())
    marker.rename(marker.with_name("moved"))
    while claim.stands():  # noqa: ASYNC110  the claim has no event
        await asyncio.sleep(0.001)
    with pytest.raises(Unavailable):
        await claim.content.put(document_cid(DOCUMENT), DOCUMENT, Network.PUBLIC)
    marker.with_name("moved").rename(marker)
    while not claim.stands():  # noqa: ASYNC110  the claim has no event
        await asyncio.sleep(0.001)
    watching.cancel()
    await claim.content.put(document_cid(DOCUMENT), DOCUMENT, Network.PUBLIC)
    assert [each.levelname for each in caplog.records if each.name.endswith("store_claim")] == [
        "CRITICAL",
        "WARNING",
    ]
