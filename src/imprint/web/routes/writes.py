"""The endpoints that wallets sign for: login and the four writes."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from imprint import failpoints
from imprint.auth.logins import LoginClaim
from imprint.auth.typed_data import TypedDataClaim
from imprint.domain.documents import ContentTooLarge, NotContent, check_content
from imprint.domain.errors import Code, Refusal
from imprint.services.drafts import Drafts
from imprint.services.login import Login
from imprint.web.requests import (
    BodyReader,
    expect_form,
    expect_json,
    parse_json,
    parse_tags,
    query_cid,
)
from imprint.web.responses import (
    PRIVATE,
    ContentBody,
    CreatedAnswer,
    DeletedAnswer,
    DeletedFile,
    LoginBody,
    PublishedAnswer,
    SignedBody,
    UpdatedAnswer,
    file_record,
    json_response,
    login_answer,
)

SMALL_BODY = 64 * 1024
"""Bytes for a body that carries a signature and what it signs, and nothing else."""

ESCAPED = 6
"""How many times longer JSON may be than its text: as long as a letter that is escaped."""


@dataclass(frozen=True, slots=True)
class WriteRoutes:
    """Bodies in, claims to the flows, records out."""

    login_flow: Login
    drafts: Drafts
    reader: BodyReader
    max_content: int
    max_image: int

    async def login(self, request: Request) -> Response:
        body = await self.reader.read_json(request, SMALL_BODY, LoginBody)
        claim = LoginClaim(body.salt, body.address, body.signature)
        return json_response(login_answer(await self.login_flow.sign_in(claim)), PRIVATE)

    async def create(self, request: Request) -> Response:
        body = await self._read_content(request)
        file = await self.drafts.create(_claim(body), body.content)
        return _tell(CreatedAnswer(file_record(file)))

    async def update(self, request: Request) -> Response:
        expect_json(request, self._content_limit)
        cid = query_cid(request)
        body = await self._read_content(request)
        file = await self.drafts.update(_claim(body), cid, body.content)
        return _tell(UpdatedAnswer(file_record(file)))

    async def publish(self, request: Request) -> Response:
        limit = self.max_image + SMALL_BODY
        expect_form(request, limit)
        cid = query_cid(request)
        form = await self.reader.read_form(request, limit)
        salt = parse_json(form.text("salt"))
        claim = TypedDataClaim(salt, form.text("address"), form.text("signature"))
        hashtags = parse_tags(form.text("hashtags", ""))
        image = form.file("file")
        if len(image) > self.max_image:
            raise Refusal(Code.TOO_LARGE, f"An image has at most {self.max_image} bytes.")
        return _tell(PublishedAnswer(await self.drafts.publish(claim, cid, image, hashtags)))

    async def delete(self, request: Request) -> Response:
        expect_json(request, SMALL_BODY)
        cid = query_cid(request)
        body = await self.reader.read_json(request, SMALL_BODY, SignedBody)
        file = await self.drafts.delete(_claim(body), cid)
        return _tell(DeletedAnswer(DeletedFile(file.id, "deleted")))

    @property
    def _content_limit(self) -> int:
        return ESCAPED * self.max_content + SMALL_BODY

    async def _read_content(self, request: Request) -> ContentBody:
        body = await self.reader.read_json(request, self._content_limit, ContentBody)
        try:
            check_content(body.content, self.max_content)
        except ContentTooLarge as error:
            raise Refusal(Code.TOO_LARGE, str(error)) from None
        except NotContent as error:
            raise Refusal(Code.INVALID_REQUEST, str(error)) from None
        return body


def _tell(body: CreatedAnswer | UpdatedAnswer | PublishedAnswer | DeletedAnswer) -> Response:
    failpoints.reach("before_response")
    return json_response(body)


def _claim(body: SignedBody) -> TypedDataClaim:
    return TypedDataClaim(body.salt, body.address, body.signature)
