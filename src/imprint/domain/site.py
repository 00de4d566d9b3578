"""The operator's customization of the site: its name and look, links, pages and front page."""

from dataclasses import dataclass
from hashlib import sha256

from imprint.domain.formats.addresses import Address
from imprint.domain.formats.colours import Accent

ABOUT = "about"
"""Name of the page that every site has, whose text the operator may write."""

RESERVED_NAMES = frozenset(
    {
        *(".well-known", "a", "assets", "auth", "authors", "create", "delete", "docs", "feeds"),
        *("fileByCid", "fileByPostId", "filesByNextPageToken", "filesByTags", "filesMetaData"),
        *("freeFileByPostId", "globalMetrics", "healthz", "heatmap", "icon.svg", "ipfs"),
        *("library", "license.xml", "llms.txt", "me", "openapi.json", "operator", "p"),
        *("pendingFilesByOwner", "posts", "publish", "readyz", "reports", "revise", "robots.txt"),
        *("search", "site.webmanifest", "sitemap.xml", "sitemaps", "stats", "studio", "t"),
        *("update", "userMetrics", "webhook", "writing"),
    }
)
"""First segments of the service's own paths, which the operator's pages must not use."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that the operator provides, named by a hash of its content."""

    content: bytes
    media_type: str

    @property
    def digest(self) -> str:
        """Return the picture's name, which is a hash of its content."""
        return content_name(self.content)


@dataclass(frozen=True, slots=True)
class SiteLink:
    """A label, and the path or `https:` URL that it links to."""

    label: str
    address: str


@dataclass(frozen=True, slots=True)
class OwnPage:
    """A Markdown page of the operator, at `/{name}`."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class FrontPage:
    """The posts on the front page: one author's posts, or featured posts followed by the newest."""

    author: Address | None = None
    featured: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SiteIdentity:
    """The name of a site, its look, its links, its pages, and the contents of its front page."""

    name: str
    description: str | None = None
    language: str = "en"
    logo: Picture | None = None
    icon: Picture | None = None
    accent: Accent | None = None
    navigation: tuple[SiteLink, ...] = ()
    pages: tuple[OwnPage, ...] = ()
    footer: str | None = None
    contact: str | None = None
    terms: str | None = None
    front: FrontPage = FrontPage()
    credits_imprint: bool = True
    """Whether the footer names Imprint as the software that runs the site."""


def content_name(content: bytes) -> str:
    """Return a short name that changes with the content, for URLs that are cached forever."""
    return sha256(content).hexdigest()[:16]
