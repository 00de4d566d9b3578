"""The shelf holds what was read lately, within its size."""

import sys

from imprint.domain.cids import Cid
from imprint.domain.documents import SMALL_DOCUMENT
from imprint.flows.shelf import Shelf

CIDS = [Cid(f"bafy{number}") for number in range(10)]
CONTENT = "x" * 1000
ROOM_FOR_THREE = 3 * sys.getsizeof(CONTENT)


def held(shelf: Shelf) -> list[Cid]:
    return [cid for cid in CIDS if shelf.take(cid) is not None]


def test_a_content_is_there_again() -> None:
    shelf = Shelf()
    assert shelf.take(CIDS[0]) is None
    shelf.keep(CIDS[0], CONTENT)
    assert shelf.take(CIDS[0]) == CONTENT


def test_an_empty_content_is_a_content() -> None:
    shelf = Shelf()
    shelf.keep(CIDS[0], "")
    assert shelf.take(CIDS[0]) == ""


def test_what_was_not_read_for_longest_makes_room() -> None:
    shelf = Shelf(ROOM_FOR_THREE)
    for cid in CIDS[:3]:
        shelf.keep(cid, CONTENT)
    shelf.take(CIDS[0])
    shelf.keep(CIDS[3], CONTENT)
    assert held(shelf) == [CIDS[0], CIDS[2], CIDS[3]]


def test_a_content_kept_twice_takes_its_room_once() -> None:
    shelf = Shelf(ROOM_FOR_THREE)
    for cid in [*CIDS[:3], *CIDS[:3]]:
        shelf.keep(cid, CONTENT)
    assert held(shelf) == CIDS[:3]


def test_letters_count_with_the_memory_that_they_take() -> None:
    shelf = Shelf(ROOM_FOR_THREE)
    for cid in CIDS:
        shelf.keep(cid, "\N{GRINNING FACE}" * 500)
    assert held(shelf) == [CIDS[9]]


def test_a_large_content_drives_nobody_out() -> None:
    shelf = Shelf()
    shelf.keep(CIDS[0], CONTENT)
    shelf.keep(CIDS[1], "x" * (SMALL_DOCUMENT + 1))
    assert held(shelf) == [CIDS[0]]
