"""HTTP client for remote content stores, with size limits, timeouts and retries."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import aiohttp
from yarl import URL

from imprint.domain.errors import Unavailable
from imprint.traces import timed_call, trace_headers

BYTES_PER_SECOND = 1024 * 1024
"""Slowest allowed transfer in bytes per second. Large documents get more time."""

MAX_RESPONSE = 4 * 1024 * 1024
"""Size limit in bytes for a response that is not a document."""

MAX_DOCUMENT = 128 * 1024 * 1024
"""Size limit in bytes for a document in a response, larger than any stored document."""

_CHUNK = 64 * 1024
_MAX_EXCERPT = 160
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Timeouts of a store's operations in seconds, and retry settings.

    `timeout` bounds an operation on a small document, and `chunked_timeout` one on a multi-block
    document of unknown size. `removal_timeout` bounds a removal, which runs in the background, and
    `connect_timeout` one attempt to connect. A request is sent up to `attempts` times. The pause
    between attempts starts at `pause` and doubles.
    """

    timeout: float = 4.5
    chunked_timeout: float = 20.0
    removal_timeout: float = 30.0
    connect_timeout: float = 1.0
    pause: float = 0.1
    attempts: int = 5


DEFAULT_POLICY = RetryPolicy()
"""Default policy, with which a reader learns within five seconds that a store is down."""


class StoreFailure(Exception):
    """A store operation failed. The message is safe to log: it contains no addresses and no
    secrets."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request. `body` builds the body for each attempt, and `limit` bounds the response in bytes.

    A request that is not `repeatable` is sent only once.
    """

    method: str
    url: str
    params: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Callable[[], aiohttp.FormData | bytes] | None = None
    repeatable: bool = True
    limit: int = MAX_RESPONSE


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A complete response, with header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300


class RetryingClient:
    """Client for one service. Retries connection errors and some statuses."""

    def __init__(self, service: str, retry_statuses: frozenset[int], policy: RetryPolicy) -> None:
        self._service = service
        self._retry_statuses = retry_statuses
        self._policy = policy
        self._session: aiohttp.ClientSession | None = None
        self._closed = False

    @asynccontextmanager
    async def operation(self, verb: str, seconds: float, size: int = 0) -> AsyncIterator[float]:
        """Yield the loop-time deadline of an operation that may take `seconds`, plus time to
        transfer `size` bytes.

        A `StoreFailure` inside the `with` block, or a missed deadline, is logged and becomes
        `Unavailable`.
        """
        if self._closed:
            raise Unavailable.storage()
        deadline = asyncio.get_running_loop().time() + seconds + size / BYTES_PER_SECOND
        try:
            with timed_call("storage", verb):
                async with asyncio.timeout_at(deadline):
                    yield deadline
        except (StoreFailure, TimeoutError) as error:
            reason = str(error) if isinstance(error, StoreFailure) else "no response in time"
            _log.error("%s failed to %s: %s", self._service, verb, reason)
            raise Unavailable.storage() from error

    async def send(self, request: HttpRequest, deadline: float) -> HttpResponse:
        """Send a request and return the response with any status.

        A status in `retry_statuses` is returned only after the last attempt. Raises `StoreFailure`
        if there is no response and no time for another attempt.
        """
        for attempt in range(1, self._policy.attempts + 1):
            last = attempt == self._policy.attempts or not request.repeatable
            pause = self._policy.pause * 2 ** (attempt - 1)
            try:
                response = await self._send_once(request)
                if last or response.status not in self._retry_statuses:
                    return response
                pause = max(pause, _retry_after(response.headers))
                reason = f"status {response.status}"
            except (aiohttp.ClientError, OSError) as error:
                reason = f"no connection ({type(error).__name__})"
                if last:
                    raise StoreFailure(reason) from error
            if asyncio.get_running_loop().time() + pause >= deadline:
                raise StoreFailure(f"{reason}, and no time is left for another attempt")
            await asyncio.sleep(pause)
        raise AssertionError("The last attempt returns or raises.")

    async def close(self) -> None:
        """Close all connections. Later operations raise `Unavailable`."""
        self._closed = True
        if self._session is not None:
            await self._session.close()

    async def _send_once(self, request: HttpRequest) -> HttpResponse:
        session = self._open_session()
        # Already encoded: encoding a signed link differently would break its signature.
        url = URL(request.url, encoded=True)
        async with session.request(
            request.method,
            url.with_query(request.params) if request.params else url,
            headers={**request.headers, **trace_headers()},
            data=None if request.body is None else request.body(),
            allow_redirects=False,
        ) as response:
            body = bytearray()
            async for chunk in response.content.iter_chunked(_CHUNK):
                body += chunk
                if len(body) > request.limit:
                    raise StoreFailure("the response is too large")
            headers = {name.lower(): value for name, value in response.headers.items()}
            return HttpResponse(response.status, headers, bytes(body))

    def _open_session(self) -> aiohttp.ClientSession:
        # Opened at first use, because a session belongs to the running loop.
        if self._closed:
            raise StoreFailure("the store is closed")
        if self._session is None:
            connect_timeout = self._policy.connect_timeout
            self._session = aiohttp.ClientSession(
                headers={"Accept-Encoding": "identity", "User-Agent": "imprint"},
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=connect_timeout),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
            )
        return self._session


def excerpt(text: str) -> str:
    """The start of a service's error message as one printable line for a log."""
    printable = "".join(char if char.isprintable() else " " for char in text[: 2 * _MAX_EXCERPT])
    return " ".join(printable.split())[:_MAX_EXCERPT]


def _retry_after(headers: Mapping[str, str]) -> float:
    """The seconds of a Retry-After header, or 0 if it is missing or malformed."""
    text = headers.get("retry-after", "")
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        moment = parsedate_to_datetime(text)
        return max(0.0, (moment - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return 0.0
