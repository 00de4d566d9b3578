"""The endpoints of writing sessions: a wallet opens them, and its reader lists and revokes them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from imprint.auth.writing_sessions import OpeningClaim
from imprint.domain.sessions import LiveSession, WritingSession
from imprint.services.accounts.login import Login
from imprint.services.accounts.writing_sessions import WritingSessions
from imprint.web.http.requests import SMALL_BODY, BodyReader, check_parameters, client_of
from imprint.web.http.responses import empty_response, own_response


class OpeningBody(msgspec.Struct):
    """`POST /writing/sessions`; `salt` is checked by its verifier."""

    salt: Any
    address: str
    signature: str


class WritingSessionRecord(msgspec.Struct, rename="camel"):
    """A writing session; its key is not shown."""

    id: str
    wallet: str
    actions: tuple[str, ...]
    not_before: datetime
    expires: datetime
    created_at: datetime


@dataclass(frozen=True, slots=True)
class WritingSessionRoutes:
    """Each endpoint calls one method of `WritingSessions`, and writes the result."""

    login: Login
    sessions: WritingSessions
    bodies: BodyReader

    async def all_of_wallet(self, request: Request) -> Response:
        """`/writing/sessions`: a new one, or the list or the end of those of the session."""
        check_parameters(request)
        if request.method == "POST":
            body = await self.bodies.read_json(request, OpeningBody, SMALL_BODY)
            claim = OpeningClaim(body.salt, body.address, body.signature, client_of(request))
            return own_response({"session": _record(await self.sessions.open(claim))}, 201)
        session = await self._session(request)
        if request.method == "DELETE":
            await self.sessions.revoke_all(session.address)
            return empty_response()
        sessions = await self.sessions.owned(session.address)
        return own_response({"sessions": [_record(each) for each in sessions]})

    async def one_of_wallet(self, request: Request) -> Response:
        """`/writing/sessions/{id}`: the end of one."""
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
