"""The process in which pictures are decoded: all that a hostile one can harm, and replaceable.

It is started as a script, has nothing of the service in it, and speaks over the socket that is
its standard input: a request is the length of a picture and its bytes; `TAKEN` says that it has
arrived, and then come one letter for the outcome, the length of the answer, and the answer.
"""

import io
import resource
import select
import socket
import struct
import sys
import time
from contextlib import suppress

from PIL import ExifTags, Image, ImageFile, JpegImagePlugin, PngImagePlugin

# What the service knows too is written down a second time below, since nothing of it is loaded.

LENGTH = struct.Struct(">I")
TAKEN, RECODED, INVALID = b"t", b"r", b"i"

MAX_PIXELS = 16_000_000
"""How many pixels a picture may have: those of a good camera, 64 MB when decoded."""

MEMORY_LIMIT = 512 * 1024 * 1024
"""Bytes of address space: twice what the largest picture was seen to need, all included."""

CPU_LIMIT = 5
"""Seconds of computing for one picture, twice what the largest was seen to need."""

IDLE_LIMIT = 60.0
"""Seconds without work after which the process ends, so that nobody keeps memory for nothing."""

PNG_EFFORT = 4
"""The level of compression: half the time of the usual 6, for a few per cent more bytes."""

JPEG_QUALITIES = (90, 80, 65)
"""The first of these whose result is no larger than `JPEG_TARGET` is taken, or the last."""

JPEG_TARGET = 5_000_000
"""The bytes that a picture may have had when it came in; it should not leave with more."""

MAX_ANSWER = 16_000_000
"""Bytes that a picture may have after all; only one made to swell could exceed them."""

_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""What undoes each value of the EXIF orientation."""

_ORIENTATION = ExifTags.Base.Orientation


class InvalidImage(Exception):
    """The picture is broken or too large."""


def recode(data: bytes) -> bytes:
    """The picture of a PNG or JPEG file, turned upright and encoded anew without anything else.

    Of an animation it is the first picture. Refuses, with `InvalidImage`, dimensions above the
    limits, before anything is decoded, and whatever cannot be decoded to its end.
    """
    try:
        answer = _recode(data)
    except InvalidImage:
        raise
    except Exception as error:
        # What a decoder raises over a hostile file is anybody's guess.
        raise InvalidImage("The file is broken, or it is no image.") from error
    if len(answer) > MAX_ANSWER:
        raise InvalidImage("The image is too large when it is encoded anew.")
    return answer


def _recode(data: bytes) -> bytes:
    png = data.startswith(b"\x89PNG")
    plugin = PngImagePlugin.PngImageFile if png else JpegImagePlugin.JpegImageFile
    picture = plugin(io.BytesIO(data))
    width, height = picture.size
    if width * height > MAX_PIXELS:
        raise InvalidImage(f"An image has at most {MAX_PIXELS} pixels.")
    picture.load()
    upright = _simplify(_turn(picture))
    upright.info = {}
    return _write_png(upright) if png else _write_jpeg(upright)


def _turn(picture: ImageFile.ImageFile) -> Image.Image:
    turn = None
    with suppress(Exception):  # broken metadata of a good picture, which goes away anyway
        turn = _TURNS.get(picture.getexif()[_ORIENTATION])
    return picture if turn is None else picture.transpose(turn)


def _simplify(picture: Image.Image) -> Image.Image:
    """The picture in a mode that needs neither a palette nor a note on what is transparent."""
    if picture.mode in ("P", "RGB") and "transparency" in picture.info:
        return picture.convert("RGBA")
    if picture.mode in ("1", "L") and "transparency" in picture.info:
        return picture.convert("LA")
    if picture.mode in ("P", "CMYK"):
        return picture.convert("RGB")
    return picture


def _write_png(picture: Image.Image) -> bytes:
    out = io.BytesIO()
    picture.save(out, "PNG", compress_level=PNG_EFFORT)
    return out.getvalue()


def _write_jpeg(picture: Image.Image) -> bytes:
    for quality in JPEG_QUALITIES:
        out = io.BytesIO()
        picture.save(out, "JPEG", quality=quality)
        if out.tell() <= JPEG_TARGET:
            break
    return out.getvalue()


def confine() -> None:
    """Give up what decoding needs not: memory without end, new files, dumps of what is inside.

    What Pillow loads when it first needs it is loaded before, since no file can be opened after.
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


def serve(wire: socket.socket) -> None:
    """Recode pictures one by one until the other side is gone, or has had none for a while."""
    poll = select.poll()
    poll.register(wire, select.POLLIN)
    while poll.poll(IDLE_LIMIT * 1000):
        data = _receive(wire)
        if data is None:
            return
        wire.sendall(TAKEN)
        spent = int(time.process_time()) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (spent + CPU_LIMIT, resource.RLIM_INFINITY))
        try:
            outcome, answer = RECODED, recode(data)
        except InvalidImage as error:
            outcome, answer = INVALID, str(error).encode()
        wire.sendall(outcome + LENGTH.pack(len(answer)))
        wire.sendall(answer)


def _receive(wire: socket.socket) -> bytes | None:
    with wire.makefile("rb") as stream:
        head = stream.read(LENGTH.size)
        if len(head) < LENGTH.size:
            return None
        (length,) = LENGTH.unpack(head)
        data = stream.read(length)
        return data if len(data) == length else None


if __name__ == "__main__":
    confine()
    serve(socket.socket(fileno=sys.stdin.fileno()))
