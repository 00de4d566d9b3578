"""HTTP exchanges with a service that keeps documents: bounded in size and time, tried again."""

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

BYTES_PER_SECOND = 1024 * 1024
"""How fast a document must travel at least; a large one gets more time accordingly."""

MAX_ANSWER = 4 * 1024 * 1024
"""How many bytes an answer may have that is not a document."""

MAX_DOCUMENT = 128 * 1024 * 1024
"""How many bytes a document may have when it comes back; none that is stored is as large."""

_PIECE = 64 * 1024
_QUOTED = 160
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pace:
    """How patient a store is, in seconds.

    One call may take `patience` in all, for a document of few bytes; `patience_deep` for one of
    several blocks whose size is not known yet; `patience_removal` to destroy one, for which nobody
    waits. A host that takes no connection within `connect` is tried again. Between tries, `tries`
    at most, there is a pause that doubles each time.
    """

    patience: float = 4.5
    patience_deep: float = 20.0
    patience_removal: float = 30.0
    connect: float = 1.0
    pause: float = 0.1
    tries: int = 5


PACE = Pace()
"""The pace of a service: a reader who waits hears of a store that is away within five seconds."""


class Failure(Exception):
    """An exchange failed; the text is fit for a log, and names no address and no secret."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to send. `body` makes the body anew for each try; only a repeatable one is repeated."""

    method: str
    url: str
    params: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Callable[[], aiohttp.FormData | bytes] | None = None
    repeatable: bool = True
    limit: int = MAX_ANSWER


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, whole. The names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def good(self) -> bool:
        return 200 <= self.status < 300


def quote(text: str) -> str:
    """The beginning of what a service said, fit for a line of a log."""
    printable = "".join(char if char.isprintable() else " " for char in text[: 2 * _QUOTED])
    return " ".join(printable.split())[:_QUOTED]


class Exchanges:
    """Connections to one service. `passing` are the statuses after which it is asked again."""

    def __init__(self, service: str, passing: frozenset[int], pace: Pace) -> None:
        self._service = service
        self._passing = passing
        self._pace = pace
        self._session: aiohttp.ClientSession | None = None
        self._closed = False

    @asynccontextmanager
    async def attempt(self, purpose: str, patience: float, size: int = 0) -> AsyncIterator[float]:
        """A deadline, on the clock of the running loop, for one call of a store.

        Whatever fails inside, or is not done by then, is `Unavailable`, and logged.
        """
        if self._closed:
            raise Unavailable.storage()
        deadline = asyncio.get_running_loop().time() + patience + size / BYTES_PER_SECOND
        try:
            async with asyncio.timeout_at(deadline):
                yield deadline
        except (Failure, TimeoutError) as error:
            reason = str(error) if isinstance(error, Failure) else "no answer in time"
            _log.error("%s failed to %s: %s", self._service, purpose, reason)
            raise Unavailable.storage() from error

    async def ask(self, request: Request, deadline: float) -> Answer:
        """The answer, whatever its status, unless that is a passing one until the end.

        Raises `Failure` when there is none, or only one that asks for more time than is left.
        """
        for attempt in range(1, self._pace.tries + 1):
            last = attempt == self._pace.tries or not request.repeatable
            pause = self._pace.pause * 2 ** (attempt - 1)
            try:
                answer = await self._send(request)
                if last or answer.status not in self._passing:
                    return answer
                pause = max(pause, _wanted_pause(answer.headers))
                reason = f"status {answer.status}"
            except (aiohttp.ClientError, OSError) as error:
                reason = f"no connection ({type(error).__name__})"
                if last:
                    raise Failure(reason) from error
            if asyncio.get_running_loop().time() + pause >= deadline:
                raise Failure(f"{reason}, and no time for another try")
            await asyncio.sleep(pause)
        raise AssertionError("The last try returns or raises.")

    async def close(self) -> None:
        """Let go of connections; whoever comes afterwards finds the store unavailable."""
        self._closed = True
        if self._session is not None:
            await self._session.close()

    async def _send(self, request: Request) -> Answer:
        session = self._open_session()
        # As it is: to write a signed link otherwise would break its signature.
        url = URL(request.url, encoded=True)
        async with session.request(
            request.method,
            url.with_query(request.params) if request.params else url,
            headers=request.headers,
            data=None if request.body is None else request.body(),
            allow_redirects=False,
        ) as response:
            body = bytearray()
            async for piece in response.content.iter_chunked(_PIECE):
                body += piece
                if len(body) > request.limit:
                    raise Failure("an answer that is too large")
            headers = {name.lower(): value for name, value in response.headers.items()}
            return Answer(response.status, headers, bytes(body))

    def _open_session(self) -> aiohttp.ClientSession:
        # Made at the first use, because it belongs to the loop that runs then.
        if self._closed:
            raise Failure("the store is closed")
        if self._session is None:
            self._session = aiohttp.ClientSession(
                headers={"Accept-Encoding": "identity", "User-Agent": "imprint"},
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._pace.connect),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
            )
        return self._session


def _wanted_pause(headers: Mapping[str, str]) -> float:
    """How many seconds a service asks to be left alone; 0 if it does not, or says so strangely."""
    text = headers.get("retry-after", "")
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        moment = parsedate_to_datetime(text)
        return max(0.0, (moment - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return 0.0
