"""Rendered pages: their bytes, plain and compressed, and their responses."""

import gzip
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from imprint.web.http.responses import HTML_TYPE, content_tag, entity_tag, is_current

SMALLEST_COMPRESSED = 1_024
"""Minimum size in bytes of a page that is compressed.

Pages contain no secrets that a compressed length could reveal.
"""

LARGEST_COMPRESSED = 1024 * 1024
"""Maximum size in bytes of a page that is compressed. Larger pages consist mostly of images."""

LICENSE_LINK = '</license.xml>; rel="license"; type="application/rsl+xml"'

_OVERHEAD = 1_024
"""Bytes counted for each cached page on top of the length of its content."""


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """A page and its entity tag. The compressed page has a different tag, as its bytes differ."""

    body: bytes
    compressed: bytes | None
    tag: str

    @classmethod
    def of(cls, text: str) -> "RenderedPage":
        """Build the page with this HTML."""
        body = text.encode()
        compressed = None
        if SMALLEST_COMPRESSED <= len(body) <= LARGEST_COMPRESSED:
            compressed = gzip.compress(body, 6, mtime=0)
        return cls(body, compressed, content_tag(body))

    @property
    def weight(self) -> int:
        """Approximate memory size in bytes."""
        return _OVERHEAD + len(self.body) + len(self.compressed or b"")

    @property
    def compressed_tag(self) -> str:
        """The entity tag of the compressed page."""
        return entity_tag(f"{self.tag[1:-1]}.gz")

    def headers(self, policy: str, cache: str, cache_tag: str) -> dict[str, str]:
        """Return the headers of a response with this page. `cache_tag` is for shared caches."""
        return {
            "Cache-Tag": cache_tag,
            "ETag": self.tag,
            "Content-Security-Policy": policy,
            "Cache-Control": cache,
            "Vary": "Accept-Encoding",
            "Link": LICENSE_LINK,
        }

    def is_current(self, request: Request) -> bool:
        """Whether the client already has this page."""
        return is_current(request, self.tag) or is_current(request, self.compressed_tag)

    def encoded(self, request: Request, headers: dict[str, str]) -> bytes:
        """Return the bytes for this client, and set the header if they are compressed."""
        if self.compressed is None or not accepts_gzip(request):
            return self.body
        headers["Content-Encoding"] = "gzip"
        headers["ETag"] = self.compressed_tag
        return self.compressed

    def response(self, request: Request, policy: str, cache: str, cache_tag: str) -> Response:
        """Build the response with this page, or 304 if the client already has it."""
        headers = self.headers(policy, cache, cache_tag)
        if self.is_current(request):
            return Response(status_code=304, headers=headers)
        return Response(self.encoded(request, headers), 200, headers, HTML_TYPE)


def accepts_gzip(request: Request) -> bool:
    """Whether a client accepts gzip. `q=0` means that it does not."""
    for part in request.headers.get("accept-encoding", "").lower().split(","):
        coding, _, weight = part.partition(";")
        if coding.strip() == "gzip":
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
