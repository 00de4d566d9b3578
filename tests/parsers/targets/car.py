"""CAR files: headers, sections, and files cut off or changed at any byte."""

from contextlib import suppress
from hashlib import sha256
from io import BytesIO

from imprint.domain.formats.car import (
    MAX_ROOTS,
    NotACar,
    read_header,
    read_sections,
    write_header,
    write_section,
)
from imprint.domain.formats.cids import Cid, Codec, cid_of

CODECS = tuple(Codec)
MAX_LINES = 100


def check(data: bytes) -> None:
    """An accepted CAR is written again with the same bytes."""
    with suppress(NotACar):
        _read(data)
    made = _make(data)
    assert _read(made) == made
    for end in {len(data) % len(made), len(made) - 1}:
        with suppress(NotACar):
            assert _read(made[:end]) == made[:end]


def _read(data: bytes) -> bytes:
    """Read a CAR, and write it again."""
    file = BytesIO(data)
    roots = read_header(file.read)
    return write_header(roots) + b"".join(
        write_section(cid, block) for cid, block in read_sections(file.read)
    )


def _make(data: bytes) -> bytes:
    """Make a CAR of the lines of the input, because the fuzzer would not guess the hash of a
    block."""
    blocks = [
        (_cid(number, line), line) for number, line in enumerate(data.split(b"\n", MAX_LINES))
    ]
    roots = [cid for cid, _ in blocks[:MAX_ROOTS]]
    return write_header(roots) + b"".join(write_section(cid, block) for cid, block in blocks)


def _cid(number: int, block: bytes) -> Cid:
    return cid_of(CODECS[number % len(CODECS)], sha256(block).digest())
