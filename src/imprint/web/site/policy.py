"""The content security policy of the pages."""

from functools import lru_cache
from urllib.parse import urlsplit


def content_policy(
    rpc_url: str | None = None,
    style_nonce: str | None = None,
    pictures: str | None = None,
) -> str:
    """Return a page's policy, which allows only resources of the service and images in texts.

    `rpc_url` is the node that pages of `imprint dev` call. The editor writes its own styles, and
    marks them with `style_nonce`. `pictures` is the origin of another gateway, to which requests
    for thumbnails are redirected.
    """
    nonce = "" if style_nonce is None else f" 'nonce-{style_nonce}'"
    return _policy(_origin(rpc_url), nonce, "" if pictures is None else f" {pictures}")


COPY_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "base-uri 'none'; form-action 'none'"
)
"""The policy in the pages of a static copy, which have no scripts and make no requests."""


def _policy(origin: str, nonce: str, pictures: str) -> str:
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            f"style-src 'self'{nonce}",
            f"img-src 'self' data: blob:{pictures}",
            "font-src 'self'",
            f"connect-src 'self'{origin}",
            "manifest-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        )
    )


@lru_cache(maxsize=8)
def _origin(url: str | None) -> str:
    if url is None:
        return ""
    parts = urlsplit(url)
    return f" {parts.scheme}://{parts.netloc}"
