"""Helpers: sample image files, whole or in chunks, and the error code of a refused image."""

import io
import struct
import zlib

import pytest
from PIL import Image

from imprint.adapters.images.sandbox import SandboxedRecoder
from imprint.domain.errors import Code, Refusal
from imprint.domain.formats.addresses import Address

ALICE, BOB = Address("0x" + "a1" * 20), Address("0x" + "b0" * 20)


def write(picture: Image.Image, form: str = "PNG", **options: object) -> bytes:
    out = io.BytesIO()
    picture.save(out, form, **options)
    return out.getvalue()


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


async def refusal_of(recoder: SandboxedRecoder, image: bytes) -> Code:
    with pytest.raises(Refusal) as refused:
        await recoder.recode(image, ALICE)
    return refused.value.code
