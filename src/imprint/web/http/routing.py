"""The application class, and a router that finds fixed paths in a table.

See docs/decisions/table-router.md for the measurements behind both.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Lifespan, Receive, Scope, Send

from imprint.web.http.requests import with_query

Endpoint = Callable[[Request], Awaitable[Response]]
"""Endpoint function that responds to a request."""

ExceptionHandlers = Mapping[int | type[Exception], Callable[[Request, Any], Awaitable[Response]]]
"""Exception handlers by class or, for an `HTTPException`, by status."""


class TableRouter(Router):
    """Starlette's router, with a table of the paths that have no parameters.

    Endpoints are coroutine functions from request to response. The router calls the endpoints and
    the exception handlers.
    """

    def __init__(
        self,
        routes: Sequence[Route],
        exception_handlers: ExceptionHandlers,
        lifespan: Lifespan[Any] | None = None,
    ) -> None:
        super().__init__(routes, lifespan=lifespan)
        self._table = {route.path: route for route in routes if not route.param_convertors}
        self._patterns: dict[str, list[Route]] = {}
        for route in routes:
            if route.param_convertors:
                self._patterns.setdefault(_first_segment(route.path), []).append(route)
        self._handlers = exception_handlers

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the endpoint's response, or the response of the handler for its exception."""
        if scope["type"] != "http":
            await super().app(scope, receive, send)
            return
        request = Request(scope, receive, send)
        try:
            response = await self._endpoint(scope)(request)
        except Exception as error:
            handler = self._handler(error)
            if handler is None:
                raise
            response = await handler(request, error)
        await response(scope, receive, send)

    def _endpoint(self, scope: Scope) -> Endpoint:
        """Return the endpoint of a request.

        Raises the refusal that `RequestMiddleware` recorded, and `HTTPException` 404 or
        405.
        """
        if (refusal := scope["state"].get("refusal")) is not None:
            raise refusal
        path: str = scope["path"]
        route = self._table.get(path) or self._match(path, scope)
        if route is None:
            if path.endswith("/") and "//" not in path and self._has(path[:-1], scope):
                return _redirect_without_slash
            raise HTTPException(404)
        methods = route.methods or ()
        if scope["method"] not in methods:
            raise HTTPException(405, headers={"Allow": ", ".join(sorted(methods))})
        endpoint: Endpoint = route.endpoint
        return endpoint

    def _has(self, path: str, scope: Scope) -> bool:
        return path in self._table or self._match(path, scope) is not None

    def _match(self, path: str, scope: Scope) -> Route | None:
        """Return the first route that matches this path, among the routes with its first segment.

        Parameters are texts without a slash. The pattern is recorded for the metrics.
        """
        for route in self._patterns.get(_first_segment(path), ()):
            # Unlike `match`, this takes no line feed after the last segment.
            match = route.path_regex.fullmatch(path)
            if match is not None:
                scope["path_params"] = match.groupdict()
                scope["state"]["route"] = route.path
                return route
        return None

    def _handler(self, error: Exception) -> Callable[[Request, Any], Awaitable[Response]] | None:
        if isinstance(error, HTTPException):
            return self._handlers.get(error.status_code)
        known = (self._handlers[each] for each in type(error).__mro__ if each in self._handlers)
        return next(known, None)


async def _redirect_without_slash(request: Request) -> Response:
    """Redirect a client to the path without its trailing slash, keeping the query."""
    # The decoded path is quoted again, because it may contain a slash that was escaped.
    location = with_query(quote(request.scope["path"][:-1]), request)
    return Response(status_code=308, headers={"Location": location})


def _first_segment(path: str) -> str:
    """Return the first segment of a path. Patterns have no parameter in this segment."""
    return path.split("/", 2)[1] if "/" in path else path


class Application(Starlette):
    """Starlette over a `TableRouter`, without the two middlewares that Starlette adds.

    The router does the work of `ExceptionMiddleware`. `RequestMiddleware` does the work of
    `ServerErrorMiddleware`. `RequestMiddleware` counts and logs every response, so it must be the
    outermost middleware.
    """

    def __init__(
        self,
        routes: Sequence[Route],
        middleware: Sequence[Middleware],
        exception_handlers: ExceptionHandlers,
        lifespan: Lifespan[Any] | None = None,
    ) -> None:
        super().__init__(middleware=middleware, exception_handlers=exception_handlers)
        self.router = TableRouter(routes, exception_handlers, lifespan)

    def build_middleware_stack(self) -> ASGIApp:
        # Not the router itself, which would pass each request on to its own stack of middlewares.
        app: ASGIApp = self.router.app
        for cls, args, kwargs in reversed(self.user_middleware):
            app = cls(app, *args, **kwargs)
        return app
