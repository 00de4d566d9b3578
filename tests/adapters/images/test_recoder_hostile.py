"""Hostile images are refused, and the recoder keeps working."""

import io
import os
import random
import struct
import zlib

import pytest
from PIL import Image
from tests.adapters.images.pictures import ALICE, chunk, refusal_of, write

from imprint.adapters.images.sandbox import SandboxedRecoder
from imprint.domain.errors import Code, Refusal

GARBAGE = random.Random(5).randbytes(5000)
PNG, JPEG = (write(Image.new("RGB", (48, 32), "teal"), form) for form in ("PNG", "JPEG"))


def bomb(width: int, height: int) -> bytes:
    """Create a small PNG file that decompresses to an enormous picture of zeros."""
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
async def test_garbage_after_a_valid_signature_is_invalid(
    recoder: SandboxedRecoder, image: bytes
) -> None:
    assert await refusal_of(recoder, image) is Code.INVALID_IMAGE


@pytest.mark.parametrize(
    ("width", "height"),
    [(20_000, 20_000), (16_000_001, 1), (1, 16_000_001), (4001, 4000), (2**31 - 1, 1)],
)
async def test_a_decompression_bomb_is_refused_before_it_is_decoded(
    recoder: SandboxedRecoder, width: int, height: int
) -> None:
    image = bomb(width, height)
    assert len(image) < 25_000
    assert await refusal_of(recoder, image) is Code.INVALID_IMAGE


async def test_a_jpeg_that_declares_an_enormous_size_is_invalid(recoder: SandboxedRecoder) -> None:
    image = bytearray(JPEG)
    frame = image.index(b"\xff\xc0")
    image[frame + 5 : frame + 9] = struct.pack(">HH", 60_000, 60_000)
    assert await refusal_of(recoder, bytes(image)) is Code.INVALID_IMAGE


async def test_an_image_of_the_maximum_size_is_recoded(recoder: SandboxedRecoder) -> None:
    image = await recoder.recode(write(Image.new("RGB", (4000, 4000), "teal"), "PNG"), ALICE)
    assert Image.open(io.BytesIO(image)).size == (4000, 4000)


async def test_an_image_with_more_pixels_than_allowed_is_invalid(recoder: SandboxedRecoder) -> None:
    image = write(Image.new("RGB", (4001, 4000), "teal"), "PNG")
    assert await refusal_of(recoder, image) is Code.INVALID_IMAGE


async def test_a_text_chunk_that_decompresses_to_megabytes_is_invalid(
    recoder: SandboxedRecoder,
) -> None:
    text = chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(30_000_000)))
    assert len(text) < 40_000
    assert await refusal_of(recoder, PNG[:33] + text + PNG[33:]) is Code.INVALID_IMAGE


@pytest.mark.parametrize("size", [(16_384, 976), (976, 16_384), (16_384, 1), (1, 16_384)])
async def test_an_image_with_the_longest_allowed_side_is_recoded(
    recoder: SandboxedRecoder, size: tuple[int, int]
) -> None:
    image = await recoder.recode(write(Image.new("1", size), "PNG"), ALICE)
    assert Image.open(io.BytesIO(image)).size == size


@pytest.mark.parametrize("form", ["PNG", "JPEG"])
@pytest.mark.parametrize("size", [(16_385, 1), (1, 16_385)])
async def test_an_image_with_a_side_that_is_too_long_is_invalid(
    recoder: SandboxedRecoder, form: str, size: tuple[int, int]
) -> None:
    image = write(Image.new("1", size), form)
    assert await refusal_of(recoder, image) is Code.INVALID_IMAGE


async def test_a_64_megapixel_jpeg_is_decoded_at_half_width_and_height(
    recoder: SandboxedRecoder,
) -> None:
    image = await recoder.recode(write(Image.new("RGB", (8000, 8000), "teal"), "JPEG"), ALICE)
    assert Image.open(io.BytesIO(image)).size == (4000, 4000)
    larger = write(Image.new("L", (8001, 8000)), "JPEG")
    assert await refusal_of(recoder, larger) is Code.INVALID_IMAGE


@pytest.mark.parametrize("missing", range(1, 21))
async def test_a_png_missing_its_last_few_bytes_is_invalid(
    recoder: SandboxedRecoder, missing: int
) -> None:
    assert await refusal_of(recoder, PNG[:-missing]) is Code.INVALID_IMAGE


@pytest.mark.parametrize("missing", range(1, 21))
async def test_a_jpeg_missing_its_last_few_bytes_is_invalid(
    recoder: SandboxedRecoder, missing: int
) -> None:
    assert await refusal_of(recoder, JPEG[:-missing]) is Code.INVALID_IMAGE


@pytest.mark.parametrize("kind", [b"IHDR", b"IDAT", b"IEND"])
async def test_a_png_with_a_damaged_chunk_is_invalid(
    recoder: SandboxedRecoder, kind: bytes
) -> None:
    image = bytearray(PNG)
    place = image.index(kind)
    (length,) = struct.unpack(">I", image[place - 4 : place])
    image[place + 4 + length] ^= 1
    assert await refusal_of(recoder, bytes(image)) is Code.INVALID_IMAGE


def progressive(size: tuple[int, int], scans: int) -> bytes:
    """Create a progressive JPEG file with this many scans, by repeating its last scan."""
    image = write(Image.new("RGB", size, "teal"), "JPEG", progressive=True)
    last = image[image.rindex(b"\xff\xda") : -2]
    return image[:-2] + last * (scans - image.count(b"\xff\xda")) + image[-2:]


@pytest.mark.parametrize(("size", "scans"), [((100, 100), 100), ((4000, 4000), 20)])
async def test_a_jpeg_with_the_maximum_number_of_scans_is_recoded(
    recoder: SandboxedRecoder, size: tuple[int, int], scans: int
) -> None:
    recoded = await recoder.recode(progressive(size, scans), ALICE)
    assert Image.open(io.BytesIO(recoded)).size == size


@pytest.mark.parametrize(("size", "scans"), [((100, 100), 101), ((4000, 4000), 21)])
async def test_a_jpeg_with_too_many_scans_is_refused_before_it_is_decoded(
    recoder: SandboxedRecoder, size: tuple[int, int], scans: int
) -> None:
    with pytest.raises(Refusal) as refused:
        await recoder.recode(progressive(size, scans), ALICE)
    assert (refused.value.code, refused.value.detail) == (
        Code.INVALID_IMAGE,
        "The image has too many scans.",
    )


async def test_a_scan_marker_inside_jpeg_metadata_is_not_counted(
    recoder: SandboxedRecoder,
) -> None:
    comment = b"\xff\xfe\x10\x02" + b"\xff\xda\xff\xd9" * 1024
    recoded = await recoder.recode(JPEG[:2] + comment + JPEG[2:], ALICE)
    assert Image.open(io.BytesIO(recoded)).size == (48, 32)


@pytest.mark.parametrize(
    "image",
    [
        PNG[:33] + chunk(b"teXt", b"") * 10_000 + PNG[33:],
        PNG[:33] + chunk(b"IDAT", b"") * 10_000 + PNG[33:],
        PNG[:-12] + chunk(b"teXt", b"") * 10_000 + PNG[-12:],
        JPEG[:2] + b"\xff\xfe\0\x02" * 10_000 + JPEG[2:],
        JPEG[:2] + b"\xff" * 100_000 + JPEG[2:],
    ],
    ids=["chunks", "pixel chunks", "chunks at the end", "segments", "fill bytes"],
)
async def test_an_image_with_too_many_chunks_is_invalid(
    recoder: SandboxedRecoder, image: bytes
) -> None:
    with pytest.raises(Refusal) as refused:
        await recoder.recode(image, ALICE)
    assert refused.value.code is Code.INVALID_IMAGE
    assert refused.value.detail.startswith(("The image has too many", "The file is truncated"))


async def test_an_image_that_exceeds_the_limit_after_recoding_is_invalid(
    recoder: SandboxedRecoder,
) -> None:
    side = 2400
    row = b"\4" + random.Random(3).randbytes(3 * side)
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
    pixels = chunk(b"IDAT", zlib.compress(row * side))
    image = PNG[:8] + header + pixels + PNG[-12:]
    with pytest.raises(Refusal) as refused:
        await recoder.recode(image, ALICE)
    assert refused.value.detail == "The image is too large after re-encoding."
