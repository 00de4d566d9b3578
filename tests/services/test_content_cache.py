"""The content_cache holds what was read lately, within its size."""

import sys

from imprint.domain.cids import Cid
from imprint.domain.documents import SMALL_DOCUMENT
from imprint.services.content_cache import ContentCache

CIDS = [Cid(f"bafy{number}") for number in range(10)]
CONTENT = "x" * 1000
ROOM_FOR_THREE = 3 * sys.getsizeof(CONTENT)


def held(content_cache: ContentCache) -> list[Cid]:
    return [cid for cid in CIDS if content_cache.get(cid) is not None]


def test_a_content_is_there_again() -> None:
    content_cache = ContentCache()
    assert content_cache.get(CIDS[0]) is None
    content_cache.put(CIDS[0], CONTENT)
    assert content_cache.get(CIDS[0]) == CONTENT


def test_an_empty_content_is_a_content() -> None:
    content_cache = ContentCache()
    content_cache.put(CIDS[0], "")
    assert content_cache.get(CIDS[0]) == ""


def test_what_was_not_read_for_longest_makes_room() -> None:
    content_cache = ContentCache(ROOM_FOR_THREE)
    for cid in CIDS[:3]:
        content_cache.put(cid, CONTENT)
    content_cache.get(CIDS[0])
    content_cache.put(CIDS[3], CONTENT)
    assert held(content_cache) == [CIDS[0], CIDS[2], CIDS[3]]


def test_a_content_kept_twice_takes_its_room_once() -> None:
    content_cache = ContentCache(ROOM_FOR_THREE)
    for cid in [*CIDS[:3], *CIDS[:3]]:
        content_cache.put(cid, CONTENT)
    assert held(content_cache) == CIDS[:3]


def test_letters_count_with_the_memory_that_they_take() -> None:
    content_cache = ContentCache(ROOM_FOR_THREE)
    for cid in CIDS:
        content_cache.put(cid, "\N{GRINNING FACE}" * 500)
    assert held(content_cache) == [CIDS[9]]


def test_a_large_content_drives_nobody_out() -> None:
    content_cache = ContentCache()
    content_cache.put(CIDS[0], CONTENT)
    content_cache.put(CIDS[1], "x" * (SMALL_DOCUMENT + 1))
    assert held(content_cache) == [CIDS[0]]
