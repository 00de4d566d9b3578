"""`Tracer` over OpenTelemetry: spans are sent to a collector as OTLP over HTTP."""

import os
from collections.abc import Mapping
from contextvars import Token

from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from imprint import __version__

_SERVER_ERROR = 500

_EXPORT_SECONDS = 2.0
"""Seconds that sending a batch may take, including retries. A stopping process waits this long."""

_TIMEOUTS = ("OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT")
"""Environment variables that override the default timeout."""

_HEADERS = ("traceparent", "tracestate")
"""The headers of W3C Trace Context."""


def open_provider(url: str) -> TracerProvider:
    """Create a provider that sends its spans to this address from its own thread.

    The `OTEL_*` variables configure everything else: sampling, headers, timeouts, names.
    """
    name = {} if "OTEL_SERVICE_NAME" in os.environ else {SERVICE_NAME: "imprint"}
    provider = TracerProvider(resource=Resource.create(name))
    seconds = None if any(name in os.environ for name in _TIMEOUTS) else _EXPORT_SECONDS
    exporter = OTLPSpanExporter(endpoint=url, timeout=seconds)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


class OpenTelemetryTracer:
    """Creates spans with a provider. No span contains a path, query, statement or address."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("imprint", __version__)
        self._propagator = TraceContextTextMapPropagator()

    def start_request(self, method: str, headers: Mapping[bytes, bytes]) -> "_RequestSpan":
        """Start the span of a request, in the trace that its headers name, if any."""
        carrier = {
            name: headers[name.encode()].decode("latin-1")
            for name in _HEADERS
            if name.encode() in headers
        }
        parent = self._propagator.extract(carrier, Context())
        span = self._tracer.start_span(method, parent, SpanKind.SERVER)
        return _RequestSpan(span, method)

    def start_call(self, dependency: str, operation: str) -> "_CallSpan":
        """Start the span of a call as a child of the current span."""
        kind = SpanKind.CLIENT
        return _CallSpan(self._tracer.start_span(f"{dependency} {operation}", kind=kind))

    def headers(self) -> Mapping[str, str]:
        """Headers that continue the trace in another service."""
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier)
        return carrier

    def close(self) -> None:
        """Send the remaining spans. Blocks until that has succeeded or failed."""
        self._provider.shutdown()


class _CurrentSpan:
    """A span that is the parent of all spans started in the same task until it ends."""

    def __init__(self, span: Span) -> None:
        self._span = span
        self._token: Token[Context] = context.attach(trace.set_span_in_context(span))

    def _end(self, *, failed: bool) -> None:
        if failed:
            self._span.set_status(StatusCode.ERROR)
        self._span.end()
        context.detach(self._token)


class _CallSpan(_CurrentSpan):
    def end(self, result: str) -> None:
        """End the span as `ok`, `failed` or `cancelled`."""
        self._end(failed=result != "ok")


class _RequestSpan(_CurrentSpan):
    def __init__(self, span: Span, method: str) -> None:
        super().__init__(span)
        self._method = method

    def end(self, route: str, status: int) -> None:
        """End the span with the matched route and the response status."""
        self._span.update_name(f"{self._method} {route}")
        self._span.set_attributes(
            {
                "http.request.method": self._method,
                "http.route": route,
                "http.response.status_code": status,
            }
        )
        self._end(failed=status >= _SERVER_ERROR)
