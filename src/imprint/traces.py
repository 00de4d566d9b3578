"""Times calls to the database, nodes and the content store, and creates spans for tracing.

Every call is an observation of `imprint_dependency_seconds`. If a tracer was given to
`use_tracer`, requests and calls are spans, too. Without a tracer, OpenTelemetry is not imported.
"""

import asyncio
import time
from collections.abc import Mapping
from functools import lru_cache
from types import TracebackType
from typing import Protocol

from prometheus_client import Histogram

from imprint.domain.errors import Problem, Unavailable
from imprint.metrics import DEPENDENCY_SECONDS

NO_HEADERS: Mapping[str, str] = {}
"""The headers of an outgoing request without a trace."""


class CallSpan(Protocol):
    """The span of a call to a dependency."""

    def end(self, result: str) -> None:
        """End the span with the result `ok`, `failed` or `cancelled`."""


class RequestSpan(Protocol):
    """The span of a request."""

    def end(self, route: str, status: int) -> None:
        """End the span with the route that matched and the status of the response."""


class Tracer(Protocol):
    """Creates spans. The newest span of the running task is the parent of the next span."""

    def start_request(self, method: str, headers: Mapping[bytes, bytes]) -> RequestSpan:
        """Start the span of a request, which continues the trace that the headers name, if any."""

    def start_call(self, dependency: str, operation: str) -> CallSpan:
        """Start the span of a call."""

    def headers(self) -> Mapping[str, str]:
        """Return the headers that continue the trace at another service."""


class _Tracing:
    """The tracer that this process uses, if any."""

    tracer: Tracer | None = None


def use_tracer(tracer: Tracer | None) -> None:
    """Create spans with this tracer from now on. None turns tracing off."""
    _Tracing.tracer = tracer


def start_request(method: str, headers: Mapping[bytes, bytes]) -> RequestSpan | None:
    """Start the span of a request, or return None if tracing is off."""
    return None if _Tracing.tracer is None else _Tracing.tracer.start_request(method, headers)


def trace_headers() -> Mapping[str, str]:
    """Return the headers that continue the trace at another service. Empty if tracing is off."""
    return NO_HEADERS if _Tracing.tracer is None else _Tracing.tracer.headers()


class timed_call:  # noqa: N801  it is used like a function
    """Times a call to a dependency: `with timed_call("database", "read"):`.

    Both names are labels, so they must have few values. A refusal is a result like any
    other. Only `Unavailable` and unexpected errors count as failed. A call that was
    abandoned, for example on a timeout, counts as cancelled.
    """

    __slots__ = ("_dependency", "_operation", "_span", "_started")

    def __init__(self, dependency: str, operation: str) -> None:
        self._dependency = dependency
        self._operation = operation

    def __enter__(self) -> None:
        tracer = _Tracing.tracer
        self._span = (
            None if tracer is None else tracer.start_call(self._dependency, self._operation)
        )
        self._started = time.perf_counter()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        seconds = time.perf_counter() - self._started
        result = "ok" if error is None else _name_result(error)
        _histogram(self._dependency, self._operation, result).observe(seconds)
        if self._span is not None:
            self._span.end(result)


def _name_result(error: BaseException) -> str:
    if isinstance(error, asyncio.CancelledError | GeneratorExit):
        return "cancelled"
    refused = isinstance(error, Problem) and not isinstance(error, Unavailable)
    return "ok" if refused else "failed"


@lru_cache(maxsize=256)
def _histogram(dependency: str, operation: str, result: str) -> Histogram:
    # Finding a child by its labels costs several times as much as observing it.
    return DEPENDENCY_SECONDS.labels(dependency, operation, result)
