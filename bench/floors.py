"""Floors: what the same bytes, the same signatures and the same commits cost with no work around.

python -m bench.floors PORT   serves the empty handlers
"""

import sys
import time
from datetime import UTC, datetime

import uvloop
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

from bench.wallets import Wallet
from imprint.auth.typed_data import SigningDomain, TypedDataClaim, WriteVerifier
from imprint.cli.servers import Serving, listen, serve_all
from imprint.domain.files import Action

ROUNDS = 2_000
"""How often something is repeated to time it."""


async def _answer(request: Request) -> Response:
    size = int(request.query_params["size"])
    return Response(_BYTES[:size], media_type="application/json")


async def _swallow(request: Request) -> Response:
    await request.body()
    return Response(_BYTES[:512], media_type="application/json")


_BYTES = b"x" * 65_536


def empty_app() -> Router:
    """The web stack of the service, answering bytes with no work."""
    routes = [
        Route("/healthz", lambda request: Response(b"")),
        Route("/bytes", _answer),
        Route("/swallow", _swallow, methods=["POST"]),
    ]
    return Router(routes)


def time_recovery() -> float:
    """Seconds to verify one signed write: envelope, digest and recovery."""
    domain = SigningDomain("Imprint", "1", 31337)
    wallet, verifier = Wallet(domain), WriteVerifier(domain)
    signed = [wallet.sign_write(Action.CREATE) for _ in range(ROUNDS)]
    from_wire = [TypedDataClaim(one["salt"], one["address"], one["signature"]) for one in signed]
    now = datetime.now(UTC)
    began = time.perf_counter()
    for claim in from_wire:
        verifier.verify(claim, Action.CREATE, now)
    return (time.perf_counter() - began) / ROUNDS


async def _serve(port: int) -> None:
    serving = Serving(empty_app(), listen("127.0.0.1", port))
    await serve_all([serving], in_haste=True)


if __name__ == "__main__":
    uvloop.run(_serve(int(sys.argv[1])))
