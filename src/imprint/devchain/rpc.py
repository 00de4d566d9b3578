"""JSON-RPC over HTTP: turns request bodies into response bodies."""

import json
import logging
import math
from collections.abc import Collection, Mapping
from ipaddress import ip_address
from typing import NoReturn
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from imprint.devchain.blocks import JsonObject, encode_bytes
from imprint.devchain.calls import ExecutionFailed, ExecutionReverted
from imprint.devchain.chain import Chain
from imprint.devchain.evm import MessageRefused
from imprint.devchain.methods import (
    ACTIONS,
    QUERIES,
    BadParameter,
    LogRangeExceeded,
    Method,
    Parameters,
    Unavailable,
    select_logs_within,
)
from imprint.devchain.transactions import TransactionRefused, UnknownAccount, UnusableTypedData

LOCALHOST = "localhost"
"""The local host name. Neither it nor its subdomains are resolved through DNS (RFC 6761)."""

_WEB = ("http", "https")
"""URL schemes of web pages. Other schemes belong to browser extensions, such as wallets."""


def is_loopback(host: str) -> bool:
    """Whether a host, as written in a setting or a URL, is a loopback host."""
    name = host.lower().rstrip(".")
    if name == LOCALHOST or name.endswith(f".{LOCALHOST}"):
        return True
    try:
        return ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False


class CallerCheck:
    """Middleware that refuses requests with a host name or a page origin that is not allowed."""

    def __init__(
        self, app: ASGIApp, hosts: Collection[str] = (), origins: Collection[str] = ()
    ) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (problem := self._find_problem(scope)):
            await PlainTextResponse(problem, 403)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _find_problem(self, scope: Scope) -> str | None:
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or not self._is_known(f"//{hosts[0]}", scope):
            return (
                "This chain is for development. Call it at localhost, at the address it listens on,"
                " or by the name in --host."
            )
        if not all(self._may_call(origin, scope) for origin in origins):
            return (
                "This chain is for development. Pages of this origin may not call it; list the"
                " origin in IMPRINT_CORS_ORIGINS if they should."
            )
        return None

    def _may_call(self, origin: str, scope: Scope) -> bool:
        scheme, separator, _ = origin.partition("://")
        is_extension = bool(separator) and scheme.lower() not in _WEB
        # A sandboxed frame has the origin `null`, no matter which page contains it.
        return is_extension or origin in self._origins or self._is_known(origin, scope)

    def _is_known(self, url: str, scope: Scope) -> bool:
        try:
            host = urlsplit(url).hostname or ""
        except ValueError:
            return False
        return is_loopback(host) or host in self._hosts or _is_server(host, scope)


def _is_server(host: str, scope: Scope) -> bool:
    """Whether the host is the local address of this connection."""
    server = scope.get("server")
    try:
        return server is not None and ip_address(host) == ip_address(server[0])
    except ValueError:
        return False


PARSE_ERROR, INVALID_REQUEST, NO_METHOD = -32700, -32600, -32601
INVALID_PARAMS, INTERNAL_ERROR, SERVER_ERROR = -32602, -32603, -32000
LIMIT_EXCEEDED = -32005
EXECUTION_REVERTED = 3
"""The error code with which nodes report a revert, together with the revert data."""

MAX_BODY_BYTES = 5 * 1024 * 1024
"""The largest request body in bytes, as in common nodes."""

_MAX_BATCH = 1000
"""Maximum number of requests in one batch."""

_CODES: Mapping[type[Exception], int] = {
    BadParameter: INVALID_PARAMS,
    UnusableTypedData: INVALID_PARAMS,
    Unavailable: SERVER_ERROR,
    LogRangeExceeded: LIMIT_EXCEEDED,
    TransactionRefused: SERVER_ERROR,
    MessageRefused: SERVER_ERROR,
    ExecutionFailed: SERVER_ERROR,
    UnknownAccount: SERVER_ERROR,
}

_log = logging.getLogger(__name__)


class Dispatcher:
    """Runs JSON-RPC requests, single or batched, on a chain."""

    def __init__(self, chain: Chain, log_range_limit: int | None = None) -> None:
        self._chain = chain
        self._methods: Mapping[str, Method] = {
            **QUERIES,
            **ACTIONS,
            "eth_getLogs": select_logs_within(log_range_limit),
        }

    def respond(self, body: bytes) -> bytes | None:
        """Return the response to a request body, or None if it has only notifications."""
        try:
            request = json.loads(body, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            return _encode(_fail(None, PARSE_ERROR, "parse error"))
        if not isinstance(request, list):
            response = self._respond_to(request)
            return None if response is None else _encode(response)
        if not request:
            return _encode(_fail(None, INVALID_REQUEST, "empty batch"))
        if len(request) > _MAX_BATCH:
            return _encode(_fail(None, INVALID_REQUEST, "batch too large"))
        responses = [self._respond_to(one) for one in request]
        kept = [one for one in responses if one is not None]
        return _encode(kept) if kept else None

    def _respond_to(self, request: object) -> JsonObject | None:
        if not isinstance(request, dict):
            return _fail(None, INVALID_REQUEST, "invalid request")
        name, identifier = request.get("method"), request.get("id")
        values = request.get("params")
        if not _is_identifier(identifier):
            return _fail(None, INVALID_REQUEST, "invalid request")
        if request.get("jsonrpc") != "2.0" or not isinstance(name, str):
            return _fail(identifier, INVALID_REQUEST, "invalid request")
        response = self._run(identifier, name, [] if values is None else values)
        return response if "id" in request else None

    def _run(self, identifier: object, name: str, values: object) -> JsonObject:
        method = self._methods.get(name)
        if method is None:
            message = f"the method {name[:100]} does not exist/is not available"
            return _fail(identifier, NO_METHOD, message)
        if not isinstance(values, list):
            return _fail(identifier, INVALID_PARAMS, "params must be an array")
        try:
            result = method.run(self._chain, Parameters(values, method.most))
        except ExecutionReverted as error:
            return _fail(identifier, EXECUTION_REVERTED, str(error), encode_bytes(error.data))
        except tuple(_CODES) as error:
            return _fail(identifier, _CODES[type(error)], str(error))
        except Exception:  # noqa: BLE001 — a client gets a response to every failure
            _log.exception("the method %s failed", name)
            return _fail(identifier, INTERNAL_ERROR, "internal error")
        return {"jsonrpc": "2.0", "id": identifier, "result": result}


def _fail(identifier: object, code: int, message: str, data: str | None = None) -> JsonObject:
    error: dict[str, object] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return {"jsonrpc": "2.0", "id": identifier, "error": error}


def _is_identifier(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, bool) and isinstance(value, str | int | None)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _encode(response: object) -> bytes:
    return json.dumps(response, separators=(",", ":")).encode()


def rpc_app(
    chain: Chain,
    log_range_limit: int | None = None,
    *,
    hosts: Collection[str] = (),
    origins: Collection[str] = (),
) -> Starlette:
    """Build the HTTP application.

    The application accepts requests for a loopback name, for the address it listens on, and for
    `hosts`. From browsers, it accepts requests from pages of these hosts and of `origins`, and from
    extensions. `log_range_limit` is the maximum number of blocks in one `eth_getLogs` call, because
    many nodes have such a limit.
    """
    dispatcher = Dispatcher(chain, log_range_limit)

    async def respond(request: Request) -> Response:
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY_BYTES:
                return Response("request body too large", 413, media_type="text/plain")
        response = dispatcher.respond(bytes(body))
        if response is None:
            return Response(status_code=204)
        return Response(response, media_type="application/json")

    callers = Middleware(CallerCheck, hosts=hosts, origins=origins)
    cors = Middleware(
        CORSMiddleware, allow_origins=["*"], allow_methods=["POST"], allow_headers=["*"]
    )
    return Starlette(routes=[Route("/", respond, methods=["POST"])], middleware=[callers, cors])
