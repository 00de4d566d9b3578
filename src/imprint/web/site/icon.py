"""The icon of the site: the letter I as a printer's type, and the manifest that names it."""

import msgspec
from markupsafe import Markup

_SHAPE = (
    '<path d="M3 1h18a2 2 0 0 1 2 2v18a2 2 0 0 1-2 2H3a2 2 0 0 1-2-2V3a2 2 0 0 1 2-2Zm4 4v2.2'
    'l2.6.5v8.6L7 16.8V19h10v-2.2l-2.6-.5V7.7l2.6-.5V5Z"/>'
)

MARK = Markup(  # noqa: S704 - ours
    f'<svg viewBox="0 0 24 24" aria-hidden="true" focusable="false">{_SHAPE}</svg>'
)
"""The icon inside a page, in the colour of the accent."""

ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><style>path{fill:#24479e}'
    "@media(prefers-color-scheme:dark){path{fill:#a3bbff}}</style>"
    f"{_SHAPE}</svg>"
)
"""The icon as a file."""


def web_manifest(name: str) -> bytes:
    """The manifest with which browsers install the site."""
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
