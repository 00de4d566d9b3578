"""Compare our tar reader with tarfile.

    python -m bench.micro.tar_reader

Prints the CPU time per member header in microseconds, from the best of several rounds.
"""

import io
import tarfile
import time
from collections.abc import Callable

from imprint.adapters.archives.tar_file import read_members

MEMBERS = 10_000
ROUNDS = 5


def _build_tar() -> io.BytesIO:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for number in range(MEMBERS):
            info = tarfile.TarInfo(f"content/private/ab/{number:059}")
            info.size = 700
            tar.addfile(info, io.BytesIO(bytes(info.size)))
    return file


def _read_with_tarfile(file: io.BytesIO) -> int:
    with tarfile.open(fileobj=file, mode="r:") as tar:
        return sum(1 for _ in tar)


def _read_ours(file: io.BytesIO) -> int:
    return sum(1 for _ in read_members(file))


def _measure(read: Callable[[io.BytesIO], int], file: io.BytesIO) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        file.seek(0)
        began = time.process_time()
        assert read(file) == MEMBERS
        best = min(best, time.process_time() - began)
    return best / MEMBERS * 1e6


def main() -> None:
    """Print the table of results."""
    file = _build_tar()
    for name, read in (("ours", _read_ours), ("tarfile", _read_with_tarfile)):
        print(f"{name:10} {_measure(read, file):6.1f} µs")


if __name__ == "__main__":
    main()
