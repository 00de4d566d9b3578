"""Content cache: contents that were read recently, so that a popular post is decrypted once.

The bytes of a cid never change, and cached contents were verified against it, so an entry cannot
become stale. Access is decided before the cache is consulted.
"""

import sys

from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.drafts.documents import SMALL_DOCUMENT
from imprint.domain.formats.cids import Cid

CAPACITY = 16 * 1024 * 1024
"""Bytes of memory that the contents may take; the least recently read one is evicted."""


class ContentCache:
    """Contents by their cid."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._contents: BoundedCache[Cid, str] = BoundedCache(capacity, sys.getsizeof)

    def get(self, cid: Cid) -> str | None:
        """The content with this cid, if it is cached."""
        content = self._contents.get(cid)
        if content is not None:
            self._contents.touch(cid)
        return content

    def put(self, cid: Cid, content: str) -> None:
        """Cache a content, unless it is large: that would evict many others."""
        if len(content) <= SMALL_DOCUMENT:
            self._contents.put(cid, content)
