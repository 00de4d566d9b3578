"""JSON-RPC client over HTTP: one batch per exchange, sent to the next node if one fails."""

import asyncio
import itertools
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from imprint.adapters.chain.http_client import HttpClient, NodeFailure
from imprint.domain.errors import Unavailable

log = logging.getLogger(__name__)

Read = TypeVar("Read")

MAX_RESPONSE = 8 * 1024 * 1024
"""Bytes of a response: enough for the logs of thousands of blocks."""


class ChainMisconfigured(Unavailable):
    """A node is on another chain, or the contract is not there; `sentence` is for the operator.

    Clients see an unavailable chain; at start-up the sentence is printed.
    """

    def __init__(self, sentence: str) -> None:
        unavailable = Unavailable.chain()
        super().__init__(unavailable.code, unavailable.detail)
        self.sentence = sentence


def check_chain_id(found: int, configured: int) -> None:
    """Raise `ChainMisconfigured` if the node is on another chain."""
    if found != configured:
        raise ChainMisconfigured(
            f"The node is on chain {found}, but chain {configured} is configured."
        )


@dataclass(frozen=True, slots=True)
class Call:
    """One method and its parameters."""

    method: str
    params: tuple[object, ...] = ()


class _Response(msgspec.Struct):
    """The used members of a response; a missing result is the same as null."""

    id: int
    result: Any = None
    error: Any = None


_BATCH_DECODER = msgspec.json.Decoder(list[_Response])


class JsonRpc:
    """Sends batches to the first node that serves, starting with the one that served last.

    Raises ValueError without an address, or for one that is not http or https.
    """

    def __init__(self, addresses: Sequence[str], max_response: int = MAX_RESPONSE) -> None:
        if not addresses:
            raise ValueError("At least one address of a node is needed.")
        for address in addresses:
            parts = urlsplit(address)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ValueError(
                    "The address of a node begins with http:// or https:// and a host."
                )
        self._addresses = tuple(addresses)
        self._clients = [HttpClient(address, max_response) for address in addresses]
        self._last_served = 0
        self._failing: set[int] = set()
        self._ids = itertools.count(1)
        self._closed = False

    async def exchange(
        self, calls: Sequence[Call], read: Callable[[list[object]], Read], deadline: float
    ) -> Read:
        """What `read` returns for the results of one batch, in the order of the calls.

        `deadline` is in loop time. A node fails by not responding, by a response that does not
        match the batch or has an error, or by a `NodeFailure` or `Unavailable` that `read` raises;
        the batch is then sent to the next node. Raises `Unavailable` when all have failed: the one
        that `read` raised, if any.
        """
        if self._closed:
            raise Unavailable.chain()
        failures: list[Exception] = []
        count = len(self._addresses)
        for turn in range(count):
            node = (self._last_served + turn) % count
            now = asyncio.get_running_loop().time()
            try:
                # An equal share of the time left, so that a silent node leaves some for the next.
                async with asyncio.timeout_at(now + (deadline - now) / (count - turn)):
                    results = await self._send(self._clients[node], calls)
                found = read(results)
            except (NodeFailure, Unavailable, TimeoutError) as failure:
                self._note_failure(node, failure)
                failures.append(failure)
            else:
                self._note_success(node)
                return found
        for unavailable in failures:
            if isinstance(unavailable, Unavailable):
                raise unavailable
        raise Unavailable.chain() from failures[-1]

    async def close(self) -> None:
        """Close connections; later exchanges are `Unavailable`."""
        self._closed = True
        for client in self._clients:
            client.close()

    async def _send(self, client: HttpClient, calls: Sequence[Call]) -> list[object]:
        ids = [next(self._ids) for _ in calls]
        batch = msgspec.json.encode(
            [
                {"jsonrpc": "2.0", "id": number, "method": call.method, "params": call.params}
                for number, call in zip(ids, calls, strict=True)
            ]
        )
        try:
            body = await client.post(batch)
        except (OSError, ValueError) as error:
            raise NodeFailure(f"no connection ({type(error).__name__})") from error
        return _match_results(ids, body)

    def _note_failure(self, node: int, failure: Exception) -> None:
        if node not in self._failing:
            self._failing.add(node)
            reason = str(failure) if isinstance(failure, NodeFailure) else type(failure).__name__
            masked = mask_address(self._addresses[node])
            log.warning("chain node failed", extra={"node": masked, "reason": reason})

    def _note_success(self, node: int) -> None:
        self._last_served = node
        if node in self._failing:
            self._failing.remove(node)
            log.info("chain node is back", extra={"node": mask_address(self._addresses[node])})


def mask_address(address: str) -> str:
    """The scheme and host of a node's address; its path and credentials are secret."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.hostname}"


def _match_results(ids: Sequence[int], body: bytes) -> list[object]:
    """The results in a response, in the order of the ids. Raises `NodeFailure`."""
    try:
        responses = _BATCH_DECODER.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise NodeFailure("the response is not a JSON-RPC batch") from error
    by_id = {response.id: response for response in responses}
    if len(responses) != len(ids) or by_id.keys() != set(ids):
        raise NodeFailure("the response does not match the request")
    errors = [response.error for response in responses if response.error is not None]
    if errors:
        code = errors[0].get("code") if isinstance(errors[0], dict) else None
        raise NodeFailure(f"error {code}" if isinstance(code, int) else "an error without a code")
    return [by_id[number].result for number in ids]
