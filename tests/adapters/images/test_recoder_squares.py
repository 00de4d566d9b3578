"""Profile pictures are cropped to the middle square, and scaled down but never up."""

import io

import pytest
from PIL import Image
from tests.adapters.images.pictures import ALICE, write

from imprint.adapters.images.sandbox import SandboxedRecoder
from imprint.domain.errors import Code, Refusal

RED, BLUE = (255, 0, 0), (0, 0, 255)


def striped(size: tuple[int, int], mode: str = "RGB") -> Image.Image:
    """A picture whose middle square is red and whose sides are blue."""
    picture = Image.new("RGB", size, BLUE)
    side = min(size)
    picture.paste(RED, ((size[0] - side) // 2, (size[1] - side) // 2, *_end(size, side)))
    return picture.convert(mode)


def _end(size: tuple[int, int], side: int) -> tuple[int, int]:
    return (size[0] - side) // 2 + side, (size[1] - side) // 2 + side


def show(data: bytes) -> Image.Image:
    picture = Image.open(io.BytesIO(data))
    picture.load()
    return picture


@pytest.mark.parametrize("size", [(300, 120), (120, 300), (1500, 900)])
@pytest.mark.parametrize(("form", "shown"), [("PNG", "PNG"), ("JPEG", "JPEG"), ("WEBP", "JPEG")])
async def test_only_the_central_square_is_kept(recoder: SandboxedRecoder, size, form, shown):
    picture = show(await recoder.crop_square(write(striped(size), form), 256, ALICE))
    side = min(256, *size)
    assert (picture.format, picture.size) == (shown, (side, side))
    for place in ((3, 3), (side - 4, 3), (side // 2, side // 2), (side - 4, side - 4)):
        red, green, blue = picture.convert("RGB").getpixel(place)
        assert red > 200
        assert max(green, blue) < 60


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "I;16"])
async def test_every_pixel_format_is_cropped_to_a_square(recoder: SandboxedRecoder, mode):
    source = Image.new("I;16", (90, 60), 40_000) if mode == "I;16" else striped((90, 60), mode)
    picture = show(await recoder.crop_square(write(source), 512, ALICE))
    assert picture.size == (60, 60)


async def test_a_rotated_picture_is_turned_upright_before_it_is_cropped(recoder: SandboxedRecoder):
    exif = Image.Exif()
    exif[0x0112] = 6
    image = write(striped((300, 100)), "JPEG", exif=exif)
    picture = show(await recoder.crop_square(image, 512, ALICE))
    assert picture.size == (100, 100)
    assert not picture.getexif()


@pytest.mark.parametrize(
    ("image", "code"),
    [
        (b"GIF89a" + bytes(30), Code.UNSUPPORTED_MEDIA_TYPE),
        (write(striped((60, 60)))[:-20], Code.INVALID_IMAGE),
        (write(striped((60, 60)), "JPEG")[:-20], Code.INVALID_IMAGE),
        (write(striped((60, 60)), "WEBP")[:-20], Code.INVALID_IMAGE),
    ],
)
async def test_an_invalid_picture_is_refused(recoder: SandboxedRecoder, image, code):
    with pytest.raises(Refusal) as refused:
        await recoder.crop_square(image, 512, ALICE)
    assert refused.value.code is code
