"""Sends requests to the service without sockets, and without a client's own work."""

import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

import httpx2
from starlette.types import ASGIApp, Message
from tests.world import ORIGIN

HOST = (b"host", ORIGIN.removeprefix("http://").encode())
CLIENT = ("203.0.113.7", 50_000)

Hear = Callable[[str, str, Mapping[str, str], Any, "Response"], None]
"""Gets the method, path and headers of a request, its JSON body if it has one, and the response."""


class Response:
    """A response, with the members of `httpx2.Response` that tests use."""

    def __init__(self, status_code: int, headers: list[tuple[bytes, bytes]], content: bytes):
        self.status_code = status_code
        self.content = content
        self._headers = headers

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
        response = await self._call(method, path, query, sent, body)
        self._hear(method, path, headers or {}, json, response)
        return response

    async def _call(
        self, method: str, path: str, query: bytes, headers: list[tuple[bytes, bytes]], body: bytes
    ) -> Response:
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "headers": headers,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query,
            "server": ("imprint.test", 80),
            "client": CLIENT,
            "root_path": "",
        }
        received: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
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
