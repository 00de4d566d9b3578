"""What is written down on both sides of the wire, since the worker loads nothing of the service."""

from imprint.adapters.images import recoder, worker
from imprint.domain.documents import MAX_IMAGE_BYTES, MAX_IMAGE_PIXELS


def test_the_worker_and_who_talks_to_it_speak_alike() -> None:
    assert (worker.TAKEN, worker.RECODED) == (recoder.TAKEN, recoder.RECODED)
    assert worker.MAX_ANSWER == recoder.MAX_ANSWER


def test_the_worker_keeps_to_the_numbers_of_the_domain() -> None:
    assert worker.MAX_PIXELS == MAX_IMAGE_PIXELS
    assert worker.JPEG_TARGET == MAX_IMAGE_BYTES
