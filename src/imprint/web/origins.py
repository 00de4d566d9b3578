"""Origins: which pages of other sites may call the service from a browser."""

from dataclasses import dataclass

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

NO_PAGES = "/webhook/"
"""Where no page has any business: these paths are for servers."""


def admit_origins(app: ASGIApp, origins: tuple[str, ...]) -> ASGIApp:
    """The application, open to pages of these origins; without any it stays as it is."""
    if not origins:
        return app
    opened = CORSMiddleware(
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


@dataclass(frozen=True, slots=True)
class _Admission:
    """An application in two forms: closed to pages of other sites, and open to some."""

    app: ASGIApp
    opened: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        closed = scope["type"] == "http" and scope["path"].startswith(NO_PAGES)
        await (self.app if closed else self.opened)(scope, receive, send)
