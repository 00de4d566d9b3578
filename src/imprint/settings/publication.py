"""The settings of `[publication]`. Files are read and checked with the settings that name them."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from imprint.domain.formats.addresses import NotAnAddress, parse_address
from imprint.domain.formats.colours import Accent, NotAColour, parse_accent
from imprint.domain.site import (
    ABOUT,
    RESERVED_NAMES,
    FrontPage,
    OwnPage,
    Picture,
    SiteIdentity,
    SiteLink,
)
from imprint.settings.declaration import InvalidSetting, optional, setting
from imprint.settings.parsers import integer, parse_contact, parse_path, parse_switch, several

MAX_PICTURE = 256 * 1024
"""Maximum size of a logo or icon in bytes."""

MAX_PAGE = 256 * 1024
"""Maximum size of an operator's page in bytes."""

MAX_PAGES = 50
MAX_LINKS = 12
MAX_NAME = 64
MAX_LABEL = 40
MAX_SENTENCE = 300

NEWEST, FEATURED = "newest", "featured"

_PAGE_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}")
_PATH_END = re.compile(r"[/?#]")
_SVG = re.compile(rb"(\xef\xbb\xbf)?\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*<svg[\s>]", re.DOTALL)
_MAGIC = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}


def line(most: int) -> Callable[[str], str]:
    """Return a parser for one line of text without control or invisible characters."""

    def parse_line(text: str) -> str:
        if not text.isprintable():
            raise InvalidSetting("must be one line without control or invisible characters")
        if len(text) > most:
            raise InvalidSetting(f"has {len(text)} characters; it may have {most}")
        return " ".join(text.split())

    return parse_line


def parse_colour(text: str) -> Accent:
    """Parse an accent colour into its shades for light and dark pages."""
    try:
        return parse_accent(text)
    except NotAColour as error:
        raise InvalidSetting(str(error)) from error


def parse_language(text: str) -> str:
    """Parse a language tag like `en` or `pt-BR`."""
    if not _LANGUAGE.fullmatch(text):
        raise InvalidSetting("must be a language like en or pt-BR")
    return text


def parse_address_of_page(text: str) -> str:
    """Parse a path of this site, or an `https:` URL."""
    is_path = text.startswith("/") and not text.startswith("//") and "\\" not in text
    is_address = text.startswith("https://") and len(text) > len("https://")
    if not (is_path or is_address) or not text.isascii() or not text.isprintable():
        raise InvalidSetting("must be a path like /about or an address that begins with https://")
    return text


def parse_link(text: str) -> SiteLink:
    """Parse a link such as `Our code https://example.org/code`: a label, a space and a target."""
    label, _, address = text.rpartition(" ")
    if not label:
        raise InvalidSetting("must name labels with paths, like: About /about, Code https://…")
    return SiteLink(line(MAX_LABEL)(label.strip()), parse_address_of_page(address))


def parse_navigation(text: str) -> tuple[SiteLink, ...]:
    """Parse links, separated by commas."""
    links = several(parse_link)(text)
    if len(links) > MAX_LINKS:
        raise InvalidSetting(f"has {len(links)} links; it may have {MAX_LINKS}")
    return links


def parse_picture(text: str) -> Picture:
    """Read a file with a PNG, JPEG, WebP or SVG picture."""
    content = _read(parse_path(text), MAX_PICTURE)
    media_type = next((kind for start, kind in _MAGIC.items() if content.startswith(start)), None)
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        media_type = "image/webp"
    elif _SVG.match(content[:4096]):
        media_type = "image/svg+xml"
    if media_type is None:
        raise InvalidSetting("must name a file with a PNG, JPEG, WebP or SVG picture")
    return Picture(content, media_type)


def parse_icon(text: str) -> Picture:
    """Read a file with a PNG or SVG picture."""
    picture = parse_picture(text)
    if picture.media_type not in ("image/png", "image/svg+xml"):
        raise InvalidSetting("must name a PNG or SVG picture")
    return picture


def parse_pages(text: str) -> tuple[OwnPage, ...]:
    """Read a folder of Markdown files, ordered by name. Raises one error with all problems."""
    if not text:
        return ()
    folder = parse_path(text)
    try:
        # Editors create hidden files next to the files that they open.
        found = (each for each in folder.iterdir() if not each.name.startswith("."))
        files = sorted(each for each in found if each.suffix == ".md")
    except OSError as error:
        raise InvalidSetting(_unreadable("folder", error)) from error
    if len(files) > MAX_PAGES:
        raise InvalidSetting(f"has {len(files)} pages; it may have {MAX_PAGES}")
    pages, problems = [], []
    for file in files:
        try:
            pages.append(_parse_page(file))
        except InvalidSetting as error:
            problems.append(f"{file.name} {error}")
    if problems:
        raise InvalidSetting(f"has pages that cannot be served: {'; '.join(problems)}")
    return tuple(pages)


def _parse_page(file: Path) -> OwnPage:
    name = file.stem
    if name in RESERVED_NAMES:
        raise InvalidSetting(f"would be at /{name}, which is another page")
    if not _PAGE_NAME.fullmatch(name) or len(name) > MAX_NAME:
        raise InvalidSetting("must be named with a-z, 0-9 and single hyphens")
    try:
        text = _read(file, MAX_PAGE).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidSetting("is not UTF-8") from error
    if not text.strip() or "\0" in text:
        raise InvalidSetting("is empty" if not text.strip() else "has a null character")
    return OwnPage(name, text)


def _read(file: Path, most: int) -> bytes:
    try:
        # Reading a pipe would wait forever.
        if file.exists() and not file.is_file():
            raise InvalidSetting("is not a regular file")
        with file.open("rb") as opened:
            content = opened.read(most + 1)
    except OSError as error:
        raise InvalidSetting(_unreadable("file", error)) from error
    if len(content) > most:
        raise InvalidSetting(f"is larger than {most // 1024} KiB")
    return content


def _unreadable(what: str, error: OSError) -> str:
    return f"names a {what} that cannot be read: {(error.strerror or 'unknown error').lower()}"


def parse_front(text: str) -> FrontPage | str:
    """Parse `newest`, `featured`, or the address of the author whose page is the front page."""
    if text.lower() in (NEWEST, FEATURED):
        return text.lower()
    try:
        return FrontPage(parse_address(text))
    except NotAnAddress as error:
        raise InvalidSetting("must be newest, featured or the address of an author") from error


@dataclass(frozen=True, slots=True)
class Publication:
    """The publication: its name and look, links, additional pages and front page
    (`[publication]`)."""

    name: str = setting(
        "PUBLICATION_NAME",
        "The name of the publication on pages, in feeds and in previews of links.",
        line(MAX_NAME),
        "Imprint",
    )
    description: str | None = optional(
        "PUBLICATION_DESCRIPTION", "What it is, in one sentence.", line(MAX_SENTENCE)
    )
    language: str = setting(
        "PUBLICATION_LANGUAGE", "The language of its pages, like `en`.", parse_language, "en"
    )
    logo: Picture | None = optional(
        "PUBLICATION_LOGO",
        "A file with the logo for the head of pages: PNG, JPEG, WebP or SVG, at most 256 KiB.",
        parse_picture,
    )
    icon: Picture | None = optional(
        "PUBLICATION_ICON",
        "A file with a square icon: PNG or SVG, at most 256 KiB; without it, the first letter of"
        " the name.",
        parse_icon,
    )
    accent: Accent | None = optional(
        "PUBLICATION_ACCENT",
        "The colour of links and buttons, like `#24479e`; darkened on light pages and lightened on"
        " dark ones as far as reading needs, and refused if it is too light for that.",
        parse_colour,
    )
    navigation: tuple[SiteLink, ...] = setting(
        "PUBLICATION_NAVIGATION",
        "Links at the head of pages, separated by commas: a label, and a path or an `https:`"
        " address.",
        parse_navigation,
        "",
    )
    pages: tuple[OwnPage, ...] = setting(
        "PUBLICATION_PAGES",
        "A folder of Markdown files: `about.md` is the page `/about`, linked in the footer.",
        parse_pages,
        "",
    )
    footer: str | None = optional(
        "PUBLICATION_FOOTER", "A sentence at the foot of every page.", line(MAX_SENTENCE)
    )
    contact: str | None = optional(
        "PUBLICATION_CONTACT",
        "Where readers can write to: a `mailto:` or `https:` address.",
        parse_contact,
    )
    terms: str | None = optional(
        "PUBLICATION_TERMS",
        "The terms of use: a path, such as that of one of the pages, or an `https:` address.",
        parse_address_of_page,
    )
    front: FrontPage | str = setting(
        "PUBLICATION_FRONT",
        "The front page: `newest` posts, `featured` posts before the newest, or the address of an"
        " author, whose page it is then.",
        parse_front,
        NEWEST,
    )
    featured: tuple[int, ...] = setting(
        "PUBLICATION_FEATURED",
        "The ids of the featured posts, separated by commas, the first one first.",
        several(integer(0, 2**53 - 1)),
        "",
    )
    credit: bool = setting(
        "PUBLICATION_CREDIT",
        "Whether the footer says that the publication is made with Imprint.",
        parse_switch,
        "on",
    )

    def check(self) -> list[str]:
        """The contradictions in these settings, one sentence each."""
        problems = []
        if self.front == FEATURED and not self.featured:
            problems.append(
                "IMPRINT_PUBLICATION_FRONT is featured, but IMPRINT_PUBLICATION_FEATURED names no"
                " post."
            )
        if self.front != FEATURED and self.featured:
            problems.append(
                "IMPRINT_PUBLICATION_FEATURED names posts, but IMPRINT_PUBLICATION_FRONT is not"
                " featured."
            )
        known = RESERVED_NAMES | {"", ABOUT, *(page.name for page in self.pages)}
        links = [("NAVIGATION", each.address) for each in self.navigation]
        links += [] if self.terms is None else [("TERMS", self.terms)]
        return problems + [
            f"IMPRINT_PUBLICATION_{name} leads to {address}, and there is no such page."
            for name, address in links
            if address.startswith("/") and _PATH_END.split(address[1:])[0] not in known
        ]

    @property
    def identity(self) -> SiteIdentity:
        """The site that these settings describe."""
        front = self.front if isinstance(self.front, FrontPage) else FrontPage()
        return SiteIdentity(
            self.name,
            self.description,
            self.language,
            self.logo,
            self.icon,
            self.accent,
            self.navigation,
            self.pages,
            self.footer,
            self.contact,
            self.terms,
            replace(front, featured=self.featured),
            self.credit,
        )
