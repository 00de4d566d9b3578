"""Timings and spans of calls: how results are named, and what OpenTelemetry receives."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.world import World, open_world

from imprint.adapters.chain.http_client import HttpClient
from imprint.adapters.content.http_retry import DEFAULT_POLICY, HttpRequest, RetryingClient
from imprint.adapters.open_telemetry import OpenTelemetryTracer
from imprint.bootstrap.adapters import tracing
from imprint.domain.errors import CannotStart, Code, Problem, Unavailable
from imprint.metrics import DEPENDENCY_SECONDS
from imprint.traces import timed_call, trace_headers, use_tracer

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TRACE = 0x0AF7651916CD43DD8448EB211C80319C


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


def counted(dependency: str, operation: str) -> dict[str, float]:
    """The number of calls by result."""
    return {
        sample.labels["result"]: sample.value
        for metric in DEPENDENCY_SECONDS.collect()
        for sample in metric.samples
        if sample.name.endswith("_count")
        and sample.labels["dependency"] == dependency
        and sample.labels["operation"] == operation
    }


ENDS = [
    (None, "ok"),
    (Problem(Code.NOT_FOUND, "No file."), "ok"),
    (Unavailable.database(), "failed"),
    (OSError(), "failed"),
    (asyncio.CancelledError(), "cancelled"),
]


@pytest.mark.parametrize(("error", "result"), ENDS)
def test_a_refusal_counts_as_a_result_and_an_outage_as_a_failure(
    error: BaseException | None, result: str
) -> None:
    before = counted("database", "example").get(result, 0)
    with suppress(BaseException), timed_call("database", "example"):
        if error is not None:
            raise error
    assert counted("database", "example")[result] == before + 1


async def test_the_calls_of_a_write_and_a_read_are_counted(world: World) -> None:
    kinds = [("database", "write"), ("database", "read"), ("storage", "store"), ("storage", "read")]
    before = [counted(*each).get("ok", 0) for each in kinds]
    asked = counted("chain", "eth_call").get("ok", 0)
    author = world.wallet(0)
    file = await world.create(author, "Words.")
    await world.read_draft(author, file["cid"])
    await world.post(author, "Free words.", 0)
    for kind, earlier in zip(kinds, before, strict=True):
        assert counted(*kind)["ok"] > earlier, kind
    response = await world.client.get("/freeFileByPostId", params={"postId": "1"})
    assert response.status_code == 200
    assert counted("chain", "eth_call")["ok"] > asked


async def test_a_request_and_its_calls_are_spans_in_the_callers_trace(
    world: World, spans: InMemorySpanExporter
) -> None:
    await world.post(world.wallet(0), "Free words.", 0)
    spans.clear()
    response = await world.client.get(
        "/freeFileByPostId", params={"postId": "1"}, headers={"traceparent": PARENT}
    )
    assert response.status_code == 200
    found = {span.name: span for span in spans.get_finished_spans()}
    request: Any = found["GET /freeFileByPostId"]
    assert request.attributes == {
        "http.request.method": "GET",
        "http.route": "/freeFileByPostId",
        "http.response.status_code": 200,
    }
    assert (request.parent.trace_id, request.parent.span_id) == (TRACE, 0xB7AD6B7169203331)
    for name in ("chain eth_call", "storage read"):
        span: Any = found[name]
        assert span.context.trace_id == TRACE, name
        assert span.parent is not None


async def test_a_malformed_traceparent_begins_a_new_trace(
    world: World, spans: InMemorySpanExporter
) -> None:
    for text in ("x" * 5000, "00-" + "0" * 32 + "-" + "0" * 16 + "-01", "\xff"):
        spans.clear()
        await world.client.get("/healthz", headers={b"traceparent": text.encode("latin-1")})
        (span,) = spans.get_finished_spans()
        assert span.parent is None
        assert span.context.trace_id != 0


@asynccontextmanager
async def listening() -> AsyncIterator[tuple[str, list[bytes]]]:
    """A server that records request heads and responds with an empty object."""
    heads: list[bytes] = []

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(respond, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", heads


@pytest.mark.usefixtures("spans")
async def test_trace_headers_are_sent_to_the_node_and_the_store() -> None:
    store = RetryingClient("The store", frozenset(), DEFAULT_POLICY)
    async with listening() as (url, heads):
        node = HttpClient(url, 100)
        with timed_call("chain", "eth_call"):
            expected = trace_headers()["traceparent"].encode()
            await node.post(b"{}")
        assert b"\r\ntraceparent: " + expected + b"\r\n" in heads[0]
        async with store.operation("read", 5) as deadline:
            expected = trace_headers()["traceparent"].encode()
            await store.send(HttpRequest("GET", url), deadline)
        assert b"\r\ntraceparent: " + expected + b"\r\n" in heads[1]
        use_tracer(None)
        await node.post(b"{}")
        assert b"traceparent" not in heads[2]
        node.close()
    await store.close()


def test_a_failed_call_is_an_error_and_its_span_ends(spans: InMemorySpanExporter) -> None:
    with pytest.raises(Unavailable), timed_call("storage", "read"):
        raise Unavailable(Code.STORAGE_UNAVAILABLE, "It is away.")
    with timed_call("storage", "read"):
        pass
    failed, after = spans.get_finished_spans()
    assert not failed.status.is_ok
    assert after.parent is None
    assert failed.attributes == {}


def test_without_a_tracer_there_are_no_headers_or_opentelemetry_imports() -> None:
    assert trace_headers() == {}
    program = (
        "import sys, imprint.cli, imprint.bootstrap, imprint.cli.serve\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]", done.stderr


async def test_spans_are_sent_to_the_configured_endpoint(tmp_path: Path) -> None:
    async with listening() as (url, heads):
        address = f"{url}/v1/traces"
        async with open_world(tmp_path, TRACING_URL=address) as world:

            def trace() -> None:
                with tracing(world.settings), timed_call("database", "read"):
                    assert trace_headers()["traceparent"]

            # The remaining spans are sent when tracing ends, which blocks.
            await asyncio.to_thread(trace)
        assert heads[0].startswith(b"POST /v1/traces HTTP/1.1\r\n")
        assert trace_headers() == {}


async def test_a_service_with_tracing_but_without_its_library_cannot_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "imprint.adapters.open_telemetry", None)
    async with open_world(tmp_path, TRACING_URL="http://127.0.0.1:1/") as world:
        with pytest.raises(CannotStart, match=r"whl\[otel\]"), tracing(world.settings):
            pass
