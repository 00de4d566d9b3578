"""DAG-JSON: JSON with links and bytes, in which every value has exactly one encoding.

Members are sorted, there are no spaces, a link is `{"/": cid}` and bytes are
`{"/": {"bytes": base64}}`. Floating-point numbers are not supported.
"""

import json
from base64 import b32decode, b64decode, b64encode
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from imprint.domain.formats.cids import Cid, Codec, cid_of, split_cid


class NotDagJson(ValueError):
    """The bytes are not canonical DAG-JSON."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link to another block."""

    cid: Cid


def write_node(value: Any) -> bytes:
    """Encode a value made of strings, integers, links, bytes, lists and objects."""
    text = json.dumps(
        value, default=_write_special, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    return text.encode()


def read_node(data: bytes) -> Any:
    """Decode a node. Raises `NotDagJson` for bytes that `write_node` would not produce."""
    try:
        value = json.loads(
            data, object_hook=_read_special, parse_float=_refuse, parse_constant=_refuse
        )
        if write_node(value) == data:
            return value
    except (ValueError, TypeError, RecursionError) as error:
        raise NotDagJson("A block is not DAG-JSON.") from error
    raise NotDagJson("A block is DAG-JSON, but not in its canonical form.")


def node_cid(data: bytes) -> Cid:
    """Return the CID of an encoded node."""
    return cid_of(Codec.DAG_JSON, sha256(data).digest())


def _refuse(text: str) -> None:
    raise NotDagJson(f"{text} is not supported in DAG-JSON.")


def _write_special(value: object) -> dict[str, Any]:
    if isinstance(value, Link):
        return {"/": value.cid}
    if isinstance(value, bytes):
        return {"/": {"bytes": b64encode(value).decode().rstrip("=")}}
    raise TypeError(f"A {type(value).__name__} cannot be written as DAG-JSON.")


def _read_special(members: dict[str, Any]) -> Any:
    if members.keys() == {"bytes"}:
        text = _text(members["bytes"])
        return _Bytes(b64decode(text + "=" * (-len(text) % 4), validate=True))
    if members.keys() != {"/"}:
        return members
    special = members["/"]
    if isinstance(special, _Bytes):
        return special.value
    text = _text(special)
    cid, rest = split_cid(b32decode(text[1:].upper() + "=" * (-(len(text) - 1) % 8)))
    if rest or cid != text:
        raise NotDagJson("A link is not a CID.")
    return Link(cid)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise NotDagJson("A link or a byte string is written as text.")
    return value


@dataclass(frozen=True, slots=True)
class _Bytes:
    """The inner object that encodes bytes. `write_node` refuses it outside of encoded bytes."""

    value: bytes
