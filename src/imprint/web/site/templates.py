"""Page templates: Jinja2, with autoescaping of everything not marked as safe."""

from collections import Counter
from collections.abc import Iterable
from functools import cache, partial
from typing import Any

import jinja2
import msgspec
import nh3
from markupsafe import Markup

from imprint.domain.formats.coins import format_amount
from imprint.domain.formats.instants import format_instant
from imprint.domain.posts.indexed_posts import IndexedPost
from imprint.domain.posts.post_text import reading_minutes
from imprint.domain.profiles import name_key
from imprint.web.api.feed_links import thumbnail_path
from imprint.web.site.assets import Assets
from imprint.web.site.cards import (
    author_name,
    post_page,
    post_title,
    price_text,
    short_address,
)
from imprint.web.site.words import page_words, write_day

FONTS = ("source-serif-4-latin-400-normal.woff2", "source-serif-4-latin-600-normal.woff2")
"""Fonts used above the fold. Pages preload them before the style sheet requests them."""


PICTURE_WIDTHS = (384, 640, 960, 1280, 1920)
"""Widths in pixels of the pictures that pages offer. Thumbnails are cached in these sizes."""


class Templates:
    """Renders templates.

    `shared` contains the values that every page has, and `coin` is the symbol of the chain's coin.
    """

    def __init__(self, assets: Assets, shared: dict[str, Any], coin: str) -> None:
        self._environment = _environment(assets, coin)
        self._shared = shared

    def render(self, name: str, **values: Any) -> str:
        """Render a template with these values."""
        return self._environment.get_template(name).render(self._shared | values)


@cache
def _environment(assets: Assets, coin: str) -> jinja2.Environment:
    """Return the compiled templates, shared by all services of a process."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("imprint.web.site"),
        autoescape=True,
        auto_reload=False,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    fonts = [assets.url(name) for name in FONTS if assets.has(name)]
    environment.globals.update(asset=assets.url, fonts=fonts, say=page_words().html)
    environment.filters.update(
        author_name=author_name,
        amount=partial(format_amount, symbol=coin),
        coin=partial(price_text, symbol=coin),
        data=script_data,
        day=write_day,
        instant=format_instant,
        link_text=_link_text,
        minutes=reading_minutes,
        name_key=name_key,
        page=post_page,
        shared_names=_shared_names,
        short=short_address,
        snippet=_snippet,
        srcset=_srcset,
        thumbnail=thumbnail_path,
        title_of=post_title,
    )
    return environment


def script_data(value: object) -> Markup:
    """Encode JSON for a data `script` element, so that it cannot close the element."""
    text = msgspec.json.encode(value).decode()
    return Markup(text.replace("<", "\\u003c").replace("&", "\\u0026"))  # noqa: S704 - no markup left


def _srcset(address: str) -> str:
    """Return the `srcset` of a picture, with the sizes from which browsers choose."""
    return ", ".join(f"{address}?img-width={width} {width}w" for width in PICTURE_WIDTHS)


def _link_text(link: str) -> str:
    """Return a link without its scheme."""
    return link.removeprefix("https://").removeprefix("mailto:").removesuffix("/")


def _shared_names(posts: Iterable[IndexedPost]) -> frozenset[str]:
    """Return the names shared by several authors of these posts, as compared by `name_key`."""
    named = {(post.author, name_key(post.byline.name)) for post in posts if post.byline}
    counted = Counter(name for _, name in named)
    return frozenset(name for name, count in counted.items() if count > 1)


def _snippet(text: str) -> Markup:
    """Return a search snippet in which only the marks are HTML."""
    return Markup(nh3.clean(text, tags={"mark"}, attributes={"*": set()}))  # noqa: S704 - sanitised
