"""The scripts, styles and fonts of the pages: built, named by content hash, and held in memory."""

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from markupsafe import Markup

ASSET_PATH = "/assets/"
"""The path of assets, which can be cached forever because their names contain a hash."""

MANIFEST = "manifest.json"
"""The manifest that maps every entry to its built file."""

MEDIA_TYPES = {
    "css": "text/css",
    "js": "text/javascript",
    "png": "image/png",
    "svg": "image/svg+xml",
    "txt": "text/plain",
    "woff2": "font/woff2",
}
"""The media types of assets by file extension."""

COMPRESSED = ("css", "js", "svg", "txt")
"""Extensions of text files, which are sent compressed to clients that accept it."""


@dataclass(frozen=True, slots=True)
class Asset:
    """A built file, and its compressed form if that is smaller."""

    content: bytes
    media_type: str
    compressed: bytes | None


class Assets:
    """The built files by name. `url` returns the URL of an entry."""

    def __init__(self, folder: Traversable) -> None:
        self._files = {
            each.name: _read(each)
            for each in folder.iterdir()
            if each.name.rpartition(".")[2] in MEDIA_TYPES
        }
        self._manifest: Mapping[str, str] = json.loads(folder.joinpath(MANIFEST).read_bytes())

    def find(self, name: str) -> Asset | None:
        """Return the file with this name."""
        return self._files.get(name)

    def has(self, entry: str) -> bool:
        """Whether there is an entry with this name."""
        return entry in self._manifest

    def url(self, entry: str) -> str:
        """Return the URL of an entry such as `reader.js`. Raises `KeyError` for an unknown one."""
        return ASSET_PATH + self._manifest[entry]


@cache
def built_assets() -> Assets:
    """Load the assets in the package, once."""
    return Assets(files("imprint.web.site").joinpath("assets"))


def _read(file: Traversable) -> Asset:
    content, ending = file.read_bytes(), file.name.rpartition(".")[2]
    return Asset(
        content, MEDIA_TYPES[ending], compressed(content) if ending in COMPRESSED else None
    )


def compressed(content: bytes) -> bytes:
    """Compress the content with gzip, always into the same bytes."""
    return gzip.compress(content, 9, mtime=0)


_SHAPE = (
    '<path d="M3 1h18a2 2 0 0 1 2 2v18a2 2 0 0 1-2 2H3a2 2 0 0 1-2-2V3a2 2 0 0 1 2-2Zm4 4v2.2'
    'l2.6.5v8.6L7 16.8V19h10v-2.2l-2.6-.5V7.7l2.6-.5V5Z"/>'
)

MARK = Markup(  # noqa: S704 - ours
    f'<svg viewBox="0 0 24 24" aria-hidden="true" focusable="false">{_SHAPE}</svg>'
)
"""Return the icon for use inside a page, in the accent colour."""

ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><style>path{fill:#24479e}'
    "@media(prefers-color-scheme:dark){path{fill:#a3bbff}}</style>"
    f"{_SHAPE}</svg>"
)
"""Return the icon as a file."""
