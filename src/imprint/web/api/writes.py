"""The signed endpoints: login, logout, the writes, profiles, and writing sessions."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from imprint import failpoints
from imprint.auth.logins import LoginClaim
from imprint.auth.typed_data import TypedDataClaim
from imprint.auth.writing_sessions import OpeningClaim
from imprint.domain.drafts.tags import salvage_hashtags
from imprint.domain.errors import Code, Refusal, Unavailable
from imprint.domain.rate_limits import Budget
from imprint.domain.sessions import LiveSession, WritingSession
from imprint.interface.accounts import (
    LoginBody,
    LogoutBody,
    OpeningBody,
    WritingSessionRecord,
    WritingSessionResponse,
    WritingSessionsResponse,
)
from imprint.interface.drafts import (
    CreateBody,
    CreatedResponse,
    DeleteBody,
    DeletedDraft,
    DeletedResponse,
    Published,
    ReviseBody,
    SignedBody,
    UpdateBody,
    UpdatedResponse,
)
from imprint.interface.posts import ProfileResponse, RevisionResponse
from imprint.metrics import OVERLOADS
from imprint.services.accounts.login import Login
from imprint.services.accounts.profiles import Profiles
from imprint.services.accounts.writing_sessions import WritingSessions
from imprint.services.drafts.drafts import Drafts
from imprint.web.api.post_records import profile_record, revision_response
from imprint.web.http.requests import (
    SMALL_BODY,
    BodyReader,
    check_parameters,
    client_of,
    decode_text,
    parse_json,
    parse_tags,
    query_cid,
    query_post_id,
)
from imprint.web.http.responses import (
    PRIVATE,
    empty_response,
    file_record,
    json_response,
    login_response,
    own_response,
)


@dataclass(frozen=True, slots=True)
class WriteRoutes:
    """Each endpoint parses a body, passes the claim to a service, and encodes the record.

    A request is checked in this order: its length, its media type, its CID, its body. Images take
    long to check, so `publishing` limits each client to its share of the waiting images, and only
    one image per client is checked at a time. Other clients thus do not wait for all images that
    one client has sent. With `salvage_tags`, no publication is refused because of its hashtags.
    """

    login_service: Login
    drafts: Drafts
    profiles: Profiles
    bodies: BodyReader
    max_content: int
    max_image: int
    publishing: Budget
    salvage_tags: bool = False
    _turns: dict[str, asyncio.Lock] = field(default_factory=dict, init=False)

    async def login(self, request: Request) -> Response:
        body = await self.bodies.read_json(request, LoginBody, SMALL_BODY)
        claim = LoginClaim(body.salt, body.address, body.signature, client_of(request))
        return json_response(login_response(await self.login_service.sign_in(claim)), PRIVATE)

    async def logout(self, request: Request) -> Response:
        check_parameters(request)
        session = self.login_service.recognize(request.headers.get("authorization"))
        body = await self.bodies.open(request, SMALL_BODY).read()
        await self.login_service.log_out(session, everywhere=_ends_all(body))
        return empty_response(PRIVATE)

    async def create(self, request: Request) -> Response:
        body, content = await self.bodies.open_content(request, self.max_content).parse(CreateBody)
        file = await self.drafts.create(_claim(request, body), content)
        return _write_response(CreatedResponse(file_record(file)))

    async def update(self, request: Request) -> Response:
        unread = self.bodies.open_content(request, self.max_content)
        cid = query_cid(request)
        body, content = await unread.parse(UpdateBody)
        file = await self.drafts.update(_claim(request, body), cid, content)
        return _write_response(UpdatedResponse(file_record(file)))

    async def publish(self, request: Request) -> Response:
        unread = self.bodies.open_form(request, self.max_image)
        cid = query_cid(request)
        form = await unread.parse()
        salt = parse_json(form.field("salt"))
        tags_text = decode_text(form.field("hashtags", b""), Code.INVALID_TAGS)
        client = client_of(request)
        claim = TypedDataClaim(
            salt,
            form.text("address"),
            form.text("signature"),
            form.text("session") if "session" in form.fields else None,
            tags_text,
            client,
        )
        hashtags = salvage_hashtags(tags_text) if self.salvage_tags else parse_tags(tags_text)
        image = form.file("file")
        self._check_image(image)
        async with self._image_turn(client):
            thumbnail_cid = await self.drafts.publish(claim, cid, image, hashtags)
        return _write_response(Published(thumbnail_cid))

    async def update_profile(self, request: Request) -> Response:
        form = await self.bodies.open_form(request, self.max_image).parse()
        client = client_of(request)
        claim = TypedDataClaim(
            parse_json(form.field("salt")),
            form.text("address"),
            form.text("signature"),
            form.text("session") if "session" in form.fields else None,
            client=client,
        )
        picture = form.files.get("file")
        if picture is None:
            profile = await self.profiles.update(claim, None)
        else:
            self._check_image(picture)
            async with self._image_turn(client):
                profile = await self.profiles.update(claim, picture)
        return _write_response(ProfileResponse(profile_record(profile)))

    async def revise(self, request: Request) -> Response:
        unread = self.bodies.open_content(request, self.max_content)
        post_id = query_post_id(request)
        body, content = await unread.parse(ReviseBody)
        revision = await self.drafts.revise(_claim(request, body), post_id, content)
        return _write_response(revision_response(revision))

    async def delete(self, request: Request) -> Response:
        unread = self.bodies.open_json(request, SMALL_BODY)
        cid = query_cid(request)
        body = await unread.parse(DeleteBody)
        file = await self.drafts.delete(_claim(request, body), cid)
        return _write_response(DeletedResponse(DeletedDraft(file.id, "deleted")))

    def _check_image(self, image: bytes) -> None:
        if len(image) > self.max_image:
            raise Refusal(Code.TOO_LARGE, f"The picture may have at most {self.max_image} bytes.")

    @asynccontextmanager
    async def _image_turn(self, client: str) -> AsyncIterator[None]:
        """Wait until no other image of the client is being checked. Raises `Unavailable`."""
        if not self.publishing.take(client):
            OVERLOADS.labels("images").inc()
            raise Unavailable(Code.OVERLOADED, "Too many images are being checked.")
        try:
            async with self._turns.setdefault(client, asyncio.Lock()):
                yield
        finally:
            self.publishing.give_back(client)
            if not self.publishing.held(client):
                del self._turns[client]


def _ends_all(body: bytes) -> bool:
    """Whether a logout ends all sessions. Without a body, it does not. Refuses a malformed body."""
    try:
        return msgspec.convert(parse_json(body) if body.strip() else {}, LogoutBody).all
    except msgspec.ValidationError:
        problem = 'The body must be empty, {} or {"all": true}.'
        raise Refusal(Code.INVALID_REQUEST, problem) from None


def _claim(request: Request, body: SignedBody) -> TypedDataClaim:
    client = client_of(request)
    return TypedDataClaim(body.salt, body.address, body.signature, body.session, client=client)


def _write_response(
    body: CreatedResponse
    | UpdatedResponse
    | Published
    | DeletedResponse
    | ProfileResponse
    | RevisionResponse,
) -> Response:
    failpoints.reach("before_response")
    return json_response(body)


@dataclass(frozen=True, slots=True)
class WritingSessionRoutes:
    """Each endpoint calls one method of `WritingSessions`, and returns the result."""

    login: Login
    sessions: WritingSessions
    bodies: BodyReader

    async def all_of_wallet(self, request: Request) -> Response:
        """`/writing/sessions`: open a session, or list or revoke the sessions of the wallet."""
        check_parameters(request)
        if request.method == "POST":
            body = await self.bodies.read_json(request, OpeningBody, SMALL_BODY)
            claim = OpeningClaim(body.salt, body.address, body.signature, client_of(request))
            opened = _record(await self.sessions.open(claim))
            return own_response(WritingSessionResponse(opened), 201)
        session = await self._session(request)
        if request.method == "DELETE":
            await self.sessions.revoke_all(session.address)
            return empty_response()
        sessions = await self.sessions.owned(session.address)
        return own_response(WritingSessionsResponse(tuple(_record(each) for each in sessions)))

    async def one_of_wallet(self, request: Request) -> Response:
        """`/writing/sessions/{id}`: revoke a session."""
        check_parameters(request)
        session = await self._session(request)
        await self.sessions.revoke(session.address, request.path_params["id"])
        return empty_response()

    async def _session(self, request: Request) -> LiveSession:
        return await self.login.authenticate(request.headers.get("authorization"))


def _record(session: WritingSession) -> WritingSessionRecord:
    return WritingSessionRecord(
        session.id,
        session.wallet,
        session.actions,
        session.not_before,
        session.expires_at,
        session.created_at,
    )
