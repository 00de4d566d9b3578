"""JSON-RPC: from the bytes of a request to the bytes of its answer."""

import json
import logging
import math
from collections.abc import Mapping
from typing import Any, NoReturn

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from imprint.devchain.blocks import show_bytes
from imprint.devchain.calls import ExecutionFailed, ExecutionReverted
from imprint.devchain.chain import Chain
from imprint.devchain.evm import MessageRefused
from imprint.devchain.methods import ACTIONS, QUERIES, LogRangeExceeded, Method, select_logs_within
from imprint.devchain.parameters import BadParameter, Parameters, Unavailable
from imprint.devchain.transactions import TransactionRefused
from imprint.devchain.wallet import UnknownAccount, UnusableTypedData

__all__ = ["Dispatcher"]

PARSE_ERROR, INVALID_REQUEST, NO_METHOD = -32700, -32600, -32601
INVALID_PARAMS, INTERNAL_ERROR, SERVER_ERROR = -32602, -32603, -32000
LIMIT_EXCEEDED = -32005
EXECUTION_REVERTED = 3
"""The code with which nodes report a revert, the revert data beside it."""

_MAX_BATCH = 1000
"""How many requests may come at once."""

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

Reply = dict[str, Any]


class Dispatcher:
    """Answers JSON-RPC requests, one or many, with a chain."""

    def __init__(self, chain: Chain, log_range_limit: int | None = None) -> None:
        self._chain = chain
        self._methods: Mapping[str, Method] = {
            **QUERIES,
            **ACTIONS,
            "eth_getLogs": select_logs_within(log_range_limit),
        }

    def answer(self, body: bytes) -> bytes | None:
        """Answer a request body; there is nothing to say to notifications alone."""
        try:
            request = json.loads(body, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            return _encode(_fail(None, PARSE_ERROR, "parse error"))
        if not isinstance(request, list):
            response = self._respond(request)
            return None if response is None else _encode(response)
        if not request:
            return _encode(_fail(None, INVALID_REQUEST, "empty batch"))
        if len(request) > _MAX_BATCH:
            return _encode(_fail(None, INVALID_REQUEST, "batch too large"))
        responses = [self._respond(one) for one in request]
        kept = [one for one in responses if one is not None]
        return _encode(kept) if kept else None

    def _respond(self, request: object) -> Reply | None:
        if not isinstance(request, dict):
            return _fail(None, INVALID_REQUEST, "invalid request")
        name, identifier = request.get("method"), request.get("id")
        values = request.get("params")
        if not _is_identifier(identifier):
            return _fail(None, INVALID_REQUEST, "invalid request")
        if request.get("jsonrpc") != "2.0" or not isinstance(name, str):
            return _fail(identifier, INVALID_REQUEST, "invalid request")
        response = self._perform(identifier, name, [] if values is None else values)
        return response if "id" in request else None

    def _perform(self, identifier: object, name: str, values: object) -> Reply:
        method = self._methods.get(name)
        if method is None:
            message = f"the method {name[:100]} does not exist/is not available"
            return _fail(identifier, NO_METHOD, message)
        if not isinstance(values, list):
            return _fail(identifier, INVALID_PARAMS, "params must be an array")
        try:
            result = method.answer(self._chain, Parameters(values, method.most))
        except ExecutionReverted as error:
            return _fail(identifier, EXECUTION_REVERTED, str(error), show_bytes(error.data))
        except tuple(_CODES) as error:
            return _fail(identifier, _CODES[type(error)], str(error))
        except Exception:  # noqa: BLE001 — whatever fails inside, a client gets an answer
            _log.exception("the method %s failed", name)
            return _fail(identifier, INTERNAL_ERROR, "internal error")
        return {"jsonrpc": "2.0", "id": identifier, "result": result}


def _fail(identifier: object, code: int, message: str, data: str | None = None) -> Reply:
    error: dict[str, object] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return {"jsonrpc": "2.0", "id": identifier, "error": error}


def _is_identifier(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, bool) and isinstance(value, str | int | None)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _encode(response: object) -> bytes:
    return json.dumps(response, separators=(",", ":")).encode()


__all__ = ["rpc_app"]

MAX_BODY_BYTES = 5 * 1024 * 1024
"""The largest request body, as common nodes have it."""


def rpc_app(chain: Chain, log_range_limit: int | None = None) -> Starlette:
    """Build the application; pages of any origin may call it, as with other development chains.

    With a limit, questions for the logs of more blocks at once are refused, as many nodes do.
    """
    dispatcher = Dispatcher(chain, log_range_limit)

    async def answer(request: Request) -> Response:
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY_BYTES:
                return Response("request body too large", 413, media_type="text/plain")
        said = dispatcher.answer(bytes(body))
        if said is None:
            return Response(status_code=204)
        return Response(said, media_type="application/json")

    cors = Middleware(
        CORSMiddleware, allow_origins=["*"], allow_methods=["POST"], allow_headers=["*"]
    )
    return Starlette(routes=[Route("/", answer, methods=["POST"])], middleware=[cors])
