"""URLs in texts: where links may go, and which images a page may load."""

import re
from html import escape

from imprint.domain.formats.cids import NotACid, parse_cid
from imprint.web.site.texts.pictures import SCHEME, Pictures
from imprint.web.site.words import page_words

MAX_ADDRESS = 2_000
"""Maximum number of characters in a URL. Longer URLs are not linked."""

_IPFS = re.compile(r"(?:ipfs://(?:ipfs/)?|/ipfs/)([A-Za-z0-9]{1,128})/?\Z")
_OPEN = re.compile(
    r"(?:https?://[^\s/?#]+|mailto:[^\s@]+@)[^\s<>\"\x00-\x1f\x7f]*\Z", re.IGNORECASE
)
_WITHIN = re.compile(r"(?:#|/(?![/\\]))[^\s<>\"\\\x00-\x1f\x7f]*\Z")


def link_address(given: str) -> str | None:
    """Return the target of a link, or None if it is not allowed.

    Links to other sites, mail, documents stored here, and pages of this site are allowed.
    """
    if len(given) > MAX_ADDRESS:
        return None
    if (path := ipfs_path(given)) is not None:
        return path
    if _OPEN.match(given) or _WITHIN.match(given):
        return given
    return None


def picture_address(given: str) -> str | None:
    """Return the URL of an image that a page may load, or None.

    Images in the text itself and images at this service are allowed.
    """
    if given.startswith(f"{SCHEME}:"):
        return given
    return ipfs_path(given)


def ipfs_path(given: str) -> str | None:
    """Return the path of a document at this service, from `ipfs://{cid}` or `/ipfs/{cid}`."""
    found = _IPFS.match(given)
    if found is None:
        return None
    try:
        return f"/ipfs/{parse_cid(found[1])}"
    except NotACid:
        return None


def picture_markup(given: str, alt: str, pictures: Pictures) -> str:
    """Render an image. An image on another host becomes a link, so that pages do not load it."""
    source = picture_address(given)
    # A text can contain a forged image name, or characters right after a real one.
    if source is not None and (pictures.has(source) or not source.startswith(f"{SCHEME}:")):
        size = pictures.size(source)
        box = 'class="unsized"' if size is None else f'width="{size[0]}" height="{size[1]}"'
        return f'<img src="{escape(source)}" alt="{escape(alt)}" {box} loading="lazy">'
    target = link_address(given)
    if target is None:
        return escape(alt)
    words = page_words()
    label = words.text("text.elsewhere", name=alt or words.text("text.picture"))
    return f'<a href="{escape(target)}">{escape(label)}</a>'
