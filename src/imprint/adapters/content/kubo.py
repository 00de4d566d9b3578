"""Marks: what makes a document of a Kubo node one of this service, in one network."""

import io
import logging
from hashlib import sha256

from imprint.adapters.content.http_retry import MAX_DOCUMENT, PACE, Exchanges, Failure, Pace
from imprint.adapters.content.kubo_rpc import PASSING, KuboRpc, NotThere
from imprint.adapters.content.verification import check_aside
from imprint.domain.car import NotACar, read_header, read_sections
from imprint.domain.cids import (
    Cid,
    Codec,
    NotAssembled,
    assemble,
    blocks,
    cid_bytes,
    cid_of,
    codec_of,
    digest_of,
    read_links,
)
from imprint.domain.files import Label, Network

_DIRECTORY = b"\x0a\x02\x08\x01"
"""The data of a UnixFS directory, as the field of a dag-pb node."""


def write_mark(cid: Cid, network: Network) -> tuple[Cid, bytes]:
    """The mark of a document in a network, with its cid: a directory with this one entry.

    It depends on nothing but the two, so that anybody can tell which mark to look for. The size
    of the entry is left at 0: whoever looks for a mark does not know it.
    """
    binary, name = cid_bytes(cid), f"imprint-{network}".encode()
    link = b"\x0a" + bytes([len(binary)]) + binary
    link += b"\x12" + bytes([len(name)]) + name + b"\x18\x00"
    block = b"\x12" + bytes([len(link)]) + link + _DIRECTORY
    return cid_of(Codec.DAG_PB, sha256(block).digest()), block


STORING_TRIES = 3
"""How often a document is stored anew when blocks are damaged, or vanish before they are pinned.

The node may collect its garbage in between, or destroy another document with the same pieces.
"""

_log = logging.getLogger(__name__)


class KuboStore:
    """Documents on one node, whose RPC is at `api`."""

    def __init__(self, api: str, authorization: str | None = None, pace: Pace = PACE) -> None:
        """Use the node at `api`; `authorization` is the header that it asks for."""
        self._pace = pace
        self._exchanges = Exchanges("Kubo", PASSING, pace)
        self._rpc = KuboRpc(self._exchanges, api, authorization)

    async def put(
        self, cid: Cid, document: bytes, network: Network, label: Label | None = None
    ) -> None:
        """Store a document, and pin it once the node gives the same bytes back.

        The cid that the node answers is not enough: it is that of the bytes it was sent, and a
        block that it has already it keeps as it is, also a damaged one.
        """
        await check_aside(cid, document, network)
        async with self._exchanges.attempt(
            "store", self._pace.patience, 2 * len(document)
        ) as deadline:
            networks = {network}
            for _ in range(STORING_TRIES):
                added = await self._rpc.add(document, network is Network.PUBLIC, deadline)
                if added != cid:
                    raise Failure("another cid for the same bytes")
                try:
                    if await self._rpc.cat(cid, deadline) != document:
                        _log.critical("Blocks of the document %s are damaged.", cid)
                        networks |= await self._clear(cid, document, deadline)
                        continue
                    for each in networks:
                        await self._pin(cid, each, label, deadline)
                except NotThere:
                    continue
                return
            raise Failure("blocks that vanish before they are pinned, or cannot be replaced")

    async def relabel(self, cid: Cid, network: Network, label: Label) -> None:
        """Put the label into the name of the pin, which `ipfs pin ls --names` shows."""
        mark, _ = write_mark(cid, network)
        async with self._exchanges.attempt("label", self._pace.patience) as deadline:
            if await self._rpc.is_pinned(mark, _is_deep(cid), deadline):
                try:
                    await self._pin(cid, network, label, deadline)
                except NotThere as error:
                    raise Failure("a document whose blocks are missing") from error

    async def read(self, cid: Cid, network: Network) -> bytes | None:
        """The verified bytes of a document; None without the mark of this network."""
        mark, _ = write_mark(cid, network)
        deep = _is_deep(cid)
        async with self._exchanges.attempt("read", self._patience(cid)) as deadline:
            if not await self._rpc.is_pinned(mark, deep, deadline):
                return None
            try:
                document = await self._rpc.cat(cid, deadline)
            except NotThere as error:
                # It may have been destroyed between the two questions.
                if not await self._rpc.is_pinned(mark, deep, deadline):
                    return None
                _log.critical("Blocks of the %s document %s are missing.", network, cid)
                raise Failure("a document whose blocks are missing") from error
        return await check_aside(cid, document, network)

    async def remove(self, cid: Cid, network: Network) -> None:
        """Take the mark away, and delete the blocks that nothing else holds.

        The root goes last: as long as it is there, a removal that broke off can be repeated.
        """
        mark, _ = write_mark(cid, network)
        deep = _is_deep(cid)
        async with self._exchanges.attempt("destroy", self._pace.patience_removal) as deadline:
            await self._rpc.unpin(mark, deadline)
            if not await self._rpc.remove_block(mark, deadline):
                raise Failure("a document that was pinned again while it was destroyed")
            others = [write_mark(cid, other)[0] for other in Network if other is not network]
            for other in others:
                if await self._rpc.is_pinned(other, deep, deadline):
                    return
            if not deep:
                await self._rpc.unpin(cid, deadline)
            for block in await self._list_blocks(cid, deadline):
                await self._rpc.remove_block(block, deadline)

    async def export_car(self, cid: Cid, network: Network) -> bytes | None:
        """A document as a CAR with all its blocks, verified; None if it is not there."""
        mark, _ = write_mark(cid, network)
        async with self._exchanges.attempt("export", self._patience(cid)) as deadline:
            if not await self._rpc.is_pinned(mark, _is_deep(cid), deadline):
                return None
            try:
                car = await self._rpc.export(cid, deadline)
                _check_whole(car, cid)
            except (NotThere, NotACar, NotAssembled) as error:
                raise Failure("a CAR that is not whole") from error
            return car

    async def probe(self) -> None:
        """Return if the node answers."""
        async with self._exchanges.attempt("answer", self._pace.patience) as deadline:
            await self._rpc.show_version(deadline)

    async def close(self) -> None:
        """Let go of connections."""
        await self._exchanges.close()

    def _patience(self, cid: Cid) -> float:
        return self._pace.patience_deep if _is_deep(cid) else self._pace.patience

    async def _pin(self, cid: Cid, network: Network, label: Label | None, deadline: float) -> None:
        mark, block = write_mark(cid, network)
        if await self._rpc.put_block(block, deadline) != mark:
            raise Failure("another cid for the same mark")
        deep = _is_deep(cid)
        name = f"imprint {network}"
        if label is not None:
            name = f"imprint {network} {label.status} {label.name} {label.group_id}"
        # The document first: the mark is what makes it visible.
        if not deep:
            await self._rpc.pin([cid], False, name, deadline)
        await self._rpc.pin([mark], deep, name, deadline)

    async def _clear(self, cid: Cid, document: bytes, deadline: float) -> set[Network]:
        """Delete the blocks of a damaged document; the networks that it was in."""
        networks = set()
        for network in Network:
            mark, _ = write_mark(cid, network)
            if await self._rpc.is_pinned(mark, _is_deep(cid), deadline):
                await self._rpc.unpin(mark, deadline)
                networks.add(network)
        if not _is_deep(cid):
            await self._rpc.unpin(cid, deadline)
        for block in dict.fromkeys(each for each, _ in blocks(document)):
            await self._rpc.remove_block(block, deadline)
        return networks

    async def _list_blocks(self, cid: Cid, deadline: float) -> list[Cid]:
        """The blocks of a document, each once, every node after all that hang below it."""
        found: dict[Cid, None] = {}
        waiting = [cid]
        while waiting:
            block = waiting.pop()
            found.pop(block, None)
            found[block] = None
            if codec_of(block) is Codec.DAG_PB:
                waiting.extend(await self._read_links(block, deadline))
        return list(reversed(found))

    async def _read_links(self, cid: Cid, deadline: float) -> list[Cid]:
        try:
            node = await self._rpc.read_block(cid, deadline)
            if sha256(node).digest() != digest_of(cid):
                raise Failure("a node that does not match its cid")
            return read_links(node)
        except NotThere:
            return []
        except NotAssembled as error:
            raise Failure("a node of another kind") from error


def _is_deep(cid: Cid) -> bool:
    """Whether the document has blocks below its root, which a pin must reach."""
    return codec_of(cid) is Codec.DAG_PB


def _check_whole(car: bytes, cid: Cid) -> None:
    """Raise `NotACar` or `NotAssembled` unless these are the blocks of this document, all of them.

    An error in the middle of an export is in a trailer, where few clients can see it.
    """
    stream = io.BytesIO(car)
    if read_header(stream.read) != (cid,):
        raise NotACar("The CAR is of something else.")
    found = dict(read_sections(stream.read))

    def load(block: Cid) -> bytes:
        if block not in found:
            raise NotACar("A block of the document is missing.")
        return found[block]

    assemble(cid, load, MAX_DOCUMENT)
