"""The chain's JSON-RPC over HTTP, as an ASGI application."""

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from imprint.devchain.chain import Chain
from imprint.devchain.rpc import Dispatcher

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
