"""Endpoints for readers: contents and lists."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from imprint.domain.drafts.documents import SMALL_DOCUMENT
from imprint.domain.drafts.files import File
from imprint.domain.errors import Code
from imprint.domain.sessions import Session
from imprint.interface.codec import encode_json
from imprint.interface.drafts import Content
from imprint.services.access.reads import Reads
from imprint.services.accounts.login import Login
from imprint.services.posts.lists import Lists
from imprint.web.http.large_responses import LargeResponse, ResponseBudget
from imprint.web.http.requests import (
    canonical_post_id,
    check_parameters,
    client_of,
    query_address,
    query_cid,
    query_params,
    query_post_id,
    query_tags,
    query_text,
)
from imprint.web.http.responses import (
    PRIVATE,
    SHORT_LIVED,
    entity_tag,
    files_response,
    is_current,
    json_response,
    not_modified,
    read_record,
    tagged_files_response,
)

DECODED = 4
"""Maximum ratio of a text's size in memory to the size of its document, due to wide characters."""


@dataclass(frozen=True, slots=True)
class ReadRoutes:
    """Each endpoint parses its parameters, calls one service, and encodes the result."""

    login: Login
    reads: Reads
    lists: Lists
    budget: ResponseBudget

    async def file_by_cid(self, request: Request) -> Response:
        session = self._session(request)
        file = await self.reads.draft(session, query_cid(request))
        return await self._content(request, file, PRIVATE)

    async def file_by_post_id(self, request: Request) -> Response:
        session = self._session(request)
        reader = query_address(request, "user")
        file = await self.reads.post(session, reader, query_post_id(request))
        return await self._content(request, file, PRIVATE)

    async def free_file_by_post_id(self, request: Request) -> Response:
        file = await self.reads.free_post(query_post_id(request))
        return await self._content(request, file, SHORT_LIVED)

    async def post_content(self, request: Request) -> Response:
        """Return the content for the session's reader, or without a session if the post is free."""
        post_id = canonical_post_id(request.path_params["id"])
        check_parameters(request)
        if "authorization" in request.headers:
            session = self._session(request)
            file = await self.reads.own_post(session, post_id)
            response = await self._content(request, file, PRIVATE)
        else:
            file = await self.reads.free_post(post_id)
            response = await self._content(request, file, SHORT_LIVED)
        # A response for a session must not be given to others, nor the other way round.
        response.headers["Vary"] = "Authorization"
        return response

    async def files_by_tags(self, request: Request) -> Response:
        tags = query_tags(request)
        return json_response(tagged_files_response(await self.lists.by_tags(tags), tags))

    async def pending_files_by_owner(self, request: Request) -> Response:
        session = self._session(request)
        page = await self.lists.drafts(session, query_address(request, "owner"))
        return json_response(files_response(page), PRIVATE)

    async def files_by_next_page_token(self, request: Request) -> Response:
        page_token = query_text(request, "next_page_token", Code.INVALID_PAGE_TOKEN)
        return json_response(files_response(await self.lists.after(page_token)), PRIVATE)

    async def files_meta_data(self, request: Request) -> Response:
        if "cid" in query_params(request):
            return json_response(files_response(await self.lists.metadata(query_cid(request))))
        return json_response(files_response(await self.lists.recent()))

    def _session(self, request: Request) -> Session:
        return self.login.recognize(request.headers.get("authorization"))

    async def _content(self, request: Request, file: File, cache: str) -> Response:
        tag = entity_tag(file.cid)
        if is_current(request, tag):
            return not_modified(tag, cache)
        if file.size > SMALL_DOCUMENT:
            return await self._large_content(request, file, cache)
        content = await self.reads.content_of(file)
        response = json_response(Content(content, read_record(file)), cache)
        response.headers["ETag"] = tag
        return response

    async def _large_content(self, request: Request, file: File, cache: str) -> Response:
        async def load() -> bytes:
            content = await self.reads.content_of(file)
            return encode_json(Content(content, read_record(file)))

        reservation = await self.budget.reserve(client_of(request), DECODED * file.size, load)
        headers = {"ETag": entity_tag(file.cid), "Cache-Control": cache}
        return LargeResponse(reservation, reservation.body, 200, headers, "application/json")
