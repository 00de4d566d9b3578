"""Cross-origin requests: which web pages may call the service from a browser."""

from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

WEBHOOK_PATHS = "/webhook/"
"""Paths that only servers call: no page gets permission for them."""

TRACE_HEADERS = ("baggage", "sentry-trace", "traceparent", "tracestate")
"""Headers that tracing libraries add to every request of a page; the service ignores them."""


class PageCors(CORSMiddleware):
    """CORS for the pages of these origins, on every path but the webhooks."""

    def __init__(self, app: ASGIApp, origins: tuple[str, ...]) -> None:
        super().__init__(
            app,
            allow_origins=origins,
            allow_methods=["DELETE", "GET", "HEAD", "POST"],
            allow_headers=[
                "Authorization",
                "Content-Type",
                "If-None-Match",
                "If-Range",
                "Range",
                "X-Request-Id",
                *TRACE_HEADERS,
            ],
            expose_headers=[
                "Accept-Ranges",
                "Content-Range",
                "Date",
                "ETag",
                "Link",
                "Retry-After",
                "WWW-Authenticate",
                "X-Ipfs-Roots",
                "X-Request-Id",
            ],
            max_age=600,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(WEBHOOK_PATHS):
            await self.app(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)

    def preflight_response(self, request_headers: Headers) -> Response:
        """Starlette's response, without its text for a page that is not permitted."""
        response = super().preflight_response(request_headers)
        if response.status_code == HTTPStatus.OK:
            return response
        return Response(status_code=204, headers={"Vary": "Origin"})
