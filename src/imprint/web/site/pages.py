"""HTML pages: lists of posts, single posts, the library and the Studio."""

import asyncio
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import msgspec
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from imprint.domain.drafts.documents import SMALL_DOCUMENT
from imprint.domain.drafts.files import File
from imprint.domain.errors import Code, Problem, Refusal, Unavailable, Withheld
from imprint.domain.formats.addresses import Address
from imprint.domain.posts.changes import Changes, compare_texts
from imprint.domain.posts.indexed_posts import (
    AccountSummary,
    IndexedPost,
    PostOrder,
    ShownTotals,
)
from imprint.domain.posts.openings import read_opening
from imprint.domain.posts.post_text import is_markdown, markdown_text, readable_text
from imprint.domain.posts.revisions import PostVersion
from imprint.domain.posts.text_work import TextWork, TooIntricate
from imprint.domain.sessions import Session
from imprint.domain.site import FrontPage
from imprint.ports import Clock
from imprint.services.access.reads import Reads
from imprint.services.accounts.login import Login
from imprint.services.content.text_conversions import Convert, TextConversions
from imprint.services.posts.lists import Totals
from imprint.services.posts.posts import Derived, ListedPosts, ListRequest, Posts
from imprint.services.site import Pages, ShownPost
from imprint.web.api.reads import revision_number
from imprint.web.http.large_responses import LargeResponse, ResponseBudget
from imprint.web.http.requests import (
    SMALL_BODY,
    BodyReader,
    canonical_address,
    canonical_post_id,
    client_of,
    only_value,
    parse_json,
    parse_tags,
    query_params,
    with_query,
)
from imprint.web.http.responses import (
    HTML_TYPE,
    OWN,
    PRIVATE,
    SHARED,
    cached_response,
    prefers,
)
from imprint.web.site.cards import (
    MAX_DESCRIPTION,
    Card,
    Cards,
    first_picture,
    post_page,
    post_title,
)
from imprint.web.site.identity import INERT, Frame, web_manifest
from imprint.web.site.machines import LICENSE_TYPE, license_document
from imprint.web.site.policy import content_policy
from imprint.web.site.problem_pages import problem_page
from imprint.web.site.rendered_page import RenderedPage
from imprint.web.site.templates import Templates
from imprint.web.site.texts.post_html import TextMarkup, read_markup, text_markup
from imprint.web.site.words import Words, page_words

T = TypeVar("T")

DAILY = "public, max-age=86400"
"""Cache header for the licence."""

KEPT_BYTES = 16 * 1024 * 1024
"""Size in bytes of each cache of pages: of list pages, post pages and the operator's pages.

The least recently read pages are evicted.
"""

SEARCH_BYTES = 1024 * 1024
"""Cache size in bytes for search pages.

Few searches are repeated, and a crawler that tries many words must not evict the front page.
"""

LARGEST_KEPT = KEPT_BYTES // 4
"""Maximum size in bytes of a post page that is cached."""

MOST_BOUGHT = 5
"""Number of popular posts that the front page lists besides the newest."""

FURTHER = 3
"""Number of posts suggested at the end of a post."""

POPULAR_TAGS = 12
"""Number of popular hashtags that the front page lists."""

ESCAPED_PREVIEW = 2
"""Maximum ratio of the length of a preview's body to the length of its text."""

TOKEN = "next_page_token"


class PreviewBody(msgspec.Struct):
    """The body of `POST /studio/preview`."""

    content: str


def _kept_pages() -> Derived[RenderedPage]:
    return Derived(lambda page: page.weight, KEPT_BYTES)


def _kept_searches() -> Derived[RenderedPage]:
    return Derived(lambda page: page.weight, SEARCH_BYTES)


@dataclass(frozen=True, slots=True)
class SiteSources:
    """The services that the pages call."""

    login: Login
    posts: Posts
    pages: Pages
    reads: Reads
    totals: Totals


@dataclass(frozen=True, slots=True)
class SiteRoutes:
    """Each page calls a service and renders one template.

    If the catalog returns the same cached result as before, its page is not rendered again.
    """

    sources: SiteSources
    templates: Templates
    cards: Cards
    frame: Frame
    front_page: FrontPage
    bodies: BodyReader
    budget: ResponseBudget
    max_content: int
    ai_training: str
    rpc_url: str | None
    pictures: str | None
    """The origin of another gateway, which may have thumbnails that are not stored here."""
    clock: Clock
    words: Words = field(default_factory=page_words)
    _lists: Derived[RenderedPage] = field(default_factory=_kept_pages)
    _searches: Derived[RenderedPage] = field(default_factory=_kept_searches)
    _posts: Derived[RenderedPage] = field(default_factory=_kept_pages)
    _own_pages: Derived[RenderedPage] = field(default_factory=_kept_pages)
    _previews: TextConversions = field(default_factory=partial(TextConversions, at_once=1))
    """Renders one preview at a time, so that previews never delay readers."""

    # Lists

    async def front(self, request: Request) -> Response:
        """`/`: the newest posts. The first page also has the featured posts and the best
        sellers."""
        if self.front_page.author is not None:
            return await self._author_page(request, self.front_page.author, is_front=True)
        token = only_value(query_params(request), TOKEN)
        posts = self.sources.posts
        newest = await posts.list(ListRequest({}, token))
        bought: ListedPosts | None = None
        featured: Sequence[IndexedPost] = ()
        if token is None and newest.posts:
            by_sales = ListRequest({"order": PostOrder.SALES}, None, MOST_BOUGHT)
            bought = await posts.list(by_sales)
            featured = await posts.listed(self.front_page.featured)

        def render() -> RenderedPage:
            most = [] if bought is None else [each for each in bought.posts if each.sales.count]
            shown = _with_first(featured, newest)
            return self._rendered(
                "front.html",
                self.cards.front(first_picture(shown.posts), indexed=token is None),
                listed=shown,
                first=token is None,
                bought=most,
                tag_names=popular_tags(newest.posts),
            )

        beside = token, self._year, featured, None if bought is None else bought.posts
        return self._respond(request, self._lists.of(newest, beside, render))

    async def tag(self, request: Request) -> Response:
        """`/t/{tag}`: the newest posts with a hashtag."""
        given = parse_tags(request.path_params["tag"])
        if len(given) != 1:
            raise Refusal(Code.INVALID_TAGS, "This page shows exactly one hashtag.")
        (tag,) = given
        token = only_value(query_params(request), TOKEN)
        listed = await self.sources.posts.list(ListRequest({"tags": given}, token))

        def render() -> RenderedPage:
            card = self.cards.tag(tag, indexed=bool(listed.posts) and token is None)
            return self._rendered("tag.html", card, listed=listed, tag=tag, first=token is None)

        return self._respond(request, self._lists.of(listed, (tag, token, self._year), render))

    async def author(self, request: Request) -> Response:
        """`/a/{address}`: an author and their posts."""
        address = canonical_address(request.path_params["address"])
        return await self._author_page(request, address, self.front_page.author == address)

    async def _author_page(self, request: Request, address: Address, is_front: bool) -> Response:
        """Return an author's page, which may be the front page. The author may have no posts."""
        token = only_value(query_params(request), TOKEN)
        listed = await self.sources.posts.list(ListRequest({"author": address}, token))
        author: AccountSummary | None = None
        if listed.posts or not is_front:
            author = await self.sources.posts.author(address)
        indexed = bool(listed.posts) and await self.sources.posts.is_indexed(address)

        def render() -> RenderedPage:
            image = first_picture(listed.posts)
            if author is None:
                card = self.cards.front(image, indexed=token is None)
                empty = {"first": True, "bought": [], "tag_names": []}
                return self._rendered("front.html", card, listed=listed, **empty)
            card = self.cards.author(author, image, indexed=indexed)
            if is_front:
                card = self.cards.front(card.image, indexed=token is None, feeds=card.feeds)
            return self._rendered("author.html", card, listed=listed, author=author)

        made = (author, token, is_front, indexed, self._year)
        return self._respond(request, self._lists.of(listed, made, render))

    async def search(self, request: Request) -> Response:
        """`/search`: posts that contain all words of a query."""
        query = query_params(request)
        text, token = (only_value(query, "q") or "").strip(), only_value(query, TOKEN)
        card = self._unindexed("search")
        if not text and token is None:
            page = self._rendered("search.html", card, q="", listed=None, problem=None)
            return self._respond(request, page)
        try:
            asked = ListRequest({}, token, None, text or None)
            listed = await self.sources.posts.list(asked, client_of(request))
        except Refusal as refusal:
            if token is not None or not prefers(request, HTML_TYPE):
                raise
            refused = self.templates.render(
                "search.html", card=card, q=text[:200], listed=None, problem=refusal.detail
            )
            return Response(refused, 400, self._plain_headers(PRIVATE), HTML_TYPE)

        def render() -> RenderedPage:
            return self._rendered("search.html", card, q=text, listed=listed, problem=None)

        return self._respond(request, self._searches.of(listed, (text, token, self._year), render))

    async def _totals(self) -> ShownTotals | None:
        """Return the totals, or None while the index is being filled."""
        try:
            return await self.sources.totals.shown()
        except Unavailable as problem:
            if problem.code is not Code.INDEX_UNAVAILABLE:
                raise
            return None

    # The operator's own pages

    async def own_page(self, request: Request) -> Response:
        """`/about` and the other pages that the operator writes. The about page has the totals."""
        (page,) = (each for each in self.frame.pages if each.path == request.url.path)
        totals = await self._totals() if page is self.frame.pages[0] else None

        def render() -> RenderedPage:
            about = self.frame.description or f"{page.title}: {self.frame.name}"
            card = self.cards.page(page.path, page.title, about)
            return self._rendered("own_page.html", card, page=page, totals=totals)

        return self._respond(request, self._own_pages.of(page, totals, render), "pages")

    # A post

    async def post(self, request: Request) -> Response:
        """`/p/{id}/{slug}`: a post, with its text if the post is free.

        Any other slug, or none, redirects to the slug of the title.
        """
        post_id = canonical_post_id(request.path_params["id"])
        client = client_of(request)
        headers: dict[str, str] = {}

        async def write() -> bytes:
            shown = await self.sources.pages.show(post_id)
            headers.clear()
            if (path := post_page(shown.post)) != request.scope["path"]:
                headers.update(_moved(with_query(path, request)))
                return b""
            page = await self._post_page(client, shown)
            headers.update(page.headers(self._policy(), SHARED, f"post-{post_id}"))
            if page.is_current(request):
                return b""
            return page.encoded(request, headers)

        reservation = await self.budget.admit(client, write)
        if not reservation.body:
            return Response(status_code=301 if "Location" in headers else 304, headers=headers)
        return LargeResponse(reservation, reservation.body, 200, headers, HTML_TYPE)

    async def _post_page(self, client: str, shown: ShownPost) -> RenderedPage:
        """Return the page of a post. If it is cached, neither reads the post's text nor waits."""
        post, file = shown.post, shown.file or shown.opening
        shown_cid = None if file is None else file.cid
        # A measure on one of the further posts changes this page too.
        further = await self._further(post)
        beside = shown.price, shown.file is None, shown_cid, shown.is_listed, self._year, further
        known = self._posts.find(post, beside)
        if known is not None:
            return known
        if file is None:
            page = self._write_post(shown, further)
            self._posts.keep(post, beside, page)
            return page
        is_opening = shown.file is None
        reads = self.sources.reads
        text = await read_markup(reads, client, file, post_title(post), is_opening=is_opening)
        about = ""
        if shown.opening is not None and not post.description.strip():
            into = "opening-start"
            about = await reads.converted(client, shown.opening, into, _beginning)
        if text.secret is None and len(text) <= SMALL_DOCUMENT:
            page = self._write_post(shown, further, text.markup, about)
            self._posts.keep(post, beside, page)
            return page

        def write(content: str, work: TextWork) -> RenderedPage:
            return self._write_post(shown, further, text.with_pictures(content), about)

        page = await self._with_pictures(client, file, text, ("page", id(post), beside), write)
        if page.weight <= LARGEST_KEPT:
            self._posts.keep(post, beside, page)
        return page

    async def _further(self, post: IndexedPost) -> tuple[IndexedPost, ...]:
        """Return posts to read next: first the author's newest, then the newest of all authors."""
        posts = self.sources.posts
        try:
            own = await posts.list(ListRequest({"author": post.author}, None, FURTHER + 1))
            newest = await posts.list(ListRequest({}, None, 2 * FURTHER + 1))
        except Unavailable as problem:
            # While the index is being filled, posts can be read, but not listed.
            if problem.code is not Code.INDEX_UNAVAILABLE:
                raise
            return ()
        found = {each.post_id: each for each in (*own.posts, *newest.posts) if each.hosted}
        found.pop(post.post_id, None)
        return tuple(found.values())[:FURTHER]

    def _write_post(
        self,
        shown: ShownPost,
        further: Sequence[IndexedPost],
        text: Markup | None = None,
        about: str = "",
    ) -> RenderedPage:
        """Render the page of a post with its text, or with its opening if it is not free.

        `about` replaces a missing description.
        """
        return self._rendered(
            "post.html",
            self.cards.post(shown.post, about, indexed=shown.is_listed),
            post=shown.post,
            price=shown.price,
            text=None if shown.file is None else text,
            opening=text if shown.file is None else None,
            further=list(further),
        )

    async def _with_pictures(
        self, client: str, file: File, text: TextMarkup, into: Hashable, write: Convert[T]
    ) -> T:
        """Return the output of `write` for a text and its images.

        Without images, the text is not read. The output is large, so it is not cached, and clients
        take turns.
        """
        reads = self.sources.reads

        async def load() -> str:
            return "" if text.secret is None else await reads.content_of(file)

        return await reads.texts.of(client, (file.cid, into), load, write, keep=False)

    async def text(self, request: Request) -> Response:
        """`/p/{id}/text`: the text of a post that the session may read, as an HTML fragment."""
        post_id = canonical_post_id(request.path_params["id"])
        reads = self.sources.reads
        session = await self._recognize(request, post_id)
        file = (await reads.newest(await reads.own_post(session, post_id))).text
        client = client_of(request)

        async def write() -> bytes:
            title = post_title((await self.sources.posts.post(post_id)).post)
            text = await read_markup(reads, client, file, title)
            if text.secret is None and len(text) <= SMALL_DOCUMENT:
                return text.markup.encode()

            def put_pictures(content: str, work: TextWork) -> bytes:
                return text.with_pictures(content).encode()

            return await self._with_pictures(client, file, text, ("text", title), put_pictures)

        reservation = await self.budget.admit(client, write)
        headers = {"Cache-Control": OWN, "Vary": "Authorization"}
        return LargeResponse(reservation, reservation.body, 200, headers, HTML_TYPE)

    async def document(self, request: Request) -> Response:
        """`/p/{id}/document`: the stored bytes of a post, so that readers can verify them."""
        file = await self._readable_file(request)
        load = partial(self.sources.reads.document_of, file)
        reservation = await self.budget.reserve(client_of(request), file.size, load)
        headers = {"Cache-Control": OWN, "Vary": "Authorization"}
        return LargeResponse(
            reservation, reservation.body, 200, headers, "application/octet-stream"
        )

    async def changes(self, request: Request) -> Response:
        """`/p/{id}/changes`: the changes made by a correction, for readers who may read the post.

        Without a number, shows the changes made by all corrections. With a session, returns an HTML
        fragment.
        """
        file, post = await self._readable(request)
        reads, client = self.sources.reads, client_of(request)
        revisions = await reads.revisions_of(post)
        asked = only_value(query_params(request), "revision")
        after, before = await reads.newest(file), PostVersion(file)
        if asked is not None:
            after = await reads.version(file, revision_number(asked))
            older = [each.number for each in revisions if each.number < after.number]
            before = await reads.version(file, max(older, default=0))
        earlier: list[str] = []

        async def load() -> str:
            earlier[:] = [await reads.content_of(before.text)]
            return await reads.content_of(after.text)

        def write(content: str, work: TextWork) -> bytes:
            changes = _compare(earlier[0], content, work)
            return self._version_page(request, post, revisions=revisions, changes=changes)

        async def convert() -> bytes:
            key = ("changes", before.text.cid, after.text.cid, id(request))
            return await reads.texts.of(client, key, load, write, keep=False)

        return await self._send_version(request, convert)

    async def first(self, request: Request) -> Response:
        """`/p/{id}/first`: a post as first published, for readers who may read it."""
        file, post = await self._readable(request)
        client = client_of(request)

        async def write() -> bytes:
            reads = self.sources.reads
            text = await read_markup(reads, client, file, post_title(post))

            def put_pictures(content: str, work: TextWork) -> bytes:
                markup = text.with_pictures(content)
                return self._version_page(request, post, text=markup, changes=None)

            into = ("first", id(request))
            return await self._with_pictures(client, file, text, into, put_pictures)

        return await self._send_version(request, write)

    async def _readable(self, request: Request) -> tuple[File, IndexedPost]:
        """Return the post of a request, if its session may read it, or if it is free."""
        file = await self._readable_file(request)
        post_id = canonical_post_id(request.path_params["id"])
        return file, (await self.sources.posts.post(post_id)).post

    async def _readable_file(self, request: Request) -> File:
        post_id = canonical_post_id(request.path_params["id"])
        if "authorization" not in request.headers:
            return await self.sources.reads.free_post(post_id)
        session = await self._recognize(request, post_id)
        return await self.sources.reads.own_post(session, post_id)

    async def _recognize(self, request: Request, post_id: int) -> Session:
        """Return the session of a request. A withheld post is refused in any case."""
        try:
            return self.sources.login.recognize(request.headers.get("authorization"))
        except Refusal:
            try:
                await self.sources.posts.post(post_id)
            except Withheld:
                raise
            except Problem:
                pass
            raise

    def _version_page(self, request: Request, post: IndexedPost, **values: Any) -> bytes:
        """Return a view of a post's versions as a page or, with a session, as an HTML fragment."""
        if "authorization" in request.headers:
            if values["changes"] is None:
                text: Markup = values["text"]
                return text.encode()
            template = "_changes.html"
        else:
            template = "versions.html"
        card = self.cards.page(request.url.path, post_title(post), "", indexed=False)
        return self.templates.render(
            template, card=card, post=post, page=post_page(post), year=self._year, **values
        ).encode()

    async def _send_version(
        self, request: Request, write: Callable[[], Awaitable[bytes]]
    ) -> Response:
        reservation = await self.budget.admit(client_of(request), write)
        is_own = "authorization" in request.headers
        headers = {"Cache-Control": OWN if is_own else SHARED, "Vary": "Authorization"}
        if not is_own:
            headers["Content-Security-Policy"] = self._policy()
        return LargeResponse(reservation, reservation.body, 200, headers, HTML_TYPE)

    # The library, the Studio

    async def library(self, request: Request) -> Response:
        """`/library`: the reader's library. Scripts fill it in after the reader has signed in."""
        return self._respond(request, self._rendered("library.html", self._unindexed("library")))

    async def studio(self, request: Request) -> Response:
        """`/studio`: the page where authors write, filled in by scripts."""
        nonce = secrets.token_urlsafe(16)
        card = self._unindexed("studio")
        page = self.templates.render("studio.html", card=card, style_nonce=nonce)
        headers = {
            "Content-Security-Policy": self._policy(nonce),
            "Cache-Control": PRIVATE,
        }
        return Response(page, 200, headers, HTML_TYPE)

    async def preview(self, request: Request) -> Response:
        """`/studio/preview`: the post being written, rendered as its page. Needs a session."""
        await self.sources.login.authenticate(request.headers.get("authorization"))
        limit = ESCAPED_PREVIEW * self.max_content + SMALL_BODY
        unread = self.bodies.open_json(request, limit)
        client = client_of(request)
        body = await unread.read()

        async def parse() -> str:
            return await asyncio.to_thread(_preview_content, body, self.max_content)

        def render(content: str, work: TextWork) -> bytes:
            return text_markup(content, "", work).with_pictures(content).encode()

        async def write() -> bytes:
            return await self._previews.of(client, object(), parse, render, keep=False)

        reservation = await self.budget.admit(client, write)
        return LargeResponse(reservation, reservation.body, 200, {"Cache-Control": OWN}, HTML_TYPE)

    # Files

    async def icon(self, request: Request) -> Response:
        """`/icon.svg`: the operator's icon, or the first letter of the name."""
        if self.frame.files.icon is not None:
            headers = {"Location": self.frame.icon, "Cache-Control": SHARED}
            return Response(status_code=302, headers=headers)
        response = cached_response(request, self.frame.drawn_icon, "image/svg+xml", SHARED)
        # The icon has its own style for dark tabs.
        response.headers["Content-Security-Policy"] = INERT
        return response

    async def manifest(self, request: Request) -> Response:
        """`/site.webmanifest`: the web app manifest."""
        document = web_manifest(self.frame)
        return cached_response(request, document, "application/manifest+json", SHARED)

    async def license(self, request: Request) -> Response:
        """`/license.xml`: the machine-readable licence."""
        document = license_document(self.cards.service, self.ai_training)
        return cached_response(request, document, LICENSE_TYPE, DAILY)

    # Responses

    def refuse(self, problem: Response, detail: str) -> Response:
        """Render the page shown in place of a problem response."""
        return problem_page(self.templates, problem, detail, self.rpc_url)

    def _unindexed(self, name: str) -> Card:
        """Build the head of a page that search engines should not list."""
        title, about = self.words.text(f"{name}.title"), self.words.text(f"{name}.about")
        return self.cards.page(f"/{name}", title, about, indexed=False)

    def _rendered(self, template: str, card: Card, **values: Any) -> RenderedPage:
        page = self.templates.render(template, card=card, year=self._year, **values)
        return RenderedPage.of(page)

    @property
    def _year(self) -> int:
        """Return the current year, which dates on pages omit."""
        return self.clock().year

    def _respond(self, request: Request, page: RenderedPage, tag: str = "posts") -> Response:
        return page.response(request, self._policy(), SHARED, tag)

    def _policy(self, style_nonce: str | None = None) -> str:
        return content_policy(self.rpc_url, style_nonce, self.pictures)

    def _plain_headers(self, cache: str) -> dict[str, str]:
        return {"Content-Security-Policy": self._policy(), "Cache-Control": cache}


def _with_first(featured: Sequence[IndexedPost], listed: ListedPosts) -> ListedPosts:
    """Return a list with the featured posts at its beginning, each only once."""
    if not featured:
        return listed
    ids = {each.post_id for each in featured}
    rest = (each for each in listed.posts if each.post_id not in ids)
    return replace(listed, posts=(*featured, *rest))


def _beginning(content: str, work: TextWork) -> str:
    """Return the first words of an opening."""
    return readable_text(read_opening(content, work).content, longest=2 * MAX_DESCRIPTION)


def _compare(before: str, after: str, work: TextWork) -> Changes:
    """Return the changes between two texts, or only that they differ if comparing is too slow."""
    try:
        old, new = (
            each if is_markdown(each) else markdown_text(each, work) for each in (before, after)
        )
        return compare_texts(old, new, work)
    except TooIntricate:
        return Changes((), is_cut=True)


def _moved(location: str) -> dict[str, str]:
    return {"Location": location, "Cache-Control": SHARED}


def popular_tags(posts: Sequence[IndexedPost]) -> list[str]:
    """Return the most frequent hashtags of these posts."""
    counted = Counter(tag for post in posts for tag in post.hashtags)
    return [tag for tag, _ in counted.most_common(POPULAR_TAGS)]


def _preview_content(body: bytes, most: int) -> str:
    try:
        content = msgspec.convert(parse_json(body), PreviewBody).content
    except msgspec.ValidationError as error:
        raise Refusal(Code.INVALID_REQUEST, f"{error}.") from None
    if len(content.encode()) > most:
        raise Refusal(Code.TOO_LARGE, f"A text may have at most {most} bytes.")
    return content
