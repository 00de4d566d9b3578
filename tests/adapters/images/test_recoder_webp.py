"""WebP files become PNG or JPEG files, and hostile ones are refused before decoding."""

import io
import os
import random
import struct

import pytest
from PIL import Image
from tests.adapters.images.pictures import ALICE, refusal_of, write

from imprint.adapters.images.sandbox import SandboxedRecoder
from imprint.domain.errors import Code, Refusal

SCRIPT = b"<script>alert(1)</script>"
RED = Image.new("RGB", (48, 32), "red")
GLASS = Image.new("RGBA", (48, 32), (255, 0, 0, 100))
OPAQUE = Image.new("RGBA", (48, 32), (255, 0, 0, 255))
LOSSY = write(RED, "WEBP")
LOSSLESS = write(RED, "WEBP", lossless=True)
GARBAGE = random.Random(5).randbytes(5000)


def show(data: bytes) -> Image.Image:
    picture = Image.open(io.BytesIO(data))
    picture.load()
    return picture


def riff(*chunks: tuple[bytes, bytes]) -> bytes:
    """Create a WebP file with the given chunks."""
    body = b"".join(
        kind + struct.pack("<I", len(data)) + data + bytes(len(data) % 2) for kind, data in chunks
    )
    return b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WEBP" + body


def canvas(width: int, height: int, flags: int = 0) -> tuple[bytes, bytes]:
    sides = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"VP8X", bytes([flags, 0, 0, 0]) + sides


def lossless_header(width: int, height: int) -> tuple[bytes, bytes]:
    return b"VP8L", b"\x2f" + struct.pack("<I", width - 1 | height - 1 << 14) + bytes(64)


def lossy_header(width: int, height: int) -> tuple[bytes, bytes]:
    return b"VP8 ", b"\x10\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height) + bytes(64)


@pytest.mark.parametrize(
    ("image", "form", "mode"),
    [
        (LOSSY, "JPEG", "RGB"),
        (LOSSLESS, "PNG", "RGB"),
        (write(GLASS, "WEBP"), "PNG", "RGBA"),
        (write(GLASS, "WEBP", lossless=True), "PNG", "RGBA"),
        (write(OPAQUE, "WEBP", lossless=True), "PNG", "RGB"),
        (write(OPAQUE, "WEBP"), "JPEG", "RGB"),
    ],
    ids=["lossy", "lossless", "transparent", "transparent lossless", "opaque lossless", "opaque"],
)
async def test_a_webp_is_converted_to_jpeg_or_png(
    recoder: SandboxedRecoder, image: bytes, form: str, mode: str
) -> None:
    recoded = show(await recoder.recode(image, ALICE))
    assert (recoded.format, recoded.mode, recoded.size) == (form, mode, (48, 32))
    expected = show(image).convert(mode).resize((1, 1)).tobytes()
    found = recoded.resize((1, 1)).tobytes()
    assert max(abs(a - b) for a, b in zip(expected, found, strict=True)) < 8


@pytest.mark.parametrize("lossless", [False, True])
async def test_a_webp_keeps_nothing_but_its_pixels(
    recoder: SandboxedRecoder, lossless: bool
) -> None:
    exif = Image.Exif()
    exif[0x010E] = SCRIPT.decode()
    image = write(RED, "WEBP", lossless=lossless, exif=exif, icc_profile=SCRIPT, xmp=SCRIPT)
    assert image.count(SCRIPT) == 3
    recoded = await recoder.recode(image + SCRIPT, ALICE)
    assert b"script" not in recoded
    assert not show(recoded).getexif()
    assert "icc_profile" not in show(recoded).info


async def test_a_webp_image_is_turned_upright(recoder: SandboxedRecoder) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    recoded = show(await recoder.recode(write(RED, "WEBP", exif=exif), ALICE))
    assert recoded.size == (32, 48)


@pytest.mark.parametrize("lossless", [False, True])
async def test_an_animation_is_reduced_to_its_first_frame(
    recoder: SandboxedRecoder, lossless: bool
) -> None:
    others = [Image.new("RGB", (48, 32), name) for name in ("blue", "green")]
    image = write(RED, "WEBP", save_all=True, append_images=others, lossless=lossless)
    assert b"ANMF" in image
    recoded = show(await recoder.recode(image, ALICE))
    assert recoded.format == ("PNG" if lossless else "JPEG")
    red, green, blue = recoded.convert("RGB").resize((1, 1)).tobytes()
    assert red > 240
    assert max(green, blue) < 16


async def test_a_webp_of_the_maximum_size_is_recoded(recoder: SandboxedRecoder) -> None:
    for options in ({}, {"lossless": True, "quality": 0, "method": 0}):
        image = write(Image.new("RGB", (4000, 4000), "teal"), "WEBP", **options)
        assert show(await recoder.recode(image, ALICE)).size == (4000, 4000)


@pytest.mark.parametrize("header", [canvas, lossless_header, lossy_header])
@pytest.mark.parametrize("size", [(16_383, 16_383), (8193, 1), (1, 8193), (4001, 4000)])
async def test_a_decompression_bomb_is_refused_before_it_is_decoded(
    recoder: SandboxedRecoder, header: object, size: tuple[int, int]
) -> None:
    assert callable(header)
    image = riff(header(*size), lossless_header(1, 1))
    assert await refusal_of(recoder, image) is Code.INVALID_IMAGE


@pytest.mark.parametrize("size", [(2**24, 2**24), (2**24, 1), (100_000, 100_000)])
async def test_an_enormous_canvas_around_a_small_picture_is_invalid(
    recoder: SandboxedRecoder, size: tuple[int, int]
) -> None:
    image = riff(canvas(*size), (b"VP8L", LOSSLESS[20:]))
    assert await refusal_of(recoder, image) is Code.INVALID_IMAGE


async def test_a_frame_larger_than_its_canvas_is_invalid(recoder: SandboxedRecoder) -> None:
    frame = bytes(6) + (8000).to_bytes(3, "little") * 2 + bytes(4)
    inner = riff(lossless_header(8001, 8001))[12:]
    image = riff(canvas(16, 16, flags=2), (b"ANIM", bytes(6)), (b"ANMF", frame + inner))
    assert await refusal_of(recoder, image) is Code.INVALID_IMAGE


@pytest.mark.parametrize("options", [{}, {"lossless": True}])
@pytest.mark.parametrize("part", [0.05, 0.5, 0.8, 0.95])
async def test_a_truncated_webp_is_invalid(
    recoder: SandboxedRecoder, options: dict[str, object], part: float
) -> None:
    noise = Image.frombytes("RGB", (64, 64), os.urandom(64 * 64 * 3))
    image = write(noise, "WEBP", **options)
    cut = image[: int(len(image) * part)]
    assert await refusal_of(recoder, cut) is Code.INVALID_IMAGE
    # The same data with corrected lengths, so that only pixels are missing.
    data = cut[20:]
    relabelled = riff((image[12:16], data))
    assert await refusal_of(recoder, relabelled) is Code.INVALID_IMAGE


@pytest.mark.parametrize("missing", range(1, 21))
async def test_a_webp_missing_its_last_few_bytes_is_invalid(
    recoder: SandboxedRecoder, missing: int
) -> None:
    for image in (LOSSY, LOSSLESS):
        assert await refusal_of(recoder, image[:-missing]) is Code.INVALID_IMAGE


@pytest.mark.parametrize(
    "image",
    [
        b"RIFF\0\0\0\0WEBP",
        b"RIFF\xff\xff\xff\xffWEBP" + GARBAGE,
        b"RIFF\x88\x13\0\0WEBP" + GARBAGE,
        riff((b"VP8X", b"")),
        riff((b"VP8 ", b"")),
        riff((b"VP8L", b"\x2f")),
        riff((b"VP8L", GARBAGE)),
        riff((b"VP8 ", GARBAGE)),
        riff((b"EXIF", SCRIPT)),
        riff(canvas(48, 32)),
        riff(canvas(48, 32), *[(b"junk", b"")] * 10_000, (b"VP8L", LOSSLESS[20:])),
        riff(canvas(48, 32, flags=2), (b"ANIM", bytes(6)), *[(b"ANMF", bytes(16))] * 10_000),
        riff(canvas(48, 32, flags=2), (b"ANIM", bytes(6)), (b"ANMF", bytes(4))),
    ],
    ids=lambda image: repr(image[8:24]),
)
async def test_garbage_in_a_webp_is_invalid(recoder: SandboxedRecoder, image: bytes) -> None:
    assert await refusal_of(recoder, image) is Code.INVALID_IMAGE


@pytest.mark.parametrize(
    "image",
    [b"RIFF", LOSSY[:11], b"RIFF\0\0\0\0WAVE" + GARBAGE, b"WEBP" + LOSSY, b"riff" + LOSSY[4:]],
    ids=lambda image: repr(image[:12]),
)
async def test_an_image_without_a_webp_header_is_unsupported(
    recoder: SandboxedRecoder, image: bytes
) -> None:
    assert await refusal_of(recoder, image) is Code.UNSUPPORTED_MEDIA_TYPE


async def test_a_damaged_webp_does_not_crash_the_recoder(recoder: SandboxedRecoder) -> None:
    random_bytes = random.Random(11)
    codes: set[Code] = set()
    for _ in range(60):
        image = bytearray(random_bytes.choice((LOSSY, LOSSLESS)))
        image[random_bytes.randrange(12, len(image))] ^= 1 << random_bytes.randrange(8)
        try:
            show(await recoder.recode(bytes(image), ALICE))
        except Refusal as refusal:
            codes.add(refusal.code)
    assert codes == {Code.INVALID_IMAGE}
    assert show(await recoder.recode(LOSSY, ALICE)).size == (48, 32)
