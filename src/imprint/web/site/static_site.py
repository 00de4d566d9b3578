"""The public site as static files, with links that also work from a local folder.

Every page is requested from the application without a session, so a copy contains only public data.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from html import escape, unescape
from urllib.parse import quote, unquote, urlsplit

from starlette.types import ASGIApp, Message

from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.drafts.tags import NotTags, parse_hashtags
from imprint.domain.formats.addresses import Address, NotAnAddress, parse_address
from imprint.domain.formats.cids import NotACid, parse_cid
from imprint.domain.posts.indexed_posts import IndexedPost, PostFilter, PostOrder, PostPosition
from imprint.domain.posts.slugs import page_path, post_slug
from imprint.ports import Progress
from imprint.ports.archives import NotExported, SiteFolder
from imprint.ports.post_index import PostIndexReader
from imprint.web.site.assets import ASSET_PATH
from imprint.web.site.cards import post_title

BATCH = 50
"""Number of posts read from the index at once."""

REMEMBERED = 10_000
"""Number of URLs whose locations in the copy are cached."""

ATTEMPTS = 5
"""Maximum number of attempts to request a page that the service fails to render."""

WAIT_SECONDS = 0.2
"""Seconds between two requests for the same page."""

FEEDS = ("atom", "json")
"""The file extensions of feeds."""

FILES = ("/icon.svg", "/license.xml")
"""Files that pages link to, besides assets."""

_PICTURES = {"image/png": "png", "image/jpeg": "jpg"}
_POST_ID = re.compile(r"0|[1-9][0-9]{0,77}")
_SCRIPT = r'<script type="application/ld\+json">.*?</script>'
_TAG = r'<[a-z][a-z0-9]*(?:\s+[^\s=>"/]+(?:="[^"]*")?)*\s*/?>'
_MARKUP = re.compile(f"{_SCRIPT}|{_TAG}", re.DOTALL)
"""Matches elements of the templates, and start tags of sanitised texts.

All attributes are in double quotes.
"""

_ATTRIBUTE = re.compile(r'\s+([^\s=>"/]+)="([^"]*)"')
_PATH = r'/[^\s"<>&?#\\]*'
_CSS_FILE = re.compile(rb'url\("\./([^"]+)"\)')
_MARKDOWN_LINK = re.compile(r"(?<=\]\()(?:ipfs://(?:ipfs/)?[A-Za-z0-9]+|/(?!/)[^)\s]*)")


@dataclass(frozen=True, slots=True)
class Fetched:
    """The response to a request without a session."""

    status: int
    media_type: str
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


async def fetch(app: ASGIApp, path: str, query: str = "") -> Fetched:
    """Request a page of the application."""
    status, headers, pieces = 0, {}, []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status, headers
        if message["type"] == "http.response.start":
            status, headers = message["status"], dict(message["headers"])
        else:
            pieces.append(bytes(message.get("body", b"")))

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": quote(path).encode(),
        "query_string": query.encode(),
        "headers": [(b"accept", b"*/*")],
        "client": ("127.0.0.1", 0),
        "server": ("127.0.0.1", 0),
    }
    await app(scope, receive, send)
    media_type = headers.get(b"content-type", b"").decode().partition(";")[0]
    return Fetched(status, media_type, b"".join(pieces))


@dataclass(frozen=True, slots=True)
class SiteCopy:
    """The URL of a static copy, and the service that it copies.

    `base` is the copy's URL without a trailing slash. `live` is the service's URL, unless the copy
    replaces the service. `own_pages` has the names of the operator's pages.
    """

    base: str
    live: str | None
    own_pages: tuple[str, ...]

    @property
    def prefix(self) -> str:
        """The path of the copy, without a trailing slash."""
        return urlsplit(self.base).path

    @property
    def addresses(self) -> re.Pattern[str]:
        """Return a pattern that matches the copy's URLs in a text and captures their paths."""
        of_service = "" if self.live is None else f"(?!{re.escape(self.live)}/)"
        return re.compile(f"{of_service}{re.escape(self.base)}({_PATH})")


@dataclass(frozen=True, slots=True)
class StaticSite:
    """Writes all listed posts, and the pages and files that belong to them.

    Links to pages outside the copy lead to the service. A location in the copy is a path relative
    to its folder. The location of a page ends with a slash.
    """

    app: ASGIApp
    index: PostIndexReader
    copy: SiteCopy
    folder: SiteFolder
    is_markdown: bool = False
    """Whether to write only posts and their pictures, for a site generator."""
    _locations: BoundedCache[str, str | None] = field(
        default_factory=lambda: BoundedCache(REMEMBERED), init=False
    )

    async def write(self, progress: Progress) -> int:
        """Write the site, and return the number of posts. Raises `NotExported`."""
        total, count = (await self.index.shown_totals()).posts, 0
        if not self.is_markdown:
            await self._write_frame()
        async for post in self._posts():
            if self.is_markdown:
                name = "-".join(filter(None, (str(post.post_id), post_slug(post.title))))
                await self._write_markdown(post, f"content/posts/{name}.md")
            else:
                await self._write_post(post)
            count += 1
            progress(count, total)
        return count

    async def _write_frame(self) -> None:
        """Write the pages and files that do not belong to a single post."""
        await self._write_list("/")
        await self._write_feeds("/feeds/posts")
        for name in self.copy.own_pages:
            await self._write_page(f"/{name}", f"{name}/")
        for path in FILES:
            await self._file(path)
        await self._write_text("/robots.txt", "robots.txt")
        await self._write_text("/sitemap.xml", "sitemap.xml")
        sitemaps = (await self._fetch("/sitemap.xml")).text
        for name in re.findall(r"/(sitemaps/[0-9]+\.xml)<", sitemaps):
            await self._write_text(f"/{name}", name)

    async def _posts(self) -> AsyncIterator[IndexedPost]:
        """Yield all listed posts, oldest first."""
        which, after = PostFilter(order=PostOrder.OLDEST), None
        while True:
            page = await self.index.list_posts(which, after, BATCH)
            for post in page.posts:
                yield post
            if (after := page.next) is None:
                return

    # Pages

    async def _write_post(self, post: IndexedPost) -> None:
        path = page_path(post.post_id, post.title)
        await self._write_page(path, f"{path[1:]}/")
        if path.count("/") > 2:
            self.folder.write(f"p/{post.post_id}/index.html", self._redirect(post, path))
        await self._write_markdown(post, f"posts/{post.post_id}.md")
        await self._write_author(post.author)
        for tag in post.hashtags:
            await self._write_tag(tag)
        # Only readers who may read a post see its versions.
        if post.revision is None or await self._versions(post) is None:
            return
        at = f"/p/{post.post_id}"
        await self._write_page(f"{at}/first", f"{at[1:]}/first/")
        page = await self._write_page(f"{at}/changes", f"{at[1:]}/changes/")
        for number in dict.fromkeys(re.findall(r"\?revision=([0-9]+)", page)):
            location = f"{at[1:]}/changes/{number}/"
            await self._write_page(f"{at}/changes", location, f"revision={number}")

    def _redirect(self, post: IndexedPost, path: str) -> bytes:
        """Return a page that redirects from a post's ID to its page."""
        below, title = f"{path.rpartition('/')[2]}/", escape(post_title(post))
        return (
            '<!doctype html>\n<html>\n<head>\n<meta charset="utf-8">\n'
            f"<title>{title}</title>\n"
            f'<link rel="canonical" href="{escape(self.copy.base + path)}/">\n'
            # Without this, a browser may request /favicon.ico before it follows the redirect.
            '<link rel="icon" href="data:,">\n'
            '<meta name="robots" content="noindex">\n'
            f'<meta http-equiv="refresh" content="0; url={below}">\n</head>\n'
            f'<body><a href="{below}">{title}</a></body>\n</html>\n'
        ).encode()

    async def _write_author(self, address: Address) -> None:
        if not self.folder.has(f"a/{address}/index.html"):
            await self._write_list(f"/a/{address}")
            await self._write_feeds(f"/feeds/authors/{address}")

    async def _write_tag(self, tag: str) -> None:
        location = await self._find_tag(tag)
        if location is not None and not self.folder.has(f"{location}index.html"):
            await self._write_list(f"/{location[:-1]}")
            await self._write_feeds(f"/feeds/tags/{tag}")

    async def _write_list(self, path: str) -> None:
        """Write all pages of a list."""
        location, query, number = f"{path[1:]}/".lstrip("/"), "", 1
        while True:
            page = await self._write_page(path, location, query, number)
            following = re.search(r' rel="next" href="([^"?]*)\?([^"]*)"', page)
            if following is None or unquote(following[1]) != path:
                return
            number, query = number + 1, unescape(following[2])
            location = _list_page(path, number)

    async def _write_feeds(self, path: str) -> None:
        for ending in FEEDS:
            await self._write_text(f"{path}.{ending}", f"{path[1:]}.{ending}")

    async def _write_page(self, path: str, location: str, query: str = "", number: int = 1) -> str:
        """Write a page, or page `number` of a list, and return it as the service sent it."""
        page = (await self._fetch(path, query)).text
        self.folder.write(
            f"{location}index.html", (await self._relink(page, location, number)).encode()
        )
        return page

    async def _write_text(self, path: str, location: str) -> None:
        """Write a file in which all links are absolute."""
        text = (await self._fetch(path)).text
        self.folder.write(location, (await self._rebase(text)).encode())

    async def _write_markdown(self, post: IndexedPost, location: str) -> None:
        response = await self._fetch(f"/posts/{post.post_id}.md", accepted=(200, 402))
        text = await self._rebase(response.text)
        found = await self._locate_all(map(_spelled_out, _MARKDOWN_LINK.findall(text)))

        def link(match: re.Match[str]) -> str:
            given = _spelled_out(match[0])
            located = found[given]
            if located is not None:
                return f"{self.copy.prefix}/{quote(located)}{_fragment(given)}"
            return match[0] if self.copy.live is None else f"{self.copy.live}{given}"

        self.folder.write(location, _MARKDOWN_LINK.sub(link, text).encode())

    # Links

    async def _relink(self, page: str, location: str, number: int = 1) -> str:
        """Make the links of a page relative, so that the copy works at any URL."""
        up, addresses = "../" * location.count("/"), self.copy.addresses
        given = [
            unescape(value)
            for part in _MARKUP.findall(page)
            for name, value in _ATTRIBUTE.findall(part)
            if name in ("href", "src") and value.startswith("/") and not value.startswith("//")
        ]
        found = await self._locate_all(given)
        whole = await self._locate_all(addresses.findall(page))

        def rewrite(match: re.Match[str]) -> str:
            tag = addresses.sub(lambda url: self._absolute(url, whole), match[0])
            if tag.startswith("<script"):
                return tag
            attributes: dict[str, str] = dict(_ATTRIBUTE.findall(tag))
            source = unescape(attributes.get("src", ""))
            if tag.startswith("<img ") and source in found and found[source] is None:
                return attributes.get("alt", "")
            is_next = attributes.get("rel") == "next"
            return _ATTRIBUTE.sub(lambda each: attribute(each[1], each[2], is_next), tag)

        def attribute(name: str, value: str, is_next: bool) -> str:
            if name in ("srcset", "sizes"):
                return ""
            target = unescape(value)
            if name not in ("href", "src") or target not in found:
                own = addresses.match(target)
                is_dead = own is not None and whole.get(own[1], "") is None
                return "" if name == "href" and is_dead else f' {name}="{value}"'
            located = found[target]
            if is_next:
                located = _list_page(unquote(target.partition("?")[0]), number + 1)
            if located is not None:
                link = f"{up}{quote(located)}{_fragment(target)}" or "./"
            elif self.copy.live is not None:
                link = f"{self.copy.live}{target}"
            else:
                return ""
            return f' {name}="{escape(link)}"'

        return _MARKUP.sub(rewrite, page)

    async def _rebase(self, text: str) -> str:
        """Point the absolute links of a text to the copy, or to the service if the copy lacks the
        page."""
        found = await self._locate_all(self.copy.addresses.findall(text))
        return self.copy.addresses.sub(lambda url: self._absolute(url, found), text)

    def _absolute(self, url: re.Match[str], found: Mapping[str, str | None]) -> str:
        located = found[url[1]]
        if located is not None:
            return f"{self.copy.base}/{quote(located)}"
        return url[0] if self.copy.live is None else f"{self.copy.live}{url[1]}"

    async def _locate_all(self, targets: Iterable[str]) -> dict[str, str | None]:
        return {target: await self._locate(target) for target in dict.fromkeys(targets)}

    async def _locate(self, target: str) -> str | None:
        """Return the copy's location of a path of the service, or None if the path is not
        copied."""
        if target in self._locations:
            self._locations.touch(target)
        else:
            self._locations.put(target, await self._find(target))
        return self._locations.get(target)

    async def _find(self, target: str) -> str | None:
        parts = urlsplit(target)
        path = unquote(parts.path)
        kind, _, rest = path.strip("/").partition("/")
        if self.is_markdown and kind not in ("p", "ipfs"):
            return None
        found: str | None = None
        if kind == "p":
            found = await self._find_post(rest, parts.query)
        elif kind in ("a", "authors"):
            found = await self._find_author(rest)
        elif kind == "t":
            found = await self._find_tag(rest)
        elif kind == "ipfs":
            found = await self._picture(rest)
        elif kind == "feeds":
            found = await self._find_feed(rest)
        elif kind == "posts" and rest.endswith(".md"):
            page = await self._find_post(rest.removesuffix(".md"), "")
            found = None if page is None else f"posts/{rest}"
        elif path.startswith(ASSET_PATH) or path in FILES:
            found = await self._file(path)
        elif path == "/sitemap.xml" or kind == "sitemaps":
            found = path[1:]
        elif kind in self.copy.own_pages and not rest:
            found = f"{kind}/"
        elif path == "/":
            found = ""
        return found

    async def _find_post(self, rest: str, query: str) -> str | None:
        number, _, below = rest.partition("/")
        if not _POST_ID.fullmatch(number):
            return None
        post = await self.index.indexed_post(int(number))
        if post is None or not await self.index.posts_at([post.place], PostFilter()):
            return None
        if below in ("changes", "first"):
            found = await self._versions(post)
            revision = re.fullmatch("revision=([0-9]+)", query)
            return found and f"{found}{below}/{f'{revision[1]}/' if revision else ''}"
        if below in ("text", "document"):
            return None
        return f"{page_path(post.post_id, post.title)[1:]}/"

    async def _versions(self, post: IndexedPost) -> str | None:
        """Return the locations of a post's versions, if everybody may read them."""
        if self.is_markdown or post.revision is None or not (post.free and post.hosted):
            return None
        path = f"/p/{post.post_id}"
        first = await self._fetch(f"{path}/first", accepted=(200, 402, 403, 404))
        return f"{path[1:]}/" if first.status == 200 else None

    async def _find_author(self, text: str) -> str | None:
        try:
            address = parse_address(text)
        except NotAnAddress:
            return None
        return f"a/{address}/" if await self._has_posts(PostFilter(author=address)) else None

    async def _find_tag(self, text: str) -> str | None:
        try:
            tags = parse_hashtags(text)
        except NotTags:
            return None
        if len(tags) != 1 or not await self._has_posts(PostFilter(tags=tags)):
            return None
        return f"t/{tags[0]}/"

    async def _find_feed(self, rest: str) -> str | None:
        name, _, ending = rest.rpartition(".")
        if ending not in FEEDS:
            return None
        kind, _, value = name.partition("/")
        if kind == "authors":
            found = await self._find_author(value)
        elif kind == "tags":
            found = await self._find_tag(value)
        else:
            return f"feeds/{rest}" if name == "posts" else None
        return found and f"feeds/{kind}/{found.split('/')[1]}.{ending}"

    async def _has_posts(self, which: PostFilter) -> bool:
        after: PostPosition | None = None
        while True:
            page = await self.index.list_posts(which, after, 1)
            if page.posts or page.next is None:
                return bool(page.posts)
            after = page.next

    # Files

    async def _picture(self, text: str) -> str | None:
        """Write a public picture, unless it already exists, and return its location."""
        try:
            cid = parse_cid(text)
        except NotACid:
            return None
        files = "static/" if self.is_markdown else ""
        for ending in _PICTURES.values():
            if self.folder.has(f"{files}ipfs/{cid}.{ending}"):
                return f"ipfs/{cid}.{ending}"
        response = await self._fetch(f"/ipfs/{cid}", accepted=(200, 302, 404, 410, 451))
        kind = _PICTURES.get(response.media_type)
        if response.status != 200 or kind is None:
            return None
        self.folder.write(f"{files}ipfs/{cid}.{kind}", response.body)
        return f"ipfs/{cid}.{kind}"

    async def _file(self, path: str) -> str | None:
        """Write a file that pages link to, unless it already exists, and return its location."""
        location = path[1:]
        if self.folder.has(location):
            return location
        response = await self._fetch(path, accepted=(200, 302, 404))
        if response.status != 200:
            return None
        body = response.body
        if location.endswith(".xml"):
            body = (await self._rebase(response.text)).encode()
        self.folder.write(location, body)
        if location.endswith(".css"):
            for name in _CSS_FILE.findall(response.body):
                await self._file(f"{ASSET_PATH}{name.decode()}")
        return location

    async def _fetch(
        self, path: str, query: str = "", accepted: tuple[int, ...] = (200,)
    ) -> Fetched:
        """Request a page, and retry while the service cannot respond. Raises `NotExported`."""
        for attempt in range(ATTEMPTS):
            response = await fetch(self.app, path, query)
            if response.status != 503 or attempt == ATTEMPTS - 1:
                break
            await asyncio.sleep(WAIT_SECONDS)
        if response.status in accepted:
            return response
        try:
            reason = json.loads(response.body)["detail"]
        except (ValueError, KeyError, TypeError):
            reason = f"HTTP {response.status}"
        raise NotExported(path, reason)


def _list_page(path: str, number: int) -> str:
    """Return the location of a page of a list."""
    return f"{path.strip('/') or 'posts'}/page-{number}/"


def _spelled_out(link: str) -> str:
    """Convert an `ipfs://` link to a path of this service. Returns other links unchanged."""
    return re.sub("^ipfs://(ipfs/)?", "/ipfs/", link)


def _fragment(target: str) -> str:
    """Return the fragment of a link, which identifies a part of a page."""
    fragment = urlsplit(target).fragment
    return fragment and f"#{fragment}"
