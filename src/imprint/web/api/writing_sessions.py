"""The endpoints of writing sessions: a wallet opens them, and its owner lists and revokes them."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from imprint.auth.writing_sessions import OpeningClaim
from imprint.domain.sessions import LiveSession, WritingSession
from imprint.interface.accounts import (
    OpeningBody,
    WritingSessionRecord,
    WritingSessionResponse,
    WritingSessionsResponse,
)
from imprint.services.accounts.login import Login
from imprint.services.accounts.writing_sessions import WritingSessions
from imprint.web.http.requests import SMALL_BODY, BodyReader, check_parameters, client_of
from imprint.web.http.responses import empty_response, own_response


@dataclass(frozen=True, slots=True)
class WritingSessionRoutes:
    """Each endpoint calls one method of `WritingSessions`, and writes the result."""

    login: Login
    sessions: WritingSessions
    bodies: BodyReader

    async def all_of_wallet(self, request: Request) -> Response:
        """`/writing/sessions`: open one, or list or revoke those of the session's wallet."""
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
        """`/writing/sessions/{id}`: revoke one."""
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
