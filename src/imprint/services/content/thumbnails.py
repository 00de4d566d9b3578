"""Thumbnails in the sizes that pages need, created once and cached."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.drafts.documents import MAX_IMAGE_SIDE
from imprint.domain.errors import Damaged, Refusal
from imprint.domain.formats.cids import Cid
from imprint.ports.content import ImageRecoder
from imprint.services.content.large_documents import FairQueue

SIDES = (64, 128, 256, 384, 640, 960, 1280, 1920)
"""Box sizes of thumbnails in pixels. There are only a few, so that one image cannot fill the
cache."""

CAPACITY = 16 * 1024 * 1024
"""Cache size for thumbnails in bytes. The least recently used are evicted."""

Box = tuple[int, int]
"""The width and height that a thumbnail must fit into."""


def box_of(width: int | None, height: int | None) -> Box:
    """Return the box for a width and a height, rounded up to `SIDES`. Either may be missing."""
    return _round_up(width), _round_up(height)


def _round_up(side: int | None) -> int:
    if side is None:
        return MAX_IMAGE_SIDE
    return next((each for each in SIDES if each >= side), SIDES[-1])


@dataclass(slots=True)
class Thumbnails:
    """Scales thumbnails down one at a time, so that they do not delay publications.

    Clients take turns.
    """

    load: Callable[[Cid], Awaitable[bytes]]
    recoder: ImageRecoder
    _kept: BoundedCache[tuple[Cid, Box], bytes] = field(
        default_factory=lambda: BoundedCache(CAPACITY, len)
    )
    _turns: FairQueue = field(
        default_factory=lambda: FairQueue(1, detail="Too many pictures are being resized.")
    )

    async def fitted(self, cid: Cid, box: Box, client: str) -> bytes:
        """Return a public image scaled to fit a box, or the image itself if it already fits.

        Raises `Unavailable` after a long wait.
        """
        if (known := self._kept.get((cid, box))) is not None:
            self._kept.touch((cid, box))
            return known
        async with self._turns.turn(client):
            picture = await self.load(cid)
            try:
                made = await self.recoder.scale(picture, box, client)
            except Refusal as refusal:
                raise Damaged.document(f"the public document {cid}") from refusal
        self._kept.put((cid, box), made)
        return made
