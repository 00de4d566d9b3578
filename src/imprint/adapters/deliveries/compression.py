"""Compressed deliveries: gzip undone piece by piece, and not one byte more than is allowed."""

import zlib
from collections.abc import Iterator

from imprint.domain.refusals import Code, Refusal

_GZIP = 16 + zlib.MAX_WBITS
"""Tells zlib to expect gzip's frame, with its checksum, and nothing else."""

_PIECE = 64 * 1024
"""How many bytes are held at once."""


def inflate(compressed: bytes, limit: int) -> Iterator[bytes]:
    """The pieces of what was compressed with gzip.

    Refuses `too_large` beyond `limit` bytes, and `invalid_request` what is cut off, damaged, or
    followed by anything.
    """
    stream = zlib.decompressobj(_GZIP)
    rest, size = compressed, 0
    while not stream.eof:
        try:
            piece = stream.decompress(rest, _PIECE)
        except zlib.error as error:
            raise _refuse_damaged() from error
        rest = stream.unconsumed_tail
        size += len(piece)
        if size > limit:
            raise Refusal(Code.TOO_LARGE, "The delivery is too large.")
        if not piece and not stream.eof:
            raise _refuse_damaged()
        yield piece
    if stream.unused_data:
        raise _refuse_damaged()


def _refuse_damaged() -> Refusal:
    return Refusal(Code.INVALID_REQUEST, "The compressed body is damaged.")
