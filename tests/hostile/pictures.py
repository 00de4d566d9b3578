"""Pictures that are expensive to decode."""

import io
import struct
import zlib

from PIL import Image

START_OF_SCAN = b"\xff\xda"
END_OF_IMAGE = b"\xff\xd9"


def progressive_jpeg(scans: int = 1200, side: int = 3900) -> bytes:
    """A single-colour progressive JPEG whose last scan is repeated many times."""
    file = io.BytesIO()
    Image.new("L", (side, side), 128).save(file, "JPEG", progressive=True, quality=90)
    written = file.getvalue().removesuffix(END_OF_IMAGE)
    last = written.rindex(START_OF_SCAN)
    tables = written.rindex(b"\xff\xc4", 0, last)
    return written + written[tables:] * (scans - written.count(START_OF_SCAN)) + END_OF_IMAGE


def image_bomb(side: int = 4000) -> bytes:
    """A PNG of a few KB with the maximum number of pixels."""
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    rows = zlib.compress(bytes((side * 3 + 1) * side), 9)
    chunks = ((b"IHDR", header), (b"IDAT", rows), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks
    )
