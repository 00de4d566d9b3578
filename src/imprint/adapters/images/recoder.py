"""Image recoder: the script that decodes and encodes images in a sandboxed process.

The script is started by its path and imports nothing from the service, so some constants are
repeated here. A test compares them. Standard input is a socket. A request is the length of an
image, the sides of the box that it must fit into (0 for no box), whether it is cropped to a square,
and its bytes. The process sends `ACCEPTED` when it has received a request, and later a byte for the
outcome, the length of the response, and the response.
"""

import io
import re
import resource
import select
import socket
import struct
import sys
import time
import zlib
from contextlib import suppress

from PIL import ExifTags, Image, ImageFile, JpegImagePlugin, PngImagePlugin, WebPImagePlugin

LENGTH = struct.Struct(">I")
REQUEST = struct.Struct(">IHH?")
ACCEPTED, RECODED, INVALID = b"a", b"r", b"i"

MAX_PIXELS = 16_000_000
"""Pixel limit of an image: the resolution of a good camera, and 64 MB when decoded."""

MAX_JPEG_PIXELS = 4 * MAX_PIXELS
"""Pixel limit of a JPEG file. A file with more than `MAX_PIXELS` is decoded at half its width and
height."""

MAX_PROGRESSIVE_PIXELS = 2 * MAX_PIXELS
"""Pixel limit of a multi-scan JPEG file, whose decoder needs 6 bytes per pixel at any scale."""

MAX_SIDE = 16_384
"""Maximum width or height in pixels."""

MAX_SCANS = 100
"""Limit on the scans of a JPEG file. Encoders write up to 18."""

MAX_SCANNED = 20 * MAX_PIXELS
"""Limit on a JPEG file's pixels times scans. Each scan of the largest image takes 10 ms."""

MAX_SEGMENTS = 10_000
"""Limit on PNG or WebP chunks and JPEG segments, twice as many as in 5 MiB of small chunks."""

MAX_FILL = 64
"""Limit on stray bytes between two JPEG segments, which Pillow reads one at a time."""

MEMORY_LIMIT = 512 * 1024 * 1024
"""Address-space limit in bytes, twice the measured need of the largest image."""

CPU_LIMIT = 5
"""CPU-time limit per image in seconds, twice the measured need of the largest image."""

IDLE_LIMIT = 60.0
"""Number of idle seconds after which the process exits to free its memory."""

PNG_LEVEL = 4
"""zlib level, which takes half the time of the default 6 and makes files slightly larger."""

JPEG_QUALITIES = (90, 80, 65)
"""JPEG qualities to try. The first result that fits `JPEG_TARGET` is used, otherwise the last."""

JPEG_TARGET = 5 * 1024 * 1024
"""Size limit in bytes of an uploaded image, which a recoded image should not exceed either."""

MAX_RESPONSE = 16_000_000
"""Hard size limit of a recoded image in bytes, which only a crafted image exceeds."""

_TRANSPOSITIONS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""Transposition that undoes each EXIF orientation."""

_ORIENTATION = ExifTags.Base.Orientation


class InvalidImage(Exception):
    """The image is broken or too large."""


Box = tuple[int, int]
"""Maximum width and height of the result."""


def recode(data: bytes, box: Box | None = None, *, cropped: bool = False) -> bytes:
    """Return the image of a PNG, JPEG or WebP file, upright and encoded again without metadata.

    With a box, a PNG or JPEG is scaled down, but never up, until it fits. If it is cropped, only
    the square in its middle is left.

    A WebP file becomes a PNG if it is lossless or transparent, otherwise a JPEG, which every client
    can show. Only the first frame of an animation is used. Raises `InvalidImage` for too many
    pixels or scans, before anything is decoded, and for a file that is truncated or cannot be
    decoded completely.
    """
    try:
        return _crop(data, box[0]) if cropped and box is not None else _recode(data, box)
    except InvalidImage:
        raise
    except Exception as error:
        # Decoders raise all kinds of exceptions for hostile files.
        raise InvalidImage("The file is broken, or is not an image.") from error


def _crop(data: bytes, side: int) -> bytes:
    """Return the square in the middle of an image, scaled down to at most this side."""
    if data.startswith(b"RIFF"):
        upright, png = _open_webp(data)
    else:
        image, png = _open(data)
        # A JPEG is decoded at a scale close to that of the square.
        image.draft(None, (side, side))
        image.load()
        upright = _simplify(_turn_upright(image))
    if upright.mode not in ("L", "LA", "RGB", "RGBA"):
        upright = upright.convert("L" if upright.mode == "1" else "RGB")
    width, height = upright.size
    shorter = min(width, height)
    left, top = (width - shorter) // 2, (height - shorter) // 2
    square = upright.resize(
        (min(side, shorter),) * 2,
        Image.Resampling.LANCZOS,
        (left, top, left + shorter, top + shorter),
    )
    square.info = {}
    return _write_png(square) if png else _write_jpeg(square)


def _open(data: bytes) -> tuple[ImageFile.ImageFile, bool]:
    """Open a PNG or JPEG file and check its size before it is decoded. Returns whether it is a
    PNG."""
    png = data.startswith(b"\x89PNG")
    scans = _check_chunks(data) if png else _count_scans(data)
    plugin = PngImagePlugin.PngImageFile if png else JpegImagePlugin.JpegImageFile
    image = plugin(io.BytesIO(data))
    width, height = image.size
    _check_size(width, height, MAX_PIXELS if png else MAX_JPEG_PIXELS)
    if scans > MAX_SCANS or width * height * scans > MAX_SCANNED:
        raise InvalidImage("The image has too many scans.")
    if scans > 1 and width * height > MAX_PROGRESSIVE_PIXELS:
        detail = f"A progressive JPEG may have at most {MAX_PROGRESSIVE_PIXELS} pixels."
        raise InvalidImage(detail)
    return image, png


def _recode(data: bytes, box: Box | None) -> bytes:
    if data.startswith(b"RIFF"):
        upright, png = _open_webp(data)
        upright.info = {}
        return _write_png(upright) if png else _write_jpeg(upright)
    image, png = _open(data)
    width, height = image.size
    if box is not None and width <= box[0] and height <= box[1]:
        return data
    if box is not None:
        # A JPEG is decoded at a scale close to that of the box.
        image.thumbnail(box)
    elif width * height > MAX_PIXELS:
        image.draft(None, (width // 2, height // 2))
    image.load()
    upright = _simplify(_turn_upright(image))
    upright.info = {}
    return _write_png(upright) if png else _write_jpeg(upright)


def _open_webp(data: bytes) -> tuple[Image.Image, bool]:
    """Decode a WebP file and turn the image upright. Also returns whether to store it as PNG."""
    end, lossless = _check_riff(data)
    image = WebPImagePlugin.WebPImageFile(io.BytesIO(data[:end]))
    _check_size(*image.size)
    image.load()
    upright = _turn_upright(image)
    if upright.mode == "RGBA" and upright.getchannel("A").getextrema() == (255, 255):
        upright = upright.convert("RGB")
    return upright, lossless or upright.mode == "RGBA"


def _check_size(width: int, height: int, most: int = MAX_PIXELS) -> None:
    if width * height > most or max(width, height) > MAX_SIDE:
        raise InvalidImage(
            f"A picture may have at most {MAX_PIXELS} pixels (a JPEG {MAX_JPEG_PIXELS}), and "
            f"{MAX_SIDE} on a side."
        )


_START_OF_SCAN, _END_OF_IMAGE = 0xDA, 0xD9
_CHUNK = struct.Struct(">I4s")
_CRC = struct.Struct(">I")
_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")
"""Matches any JPEG marker except those within the pixels of a scan."""


def _check_chunks(data: bytes) -> int:
    """Check that a PNG file has all its chunks. Returns 1, because a PNG has one scan.

    Decoders tolerate missing chunks at the end, so a truncated file would pass.
    """
    offset = 8
    for _ in range(MAX_SEGMENTS):
        length, kind = _CHUNK.unpack_from(data, offset)
        end = offset + _CHUNK.size + length
        (crc,) = _CRC.unpack_from(data, end)
        # The case of the first letter says whether a chunk is critical or can be ignored.
        if kind[:1].isupper() and zlib.crc32(memoryview(data)[offset + 4 : end]) != crc:
            raise InvalidImage("The file is damaged.")
        if kind == b"IEND":
            return 1
        offset = end + _CRC.size
    raise InvalidImage("The image has too many chunks.")


def _count_scans(data: bytes) -> int:
    """Count the scans of a JPEG file. Raises `InvalidImage` if it is truncated."""
    offset, scans = 2, 0
    for _ in range(MAX_SEGMENTS):
        found = _MARKER.search(data, offset)
        if found is None or (scans == 0 and found.start() - offset > MAX_FILL):
            raise InvalidImage("The file is truncated, or is not an image.")
        marker, offset = found[0][1], found.end()
        if marker == _END_OF_IMAGE:
            return scans
        scans += marker == _START_OF_SCAN
        offset += int.from_bytes(data[offset : offset + 2])
    raise InvalidImage("The image has too many segments.")


_RIFF = struct.Struct("<4sI4s")
_RIFF_CHUNK = struct.Struct("<4sI")
_FRAME_HEADER = 16
"""Number of header bytes before the chunks of an animated WebP frame."""


def _check_riff(data: bytes) -> tuple[int, bool]:
    """Check that a WebP file has all its chunks, and return its end and whether it is lossless.

    The decoder allocates the whole canvas when it is opened, so the canvas size is checked here.
    """
    _, length, _ = _RIFF.unpack_from(data)
    end, offset, lossless = 8 + length, _RIFF.size, None
    for _ in range(MAX_SEGMENTS):
        if offset >= end and end <= len(data) and lossless is not None:
            return end, lossless
        kind, size = _RIFF_CHUNK.unpack_from(data, offset)
        body = offset + _RIFF_CHUNK.size
        if body + size > min(end, len(data)):
            raise InvalidImage("The file is truncated, or is not an image.")
        if kind == b"VP8X":
            canvas = data[body + 4 : body + 10]
            _check_size(*(int.from_bytes(side, "little") + 1 for side in (canvas[:3], canvas[3:])))
        elif kind == b"VP8 ":
            sides = struct.unpack_from("<HH", data, body + 6)
            _check_size(sides[0] & 0x3FFF, sides[1] & 0x3FFF)
        elif kind == b"VP8L":
            (bits,) = struct.unpack_from("<I", data, body + 1)
            _check_size((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
        if lossless is None and kind in (b"VP8 ", b"VP8L"):
            lossless = kind == b"VP8L"
        # The chunks of an animation frame are nested in it, and are checked the same way.
        offset = body + (_FRAME_HEADER if kind == b"ANMF" else size + size % 2)
    raise InvalidImage("The image has too many chunks.")


def _turn_upright(image: ImageFile.ImageFile) -> Image.Image:
    transposition = None
    with suppress(Exception):  # broken metadata of a valid image is dropped in any case
        transposition = _TRANSPOSITIONS.get(image.getexif()[_ORIENTATION])
    return image if transposition is None else image.transpose(transposition)


def _simplify(image: Image.Image) -> Image.Image:
    """Convert the image to a mode without palette and transparency metadata."""
    if image.mode in ("P", "RGB") and "transparency" in image.info:
        return image.convert("RGBA")
    if image.mode in ("1", "L") and "transparency" in image.info:
        return image.convert("LA")
    if image.mode in ("P", "CMYK"):
        return image.convert("RGB")
    return image


class _Output(io.BytesIO):
    """An in-memory file of at most `MAX_RESPONSE` bytes."""

    def write(self, data: bytes, /) -> int:  # type: ignore[override]
        if self.tell() + len(data) > MAX_RESPONSE:
            raise InvalidImage("The image is too large after re-encoding.")
        return super().write(data)


def _write_png(image: Image.Image) -> bytes:
    out = _Output()
    image.save(out, "PNG", compress_level=PNG_LEVEL)
    return out.getvalue()


def _write_jpeg(image: Image.Image) -> bytes:
    for quality in JPEG_QUALITIES:
        out = _Output()
        image.save(out, "JPEG", quality=quality)
        if out.tell() <= JPEG_TARGET:
            break
    return out.getvalue()


def confine() -> None:
    """Limit memory, and forbid opening or writing files and dumping core.

    Modules that Pillow imports lazily are imported first, because no file can be opened afterwards.
    """
    Image.preinit()
    Image.Exif().load(b"Exif\0\0II*\0\x08\0\0\0\0\0\0\0\0\0")
    for kind, limit in (
        (resource.RLIMIT_AS, MEMORY_LIMIT),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, 3),
    ):
        resource.setrlimit(kind, (limit, limit))


def serve(connection: socket.socket) -> None:
    """Recode images one at a time until the socket closes or is idle for `IDLE_LIMIT`."""
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    while poll.poll(IDLE_LIMIT * 1000):
        request = _receive(connection)
        if request is None:
            return
        connection.sendall(ACCEPTED)
        spent = int(time.process_time()) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (spent + CPU_LIMIT, resource.RLIM_INFINITY))
        try:
            data, box, cropped = request
            outcome, response = RECODED, recode(data, box, cropped=cropped)
        except InvalidImage as error:
            outcome, response = INVALID, str(error).encode()
        connection.sendall(outcome + LENGTH.pack(len(response)))
        connection.sendall(response)


def _receive(connection: socket.socket) -> tuple[bytes, Box | None, bool] | None:
    with connection.makefile("rb") as stream:
        head = stream.read(REQUEST.size)
        if len(head) < REQUEST.size:
            return None
        length, width, height, cropped = REQUEST.unpack(head)
        data = stream.read(length)
        if len(data) < length:
            return None
        return data, (width, height) if width or height else None, cropped


if __name__ == "__main__":
    confine()
    serve(socket.socket(fileno=sys.stdin.fileno()))
