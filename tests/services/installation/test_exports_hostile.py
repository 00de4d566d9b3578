"""Untrusted exports are either valid, or refused after bounded work."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hypothesis_settings import SHARED_FIXTURE
from tests.services.hostile_exports import (
    EXPORTS,
    document,
    file_of,
    raw,
    valid,
    with_files,
)
from tests.services.installations import ignore, opened_car, verify

from imprint.adapters.archives.car_file import CarFile
from imprint.domain.exports import ExportedFile, NotAnExport
from imprint.domain.formats.cids import Cid, blocks, document_cid
from imprint.services.installation.exports import (
    FREE_REPETITION,
    MAX_REPETITION,
    check_export,
    open_export,
    read_file,
    walk_records,
)

MOST_BLOCKS = 200
"""Maximum number of blocks read from an export before it is refused."""


@dataclass
class CountedArchive:
    """An archive that counts how much of it is read."""

    car: CarFile
    blocks: int = 0
    total: int = 0

    @property
    def roots(self) -> tuple[Cid, ...]:
        return self.car.roots

    @property
    def size(self) -> int:
        return self.car.size

    def read(self, cid: Cid) -> bytes:
        block = self.car.read(cid)
        self.blocks += 1
        self.total += len(block)
        assert self.total <= MAX_REPETITION * self.size + FREE_REPETITION + 2**21
        assert self.blocks <= MOST_BLOCKS
        return block

    def note(self, kind: str, value: str) -> bool:
        return self.car.note(kind, value)

    def unreached(self) -> int:
        return self.car.unreached()


def contents(folder, car: bytes) -> dict[str, bytes]:
    """The documents of an export by file name. Raises `NotAnExport`."""
    with opened_car(folder, car) as opened:
        archive = CountedArchive(opened)
        export = open_export(archive)
        check_export(archive, export, ignore)
        records = walk_records(opened, export.manifest)
        files = [each.file for each in records if isinstance(each, ExportedFile)]
        return {file.name: read_file(opened, file) for file in files}


@pytest.mark.parametrize("name", EXPORTS)
def test_a_hostile_export_is_refused_after_bounded_work(name, tmp_path):
    with pytest.raises(NotAnExport) as refusal:
        contents(tmp_path, EXPORTS[name]())
    text = str(refusal.value)
    assert text.isprintable()
    assert len(text) < 300


def test_a_valid_export_is_accepted(tmp_path):
    assert verify(tmp_path, valid()).files == len(contents(tmp_path, valid())) == 3


def test_an_export_truncated_anywhere_is_refused(tmp_path):
    data = document("A.")
    car = with_files([file_of(0, document_cid(data), len(data))], raw(data))
    assert contents(tmp_path, car)
    for end in range(len(car)):
        with pytest.raises(NotAnExport):
            contents(tmp_path, car[:end])


def test_a_document_may_contain_a_block_repeatedly(tmp_path):
    data = document("a" * 3_000_000)
    unique = {cid: bytes(block) for cid, block in blocks(data)}
    car = with_files([file_of(0, document_cid(data), len(data))], *unique.items())
    assert len(car) < len(data)
    assert contents(tmp_path, car) == {file_of(0, document_cid(data), 0).file.name: data}


def test_a_thumbnail_shared_by_many_files_is_read_once(tmp_path):
    picture = b"\x89PNG\r\n\x1a\n" + bytes(250_000)
    documents = [document("A.", number) for number in range(50)]
    files = [
        file_of(number, document_cid(each), len(each), thumbnail_cid=document_cid(picture))
        for number, each in enumerate(documents)
    ]
    with opened_car(tmp_path, with_files(files, raw(picture), *map(raw, documents))) as opened:
        archive = CountedArchive(opened)
        check_export(archive, open_export(archive), ignore)
    assert archive.total < archive.size


VALID = valid()
ORIGINAL: dict[str, bytes] = {}


def mutations() -> st.SearchStrategy[list[tuple[int, int, bytes]]]:
    """Changes to an export, each as a position, a number of bytes to replace, and new bytes."""
    place = st.integers(0, len(VALID))
    return st.lists(st.tuples(place, st.integers(0, 40), st.binary(max_size=40)), min_size=1)


@given(mutations())
@SHARED_FIXTURE
def test_a_modified_export_is_refused_or_has_the_same_contents(tmp_path, changes):
    changed = bytearray(VALID)
    for at, length, data in changes:
        changed[at : at + length] = data
    ORIGINAL.update(ORIGINAL or contents(tmp_path, VALID))
    try:
        found = contents(tmp_path, bytes(changed))
    except NotAnExport:
        return
    assert found == ORIGINAL


def sections(car: bytes) -> Iterator[tuple[int, int]]:
    """The start and end positions of the sections of a small CAR."""
    at = 0
    while at < len(car):
        length = shift = 0
        start = at
        while True:
            byte = car[at]
            length |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                break
        at += length
        yield start, at


@given(st.lists(st.integers(0, 7), max_size=20))
@SHARED_FIXTURE
def test_reordered_or_repeated_sections_are_refused_or_have_the_same_contents(tmp_path, order):
    (_, header), *rest = sections(VALID)
    pieces = [VALID[start:end] for start, end in rest]
    car = VALID[:header] + b"".join(pieces[each % len(pieces)] for each in order)
    ORIGINAL.update(ORIGINAL or contents(tmp_path, VALID))
    try:
        found = contents(tmp_path, car)
    except NotAnExport:
        return
    assert found == ORIGINAL
