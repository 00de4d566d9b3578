"""Imprint and Kubo compute the same CIDs and read the same spellings of them."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from random import Random
from typing import Any

from libipld import decode_multibase, encode_multibase
from tests.differences.comparison import Known, Refused, Subject, compare
from tests.differences.random_values import mutate
from tests.kubo.node import BINARY

from imprint.domain.formats.cids import LAYOUTS, Layout, NotACid, document_cid, parse_cid

SMALL_LAYOUTS = (
    *(Layout(8, 7), Layout(16, 2), Layout(16, 3), Layout(100, 174), Layout(1_000, 4)),
    *(Layout(17, 5, raw=False), Layout(64, 2, raw=False), Layout(333, 10, raw=False)),
)
"""Layouts in which small files already have deep trees."""

ALL_LAYOUTS = (*LAYOUTS, *SMALL_LAYOUTS)

RAW_OR_DAG_PB = (b"\x01\x55\x12\x20", b"\x01\x70\x12\x20")
PREFIXES = (
    *RAW_OR_DAG_PB,
    *RAW_OR_DAG_PB,
    *(b"\x01\x71\x12\x20", b"\x01\xa9\x02\x12\x20", b"\x01\x55\x1b\x20", b"\x01\x55\x00\x20"),
    *(b"\x01\x55\x12\x1f", b"\x02\x55\x12\x20", b"\x81\x00\x55\x12\x20", b"\x12\x20", b""),
)
BASES = "bBzZfFkKmMuUvVtTcChp097"


def random_file(rng: Random) -> tuple[int, bytes]:
    """Return the index of a layout and a content, whose size is often at a boundary."""
    index = rng.randrange(len(ALL_LAYOUTS))
    layout = ALL_LAYOUTS[index]
    if layout in SMALL_LAYOUTS:
        boundary = layout.chunk * rng.choice([1, 2, layout.width, layout.width + 1])
        sizes = [rng.randrange(600), boundary - 1, boundary, boundary + 1]
        return index, rng.randbytes(min(rng.choice(sizes), 10_000))
    if rng.random() < 0.98:
        return index, rng.randbytes(int(2 ** rng.uniform(0, 12)) - 1)
    size = layout.chunk * rng.choice([1, 1, 1, 2, 3]) + rng.choice([-1, 0, 1, rng.randrange(999)])
    pattern = rng.randbytes(1_000)
    return index, (pattern * (size // 1_000 + 1))[:size]


def hash_file(case: tuple[int, bytes]) -> str:
    return document_cid(case[1], ALL_LAYOUTS[case[0]])


def random_spelling(rng: Random) -> str:
    """Return the text of a CID in some base, altered in half of the cases."""
    binary = rng.choice(PREFIXES) + rng.randbytes(rng.choice([32, 32, 32, 32, 32, 31, 33, 64]))
    if binary.startswith(b"\x12\x20") and rng.random() < 0.8:
        text = encode_multibase("z", binary)[1:]
    else:
        try:
            text = encode_multibase(rng.choice(BASES), binary)
        except ValueError:
            text = encode_multibase("b", binary)
    if rng.random() < 0.5:
        text = mutate(rng, text)
    elif rng.random() < 0.1:
        # The last character often has more bits than the last byte needs.
        kept = text.rstrip("=")
        text = kept[:-1] + rng.choice(kept) + text[len(kept) :]
    # One CID is one line of Kubo's input, whose white space is ignored.
    return text.replace("\n", "").replace("\r", "").strip()


def read_spelling(text: str) -> str | Refused:
    try:
        return parse_cid(text)
    except NotACid as error:
        return Refused(str(error))


def binary_of(text: str) -> bytes:
    """Return the bytes that a text has in its base, or no bytes."""
    try:
        return decode_multibase(text)[1]
    except ValueError:
        return b""


SPELLINGS = (
    Known(
        "another codec or hash",
        "Imprint's documents are raw or dag-pb blocks with SHA-256, but Kubo reads any CID.",
        lambda text, ours, theirs: (
            isinstance(ours, Refused)
            and isinstance(theirs, str)
            and not binary_of(theirs).startswith(RAW_OR_DAG_PB)
        ),
    ),
    Known(
        "a CIDv0 in a multibase",
        "The specification does not allow the prefix of a multibase before CIDv0, but Kubo does.",
        lambda text, ours, theirs: (
            isinstance(ours, Refused)
            and isinstance(theirs, str)
            and binary_of(text).startswith(b"\x12\x20")
        ),
    ),
    Known(
        "characters after the padding",
        "Imprint reads one text per base for each CID, but Kubo ignores what follows the padding.",
        lambda text, ours, theirs: (
            isinstance(ours, Refused)
            and isinstance(theirs, str)
            and text[0] in "cCtT"
            and bool(re.search("=[^=]|={7}", text))
        ),
    ),
    Known(
        "base 2",
        "Imprint reads the bases from 16 up, in which a CID is short enough for an address.",
        lambda text, ours, theirs: (
            isinstance(ours, Refused) and isinstance(theirs, str) and text[0] == "0"
        ),
    ),
    Known(
        "stray bits",
        "Imprint reads one text per base for each CID, but Kubo ignores bits after the last byte.",
        lambda text, ours, theirs: (
            isinstance(ours, Refused) and isinstance(theirs, str) and not binary_of(text)
        ),
    ),
)


class Kubo:
    """Kubo's command line with a repository of its own, without a running node."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "IPFS_PATH": str(folder / "repo"),
            "IPFS_TELEMETRY": "off",
        }
        self.run("init", "--empty-repo", "--profile=test")

    def run(self, *arguments: str, said: str = "") -> "subprocess.CompletedProcess[str]":
        command = [str(BINARY), *arguments]
        return subprocess.run(
            command,
            env=self._environment,
            input=said,
            capture_output=True,
            check=False,
            encoding="utf-8",
        )

    def hash_files(self, cases: list[tuple[int, bytes]]) -> list[str]:
        """Return the CIDs of files, which Kubo adds by layout."""
        cids: dict[int, str] = {}
        for index, layout in enumerate(ALL_LAYOUTS):
            numbers = [number for number, case in enumerate(cases) if case[0] == index]
            if numbers:
                cids |= self._hash_folder(layout, {number: cases[number][1] for number in numbers})
        return [cids[number] for number in range(len(cases))]

    def _hash_folder(self, layout: Layout, files: dict[int, bytes]) -> dict[int, str]:
        folder = self.folder / "files"
        folder.mkdir()
        for number, content in files.items():
            (folder / str(number)).write_bytes(content)
        version = ["--cid-version=1", "--raw-leaves"]
        if not layout.raw:
            version = ["--cid-version=0", "--raw-leaves=false"]
        shape = [f"--chunker=size-{layout.chunk}", f"--max-file-links={layout.width}"]
        options = ["--recursive", "--only-hash", "--progress=false", *version, *shape]
        done = self.run("add", *options, str(folder))
        assert done.returncode == 0, done.stderr
        shutil.rmtree(folder)
        added = [line.split() for line in done.stdout.splitlines()]
        named = {name.partition("/")[2]: cid for _, cid, name in added}
        return {number: parse_cid(named[str(number)]) for number in files}

    def read_spellings(self, texts: list[str]) -> list[Any]:
        """Return CIDs as base32. Kubo writes errors and results to different streams, in order."""
        done = self.run(
            "cid", "format", "-v", "1", "-b", "base32", said="".join(f"{text}\n" for text in texts)
        )
        errors, results = done.stderr.split("\n")[::-1], done.stdout.split("\n")[::-1]
        return [
            Refused(errors.pop()) if errors[-1].startswith(f"{text}: ") else results.pop()
            for text in texts
        ]


def test_imprint_and_kubo_compute_and_read_the_same_cids(tmp_path: Path):
    kubo = Kubo(tmp_path)
    compare(
        "Kubo",
        "A random file in a random layout with a size often at a chunk's boundary, hashed by both, "
        "and a random spelling of a CID, read by both.",
        [
            Subject("files", 100, random_file, hash_file, kubo.hash_files, batch=5_000),
            Subject(
                "spellings", 60, random_spelling, read_spelling, kubo.read_spellings, SPELLINGS
            ),
        ],
    )
