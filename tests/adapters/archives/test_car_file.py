"""Reading CAR files by CID, in any order. Damaged, missing or changed blocks are refused."""

import pytest

from imprint.adapters.archives.car_file import open_car
from imprint.domain.exports import NotAnExport
from imprint.domain.formats.car import write_header, write_section
from imprint.domain.formats.cids import document_cid

# Larger than the file buffer, so that each read of a block reads the file again.
BLOCKS = {document_cid(block): block for block in (bytes([n]) * 50_000 for n in range(3))}
FIRST, SECOND, THIRD = BLOCKS
PIECES = [write_header([SECOND]), *(write_section(*each) for each in BLOCKS.items())]
CAR = b"".join(PIECES)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "export.car"
    path.write_bytes(CAR)
    return path


def ignore(done, total):
    pass


def test_blocks_are_read_by_cid_in_any_order(path):
    with open_car(path, ignore) as car:
        assert car.roots == (SECOND,)
        for cid in (THIRD, FIRST, THIRD, SECOND):
            assert car.read(cid) == BLOCKS[cid]


def test_the_error_for_a_missing_block_names_its_cid(path):
    missing = document_cid(b"missing")
    with open_car(path, ignore) as car, pytest.raises(NotAnExport, match=missing):
        car.read(missing)


def test_a_block_counts_as_unreached_until_its_first_read(path):
    with open_car(path, ignore) as car:
        counts = [car.unreached()]
        for cid in (FIRST, FIRST, THIRD):
            car.read(cid)
            counts.append(car.unreached())
    assert counts == [3, 2, 2, 1]


def test_a_block_that_occurs_twice_counts_once(path):
    path.write_bytes(CAR + PIECES[1])
    with open_car(path, ignore) as car:
        assert car.read(FIRST) == BLOCKS[FIRST]
        assert car.unreached() == 2


def test_noting_a_type_and_value_reports_whether_the_pair_is_new(path):
    with open_car(path, ignore) as car:
        noted = [car.note(*each) for each in (("id", "1"), ("id", "1"), ("id", "2"), ("name", "1"))]
    assert noted == [True, False, True, True]


def test_progress_ends_at_the_full_file_size(path):
    steps = []
    with open_car(path, lambda done, total: steps.append((done, total))):
        pass
    assert [total for _, total in steps] == [len(CAR)] * 3
    assert [done for done, _ in steps] == [
        len(b"".join(PIECES[:count])) for count in range(2, len(PIECES) + 1)
    ]


HEADER = len(PIECES[0])


@pytest.mark.parametrize("length", [0, 1, HEADER - 1, HEADER + 1, HEADER + 20, len(CAR) - 1])
def test_a_truncated_file_is_refused(path, length):
    path.write_bytes(CAR[:length])
    with pytest.raises(NotAnExport), open_car(path, ignore):
        pass


def test_a_damaged_block_is_refused_when_the_file_is_opened(path):
    path.write_bytes(CAR[:-1] + b"\xff")
    with pytest.raises(NotAnExport, match=THIRD), open_car(path, ignore):
        pass


def test_a_block_that_changes_after_the_file_is_opened_is_refused(path):
    with open_car(path, ignore) as car:
        with path.open("r+b") as file:
            file.seek(HEADER + 1000)
            file.write(b"\xff")
        with pytest.raises(NotAnExport, match=FIRST):
            car.read(FIRST)
        assert car.read(SECOND) == BLOCKS[SECOND]


def test_a_file_truncated_after_opening_is_refused(path):
    with open_car(path, ignore) as car:
        with path.open("r+b") as file:
            file.truncate(HEADER + 1000)
        with pytest.raises(NotAnExport, match=FIRST):
            car.read(FIRST)
