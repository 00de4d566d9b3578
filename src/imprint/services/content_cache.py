"""Caches contents that were read recently, so that a popular post is opened once.

A cid names its bytes for ever, and what stands here was checked against it; so nothing here can be
out of date. Who may read is decided before anybody looks at the content_cache.
"""

import sys
from collections import OrderedDict

from imprint.domain.cids import Cid
from imprint.domain.documents import SMALL_DOCUMENT

CAPACITY = 16 * 1024 * 1024
"""How many bytes of memory the contents may take; the one that was not read for longest goes."""


class ContentCache:
    """Contents by their cid."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._contents: OrderedDict[Cid, str] = OrderedDict()
        self._size = 0

    def get(self, cid: Cid) -> str | None:
        """The content under this cid, if it is here."""
        content = self._contents.get(cid)
        if content is not None:
            self._contents.move_to_end(cid)
        return content

    def put(self, cid: Cid, content: str) -> None:
        """Put a content here, and let go of those that there is no room for.

        Not a large one: it would drive out many others.
        """
        if len(content) > SMALL_DOCUMENT or cid in self._contents:
            return
        self._contents[cid] = content
        self._size += sys.getsizeof(content)
        while self._size > self._capacity:
            _, oldest = self._contents.popitem(last=False)
            self._size -= sys.getsizeof(oldest)
