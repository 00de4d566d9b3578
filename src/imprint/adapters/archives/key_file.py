"""The file with the seed of an installation's export key."""

import os
from collections.abc import Callable
from pathlib import Path


class NoKey(Exception):
    """The file does not contain a key, or cannot be read or created."""


def load_seed(path: Path, size: int, draw: Callable[[int], bytes]) -> bytes:
    """The seed of `size` bytes in a file, which is created at first use and readable by its owner
    only.

    `draw` returns random bytes. Raises `NoKey` for a file with other content.
    """
    try:
        if not path.exists():
            _create(path, draw(size).hex())
        seed = bytes.fromhex(path.read_text("ascii").strip())
    except (OSError, ValueError) as error:
        raise NoKey(f"The key file {path} cannot be used.") from error
    if len(seed) != size:
        raise NoKey(f"The key file {path} does not contain a key.")
    return seed


def _create(path: Path, text: str) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        # Of two processes the first one wins: a link never replaces an existing key.
        os.link(temporary, path)
    except FileExistsError:
        pass
    finally:
        temporary.unlink()
