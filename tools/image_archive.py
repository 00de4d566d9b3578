"""Makes image archives reproducible: removes what buildah chooses at random from an archive.

`tools/build-image --output` runs this file with the system's Python: it needs nothing
installed.
"""

import hashlib
import io
import json
import sys
import tarfile
from pathlib import Path
from typing import IO, Any


def read_config(archive: Path) -> dict[str, Any]:
    """Return the configuration of the image in an archive for `docker load`."""
    with tarfile.open(archive) as members:
        config: dict[str, Any] = json.load(_open(members, _manifest(members)["Config"]))
    return config


def write_reproducible(source: Path, target: Path) -> None:
    """Copy an archive without the container's name and id, and without legacy metadata."""
    with tarfile.open(source) as members, tarfile.open(target, "w") as written:
        manifest = _manifest(members)
        config = json.load(_open(members, manifest["Config"]))
        for name in ("container", "container_config"):
            config.pop(name, None)
        config["config"].pop("Hostname", None)
        encoded = json.dumps(config, sort_keys=True, separators=(",", ":")).encode()
        manifest["Config"] = f"{hashlib.sha256(encoded).hexdigest()}.json"
        for layer in manifest["Layers"]:
            _add(written, layer, members.getmember(layer).size, _open(members, layer))
        listed = json.dumps([manifest], sort_keys=True, separators=(",", ":")).encode()
        for name, data in ((manifest["Config"], encoded), ("manifest.json", listed)):
            _add(written, name, len(data), io.BytesIO(data))


def _manifest(members: tarfile.TarFile) -> dict[str, Any]:
    [manifest] = json.load(_open(members, "manifest.json"))
    return dict(manifest)


def _open(members: tarfile.TarFile, name: str) -> IO[bytes]:
    opened = members.extractfile(name)
    if opened is None:
        raise tarfile.ReadError(f"{name} is no file of the archive.")
    return opened


def _add(written: tarfile.TarFile, name: str, size: int, data: IO[bytes]) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = size
    written.addfile(entry, data)


if __name__ == "__main__":
    write_reproducible(Path(sys.argv[1]), Path(sys.argv[2]))
