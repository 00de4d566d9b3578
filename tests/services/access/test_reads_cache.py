"""The content cache holds recently read content, within its capacity."""

import sys

from imprint.domain.drafts.documents import SMALL_DOCUMENT
from imprint.domain.formats.cids import Cid
from imprint.services.access.reads import ContentCache

CIDS = [Cid(f"bafy{number}") for number in range(10)]
CONTENT = "x" * 1000
ROOM_FOR_THREE = 3 * sys.getsizeof(CONTENT)


def cached(cache: ContentCache) -> list[Cid]:
    return [cid for cid in CIDS if cache.get(cid) is not None]


def test_cached_content_is_found() -> None:
    cache = ContentCache()
    assert cache.get(CIDS[0]) is None
    cache.put(CIDS[0], CONTENT)
    assert cache.get(CIDS[0]) == CONTENT


def test_empty_content_is_cached() -> None:
    cache = ContentCache()
    cache.put(CIDS[0], "")
    assert cache.get(CIDS[0]) == ""


def test_the_least_recently_read_content_is_evicted() -> None:
    cache = ContentCache(ROOM_FOR_THREE)
    for cid in CIDS[:3]:
        cache.put(cid, CONTENT)
    cache.get(CIDS[0])
    cache.put(CIDS[3], CONTENT)
    assert cached(cache) == [CIDS[0], CIDS[2], CIDS[3]]


def test_cached_content_is_counted_by_its_memory_size() -> None:
    cache = ContentCache(ROOM_FOR_THREE)
    for cid in CIDS:
        cache.put(cid, "\N{GRINNING FACE}" * 500)
    assert cached(cache) == [CIDS[9]]


def test_large_content_is_not_cached() -> None:
    cache = ContentCache()
    cache.put(CIDS[0], CONTENT)
    cache.put(CIDS[1], "x" * (SMALL_DOCUMENT + 1))
    cache.put(CIDS[2], "x" * SMALL_DOCUMENT)
    assert cached(cache) == [CIDS[0], CIDS[2]]
