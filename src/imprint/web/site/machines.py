"""Endpoints for machines: posts as Markdown, `llms.txt`, `robots.txt` and the sitemap."""

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from imprint.domain.drafts.documents import SMALL_DOCUMENT
from imprint.domain.errors import Code, PaymentRequired, Refusal, Unpaid
from imprint.domain.formats.instants import format_instant
from imprint.domain.posts.feeds import PRIVATE_FEEDS
from imprint.domain.posts.indexed_posts import IndexedPost
from imprint.domain.posts.market_events import parse_position
from imprint.domain.posts.openings import MARK, without_marks
from imprint.domain.posts.post_text import is_markdown, markdown_text
from imprint.domain.posts.slugs import page_path
from imprint.domain.posts.text_work import TextWork, TooIntricate
from imprint.ports.post_index import PostAddress
from imprint.services.site import BEGINNING, Pages, ShownPost, Sitemap
from imprint.web.api.feed_links import FeedLinks
from imprint.web.api.paywall import MARKDOWN, MARKDOWN_PATH, OpenedPost, Paywall
from imprint.web.http.escapes import markdown_line, xml_text
from imprint.web.http.large_responses import LargeResponse, Reservation, ResponseBudget
from imprint.web.http.problems import payment_headers
from imprint.web.http.requests import canonical_post_id, client_of
from imprint.web.http.responses import (
    OWN,
    PAID_VARY,
    SHARED,
    SHORT_LIVED,
    cached_response,
    reserved_response,
    validators,
)

CLOSED = (
    "/me/",
    PRIVATE_FEEDS,
    "/auth/",
    "/create/",
    "/update/",
    "/publish/",
    "/revise/",
    "/delete/",
    "/webhook/",
    "/writing/",
    "/search",
    "/studio",
    "/library",
    "/operator",
)
"""Paths that no crawler needs: writes, search results, and pages specific to one reader."""

_XML = '<?xml version="1.0" encoding="utf-8"?>\n'
_SITEMAPS = "http://www.sitemaps.org/schemas/sitemap/0.9"


@dataclass(frozen=True, slots=True)
class MachinePages:
    """The pages of a service. `links` has its URLs, chain and contract.

    `own_pages` are the paths of the operator's pages.
    """

    links: FeedLinks
    description: str | None = None
    own_pages: tuple[str, ...] = ()

    def post(self, shown: ShownPost, text: str | None, opening: str | None = None) -> str:
        """Render a post with this Markdown, or a paid post with its opening and an offer."""
        post = shown.post
        lines = [f"# {markdown_line(post.title) or f'Post {post.post_id}'}", ""]
        author = f"`{post.author}`"
        if post.byline is not None:
            author = f"{markdown_line(post.byline.name)} ({author})"
        lines.append(f"By {author}, {post.created_at:%Y-%m-%d}")
        if post.hashtags:
            tags = " ".join(f"#{markdown_line(tag)}" for tag in post.hashtags)
            lines += ["", f"Tags: {tags}"]
        if description := markdown_line(post.description):
            lines += ["", description]
        if opening is not None:
            lines += ["", "---", "", opening, "", "---"]
        rest = self._access(shown) if text is None else ["---", "", text]
        return "\n".join([*lines, "", *rest, ""])

    def _access(self, shown: ShownPost) -> Iterator[str]:
        post, links = shown.post, self.links
        if not post.hosted:
            yield "The text of this post is not stored at this service, and not sold here."
            return
        if shown.price is None:
            yield "The post is not free any more; its price has just been changed."
        else:
            length = "" if post.words is None else f", {post.words} words"
            yield f"Price: {links.amount(shown.price)} ({shown.price} wei){length}"
        yield ""
        yield "To read it:"
        yield ""
        yield (
            f"1. Call `subscribePost({post.post_id})` of the contract `{links.contract}` on the "
            f"chain with the id {links.chain_id}, and send the price with the call. The contract's "
            f"interface is at {links.service}/.well-known/marketplace.json."
        )
        yield f"2. Log in with the wallet that bought it: `POST {links.service}/auth/login`."
        yield (
            f"3. `GET {links.service}/posts/{post.post_id}/content` with the session returns the "
            "text."
        )
        yield ""
        yield (
            "A client that speaks x402 finds the same in the header `PAYMENT-REQUIRED`, and reads "
            "without a session by the header `SIGN-IN-WITH-X`."
        )

    def llms(self, posts: Sequence[IndexedPost]) -> str:
        """Render `llms.txt`, which describes the service and links to its resources."""
        links, at = self.links, self.links.service
        lines = [
            f"# {markdown_line(self.links.name)}",
            "",
            *([f"> {markdown_line(self.description)}", ""] if self.description else []),
            "Authors publish posts on a marketplace contract; free posts are readable by everybody,"
            " and the others by those who hold their token.",
            "",
            f"The contract is `{links.contract}` on the chain with the id {links.chain_id}.",
            "",
            "## Lists",
            "",
            f"- [Posts]({at}/posts): JSON, with filters, search and pages",
            f"- [Totals]({at}/stats): JSON, the last 90 days",
            f"- [Newest posts, Atom]({at}/feeds/posts.atom)",
            f"- [Newest posts, JSON Feed]({at}/feeds/posts.json)",
            f"- [Sitemap]({at}/sitemap.xml)",
            "",
            "A post is Markdown at `/posts/{id}.md`, JSON at `/posts/{id}` and a page for people "
            "at `/p/{id}`. Feeds of a hashtag are at `/feeds/tags/{tag}.atom`, those of an author "
            "at `/feeds/authors/{address}.atom`; both exist as `.json`, too.",
            "",
            "## Documentation",
            "",
            f"- [OpenAPI description]({at}/openapi.json)",
            f"- [Documentation]({at}/docs)",
            f"- [Parameters of this service]({at}/.well-known/imprint.json)",
            f"- [Contract]({at}/.well-known/marketplace.json)",
            "",
            "## Newest posts",
            "",
        ]
        lines += [self._item(post) for post in posts] or ["There are no posts yet."]
        return "\n".join([*lines, ""])

    def _item(self, post: IndexedPost) -> str:
        title = markdown_line(post.title) or f"Post {post.post_id}"
        price = "free" if post.free else self.links.amount(post.price)
        offer = price if post.hosted else "not stored here"
        return f"- [{title}]({self.links.service}/posts/{post.post_id}.md): {offer}"

    def robots(self) -> str:
        """Render `robots.txt`."""
        closed = "".join(f"Disallow: {path}\n" for path in CLOSED)
        at = self.links.service
        # The licence is a page of the site.
        license_line = f"License: {at}/license.xml\n" if self.links.has_site else ""
        return f"User-agent: *\n{closed}Allow: /\n\n{license_line}Sitemap: {at}/sitemap.xml\n"

    def sitemap_index(self, starts: Sequence[int]) -> str:
        """Render the sitemap index."""
        pages = "".join(
            f"<sitemap><loc>{self.links.service}/sitemaps/{start + 1}.xml</loc></sitemap>\n"
            for start in starts
        )
        return f'{_XML}<sitemapindex xmlns="{_SITEMAPS}">\n{pages}</sitemapindex>\n'

    def sitemap(self, posts: Sequence[PostAddress], *, is_first: bool = False) -> str:
        """Render a page of the sitemap. The first page includes the operator's own pages."""
        own = self.own_pages if is_first else ()
        urls = "".join(f"<url><loc>{self.links.service}{path}</loc></url>\n" for path in own)
        urls += "".join(
            f"<url><loc>{self.links.page(post)}</loc>"
            f"<lastmod>{format_instant(post.created_at)}</lastmod></url>\n"
            for post in posts
        )
        return f'{_XML}<urlset xmlns="{_SITEMAPS}">\n{urls}</urlset>\n'


@dataclass(frozen=True, slots=True)
class FrontMatterPages(MachinePages):
    """Pages in which a post has front matter for site generators such as Hugo.

    `live` is the public URL of the service, or None if the static copy replaces the service.
    """

    live: str | None = None

    def post(self, shown: ShownPost, text: str | None, opening: str | None = None) -> str:
        members = "".join(f"{name}: {value}\n" for name, value in self._members(shown))
        body = [text] if text is not None else [*([opening] if opening else []), self._rest(shown)]
        return f"---\n{members}---\n\n{_joined(body)}"

    def _members(self, shown: ShownPost) -> Iterator[tuple[str, str]]:
        post, links = shown.post, self.links
        path = page_path(post.post_id, post.title)
        yield "title", _quoted(post.title.strip() or f"Post {post.post_id}")
        yield "date", format_instant(post.created_at)
        if post.revision is not None:
            yield "lastmod", format_instant(post.revision.created_at)
        yield "author", _quoted(post.author if post.byline is None else post.byline.name)
        yield "author_address", _quoted(post.author)
        if post.description.strip():
            yield "description", _quoted(post.description)
        yield "tags", f"[{', '.join(map(_quoted, post.hashtags))}]"
        if shown.price is not None:
            yield "price", _quoted(links.amount(shown.price))
            yield "price_wei", _quoted(str(shown.price))
        yield "cid", _quoted(post.cid)
        if (picture := links.picture(post)) is not None:
            yield "images", f"[{_quoted(picture)}]"
        yield "url", _quoted(f"{path}/")
        yield "original", _quoted(f"{self.live or links.service}{path}")

    def _rest(self, shown: ShownPost) -> str:
        """Return the text shown in place of the part of a post that is not free."""
        post, links = shown.post, self.links
        if not post.hosted:
            return "The text of this post is not stored here."
        price = "" if shown.price is None else f" for {links.amount(shown.price)}"
        if self.live is not None:
            at = f"{self.live}{page_path(post.post_id, post.title)}"
            return f"[Read the whole post{price}]({at})"
        return (
            f"To buy this post{price}, call `subscribePost({post.post_id})` of the contract "
            f"`{links.contract}` on the chain with the id {links.chain_id}."
        )


_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""Characters that must be escaped in YAML but not in JSON."""


def _quoted(text: str) -> str:
    """Return a one-line text as a YAML scalar."""
    written = json.dumps(" ".join(text.split()), ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


def _joined(parts: Sequence[str]) -> str:
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


LICENSE_TYPE = "application/rsl+xml"

CRAWLED = "public, max-age=3600"
"""Cache header for `robots.txt`, which names no post."""

PAGE_MEMORY = 16 * 1024 * 1024
"""Maximum memory in bytes for building a page of the sitemap."""


@dataclass(frozen=True, slots=True)
class MachineRoutes:
    """Each endpoint calls one service, and returns the result as a page."""

    pages: Pages
    sitemaps: Sitemap
    written: MachinePages
    paywall: Paywall
    budget: ResponseBudget

    async def post(self, request: Request) -> Response:
        """Return a post as Markdown. A caller without access gets its opening, with status 402."""
        post_id = canonical_post_id(request.path_params["id"])
        shown = await self.pages.show(post_id)
        opened = required = None
        is_paid = shown.file is None and shown.post.hosted
        if is_paid:
            try:
                opened = await self._open(request, shown)
            except PaymentRequired as problem:
                required = problem
                shown = replace(shown, price=problem.price)
        if opened is not None:
            shown = replace(shown, file=(await self.pages.reads.newest(opened.file)).text)
        write = partial(self._write_post, client_of(request), shown)
        reservation = await self.budget.admit(client_of(request), write)
        if opened is not None:
            response = await self._send_paid(request, reservation, opened)
        elif required is not None:
            request.scope["state"]["code"] = required.code
            headers = payment_headers(required)
            response = LargeResponse(reservation, reservation.body, 402, headers, MARKDOWN)
        else:
            response = _send(request, reservation, MARKDOWN, f"post-{post_id}")
            if is_paid:
                # Holders of the post get its full text, so a shared cache must not send them this
                # response.
                response.headers.update({"Cache-Control": OWN, "Vary": PAID_VARY})
        if not shown.is_listed:
            response.headers["X-Robots-Tag"] = "noindex"
        return response

    async def _open(self, request: Request, shown: ShownPost) -> OpenedPost | None:
        """Open a paid post. Returns None if the caller has no access and cannot buy it here."""
        try:
            return await self.paywall.open(request, shown.post.post_id, MARKDOWN_PATH)
        except Unpaid:
            return None
        except Refusal as refusal:
            if refusal.code is Code.NOT_FOUND:
                # The entry on the chain differs from the post in the index.
                return None
            raise

    async def _send_paid(
        self, request: Request, reservation: Reservation, opened: OpenedPost
    ) -> Response:
        headers = {**validators(reservation.body), **opened.headers}
        if opened.proof is None:
            return reserved_response(request, reservation, headers, MARKDOWN)
        try:
            await self.paywall.spend(opened)
        except BaseException:
            reservation.close()
            raise
        # Whoever spends a proof must get the text, so this response is never a 304.
        return LargeResponse(reservation, reservation.body, 200, headers, MARKDOWN)

    async def _write_post(self, client: str, shown: ShownPost) -> bytes:
        reads, file = self.pages.reads, shown.file
        if file is None:
            opening = None
            if shown.opening is not None:
                opening = (await reads.opening(client, shown.opening)).content
            return self.written.post(shown, None, opening).encode()
        if file.size > SMALL_DOCUMENT:

            def write(content: str, work: TextWork) -> bytes:
                text = markdown_text(_whole_text(content, work), work)
                return self.written.post(shown, text).encode()

            into = "markdown page", id(shown.post), shown.price
            return await reads.converted(client, file, into, write, keep=False)
        content = await reads.content_of(file)
        if MARK in content:
            content = await reads.converted(client, file, "whole text", _whole_text)
        if not is_markdown(content):
            content = await reads.converted(client, file, "markdown", markdown_text)
        return self.written.post(shown, content).encode()

    async def page(self, request: Request) -> Response:
        """`/p/{id}`: the Markdown of a post serves as its page."""
        post_id = canonical_post_id(request.path_params["id"])
        await self.pages.check(post_id)
        headers = {"Location": f"/posts/{post_id}.md", "Cache-Control": SHORT_LIVED}
        return Response(status_code=303, headers=headers)

    async def llms(self, request: Request) -> Response:
        text = self.written.llms(await self.pages.newest())
        return cached_response(request, text, MARKDOWN, SHARED, "posts")

    async def robots(self, request: Request) -> Response:
        return cached_response(request, self.written.robots(), "text/plain", CRAWLED)

    async def sitemap_index(self, request: Request) -> Response:
        text = self.written.sitemap_index(await self.sitemaps.pages())
        return cached_response(request, text, "application/xml", SHARED, "posts")

    async def sitemap(self, request: Request) -> Response:
        start = parse_position(request.path_params["start"])
        no_page = Refusal(Code.NOT_FOUND, "There is no such page of the sitemap.")
        if start is None:
            raise no_page

        async def write() -> bytes:
            posts = await self.sitemaps.page(start - 1)
            if not posts and start - 1 != BEGINNING:
                raise no_page
            write = partial(self.written.sitemap, posts, is_first=start - 1 == BEGINNING)
            return (await asyncio.to_thread(write)).encode()

        reservation = await self.budget.reserve(client_of(request), PAGE_MEMORY, write)
        return _send(request, reservation, "application/xml", "posts")


def _whole_text(content: str, work: TextWork) -> str:
    """Return a text without the line that ends its opening."""
    try:
        return without_marks(content, work)
    except TooIntricate:
        return content


def _send(request: Request, reservation: Reservation, media_type: str, cache_tag: str) -> Response:
    headers = {
        **validators(reservation.body),
        "Cache-Control": SHARED,
        "Cache-Tag": cache_tag,
    }
    return reserved_response(request, reservation, headers, media_type)


def license_document(service: str, ai_training: str) -> str:
    """Render the machine-readable licence at `/license.xml` (RSL 1.0).

    Search is always permitted, and paid posts stay paid.
    """
    trains = ai_training == "permit"
    permitted = "search ai-input ai-train" if trains else "search ai-input"
    prohibited = "" if trains else '      <prohibits type="usage">ai-train</prohibits>\n'
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<rsl xmlns="https://rslstandard.org/rsl">\n'
        f'  <content url="{xml_text(service)}/">\n'
        "    <license>\n"
        f'      <permits type="usage">{permitted}</permits>\n'
        f"{prohibited}"
        '      <payment type="attribution"/>\n'
        "    </license>\n"
        "  </content>\n"
        "</rsl>\n"
    )
