"""The chain's node, asked by JSON-RPC over HTTP."""

import itertools
from types import TracebackType
from typing import Any, Protocol

import aiohttp

from imprint.client.problems import NodeError

TIMEOUT = aiohttp.ClientTimeout(total=30)
"""A node that has not responded by then will not."""


class Provider(Protocol):
    """What asks a node: this module's `Node`, or a wallet with access to one (EIP-1193)."""

    async def request(self, method: str, *params: object) -> Any:
        """Return the result of a call. Raises `NodeError`."""


class Node:
    """A node at an address; `async with` closes its connections."""

    def __init__(self, url: str, http: aiohttp.ClientSession | None = None) -> None:
        self.url = url
        self._http = http
        self._owns_http = http is None
        self._ids = itertools.count(1)

    async def __aenter__(self) -> "Node":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections, unless they were given."""
        if self._owns_http and self._http is not None:
            await self._http.close()
            self._http = None

    async def request(self, method: str, *params: object) -> Any:
        """Return the result of a call. Raises `NodeError`."""
        if self._http is None:
            self._http = aiohttp.ClientSession()
        call = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}
        try:
            async with self._http.post(self.url, json=call, timeout=TIMEOUT) as response:
                said = await response.json(content_type=None)
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            # The address may hold a key of the node's provider: it is not in the sentence.
            raise NodeError(f"The node did not respond to {method}.") from error
        if not isinstance(said, dict) or ("error" not in said and "result" not in said):
            raise NodeError(f"The node did not respond to {method} as JSON-RPC.")
        if "error" in said:
            raise NodeError(_sentence(said["error"], method))
        return said["result"]


def _sentence(error: object, method: str) -> str:
    message = error.get("message") if isinstance(error, dict) else None
    return str(message or f"The node refused {method}.")
