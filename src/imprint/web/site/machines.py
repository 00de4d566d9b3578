"""The endpoints for machines: posts as Markdown, `llms.txt`, `robots.txt`, the sitemap."""

import asyncio
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from imprint.domain.drafts.documents import SMALL_DOCUMENT
from imprint.domain.errors import Code, Refusal
from imprint.domain.posts.market_events import parse_place
from imprint.domain.posts.post_text import is_markdown, markdown_text
from imprint.domain.posts.text_work import TextWork
from imprint.services.site.pages import Pages, ShownPost
from imprint.services.site.sitemap import BEGINNING, Sitemap
from imprint.web.http.escapes import xml_text
from imprint.web.http.large_responses import Reservation, ResponseBudget
from imprint.web.http.requests import canonical_post_id, client_of
from imprint.web.http.responses import SHORT_LIVED
from imprint.web.http.validators import cached_response, reserved_response, validators
from imprint.web.site.machine_pages import MachinePages

MARKDOWN = "text/markdown"
LICENSE_TYPE = "application/rsl+xml"

CRAWLED = "public, max-age=3600"
"""Cache header for files that only crawlers fetch, which may be an hour old."""

PAGE_MEMORY = 16 * 1024 * 1024
"""Memory in bytes that building a page of the sitemap may take."""


@dataclass(frozen=True, slots=True)
class MachineRoutes:
    """Each endpoint calls one service, and writes the result as a page."""

    pages: Pages
    sitemaps: Sitemap
    written: MachinePages
    budget: ResponseBudget

    async def post(self, request: Request) -> Response:
        post_id = canonical_post_id(request.path_params["id"])

        async def write() -> bytes:
            shown = await self.pages.show(post_id)
            return await self._write_post(client_of(request), shown)

        reservation = await self.budget.admit(client_of(request), write)
        return _send(request, reservation, MARKDOWN, SHORT_LIVED)

    async def _write_post(self, client: str, shown: ShownPost) -> bytes:
        reads, file = self.pages.reads, shown.file
        if file is None:
            return self.written.post(shown, None).encode()
        if file.size > SMALL_DOCUMENT:

            def write(content: str, work: TextWork) -> bytes:
                return self.written.post(shown, markdown_text(content, work)).encode()

            into = "markdown page", id(shown.post), shown.price
            return await reads.converted(client, file, into, write, keep=False)
        content = await reads.content_of(file)
        if not is_markdown(content):
            content = await reads.converted(client, file, "markdown", markdown_text)
        return self.written.post(shown, content).encode()

    async def page(self, request: Request) -> Response:
        """`/p/{id}`: the page of a post is its Markdown."""
        post_id = canonical_post_id(request.path_params["id"])
        headers = {"Location": f"/posts/{post_id}.md", "Cache-Control": SHORT_LIVED}
        return Response(status_code=303, headers=headers)

    async def llms(self, request: Request) -> Response:
        text = self.written.llms(await self.pages.newest())
        return cached_response(request, text, MARKDOWN, SHORT_LIVED)

    async def robots(self, request: Request) -> Response:
        return cached_response(request, self.written.robots(), "text/plain", CRAWLED)

    async def sitemap_index(self, request: Request) -> Response:
        text = self.written.sitemap_index(await self.sitemaps.pages())
        return cached_response(request, text, "application/xml", CRAWLED)

    async def sitemap(self, request: Request) -> Response:
        start = parse_place(request.path_params["start"])
        no_page = Refusal(Code.NOT_FOUND, "There is no such page of the sitemap.")
        if start is None:
            raise no_page

        async def write() -> bytes:
            posts = await self.sitemaps.page(start - 1)
            if not posts and start - 1 != BEGINNING:
                raise no_page
            return (await asyncio.to_thread(self.written.sitemap, posts)).encode()

        reservation = await self.budget.reserve(client_of(request), PAGE_MEMORY, write)
        return _send(request, reservation, "application/xml", CRAWLED)


def _send(request: Request, reservation: Reservation, media_type: str, cache: str) -> Response:
    headers = {**validators(reservation.body), "Cache-Control": cache}
    return reserved_response(request, reservation, headers, media_type)


def license_document(service: str, ai_training: str) -> str:
    """The licence for machines at `/license.xml` (RSL 1.0).

    Search is always permitted; paid posts stay paid.
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
