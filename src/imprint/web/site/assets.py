"""The pages' scripts, styles and fonts: built, named by their content, and held in memory."""

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

import msgspec
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from imprint.domain.errors import Code, Refusal
from imprint.web.site.rendered_page import accepts_gzip

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

FOR_EVER = "public, max-age=31536000, immutable"
"""Cache header for assets, whose names change with their content."""

COMPRESSED = ("css", "js", "svg", "txt")
"""Extensions of text files, which are sent compressed to clients that accept it."""


@dataclass(frozen=True, slots=True)
class Asset:
    """A built file, and its compressed form if that is smaller."""

    content: bytes
    media_type: str
    compressed: bytes | None


class Assets:
    """The built files by name; `url` returns the URL of an entry."""

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


@dataclass(frozen=True, slots=True)
class AssetRoutes:
    """Routes for files that are built and named by their content."""

    assets: Assets

    async def asset(self, request: Request) -> Response:
        """`/assets/{name}`: a script, style sheet, font or image of the pages."""
        asset = self.assets.find(request.path_params["name"])
        if asset is None:
            raise Refusal(Code.NOT_FOUND, "There is no such file.")
        headers = {"Cache-Control": FOR_EVER, "Vary": "Accept-Encoding"}
        content = asset.content
        if asset.compressed is not None and accepts_gzip(request):
            content, headers["Content-Encoding"] = asset.compressed, "gzip"
        return Response(content, 200, headers, asset.media_type)


@cache
def built_assets() -> Assets:
    """Load the assets in the package, once."""
    return Assets(files("imprint.web.site").joinpath("assets"))


def _read(file: Traversable) -> Asset:
    content, ending = file.read_bytes(), file.name.rpartition(".")[2]
    compressed = gzip.compress(content, 9, mtime=0) if ending in COMPRESSED else None
    return Asset(content, MEDIA_TYPES[ending], compressed)


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


def web_manifest(name: str) -> bytes:
    """Return the manifest with which browsers install the site."""
    return msgspec.json.encode(
        {
            "name": name,
            "short_name": name,
            "start_url": "/",
            "display": "browser",
            "background_color": "#fdfcfa",
            "theme_color": "#fdfcfa",
            "icons": [{"src": "/icon.svg", "sizes": "any", "type": "image/svg+xml"}],
        }
    )
