"""The client: one object with a method for every operation of the API."""

import asyncio
from collections.abc import Generator, Mapping
from types import TracebackType
from typing import Any

import aiohttp

from imprint.client.accounts import AccountMethods
from imprint.client.drafts import DraftMethods
from imprint.client.payments import (
    LimitedBuyer,
    Seller,
    check_offer,
    find_entry,
    has_expired,
    read_headers,
    sign_offer,
)
from imprint.client.posts import PostMethods
from imprint.client.transactions import Node, Provider
from imprint.client.transport import (
    DEFAULT_TIMEOUT,
    NodeError,
    Refusal,
    Transport,
    read_problem,
)
from imprint.client.wallet import Wallet
from imprint.domain.errors import Code
from imprint.interface.drafts import PostContent
from imprint.interface.payments import SignedChallenge
from imprint.interface.service import ServiceFacts

READ_SECONDS = 180.0
"""Maximum duration in seconds of a read with a wallet. An offer lasts 300 seconds."""

LONGEST_PAUSE = 10
"""The longest pause in seconds before a read is sent again."""


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
        other._purchases = self._purchases
        return other

    def node(self, rpc_url: str | None = None) -> Node:
        """Return the chain's node at a URL. For a development chain, the facts contain the URL.

        Raises `NodeError` if there is no URL in either place.
        """
        url = rpc_url or self.facts.chain.rpc_url
        if url is None:
            raise NodeError("This service does not name a node. Pass the URL of one.")
        return Node(url, self._transport.http)

    async def read(
        self,
        id: str | int,  # noqa: A002 - as in the path
        *,
        wallet: Wallet | None = None,
        pay: bool = False,
        max: int | None = None,  # noqa: A002 - the short name of the limit
        node: Provider | None = None,
        seconds: float = READ_SECONDS,
    ) -> PostContent:
        """Return a post's text.

        With `wallet`, one signature proves that the wallet holds the token, and no session is used
        or kept. A second signature is needed if the purchase takes longer than the first is valid.

        With `pay`, a token is bought first if the wallet holds none, for at most `max` wei, not
        counting the chain's fees. A purchase that is pending when a read ends is continued by the
        next read, and never repeated.

        `node` confirms the purchase. It is only needed if the facts name none. Raises
        `TooExpensive`, `InvalidOffer`, `Reverted`, `NodeError`, and TimeoutError after `seconds`
        seconds.
        """
        if wallet is None:
            return await self.read_post_content(id)
        if not pay:
            buyer = None
        elif max is None:
            raise ValueError("Say with `max` how many wei may be paid.")
        else:
            buyer = LimitedBuyer(self._seller, wallet, node or self.node(), max, self._purchases)
        async with asyncio.timeout(seconds):
            return await self._read_paid(str(int(id)), wallet, buyer)

    async def _read_paid(
        self, post_id: str, wallet: Wallet, buyer: LimitedBuyer | None
    ) -> PostContent:
        """Read a post as the holder of its token, which is bought first if there is a buyer."""
        path, seller = f"/posts/{post_id}/content", self._seller
        proof: SignedChallenge | None = None
        stale: Refusal | None = None
        transaction: str | None = None
        is_bought = False
        headers: Mapping[str, str] = {}
        while True:
            try:
                response = await self._request("GET", path, headers=headers, expected=(402,))
            except Refusal as refusal:
                if refusal.code != Code.SIGNATURE_STALE or not is_bought or stale is not None:
                    raise
                # The purchase took longer than the proof lasts: get another offer to sign.
                stale, headers = refusal, {}
                continue
            if response.status != 402:
                return response.decode(PostContent)
            entry = find_entry(response.headers.get("PAYMENT-REQUIRED"))
            offer = check_offer(entry, seller, post_id)
            if proof is None or (is_bought and has_expired(proof, offer)):
                proof, stale = await sign_offer(wallet, seller, offer), None
            elif stale is not None:
                raise stale
            elif buyer is None:
                raise read_problem(response)
            elif not is_bought:
                transaction = await buyer.buy(offer)
                if transaction is not None:
                    await buyer.confirm(offer, transaction, None)
                is_bought = True
            else:
                # The service's node does not know the purchase yet.
                wait = read_problem(response).retry_after or 1
                await asyncio.sleep(min(wait, LONGEST_PAUSE))
            headers = read_headers(offer, proof, transaction)

    @property
    def _seller(self) -> Seller:
        return Seller(self.url, self.facts.chain.id, self.marketplace)


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
