"""The application class, and a router that finds fixed paths in a table.

docs/decisions/table-router.md has the measurements behind both.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Lifespan, Receive, Scope, Send


class TableRouter(Router):
    """Starlette's router, with a table of the paths that have no parameters.

    Other paths are matched by Starlette, the routes with parameters first. Endpoints are coroutine
    functions from request to response.
    """

    def __init__(self, routes: Sequence[Route], lifespan: Lifespan[Any] | None = None) -> None:
        ordered = sorted(routes, key=lambda route: not route.param_convertors)
        super().__init__(ordered, redirect_slashes=False, lifespan=lifespan)
        self.table = {route.path: route for route in routes if not route.param_convertors}

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the endpoint of the route.

        Raises the refusal that the middleware noted, and `HTTPException` 404 or 405.
        """
        if scope["type"] != "http":
            await super().app(scope, receive, send)
            return
        if (refusal := scope["state"].get("refusal")) is not None:
            raise refusal
        route = self.table.get(scope["path"])
        if route is None:
            await super().app(scope, receive, send)
            return
        methods = route.methods or ()
        if scope["method"] not in methods:
            raise HTTPException(405, headers={"Allow": ", ".join(methods)})
        response = await route.endpoint(Request(scope, receive, send))
        await response(scope, receive, send)


class Application(Starlette):
    """Starlette over a `TableRouter`, without `ServerErrorMiddleware`.

    The outermost middleware of this service responds to unexpected errors itself, because it also
    counts and logs every response.
    """

    def __init__(
        self,
        routes: Sequence[Route],
        middleware: Sequence[Middleware],
        exception_handlers: Mapping[Any, Callable[..., Awaitable[Response]]],
        lifespan: Lifespan[Any] | None = None,
    ) -> None:
        super().__init__(middleware=middleware, exception_handlers=exception_handlers)
        self.router = TableRouter(routes, lifespan)

    def build_middleware_stack(self) -> ASGIApp:
        app: ASGIApp = ExceptionMiddleware(self.router, handlers=self.exception_handlers)
        for cls, args, kwargs in reversed(self.user_middleware):
            app = cls(app, *args, **kwargs)
        return app
