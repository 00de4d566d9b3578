"""The commands of a Kubo node that the content store uses, over its HTTP RPC."""

import io
from collections.abc import Callable, Sequence
from typing import TypeVar

import aiohttp
import msgspec

from imprint.adapters.content.http_retry import (
    MAX_DOCUMENT,
    MAX_RESPONSE,
    HttpRequest,
    HttpResponse,
    RetryingClient,
    StoreFailure,
    excerpt,
)
from imprint.domain.formats.cids import KUBO_LAYOUT, Cid

RETRY_STATUSES = frozenset({502, 503, 504})
"""Statuses of a proxy whose node is down; the node's own errors have status 500."""

_OFFLINE = ("offline", "true")
"""Without this, a node searches the network for minutes for blocks that it does not have."""

_LAYOUT = (
    ("cid-version", "1"),
    ("raw-leaves", "true"),
    ("chunker", f"size-{KUBO_LAYOUT.chunk}"),
    ("max-file-links", str(KUBO_LAYOUT.width)),
    ("hash", "sha2-256"),
    ("trickle", "false"),
    ("inline", "false"),
    ("wrap-with-directory", "false"),
)
"""All options that change a cid; their defaults depend on the configuration of the node."""

_NOT_FOUND = "could not find"
_NOT_PINNED = "not pinned"
_PINNED = "pinned"
"""Parts of the node's error messages: a block does not exist, is not pinned, is pinned."""

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
    """The RPC of one node. Every method raises `StoreFailure`, and may safely be repeated."""

    def __init__(self, client: RetryingClient, api: str, authorization: str | None) -> None:
        self._client = client
        self._api = f"{api}/api/v0"
        self._headers = {} if authorization is None else {"Authorization": authorization}

    async def add(self, document: bytes, announce: bool, deadline: float) -> str:
        """Add a document without pinning it; returns the cid that the node computed.

        A document that is not announced is added offline.
        """
        params = [*_LAYOUT, ("pin", "false"), ("progress", "false")]
        params.append(("fast-provide-root", _flag(announce)))
        if not announce:
            params.append(_OFFLINE)
        response = await self._call("add", params, deadline, _form("file", document))
        added = [each.cid for each in _decode_lines(response, _Added) if each.cid]
        if len(added) != 1:
            raise StoreFailure("add: the response does not name one document")
        return added[0]

    async def put_block(self, block: bytes, deadline: float) -> str:
        """Store one dag-pb node; returns its cid."""
        params = [("cid-codec", "dag-pb"), ("mhtype", "sha2-256"), ("pin", "false"), _OFFLINE]
        response = await self._call("block/put", params, deadline, _form("data", block))
        return _decode(response, _Put).cid

    async def pin(self, root: Cid, recursive: bool, name: str, deadline: float) -> None:
        """Pin a block, or rename its pin. Raises `BlockMissing`, also for blocks below it."""
        params = [("arg", root), ("recursive", _flag(recursive)), ("name", name), _OFFLINE]
        response = await self._call("pin/add", params, deadline)
        if _decode(response, _Pinned).pins != [root]:
            raise StoreFailure("pin/add: the response does not confirm the pin")

    async def unpin(self, root: Cid, deadline: float) -> None:
        """Remove a pin; one that does not exist is not an error."""
        response = await self._send("pin/rm", [("arg", root), ("recursive", "true")], deadline)
        if _NOT_PINNED not in _error_message(response):
            _expect_success("pin/rm", response)

    async def is_pinned(self, root: Cid, recursive: bool, deadline: float) -> bool:
        """Whether a block is pinned directly, with this kind of pin."""
        return await self.pin_name(root, recursive, deadline) is not None

    async def pin_name(self, root: Cid, recursive: bool, deadline: float) -> str | None:
        """The name of a block's own pin of this kind, or None if it has no such pin."""
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
        """The recursive pins whose names contain a text: their roots and names.

        The node visits every recursive pin, which is still faster than deleting one block.
        """
        params = [("type", "recursive"), ("names", "true"), ("name", part), _OFFLINE]
        response = await self._send("pin/ls", params, deadline)
        _expect_success("pin/ls", response)
        return {root: pin.name for root, pin in _decode(response, _Listed).keys.items()}

    async def cat(self, cid: Cid, deadline: float) -> bytes:
        """The bytes of a document, unverified. Raises `BlockMissing`.

        The node reports an interrupted stream in a trailer, which few HTTP clients expose; so the
        length is compared with the header that announces it.
        """
        params = [("arg", cid), ("progress", "false"), _OFFLINE]
        response = await self._call("cat", params, deadline, limit=MAX_DOCUMENT)
        if response.headers.get("x-content-length") != str(len(response.body)):
            raise StoreFailure("cat: the document is incomplete")
        return response.body

    async def read_block(self, cid: Cid, deadline: float) -> bytes:
        """The bytes of one block, unverified. Raises `BlockMissing`."""
        return (await self._call("block/get", [("arg", cid), _OFFLINE], deadline)).body

    async def remove_block(self, cid: Cid, deadline: float) -> bool:
        """Delete a block; False if a pin holds it. One that does not exist is not an error.

        Before it deletes, the node walks through all recursive pins, so `block/rm` is sent only for
        blocks that exist.
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
        """The blocks of a document as a CAR, unverified. Raises `BlockMissing`."""
        params = [("arg", cid), ("progress", "false"), _OFFLINE]
        return (await self._call("dag/export", params, deadline, limit=MAX_DOCUMENT)).body

    async def show_version(self, deadline: float) -> None:
        """Return if the node responds and accepts the authorization."""
        await self._call("version", [], deadline)

    async def _call(
        self,
        command: str,
        params: Sequence[tuple[str, str]],
        deadline: float,
        form: Callable[[], aiohttp.FormData] | None = None,
        limit: int = MAX_RESPONSE,
    ) -> HttpResponse:
        """The response to a command that succeeded. Raises `BlockMissing`."""
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
    """The node's error message; empty without an error, or for one in another format."""
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
