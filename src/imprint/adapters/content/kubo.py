"""Content store on a Kubo node: a document is visible while its pin node is pinned.

A node may also hold blocks for others, so a document's blocks do not show whose document it is.
Each document has one small directory node per network and installation (`write_pin_node`). The pin
on that node records that the document belongs to this installation, and to which network. Documents
stored before installations had ids have pin nodes without an id.
"""

import asyncio
import io
import logging
import re
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import TypeVar

import aiohttp
import msgspec

from imprint.adapters.content.embedded import verify_received
from imprint.adapters.content.http_retry import (
    DEFAULT_POLICY,
    MAX_DOCUMENT,
    MAX_RESPONSE,
    HttpRequest,
    HttpResponse,
    RetryingClient,
    RetryPolicy,
    StoreFailure,
    excerpt,
)
from imprint.domain.drafts.files import Label, Network
from imprint.domain.formats.car import NotACar, read_header, read_sections
from imprint.domain.formats.cids import (
    KUBO_LAYOUT,
    Cid,
    Codec,
    Layout,
    NotACid,
    NotAssembled,
    assemble,
    blocks_of,
    cid_bytes,
    cid_of,
    codec_of,
    digest_of,
    layout_of,
    parse_cid,
    read_links,
)
from imprint.domain.installation import UNNAMED, Identity

RETRY_STATUSES = frozenset({502, 503, 504})
"""Statuses that a proxy returns if the node is down. The node's own errors have status 500."""

_OFFLINE = ("offline", "true")
"""Without this option, a node spends minutes searching the network for blocks it does not have."""

_SHAPE = (
    ("hash", "sha2-256"),
    ("trickle", "false"),
    ("inline", "false"),
    ("wrap-with-directory", "false"),
)
"""Options that affect the cid, in addition to the layout options. The defaults of these options
depend on the node's configuration."""

_NOT_FOUND = "could not find"
_NOT_PINNED = "not pinned"
_PINNED = "pinned"
"""Fragments of the node's error messages for a missing block, an unpinned block and a pinned
block."""

_Shape = TypeVar("_Shape")


class BlockMissing(StoreFailure):
    """The node does not have a block."""


class _Error(msgspec.Struct):
    message: str = msgspec.field(name="Message", default="")


class _Added(msgspec.Struct):
    cid: str = msgspec.field(name="Hash", default="")


class _Pinned(msgspec.Struct):
    pins: list[str] = msgspec.field(name="Pins", default_factory=list)


class _Pin(msgspec.Struct):
    name: str = msgspec.field(name="Name", default="")


class _Listed(msgspec.Struct):
    keys: dict[str, _Pin] = msgspec.field(name="Keys", default_factory=dict)


class _Put(msgspec.Struct):
    cid: str = msgspec.field(name="Key", default="")


class _Removed(msgspec.Struct):
    error: str = msgspec.field(name="Error", default="")


class KuboRpc:
    """RPC client of one node. Every method raises `StoreFailure` and is safe to repeat."""

    def __init__(self, client: RetryingClient, api: str, authorization: str | None) -> None:
        self._client = client
        self._api = f"{api}/api/v0"
        self._headers = {} if authorization is None else {"Authorization": authorization}

    async def add(self, document: bytes, layout: Layout, announce: bool, deadline: float) -> str:
        """Add a document without pinning it and return the cid that the node computed.

        A document that must not be announced is added offline.
        """
        params = [*_SHAPE, ("pin", "false"), ("progress", "false")]
        params += [("cid-version", str(int(layout.raw))), ("raw-leaves", _flag(layout.raw))]
        params += [("chunker", f"size-{layout.chunk}"), ("max-file-links", str(layout.width))]
        params.append(("fast-provide-root", _flag(announce)))
        if not announce:
            params.append(_OFFLINE)
        response = await self._call("add", params, deadline, _form("file", document))
        added = [each.cid for each in _decode_lines(response, _Added) if each.cid]
        if len(added) != 1:
            raise StoreFailure("add: the response does not name one document")
        return added[0]

    async def put_block(self, block: bytes, deadline: float) -> str:
        """Store one dag-pb node and return its cid."""
        params = [("cid-codec", "dag-pb"), ("mhtype", "sha2-256"), ("pin", "false"), _OFFLINE]
        response = await self._call("block/put", params, deadline, _form("data", block))
        return _decode(response, _Put).cid

    async def pin(self, root: Cid, recursive: bool, name: str, deadline: float) -> None:
        """Pin a block, or rename its pin. Raises `BlockMissing` if the block or one it links to is
        missing."""
        params = [("arg", root), ("recursive", _flag(recursive)), ("name", name), _OFFLINE]
        response = await self._call("pin/add", params, deadline)
        if _decode(response, _Pinned).pins != [root]:
            raise StoreFailure("pin/add: the response does not confirm the pin")

    async def unpin(self, root: Cid, deadline: float) -> None:
        """Remove a pin. A missing pin is not an error."""
        response = await self._send("pin/rm", [("arg", root), ("recursive", "true")], deadline)
        if _NOT_PINNED not in _error_message(response):
            _expect_success("pin/rm", response)

    async def is_pinned(self, root: Cid, recursive: bool, deadline: float) -> bool:
        """Whether a block itself is pinned with this type of pin."""
        return await self.pin_name(root, recursive, deadline) is not None

    async def pin_name(self, root: Cid, recursive: bool, deadline: float) -> str | None:
        """The name of a block's own pin of this type, or None if it has none."""
        kind = "recursive" if recursive else "direct"
        params = [("arg", root), ("type", kind), ("names", "true"), _OFFLINE]
        response = await self._send("pin/ls", params, deadline)
        if _NOT_PINNED in _error_message(response):
            return None
        _expect_success("pin/ls", response)
        keys = _decode(response, _Listed).keys
        if list(keys) != [root]:
            raise StoreFailure("pin/ls: the response is about another block")
        return keys[root].name

    async def find_pins(self, part: str, deadline: float) -> dict[str, str]:
        """Roots and names of the recursive pins whose names contain this text.

        The node visits every recursive pin. That is cheap enough for a removal: deleting even one
        block takes longer.
        """
        params = [("type", "recursive"), ("names", "true"), ("name", part), _OFFLINE]
        response = await self._send("pin/ls", params, deadline)
        _expect_success("pin/ls", response)
        return {root: pin.name for root, pin in _decode(response, _Listed).keys.items()}

    async def cat(self, cid: Cid, deadline: float) -> bytes:
        """A document's unverified bytes. Raises `BlockMissing`.

        The node reports an interrupted stream in a trailer, which few HTTP clients expose, so the
        length is compared with the announced length.
        """
        params = [("arg", cid), ("progress", "false"), _OFFLINE]
        response = await self._call("cat", params, deadline, limit=MAX_DOCUMENT)
        if response.headers.get("x-content-length") != str(len(response.body)):
            raise StoreFailure("cat: the document is incomplete")
        return response.body

    async def read_block(self, cid: Cid, deadline: float) -> bytes:
        """The unverified bytes of one block. Raises `BlockMissing`."""
        return (await self._call("block/get", [("arg", cid), _OFFLINE], deadline)).body

    async def remove_block(self, cid: Cid, deadline: float) -> bool:
        """Delete a block. Returns False if a pin holds the block. A missing block is not an error.

        The node walks all recursive pins before it deletes, so `block/rm` is sent only for blocks
        that exist.
        """
        try:
            await self._call("block/stat", [("arg", cid), _OFFLINE], deadline)
        except BlockMissing:
            return True
        params = [("arg", cid), ("force", "true"), _OFFLINE]
        response = await self._send("block/rm", params, deadline)
        _expect_success("block/rm", response)
        errors = [each.error for each in _decode_lines(response, _Removed) if each.error]
        if errors and _PINNED not in errors[0]:
            raise StoreFailure(f"block/rm: {excerpt(errors[0])}")
        return not errors

    async def export(self, cid: Cid, deadline: float) -> bytes:
        """A document's blocks as an unverified CAR. Raises `BlockMissing`."""
        params = [("arg", cid), ("progress", "false"), _OFFLINE]
        return (await self._call("dag/export", params, deadline, limit=MAX_DOCUMENT)).body

    async def show_version(self, deadline: float) -> None:
        """Check that the node responds and accepts the authorization."""
        await self._call("version", [], deadline)

    async def _call(
        self,
        command: str,
        params: Sequence[tuple[str, str]],
        deadline: float,
        form: Callable[[], aiohttp.FormData] | None = None,
        limit: int = MAX_RESPONSE,
    ) -> HttpResponse:
        """The response to a successful command. Raises `BlockMissing`."""
        response = await self._send(command, params, deadline, form, limit)
        if _NOT_FOUND in _error_message(response):
            raise BlockMissing(command)
        _expect_success(command, response)
        return response

    async def _send(
        self,
        command: str,
        params: Sequence[tuple[str, str]],
        deadline: float,
        form: Callable[[], aiohttp.FormData] | None = None,
        limit: int = MAX_RESPONSE,
    ) -> HttpResponse:
        url = f"{self._api}/{command}"
        request = HttpRequest("POST", url, tuple(params), self._headers, form, limit=limit)
        return await self._client.send(request, deadline)


def _form(part: str, data: bytes) -> Callable[[], aiohttp.FormData]:
    def write_form() -> aiohttp.FormData:
        form = aiohttp.FormData()
        kind = "application/octet-stream"
        form.add_field(part, io.BytesIO(data), filename="document", content_type=kind)
        return form

    return write_form


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _decode(response: HttpResponse, shape: type[_Shape]) -> _Shape:
    try:
        return msgspec.json.decode(response.body, type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise StoreFailure("the response has an unexpected shape") from error


def _decode_lines(response: HttpResponse, shape: type[_Shape]) -> list[_Shape]:
    try:
        return msgspec.json.Decoder(shape).decode_lines(response.body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise StoreFailure("the response has an unexpected shape") from error


def _error_message(response: HttpResponse) -> str:
    """The node's error message, or empty if there is none in the expected format."""
    if response.status != 500:
        return ""
    try:
        return msgspec.json.decode(response.body, type=_Error).message
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""


def _expect_success(command: str, response: HttpResponse) -> None:
    if response.status != 200:
        text = excerpt(_error_message(response))
        raise StoreFailure(f"{command}: status {response.status}" + (f", {text}" if text else ""))


STORE_ATTEMPTS = 3
"""Number of attempts to add a document whose blocks are damaged or vanish before they are pinned.

The node may collect garbage in between, or another document that shares blocks may be removed.
"""

NOT_STORED = -1
"""Fence of a document that is not stored, lower than every other fence."""

_DIRECTORY = b"\x0a\x02\x08\x01"
"""The data field of a UnixFS directory in a dag-pb node."""

_MARKER = "imprint installation "
"""Prefix of an installation's marker, followed by its id."""

_FENCE = re.compile(r" fence=(\d+)$")
"""Matches the fence at the end of a pin's name."""

_log = logging.getLogger(__name__)


def write_pin_node(cid: Cid, network: Network, installation: str = "") -> tuple[Cid, bytes]:
    """The cid and block of a document's pin node: a UnixFS directory with one entry.

    The pin node depends only on the document's cid, network and installation. The entry's size is
    0, because the document's size is unknown when a pin node is looked up.
    """
    entry = f"imprint-{network}-{installation}" if installation else f"imprint-{network}"
    binary, name = cid_bytes(cid), entry.encode()
    link = b"\x0a" + bytes([len(binary)]) + binary
    link += b"\x12" + bytes([len(name)]) + name + b"\x18\x00"
    block = b"\x12" + bytes([len(link)]) + link + _DIRECTORY
    return cid_of(Codec.DAG_PB, sha256(block).digest()), block


def write_marker(installation: str) -> tuple[Cid, bytes]:
    """The cid and block of an installation's marker: a UnixFS file with one line of text."""
    text = f"{_MARKER}{installation}\n".encode()
    file = b"\x08\x02\x12" + bytes([len(text)]) + text + b"\x18" + bytes([len(text)])
    block = b"\x0a" + bytes([len(file)]) + file
    return cid_of(Codec.DAG_PB, sha256(block).digest()), block


class KuboStore:
    """`ContentStore` on one Kubo node, which any number of installations may share."""

    shows_labels = True

    def __init__(
        self,
        api: str,
        authorization: str | None = None,
        policy: RetryPolicy = DEFAULT_POLICY,
        identity: Identity = UNNAMED,
    ) -> None:
        """Use the node whose RPC is at `api`. `authorization` is the header it requires."""
        self._policy = policy
        self._identity = identity
        self._marked = not identity.id
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

        The cid that the node returns is no proof: it is computed from the bytes sent, and the node
        keeps a block it already has, even a damaged one.
        """
        await verify_received(cid, document, network)
        layout = await asyncio.to_thread(layout_of, cid, document) or KUBO_LAYOUT
        async with self._client.operation(
            "store", self._policy.timeout, 2 * len(document)
        ) as deadline:
            await self._expect_marker(deadline)
            fences = {network: fence}
            # A private document without a fence has a salt, so it is stored only once.
            if fence or network is Network.PUBLIC:
                fences[network] = max(fence, await self._read_fence(cid, network, deadline))
            for _ in range(STORE_ATTEMPTS):
                announce = network is Network.PUBLIC
                added = await self._rpc.add(document, layout, announce, deadline)
                if not _names(added, cid):
                    raise StoreFailure("the node computed another cid")
                try:
                    if await self._rpc.cat(cid, deadline) != document:
                        _log.critical("Blocks of the document %s are damaged.", cid)
                        cleared = await self._clear(cid, document, deadline)
                        cleared[network] = max(fences[network], cleared.get(network, 0))
                        fences |= cleared
                        continue
                    for each, highest in fences.items():
                        await self._pin(cid, each, label, highest, deadline)
                except BlockMissing:
                    continue
                return
            raise StoreFailure("blocks disappear before they are pinned, or cannot be replaced")

    async def relabel(self, cid: Cid, network: Network, label: Label) -> None:
        """Write the label into the pin's name, which `ipfs pin ls --names` shows."""
        async with self._client.operation("label", self._policy.timeout) as deadline:
            fence = await self._read_fence(cid, network, deadline)
            if fence != NOT_STORED:
                try:
                    await self._pin(cid, network, label, fence, deadline)
                except BlockMissing as error:
                    raise StoreFailure("blocks of the document are missing") from error

    async def read(self, cid: Cid, network: Network) -> bytes | None:
        """A document's verified bytes, or None if it is not pinned in this network."""
        async with self._client.operation("read", self._timeout(cid)) as deadline:
            if not await self._is_stored(cid, network, deadline):
                return None
            try:
                document = await self._rpc.cat(cid, deadline)
            except BlockMissing as error:
                # The document may have been removed between the two calls.
                if not await self._is_stored(cid, network, deadline):
                    return None
                _log.critical("Blocks of the %s document %s are missing.", network, cid)
                raise StoreFailure("blocks of the document are missing") from error
        return await verify_received(cid, document, network)

    async def remove(self, cid: Cid, network: Network, fence: int | None = None) -> None:
        """Unpin a document and delete the blocks that no other pin holds.

        The root is deleted last: while it exists, an interrupted removal can be repeated.
        """
        async with self._client.operation("destroy", self._policy.removal_timeout) as deadline:
            if fence is not None and await self._read_fence(cid, network, deadline) >= fence:
                return
            for pin_cid in self._own_pins(cid, network):
                await self._rpc.unpin(pin_cid, deadline)
                if not await self._rpc.remove_block(pin_cid, deadline):
                    raise StoreFailure("the document was pinned again during its removal")
            if await self._is_held(cid, deadline):
                return
            for block in await self._list_blocks(cid, deadline):
                await self._rpc.remove_block(block, deadline)

    async def claimed_by(self, installation: str) -> str | None:
        """Return `installation` if its marker is pinned, otherwise None.

        If our own marker is missing, nothing more is stored.
        """
        async with self._client.operation("respond", self._policy.timeout) as deadline:
            marker, _ = write_marker(installation)
            is_marked = await self._rpc.is_pinned(marker, True, deadline)
        if installation == self._identity.id:
            self._marked = is_marked
        return installation if is_marked else None

    async def claim(self, installation: str, instead_of: str | None = None) -> str:
        """Pin the marker of an installation. Markers of other installations stay."""
        marker, block = write_marker(installation)
        async with self._client.operation("mark", self._policy.timeout) as deadline:
            if await self._rpc.put_block(block, deadline) != marker:
                raise StoreFailure("the node computed another cid for the marker")
            await self._rpc.pin(marker, True, _MARKER + installation, deadline)
        return installation

    async def export_car(self, cid: Cid, network: Network) -> bytes | None:
        """A document as a verified CAR with all its blocks, or None if it is not pinned."""
        async with self._client.operation("export", self._timeout(cid)) as deadline:
            if not await self._is_stored(cid, network, deadline):
                return None
            try:
                car = await self._rpc.export(cid, deadline)
                _check_car(car, cid)
            except (BlockMissing, NotACar, NotAssembled) as error:
                raise StoreFailure("the CAR is incomplete") from error
            return car

    async def probe(self) -> None:
        """Check that the node responds."""
        async with self._client.operation("respond", self._policy.timeout) as deadline:
            await self._rpc.show_version(deadline)

    async def close(self) -> None:
        """Close the connections to the node."""
        await self._client.close()

    def _timeout(self, cid: Cid) -> float:
        return self._policy.chunked_timeout if _is_chunked(cid) else self._policy.timeout

    async def _expect_marker(self, deadline: float) -> None:
        """Check for our marker, unless it was found before.

        Other installations find our pins through the marker, so it is pinned first. A node without
        the marker is not the one that this installation marked.
        """
        if not self._marked:
            marker, _ = write_marker(self._identity.id)
            if not await self._rpc.is_pinned(marker, True, deadline):
                raise StoreFailure("the node has no marker of this installation")
            self._marked = True

    def _own_pins(self, cid: Cid, network: Network) -> list[Cid]:
        """Pin nodes that record a document as this installation's."""
        names = [self._identity.id]
        if self._identity.id and self._identity.owns_unnamed:
            names.append("")
        return [write_pin_node(cid, network, name)[0] for name in names]

    async def _is_stored(self, cid: Cid, network: Network, deadline: float) -> bool:
        return await self._read_fence(cid, network, deadline) != NOT_STORED

    async def _read_fence(self, cid: Cid, network: Network, deadline: float) -> int:
        """The fence that the document was stored with, or `NOT_STORED` if we have no pin for it."""
        for pin_cid in self._own_pins(cid, network):
            name = await self._rpc.pin_name(pin_cid, _is_chunked(cid), deadline)
            if name is not None:
                found = _FENCE.search(name)
                return int(found[1]) if found else 0
        return NOT_STORED

    async def _pin(
        self, cid: Cid, network: Network, label: Label | None, fence: int, deadline: float
    ) -> None:
        """Pin a document for this installation.

        The pin node is pinned first. An installation that removes the same document unpins it and
        then looks for pin nodes. So either this pin comes after the unpinning, or the pin node is
        found.
        """
        pin_cid, block = write_pin_node(cid, network, self._identity.id)
        if await self._rpc.put_block(block, deadline) != pin_cid:
            raise StoreFailure("the node computed another cid for the pin node")
        chunked = _is_chunked(cid)
        name = self._name_pin(network, label, fence)
        await self._rpc.pin(pin_cid, chunked, name, deadline)
        if not chunked:
            await self._rpc.pin(cid, False, name, deadline)

    def _name_pin(self, network: Network, label: Label | None, fence: int) -> str:
        words = ["imprint", str(network)]
        if label is not None:
            words += [label.status, label.name, label.group_id]
        if self._identity.id:
            words.append(f"installation={self._identity.id}")
        if fence > 0:
            words.append(f"fence={fence}")
        return " ".join(words)

    async def _is_held(self, cid: Cid, deadline: float) -> bool:
        """Whether any installation's pin node still holds a document. If not, the document is
        unpinned.

        A one-block document's pin is shared by all its holders. This pin is removed between two
        checks of the pin nodes. It is restored if a pin node appeared meanwhile, or if an
        interrupted removal left the document unpinned.
        """
        pin_cids = await self._find_all_pins(cid, deadline)
        held = await self._is_any_pinned(pin_cids, cid, deadline)
        if _is_chunked(cid):
            return held
        if not held:
            await self._rpc.unpin(cid, deadline)
            if not await self._is_any_pinned(pin_cids, cid, deadline):
                return False
        if not await self._rpc.is_pinned(cid, False, deadline):
            await self._rpc.pin(cid, False, "imprint", deadline)
        return True

    async def _is_any_pinned(self, pin_cids: list[Cid], cid: Cid, deadline: float) -> bool:
        for pin_cid in pin_cids:
            if await self._rpc.is_pinned(pin_cid, _is_chunked(cid), deadline):
                return True
        return False

    async def _find_all_pins(self, cid: Cid, deadline: float) -> list[Cid]:
        """All pin nodes that a document may have: those of every installation, in both networks."""
        installations = {"", self._identity.id}
        for root, name in (await self._rpc.find_pins(_MARKER, deadline)).items():
            installation = name.removeprefix(_MARKER)
            if write_marker(installation)[0] == root:
                installations.add(installation)
        return [
            write_pin_node(cid, network, installation)[0]
            for network in Network
            for installation in sorted(installations)
        ]

    async def _clear(self, cid: Cid, document: bytes, deadline: float) -> dict[Network, int]:
        """Delete a damaged document's blocks and return its fences by network."""
        own = {network: self._own_pins(cid, network) for network in Network}
        if _is_chunked(cid):
            ours = {pin_cid for pin_cids in own.values() for pin_cid in pin_cids}
            others = [each for each in await self._find_all_pins(cid, deadline) if each not in ours]
            if await self._is_any_pinned(others, cid, deadline):
                # The blocks cannot be deleted without unpinning other installations' documents.
                raise StoreFailure("another installation also uses the damaged blocks")
        fences = {}
        for network, pin_cids in own.items():
            fence = await self._read_fence(cid, network, deadline)
            if fence != NOT_STORED:
                fences[network] = fence
                for pin_cid in pin_cids:
                    await self._rpc.unpin(pin_cid, deadline)
        if not _is_chunked(cid):
            await self._rpc.unpin(cid, deadline)
        for block in dict.fromkeys(each for each, _ in blocks_of(cid, document)):
            await self._rpc.remove_block(block, deadline)
        return fences

    async def _list_blocks(self, cid: Cid, deadline: float) -> list[Cid]:
        """A document's blocks without duplicates, each after the blocks that it links to."""
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


def _names(text: str, cid: Cid) -> bool:
    """Whether a text is this cid, possibly written as a CIDv0."""
    try:
        return parse_cid(text) == cid
    except NotACid:
        return False


def _is_chunked(cid: Cid) -> bool:
    """Whether the document has blocks below its root, which need recursive pins."""
    return codec_of(cid) is Codec.DAG_PB


def _check_car(car: bytes, cid: Cid) -> None:
    """Raise `NotACar` or `NotAssembled` unless the CAR has every block of this document.

    Kubo reports an error during an export in a trailer, which few HTTP clients expose.
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
