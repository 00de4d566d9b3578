"""Floors: the processor time of the same bytes, signatures and commits without the service.

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
from typing import Any

import uvloop
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

from bench.loads import send_load
from bench.processes import SERVICE_CORE, Measured, free_port, pinned, run_process, send_timed
from bench.wallets import Wallet, WritingKey, get_request, post_request
from imprint.auth.typed_data import (
    BOUND_FORMS,
    SigningDomain,
    TypedDataClaim,
    WriteVerifier,
    check_body,
)
from imprint.domain.drafts.files import Action, Write
from imprint.domain.formats.cids import parse_cid
from imprint.server.http import HttpServer, serve_all
from imprint.server.listeners import listen

VERIFICATIONS = 300
"""Number of signature verifications per sample."""

PEER_VERIFICATIONS = 150
"""Number of signature verifications per sample by viem, which is slower."""

RESPONSES = 1_500
"""Number of empty responses per sample."""

DOMAIN = SigningDomain("Imprint", "1", 31337)

SERVICE = "http://127.0.0.1:8000"
"""The service URL named in `imprint-2` signatures."""

CID = parse_cid("bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku")
"""CID of the drafts whose updates are verified."""

CONTENT = "x" * 4096
"""The content that `imprint-2` signatures cover."""

NODE_CALLS = 200
"""Number of node calls per sample."""

PEER = Path(__file__).parent / "peer"


async def _respond(request: Request) -> Response:
    size = int(request.query_params["size"])
    return Response(_BYTES[:size], media_type="application/json")


async def _read_body(request: Request) -> Response:
    await request.body()
    return Response(_BYTES[:512], media_type="application/json")


_BYTES = b"x" * 65_536


def empty_app() -> Router:
    """Return the service's web stack with handlers that only return bytes."""
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
    """A floor for a scenario. `sample` measures its processor seconds per request once."""

    name: str
    sample: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Floors:
    """The floors of a run, measured on the service's core."""

    service: Measured

    def response(self, size: int) -> Floor:
        """Return the floor of a handler that returns this many bytes."""
        return Floor(f"empty response, {size} bytes", lambda: self._spend(f"/bytes?size={size}"))

    def write(self, commit: Callable[[], float]) -> Floor:
        """Return the floor of reading a body, verifying a signature and committing."""
        return self._sum("body + verification + commit", time_verification, commit)

    def bound_write(self, commit: Callable[[], float]) -> Floor:
        """Like `write`, but with a signature that covers the content, which must be hashed
        first."""
        return self._sum("body + bound verification + commit", time_bound_verification, commit)

    def session_write(self, commit: Callable[[], float]) -> Floor:
        """Like `write`, but with a session-key signature."""
        return self._sum("body + P-256 verification + commit", time_key_verification, commit)

    def contract_login(
        self, commit: Callable[[], float], node: int, calls: Callable[[int], list[bytes]]
    ) -> Floor:
        """Return the floor of reading a body, one node call and a commit."""

        def ask() -> float:
            began = time.process_time()
            asyncio.run(send_load(node, calls(NODE_CALLS)))
            return (time.process_time() - began) / NODE_CALLS

        return self._sum("body + eth_call + commit", ask, commit)

    def delivery(self, commit: Callable[[], float]) -> Floor:
        """Return the floor of reading a body and a commit."""
        return self._sum("body + commit", commit)

    def _sum(self, name: str, *seconds: Callable[[], float]) -> Floor:
        """Return the floor of reading a body and doing work that takes the sum of `seconds`."""
        body = post_request("/body", {"content": "x" * 4800})
        return Floor(name, lambda: self._spend_on(body) + sum(each() for each in seconds))

    def _spend(self, path: str) -> float:
        return self._spend_on(get_request(path))

    def _spend_on(self, request: bytes) -> float:
        return send_timed(self.service, [request] * RESPONSES)[1] / RESPONSES


@contextmanager
def run_floors() -> Iterator[Floors]:
    """Serve the empty handlers until the `with` block exits."""
    port = free_port()
    with run_process(["-m", "bench.floors", str(port)], port, "/healthz", {}) as service:
        yield Floors(service)


def time_verification() -> float:
    """Return how many seconds it takes to verify a write, from typed data to key recovery."""
    wallet, verifier = Wallet(DOMAIN), WriteVerifier(DOMAIN, SERVICE)
    claims = [_claim(wallet.sign_write(Action.CREATE)) for _ in range(VERIFICATIONS)]
    now = datetime.now(UTC)
    return _time_each(claims, lambda claim: verifier.verify(claim, Action.CREATE, now))


def time_bound_verification() -> float:
    """Return how many seconds it takes to hash and verify one `imprint-2` update."""
    wallet, verifier = Wallet(DOMAIN), WriteVerifier(DOMAIN, SERVICE)
    claims = [_claim(wallet.sign_update(SERVICE, CID, CONTENT)) for _ in range(VERIFICATIONS)]
    now, content = datetime.now(UTC), CONTENT.encode()

    def verify(claim: TypedDataClaim) -> None:
        write = verifier.verify(claim, Action.UPDATE, now, CID)
        assert isinstance(write, Write)
        check_body(write, content)

    return _time_each(claims, verify)


def time_key_verification() -> float:
    """Return how many seconds it takes to verify one `imprint-2` update signed by a session key."""
    wallet, verifier, key = Wallet(DOMAIN), WriteVerifier(DOMAIN, SERVICE), WritingKey()
    bodies = [wallet.sign_update_with(key, SERVICE, CID, CONTENT) for _ in range(VERIFICATIONS)]
    now, content, public = datetime.now(UTC), CONTENT.encode(), key.key.public_key()

    def verify(claim: TypedDataClaim) -> None:
        write, signed = verifier.read(claim, Action.UPDATE, now, CID, BOUND_FORMS)
        raw = bytes.fromhex(claim.signature[2:])
        signature = encode_dss_signature(int.from_bytes(raw[:32]), int.from_bytes(raw[32:]))
        public.verify(signature, signed, ec.ECDSA(hashes.SHA256()))
        check_body(write, content)

    return _time_each([_claim(body) for body in bodies], verify)


def _claim(body: dict[str, Any]) -> TypedDataClaim:
    return TypedDataClaim(body["salt"], body["address"], body["signature"])


def _time_each(claims: list[TypedDataClaim], verify: Callable[[TypedDataClaim], object]) -> float:
    with pinned(SERVICE_CORE):
        began = time.process_time()
        for claim in claims:
            verify(claim)
        return (time.process_time() - began) / len(claims)


def find_peer(folder: Path) -> Floor | None:
    """Return viem as a verifier of the same signatures, if Node and viem are installed."""
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
