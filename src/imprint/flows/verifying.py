"""Verifying: an export proven from its own bytes, with no service, network or settings."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from imprint.auth.export_keys import is_signed
from imprint.domain.assembly import NotAssembled, assemble
from imprint.domain.cids import Cid
from imprint.domain.documents import NotADocument, read_document
from imprint.domain.export_records import Exported, NotAnExport
from imprint.domain.exports import (
    Manifest,
    read_manifest,
    read_page,
    read_seal,
    signed_bytes,
)
from imprint.domain.files import File
from imprint.ports.archives import Archive

MAX_THUMBNAIL = 64 * 1024 * 1024
"""Far more bytes than any thumbnail has."""

_PICTURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")
"""How thumbnails begin."""

Tell = Callable[[int, int], None]
"""Hears how many files are done, and of how many."""


@dataclass(frozen=True, slots=True)
class OpenedExport:
    """What an export says of itself, and whose word that is."""

    manifest: Manifest
    key: bytes


@dataclass(frozen=True, slots=True)
class Carried:
    """A file of an export with the bytes of its documents."""

    exported: Exported
    document: bytes
    thumbnail: bytes | None


def open_export(archive: Archive, trusted: bytes | None = None) -> OpenedExport:
    """The manifest, if its signature holds.

    Refuses, with `NotAnExport`, any other archive, and another key than the trusted one.
    """
    if len(archive.roots) != 1:
        raise NotAnExport("An export has one root.")
    seal = read_seal(archive.read(archive.roots[0]))
    if trusted is not None and seal.key != trusted:
        raise NotAnExport(f"The export is signed by another key, {seal.key.hex()}.")
    manifest = archive.read(seal.manifest)
    if not is_signed(seal.key, signed_bytes(manifest), seal.signature):
        raise NotAnExport("The signature of the manifest is wrong.")
    return OpenedExport(read_manifest(manifest), seal.key)


def check_export(archive: Archive, opened: OpenedExport, tell: Tell) -> None:
    """Prove every file of an export, and that it has nothing else. Refuses with `NotAnExport`."""
    manifest, done = opened.manifest, 0
    tell(done, manifest.files)
    for carried in walk_export(archive, manifest):
        _check_file(archive, manifest, carried.exported)
        done += 1
        tell(done, manifest.files)
    if done != manifest.files:
        raise NotAnExport(f"The manifest speaks of {manifest.files} files, but lists {done}.")
    if strangers := archive.unreached():
        raise NotAnExport(f"{strangers} blocks are not those of any file in the manifest.")


def walk_export(archive: Archive, manifest: Manifest) -> Iterator[Carried]:
    """Every file in its order, with its documents. Refuses with `NotAnExport`."""
    waiting = list(reversed(manifest.pages))
    while waiting:
        cid = waiting.pop()
        found = read_page(archive.read(cid))
        if isinstance(found, tuple):
            # An index that links to itself would have to know its own hash, so this ends.
            waiting += reversed(found)
            continue
        for exported in found:
            yield _carry(archive, exported)


def _carry(archive: Archive, exported: Exported) -> Carried:
    file = exported.file
    document = _assemble(archive, file.cid, file.size)
    if len(document) != file.size:
        raise NotAnExport(f"The document {file.cid} has {len(document)} bytes, not {file.size}.")
    if file.wrapped_key is None:
        _check_document(file, document)
    if file.thumbnail_cid is None:
        return Carried(exported, document, None)
    thumbnail = _assemble(archive, file.thumbnail_cid, MAX_THUMBNAIL)
    if not thumbnail.startswith(_PICTURES):
        raise NotAnExport(f"The thumbnail {file.thumbnail_cid} is no picture.")
    return Carried(exported, document, thumbnail)


def _assemble(archive: Archive, cid: Cid, limit: int) -> bytes:
    try:
        return assemble(cid, archive.read, limit)
    except NotAssembled as error:
        raise NotAnExport(str(error)) from error


def _check_document(file: File, document: bytes) -> None:
    try:
        name = read_document(document).name
    except NotADocument as error:
        raise NotAnExport(f"The document {file.cid} is none.") from error
    if name != file.name:
        raise NotAnExport(f"The document {file.cid} is named {name}, not {file.name}.")


def _check_file(archive: Archive, manifest: Manifest, exported: Exported) -> None:
    file, event = exported.file, exported.event
    if manifest.owner not in (None, file.owner):
        raise NotAnExport(f"The file {file.id} is not of the owner that the export is of.")
    names = {"id": file.id, "name": file.name, "cid": file.cid, "group": file.group_id}
    if event is not None:
        names["post"] = str(event.post_id)
        if event.place.chain_id != manifest.chain_id:
            raise NotAnExport(f"The file {file.id} is published on another chain.")
    for kind, value in names.items():
        if not archive.note(kind, value):
            raise NotAnExport(f"Two files have the same {kind}, {value}.")
