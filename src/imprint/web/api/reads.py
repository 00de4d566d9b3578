"""Endpoints for readers: contents and lists."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import Response

from imprint.domain.drafts.documents import SMALL_DOCUMENT
from imprint.domain.drafts.files import File
from imprint.domain.errors import Code
from imprint.domain.posts.revisions import MAX_REVISIONS, PostVersion
from imprint.domain.sessions import Session
from imprint.interface.codec import encode_json
from imprint.interface.drafts import Content, PostContent, RevisionProof
from imprint.interface.posts import Opening
from imprint.services.access.reads import Reads
from imprint.services.accounts.login import Login
from imprint.services.posts.lists import ListPage, Lists
from imprint.services.posts.posts import Derived, Posts
from imprint.web.api.paywall import CONTENT_PATH, OpenedPost, Paywall
from imprint.web.http.large_responses import LargeResponse, ResponseBudget
from imprint.web.http.requests import (
    canonical_post_id,
    check_parameters,
    client_of,
    decimal_number,
    only_value,
    query_address,
    query_cid,
    query_params,
    query_post_id,
    query_tags,
    query_text,
)
from imprint.web.http.responses import (
    JSON_TYPE,
    PRIVATE,
    SHORT_LIVED,
    encoded_response,
    entity_tag,
    files_response,
    is_current,
    json_response,
    not_modified,
    read_record,
    reserved_response,
    tagged_files_response,
    validators,
)

DECODED = 4
"""Maximum ratio of a text's size in memory to the size of its document, due to wide characters."""


KEPT_BYTES = 4 * 1024 * 1024
"""Maximum total size of the cached lists of a process in bytes."""

REVISION_PARAMETERS = frozenset({"revision"})

MakeBody = Callable[[str], Content]


def revision_number(text: str) -> int:
    """Parse the number of a version. A number that no version can have becomes the next one."""
    problem = "The parameter 'revision' must be a decimal number."
    return min(decimal_number(text, Code.INVALID_REQUEST, problem), MAX_REVISIONS + 1)


def _newest_body(version: PostVersion) -> MakeBody:
    record = read_record(version.file)
    return lambda content: PostContent(content, record, version.number)


def _named_body(version: PostVersion) -> MakeBody:
    """Return a function that builds the body of a version, with the statement that its author
    signed."""
    record, revision = read_record(version.file), version.revision
    proof = None
    if revision is not None:
        salt = json.loads(revision.salt)
        proof = RevisionProof(revision.owner, salt, revision.signature)
    return lambda content: PostContent(content, record, version.number, proof)


@dataclass(frozen=True, slots=True)
class ReadRoutes:
    """Each endpoint parses its parameters, calls one service, and encodes the result."""

    login: Login
    reads: Reads
    lists: Lists
    posts: Posts
    paywall: Paywall
    budget: ResponseBudget
    _bodies: Derived[bytes] = field(default_factory=lambda: Derived(len, KEPT_BYTES), init=False)

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
        """Return the content for the caller, whom a session or a proof identifies.

        Without a session or a proof, the post must be free.
        """
        post_id = canonical_post_id(request.path_params["id"])
        asked = only_value(check_parameters(request, REVISION_PARAMETERS), "revision")
        number = None if asked is None else revision_number(asked)
        opened = await self.paywall.open(request, post_id, CONTENT_PATH)
        if number is None:
            version = await self.reads.newest(opened.file)
            make = _newest_body(version)
        else:
            version = await self.reads.version(opened.file, number)
            make = _named_body(version)
        cache = opened.headers["Cache-Control"]
        response = await self._content(request, version.text, cache, make, opened)
        response.headers.update(opened.headers)
        return response

    async def opening(self, request: Request) -> Response:
        """Return the opening of a post, which everybody may read, whatever the post costs."""
        post_id = canonical_post_id(request.path_params["id"])
        check_parameters(request)
        client = client_of(request)

        async def load() -> bytes:
            file = await self.reads.opened_post((await self.posts.post(post_id)).post)
            opening = await self.reads.opening(client, file)
            return encode_json(Opening(opening.content, opening.words))

        reservation = await self.budget.admit(client, load)
        headers = {**validators(reservation.body), "Cache-Control": SHORT_LIVED}
        return reserved_response(request, reservation, headers, JSON_TYPE)

    async def files_by_tags(self, request: Request) -> Response:
        tags = query_tags(request)
        return self._list_response(await self.lists.by_tags(tags), tags=tags)

    async def pending_files_by_owner(self, request: Request) -> Response:
        session = self._session(request)
        page = await self.lists.drafts(session, query_address(request, "owner"))
        return self._list_response(page, PRIVATE)

    async def files_by_next_page_token(self, request: Request) -> Response:
        page_token = query_text(request, "next_page_token", Code.INVALID_PAGE_TOKEN)
        return self._list_response(await self.lists.after(page_token), PRIVATE)

    async def files_meta_data(self, request: Request) -> Response:
        if "cid" in query_params(request):
            return json_response(files_response(await self.lists.metadata(query_cid(request))))
        return self._list_response(await self.lists.recent())

    def _list_response(
        self, listed: ListPage, cache: str | None = None, tags: tuple[str, ...] | None = None
    ) -> Response:
        """Build the response with a page, which is encoded once."""
        body = self._bodies.find(listed, tags)
        if body is None:
            body = encode_json(
                files_response(listed) if tags is None else tagged_files_response(listed, tags)
            )
            self._bodies.keep(listed, tags, body)
        return encoded_response(body, cache)

    def _session(self, request: Request) -> Session:
        return self.login.recognize(request.headers.get("authorization"))

    async def _content(
        self,
        request: Request,
        file: File,
        cache: str,
        make: MakeBody | None = None,
        opened: OpenedPost | None = None,
    ) -> Response:
        """Return the text of a file in the body that `make` builds, by default with its record.

        The proof of an `opened` post is spent after the text has been read.
        """
        build = make or (lambda content: Content(content, read_record(file)))
        tag = entity_tag(file.cid)
        # Whoever spends a proof must get the text, so a request with a proof never gets a 304.
        has_proof = opened is not None and opened.proof is not None
        if not has_proof and is_current(request, tag):
            return not_modified(tag, cache)
        if file.size > SMALL_DOCUMENT:
            return await self._large_content(request, file, cache, build, opened)
        response = json_response(build(await self.reads.content_of(file)), cache)
        if opened is not None:
            await self.paywall.spend(opened)
        response.headers["ETag"] = tag
        return response

    async def _large_content(
        self,
        request: Request,
        file: File,
        cache: str,
        build: MakeBody,
        opened: OpenedPost | None,
    ) -> Response:
        async def load() -> bytes:
            body = encode_json(build(await self.reads.content_of(file)))
            if opened is not None:
                await self.paywall.spend(opened)
            return body

        reservation = await self.budget.reserve(client_of(request), DECODED * file.size, load)
        headers = {"ETag": entity_tag(file.cid), "Cache-Control": cache}
        return LargeResponse(reservation, reservation.body, 200, headers, "application/json")
