"""HTTP transport between client and service, which turns refusals and failures into exceptions."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import aiohttp
import msgspec
from yarl import URL

from imprint.domain.errors import Code
from imprint.interface.codec import decode_json, encode_json
from imprint.interface.problems import Problem


class Refusal(Exception):
    """The service refused a request. Check `code`, one of `Code`. Later versions may add codes."""

    def __init__(self, problem: Problem, retry_after: int | None = None) -> None:
        super().__init__(problem.detail)
        self.problem = problem
        self.retry_after = retry_after

    @property
    def code(self) -> str:
        """The stable name of the problem."""
        return self.problem.code

    @property
    def status(self) -> int:
        """The status of the response."""
        return self.problem.status

    @property
    def detail(self) -> str:
        """The problem in words for users."""
        return self.problem.detail

    @property
    def time_of_service(self) -> int | None:
        """The service's time in Unix seconds, if it refused a signature as too old or too new."""
        return self.problem.now if self.code == Code.SIGNATURE_STALE else None


class Unreachable(Exception):
    """The service did not respond, or something else responded in its place.

    `status` and `retry_after` come from the response, if there was one.
    """

    def __init__(
        self, sentence: str, status: int | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(sentence)
        self.status = status
        self.retry_after = retry_after


class Unconfirmed(Exception):
    """A save may have taken effect: its response was lost, and its signature has expired.

    Look for the draft before you save again. The cause is the refusal `signature_stale`.
    """


class WalletNeeded(Exception):
    """The key of the writing session is not valid, or no longer valid: the wallet has to sign
    again.

    The cause is the refusal `writing_session_expired` or `writing_session_invalid`.
    """


class NodeError(Exception):
    """The chain's node refused a call, or did not respond."""


class Reverted(Exception):
    """The contract reverted the transaction. The transaction is in a block but had no effect."""


DEFAULT_TIMEOUT = 60.0
"""Timeout of a request in seconds, including its response."""

Query = Mapping[str, str | int | bool | Sequence[str] | None]
"""Query parameters. None values are omitted, and each list item becomes one parameter."""

Record = TypeVar("Record")


@dataclass(frozen=True, slots=True)
class Response:
    """A successful HTTP response."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The response body as text."""
        return self.body.decode()

    def decode(self, kind: type[Record]) -> Record:
        """Decode the body as a record. Raises `Unreachable` if the body does not have this type."""
        try:
            return decode_json(self.body, kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Unreachable(
                "The response does not come from a version of Imprint that this client "
                f"supports: {error}",
                self.status,
            ) from error


class Transport:
    """Sends requests to the service at a URL, over its own or given connections."""

    def __init__(
        self, url: str, http: aiohttp.ClientSession | None = None, timeout: float = DEFAULT_TIMEOUT
    ) -> None:
        self.url = url.rstrip("/")
        self.http = http or aiohttp.ClientSession()
        self._owns_http = http is None
        self._timeout = aiohttp.ClientTimeout(total=timeout)

    async def close(self) -> None:
        """Close the connections, unless they were passed in."""
        if self._owns_http:
            await self.http.close()

    async def send(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
        json: object = None,
        form: aiohttp.FormData | None = None,
        expected: Collection[int] = (),
    ) -> Response:
        """Return the response to a request. Raises `Refusal` and `Unreachable`.

        A status below 300 is success, and so are the statuses in `expected`.
        """
        given: dict[str, Any] = {"data": form} if form is not None else {}
        sent = {"Accept": "application/json", **(headers or {})}
        if json is not None:
            given["data"] = encode_json(json)
            sent["Content-Type"] = "application/json"
        try:
            async with self.http.request(
                method,
                URL(self.url + path, encoded=True),
                params=_write_query(query or {}),
                headers=sent,
                timeout=self._timeout,
                allow_redirects=False,
                **given,
            ) as received:
                response = Response(received.status, received.headers, await received.read())
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            reason = str(error) or "it took too long to respond"
            raise Unreachable(f"{self.url} cannot be reached: {reason}") from error
        if response.status < 300 or response.status in expected:
            return response
        raise read_problem(response)


def _write_query(query: Query) -> list[tuple[str, str]]:
    pairs = []
    for name, value in query.items():
        if value is None:
            continue
        if isinstance(value, bool):
            pairs.append((name, str(value).lower()))
        elif isinstance(value, str | int):
            pairs.append((name, str(value)))
        else:
            pairs += [(name, each) for each in value]
    return pairs


def read_problem(response: Response) -> Refusal | Unreachable:
    """Return the problem in an error response. A proxy in between may send other text."""
    text = response.headers.get("Retry-After", "")
    wait = int(text) if text.isascii() and text.isdecimal() else None
    try:
        problem = decode_json(response.body, Problem)
    except (msgspec.DecodeError, UnicodeDecodeError):
        sentence = f"Something in front of the service responded with {response.status}."
        return Unreachable(sentence, response.status, wait)
    return Refusal(problem, wait)
