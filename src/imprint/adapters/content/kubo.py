"""The content store on a Kubo node: a document is visible while its pin node is pinned.

A node may hold blocks for others too, so having the blocks of a document is not enough. Each
document has one small directory node per network (`write_pin_node`); the pin of that node says
that the document belongs to this service, and in which network.
"""

import io
import logging
from hashlib import sha256

from imprint.adapters.content.http_retry import (
    DEFAULT_POLICY,
    MAX_DOCUMENT,
    RetryingClient,
    RetryPolicy,
    StoreFailure,
)
from imprint.adapters.content.kubo_rpc import RETRY_STATUSES, BlockMissing, KuboRpc
from imprint.adapters.content.verification import verify_document
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

STORE_ATTEMPTS = 3
"""How often a document is added when its blocks are damaged, or vanish before they are pinned.

The node may collect garbage in between, or remove another document that shares blocks.
"""

_DIRECTORY = b"\x0a\x02\x08\x01"
"""The data of a UnixFS directory, as the field of a dag-pb node."""

_log = logging.getLogger(__name__)


def write_pin_node(cid: Cid, network: Network) -> tuple[Cid, bytes]:
    """The cid and the block of a document's pin node: a UnixFS directory with this one entry.

    Both follow from the document's cid and the network alone. The size of the entry is 0, because
    it is not known where a pin node is looked up.
    """
    binary, name = cid_bytes(cid), f"imprint-{network}".encode()
    link = b"\x0a" + bytes([len(binary)]) + binary
    link += b"\x12" + bytes([len(name)]) + name + b"\x18\x00"
    block = b"\x12" + bytes([len(link)]) + link + _DIRECTORY
    return cid_of(Codec.DAG_PB, sha256(block).digest()), block


class KuboStore:
    """`ContentStore` on one Kubo node."""

    def __init__(
        self, api: str, authorization: str | None = None, policy: RetryPolicy = DEFAULT_POLICY
    ) -> None:
        """Use the node whose RPC is at `api`; `authorization` is the header that it requires."""
        self._policy = policy
        self._client = RetryingClient("Kubo", RETRY_STATUSES, policy)
        self._rpc = KuboRpc(self._client, api, authorization)

    async def put(
        self,
        cid: Cid,
        document: bytes,
        network: Network,
        label: Label | None = None,
        fence: int = 0,
    ) -> None:
        """Add a document, read it back, and pin it.

        The cid that the node returns is not enough: it is that of the bytes that were sent, and
        the node keeps a block that it already has, even a damaged one.
        """
        await verify_document(cid, document, network)
        async with self._client.operation(
            "store", self._policy.timeout, 2 * len(document)
        ) as deadline:
            networks = {network}
            for _ in range(STORE_ATTEMPTS):
                added = await self._rpc.add(document, network is Network.PUBLIC, deadline)
                if added != cid:
                    raise StoreFailure("the node computed another cid")
                try:
                    if await self._rpc.cat(cid, deadline) != document:
                        _log.critical("Blocks of the document %s are damaged.", cid)
                        networks |= await self._clear(cid, document, deadline)
                        continue
                    for each in networks:
                        await self._pin(cid, each, label, deadline)
                except BlockMissing:
                    continue
                return
            raise StoreFailure("blocks vanish before they are pinned, or cannot be replaced")

    async def relabel(self, cid: Cid, network: Network, label: Label) -> None:
        """Write the label into the name of the pin, which `ipfs pin ls --names` shows."""
        pin_cid, _ = write_pin_node(cid, network)
        async with self._client.operation("label", self._policy.timeout) as deadline:
            if await self._rpc.is_pinned(pin_cid, _is_chunked(cid), deadline):
                try:
                    await self._pin(cid, network, label, deadline)
                except BlockMissing as error:
                    raise StoreFailure("blocks of the document are missing") from error

    async def read(self, cid: Cid, network: Network) -> bytes | None:
        """The verified bytes of a document, or None if it is not pinned in this network."""
        pin_cid, _ = write_pin_node(cid, network)
        recursive = _is_chunked(cid)
        async with self._client.operation("read", self._timeout(cid)) as deadline:
            if not await self._rpc.is_pinned(pin_cid, recursive, deadline):
                return None
            try:
                document = await self._rpc.cat(cid, deadline)
            except BlockMissing as error:
                # The document may have been removed between the two calls.
                if not await self._rpc.is_pinned(pin_cid, recursive, deadline):
                    return None
                _log.critical("Blocks of the %s document %s are missing.", network, cid)
                raise StoreFailure("blocks of the document are missing") from error
        return await verify_document(cid, document, network)

    async def remove(self, cid: Cid, network: Network, fence: int | None = None) -> None:
        """Unpin a document, and delete the blocks that no other pin holds.

        The root is deleted last: as long as it exists, an interrupted removal can be repeated.
        """
        pin_cid, _ = write_pin_node(cid, network)
        chunked = _is_chunked(cid)
        async with self._client.operation("destroy", self._policy.removal_timeout) as deadline:
            await self._rpc.unpin(pin_cid, deadline)
            if not await self._rpc.remove_block(pin_cid, deadline):
                raise StoreFailure("the document was pinned again during its removal")
            others = [write_pin_node(cid, other)[0] for other in Network if other is not network]
            for other in others:
                if await self._rpc.is_pinned(other, chunked, deadline):
                    return
            if not chunked:
                await self._rpc.unpin(cid, deadline)
            for block in await self._list_blocks(cid, deadline):
                await self._rpc.remove_block(block, deadline)

    async def export_car(self, cid: Cid, network: Network) -> bytes | None:
        """A document as a CAR with all its blocks, verified, or None if it is not pinned."""
        pin_cid, _ = write_pin_node(cid, network)
        async with self._client.operation("export", self._timeout(cid)) as deadline:
            if not await self._rpc.is_pinned(pin_cid, _is_chunked(cid), deadline):
                return None
            try:
                car = await self._rpc.export(cid, deadline)
                _check_car(car, cid)
            except (BlockMissing, NotACar, NotAssembled) as error:
                raise StoreFailure("the CAR is incomplete") from error
            return car

    async def probe(self) -> None:
        """Return if the node responds."""
        async with self._client.operation("respond", self._policy.timeout) as deadline:
            await self._rpc.show_version(deadline)

    async def close(self) -> None:
        """Close connections."""
        await self._client.close()

    def _timeout(self, cid: Cid) -> float:
        return self._policy.chunked_timeout if _is_chunked(cid) else self._policy.timeout

    async def _pin(self, cid: Cid, network: Network, label: Label | None, deadline: float) -> None:
        pin_cid, block = write_pin_node(cid, network)
        if await self._rpc.put_block(block, deadline) != pin_cid:
            raise StoreFailure("the node computed another cid for the pin node")
        chunked = _is_chunked(cid)
        name = f"imprint {network}"
        if label is not None:
            name = f"imprint {network} {label.status} {label.name} {label.group_id}"
        # The document first: the pin of the pin node is what makes it visible.
        if not chunked:
            await self._rpc.pin(cid, False, name, deadline)
        await self._rpc.pin(pin_cid, chunked, name, deadline)

    async def _clear(self, cid: Cid, document: bytes, deadline: float) -> set[Network]:
        """Delete the blocks of a damaged document; returns the networks that it was in."""
        networks = set()
        for network in Network:
            pin_cid, _ = write_pin_node(cid, network)
            if await self._rpc.is_pinned(pin_cid, _is_chunked(cid), deadline):
                await self._rpc.unpin(pin_cid, deadline)
                networks.add(network)
        if not _is_chunked(cid):
            await self._rpc.unpin(cid, deadline)
        for block in dict.fromkeys(each for each, _ in blocks(document)):
            await self._rpc.remove_block(block, deadline)
        return networks

    async def _list_blocks(self, cid: Cid, deadline: float) -> list[Cid]:
        """The blocks of a document, each once, every node after those that it links to."""
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
                raise StoreFailure("a block does not match its cid")
            return read_links(node)
        except BlockMissing:
            return []
        except NotAssembled as error:
            raise StoreFailure("a block is not a UnixFS file node") from error


def _is_chunked(cid: Cid) -> bool:
    """Whether the document has blocks below its root, so that its pins must be recursive."""
    return codec_of(cid) is Codec.DAG_PB


def _check_car(car: bytes, cid: Cid) -> None:
    """Raise `NotACar` or `NotAssembled` unless the CAR has every block of this document.

    Kubo reports an error in the middle of an export in a trailer, which few HTTP clients expose.
    """
    stream = io.BytesIO(car)
    if read_header(stream.read) != (cid,):
        raise NotACar("The CAR has another root.")
    found = dict(read_sections(stream.read))

    def load(block: Cid) -> bytes:
        if block not in found:
            raise NotACar("A block of the document is missing.")
        return found[block]

    assemble(cid, load, MAX_DOCUMENT)
