"""Transactions: a contract call, and the bytes that a private key signs for it (EIP-1559)."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol

import aiohttp
from coincurve import PrivateKey

from imprint.client.transport import NodeError
from imprint.domain.formats.addresses import keccak256

_TYPE = b"\x02"
"""The type byte of an EIP-1559 transaction."""

_SHORT = 55
"""Length in bytes of the longest RLP payload whose length is encoded in its first byte."""


@dataclass(frozen=True, slots=True)
class Call:
    """A contract call, with the payment in wei.

    With `chain_id`, the call is valid only on that chain, and a wallet on another chain refuses it.
    """

    to: str
    data: bytes
    value: int = 0
    chain_id: int | None = None

    def as_json(self) -> dict[str, str]:
        """Return the call in JSON-RPC form."""
        call = {"to": self.to, "data": f"0x{self.data.hex()}", "value": hex(self.value)}
        return call if self.chain_id is None else {**call, "chainId": hex(self.chain_id)}


@dataclass(frozen=True, slots=True)
class Transaction:
    """A call with every signed field. `tip` and `fee` are maximum amounts per unit of gas."""

    chain_id: int
    nonce: int
    tip: int
    fee: int
    gas: int
    call: Call

    def sign(self, key: PrivateKey) -> bytes:
        """Return the signed bytes for `eth_sendRawTransaction`."""
        fields = self._fields()
        signature = key.sign_recoverable(keccak256(_TYPE + _encode_list(fields)), hasher=None)
        r, s = int.from_bytes(signature[:32]), int.from_bytes(signature[32:64])
        signed = [*fields, *map(_encode_number, (signature[64], r, s))]
        return _TYPE + _encode_list(signed)

    def _fields(self) -> list[bytes]:
        numbers = (self.chain_id, self.nonce, self.tip, self.fee, self.gas)
        return [
            *map(_encode_number, numbers),
            _encode_bytes(bytes.fromhex(self.call.to[2:])),
            _encode_number(self.call.value),
            _encode_bytes(self.call.data),
            _encode_list([]),  # the access list
        ]


# RLP, of which a transaction needs the three kinds below; see docs/decisions/client-signatures.md.


def _encode_number(number: int) -> bytes:
    return _encode_bytes(number.to_bytes((number.bit_length() + 7) // 8))


def _encode_bytes(data: bytes) -> bytes:
    if len(data) == 1 and data[0] < 0x80:
        return data
    return _encode_length(len(data), 0x80) + data


def _encode_list(items: Sequence[bytes]) -> bytes:
    payload = b"".join(items)
    return _encode_length(len(payload), 0xC0) + payload


def _encode_length(length: int, kind: int) -> bytes:
    if length <= _SHORT:
        return bytes([kind + length])
    size = length.to_bytes((length.bit_length() + 7) // 8)
    return bytes([kind + _SHORT + len(size)]) + size


TIMEOUT = aiohttp.ClientTimeout(total=30)
"""Timeout of a node request in seconds."""


class Provider(Protocol):
    """An object that makes JSON-RPC calls, such as `Node` or a wallet (EIP-1193)."""

    async def request(self, method: str, *params: object) -> Any:
        """Return the result of a call. Raises `NodeError`."""


class Node:
    """A node at a URL. `async with` closes its connections."""

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
