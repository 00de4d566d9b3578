"""The chain's node, over JSON-RPC and HTTP."""

import itertools
from types import TracebackType
from typing import Any, Protocol

import aiohttp

from imprint.client.problems import NodeError

TIMEOUT = aiohttp.ClientTimeout(total=30)
"""Seconds after which a node is not expected to respond any more."""


class Provider(Protocol):
    """Anything that makes JSON-RPC calls: this module's `Node`, or a wallet (EIP-1193)."""

    async def request(self, method: str, *params: object) -> Any:
        """Return the result of a call. Raises `NodeError`."""


class Node:
    """A node at a URL; `async with` closes its connections."""

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
        """Close the connections, unless they were passed in."""
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
            # The URL may contain an API key of the node's provider, so the message leaves it out.
            raise NodeError(f"The node did not respond to {method}.") from error
        if not isinstance(said, dict) or ("error" not in said and "result" not in said):
            raise NodeError(f"The node did not respond to {method} as JSON-RPC.")
        if "error" in said:
            raise NodeError(_sentence(said["error"], method))
        return said["result"]


def _sentence(error: object, method: str) -> str:
    message = error.get("message") if isinstance(error, dict) else None
    return str(message or f"The node refused {method}.")
