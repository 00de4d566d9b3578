"""Hostile tar files in place of backups: one function per attack.

Each function creates a file in a folder and returns its path. Few of them take up disk
space: large ones are sparse.
"""

import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

from tests.services.backup_parts import (
    DOCUMENTS,
    document_entries,
    entries_of,
    entry_of,
    good_catalog,
    header_of,
    manifest_of,
    member_of,
    tar_of,
    write_tar,
)

from imprint.domain.formats.cids import document_cid

GIGABYTES = 3 * 1024**3

# --- Tar files ---


def sparse_member_that_writes_3_gigabytes(folder: Path) -> Path:
    """A member of one kilobyte that unpacks to three gigabytes, in GNU's old sparse format."""
    header = bytearray(header_of("imprint.db", 0, tarfile.GNUTYPE_SPARSE))
    header[386:410] = b"%011o\0%011o\0" % (GIGABYTES, 0)
    header[483:495] = b"\x80" + GIGABYTES.to_bytes(11, "big")
    return write_tar(folder, _with_checksum(header), tar_of({"backup.json": b"{}"}))


def _with_checksum(header: bytearray) -> bytes:
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header)


def _records(**given: str) -> bytes:
    made = b""
    for key, value in given.items():
        record = f" {key.replace('__', '.')}={value}\n".encode()
        length = len(record)
        while len(str(length)) + len(record) != length:
            length = len(str(length)) + len(record)
        made += str(length).encode() + record
    return made


def _with_extended(folder: Path, records: bytes, name: str = "imprint.db", size: int = 0) -> Path:
    extended = member_of("x", records, tarfile.XHDTYPE)
    rest = tar_of({"backup.json": entries_of()["backup.json"]})
    return write_tar(folder, extended, member_of(name, bytes(size)), rest)


def extended_header_of_a_sparse_file(folder: Path) -> Path:
    sparse = {"GNU__sparse__major": "1", "GNU__sparse__minor": "0"}
    sparse |= {"GNU__sparse__name": "imprint.db", "GNU__sparse__realsize": str(GIGABYTES)}
    return _with_extended(folder, _records(**sparse), size=512)


def extended_header_of_an_older_sparse_file(folder: Path) -> Path:
    sparse = {"GNU__sparse__map": f"{GIGABYTES},0", "GNU__sparse__size": str(GIGABYTES)}
    return _with_extended(folder, _records(**sparse))


def extended_header_of_3_megabytes(folder: Path) -> Path:
    return _with_extended(folder, _records(comment="a" * 3_000_000))


def extended_header_that_claims_gigabytes(folder: Path) -> Path:
    """A sparse header that takes up no disk space, but exhausts memory when read whole."""
    path = write_tar(folder, header_of("x", GIGABYTES, tarfile.XHDTYPE))
    os.truncate(path, GIGABYTES + 4096)
    return path


def extended_header_of_digits(folder: Path) -> Path:
    """A header that takes quadratic time if a search restarts at every digit."""
    return _with_extended(folder, b"1" * 60_000)


def extended_header_with_a_size_of_many_digits(folder: Path) -> Path:
    return _with_extended(folder, _records(size="9" * 5000))


def extended_headers_without_end(folder: Path) -> Path:
    return write_tar(folder, member_of("x", _records(comment="a"), tarfile.XHDTYPE) * 3000)


def long_names_without_end(folder: Path) -> Path:
    return write_tar(folder, member_of("x", b"a" * 200, tarfile.GNUTYPE_LONGNAME) * 3000)


def size_below_zero(folder: Path) -> Path:
    """A negative size, which makes a naive reader loop forever or go backwards."""
    header = bytearray(header_of("imprint.db", 0))
    header[124:136] = (-512).to_bytes(12, "big", signed=True)
    return write_tar(folder, _with_checksum(header))


def size_beyond_the_file(folder: Path) -> Path:
    return write_tar(folder, header_of("imprint.db", 2**40))


def size_that_is_no_number(folder: Path) -> Path:
    header = bytearray(header_of("imprint.db", 0))
    header[124:136] = b"0x1f\xff\xfe 9999"
    return write_tar(folder, _with_checksum(header))


def symbolic_link(folder: Path) -> Path:
    return _beside(folder, header_of("content", 0, tarfile.SYMTYPE, linkname="/etc"))


def hard_link(folder: Path) -> Path:
    link = header_of(entry_of(document_cid(b"x")), 0, tarfile.LNKTYPE, linkname="/etc/passwd")
    return _beside(folder, link)


def device(folder: Path) -> Path:
    return _beside(folder, header_of("imprint.db", 0, tarfile.CHRTYPE, devmajor=1, devminor=5))


def named_pipe(folder: Path) -> Path:
    return _beside(folder, header_of("backup.json", 0, tarfile.FIFOTYPE))


def absolute_name(folder: Path) -> Path:
    return _beside(folder, member_of("/tmp/imprint-was-here", b"x"))


def name_that_leads_outside(folder: Path) -> Path:
    return _beside(folder, member_of("content/private/../../../was-here", b"x"))


def name_with_control_characters(folder: Path) -> Path:
    return _beside(folder, member_of("content/\x1b[2Jgone", b"x"))


def name_with_a_nul(folder: Path) -> Path:
    return _beside(folder, member_of("content/a\0b", b"x"))


def name_of_four_kilobytes(folder: Path) -> Path:
    extended = member_of("x", _records(path="content/" + "a" * 4096), tarfile.XHDTYPE)
    return _beside(folder, extended + member_of("short", b"x"))


def name_that_is_no_utf_8(folder: Path) -> Path:
    header = bytearray(header_of("content/xx", 0))
    header[8:10] = b"\xff\xfe"
    return _beside(folder, _with_checksum(header))


def _beside(folder: Path, member: bytes) -> Path:
    """A valid backup with an additional member."""
    return write_tar(folder, member, tar_of(entries_of()))


def document_twice(folder: Path) -> Path:
    return _beside(folder, tar_of(document_entries()))


def manifest_twice(folder: Path) -> Path:
    return _beside(folder, tar_of({"backup.json": manifest_of(b"")}))


def catalog_twice(folder: Path) -> Path:
    return _beside(folder, tar_of({"imprint.db": b"x"}))


def document_that_nothing_names(folder: Path) -> Path:
    return _beside(folder, tar_of({entry_of(document_cid(b"x")): b"x"}))


def many_documents_that_nothing_names(folder: Path) -> Path:
    more = {entry_of(document_cid(data)): data for data in (b"%d" % n for n in range(3000))}
    return _beside(folder, tar_of(more))


def document_of_3_gigabytes(folder: Path) -> Path:
    """A hole of 3 GB in the tar file in place of a document of a few bytes."""
    entries = entries_of()
    name, _ = entries.popitem()
    assert name == "backup.json"
    cid = document_cid(DOCUMENTS[0])
    entries.pop(entry_of(cid))
    path = folder / "saved.tar"
    with path.open("wb") as file:
        file.write(tar_of(entries) + header_of(entry_of(cid), GIGABYTES))
        file.seek(GIGABYTES, os.SEEK_CUR)
        file.write(tar_of({"backup.json": manifest_of(good_catalog())}) + bytes(1024))
    return path


def catalog_of_3_gigabytes(folder: Path) -> Path:
    """A hole in place of the catalog, with the size that a forged manifest claims."""
    path = folder / "saved.tar"
    manifest = manifest_of(good_catalog())
    with path.open("wb") as file:
        file.write(header_of("imprint.db", GIGABYTES))
        file.seek(GIGABYTES, os.SEEK_CUR)
        file.write(tar_of({"backup.json": manifest}) + bytes(1024))
    return path


def manifest_that_hides_in_a_document(folder: Path) -> Path:
    """The apparent manifest at the end is really the content of another member."""
    hidden = tar_of({"backup.json": manifest_of(good_catalog())})
    entries = {"imprint.db": good_catalog(), **document_entries(), "content/more": hidden}
    return write_tar(folder, tar_of(entries))


def cut_off(folder: Path) -> Path:
    whole = tar_of(entries_of())
    path = folder / "saved.tar"
    path.write_bytes(whole[: len(whole) // 2])
    return path


def bytes_that_are_no_tar_file(folder: Path) -> Path:
    path = folder / "saved.tar"
    path.write_bytes(bytes(range(256)) * 100)
    return path


def gzip_bomb(folder: Path) -> Path:
    """Compressed tar files are not read at all."""
    path = folder / "saved.tar"
    with tarfile.open(path, "w:gz") as tar:
        info = tarfile.TarInfo("imprint.db")
        info.size = 10_000_000
        tar.addfile(info, io.BytesIO(bytes(info.size)))
    return path


# --- Manifests ---


def _with_manifest(folder: Path, manifest: bytes) -> Path:
    return write_tar(folder, tar_of(entries_of(manifest=manifest)))


def manifest_nested_too_deep(folder: Path) -> Path:
    return _with_manifest(folder, b"[" * 30_000 + b"]" * 30_000)


def manifest_with_a_member_nested_too_deep(folder: Path) -> Path:
    return _with_manifest(folder, b'{"documents":' * 5_000 + b"1" + b"}" * 5_000)


def manifest_of_5_megabytes(folder: Path) -> Path:
    return _with_manifest(folder, manifest_of(good_catalog(), kind="a" * 5_000_000))


def manifest_of_duplicate_members(folder: Path) -> Path:
    good = manifest_of(good_catalog())
    return _with_manifest(folder, good[:-1] + b"," + good[1:])


def manifest_of_wrong_types(folder: Path) -> Path:
    return _with_manifest(folder, manifest_of(good_catalog(), catalog_bytes="many"))


def manifest_with_a_float(folder: Path) -> Path:
    size = float(len(good_catalog()))
    return _with_manifest(folder, manifest_of(good_catalog(), catalog_bytes=size))


def manifest_with_a_list_for_a_digest(folder: Path) -> Path:
    return _with_manifest(folder, manifest_of(good_catalog(), catalog_sha256=["a"]))


def manifest_with_a_huge_number(folder: Path) -> Path:
    manifest = manifest_of(good_catalog(), catalog_bytes="N").replace(b'"N"', b"9" * 50_000)
    return _with_manifest(folder, manifest)


def manifest_with_a_count_of_many_digits(folder: Path) -> Path:
    return _with_manifest(folder, manifest_of(good_catalog(), catalog_bytes=10**4000))


def manifest_that_is_no_utf_8(folder: Path) -> Path:
    return _with_manifest(folder, b'{"kind": "\xff\xfe\xfd"}')


def manifest_that_is_a_list(folder: Path) -> Path:
    return _with_manifest(folder, b"[1, 2, 3]")


def manifest_with_another_moment(folder: Path) -> Path:
    return _with_manifest(folder, manifest_of(good_catalog(), made_at="\x1b[2Jnever"))


def manifest_of_another_version(folder: Path) -> Path:
    return _with_manifest(folder, manifest_of(good_catalog(), version=10**100))


def empty_manifest(folder: Path) -> Path:
    return _with_manifest(folder, b"")


TARS: dict[str, Callable[[Path], Path]] = {
    name: value
    for name, value in globals().items()
    if getattr(value, "__module__", None) == __name__ and not name.startswith("_")
}
"""All hostile tar files, by the name of the attack."""
