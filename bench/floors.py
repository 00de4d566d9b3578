"""Floors: the cost of the same bytes, signatures and commits without the rest of the service.

python -m bench.floors PORT   serves the empty handlers
"""

import asyncio
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import uvloop
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

from bench.loads import send_load
from bench.processes import SERVICE_CORE, Measured, free_port, pinned, run_process
from bench.wallets import Wallet, get_request, post_request
from imprint.auth.typed_data import SigningDomain, TypedDataClaim, WriteVerifier
from imprint.domain.files import Action
from imprint.server.http import HttpServer, serve_all
from imprint.server.listeners import listen

VERIFICATIONS = 300
"""Signature verifications in one sample."""

PEER_VERIFICATIONS = 150
"""Verifications by the peer in one sample; it is slower."""

RESPONSES = 1_500
"""Empty responses in one sample."""

DOMAIN = SigningDomain("Imprint", "1", 31337)

PEER = Path(__file__).parent / "peer"


async def _respond(request: Request) -> Response:
    size = int(request.query_params["size"])
    return Response(_BYTES[:size], media_type="application/json")


async def _read_body(request: Request) -> Response:
    await request.body()
    return Response(_BYTES[:512], media_type="application/json")


_BYTES = b"x" * 65_536


def empty_app() -> Router:
    """The web stack of the service with handlers that only return bytes."""
    routes = [
        Route("/healthz", lambda request: Response(b"")),
        Route("/bytes", _respond),
        Route("/body", _read_body, methods=["POST"]),
    ]
    return Router(routes)


async def _serve(port: int) -> None:
    serving = HttpServer(empty_app(), listen("127.0.0.1", port))
    await serve_all([serving], drain=False)


@dataclass(frozen=True, slots=True)
class Floor:
    """What a scenario is compared with; `sample` measures its rate once."""

    name: str
    sample: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Floors:
    """The floors of a run, measured on the core of the service."""

    service: Measured

    def response(self, size: int) -> Floor:
        """A handler that only returns this many bytes."""
        return Floor(f"empty response, {size} bytes", lambda: self._rate(f"/bytes?size={size}"))

    def write(self, commit: Callable[[], float]) -> Floor:
        """The sum of reading a body, verifying a signature and a commit."""

        def sample() -> float:
            return 1 / (1 / self._body_rate() + time_verification() + commit())

        return Floor("body + verification + commit", sample)

    def delivery(self, commit: Callable[[], float]) -> Floor:
        """The sum of reading a body and a commit."""
        return Floor("body + commit", lambda: 1 / (1 / self._body_rate() + commit()))

    def _rate(self, path: str) -> float:
        return asyncio.run(send_load(self.service.port, [get_request(path)] * RESPONSES)).rate

    def _body_rate(self) -> float:
        body = post_request("/body", {"content": "x" * 4800})
        return asyncio.run(send_load(self.service.port, [body] * RESPONSES)).rate


@contextmanager
def run_floors() -> Iterator[Floors]:
    """Serve the empty handlers until the block ends."""
    port = free_port()
    with run_process(["-m", "bench.floors", str(port)], port, "/healthz", {}) as service:
        yield Floors(service)


def time_verification() -> float:
    """Seconds to verify one signed write: typed data, digest and recovery."""
    wallet, verifier = Wallet(DOMAIN), WriteVerifier(DOMAIN)
    signed = [wallet.sign_write(Action.CREATE) for _ in range(VERIFICATIONS)]
    claims = [TypedDataClaim(one["salt"], one["address"], one["signature"]) for one in signed]
    now = datetime.now(UTC)
    with pinned(SERVICE_CORE):
        began = time.perf_counter()
        for claim in claims:
            verifier.verify(claim, Action.CREATE, now)
        return (time.perf_counter() - began) / VERIFICATIONS


def find_peer(folder: Path) -> Floor | None:
    """viem verifying the same kind of signatures, if Node and viem are installed."""
    if not shutil.which("node") or not (PEER / "node_modules").exists():
        return None
    wallet, path = Wallet(DOMAIN), folder / "signed.json"
    signed = [wallet.sign_write(Action.CREATE) for _ in range(PEER_VERIFICATIONS)]
    path.write_text(json.dumps(signed))
    command = ["node", str(PEER / "verify.mjs"), str(path)]

    def sample() -> float:
        with pinned(SERVICE_CORE):
            output = subprocess.run(command, capture_output=True, check=True, text=True).stdout
        return float(output)

    return Floor("viem verifying", sample)


if __name__ == "__main__":
    uvloop.run(_serve(int(sys.argv[1])))
