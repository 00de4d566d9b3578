"""The client: one object with a method for every operation of the API."""

from collections.abc import Generator
from types import TracebackType
from typing import Any

import aiohttp

from imprint.client.accounts import AccountMethods
from imprint.client.drafts import DraftMethods
from imprint.client.posts import PostMethods
from imprint.client.transactions import Node
from imprint.client.transport import DEFAULT_TIMEOUT, NodeError, Transport
from imprint.interface.service import ServiceFacts


class Imprint(AccountMethods, DraftMethods, PostMethods):
    """A client of one service, with at most one reader logged in.

    Methods are named after the operations in `/openapi.json`. Methods raise `Refusal` if the
    service refuses, and `Unreachable` if it does not respond.
    """

    @classmethod
    def connect(
        cls,
        url: str,
        *,
        form: str | None = None,
        domain_name: str | None = None,
        http: aiohttp.ClientSession | None = None,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> "Connecting":
        """Connect to the service at a URL, as in `async with Imprint.connect(url) as imprint`.

        `await Imprint.connect(url)` does the same, and leaves `close` to the caller. The
        constructor describes the options.
        """
        given = {"form": form, "domain_name": domain_name, "http": http, "timeout": timeout}
        return Connecting(cls, url, given)

    async def __aenter__(self) -> "Imprint":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def beside(self) -> "Imprint":
        """Create another client of the same service that shares the connections and is not
        logged in."""
        other = Imprint(
            self.url,
            self.facts,
            form=self.form,
            domain_name=self.domain_name,
            http=self._transport.http,
            timeout=self._timeout,
            clock=self._clock,
        )
        other.set_clock(self.now())
        return other

    def node(self, rpc_url: str | None = None) -> Node:
        """Return the chain's node at a URL. For a development chain, the facts contain the URL.

        Raises `NodeError` if a URL is needed.
        """
        url = rpc_url or self.facts.chain.rpc_url
        if url is None:
            raise NodeError("This service does not name a node. Pass the URL of one.")
        return Node(url, self._transport.http)


class Connecting:
    """A client that is still connecting. Await it, or open it with `async with`."""

    def __init__(self, kind: type[Imprint], url: str, given: dict[str, Any]) -> None:
        self._kind = kind
        self._url = url
        self._given = given
        self._opened: Imprint | None = None

    def __await__(self) -> Generator[Any, None, Imprint]:
        return self._open().__await__()

    async def __aenter__(self) -> Imprint:
        self._opened = await self._open()
        return self._opened

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._opened is not None:
            await self._opened.close()

    async def _open(self) -> Imprint:
        transport = Transport(self._url, self._given["http"], self._given["timeout"])
        try:
            response = await transport.send("GET", "/.well-known/imprint.json")
            facts = response.decode(ServiceFacts)
        finally:
            await transport.close()
        return self._kind(self._url, facts, **self._given)
