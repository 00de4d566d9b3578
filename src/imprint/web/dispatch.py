"""Dispatch: a path to its endpoint, and what an endpoint raises to its answer.

Every path but one is a fixed text, so finding an endpoint is one look into a table.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Router
from starlette.types import Receive, Scope, Send

from imprint.domain.refusals import Code, Problem, Refusal
from imprint.web.intake import Intake
from imprint.web.problems import method_answer, problem_answer

UNDRAINED = (Code.REQUEST_TIMEOUT, Code.OVERLOADED)
"""Refusals for the sake of time: those who get them are listened to no longer."""

Endpoint = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Route:
    """An endpoint, where it is and how it is called; whatever answers GET also answers HEAD.

    A path may end in one parameter, as in `/ipfs/{cid}`: a text without a slash.
    """

    path: str
    endpoint: Endpoint
    method: str = "GET"

    @property
    def methods(self) -> tuple[str, ...]:
        return ("GET", "HEAD") if self.method == "GET" else (self.method,)

    @property
    def folder(self) -> str:
        """The path up to its parameter, if it has one."""
        return self.path.partition("{")[0]


@dataclass(slots=True)
class Dispatch:
    """An ASGI application over a list of routes; `life` takes its beginning and its end."""

    routes: Sequence[Route]
    life: Router
    _fixed: dict[str, Route] = field(init=False)
    _folders: dict[str, Route] = field(init=False)

    def __post_init__(self) -> None:
        self._fixed = {route.path: route for route in self.routes if "{" not in route.path}
        self._folders = {route.folder: route for route in self.routes if "{" in route.path}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.life(scope, receive, send)
            return
        intake = Intake(scope, receive)
        answer = await self._answer(scope, intake, send)
        if scope["state"].get("code") not in UNDRAINED:
            await intake.drain()
        if not intake.is_complete:
            answer.headers["Connection"] = "close"
        await answer(scope, receive, send)

    def find(self, path: str) -> tuple[Route, dict[str, str]] | None:
        """The route of a path, and its parameter."""
        route = self._fixed.get(path)
        if route is not None:
            return route, {}
        folder, _, rest = path.rpartition("/")
        route = self._folders.get(f"{folder}/")
        if route is None or not rest:
            return None
        return route, {route.path[len(route.folder) + 1 : -1]: rest}

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> Response:
        found = self.find(scope["path"])
        try:
            if (refusal := scope["state"].get("refusal")) is not None:
                raise refusal
            if found is None:
                raise Refusal(Code.NOT_FOUND, "There is nothing at this path.")
            route, scope["path_params"] = found
            if scope["method"] not in route.methods:
                return method_answer(route.methods)
            return await route.endpoint(Request(scope, receive, send))
        except Problem as problem:
            scope["state"]["code"] = problem.code
            return problem_answer(problem)
