"""Hostile images are refused, and the recoder goes on."""

import io
import os
import random
import struct
import zlib

import pytest
from PIL import Image
from tests.adapters.images.pictures import chunk, refusal_of, write

from imprint.adapters.images.sandbox import SandboxedRecoder
from imprint.domain.errors import Code

GARBAGE = random.Random(5).randbytes(5000)
PNG, JPEG = (write(Image.new("RGB", (48, 32), "teal"), form) for form in ("PNG", "JPEG"))


def bomb(width: int, height: int) -> bytes:
    """A small PNG file that claims to be, and is, an enormous picture of zeros."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    packer = zlib.compressobj(9)
    rows = b"".join(packer.compress(bytes(1_000_000)) for _ in range(20)) + packer.flush()
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@pytest.mark.parametrize("form", ["PNG", "JPEG"])
@pytest.mark.parametrize("part", [0.05, 0.5, 0.8])
async def test_a_truncated_image_is_invalid(
    recoder: SandboxedRecoder, form: str, part: float
) -> None:
    noise = Image.frombytes("RGB", (64, 64), os.urandom(64 * 64 * 3))
    image = write(noise, form)
    assert await refusal_of(recoder, image[: int(len(image) * part)]) is Code.INVALID_IMAGE


@pytest.mark.parametrize(
    "image",
    [
        b"\x89PNG\r\n\x1a\n",
        b"\xff\xd8\xff",
        b"\x89PNG\r\n\x1a\n" + GARBAGE,
        b"\xff\xd8\xff\xe0" + GARBAGE,
        b"\xff\xd8\xff\xd9",
        b"\x89PNG\r\n\x1a\n" + b"<script>",
        b"\xff\xd8\xff" + PNG,
    ],
    ids=lambda image: repr(image[:12]),
)
async def test_garbage_behind_a_signature_is_invalid(
    recoder: SandboxedRecoder, image: bytes
) -> None:
    assert await refusal_of(recoder, image) is Code.INVALID_IMAGE


@pytest.mark.parametrize(
    ("width", "height"),
    [(20_000, 20_000), (16_000_001, 1), (1, 16_000_001), (4001, 4000), (2**31 - 1, 1)],
)
async def test_a_bomb_is_invalid_before_it_is_decoded(
    recoder: SandboxedRecoder, width: int, height: int
) -> None:
    image = bomb(width, height)
    assert len(image) < 25_000
    assert await refusal_of(recoder, image) is Code.INVALID_IMAGE


async def test_a_jpeg_that_claims_to_be_enormous_is_invalid(recoder: SandboxedRecoder) -> None:
    image = bytearray(JPEG)
    frame = image.index(b"\xff\xc0")
    image[frame + 5 : frame + 9] = struct.pack(">HH", 60_000, 60_000)
    assert await refusal_of(recoder, bytes(image)) is Code.INVALID_IMAGE


async def test_an_image_of_the_largest_size_is_recoded(recoder: SandboxedRecoder) -> None:
    image = await recoder.recode(write(Image.new("RGB", (4000, 4000), "teal"), "PNG"))
    assert Image.open(io.BytesIO(image)).size == (4000, 4000)


async def test_a_text_chunk_that_decompresses_to_megabytes_is_invalid(
    recoder: SandboxedRecoder,
) -> None:
    text = chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(30_000_000)))
    assert len(text) < 40_000
    assert await refusal_of(recoder, PNG[:33] + text + PNG[33:]) is Code.INVALID_IMAGE


@pytest.mark.parametrize("size", [(16_000, 1_000), (1_000, 16_000), (1, 1_000_000)])
async def test_only_the_number_of_pixels_counts_and_not_their_shape(
    recoder: SandboxedRecoder, size: tuple[int, int]
) -> None:
    image = await recoder.recode(write(Image.new("1", size), "PNG"))
    assert Image.open(io.BytesIO(image)).size == size
