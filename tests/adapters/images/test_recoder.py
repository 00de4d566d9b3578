"""The recoder: images keep their pixels and nothing else."""

import io
import struct
import zlib

import pytest
from PIL import Image, PngImagePlugin
from tests.adapters.images.pictures import ALICE, chunk, refusal_of, write

from imprint.adapters.images.sandbox import SandboxedRecoder
from imprint.domain.drafts.documents import MAX_IMAGE_BYTES
from imprint.domain.errors import Code

SCRIPT = b"<script>alert(1)</script>"


def draw(mode: str = "RGB", size: tuple[int, int] = (48, 32)) -> Image.Image:
    """Draw a picture with four distinct corners: red, green, blue, white."""
    picture = Image.new("RGB", size)
    halves = size[0] // 2, size[1] // 2
    for place, colour in enumerate(["red", "green", "blue", "white"]):
        corner = (place % 2 * halves[0], place // 2 * halves[1])
        picture.paste(Image.new("RGB", halves, colour), corner)
    return picture.quantize(4) if mode == "P" else picture.convert(mode)


def show(data: bytes) -> Image.Image:
    picture = Image.open(io.BytesIO(data))
    picture.load()
    return picture


def look(picture: Image.Image) -> bytes:
    """Return the colours near the four corners."""
    colours = picture.convert("RGB")
    return b"".join(colours.crop((x, y, x + 1, y + 1)).tobytes() for y in (4, 28) for x in (4, 44))


def assert_close(a: bytes, b: bytes) -> None:
    assert max(abs(x - y) for x, y in zip(a, b, strict=True)) < 8


def chunk_names(png: bytes) -> list[bytes]:
    names, place = [], 8
    while place < len(png):
        (length,) = struct.unpack(">I", png[place : place + 4])
        names.append(png[place + 4 : place + 8])
        place += 12 + length
    return names


def segment_markers(jpeg: bytes) -> set[int]:
    """Return the markers of a JPEG file up to its pixel data."""
    markers, place = set(), 2
    while jpeg[place + 1] != 0xDA:
        markers.add(jpeg[place + 1])
        place += 2 + int.from_bytes(jpeg[place + 2 : place + 4])
    return markers


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "LA", "1", "I;16"])
async def test_a_recoded_png_has_the_same_pixels(recoder: SandboxedRecoder, mode: str) -> None:
    picture = draw("L").convert("I").convert("I;16") if mode == "I;16" else draw(mode)
    recoded = show(await recoder.recode(write(picture), ALICE))
    assert recoded.format == "PNG"
    assert recoded.mode == mode
    assert recoded.tobytes() == picture.tobytes()


async def test_a_recoded_png_has_no_palette(recoder: SandboxedRecoder) -> None:
    image = write(draw("P"))
    recoded = show(await recoder.recode(image, ALICE))
    assert recoded.mode == "RGB"
    assert recoded.tobytes() == show(image).convert("RGB").tobytes()


@pytest.mark.parametrize(("mode", "transparent"), [("P", 0), ("L", 255), ("RGB", (255, 0, 0))])
async def test_a_transparent_colour_stays_transparent(
    recoder: SandboxedRecoder, mode: str, transparent: object
) -> None:
    image = write(draw(mode), transparency=transparent)
    recoded = show(await recoder.recode(image, ALICE))
    assert recoded.convert("RGBA").tobytes() == show(image).convert("RGBA").tobytes()
    assert recoded.getextrema()[-1] == (0, 255)


async def test_a_png_with_16_bits_per_channel_is_recoded(recoder: SandboxedRecoder) -> None:
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 1, 16, 2, 0, 0, 0))
    row = b"\0" + bytes.fromhex("ffff000000000000ffff8080")
    image = b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(row))
    recoded = show(await recoder.recode(image + chunk(b"IEND", b""), ALICE))
    assert recoded.tobytes() == bytes.fromhex("ff000000ff80")


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"subsampling": 0}])
async def test_a_recoded_jpeg_looks_nearly_the_same(
    recoder: SandboxedRecoder, options: dict[str, object]
) -> None:
    image = write(draw(), "JPEG", **options)
    recoded = show(await recoder.recode(image, ALICE))
    assert (recoded.format, recoded.mode, recoded.size) == ("JPEG", "RGB", (48, 32))
    pairs = zip(recoded.tobytes(), show(image).tobytes(), strict=True)
    assert sum(abs(a - b) for a, b in pairs) / (48 * 32 * 3) < 3


@pytest.mark.parametrize(("mode", "becomes"), [("L", "L"), ("CMYK", "RGB")])
async def test_grey_and_cmyk_jpegs_are_recoded(
    recoder: SandboxedRecoder, mode: str, becomes: str
) -> None:
    image = write(draw(mode), "JPEG")
    recoded = show(await recoder.recode(image, ALICE))
    assert recoded.mode == becomes
    assert_close(look(recoded), look(show(image)))


async def test_recoding_the_same_file_gives_the_same_bytes(recoder: SandboxedRecoder) -> None:
    for image in (write(draw()), write(draw(), "JPEG")):
        assert await recoder.recode(image, ALICE) == await recoder.recode(image, ALICE)


async def test_a_png_keeps_nothing_but_its_pixels(recoder: SandboxedRecoder) -> None:
    notes = PngImagePlugin.PngInfo()
    notes.add_text("Comment", SCRIPT.decode())
    notes.add_itxt("XML:com.adobe.xmp", SCRIPT.decode())
    notes.add(b"prIv", SCRIPT)
    exif = Image.Exif()
    exif[0x010E] = SCRIPT.decode()
    image = write(draw(), pnginfo=notes, exif=exif, icc_profile=SCRIPT, dpi=(300, 300))
    assert SCRIPT in image
    recoded = await recoder.recode(image + SCRIPT, ALICE)
    assert set(chunk_names(recoded)) == {b"IHDR", b"IDAT", b"IEND"}
    assert SCRIPT not in recoded


async def test_text_in_the_palette_does_not_survive(recoder: SandboxedRecoder) -> None:
    picture = Image.new("P", (16, 16))
    picture.putpalette(SCRIPT + b"xx")
    picture.putdata([place % 9 for place in range(256)])
    image = write(picture)
    assert SCRIPT in image
    assert SCRIPT not in await recoder.recode(image, ALICE)


async def test_a_jpeg_keeps_nothing_but_its_pixels(recoder: SandboxedRecoder) -> None:
    exif = Image.Exif()
    exif[0x010E] = SCRIPT.decode()
    exif.get_ifd(0x8825)[2] = (52.0, 31.0, 12.0)
    tables = [list((SCRIPT * 3)[:64])] * 2
    image = write(
        draw(), "JPEG", comment=SCRIPT, exif=exif, icc_profile=SCRIPT, xmp=SCRIPT, qtables=tables
    )
    assert show(image).getexif().get_ifd(0x8825)
    recoded = await recoder.recode(image + SCRIPT, ALICE)
    assert segment_markers(recoded) == {0xE0, 0xDB, 0xC0, 0xC4}
    assert not show(recoded).getexif()
    assert b"script" not in recoded


TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}
"""The transposition a camera applies for each EXIF orientation."""


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("form", ["PNG", "JPEG"])
async def test_an_image_is_turned_upright_before_its_orientation_is_dropped(
    recoder: SandboxedRecoder, form: str, orientation: int
) -> None:
    turned = draw() if orientation == 1 else draw().transpose(TURNS[orientation])
    exif = Image.Exif()
    exif[0x0112] = orientation
    recoded = show(await recoder.recode(write(turned, form, exif=exif), ALICE))
    assert recoded.size == (48, 32)
    assert_close(look(recoded), look(draw()))


async def test_an_image_with_broken_metadata_is_recoded(recoder: SandboxedRecoder) -> None:
    image = write(draw(), "JPEG", exif=b"Exif\0\0II*\0\xff\xff\xff\xff garbage")
    assert show(await recoder.recode(image, ALICE)).size == (48, 32)


async def test_an_animation_is_reduced_to_its_first_frame(recoder: SandboxedRecoder) -> None:
    second = Image.new("RGB", (48, 32), "black")
    image = write(draw(), save_all=True, append_images=[second, draw().rotate(180)])
    assert b"acTL" in image
    recoded = await recoder.recode(image, ALICE)
    assert show(recoded).tobytes() == draw().tobytes()
    assert set(chunk_names(recoded)) == {b"IHDR", b"IDAT", b"IEND"}


@pytest.mark.parametrize(
    "image",
    [
        b"",
        b"\x89",
        b"GIF89a" + bytes(100),
        write(draw(), "GIF"),
        write(draw(), "BMP"),
        write(draw(), "TIFF"),
        b'<svg xmlns="http://www.w3.org/2000/svg"/>',
        b'<?xml version="1.0"?><svg/>',
        b"%PDF-1.7",
        b"PNG",
        b" " + write(draw()),
        SCRIPT + write(draw()),
    ],
    ids=lambda image: repr(image[:8]),
)
async def test_other_formats_are_refused_as_unsupported(
    recoder: SandboxedRecoder, image: bytes
) -> None:
    assert await refusal_of(recoder, image) is Code.UNSUPPORTED_MEDIA_TYPE


async def test_a_file_above_the_size_limit_is_refused_as_too_large(
    recoder: SandboxedRecoder,
) -> None:
    image = write(draw())
    padded = image + bytes(MAX_IMAGE_BYTES - len(image))
    assert show(await recoder.recode(padded, ALICE)).size == (48, 32)
    assert await refusal_of(recoder, padded + b"\0") is Code.TOO_LARGE
