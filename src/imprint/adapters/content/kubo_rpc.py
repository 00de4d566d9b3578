"""The commands of a Kubo node that a content store needs, over its HTTP RPC."""

import io
from collections.abc import Callable, Sequence
from typing import TypeVar

import aiohttp
import msgspec

from imprint.adapters.content.http_retry import (
    MAX_ANSWER,
    MAX_DOCUMENT,
    Answer,
    Exchanges,
    Failure,
    Request,
    quote,
)
from imprint.domain.cids import KUBO_LAYOUT, Cid

PASSING = frozenset({502, 503, 504})
"""What a proxy before a node answers while the node is away; the node's own errors are 500."""

_ALONE = ("offline", "true")
"""Without this a node looks for what it does not have in the network, and for minutes."""

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
"""Everything that decides a cid, said aloud: a node's own defaults are its operator's to change."""

_ABSENT = "could not find"
_UNPINNED = "not pinned"
_HELD = "pinned"
"""How the node says that a block is not there, is not pinned, or is."""


class NotThere(Failure):
    """The node does not have this block."""


_Shape = TypeVar("_Shape")


class _Problem(msgspec.Struct):
    message: str = msgspec.field(name="Message", default="")


class _Added(msgspec.Struct):
    cid: str = msgspec.field(name="Hash", default="")


class _Pinned(msgspec.Struct):
    pins: list[str] = msgspec.field(name="Pins", default_factory=list)


class _Listed(msgspec.Struct):
    keys: dict[str, object] = msgspec.field(name="Keys", default_factory=dict)


class _Put(msgspec.Struct):
    cid: str = msgspec.field(name="Key", default="")


class _Removed(msgspec.Struct):
    error: str = msgspec.field(name="Error", default="")


class KuboRpc:
    """One node. Every method raises `Failure`; every one may be repeated without harm."""

    def __init__(self, exchanges: Exchanges, api: str, authorization: str | None) -> None:
        self._exchanges = exchanges
        self._api = f"{api}/api/v0"
        self._headers = {} if authorization is None else {"Authorization": authorization}

    async def add(self, document: bytes, announce: bool, deadline: float) -> str:
        """Store a document, unpinned; the cid that the node found for it.

        What is not to be announced is added as if the node were alone.
        """
        params = [*_LAYOUT, ("pin", "false"), ("progress", "false")]
        params.append(("fast-provide-root", _flag(announce)))
        if not announce:
            params.append(_ALONE)
        answer = await self._call("add", params, deadline, _form("file", document))
        added = [each.cid for each in _decode_lines(answer, _Added) if each.cid]
        if len(added) != 1:
            raise Failure("add: an answer that does not name one document")
        return added[0]

    async def put_block(self, block: bytes, deadline: float) -> str:
        """Store one dag-pb node; its cid."""
        params = [("cid-codec", "dag-pb"), ("mhtype", "sha2-256"), ("pin", "false"), _ALONE]
        answer = await self._call("block/put", params, deadline, _form("data", block))
        return _decode(answer, _Put).cid

    async def pin(self, roots: Sequence[Cid], deep: bool, name: str, deadline: float) -> None:
        """Pin blocks, if `deep` with all below them; or give their pins another name.

        Raises `NotThere` if one of the blocks is missing.
        """
        params = [*(("arg", root) for root in roots), ("recursive", _flag(deep)), ("name", name)]
        answer = await self._call("pin/add", [*params, _ALONE], deadline)
        if sorted(_decode(answer, _Pinned).pins) != sorted(roots):
            raise Failure("pin/add: an answer that does not confirm the pins")

    async def unpin(self, root: Cid, deadline: float) -> None:
        """Take a pin away; one that is not there is no error."""
        answer = await self._ask("pin/rm", [("arg", root), ("recursive", "true")], deadline)
        if _UNPINNED not in _complaint(answer):
            _expect_success("pin/rm", answer)

    async def is_pinned(self, root: Cid, deep: bool, deadline: float) -> bool:
        """Whether this block is pinned for its own sake: alone, or with all below it."""
        params = [("arg", root), ("type", "recursive" if deep else "direct"), _ALONE]
        answer = await self._ask("pin/ls", params, deadline)
        if _UNPINNED in _complaint(answer):
            return False
        _expect_success("pin/ls", answer)
        if list(_decode(answer, _Listed).keys) != [root]:
            raise Failure("pin/ls: an answer to something else")
        return True

    async def cat(self, cid: Cid, deadline: float) -> bytes:
        """The bytes of a document as the node has them, unchecked. Raises `NotThere`.

        A stream that breaks off has an error in its trailer, where few clients can see it; but
        the whole length is in a header, so that what is shorter is known by that.
        """
        params = [("arg", cid), ("progress", "false"), _ALONE]
        answer = await self._call("cat", params, deadline, limit=MAX_DOCUMENT)
        if answer.headers.get("x-content-length") != str(len(answer.body)):
            raise Failure("cat: a document that breaks off")
        return answer.body

    async def read_block(self, cid: Cid, deadline: float) -> bytes:
        """The bytes of one block, unchecked. Raises `NotThere`."""
        return (await self._call("block/get", [("arg", cid), _ALONE], deadline)).body

    async def remove_block(self, cid: Cid, deadline: float) -> bool:
        """Delete one block; False if some pin holds it. One that is not there is no error.

        The node walks through everything that is pinned deep before it deletes, so it is asked
        to only for blocks that it has.
        """
        try:
            await self._call("block/stat", [("arg", cid), _ALONE], deadline)
        except NotThere:
            return True
        answer = await self._ask("block/rm", [("arg", cid), ("force", "true"), _ALONE], deadline)
        _expect_success("block/rm", answer)
        errors = [each.error for each in _decode_lines(answer, _Removed) if each.error]
        if errors and _HELD not in errors[0]:
            raise Failure(f"block/rm: {quote(errors[0])}")
        return not errors

    async def export(self, cid: Cid, deadline: float) -> bytes:
        """The blocks of a document as a CAR, unchecked. Raises `NotThere`."""
        params = [("arg", cid), ("progress", "false"), _ALONE]
        return (await self._call("dag/export", params, deadline, limit=MAX_DOCUMENT)).body

    async def show_version(self, deadline: float) -> None:
        """Return if the node answers, and lets this service in."""
        await self._call("version", [], deadline)

    async def _call(
        self,
        command: str,
        params: Sequence[tuple[str, str]],
        deadline: float,
        form: Callable[[], aiohttp.FormData] | None = None,
        limit: int = MAX_ANSWER,
    ) -> Answer:
        """The answer to a command that succeeded. Raises `NotThere` for a missing block."""
        answer = await self._ask(command, params, deadline, form, limit)
        if _ABSENT in _complaint(answer):
            raise NotThere(command)
        _expect_success(command, answer)
        return answer

    async def _ask(
        self,
        command: str,
        params: Sequence[tuple[str, str]],
        deadline: float,
        form: Callable[[], aiohttp.FormData] | None = None,
        limit: int = MAX_ANSWER,
    ) -> Answer:
        url = f"{self._api}/{command}"
        request = Request("POST", url, tuple(params), self._headers, form, limit=limit)
        return await self._exchanges.ask(request, deadline)


def _form(part: str, data: bytes) -> Callable[[], aiohttp.FormData]:
    def write_form() -> aiohttp.FormData:
        form = aiohttp.FormData()
        kind = "application/octet-stream"
        form.add_field(part, io.BytesIO(data), filename="document", content_type=kind)
        return form

    return write_form


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _decode(answer: Answer, shape: type[_Shape]) -> _Shape:
    try:
        return msgspec.json.decode(answer.body, type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Failure("an answer of another shape") from error


def _decode_lines(answer: Answer, shape: type[_Shape]) -> list[_Shape]:
    try:
        return msgspec.json.Decoder(shape).decode_lines(answer.body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Failure("an answer of another shape") from error


def _complaint(answer: Answer) -> str:
    """What the node says went wrong; empty if nothing did, or if it does not say."""
    if answer.status != 500:
        return ""
    try:
        return msgspec.json.decode(answer.body, type=_Problem).message
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""


def _expect_success(command: str, answer: Answer) -> None:
    if answer.status != 200:
        said = quote(_complaint(answer))
        raise Failure(f"{command}: status {answer.status}" + (f", {said}" if said else ""))
