"""The content store at Pinata: a document is stored if a file has its cid as a keyvalue.

For documents of one chunk Pinata computes the same cid as this service. It may lay out larger
documents differently, under another cid; so each file carries this service's cid in a keyvalue, and
downloads are verified against that. The name of the keyvalue has the network and the installation:
`imprint_private_<id>`, or `imprint_private` for documents that were stored before installations had
ids. A file that Pinata shares between two of them has a keyvalue for each.

An account with private files separates the two networks. An account without keeps all files in
Pinata's public network, where only the keyvalues separate them; private documents must then be
encrypted before they are stored.
"""

import asyncio
import logging
import re
from datetime import datetime

from imprint.adapters.content.embedded import verify_received
from imprint.adapters.content.http_retry import (
    DEFAULT_POLICY,
    RetryingClient,
    RetryPolicy,
    StoreFailure,
)
from imprint.adapters.content.pinata_api import RETRY_STATUSES, Account, Group, PinataApi, Record
from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.drafts.files import Label, Network
from imprint.domain.errors import Unavailable
from imprint.domain.formats.cids import WIDE_LAYOUT, Cid, Codec, codec_of, document_cid
from imprint.domain.installation import UNNAMED, Identity
from imprint.ports import Clock
from imprint.ports.archives import EarlierFile

MAX_REMEMBERED = 10_000
"""The number of documents whose cid at Pinata is cached, and of groups whose id is."""

PENDING = "pending"
"""The value of `cid` while Pinata has not computed it yet."""

REMOVAL_ROUNDS = 3
"""How often the files of a document are listed and deleted, until none is left."""

GROUP_SHARE = 3
"""The remaining time is divided by this for finding a group, which is only a label."""

_DOCUMENT_KEY = re.compile("imprint_(private|public)(_[0-9a-f]{32})?")
"""The keyvalue that marks a file as a document of a network and an installation."""

_MARKER_KEY = "imprint_installation"
"""The keyvalue of a marker: the id of the installation."""

_log = logging.getLogger(__name__)


class PinataStore:
    """`ContentStore` in one account; `public` if all its files are in Pinata's public network."""

    def __init__(
        self,
        account: Account,
        clock: Clock,
        *,
        public: bool = False,
        policy: RetryPolicy = DEFAULT_POLICY,
        identity: Identity = UNNAMED,
    ) -> None:
        self._client = RetryingClient("Pinata", RETRY_STATUSES, policy)
        self._api = PinataApi(self._client, account, clock)
        self._policy = policy
        self._public = public
        self._identity = identity
        self._marked = not identity.id
        self._cids: BoundedCache[tuple[Network, str], str] = BoundedCache(MAX_REMEMBERED)
        self._group_ids: BoundedCache[tuple[Network, str], str] = BoundedCache(MAX_REMEMBERED)

    async def put(
        self,
        cid: Cid,
        document: bytes,
        network: Network,
        label: Label | None = None,
        fence: int = 0,
    ) -> None:
        """Upload a document, and check what was stored by its cid or by reading it back."""
        await verify_received(cid, document, network)
        where = self._where(network)
        async with self._client.operation(
            "store", self._policy.timeout, 3 * len(document)
        ) as deadline:
            await self._expect_marker(deadline)
            wanted = {self._own_keys(network)[0]: str(cid)} | _describe(label)
            if fence:
                wanted[self._fence_key(network)] = str(fence)
            record = await self._upload(document, where, wanted, label, deadline)
            if not await self._is_stored(record, cid, document, where, deadline):
                if not record.is_duplicate:
                    await self._api.delete(where, record.id, deadline)
                _log.critical("Pinata stored other bytes for the document %s.", cid)
                raise StoreFailure("Pinata computed another cid")
            if self._fence_of(record, network) > fence:
                wanted.pop(self._fence_key(network), None)
            if (record.keyvalues or {}) | wanted != record.keyvalues:
                await self._share(record, wanted, cid, network, deadline)
            self._cids.put((network, cid), record.cid)

    async def relabel(self, cid: Cid, network: Network, label: Label) -> None:
        """Change name, keyvalues and group of a document's files."""
        where = self._where(network)
        async with self._client.operation("label", self._policy.timeout) as deadline:
            records = await self._find(cid, network, deadline)
            group_id = await self._find_group(where, label, deadline) if records else None
            for record in records:
                await self._api.update(where, record.id, _describe(label), deadline, label.name)
                if group_id is not None and record.group_id != group_id:
                    await self._api.join_group(where, group_id, record.id, deadline)

    async def read(self, cid: Cid, network: Network) -> bytes | None:
        """The verified bytes of a document, or None if no file has its cid as a keyvalue."""
        where = self._where(network)
        timeout = self._policy.timeout
        if codec_of(cid) is not Codec.RAW:
            timeout = self._policy.chunked_timeout
        async with self._client.operation("read", timeout) as deadline:
            known = self._cids.get((network, cid))
            document = None if known is None else await self._api.fetch(where, known, deadline)
            if document is None:
                found = await self._look_up(cid, network, deadline)
                if found is None:
                    return None
                document = await self._api.fetch(where, found, deadline)
            if document is None:
                raise StoreFailure("the gateway does not have a listed file")
        return await verify_received(cid, document, network)

    async def remove(self, cid: Cid, network: Network, fence: int | None = None) -> None:
        """Delete every file of a document; a shared file loses only our keyvalues."""
        where, keys = self._where(network), self._own_keys(network)
        ours = (*keys, self._fence_key(network))
        self._cids.pop((network, cid))
        async with self._client.operation("destroy", self._policy.removal_timeout) as deadline:
            for _ in range(REMOVAL_ROUNDS):
                records = await self._find(cid, network, deadline)
                if not records:
                    return
                if fence is not None and fence <= max(
                    self._fence_of(record, network) for record in records
                ):
                    return
                for record in records:
                    if _document_keys(record) - set(keys):
                        given = dict.fromkeys(set(ours) & (record.keyvalues or {}).keys())
                        await self._api.update(where, record.id, given, deadline)
                    else:
                        await self._api.delete(where, record.id, deadline)
            raise StoreFailure("deleted files are still listed")

    async def claimed_by(self, installation: str) -> str | None:
        """`installation`, if a file is its marker; without our own marker nothing more is
        stored."""
        where = self._where(Network.PRIVATE)
        async with self._client.operation("respond", self._policy.timeout) as deadline:
            found = await self._api.find(where, {_MARKER_KEY: installation}, deadline)
        if installation == self._identity.id:
            self._marked = bool(found)
        return installation if found else None

    async def claim(self, installation: str, instead_of: str | None = None) -> str:
        """Upload the marker of an installation in addition to those of others."""
        text = f"imprint installation {installation}"
        keyvalues = {_MARKER_KEY: installation}
        where = self._where(Network.PRIVATE)
        async with self._client.operation("mark", self._policy.timeout) as deadline:
            record = await self._api.upload(
                text.encode(), where, deadline, name=text, keyvalues=keyvalues, group_id=None
            )
            if (record.keyvalues or {}) | keyvalues != record.keyvalues:
                await self._api.update(where, record.id, keyvalues, deadline)
        return installation

    async def probe(self) -> None:
        """Return if the account accepts requests, for private documents too."""
        async with self._client.operation("respond", self._policy.timeout) as deadline:
            await self._api.list_one(self._where(Network.PRIVATE), deadline)

    async def close(self) -> None:
        """Close connections."""
        await self._client.close()

    def _where(self, network: Network) -> Network:
        """The network of Pinata that has the documents of this network."""
        return Network.PUBLIC if self._public else network

    async def _upload(
        self,
        document: bytes,
        where: Network,
        keyvalues: dict[str, str],
        label: Label | None,
        deadline: float,
    ) -> Record:
        name = "document" if label is None else label.name
        group_id = await self._find_group(where, label, deadline)
        try:
            return await self._api.upload(
                document, where, deadline, name=name, keyvalues=keyvalues, group_id=group_id
            )
        except StoreFailure:
            if label is None or group_id is None:
                raise
        # The group may have been deleted; a document is stored even without its group.
        self._group_ids.pop((where, _group_name(label)))
        return await self._api.upload(
            document, where, deadline, name=name, keyvalues=keyvalues, group_id=None
        )

    async def _expect_marker(self, deadline: float) -> None:
        """Check our marker until it is found: somebody else's account does not have it."""
        if not self._marked:
            filters = {_MARKER_KEY: self._identity.id}
            if not await self._api.find(self._where(Network.PRIVATE), filters, deadline):
                raise StoreFailure("the account has no marker of this installation")
            self._marked = True

    def _own_keys(self, network: Network) -> list[str]:
        """The keyvalues that mark a file as this installation's, the one for new files first."""
        unnamed = f"imprint_{network}"
        if not self._identity.id:
            return [unnamed]
        named = f"{unnamed}_{self._identity.id}"
        return [named, unnamed] if self._identity.owns_unnamed else [named]

    def _fence_key(self, network: Network) -> str:
        return f"imprint_fence_{network}_{self._identity.id}"

    def _fence_of(self, record: Record, network: Network) -> int:
        """The fence that a file was stored with."""
        text = (record.keyvalues or {}).get(self._fence_key(network)) or ""
        return int(text) if text.isdecimal() else 0

    async def _find(self, cid: Cid, network: Network, deadline: float) -> list[Record]:
        """This installation's files of a document."""
        found: dict[str, Record] = {}
        for key in self._own_keys(network):
            for record in await self._api.find(self._where(network), {key: cid}, deadline):
                found.setdefault(record.id, record)
        return list(found.values())

    async def _share(
        self, record: Record, wanted: dict[str, str], cid: Cid, network: Network, deadline: float
    ) -> None:
        """Add our keyvalues to a file that already existed.

        Its other owner may have deleted it meanwhile.
        """
        await self._api.update(self._where(network), record.id, wanted, deadline)
        if record.is_duplicate:
            found = await self._find(cid, network, deadline)
            if record.id not in {each.id for each in found}:
                raise StoreFailure("a shared file was deleted by another installation")

    async def _look_up(self, cid: Cid, network: Network, deadline: float) -> str | None:
        """The cid under which Pinata has a document, or None if no file has its cid as keyvalue."""
        records = await self._find(cid, network, deadline)
        self._cids.pop((network, cid))
        if not records:
            return None
        known = [record.cid for record in records if record.cid != PENDING]
        # A document of one chunk has the same cid everywhere.
        found = known[0] if known else str(cid) if codec_of(cid) is Codec.RAW else None
        if found is None:
            raise StoreFailure("Pinata has not computed the cid yet")
        self._cids.put((network, cid), found)
        return found

    async def _is_stored(
        self, record: Record, cid: Cid, document: bytes, where: Network, deadline: float
    ) -> bool:
        """Whether Pinata stored these bytes: by comparing a known cid, or by reading them back."""
        if record.cid == cid:
            return True
        if codec_of(cid) is Codec.RAW or record.cid == PENDING:
            return False
        if record.cid == await asyncio.to_thread(document_cid, document, WIDE_LAYOUT):
            return True
        return await self._api.fetch(where, record.cid, deadline) == document

    async def _find_group(self, where: Network, label: Label | None, deadline: float) -> str | None:
        """The id of the group for a label, which is created if needed; None if that fails.

        Two processes may create it at the same time. Both then use the older one, and the process
        that created the newer one deletes it.
        """
        if label is None:
            return None
        name = _group_name(label)
        known = self._group_ids.get((where, name))
        if known is not None:
            return known
        try:
            now = asyncio.get_running_loop().time()
            async with asyncio.timeout_at(now + (deadline - now) / GROUP_SHARE):
                groups = await self._api.find_groups(where, name, deadline)
                if not groups:
                    created = await self._api.create_group(where, name, deadline)
                    groups = await self._api.find_groups(where, name, deadline) or [created]
                    await self._delete_duplicate(where, created, groups[0], deadline)
        except (StoreFailure, TimeoutError) as failure:
            reason = str(failure) or "no response in time"
            _log.warning("Pinata has no group for a document: %s", reason)
            return None
        self._group_ids.put((where, name), groups[0].id)
        return groups[0].id

    async def _delete_duplicate(
        self, where: Network, created: Group, first: Group, deadline: float
    ) -> None:
        if created.id != first.id:
            await self._api.delete_group(where, created.id, deadline)


def _document_keys(record: Record) -> set[str]:
    """The keyvalues of all installations and networks that a file belongs to."""
    return {key for key in record.keyvalues or {} if _DOCUMENT_KEY.fullmatch(key)}


def _group_name(label: Label) -> str:
    return f"imprint {label.group_id}"


def _describe(label: Label | None) -> dict[str, str]:
    return {} if label is None else {"owner": label.owner, "status": label.status.value}


class PinataEarlierFiles:
    """`EarlierFiles`: the private files of an account, which is only read."""

    def __init__(
        self, account: Account, clock: Clock, policy: RetryPolicy = DEFAULT_POLICY
    ) -> None:
        self._client = RetryingClient("Pinata", RETRY_STATUSES, policy)
        self._api = PinataApi(self._client, account, clock)
        self._policy = policy

    async def page(self, token: str | None) -> tuple[list[EarlierFile], str | None]:
        async with self._client.operation("list", self._policy.timeout) as deadline:
            records, following = await self._api.list_page(Network.PRIVATE, token, deadline)
        if following is not None and following == token:
            raise Unavailable.storage()
        return [
            EarlierFile(each.cid, each.keyvalues or {}, _moment(each.created_at))
            for each in records
        ], following

    async def fetch(self, cid: Cid) -> bytes | None:
        async with self._client.operation("read", self._policy.chunked_timeout) as deadline:
            return await self._api.fetch(Network.PRIVATE, cid, deadline)

    async def close(self) -> None:
        await self._client.close()


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else None
