"""The content store at Pinata: a document is there if a file says so in its keyvalues.

Up to one chunk, Pinata finds the same cid as this service. How it lays out larger documents is its
own affair, so its cid may differ: the key of a document is therefore a keyvalue, `imprint_private`
or `imprint_public`, with this service's cid, and whatever comes back is checked against that.

An account with private files keeps the two networks apart by itself. One without keeps everything
in the public network, where the keyvalues alone tell them apart; then private documents must be
encrypted before they come here.
"""

import asyncio
import logging
from collections import OrderedDict

from imprint.adapters.content.http_retry import PACE, Exchanges, Failure, Pace
from imprint.adapters.content.pinata_api import PASSING, Account, Group, PinataApi, Record
from imprint.adapters.content.verification import check_aside
from imprint.domain.cids import WIDE_LAYOUT, Cid, Codec, codec_of, document_cid
from imprint.domain.files import Label, Network
from imprint.ports import Clock

REMEMBERED = 10_000
"""Of how many documents Pinata's cid is remembered, and of how many groups the id."""

PENDING = "pending"
"""What stands in the place of a cid that Pinata has not computed yet."""

ROUNDS = 3
"""How often it is looked for files of a document that is destroyed, until none is left."""

GROUP_SHARE = 3
"""What part of the time for a document may go into finding its group, which is a label only."""

_log = logging.getLogger(__name__)


class PinataStore:
    """Documents of one account; all in Pinata's public network if it is `public`."""

    def __init__(
        self, account: Account, clock: Clock, *, public: bool = False, pace: Pace = PACE
    ) -> None:
        self._exchanges = Exchanges("Pinata", PASSING, pace)
        self._api = PinataApi(self._exchanges, account, clock)
        self._pace = pace
        self._public = public
        self._cids = _Memory()
        self._groups = _Memory()

    async def put(
        self, cid: Cid, document: bytes, network: Network, label: Label | None = None
    ) -> None:
        """Upload a document, and make sure of what was stored by its cid, or by reading it."""
        await check_aside(cid, document, network)
        where = self._where(network)
        async with self._exchanges.attempt(
            "store", self._pace.patience, 3 * len(document)
        ) as until:
            wanted = {_key(network): str(cid)} | _describe(label)
            record = await self._upload(document, where, wanted, label, until)
            if not await self._holds(record, cid, document, where, until):
                if not record.is_duplicate:
                    await self._api.delete(where, record.id, until)
                _log.critical("Pinata stored something else for the document %s.", cid)
                raise Failure("another cid for the same bytes")
            if (record.keyvalues or {}) | wanted != record.keyvalues:
                await self._api.update(where, record.id, wanted, until)
            self._cids.keep(f"{network} {cid}", record.cid)

    async def relabel(self, cid: Cid, network: Network, label: Label) -> None:
        """Change name, keyvalues and group of a document's files."""
        where = self._where(network)
        async with self._exchanges.attempt("label", self._pace.patience) as until:
            records = await self._api.find(where, {_key(network): cid}, until)
            group_id = await self._find_group(where, label, until) if records else None
            for record in records:
                await self._api.update(where, record.id, _describe(label), until, label.name)
                if group_id is not None and record.group_id != group_id:
                    await self._api.join_group(where, group_id, record.id, until)

    async def read(self, cid: Cid, network: Network) -> bytes | None:
        """The verified bytes of a document; None if no file says that it is one."""
        where = self._where(network)
        patience = self._pace.patience
        if codec_of(cid) is not Codec.RAW:
            patience = self._pace.patience_deep
        async with self._exchanges.attempt("read", patience) as until:
            known = self._cids.recall(f"{network} {cid}")
            document = None if known is None else await self._api.fetch(where, known, until)
            if document is None:
                found = await self._look_up(cid, network, until)
                if found is None:
                    return None
                document = await self._api.fetch(where, found, until)
            if document is None:
                raise Failure("a file that the gateway does not have")
        return await check_aside(cid, document, network)

    async def remove(self, cid: Cid, network: Network) -> None:
        """Delete every file of a document; one that is of the other network too loses a key."""
        where, key = self._where(network), _key(network)
        others = {_key(other) for other in Network} - {key}
        self._cids.forget(f"{network} {cid}")
        async with self._exchanges.attempt("destroy", self._pace.patience_removal) as until:
            for _ in range(ROUNDS):
                records = await self._api.find(where, {key: cid}, until)
                if not records:
                    return
                for record in records:
                    if others & (record.keyvalues or {}).keys():
                        await self._api.update(where, record.id, {key: None}, until)
                    else:
                        await self._api.delete(where, record.id, until)
            raise Failure("files that do not go away")

    async def probe(self) -> None:
        """Return if the account can be used, also for private documents."""
        async with self._exchanges.attempt("answer", self._pace.patience) as until:
            await self._api.list_one(self._where(Network.PRIVATE), until)

    async def close(self) -> None:
        """Let go of connections."""
        await self._exchanges.close()

    def _where(self, network: Network) -> Network:
        """The network of Pinata that documents of this one are kept in."""
        return Network.PUBLIC if self._public else network

    async def _upload(
        self,
        document: bytes,
        where: Network,
        keyvalues: dict[str, str],
        label: Label | None,
        until: float,
    ) -> Record:
        name = "document" if label is None else label.name
        group_id = await self._find_group(where, label, until)
        try:
            return await self._api.upload(
                document, where, until, name=name, keyvalues=keyvalues, group_id=group_id
            )
        except Failure:
            if label is None or group_id is None:
                raise
        # The group may be gone, and no document is refused for its label.
        self._groups.forget(f"{where} {_group_name(label)}")
        return await self._api.upload(
            document, where, until, name=name, keyvalues=keyvalues, group_id=None
        )

    async def _look_up(self, cid: Cid, network: Network, until: float) -> str | None:
        """The cid under which Pinata has the document; None if it has none."""
        records = await self._api.find(self._where(network), {_key(network): cid}, until)
        self._cids.forget(f"{network} {cid}")
        if not records:
            return None
        known = [record.cid for record in records if record.cid != PENDING]
        # Of one chunk, a document has the same cid everywhere, known there already or not.
        found = known[0] if known else str(cid) if codec_of(cid) is Codec.RAW else None
        if found is None:
            raise Failure("a file that has no cid yet")
        self._cids.keep(f"{network} {cid}", found)
        return found

    async def _holds(
        self, record: Record, cid: Cid, document: bytes, where: Network, until: float
    ) -> bool:
        """Whether Pinata has these bytes: told by a cid that is understood, or by reading them."""
        if record.cid == cid:
            return True
        if codec_of(cid) is Codec.RAW or record.cid == PENDING:
            return False
        if record.cid == await asyncio.to_thread(document_cid, document, WIDE_LAYOUT):
            return True
        return await self._api.fetch(where, record.cid, until) == document

    async def _find_group(self, where: Network, label: Label | None, until: float) -> str | None:
        """The id of the group for this label, made if there is none; None if that fails.

        Two processes may make it at the same time: both then use the older one, and whoever made
        the other deletes it, empty as it is.
        """
        if label is None:
            return None
        name = _group_name(label)
        known = self._groups.recall(f"{where} {name}")
        if known is not None:
            return known
        try:
            now = asyncio.get_running_loop().time()
            async with asyncio.timeout_at(now + (until - now) / GROUP_SHARE):
                groups = await self._api.find_groups(where, name, until)
                if not groups:
                    made = await self._api.create_group(where, name, until)
                    groups = await self._api.find_groups(where, name, until) or [made]
                    await self._drop_rival(where, made, groups[0], until)
        except (Failure, TimeoutError) as failure:
            reason = str(failure) or "no answer in time"
            _log.warning("Pinata has no group for a document: %s", reason)
            return None
        self._groups.keep(f"{where} {name}", groups[0].id)
        return groups[0].id

    async def _drop_rival(self, where: Network, made: Group, first: Group, until: float) -> None:
        if made.id != first.id:
            await self._api.delete_group(where, made.id, until)


class _Memory:
    """The latest entries of a table, as many as are worth their room."""

    def __init__(self) -> None:
        self._entries: OrderedDict[str, str] = OrderedDict()

    def recall(self, key: str) -> str | None:
        return self._entries.get(key)

    def keep(self, key: str, value: str) -> None:
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > REMEMBERED:
            self._entries.popitem(last=False)

    def forget(self, key: str) -> None:
        self._entries.pop(key, None)


def _key(network: Network) -> str:
    return f"imprint_{network}"


def _group_name(label: Label) -> str:
    return f"imprint {label.group_id}"


def _describe(label: Label | None) -> dict[str, str]:
    return {} if label is None else {"owner": label.owner, "status": label.status.value}
