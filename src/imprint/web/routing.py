"""Intake: the body of a request on its way in, and what is left of it when the answer is ready.

A client that is still sending when its connection is closed never sees the answer: its system
discards it. So what is left of a refused body is taken and thrown away first, within bounds.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Router
from starlette.types import Message, Receive, Scope, Send

from imprint.domain.errors import Code, Problem, Refusal
from imprint.web.problems import method_response, problem_response

MAX_DRAINED = 32 * 1024 * 1024
"""Bytes of a refused body that are thrown away: more than anybody sends by mistake."""

DRAIN_SECONDS = 2.0
"""How long a refused client may go on sending."""

_LONGEST = len(str(MAX_DRAINED))


@dataclass(slots=True)
class Intake:
    """Around the `receive` of one request: knows how much came, and whether that was all."""

    scope: Scope
    receive: Receive
    is_complete: bool = field(default=False, init=False)
    _taken: int = field(default=0, init=False)
    _declared: int | None = field(default=None, init=False)
    _asks_first: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        headers = dict(self.scope["headers"])
        length = headers.get(b"content-length", b"")
        if length.isdigit():
            self._declared = int(length[: _LONGEST + 1])
            self.is_complete = self._declared == 0
        elif b"transfer-encoding" not in headers and not length:
            self.is_complete = True
        self._asks_first = headers.get(b"expect", b"").lower() == b"100-continue"

    async def __call__(self) -> Message:
        message = await self.receive()
        if message["type"] != "http.request":
            self.is_complete = True
            return message
        self._taken += len(message.get("body", b""))
        is_all = self._declared is not None and self._taken >= self._declared
        self.is_complete = is_all or not message.get("more_body", False)
        return message

    async def drain(self) -> None:
        """Throw away the rest of the body, if it comes soon and is not out of all proportion."""
        if self.is_complete or not self._is_on_its_way():
            return
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                while not self.is_complete and self._taken <= MAX_DRAINED:
                    await self()
        except TimeoutError:
            pass

    def _is_on_its_way(self) -> bool:
        # Who asks first whether to send has its answer before it sends.
        return not self._asks_first and (self._declared or 0) <= MAX_DRAINED


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
class TableRouter:
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
                return method_response(route.methods)
            return await route.endpoint(Request(scope, receive, send))
        except Problem as problem:
            scope["state"]["code"] = problem.code
            return problem_response(problem)
