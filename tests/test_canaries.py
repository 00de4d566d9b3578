"""Secrets: the watch notices every kind of leak, and no failure around a secret shows it."""

import asyncio
import gzip
import json
import logging
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from aiohttp import web
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import Counter
from starlette.concurrency import iterate_in_threadpool
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send
from tests.canaries import (
    CANARIES,
    MARK,
    OUTPUTS,
    RPC_PATH,
    SPELLINGS,
    WATCH,
    SecretWatch,
    canaries_of,
    canary,
    watch_app,
)
from tests.cli.installations import environment_beside, environment_of, run
from tests.world import ORIGIN, World, open_world

from imprint.adapters.open_telemetry import OpenTelemetryTracer
from imprint.logs import HIDDEN, JsonFormatter, TextFormatter
from imprint.settings import DEVELOPMENT, SETTINGS, SettingsProblems, read_settings
from imprint.traces import use_tracer

log = logging.getLogger("imprint.test")

OWN = (
    "JWT_SECRET",
    "JWT_SECRET_PREVIOUS",
    "PAGE_TOKEN_SECRET",
    "PAGE_TOKEN_SECRET_PREVIOUS",
    "WEBHOOK_A_SECRET",
    "WEBHOOK_A_SECRET_PREVIOUS",
    "WEBHOOK_B_SECRET",
    "WEBHOOK_B_SECRET_PREVIOUS",
    "OPERATOR_SECRET",
    "OPERATOR_SECRET_PREVIOUS",
    "ENCRYPTION_KEY",
    "ENCRYPTION_KEY_PREVIOUS",
)
"""The secrets that a service can use without another server."""

NAMES = [each.name.removeprefix("IMPRINT_") for each in SETTINGS if each.secret]


def read_all(**given: str) -> dict[str, str]:
    """Return settings with every canary."""
    texts = {f"IMPRINT_{name}": text for name, text in {**CANARIES, **given}.items()}
    return {**DEVELOPMENT, **texts}


# What the watch notices


def take_leak() -> str:
    """Return the only leak that the watch of this process has found, before it fails the test."""
    (leak,) = WATCH.take_leaks()
    return leak


@pytest.mark.parametrize("secret", [canary("JWT_SECRET"), *SPELLINGS])
def test_a_secret_in_a_log_record_is_noticed_whatever_the_level(secret: str) -> None:
    log.debug("connecting to %s", secret)
    assert secret in take_leak()
    log.info("connected", extra={"url": secret})
    assert secret in take_leak()


def test_a_secret_in_a_traceback_is_noticed() -> None:
    try:
        raise ValueError(canary("DATABASE_URL"))
    except ValueError:
        log.exception("failed")
    assert "ValueError" in "".join(WATCH.take_leaks())


async def send_to(
    watch: SecretWatch, said: str | Response, body: bytes = b"", **headers: str
) -> list[str]:
    """Send a request that gets this text or response, and return the leaks."""
    response = said if isinstance(said, Response) else PlainTextResponse(said)

    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await response(scope, receive, send)

    transport = httpx2.ASGITransport(watch_app(watch, respond))
    async with httpx2.AsyncClient(transport=transport, base_url=ORIGIN) as client:
        await client.post("/example", content=body, headers=headers)
    return watch.take_leaks()


SESSION = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIweDEyMyJ9"
SIGNATURE = "0x" + "1a2b3c4d5e6f7081" * 8 + "1b"
TOKEN = "a-private-feeds_token-0123456789"


async def test_a_secret_or_a_credential_in_a_response_is_noticed() -> None:
    watch, named = SecretWatch(), "credential in the response of /example"
    (leak,) = await send_to(watch, canary("JWT_SECRET"))
    assert leak == f"response of /example: {canary('JWT_SECRET')}"
    bearer = f"Bearer {SESSION}"
    assert await send_to(watch, f"Hello {SESSION}", Authorization=bearer) == [named]
    assert await send_to(watch, SESSION, Cookie=f"operator={SESSION}") == [named]
    signed = json.dumps({"signature": SIGNATURE}).encode()
    assert await send_to(watch, f"signed {SIGNATURE}", signed) == [named]
    assert await send_to(watch, "Hello", signed, Authorization=bearer) == []
    for sent in (SESSION, SIGNATURE):
        watch.inspect_record(logging.makeLogRecord({"msg": "responded", "said": sent}))
        assert "credential in log record" in watch.take_leaks()[0]
    assert watch.inspected == {"responses": 5, "log records": 2}


def cut(text: str) -> list[bytes]:
    """Return the bytes of a text one at a time."""
    return [letter.encode() for letter in text]


@pytest.mark.parametrize("size", [0, 1_048_570, 3_000_000])
@pytest.mark.parametrize("leaked", [canary("JWT_SECRET"), SESSION])
async def test_a_secret_in_several_chunks_of_a_response_is_noticed(leaked: str, size: int) -> None:
    app = StreamingResponse(iterate_in_threadpool([b" " * size, *cut(leaked), b" "]))
    (leak,) = await send_to(watch := SecretWatch(), app, Authorization=f"Bearer {SESSION}")
    assert "response of /example" in leak
    assert watch.inspected == {"responses": 1}


@pytest.mark.parametrize("leaked", [canary("JWT_SECRET"), SESSION])
async def test_a_secret_in_a_compressed_response_is_noticed(leaked: str) -> None:
    packed = gzip.compress(f"Hello {leaked}".encode())
    app = Response(packed, headers={"Content-Encoding": "gzip"})
    (leak,) = await send_to(SecretWatch(), app, Authorization=f"Bearer {SESSION}")
    assert "response of /example" in leak


async def test_a_response_that_cannot_be_decompressed_is_a_failure() -> None:
    app = Response(b"Hello", headers={"Content-Encoding": "gzip"})
    watch = SecretWatch()
    with pytest.raises(httpx2.DecodingError):
        await send_to(watch, app)
    assert watch.take_leaks() == ["response of /example cannot be decompressed"]


async def test_a_secret_in_a_response_that_is_cut_off_is_noticed() -> None:
    async def leak() -> AsyncIterator[str]:
        yield canary("JWT_SECRET")
        raise ConnectionResetError

    watch = SecretWatch()
    with pytest.raises(ConnectionResetError):
        await send_to(watch, StreamingResponse(leak()))
    assert watch.take_leaks() == [f"response of /example: {canary('JWT_SECRET')}"]


@pytest.mark.parametrize("sent", [SESSION, SIGNATURE, TOKEN])
async def test_a_credential_sent_to_a_process_is_noticed_in_its_output(
    sent: str, tmp_path: Path
) -> None:
    output = tmp_path / "service.log"
    WATCH.watch_output(output)
    transport = httpx2.MockTransport(lambda _: httpx2.Response(204))
    async with httpx2.AsyncClient(transport=transport, base_url=ORIGIN) as client:
        path = f"/feeds/private/{TOKEN}.atom"
        headers = {"Authorization": f"Bearer {SESSION}"}
        await client.post(path, headers=headers, json={"signature": SIGNATURE})
    output.write_text(f'starting\nresponded to "{sent}"\n')
    assert take_leak() == f'credential in output service.log: responded to "{sent}"'


def test_a_credential_in_a_metric_is_noticed() -> None:
    watch = SecretWatch()
    labels = Counter("example", "An example.", ["place"], registry=None)
    labels.labels(SESSION)
    watch.inspect_metrics(labels.collect())
    assert watch.take_leaks() == []
    watch.note_credentials([SESSION])
    watch.inspect_metrics(labels.collect())
    assert "credential in metric example_total" in watch.take_leaks()[0]


def test_a_secret_in_a_metric_or_in_the_output_of_a_process_is_noticed(tmp_path: Path) -> None:
    watch = SecretWatch()
    labels = Counter("example", "An example.", ["place"], registry=None)
    labels.labels(canary("CHAIN_RPC_URL"))
    watch.inspect_metrics(labels.collect())
    assert "example_total" in watch.take_leaks()[0]
    output = tmp_path / "service.log"
    watch.watch_output(output)
    output.write_text("starting\n")
    assert watch.take_leaks() == []
    with output.open("a") as appended:
        appended.write(f"first {MARK}\nsecond\n")
    assert watch.take_leaks() == [f"output service.log: first {MARK}"]
    assert watch.take_leaks() == []
    assert watch.inspected == {"samples of metrics": 2, OUTPUTS: 2}
    output.unlink()
    assert watch.take_leaks() == []


def test_a_secret_in_a_deleted_output_is_noticed(tmp_path: Path) -> None:
    watch, output = SecretWatch(), tmp_path / "service.log"
    names = ("first", "second")
    for name in names:
        # Another file may get the name of a deleted one.
        watch.watch_output(output)
        watch.watch_output(output)
        output.write_text(f"{name} {MARK}\n")
        output.unlink()
    assert watch.take_leaks() == [f"output service.log: {each} {MARK}" for each in names]
    assert watch.take_leaks() == []


def test_an_output_that_cannot_be_read_is_a_failure() -> None:
    watch = SecretWatch()
    # Nothing is mapped at its start.
    watch.watch_output(Path("/proc/self/mem"))
    (failure,) = watch.take_leaks()
    assert failure.startswith("output mem cannot be read: ")


# What is never shown


def describe(environ: dict[str, str]) -> str:
    """Return everything that settings say about themselves: their problems, or their values."""
    try:
        return repr(read_settings(environ))
    except SettingsProblems as error:
        return str(error)


@pytest.mark.parametrize("name", NAMES)
def test_no_error_message_about_a_malformed_secret_quotes_it(name: str, tmp_path: Path) -> None:
    secret = canary(name)
    texts = (
        *("", MARK, f"{secret} {secret}", f"{secret}\n!", f"{{{secret}}}", f"bearer{secret}"),
        *(f"https://me:{secret}/x@host", f"https://{secret}:{secret}", f"http://[{secret}"),
        *(f"postgresql://me:{secret}/x@host/db", f"postgresql://me:{secret}#x@host/db"),
        *(f"postgresql://me:{secret}?x@host/db", f"mysql://me:{secret}@host/db"),
        *(f"postgresql://me:x@host:{secret}/db", f"postgresql://[{secret}/db"),
    )
    for text in texts:
        assert MARK not in describe(read_all(**{name: text})), text
    environ = environment_of(tmp_path) | {f"IMPRINT_{name}": texts[-3]}
    run(environ, "check")
    (tmp_path / "imprint.toml").write_text(f'{name.lower()} = "{secret}\n')
    run(environment_of(tmp_path), "check", "--config", tmp_path / "imprint.toml")


@pytest.mark.parametrize("style", [JsonFormatter, TextFormatter])
@pytest.mark.parametrize("name", NAMES)
def test_a_secret_in_an_unexpected_error_is_redacted(
    name: str, style: type[JsonFormatter] | type[TextFormatter]
) -> None:
    formatter = style(read_settings(read_all()).secrets, lambda: "-")
    text = CANARIES[name]
    header = f"Basic {b64encode(text.removeprefix('basic:').encode()).decode()}"
    others = (header,) if name == "KUBO_AUTHORIZATION" else ()
    for leaked in (text, json.dumps(text), repr(text), canary(name), *others):
        record = logging.makeLogRecord({"msg": f"cannot open {leaked}", "url": leaked})
        line = formatter.format(record)
        assert not contains_secret(line.encode()), leaked
        assert HIDDEN in line


async def echo(request: web.BaseRequest) -> web.Response:
    """Refuse everything and quote the request, as some gateways do."""
    quoted = f"{request.raw_path} {dict(request.headers)} {await request.text()}"
    body = {"error": {"code": 403, "message": quoted}, "Message": quoted, "id": 1, "jsonrpc": "2.0"}
    return web.json_response(body, status=403, reason="No", headers={"X-Quoted": quoted[:500]})


@asynccontextmanager
async def echoing() -> AsyncIterator[str]:
    """Run a server that quotes every request in its refusal, and yield its URL."""
    server = web.Server(echo, access_log=None)
    listener = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    finally:
        listener.close()
        await server.shutdown(0.01)


PINATA = {"PINATA_GATEWAY": "{url}", "PINATA_API_URL": "{url}", "PINATA_UPLOAD_URL": "{url}"}
KEY = {"ENCRYPTION_KEY": CANARIES["ENCRYPTION_KEY"]}
FAILURES: dict[str, dict[str, str]] = {
    "node that quotes its URL": {"CHAIN_RPC_URL": f"{{url}}{RPC_PATH}"},
    "node that refuses connections": {"CHAIN_RPC_URL": CANARIES["CHAIN_RPC_URL"]},
    "node with an unknown host": {"CHAIN_RPC_URL": f"http://{MARK[:8]}.invalid{RPC_PATH}"},
    "database that refuses connections": {"DATABASE_URL": CANARIES["DATABASE_URL"]},
    "database that speaks HTTP": {
        "DATABASE_URL": f"postgresql://me:{canary('DATABASE_URL')}@{{authority}}/imprint"
    },
    "Kubo": {"CONTENT_STORE": "kubo:{url}", **KEY},
    "Kubo with a token": {
        "CONTENT_STORE": "kubo:{url}",
        "KUBO_AUTHORIZATION": f"bearer:{canary('KUBO_AUTHORIZATION')}",
        **KEY,
    },
    "Pinata": {"CONTENT_STORE": "pinata", **PINATA},
    "S3": {"CONTENT_STORE": "s3://manuscripts", "S3_ENDPOINT": "{url}"},
    "Google": {"CONTENT_STORE": "gs://manuscripts"},
    "Azure": {
        "CONTENT_STORE": "az://manuscripts",
        "AZ_ACCOUNT": "imprint",
        "AZ_ACCESS_KEY": f"!{canary('AZ_ACCESS_KEY')}",
    },
}
"""Settings of installations whose servers refuse or fail."""


@pytest.mark.parametrize("failure", FAILURES)
async def test_no_command_shows_a_secret_when_a_server_fails(failure: str, tmp_path: Path) -> None:
    async with echoing() as url:
        places = {"url": url, "authority": url.removeprefix("http://")}
        given = environment_of(tmp_path)
        for name, text in FAILURES[failure].items():
            given[f"IMPRINT_{name}"] = text.format_map(places)
        result = await asyncio.to_thread(run, given, "check", "--json")
        # The command noticed the failure, so its message could have quoted the secret.
        assert result.exit_code in (1, 2), result.output
        # What it has printed and logged is watched.
        await asyncio.to_thread(run, given, "gc")


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = OpenTelemetryTracer(provider)
    use_tracer(tracer)
    yield exporter
    use_tracer(None)
    tracer.close()


def read_files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def contains_secret(data: bytes, *more: str) -> bool:
    return any(each.encode() in data for each in (*SPELLINGS, *more))


async def use_secrets(world: World) -> list[str]:
    """Use each secret of a service, rightly and wrongly, and return the credentials it issued."""
    client, author, reader = world.client, world.wallet(1), world.wallet(2)
    session = await world.login(author)
    bearer = session["Authorization"]
    feed = (await client.post("/me/feeds", headers=session)).json()
    token = feed["atom"].rpartition("/")[2].removesuffix(".atom")
    for wrong in (bearer[:-3] + "abc", "Bearer " + canary("OTHER"), bearer.replace(".", "", 1)):
        assert (await client.get("/me/feeds", headers={"Authorization": wrong})).status_code == 401
    await client.get(feed["atom"].removeprefix(ORIGIN))
    await client.get(f"/feeds/private/{token}x.atom")
    await client.get("/filesByNextPageToken", params={"next_page_token": token * 3})
    post_id, _ = await world.post(author)
    body = world.body_a(world.buy(reader, post_id))
    for secret in (CANARIES["WEBHOOK_A_SECRET"], token):
        for header in ("X-Alchemy-Signature", "X-QN-Signature"):
            for provider in ("provider-a", "provider-b"):
                await world.deliver(provider, body, {header: secret[:64]})
    await client.post("/operator", data={"secret": CANARIES["OPERATOR_SECRET"] + "x"})
    opened = await client.post("/operator", data={"secret": CANARIES["OPERATOR_SECRET"]})
    assert opened.status_code == 303
    assert (await client.get("/operator")).status_code == 200
    assert (await world.read_post(reader, post_id)).status_code == 200
    world.clock.advance(60)
    world.node.fault = lambda said: said[:20]
    assert (await world.read_post(world.wallet(3), post_id)).status_code == 503
    await client.get("/readyz")
    world.node.fault = None
    return [bearer.removeprefix("Bearer "), token, client.cookies["imprint_operator"]]


async def test_secrets_are_in_no_trace_backup_export_or_data_folder(
    tmp_path: Path, spans: InMemorySpanExporter
) -> None:
    given = {name: CANARIES[name] for name in OWN}
    data, made = tmp_path / "data", tmp_path / "made"
    data.mkdir()
    made.mkdir()
    async with open_world(data, ENCRYPTION="on", **given) as world:
        issued = await use_secrets(world)
        await world.index()
        traced = "".join(span.to_json() for span in spans.get_finished_spans())
        environ = environment_beside(world) | canaries_of(*OWN) | {"IMPRINT_ENCRYPTION": "on"}
        for command in (
            ("backup", "--out", made / "backup"),
            ("backup", "--out", made / "backup.tar"),
            ("export", "--out", made / "all.car"),
            ("export-site", "--output", made / "site", "--base-url", "https://a.example"),
        ):
            result = await asyncio.to_thread(run, environ, *command)
            assert result.exit_code == 0, result.output
    assert "GET /operator" in traced
    assert not contains_secret(traced.encode(), *issued)
    contents = read_files(tmp_path)
    names = {path.name for path in contents}
    assert {"imprint.db", "backup.json", "all.car", "index.html"} <= names
    leaked = [path for path, data in contents.items() if contains_secret(data, *issued)]
    assert leaked == []
