"""The file that the seed of an installation's export key is kept in."""

import os
from collections.abc import Callable
from pathlib import Path


class NoKey(Exception):
    """The file has no key in it, or cannot be read or made."""


def load_seed(path: Path, size: int, draw: Callable[[int], bytes]) -> bytes:
    """The seed of `size` bytes in this file; on first use it is drawn, and nobody else may read it.

    Refuses, with `NoKey`, a file that holds something else.
    """
    try:
        if not path.exists():
            _keep(path, draw(size).hex())
        seed = bytes.fromhex(path.read_text("ascii").strip())
    except (OSError, ValueError) as error:
        raise NoKey(f"The key file {path} cannot be used.") from error
    if len(seed) != size:
        raise NoKey(f"The key file {path} has no key in it.")
    return seed


def _keep(path: Path, text: str) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        # Whoever comes first decides: a key that somebody has seen is never replaced.
        os.link(temporary, path)
    except FileExistsError:
        pass
    finally:
        temporary.unlink()
