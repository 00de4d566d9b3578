"""Exports: what the nodes of an export say, and how they hang together.

    seal       the root: a link to the manifest, the public key, and the signature of the manifest
    manifest   when and of what the export was made, and links to its pages
    index      links to pages; only where they are too many for the manifest
    page       records of files, each with links to its document and its thumbnail

All of them are DAG-JSON, so that an export is one graph, which any IPFS node can keep as a whole.
Files stand in the order of their positions, the lowest first.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from imprint.domain.addresses import Address, parse_address
from imprint.domain.cids import Cid
from imprint.domain.dag_json import Link, NotDagJson, read_node, write_node
from imprint.domain.export_records import (
    Exported,
    NotAnExport,
    read_instant,
    read_record,
    write_instant,
    write_record,
)

FILES_A_PAGE = 250
"""How many files a page lists: their records stay far below the largest block."""

LINKS_A_NODE = 1000
"""How many pages an index or a manifest links to."""

_KIND, _VERSION = "imprint-export", 1
_SIGNED_LABEL = b"imprint export 1\0"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an export is of: one chain's marketplace, and all owners or one."""

    made_at: datetime
    chain_id: int
    marketplace: Address
    owner: Address | None
    files: int
    pages: tuple[Cid, ...]


@dataclass(frozen=True, slots=True)
class Seal:
    """Whose word the manifest is."""

    manifest: Cid
    key: bytes
    signature: bytes


def signed_bytes(manifest: bytes) -> bytes:
    """What the signature of a manifest signs."""
    return _SIGNED_LABEL + manifest


def write_seal(seal: Seal) -> bytes:
    """The root of an export."""
    return write_node(
        {
            "key": seal.key,
            "kind": _KIND,
            "manifest": Link(seal.manifest),
            "signature": seal.signature,
            "version": _VERSION,
        }
    )


def read_seal(block: bytes) -> Seal:
    """Refuses, with `NotAnExport`, what is no root of an export that is understood here."""
    node = _read_members(block, "key", "kind", "manifest", "signature", "version")
    if node["kind"] != _KIND or node["version"] != _VERSION:
        raise NotAnExport("The export was made by a newer version of Imprint.")
    key, signature = node["key"], node["signature"]
    if not isinstance(key, bytes) or not isinstance(signature, bytes):
        raise NotAnExport("The export carries no signature.")
    return Seal(_cid(node["manifest"]), key, signature)


def write_manifest(manifest: Manifest) -> bytes:
    """The manifest as a block."""
    return write_node(
        {
            "chain_id": manifest.chain_id,
            "files": manifest.files,
            "made_at": write_instant(manifest.made_at),
            "marketplace": manifest.marketplace,
            "owner": manifest.owner,
            "pages": [Link(page) for page in manifest.pages],
        }
    )


def read_manifest(block: bytes) -> Manifest:
    """Refuses, with `NotAnExport`, what is no manifest."""
    node = _read_members(block, "chain_id", "files", "made_at", "marketplace", "owner", "pages")
    chain_id, files, owner = node["chain_id"], node["files"], node["owner"]
    if type(chain_id) is not int or type(files) is not int:
        raise NotAnExport("The manifest does not count as it should.")
    try:
        return Manifest(
            read_instant(node["made_at"]),
            chain_id,
            parse_address(node["marketplace"]),
            None if owner is None else parse_address(owner),
            files,
            _cids(node["pages"]),
        )
    except (ValueError, TypeError) as error:
        raise NotAnExport("The manifest is not as it should be.") from error


def write_index(pages: list[Cid]) -> bytes:
    """Links to pages, or to other indexes."""
    return write_node({"pages": [Link(page) for page in pages]})


def write_page(files: list[Exported]) -> bytes:
    """The records of files."""
    return write_node({"files": [write_record(each) for each in files]})


def read_page(block: bytes) -> tuple[Cid, ...] | list[Exported]:
    """The files of a page, or the links of an index. Refuses with `NotAnExport`."""
    try:
        node = read_node(block)
    except NotDagJson as error:
        raise NotAnExport("A page is damaged.") from error
    if isinstance(node, dict) and node.keys() == {"pages"}:
        return _cids(node["pages"])
    if isinstance(node, dict) and node.keys() == {"files"} and isinstance(node["files"], list):
        return [read_record(each) for each in node["files"]]
    raise NotAnExport("A page lists neither files nor pages.")


def _read_members(block: bytes, *names: str) -> dict[str, Any]:
    try:
        node = read_node(block)
    except NotDagJson as error:
        raise NotAnExport("This is no export: its root is no DAG-JSON.") from error
    if not isinstance(node, dict) or node.keys() != set(names):
        raise NotAnExport("This is no export that Imprint has made.")
    return node


def _cids(links: object) -> tuple[Cid, ...]:
    if not isinstance(links, list):
        raise NotAnExport("Links are not where they should be.")
    return tuple(_cid(link) for link in links)


def _cid(link: object) -> Cid:
    if not isinstance(link, Link):
        raise NotAnExport("A link is not where it should be.")
    return link.cid
