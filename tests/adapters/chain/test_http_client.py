"""The POST client: response length limits and connection reuse."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from imprint.adapters.chain import http_client
from imprint.adapters.chain.http_client import MAX_HEAD, HttpClient, NodeFailure, NodeRefusal

PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
LIMIT = 1000


class Script:
    """A server that responds to each request with the next of the given byte strings."""

    def __init__(self, *responses: bytes, ends: bool = False) -> None:
        self.responses = list(responses)
        self.ends = ends
        self.requests: list[bytes] = []
        self.received = asyncio.Event()
        self.connections = 0
        self.open: dict[asyncio.StreamWriter, asyncio.Task[None] | None] = {}

    async def close(self) -> None:
        for writer, task in self.open.items():
            writer.transport.abort()
            if task is not None:
                await task

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open[writer] = asyncio.current_task()
        try:
            while self.responses:
                head = await reader.readuntil(b"\r\n\r\n")
                size = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
                self.requests.append(head + await reader.readexactly(size))
                self.received.set()
                writer.write(self.responses.pop(0))
                await writer.drain()
                if self.ends:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()


@asynccontextmanager
async def served(
    script: Script, path: str = "/", tls: ssl.SSLContext | None = None, user: str = ""
) -> AsyncIterator[HttpClient]:
    server = await asyncio.start_server(script.serve, "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    client = HttpClient(f"{'https' if tls else 'http'}://{user}127.0.0.1:{port}{path}", LIMIT)
    try:
        yield client
    finally:
        client.close()
        server.close()
        await script.close()


KEPT = {
    "length": PLAIN,
    "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
    "after an interim response": b"HTTP/1.1 100 Continue\r\n\r\n" + PLAIN,
}
ENDED = {
    "until it is closed": b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello",
    "closed": b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
    "old, until it is closed": b"HTTP/1.0 200 OK\r\n\r\nhello",
    "old": b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
}


@pytest.mark.parametrize("way", [*KEPT, *ENDED])
async def test_a_complete_response_keeps_its_connection_alive_if_possible(way: str) -> None:
    ends = way in ENDED
    script = Script(*[(KEPT | ENDED)[way]] * 2, ends=ends)
    async with served(script) as client:
        assert await client.post(b"one") == b"hello"
        assert await client.post(b"two") == b"hello"
    assert script.connections == (2 if ends else 1)


@pytest.mark.parametrize(
    "response",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Len",
        b"HTTP/1.0 002 OK\r\n\r\nhello",
        b"",
    ],
    ids=["short", "no last chunk", "half a head", "an interim response", "nothing"],
)
async def test_a_truncated_response_is_a_connection_error(response: bytes) -> None:
    async with served(Script(response, ends=True)) as client:
        with pytest.raises(ConnectionError):
            await client.post(b"one")


@pytest.mark.parametrize(
    ("response", "how"),
    [
        (b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", "status 503"),
        (b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", "status 302"),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n" + b"x" * 2000, "too large"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * MAX_HEAD, "too long"),
        (CHUNKED + b"0\r\nX: " + b"y" * 2 * MAX_HEAD, "too long"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * MAX_HEAD, "too long"),
    ],
)
async def test_an_invalid_response_fails_and_closes_its_connection(
    response: bytes, how: str
) -> None:
    script = Script(response, PLAIN)
    async with served(script) as client:
        with pytest.raises(NodeFailure, match=how):
            await client.post(b"one")
        assert await client.post(b"two") == b"hello"


async def test_a_closed_keep_alive_connection_is_replaced() -> None:
    script = Script(PLAIN, PLAIN, ends=True)
    async with served(script) as client:
        assert await client.post(b"one") == b"hello"
        await asyncio.sleep(0.05)
        assert await client.post(b"two") == b"hello"
    assert script.connections == 2


async def give_up(script: Script, *posted: Coroutine[Any, Any, bytearray]) -> None:
    """Cancel the requests as soon as the server has received the first of them."""
    script.received.clear()
    waiting = asyncio.gather(*posted)
    await script.received.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_a_late_response_is_not_returned_to_the_next_request() -> None:
    script = Script(b"", PLAIN)
    async with served(script) as client:
        await give_up(script, client.post(b"one"))
        assert await client.post(b"two") == b"hello"
    assert script.connections == 2


async def test_each_concurrent_request_uses_its_own_connection() -> None:
    script = Script(*[PLAIN] * 40)
    async with served(script) as client:
        for _ in range(2):
            bodies = await asyncio.gather(*(client.post(b"x") for _ in range(20)))
            assert bodies == [b"hello"] * 20
    assert script.connections == 20


async def test_requests_beyond_the_connection_limit_wait_for_a_free_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_client, "MAX_EXCHANGES", 4)
    script = Script(*[PLAIN] * 40)
    async with served(script) as client:
        await asyncio.gather(*(client.post(b"x") for _ in range(40)))
    assert script.connections == 4


async def test_a_request_waiting_for_a_connection_can_be_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_client, "MAX_EXCHANGES", 1)
    script = Script(b"", PLAIN)
    async with served(script) as client:
        for _ in range(2):
            await give_up(script, client.post(b"one"), client.post(b"two"))
            script.responses = [b"", PLAIN]
        script.responses = [PLAIN]
        assert await client.post(b"three") == b"hello"


async def test_a_content_length_above_the_limit_fails_before_the_body_arrives() -> None:
    async with served(Script(b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n", PLAIN)) as client:
        with pytest.raises(NodeRefusal, match="too large"):
            await client.post(b"one")


async def test_a_request_can_raise_its_response_limit() -> None:
    response = b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n" + b"x" * 2000
    async with served(Script(response, response)) as client:
        assert len(await client.post(b"one", 2000)) == 2000
        with pytest.raises(NodeRefusal, match="too large"):
            await client.post(b"two")


async def test_a_request_uses_the_path_and_credentials_of_the_url() -> None:
    script = Script(PLAIN)
    async with served(script, "/v2/k%20ey ü?a=b c", user="me:p%40ss@") as client:
        await client.post(b"body")
    head, _, body = script.requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /v2/k%20ey%20%C3%BC?a=b%20c HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"\r\nAuthorization: Basic bWU6cEBzcw==" in head
    assert body == b"body"


def make_certificate(folder: Path) -> tuple[Path, ssl.SSLContext]:
    """Create a self-signed certificate for this machine, not trusted by default."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a node")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, SHA256())
    )
    public, private = folder / "node.pem", folder / "node.key"
    public.write_bytes(certificate.public_bytes(Encoding.PEM))
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(public, private)
    return public, context


@pytest.mark.parametrize("trusted", [True, False])
async def test_only_a_trusted_certificate_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trusted: bool
) -> None:
    public, context = make_certificate(tmp_path)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(public))
    async with served(Script(PLAIN), tls=context) as client:
        if trusted:
            assert await client.post(b"one") == b"hello"
        else:
            with pytest.raises(ssl.SSLCertVerificationError):
                await client.post(b"one")
