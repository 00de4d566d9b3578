"""The deployment files of a release, with every image pinned by its digest.

A tag can be moved to another image later. A digest always refers to the same bytes.
"""

import gzip
import io
import re
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path

from tools.files import ROOT

_IMAGE = re.compile(
    r"^(?P<before> *image: |ARG BASE=)(?P<name>[a-z0-9-]+(?:\.[a-z0-9-]+)+/[a-z0-9./_-]+:[\w.-]+)$",
    re.MULTILINE,
)
"""Matches a third-party image, with its registry host and a tag."""

_OWN_IN_COMPOSE = re.compile(r"\$\{IMAGE:-localhost/imprint:[\w.]+\}")
_OWN_IN_KUBERNETES = re.compile(r"newName: \S+\n( +)newTag: \S+")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class NotPinned(Exception):
    """The digest of an image could not be read. The text names the image and the reason."""


def find_images(root: Path = ROOT) -> set[str]:
    """Return the third-party images that the deployment files name."""
    return {
        found["name"]
        for path in _files(root)
        for found in _IMAGE.finditer(path.read_text("utf-8", "replace"))
    }


def read_digest(name: str) -> str:
    """Return the current digest of an image in its registry. Raises `NotPinned`."""
    command = ["skopeo", "inspect", "--no-tags", "--format", "{{.Digest}}", f"docker://{name}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    digest = done.stdout.strip()
    if done.returncode != 0 or not _DIGEST.fullmatch(digest):
        raise NotPinned(f"The digest of {name} cannot be read: {done.stderr.strip()[-300:]}")
    return digest


def pin_images(text: str, digests: Mapping[str, str], own: str | None = None) -> str:
    """Return a deployment file with digests. `own` is the digest of Imprint's image, if pushed."""
    pinned = _IMAGE.sub(
        lambda found: f"{found['before']}{found['name']}@{digests[found['name']]}", text
    )
    if own is None:
        return pinned
    name, _, digest = own.partition("@")
    pinned = _OWN_IN_COMPOSE.sub(f"${{IMAGE:-{own}}}", pinned)
    return _OWN_IN_KUBERNETES.sub(
        lambda found: f"newName: {name}\n{found[1]}digest: {digest}", pinned
    )


def write_deployment(
    archive: Path, epoch: str, digests: Mapping[str, str], own: str | None = None
) -> None:
    """Write the deploy/ folder with pinned images. The same input gives the same bytes."""
    with (
        archive.open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=int(epoch)) as packed,
        tarfile.open(fileobj=packed, mode="w") as tar,
    ):
        for path in _files(ROOT):
            data = path.read_bytes()
            if b"image" in data or b"ARG BASE" in data:
                data = pin_images(data.decode(), digests, own).encode()
            entry = tarfile.TarInfo(str(path.relative_to(ROOT)))
            entry.size, entry.mtime = len(data), int(epoch)
            entry.mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
            tar.addfile(entry, io.BytesIO(data))


def _files(root: Path) -> list[Path]:
    command = ["git", "ls-files", "-z", "deploy"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)  # noqa: S603
    return [root / name for name in sorted(listed.stdout.split("\0")) if name]
