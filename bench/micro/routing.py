"""Compare the table router and the lean middleware stack with Starlette's.

python -m bench.micro.routing
"""

from functools import partial

import uvloop
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Scope

from bench.micro.timing import time_calls
from imprint.domain.errors import Problem
from imprint.web.http.problems import on_problem
from imprint.web.http.responses import json_response
from imprint.web.http.routing import Application, ExceptionHandlers, TableRouter

READS = ["filesByTags", "fileByCid", "fileByPostId", "freeFileByPostId", "pendingFilesByOwner"]
LISTS = ["filesByNextPageToken", "filesMetaData", "ipfs/{cid}"]
WRITES = ["auth/login", "create/group", "update/file", "publish/file", "delete/file"]
WEBHOOKS = [
    f"webhook/{name}/publish" for name in ("provider-a", "alchemy", "provider-b", "quicknode")
]
ABOUT = [".well-known/imprint.json", ".well-known/security.txt", "openapi.json", "docs"]
PATHS = [f"/{path}" for path in READS + LISTS + WRITES + WEBHOOKS + ABOUT + ["healthz", "readyz"]]
"""The service's paths, in route order."""

HEADERS = [
    (b"host", b"127.0.0.1:8000"),
    (b"accept", b"*/*"),
    (b"accept-encoding", b"gzip, deflate"),
    (b"user-agent", b"bench"),
]


async def _endpoint(request: Request) -> Response:
    return json_response({"files": []})


async def _receive() -> Message:
    return {"type": "http.request", "body": b""}


async def _send(message: Message) -> None:
    pass


def _scope(path: str) -> Scope:
    return {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": HEADERS,
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 8000),
        "state": {},
    }


async def _call(app: ASGIApp, path: str) -> None:
    await app(_scope(path), _receive, _send)


def _apps() -> dict[str, ASGIApp]:
    routes = [Route(path, _endpoint) for path in PATHS]
    handlers: ExceptionHandlers = {Problem: on_problem}
    table_in_starlette = Starlette(exception_handlers=dict(handlers))
    table_in_starlette.router = TableRouter(routes, {})
    return {
        "Starlette, Router": Starlette(routes=routes, exception_handlers=dict(handlers)),
        "Starlette, TableRouter": table_in_starlette,
        "Application, TableRouter": Application(routes, [], handlers),
    }


async def _measure() -> None:
    apps = _apps()
    asked = ("/filesMetaData", "/ipfs/x", "/readyz")
    columns = [
        await time_calls({name: partial(_call, app, path) for name, app in apps.items()})
        for path in asked
    ]
    print(f"{'µs a request':<26}", *(f"{path:>15}" for path in asked))
    for name in apps:
        print(f"{name:<26}", *(f"{column[name]:>15.1f}" for column in columns))


if __name__ == "__main__":
    uvloop.run(_measure())
