"""Tar files of backups, and gzipped bodies."""

from contextlib import suppress
from io import BytesIO

from imprint.adapters.archives.tar_file import BLOCK, NotATar, find_near_end, read_members
from imprint.adapters.webhooks.provider_b import gunzip
from imprint.domain.errors import Refusal

LIMIT = 256 * 1024
CHECKSUM = slice(148, 156)


def check(data: bytes) -> None:
    """Members lie inside their file, in order, and what is decompressed stays within its limit."""
    with suppress(Refusal):
        assert sum(map(len, gunzip(data, LIMIT))) <= LIMIT
    for tar in (data, _with_checksums(data)):
        file = BytesIO(tar)
        end = 0
        with suppress(NotATar):
            for member in read_members(file):
                assert end <= member.header < member.start <= member.start + member.size <= len(tar)
                end = member.start + member.size
        for name in ("manifest.json", "imprint.sqlite3"):
            last = find_near_end(file, name)
            assert last is None or last.start + last.size <= len(tar)


def _with_checksums(data: bytes) -> bytes:
    """Correct the checksum of every block, because the fuzzer would not guess it."""
    corrected = bytearray(data)
    for at in range(0, len(data) - BLOCK + 1, BLOCK):
        block = corrected[at : at + BLOCK]
        if any(block):
            block[CHECKSUM] = b" " * 8
            block[CHECKSUM] = b"%06o\0 " % sum(block)
            corrected[at : at + BLOCK] = block
    return bytes(corrected)
