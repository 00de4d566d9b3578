"""Thumbnails in the sizes that pages need, made once and kept."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.drafts.documents import MAX_IMAGE_SIDE
from imprint.domain.errors import Damaged, Refusal
from imprint.domain.formats.cids import Cid
from imprint.ports.content import ImageRecoder
from imprint.services.content.large_documents import FairQueue

SIDES = (64, 128, 256, 384, 640, 960, 1280, 1920)
"""The sides of thumbnails in pixels. Few, so that nobody can fill the cache with one picture."""

CAPACITY = 16 * 1024 * 1024
"""Bytes of the thumbnails that are kept; the least recently used are dropped."""

Box = tuple[int, int]
"""The width and height that a thumbnail fits into."""


def box_of(width: int | None, height: int | None) -> Box:
    """The box for a width and a height, either of which may be missing: rounded up to `SIDES`."""
    return _round_up(width), _round_up(height)


def _round_up(side: int | None) -> int:
    if side is None:
        return MAX_IMAGE_SIDE
    return next((each for each in SIDES if each >= side), SIDES[-1])


@dataclass(slots=True)
class Thumbnails:
    """Makes thumbnails smaller, one at a time, so that publications need not wait; clients take
    turns."""

    load: Callable[[Cid], Awaitable[bytes]]
    recoder: ImageRecoder
    _kept: BoundedCache[tuple[Cid, Box], bytes] = field(
        default_factory=lambda: BoundedCache(CAPACITY, len)
    )
    _turns: FairQueue = field(
        default_factory=lambda: FairQueue(1, detail="Too many pictures are being made smaller.")
    )

    async def fitted(self, cid: Cid, box: Box, client: str) -> bytes:
        """A public picture that fits into a box; the picture itself if it already does.

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
