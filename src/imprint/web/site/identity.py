"""The operator's identity on the site: the operator's files, links and pages."""

import re
from dataclasses import dataclass
from functools import lru_cache
from html import escape

import msgspec
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from imprint.domain.errors import Code, Refusal
from imprint.domain.formats.colours import Accent
from imprint.domain.posts.text_work import TextWork, TooIntricate
from imprint.domain.site import ABOUT, OwnPage, SiteIdentity, SiteLink, content_name
from imprint.web.http.responses import IMMUTABLE, PRIVATE
from imprint.web.site.assets import ASSET_PATH, COMPRESSED, ICON, Asset, Assets, compressed
from imprint.web.site.rendered_page import accepts_gzip
from imprint.web.site.texts.markdown import first_heading
from imprint.web.site.texts.post_html import text_markup
from imprint.web.site.words import page_words

ICON_PATH = "/icon.svg"
"""The path of the icon of a site whose operator provides none."""

OWN_NAME = "Imprint"
"""The name of a site whose operator sets none. A site with this name has Imprint's icon."""

_ENDINGS = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/webp": "webp",
    "image/svg+xml": "svg",
    "text/css": "css",
}
_STALE = re.compile(r"(accent|icon|logo)-[0-9a-f]{16}\.[a-z]{3,4}")


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A file of the operator. Its name contains a digest, so that it can be cached forever."""

    name: str
    asset: Asset

    @property
    def url(self) -> str:
        """The path at which the file is served."""
        return ASSET_PATH + self.name

    @property
    def media_type(self) -> str:
        """The media type of the file."""
        return self.asset.media_type


@dataclass(frozen=True, slots=True)
class OwnFiles:
    """The logo, the icon and the style sheet with the accent, if the operator provides them."""

    logo: OwnFile | None = None
    icon: OwnFile | None = None
    accent: OwnFile | None = None

    @classmethod
    def of(cls, identity: SiteIdentity) -> "OwnFiles":
        """Return the files of a site."""
        logo, icon, accent = identity.logo, identity.icon, identity.accent
        return cls(
            None if logo is None else _file("logo", logo.content, logo.media_type),
            None if icon is None else _file("icon", icon.content, icon.media_type),
            None if accent is None else _file("accent", accent_css(accent).encode(), "text/css"),
        )

    def find(self, name: str) -> OwnFile | None:
        """Return the file with this name, or the file that replaced it.

        A cached page may still name an earlier file.
        """
        match = _STALE.fullmatch(name)
        found: OwnFile | None = None if match is None else getattr(self, match[1])
        return found


def _file(kind: str, content: bytes, media_type: str) -> OwnFile:
    ending = _ENDINGS[media_type]
    name = f"{kind}-{content_name(content)}.{ending}"
    smaller = compressed(content) if ending in COMPRESSED else None
    return OwnFile(name, Asset(content, media_type, smaller))


def accent_css(accent: Accent) -> str:
    """Return the style sheet with an accent, for light and dark pages."""
    return (
        f":root{{--accent:{accent.light}}}\n"
        f'@media (prefers-color-scheme:dark){{:root:not([data-theme="light"])'
        f"{{--accent:{accent.dark}}}}}\n"
        f':root[data-theme="dark"]{{--accent:{accent.dark}}}\n'
    )


@dataclass(frozen=True, slots=True)
class RenderedOwnPage:
    """A page of the operator as HTML. Its first heading is its title."""

    name: str
    title: str
    text: Markup | None

    @property
    def path(self) -> str:
        """The path at which the page is served."""
        return f"/{self.name}"


@lru_cache(maxsize=64)
def render_own_page(page: OwnPage) -> RenderedOwnPage:
    """Render an operator's page in the same way as the text of a post."""
    try:
        heading = first_heading(page.text, TextWork())
    except TooIntricate:
        heading = None
    written, plain = heading or ("", page.name.replace("-", " ").capitalize())
    text = text_markup(page.text, written, TextWork()).with_pictures(page.text)
    return RenderedOwnPage(page.name, plain, text)


@dataclass(frozen=True, slots=True)
class Frame:
    """The frame around every page: names, files, and the links in header and footer."""

    name: str
    description: str | None
    language: str
    files: OwnFiles
    navigation: tuple[SiteLink, ...]
    pages: tuple[RenderedOwnPage, ...]
    links: tuple[SiteLink, ...]
    footer: str | None
    contact: str | None
    credits_imprint: bool

    @classmethod
    def of(cls, identity: SiteIdentity) -> "Frame":
        """Build the frame of a site, whose first page is always the page about the site."""
        words = page_words()
        written = {page.name: render_own_page(page) for page in identity.pages}
        about = written.pop(
            ABOUT, RenderedOwnPage(ABOUT, words.text("page.about_name", name=identity.name), None)
        )
        pages = (about, *written.values())
        links = [SiteLink(words.text("page.about"), about.path)]
        links += [SiteLink(each.title, each.path) for each in written.values()]
        if identity.terms is not None:
            links.append(SiteLink(words.text("page.terms"), identity.terms))
        if identity.contact is not None:
            links.append(SiteLink(words.text("page.contact"), identity.contact))
        once = {link.address: link for link in reversed(links)}
        return cls(
            identity.name,
            identity.description,
            identity.language,
            OwnFiles.of(identity),
            identity.navigation,
            pages,
            tuple(reversed(once.values())),
            identity.footer,
            identity.contact,
            identity.credits_imprint,
        )

    @property
    def icon(self) -> str:
        """The URL of the icon."""
        return ICON_PATH if self.files.icon is None else self.files.icon.url

    @property
    def icon_type(self) -> str:
        """The media type of the icon."""
        return "image/svg+xml" if self.files.icon is None else self.files.icon.media_type

    @property
    def drawn_icon(self) -> str:
        """Draw an icon with the first letter of a site's name, for a site without an icon."""
        if self.name == OWN_NAME:
            return ICON
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><style>'
            "rect{fill:#1b1a18}text{fill:#fdfcfa;font:600 15px Georgia,serif}"
            "@media(prefers-color-scheme:dark){rect{fill:#e8e5de}text{fill:#16171a}}</style>"
            '<rect x="1" y="1" width="22" height="22" rx="4"/>'
            f'<text x="12" y="17.2" text-anchor="middle">{escape(self.name[0].upper())}</text>'
            "</svg>"
        )


def web_manifest(frame: Frame) -> bytes:
    """Return the manifest that browsers need to install the site."""
    described = {} if frame.description is None else {"description": frame.description}
    return msgspec.json.encode(
        {
            "name": frame.name,
            "short_name": frame.name,
            **described,
            "lang": frame.language,
            "start_url": "/",
            "display": "browser",
            "background_color": "#fdfcfa",
            "theme_color": "#fdfcfa",
            "icons": [{"src": frame.icon, "sizes": "any", "type": frame.icon_type}],
        }
    )


INERT = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
"""Content security policy of a picture that is opened by itself.

An SVG may contain styles, but no scripts.
"""


@dataclass(frozen=True, slots=True)
class AssetRoutes:
    """Serves files named by a hash of their content: built files and the operator's files."""

    assets: Assets
    own: OwnFiles = OwnFiles()

    async def asset(self, request: Request) -> Response:
        """`/assets/{name}`: a script, style sheet, font or picture of the pages."""
        name = request.path_params["name"]
        asset = self.assets.find(name)
        if asset is None and (own := self.own.find(name)) is not None:
            if own.name != name:
                headers = {"Location": own.url, "Cache-Control": PRIVATE}
                return Response(status_code=302, headers=headers)
            asset = own.asset
        if asset is None:
            raise Refusal(Code.NOT_FOUND, "There is no such file.")
        headers = {"Cache-Control": IMMUTABLE, "Vary": "Accept-Encoding"}
        if asset.media_type.startswith("image/"):
            headers["Content-Security-Policy"] = INERT
        content = asset.content
        if asset.compressed is not None and accepts_gzip(request):
            content, headers["Content-Encoding"] = asset.compressed, "gzip"
        return Response(content, 200, headers, asset.media_type)
