"""Export format: the DAG-JSON blocks around the documents, from the signed root to the records.

    root      the manifest's CID and its signature
    manifest  the scope of the export, and the CIDs of its pages or indexes
    index     the CIDs of pages or of other indexes
    page      records of visible files (all data except their bytes), of profiles of authors, or of
              revisions of posts with the data that their authors signed

This module has two sections: records, and the blocks above them.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from imprint.domain.drafts.files import File, Publication, State
from imprint.domain.drafts.tags import MAX_TAG_LENGTH, MAX_TAGS
from imprint.domain.errors import Refusal
from imprint.domain.formats.addresses import Address, parse_address
from imprint.domain.formats.cids import Cid, Codec, codec_of, parse_cid
from imprint.domain.formats.dag_json import Link, NotDagJson, read_node, write_node
from imprint.domain.formats.hexadecimal import parse_hash
from imprint.domain.posts.posts import LogPosition, PostCreated
from imprint.domain.posts.revisions import MAX_REVISIONS, Revision, is_note
from imprint.domain.profiles import Profile, parse_profile

# --- Records ---

_NAME = re.compile(r"(0x[0-9a-f]{40})_(0|[1-9][0-9]{0,18})\Z")
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
_POST_ID = re.compile(r"(0|[1-9][0-9]{0,77})\Z")
_LARGEST = 2**63
_LARGEST_NUMBER = 2**62
_LONGEST_KEY = 1024
_LONGEST_SALT = 8 * 1024
_LONGEST_SIGNATURE = 2 + 2 * 16 * 1024
_NOT_IN_TAGS = {",", "\0"}


class NotAnExport(ValueError):
    """The blocks are not an export, or the export is damaged or forged."""


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A visible file, and its PostCreated event if it is a post."""

    file: File
    event: PostCreated | None = None


def number_of(file: File | Revision) -> int:
    """Return the number in a file's name."""
    return int(file.name.rpartition("_")[2])


def write_record(exported: ExportedFile) -> dict[str, Any]:
    """Convert a file record into a DAG-JSON value."""
    file = exported.file
    return {
        "cid": Link(file.cid),
        "created_at": write_instant(file.created_at),
        "group_id": file.group_id,
        "hashtags": list(file.hashtags),
        "id": file.id,
        "name": file.name,
        "owner": file.owner,
        "post": None if exported.event is None else _write_post(file, exported.event),
        "size": file.size,
        "thumbnail_cid": None if file.thumbnail_cid is None else Link(file.thumbnail_cid),
        "wrapped_key": file.wrapped_key,
    }


def read_record(record: object) -> ExportedFile:
    """Parse a record. Raises `NotAnExport` for anything that `write_record` would not produce."""
    try:
        exported = _read_record(record)
        written = write_record(exported)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise NotAnExport("A record is malformed.") from error
    if written != record:
        raise NotAnExport(f"The record of the file {exported.file.id} is malformed.")
    return exported


def write_instant(moment: datetime) -> str:
    """Format a timestamp in UTC with microseconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def read_instant(text: str) -> datetime:
    """Parse the output of `write_instant`. Raises `ValueError`."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)


def _write_post(file: File, event: PostCreated) -> dict[str, Any]:
    place, publication = event.place, file.publication
    if publication is None:
        raise ValueError("A draft has no event.")
    return {
        "block_hash": place.block_hash,
        "block_number": place.block_number,
        "chain_id": place.chain_id,
        "log_index": place.log_index,
        "post_id": str(event.post_id),
        "published_at": write_instant(publication.published_at),
        "spelled_cid": event.spelled_cid,
        "tx_hash": publication.tx_hash,
    }


def _read_record(record: Any) -> ExportedFile:
    event, publication = _read_post(record)
    thumbnail, key = record["thumbnail_cid"], record["wrapped_key"]
    owner = parse_address(record["owner"])
    _check_name(record["name"], owner)
    if not all(_ID.match(record[name]) for name in ("id", "group_id")):
        raise ValueError("An id is malformed.")
    if key is not None and not (isinstance(key, bytes) and len(key) <= _LONGEST_KEY):
        raise ValueError("A wrapped key is malformed.")
    file = File(
        id=record["id"],
        group_id=record["group_id"],
        owner=owner,
        name=record["name"],
        cid=_document_cid(record["cid"]),
        size=_count(record["size"]),
        created_at=read_instant(record["created_at"]),
        state=State.PENDING if publication is None else State.ONCHAIN,
        position=0,
        hashtags=_hashtags(record["hashtags"]),
        thumbnail_cid=None if thumbnail is None else _document_cid(thumbnail),
        publication=publication,
        wrapped_key=key,
    )
    return ExportedFile(file, event)


def _check_name(name: str, owner: Address) -> None:
    named = _NAME.match(name)
    # The owner's next file gets a higher number, so this one must leave room above it.
    if named is None or named[1] != owner or int(named[2]) >= _LARGEST_NUMBER:
        raise ValueError("A file name has another owner's address, or its number is too high.")


def _read_post(record: Any) -> tuple[PostCreated | None, Publication | None]:
    post = record["post"]
    if post is None:
        return None, None
    tx_hash, height = post["tx_hash"], post["block_number"]
    if not _POST_ID.match(post["post_id"]) or (post_id := int(post["post_id"])) >= 2**256:
        raise ValueError("A post id is malformed.")
    place = LogPosition(
        _count(post["chain_id"]),
        parse_hash(post["block_hash"]),
        None if height is None else _count(height),
        _count(post["log_index"]),
        None if tx_hash is None else parse_hash(tx_hash),
    )
    cid = parse_cid(post["spelled_cid"])
    if cid != record["cid"].cid:
        raise ValueError("The CID of a post differs from that of its file.")
    author = parse_address(record["owner"])
    event = PostCreated(place, post_id, author, post["spelled_cid"], cid)
    publication = Publication(post_id, read_instant(post["published_at"]), place.tx_hash)
    return event, publication


def _hashtags(tags: list[str]) -> tuple[str, ...]:
    if len(tags) > MAX_TAGS or len(set(tags)) != len(tags):
        raise ValueError("There are too many hashtags, or duplicates.")
    if not all(1 <= len(tag) <= MAX_TAG_LENGTH and not _NOT_IN_TAGS & set(tag) for tag in tags):
        raise ValueError("A hashtag is malformed.")
    return tuple(tags)


def _document_cid(link: Link) -> Cid:
    if codec_of(link.cid) is Codec.DAG_JSON:
        raise ValueError("A document must not be DAG-JSON.")
    return link.cid


def _count(value: object) -> int:
    if type(value) is not int or not 0 <= value < _LARGEST:
        raise ValueError("A number is malformed.")
    return value


def write_profile(profile: Profile) -> dict[str, Any]:
    """Convert a profile into a DAG-JSON value."""
    texts, avatar = profile.texts, profile.avatar_cid
    return {
        "address": profile.address,
        "avatar_cid": None if avatar is None else Link(avatar),
        "bio": texts.bio,
        "links": list(texts.links),
        "name": texts.name,
        "updated_at": write_instant(profile.updated_at),
    }


def read_profile(record: Any) -> Profile:
    """Parse a profile. Raises `NotAnExport` for anything that `write_profile` would not produce."""
    try:
        avatar = record["avatar_cid"]
        profile = Profile(
            parse_address(record["address"]),
            parse_profile(record["name"], record["bio"], "\n".join(record["links"])),
            None if avatar is None else _document_cid(avatar),
            read_instant(record["updated_at"]),
        )
        written = write_profile(profile)
    except (Refusal, ValueError, TypeError, KeyError, AttributeError) as error:
        raise NotAnExport("A profile is malformed.") from error
    if written != record:
        raise NotAnExport(f"The profile of {profile.address} is malformed.")
    return profile


def write_revision(revision: Revision) -> dict[str, Any]:
    """Convert a revision into the value of a DAG-JSON node."""
    return {
        "cid": Link(revision.cid),
        "created_at": write_instant(revision.created_at),
        "document": Link(revision.document),
        "id": revision.id,
        "name": revision.name,
        "note": revision.note,
        "number": revision.number,
        "owner": revision.owner,
        "salt": revision.salt,
        "signature": revision.signature,
        "size": revision.size,
        "wrapped_key": revision.wrapped_key,
    }


def read_revision(record: Any) -> Revision:
    """Parse a revision. Raises `NotAnExport` for anything that `write_revision` would not write."""
    try:
        revision = _read_revision(record)
        written = write_revision(revision)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise NotAnExport("A revision is malformed.") from error
    if written != record:
        raise NotAnExport(f"The revision {revision.id} is malformed.")
    return revision


def _read_revision(record: Any) -> Revision:
    key, salt, signature = record["wrapped_key"], record["salt"], record["signature"]
    owner = parse_address(record["owner"])
    _check_name(record["name"], owner)
    if not _ID.match(record["id"]):
        raise ValueError("An id is malformed.")
    if key is not None and not (isinstance(key, bytes) and len(key) <= _LONGEST_KEY):
        raise ValueError("A wrapped key is malformed.")
    if not is_note(record["note"]) or not 1 <= _count(record["number"]) <= MAX_REVISIONS:
        raise ValueError("The note or the number of a revision is malformed.")
    if not (isinstance(salt, str) and len(salt) <= _LONGEST_SALT):
        raise ValueError("What the author of a revision signed is malformed.")
    if not (isinstance(signature, str) and len(signature) <= _LONGEST_SIGNATURE):
        raise ValueError("The signature of a revision is malformed.")
    return Revision(
        record["id"],
        _document_cid(record["document"]),
        record["number"],
        owner,
        record["name"],
        _document_cid(record["cid"]),
        _count(record["size"]),
        record["note"],
        read_instant(record["created_at"]),
        salt,
        signature,
        key,
    )


# --- Pages, indexes, the manifest and its signed root ---

FILES_PER_PAGE = 250
"""Maximum number of records on a page, chosen to stay far below the block size limit."""

REVISIONS_PER_PAGE = 20
"""Maximum number of revisions on a page: a contract wallet's signature may have up to 16 KiB."""

LINKS_PER_NODE = 1000
"""Maximum number of links in an index or a manifest."""

INDEX_LEVELS = 8
"""Maximum number of index levels between the manifest and a page."""

_KEY_BYTES, _SIGNATURE_BYTES = 32, 64
"""The sizes of an Ed25519 public key and of a signature, in bytes."""

_KIND, _VERSION = "imprint-export", 1
_SIGNED_LABEL = b"imprint export 1\0"


@dataclass(frozen=True, slots=True)
class Manifest:
    """The scope of an export: a marketplace on one chain, and one owner, or None for all owners."""

    made_at: datetime
    chain_id: int
    marketplace: Address
    owner: Address | None
    files: int
    pages: tuple[Cid, ...]
    profiles: int = 0
    revisions: int = 0


@dataclass(frozen=True, slots=True)
class SignedRoot:
    """The root of an export: the manifest's CID and its signature."""

    manifest: Cid
    key: bytes
    signature: bytes


def signed_bytes(manifest: bytes) -> bytes:
    """Return the bytes that a manifest's signature covers."""
    return _SIGNED_LABEL + manifest


def write_signed_root(root: SignedRoot) -> bytes:
    """Encode the root of an export."""
    return write_node(
        {
            "key": root.key,
            "kind": _KIND,
            "manifest": Link(root.manifest),
            "signature": root.signature,
            "version": _VERSION,
        }
    )


def read_signed_root(block: bytes) -> SignedRoot:
    """Decode the root of an export. Raises `NotAnExport`, including for newer formats."""
    node = _read_members(block, "key", "kind", "manifest", "signature", "version")
    if node["kind"] != _KIND or node["version"] != _VERSION:
        raise NotAnExport("The export was made by a newer version of Imprint.")
    key, signature = node["key"], node["signature"]
    if not isinstance(key, bytes) or not isinstance(signature, bytes):
        raise NotAnExport("The export is not signed.")
    if (len(key), len(signature)) != (_KEY_BYTES, _SIGNATURE_BYTES):
        raise NotAnExport("The key or the signature of the export is malformed.")
    return SignedRoot(_cid(node["manifest"]), key, signature)


def write_manifest(manifest: Manifest) -> bytes:
    """Encode a manifest. Counts of profiles and revisions are left out if they are zero."""
    members = {
        "chain_id": manifest.chain_id,
        "files": manifest.files,
        "made_at": write_instant(manifest.made_at),
        "marketplace": manifest.marketplace,
        "owner": manifest.owner,
        "pages": [Link(page) for page in manifest.pages],
    }
    later = {"profiles": manifest.profiles, "revisions": manifest.revisions}
    return write_node(members | {name: count for name, count in later.items() if count})


def read_manifest(block: bytes) -> Manifest:
    """Decode a manifest. Raises `NotAnExport`."""
    names = ("chain_id", "files", "made_at", "marketplace", "owner", "pages")
    node = _read_members(block, *names, optional=("profiles", "revisions"))
    owner = node["owner"]
    try:
        manifest = Manifest(
            read_instant(node["made_at"]),
            _count(node["chain_id"]),
            parse_address(node["marketplace"]),
            None if owner is None else parse_address(owner),
            _count(node["files"]),
            _cids(node["pages"]),
            _count(node.get("profiles", 0)),
            _count(node.get("revisions", 0)),
        )
    except (ValueError, TypeError) as error:
        raise NotAnExport("The manifest is malformed.") from error
    if write_manifest(manifest) != block:
        raise NotAnExport("The manifest is malformed.")
    return manifest


def write_index(pages: list[Cid]) -> bytes:
    """Encode an index, which links to pages or to other indexes."""
    return write_node({"pages": [Link(page) for page in pages]})


def write_page(files: list[ExportedFile]) -> bytes:
    """Encode a page of file records."""
    return write_node({"files": [write_record(each) for each in files]})


def write_profiles(profiles: list[Profile]) -> bytes:
    """Encode a page of profiles."""
    return write_node({"profiles": [write_profile(each) for each in profiles]})


def write_revisions(revisions: list[Revision]) -> bytes:
    """Encode a page of revisions."""
    return write_node({"revisions": [write_revision(each) for each in revisions]})


def read_page(
    block: bytes,
) -> tuple[Cid, ...] | list[ExportedFile] | list[Profile] | list[Revision]:
    """Decode a page into its records, or an index into its links. Raises `NotAnExport`."""
    try:
        node = read_node(block)
    except NotDagJson as error:
        raise NotAnExport("A page is damaged.") from error
    if isinstance(node, dict) and node.keys() == {"pages"} and node["pages"]:
        return _cids(node["pages"])
    if isinstance(node, dict) and node.keys() == {"files"} and isinstance(node["files"], list):
        if 1 <= len(node["files"]) <= FILES_PER_PAGE:
            return [read_record(each) for each in node["files"]]
        raise NotAnExport(f"A page must list 1 to {FILES_PER_PAGE} files.")
    if isinstance(node, dict) and node.keys() == {"profiles"}:
        profiles = node["profiles"]
        if isinstance(profiles, list) and 1 <= len(profiles) <= FILES_PER_PAGE:
            return [read_profile(each) for each in profiles]
        raise NotAnExport(f"A page must list 1 to {FILES_PER_PAGE} profiles.")
    if isinstance(node, dict) and node.keys() == {"revisions"}:
        revisions = node["revisions"]
        if isinstance(revisions, list) and 1 <= len(revisions) <= REVISIONS_PER_PAGE:
            return [read_revision(each) for each in revisions]
        raise NotAnExport(f"A page must list 1 to {REVISIONS_PER_PAGE} revisions.")
    raise NotAnExport("A page lists neither files nor pages.")


def _read_members(block: bytes, *names: str, optional: tuple[str, ...] = ()) -> dict[str, Any]:
    try:
        node = read_node(block)
    except NotDagJson as error:
        raise NotAnExport("This is not an export: its root is not DAG-JSON.") from error
    if not isinstance(node, dict) or node.keys() - set(optional) != set(names):
        raise NotAnExport("This is not an export of Imprint.")
    return node


def _cids(links: object) -> tuple[Cid, ...]:
    if not isinstance(links, list):
        raise NotAnExport("A list of links is missing.")
    if len(links) > LINKS_PER_NODE:
        raise NotAnExport(f"A manifest or an index has more than {LINKS_PER_NODE} links.")
    return tuple(_cid(link) for link in links)


def _cid(link: object) -> Cid:
    if not isinstance(link, Link):
        raise NotAnExport("A link is missing.")
    return link.cid
