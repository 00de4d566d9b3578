"""Sends requests to the service without sockets, and without a client's own work."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import httpx2
from starlette.types import ASGIApp, Message
from tests.world import ORIGIN

HOST = (b"host", ORIGIN.removeprefix("http://").encode())
CLIENT = ("203.0.113.7", 50_000)

Hear = Callable[["Request", "Response"], None]
"""Gets each request and its response."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request as the service gets it. `json` is its body, if that is JSON."""

    method: str
    path: str
    query: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes
    json: Any = None

    def header(self, name: str) -> str | None:
        """The value of a header, or None if it was not sent."""
        return dict(self.headers).get(name.lower().encode(), b"").decode() or None

    def __bytes__(self) -> bytes:
        return repr((self.method, self.path, self.query, self.headers, self.body)).encode()


class Response:
    """A response, with the members of `httpx2.Response` that tests use."""

    def __init__(self, status_code: int, headers: list[tuple[bytes, bytes]], content: bytes):
        self.status_code = status_code
        self.content = content
        self._headers = headers

    def __bytes__(self) -> bytes:
        return repr((self.status_code, self._headers, self.content)).encode()

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode(): value.decode() for name, value in self._headers}

    @property
    def text(self) -> str:
        return self.content.decode(errors="replace")

    def json(self) -> Any:
        return json.loads(self.content)


class DirectClient:
    """Calls an ASGI application. `hear` gets every request with its response."""

    def __init__(self, app: ASGIApp, hear: Hear) -> None:
        self._app = app
        self._hear = hear

    async def get(self, path: str, **given: Any) -> Response:
        return await self._send("GET", path, **given)

    async def post(self, path: str, **given: Any) -> Response:
        return await self._send("POST", path, **given)

    async def delete(self, path: str, **given: Any) -> Response:
        return await self._send("DELETE", path, **given)

    async def aclose(self) -> None:
        """No connection is open."""

    async def _send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        json: Any = None,
        content: bytes = b"",
        data: Any = None,
        files: Any = None,
    ) -> Response:
        sent = [HOST] + [(name.lower().encode(), value.encode()) for name, value in
                         (headers or {}).items()]  # fmt: skip
        body = content
        if json is not None:
            body = _dump(json)
            sent.append((b"content-type", b"application/json"))
        elif files is not None or data is not None:
            form = httpx2.Request(method, ORIGIN + path, data=data, files=files)
            body = form.read()
            sent.append((b"content-type", form.headers["content-type"].encode()))
        if body:
            sent.append((b"content-length", str(len(body)).encode()))
        query = urlencode(params or {}).encode()
        request = Request(method, path, query, sent, body, json)
        response = await self._call(request)
        self._hear(request, response)
        return response

    async def _call(self, request: Request) -> Response:
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "headers": request.headers,
            "scheme": "http",
            "path": request.path,
            "raw_path": request.path.encode(),
            "query_string": request.query,
            "server": ("imprint.test", 80),
            "client": CLIENT,
            "root_path": "",
        }
        message: Message = {"type": "http.request", "body": request.body, "more_body": False}
        received = [message]
        status, sent, parts = 500, list[tuple[bytes, bytes]](), []

        async def receive() -> Message:
            return received.pop(0) if received else {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status, sent = message["status"], list(message["headers"])
            else:
                parts.append(message.get("body", b""))

        await self._app(scope, receive, send)
        return Response(status, sent, b"".join(parts))


def _dump(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
