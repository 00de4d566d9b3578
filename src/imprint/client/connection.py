"""A connection: the service's facts and clock, the current session, and paginated lists."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import aiohttp

from imprint.auth.typed_data import SigningForm
from imprint.client.payments import Purchases
from imprint.client.transport import DEFAULT_TIMEOUT, Query, Refusal, Response, Transport
from imprint.interface.accounts import Session
from imprint.interface.service import Health, MarketplaceFacts, Readiness, ServiceFacts

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """Some items of a list, and the token of the next page if there is one."""

    items: tuple[Item, ...]
    next_page_token: str | None

    def __len__(self) -> int:
        return len(self.items)


class Listing(Generic[Item]):
    """A list whose pages are requested on demand.

        async for post in imprint.list_indexed_posts(tag=["essays"]): ...
        async for page in imprint.list_indexed_posts(limit=50).pages(): ...

    Each iteration starts over.
    """

    def __init__(self, load: Callable[[str | None], Awaitable[Page[Item]]]) -> None:
        """Create a list. `load` returns the page with this token, or the first page if it is
        None."""
        self._load = load

    async def page(self, token: str | None = None) -> Page[Item]:
        """Return the page with this token, or the first page if there is no token."""
        return await self._load(token)

    async def pages(self, token: str | None = None) -> AsyncIterator[Page[Item]]:
        """Yield pages in order, starting with the page of this token or the first page."""
        while True:
            page = await self._load(token)
            yield page
            token = page.next_page_token
            if token is None:
                return

    async def __aiter__(self) -> AsyncIterator[Item]:
        async for page in self.pages():
            for item in page.items:
                yield item


Record = TypeVar("Record")


class Connection:
    """State shared by all methods, and the facts of the service."""

    def __init__(
        self,
        url: str,
        facts: ServiceFacts,
        *,
        form: str | None = None,
        domain_name: str | None = None,
        http: aiohttp.ClientSession | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Use the service at a URL, with these facts.

        `form` selects the form of signed writes, by default the strictest one that the service
        accepts. `domain_name` is the name of the signing domain of `inkdao-1`, by default the one
        that the service states. `http` and `timeout` apply to requests.
        """
        self.facts = facts
        self.form = SigningForm(form) if form is not None else _best_form(facts.signing_forms)
        self.domain_name = domain_name
        self.session: Session | None = None
        self._purchases: Purchases = {}
        self._transport = Transport(url, http, timeout)
        self._timeout = timeout
        self._clock = clock
        self._ahead = 0.0
        self.set_clock(facts.now)

    @property
    def url(self) -> str:
        """The service's URL, without a trailing slash."""
        return self._transport.url

    @property
    def http(self) -> aiohttp.ClientSession:
        """The HTTP connections, which other clients may share."""
        return self._transport.http

    @property
    def marketplace(self) -> str:
        """The marketplace contract's address."""
        return self.facts.chain.marketplace

    def now(self) -> int:
        """The service's time in Unix seconds."""
        return int(self._clock() + self._ahead)

    def set_clock(self, unix_seconds: int) -> None:
        """Synchronize with the service's clock. Refusals of stale signatures do so."""
        self._ahead = unix_seconds - self._clock()

    async def close(self) -> None:
        """Close the connections, unless they were passed in."""
        await self._transport.close()

    async def get_service_facts(self) -> ServiceFacts:
        """Return the service's current facts."""
        return await self._read("/.well-known/imprint.json", ServiceFacts)

    async def get_marketplace(self) -> MarketplaceFacts:
        """Return the marketplace contract with its ABI."""
        return await self._read("/.well-known/marketplace.json", MarketplaceFacts)

    async def get_openapi(self) -> dict[str, Any]:
        """Return the OpenAPI description."""
        return await self._read("/openapi.json", dict[str, Any])

    async def check_health(self) -> Health:
        """Return the service's health."""
        return await self._read("/healthz", Health)

    async def check_readiness(self) -> Readiness:
        """Return the service's readiness and its problems."""
        return (await self._request("GET", "/readyz", expected=(503,))).decode(Readiness)

    async def _read(
        self, path: str, kind: type[Record], query: Query | None = None, *, signed_in: bool = False
    ) -> Record:
        response = await self._request("GET", path, query=query, signed_in=signed_in)
        return response.decode(kind)

    async def _read_text(self, path: str, accept: str) -> str:
        return (await self._request("GET", path, accept=accept)).text

    async def _request(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        json: object = None,
        form: aiohttp.FormData | None = None,
        accept: str = "application/json",
        signed_in: bool = False,
        expected: Collection[int] = (),
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        headers = {"Accept": accept, **(headers or {})}
        if signed_in and self.session is not None:
            headers["Authorization"] = f"Bearer {self.session.token}"
        try:
            return await self._transport.send(
                method,
                path,
                query=query,
                headers=headers,
                json=json,
                form=form,
                expected=expected,
            )
        except Refusal as refusal:
            if refusal.time_of_service is not None:
                self.set_clock(refusal.time_of_service)
            raise

    def _own_address(self, given: str | None) -> str | None:
        """Return the given address, or else the session's. The service refuses a missing
        address."""
        if given is not None or self.session is None:
            return given
        return self.session.address


def page_of(items: Sequence[Item], next_page_token: str | None) -> Page[Item]:
    """Return a page with these items and the token of the next page."""
    return Page(tuple(items), next_page_token)


def _best_form(accepted: Collection[str]) -> SigningForm:
    """Return the strictest form of signed writes that the service accepts."""
    for form in (SigningForm.IMPRINT_2, SigningForm.IMPRINT_1, SigningForm.INKDAO_1):
        if form in accepted:
            return form
    return SigningForm.IMPRINT_2
