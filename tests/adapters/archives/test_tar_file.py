"""Tar files: plain members written by common tools are read, and other members are refused."""

import io
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imprint.adapters.archives.tar_file import (
    MAX_EXTENDED,
    NotATar,
    find_near_end,
    read_members,
)

FORMATS = [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]


def tar_of(*members, form=tarfile.PAX_FORMAT, **headers):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=form) as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size, info.pax_headers = len(data), headers
            tar.addfile(info, io.BytesIO(data))
    return file


def contents(file):
    found = []
    for member in read_members(file):
        file.seek(member.start)
        found.append((member.name, file.read(member.size)))
    return found


@pytest.mark.parametrize("form", FORMATS)
def test_members_are_read_back_unchanged(form):
    members = [("a", b"1"), ("b/c", b"x" * 512), ("d", b""), ("e", b"y" * 1025)]
    assert contents(tar_of(*members, form=form)) == members


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.PAX_FORMAT])
def test_a_long_name_is_read_from_its_header(form):
    name = "a" * 90 + "/" + "b" * 90
    assert contents(tar_of((name, b"1"), form=form)) == [(name, b"1")]


def test_folders_are_skipped():
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        folder = tarfile.TarInfo("content")
        folder.type = tarfile.DIRTYPE
        tar.addfile(folder)
        tar.addfile(tarfile.TarInfo("content/a"))
    assert contents(file) == [("content/a", b"")]


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_a_size_above_8_gigabytes_is_read_from_its_header(form):
    info = tarfile.TarInfo("imprint.db")
    info.size = 9 * 1024**3
    # There is no content: the reader parses the size, and then finds the file too short.
    with pytest.raises(NotATar, match="truncated"):
        list(read_members(io.BytesIO(info.tobuf(form) + bytes(2048))))


@pytest.mark.parametrize("end", [b"", bytes(512), bytes(1024), bytes(10_240), bytes(512) + b"junk"])
def test_an_archive_ends_at_a_zero_block_or_at_end_of_file(end):
    header = tarfile.TarInfo("a").tobuf(tarfile.USTAR_FORMAT)
    assert contents(io.BytesIO(header + end)) == [("a", b"")]


@pytest.mark.parametrize(
    "key", ["GNU.sparse.major", "GNU.sparse.map", "GNU.sparse.size", "GNU.sparse.numblocks"]
)
def test_a_sparse_file_is_refused(key):
    with pytest.raises(NotATar, match="sparse"):
        contents(tar_of(("a", b"1"), **{key: "1"}))


def test_an_extended_header_is_read_up_to_the_size_limit():
    fits = tar_of(("a", b"1"), comment="x" * (MAX_EXTENDED - 100))
    assert contents(fits) == [("a", b"1")]
    with pytest.raises(NotATar, match="extended header"):
        contents(tar_of(("a", b"1"), comment="x" * MAX_EXTENDED))


@pytest.mark.parametrize(
    "kind",
    [
        tarfile.LNKTYPE,
        tarfile.SYMTYPE,
        tarfile.CHRTYPE,
        tarfile.BLKTYPE,
        tarfile.FIFOTYPE,
        tarfile.CONTTYPE,
        tarfile.GNUTYPE_SPARSE,
        tarfile.GNUTYPE_LONGNAME,
        tarfile.XGLTYPE,
        b"M",
        b"?",
    ],
)
def test_a_member_that_is_not_a_plain_file_is_refused(kind):
    info = tarfile.TarInfo("a/")
    info.type = kind
    with pytest.raises(NotATar, match="not a plain file"):
        contents(io.BytesIO(info.tobuf(tarfile.GNU_FORMAT) + bytes(1024)))


def test_the_last_member_is_found_by_searching_from_the_end():
    file = tar_of(("a", b"x" * 100_000), ("b", b"1"), ("c", b"2"))
    found = find_near_end(file, "c")
    assert found == list(read_members(file))[-1]
    assert find_near_end(file, "a") is None


def test_a_matching_name_without_a_valid_header_is_not_found():
    assert find_near_end(tar_of(("a", b"c\0".ljust(512, b"x"))), "c") is None


WHOLE = tar_of(("a", b"1"), ("b/c", b"x" * 600), size="1").getvalue()[:4096]


@given(st.lists(st.tuples(st.integers(0, len(WHOLE)), st.binary(min_size=1, max_size=8))))
def test_members_read_from_a_damaged_tar_lie_within_the_file(changes):
    changed = bytearray(WHOLE)
    for at, data in changes:
        changed[at : at + len(data)] = data
    try:
        members = list(read_members(io.BytesIO(changed)))
    except NotATar:
        return
    assert len(members) <= len(changed) // 512
    assert all(member.start + member.size <= len(changed) for member in members)
