"""Ownership of a content store, checked before anything in it is changed or destroyed.

A catalog would mistake all documents of another installation for garbage. Therefore the
catalog and its content store both have the ID of the installation, and a service starts
only if they agree.
"""

import logging
from dataclasses import dataclass, field

from imprint.domain.drafts.files import Network
from imprint.domain.errors import CannotStart, StoreMisconfigured, Unavailable
from imprint.domain.formats.cids import Cid
from imprint.domain.installation import Identity, new_installation_id
from imprint.ports import ContentStore
from imprint.ports.archives import ArchiveStore
from imprint.ports.content import Inventory
from imprint.ports.installation import InstallationStore
from imprint.services.tasks.periodic_task import run_periodically

log = logging.getLogger(__name__)

SAMPLE = 100
"""Number of documents of a store that are looked up in the catalog, per network."""

NAMED_SAMPLE = 5
"""Number of documents of the catalog that are looked up in the store, per network."""

VERIFY_SECONDS = 10.0
"""Seconds between two checks of the marker while the service runs."""

RETRY_SECONDS = 5.0
"""Seconds before an unreachable store is tried again."""

_ADOPT = (
    " Nothing was changed. If these documents should belong to this catalog, run `imprint adopt`."
)


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample of documents from the store and from the catalog."""

    stored: int = 0
    """Number of documents sampled from the store."""
    known: int = 0
    """Number of documents sampled from the store that are in the catalog."""
    named: int = 0
    """Number of documents sampled from the catalog."""
    found: int = 0
    """Number of documents sampled from the catalog that are in the store."""


@dataclass(slots=True)
class InstallationClaim:
    """A catalog's claim on a content store. `inventory` is the store if it can be listed."""

    installation: InstallationStore
    archives: ArchiveStore
    content: ContentStore
    inventory: Inventory | None = None
    _refusal: str | None = field(default=None, init=False)

    @property
    def identity(self) -> Identity:
        """The installation's identity in the catalog."""
        return self.installation.identity

    async def verify(self, *, mark: bool = True) -> None:
        """Check that the store belongs to this installation, and mark an unmarked store.

        Without `mark`, nothing is changed. Any number of processes may do this at the same
        time. Raises `CannotStart` if the store belongs to another installation or refuses
        permanently, and `Unavailable` if it cannot be reached.
        """
        try:
            holder = await self._claim(mark)
        except StoreMisconfigured as error:
            raise CannotStart(error.sentence) from error
        if holder is None:
            return
        expect_own(holder, self.identity.id)
        if mark and not self.identity.claimed:
            # The marker is durable by now. After a crash at this point, the next start records it.
            await self.installation.note_claim()

    async def _claim(self, mark: bool) -> str | None:
        """Return the ID in the store. With `mark`, an unmarked store is marked first.

        Returns None if the store stays unmarked. Raises the same errors as `verify`.
        """
        holder = await self.content.claimed_by(self.identity.id)
        if holder is None:
            if self.identity.claimed:
                raise CannotStart(_missing(self.identity.id))
            _compare(await self.take_sample())
            if mark:
                holder = await self.content.claim(self.identity.id)
        return holder

    def stands(self) -> bool:
        """Whether the last check found no problems."""
        return self._refusal is None

    async def run(self) -> None:
        """Verify repeatedly. Problems are logged, and `stands` shows them to the readiness check.

        A store that was unreachable at start-up is verified as soon as possible.
        """
        await run_periodically(
            "installation", self._report, VERIFY_SECONDS, retry_after=RETRY_SECONDS, optional=True
        )

    async def _report(self) -> None:
        try:
            await self.verify()
        except CannotStart as error:
            if self._refusal != str(error):
                log.critical("%s Until this is fixed, nothing is stored or destroyed.", error)
            self._refusal = str(error)
        else:
            if self._refusal is not None:
                log.warning("the content store belongs to this installation again")
            self._refusal = None

    async def mark_copy(self) -> None:
        """Mark the target store of a migration. Raises the same errors as `verify`."""
        holder = await self.content.claimed_by(self.identity.id)
        if holder is None:
            sample = await self.take_sample()
            _compare(Sample(sample.stored, sample.known))
            holder = await self.content.claim(self.identity.id)
        expect_own(holder, self.identity.id)

    async def holder(self) -> str | None:
        """Return the ID in the store, as described by `ContentStore.claimed_by`."""
        return await self.content.claimed_by(self.identity.id)

    async def adopt(self, instead_of: str | None) -> None:
        """Mark the store, even if another installation has marked it. Raises `CannotStart`.

        Nothing else in the store is changed.
        """
        expect_own(await self.content.claim(self.identity.id, instead_of), self.identity.id)
        await self.installation.note_claim()

    async def rename(self, instead_of: str | None = None) -> None:
        """Give the catalog a new ID and adopt the store, for a copy of an installation."""
        await self.installation.rename_installation(new_installation_id())
        await self.adopt(instead_of)

    async def take_sample(self) -> Sample:
        """Look up some of the store's documents in the catalog, and vice versa."""
        stored = known = named = found = 0
        for network in Network:
            cids = await self._list_some(network)
            stored += len(cids)
            known += await self.installation.count_known(cids)
            for each in await self.archives.documents_after(network, "", NAMED_SAMPLE):
                named += 1
                found += await self._is_stored(each.cid, network)
        return Sample(stored, known, named, found)

    async def _list_some(self, network: Network) -> list[Cid]:
        cids: list[Cid] = []
        if self.inventory is not None:
            async for cid in self.inventory.list_documents(network):
                cids.append(cid)
                if len(cids) == SAMPLE:
                    break
        return cids

    async def _is_stored(self, cid: Cid, network: Network) -> bool:
        try:
            return await self.content.read(cid, network) is not None
        except Unavailable:
            # The store has just responded, so the document exists, but is damaged.
            return True


def expect_own(holder: str | None, identity: str) -> None:
    """Raise `CannotStart` unless the store's marker has the ID of the catalog."""
    if holder != identity:
        raise CannotStart(
            f"The content store belongs to the installation {holder}, but the catalog belongs to "
            f"{identity}. Check IMPRINT_DATABASE_URL, IMPRINT_DATA_DIR and "
            f"IMPRINT_CONTENT_STORE.{_ADOPT}"
        )


async def is_own_store(installation: InstallationStore, content: ContentStore | Inventory) -> bool:
    """Whether a store is marked as the catalog's. Nothing may be destroyed in any other store.

    Raises `Unavailable` if the store cannot be reached.
    """
    identity = installation.identity.id
    holder = await content.claimed_by(identity)
    if holder == identity:
        return True
    log.error("nothing is destroyed in a content store that is not this installation's")
    return False


def _missing(identity: str) -> str:
    return (
        f"The content store has no marker of the installation {identity}, which marked its store "
        "earlier. Is a disk not mounted, a folder empty, or another node or account "
        f"configured?{_ADOPT}"
    )


def _compare(sample: Sample) -> None:
    """Raise `CannotStart` if the store's documents and the catalog have nothing in common."""
    if sample.stored and not sample.known:
        raise CannotStart(
            f"None of the {sample.stored} documents checked in the content store are in the "
            "catalog. Check IMPRINT_DATABASE_URL, IMPRINT_DATA_DIR and "
            f"IMPRINT_CONTENT_STORE.{_ADOPT}"
        )
    if sample.named and not sample.found:
        raise CannotStart(
            f"The content store has none of the {sample.named} documents that were looked up for"
            " the catalog. Is a disk not mounted, a folder empty, or another node or account"
            f" configured?{_ADOPT}"
        )
