"""The endpoints of readers: contents and lists."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from imprint.auth.sessions import Session
from imprint.domain.errors import Code
from imprint.domain.files import File
from imprint.services.lists import Lists
from imprint.services.login import Login
from imprint.services.reads import Reads
from imprint.web.requests import (
    query_address,
    query_cid,
    query_of,
    query_post_id,
    query_tags,
    query_text,
)
from imprint.web.responses import (
    FREE_POST,
    PRIVATE,
    ContentAnswer,
    entity_tag,
    files_answer,
    is_current,
    json_response,
    not_modified,
    read_record,
    tagged_answer,
)


@dataclass(frozen=True, slots=True)
class ReadRoutes:
    """Parameters in, one question to a flow, contents and records out."""

    login_flow: Login
    reading: Reads
    listing: Lists

    async def file_by_cid(self, request: Request) -> Response:
        session = self._session(request)
        file = await self.reading.draft(session, query_cid(request))
        return await self._content(request, file, PRIVATE)

    async def file_by_post_id(self, request: Request) -> Response:
        session = self._session(request)
        reader = query_address(request, "user")
        file = await self.reading.post(session, reader, query_post_id(request))
        return await self._content(request, file, PRIVATE)

    async def free_file_by_post_id(self, request: Request) -> Response:
        file = await self.reading.free_post(query_post_id(request))
        return await self._content(request, file, FREE_POST)

    async def files_by_tags(self, request: Request) -> Response:
        tags = query_tags(request)
        return json_response(tagged_answer(await self.listing.by_tags(tags), tags))

    async def pending_files_by_owner(self, request: Request) -> Response:
        session = self._session(request)
        listed = await self.listing.drafts(session, query_address(request, "owner"))
        return json_response(files_answer(listed), PRIVATE)

    async def files_by_next_page_token(self, request: Request) -> Response:
        page_token = query_text(request, "next_page_token", Code.INVALID_PAGE_TOKEN)
        return json_response(files_answer(await self.listing.after(page_token)), PRIVATE)

    async def files_meta_data(self, request: Request) -> Response:
        if "cid" in query_of(request):
            return json_response(files_answer(await self.listing.metadata(query_cid(request))))
        return json_response(files_answer(await self.listing.recent()))

    def _session(self, request: Request) -> Session:
        return self.login_flow.recognize(request.headers.get("authorization"))

    async def _content(self, request: Request, file: File, cache: str) -> Response:
        tag = entity_tag(file.cid)
        if is_current(request, tag):
            return not_modified(tag, cache)
        content = await self.reading.content_of(file)
        answer = json_response(ContentAnswer(content, read_record(file)), cache)
        answer.headers["ETag"] = tag
        return answer
