"""Constants that recoder.py duplicates because it imports nothing from the service."""

from imprint.adapters.images import recoder, sandbox
from imprint.domain.drafts.documents import (
    MAX_IMAGE_BYTES,
    MAX_IMAGE_PIXELS,
    MAX_IMAGE_SIDE,
    MAX_JPEG_PIXELS,
)


def test_the_sandbox_and_the_recoder_use_the_same_protocol() -> None:
    assert (sandbox.ACCEPTED, sandbox.RECODED) == (recoder.ACCEPTED, recoder.RECODED)
    assert sandbox.MAX_RESPONSE == recoder.MAX_RESPONSE


def test_the_recoder_uses_the_limits_defined_by_the_domain() -> None:
    assert recoder.MAX_PIXELS == MAX_IMAGE_PIXELS
    assert recoder.MAX_JPEG_PIXELS == MAX_JPEG_PIXELS
    assert recoder.MAX_SIDE == MAX_IMAGE_SIDE
    assert recoder.JPEG_TARGET == MAX_IMAGE_BYTES
