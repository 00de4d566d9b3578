"""Origins: which pages of other sites may call the service from a browser."""

from dataclasses import dataclass
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

NO_PAGES = "/webhook/"
"""Where no page has any business: these paths are for servers."""


def admit_origins(app: ASGIApp, origins: tuple[str, ...]) -> ASGIApp:
    """The application, open to pages of these origins; without any it stays as it is."""
    if not origins:
        return app
    opened = _Permission(
        app,
        allow_origins=origins,
        allow_methods=["GET", "HEAD", "POST"],
        allow_headers=[
            "Authorization",
            "Content-Type",
            "If-None-Match",
            "If-Range",
            "Range",
            "X-Request-Id",
        ],
        expose_headers=[
            "Accept-Ranges",
            "Content-Range",
            "ETag",
            "Retry-After",
            "WWW-Authenticate",
            "X-Ipfs-Roots",
            "X-Request-Id",
        ],
        max_age=600,
    )
    return _Admission(app, opened)


class _Permission(CORSMiddleware):
    """The framework's answers, but for a page without permission there is no text about it.

    A browser takes the absence of permission for what it is, and nobody else asks.
    """

    def preflight_response(self, request_headers: Headers) -> Response:
        answer = super().preflight_response(request_headers)
        if answer.status_code == HTTPStatus.OK:
            return answer
        return Response(status_code=204, headers={"Vary": "Origin"})


@dataclass(frozen=True, slots=True)
class _Admission:
    """An application in two forms: closed to pages of other sites, and open to some."""

    app: ASGIApp
    opened: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        closed = scope["type"] == "http" and scope["path"].startswith(NO_PAGES)
        await (self.app if closed else self.opened)(scope, receive, send)
