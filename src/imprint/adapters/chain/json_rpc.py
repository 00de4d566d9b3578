"""JSON-RPC client over HTTP: one batch per exchange, with failover to the next node."""

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

import msgspec

from imprint.adapters.chain.http_client import HttpClient, NodeFailure, NodeRefusal
from imprint.domain.errors import Unavailable
from imprint.domain.formats.hexadecimal import NotHexadecimal, parse_hash, parse_hex_number
from imprint.ports.installation import NodeStatus
from imprint.traces import timed_call

log = logging.getLogger(__name__)

Read = TypeVar("Read")

Attempt = Callable[[int], Awaitable[Read]]
"""Queries the node with this index. Raises `NodeFailure`, `Unavailable` or `TimeoutError`."""

MAX_RESPONSE = 1024 * 1024
"""Default size limit of a response in bytes. On the largest chains, a block lists several thousand
transactions."""

SMALL_RESPONSE = 64 * 1024
"""Responses with fewer bytes than this are decoded without first counting their values."""

LEAST_VALUE = 16
"""Minimum average size in bytes of the values in a large response. Blocks, receipts and logs are
larger. Millions of smaller values would take many times the memory of the response."""

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
"""Shortest and longest time in seconds to skip a failed node. Each failure doubles the time."""

HEADS_TIMEOUT = 2.0
"""Timeout in seconds for fetching the heads of all nodes. Slower nodes are not compared."""

MAX_HEAD_AGES = {
    **dict.fromkeys((1, 17000, 560048, 11155111), 180.0),
    **dict.fromkeys((100, 137, 10200, 43113, 43114, 80002, 421614), 120.0),
    **dict.fromkeys((10, 56, 97, 130, 324, 480, 1301, 5000, 8453, 42161, 42220), 60.0),
    **dict.fromkeys((59144, 81457, 84532, 534352, 7777777, 11155420), 60.0),
}
"""Seconds after which a public chain's newest block is considered too old, by chain id. Each limit
is at least ten times the block time. Chains that make blocks on demand, such as development chains,
have no such limit."""

MAX_LAG_BLOCKS = 16
"""Number of blocks by which a node may lag behind another."""

MAX_LAG_SECONDS = 60
"""Seconds by which a node's newest block may be older than a later block of another node."""

HEAD_VALIDITY = 60.0
"""Seconds for which a node's head is compared with other heads."""

REFRESH_SECONDS = 10.0
"""Seconds until the heads of several nodes are due to be fetched again."""


class ChainMisconfigured(Unavailable):
    """A node is on another chain, or the contract is missing. `sentence` is for the operator.

    Clients are told only that the chain is unavailable. At start-up, the sentence is printed.
    """

    def __init__(self, sentence: str) -> None:
        unavailable = Unavailable.chain()
        super().__init__(unavailable.code, unavailable.detail)
        self.sentence = sentence


def check_chain_id(result: object, configured: int) -> None:
    """Raise `ChainMisconfigured` if the node is on another chain, and `NodeFailure` for a bad
    result."""
    try:
        found = parse_hex_number(result)
    except NotHexadecimal as error:
        raise NodeFailure("a result is not hexadecimal") from error
    if found != configured:
        raise ChainMisconfigured(
            f"The node is on chain {found}, but chain {configured} is configured."
        )


@dataclass(frozen=True, slots=True)
class Call:
    """A JSON-RPC method and its parameters."""

    method: str
    params: tuple[object, ...] = ()


class _Response(msgspec.Struct):
    """The fields of a response that this client reads. A missing result is equivalent to null."""

    id: int
    result: Any = None
    error: Any = None


class _RawResponse(msgspec.Struct):
    """A response whose result is decoded later, in pieces."""

    id: int
    result: msgspec.Raw = msgspec.Raw(b"null")
    error: Any = None


_BATCH_DECODER = msgspec.json.Decoder(list[_Response])
_RAW_BATCH_DECODER = msgspec.json.Decoder(list[_RawResponse])


class Head(NamedTuple):
    """A node's newest block, with its time in seconds."""

    number: int
    timestamp: int
    hash: str


@dataclass(slots=True)
class NodeHeads:
    """The head of each node by node index, and the time at which it was seen.

    A lagging node would still grant access to somebody who has given their token away, so it is not
    trusted. A node's head is compared with the clock and with the heads of other nodes.
    """

    shown: dict[int, tuple[Head, float]] = field(default_factory=dict)
    highest: dict[int, int] = field(default_factory=dict)
    complete_until: float = 0.0

    def check(self, node: int, head: Head, now: float) -> None:
        """Record a node's head. Raises `NodeFailure` if the node is too far behind another."""
        self.shown[node] = head, now
        if head.number > self.highest.get(node, -1):
            self.highest[node] = head.number
        if len(self.shown) == 1:
            return
        for other, seen_at in self.shown.values():
            blocks = other.number - head.number
            late = blocks > 0 and other.timestamp - head.timestamp > MAX_LAG_SECONDS
            if (blocks > MAX_LAG_BLOCKS or late) and now - seen_at < HEAD_VALIDITY:
                raise NodeFailure(f"the newest block is {blocks} blocks behind another node's")


_OF_HEAD = frozenset({"eth_blockNumber", "eth_chainId", "eth_getBlockByNumber"})
"""Methods that query only the chain id and the newest block."""


class JsonRpc:
    """Sends batches to the first working node, in the order of the addresses.

    A failed node is skipped for a while, unless all nodes have failed. Raises ValueError if there
    is no address, or if an address is not http or https.
    """

    def __init__(self, addresses: Sequence[str], max_response: int = MAX_RESPONSE) -> None:
        if not addresses:
            raise ValueError("At least one node address is needed.")
        for address in addresses:
            parts = urlsplit(address)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ValueError(
                    "The address of a node must start with http:// or https:// and name a host."
                )
        self.heads = NodeHeads()
        self._addresses = tuple(addresses)
        self._nodes = tuple(range(len(addresses)))
        self._clients = [HttpClient(address, max_response) for address in addresses]
        self._failing: set[int] = set()
        self._pauses: dict[int, tuple[float, float]] = {}
        self._ids = itertools.count(1)
        self._learning: asyncio.Task[object] | None = None
        self._closed = False

    async def exchange(
        self, calls: Sequence[Call], read: Callable[[list[Any]], Read], deadline: float
    ) -> Read:
        """Send a batch and return the result of `read`, which gets the results in call order.

        In all other respects, this is like `ask_one`. `read` may raise `NodeFailure` and
        `Unavailable`.
        """

        async def attempt(node: int) -> Read:
            return read(await self.send(node, calls))

        return await self.ask_one(attempt, deadline)

    async def ask_one(self, attempt: Attempt[Read], deadline: float) -> Read:
        """Return the result of `attempt` from the first node that does not fail.

        `deadline` is in loop time. A node fails if it does not respond, if its response has an
        error or does not match the batch, or if the attempt raises `NodeFailure` or `Unavailable`.
        When all nodes have failed, raises the `Unavailable` of an attempt, or a new `Unavailable`.
        """
        nodes, failures = self._order(), list[Exception]()
        try:
            return await self._ask_next(iter(nodes), len(nodes), attempt, deadline, failures)
        finally:
            # An exception in a local variable of its own traceback is a reference cycle.
            failures.clear()

    async def ask_another(self, node: int, attempt: Attempt[Read], deadline: float) -> Read:
        """Return the result of `attempt` from a node other than `node` that is not being skipped.

        Raises `Unavailable` as `ask_one` does, and if there is no other node.
        """
        others, failures = [each for each in self._ready() if each != node], list[Exception]()
        try:
            return await self._ask_next(iter(others), len(others), attempt, deadline, failures)
        finally:
            failures.clear()

    async def ask_several(
        self, attempt: Attempt[Read], deadline: float, wanted: int, least: int = 1
    ) -> list[Read]:
        """Run `attempt` on up to `wanted` nodes concurrently and return the results.

        A failed node is replaced by the next one. Raises `Unavailable` as `ask_one` does if fewer
        than `least` nodes are left.
        """
        return await self._ask_together(self._order(), attempt, deadline, wanted, least)

    async def _ask_together(
        self,
        nodes: Sequence[int],
        attempt: Attempt[Read],
        deadline: float,
        wanted: int,
        least: int,
    ) -> list[Read]:
        failures = list[Exception]()
        turns, rounds = iter(nodes), -(-len(nodes) // wanted)
        results = await asyncio.gather(
            *(
                self._ask_next(turns, rounds, attempt, deadline, failures)
                for _ in range(min(wanted, len(nodes)))
            ),
            return_exceptions=True,
        )
        found = [each for each in results if not isinstance(each, BaseException)]
        problems = [each for each in results if isinstance(each, BaseException)]
        results.clear()
        failures.clear()
        while problems:
            if len(found) < least or not isinstance(problems[0], Unavailable):
                raise problems.pop(0)
            del problems[0]
        if len(found) < least:
            raise Unavailable.chain()
        return found

    async def learn_heads(self, chain_id: int, deadline: float) -> dict[int, Head]:
        """The newest blocks of nodes that are neither skipped nor far behind.

        Raises `Unavailable` if there is no such node.
        """

        async def attempt(node: int) -> tuple[int, Head]:
            calls = Call("eth_chainId"), Call("eth_getBlockByNumber", ("latest", False))
            results = await self.send(node, calls)
            check_chain_id(results[0], chain_id)
            head = read_head(results[1])
            self.check_head(node, head)
            return node, head

        nodes = self._ready()
        if len(self._nodes) > 1:
            deadline = min(deadline, asyncio.get_running_loop().time() + HEADS_TIMEOUT)
        found = await self._ask_together(nodes, attempt, deadline, wanted=len(nodes), least=1)
        now = asyncio.get_running_loop().time()
        self.heads.complete_until = now + REFRESH_SECONDS
        heads = {}
        for node, head in found:
            try:
                # Checked again, because a node that is ahead may have responded after this one.
                self.heads.check(node, head, now)
            except NodeFailure as failure:
                self._note_failure(node, failure)
            else:
                heads[node] = head
        if not heads:
            raise Unavailable.chain()
        return heads

    def needs_heads(self) -> bool:
        """Whether there are several nodes and their heads are due to be fetched again."""
        if len(self._nodes) == 1:
            return False
        return asyncio.get_running_loop().time() >= self.heads.complete_until

    async def refresh_heads(self, chain_id: int, deadline: float) -> None:
        """Fetch the heads of all nodes in at most half of the remaining time. Failures are
        recorded, not raised."""
        now = asyncio.get_running_loop().time()
        if self._learning is None or self._learning.done():
            until = now + (deadline - now) / 2
            self._learning = asyncio.create_task(self._try_heads(chain_id, until))
        await asyncio.shield(self._learning)

    async def _try_heads(self, chain_id: int, deadline: float) -> None:
        try:
            await self.learn_heads(chain_id, deadline)
        except Unavailable:
            # The next exchange reports the failure. Pause, so that not every read causes a retry.
            now = asyncio.get_running_loop().time()
            self.heads.complete_until = max(self.heads.complete_until, now + FIRST_PAUSE)

    def check_head(self, node: int, head: Head) -> None:
        """Record a node's head. Raises `NodeFailure` if the node is too far behind another."""
        self.heads.check(node, head, asyncio.get_running_loop().time())

    def report_nodes(self) -> list[NodeStatus]:
        """The state of each node, in the order of the addresses."""
        now = asyncio.get_running_loop().time()
        found = []
        for node, address in enumerate(self._addresses):
            head, shown_at = self.heads.shown.get(node, (None, now))
            found.append(
                NodeStatus(
                    mask_address(address),
                    node in self._failing,
                    None if head is None else head.number,
                    None if head is None else now - shown_at,
                )
            )
        return found

    async def close(self) -> None:
        """Close all connections. Later exchanges raise `Unavailable`."""
        self._closed = True
        for client in self._clients:
            client.close()

    async def send(self, node: int, calls: Sequence[Call]) -> list[Any]:
        """The results of one batch from one node. Raises `NodeFailure`."""
        return _without_refusals(await self.send_each(node, calls))

    async def send_each(self, node: int, calls: Sequence[Call]) -> list[Any]:
        """The results of one batch from one node, with a `NodeRefusal` for each refused `eth_call`.

        Raises `NodeFailure` if the node refused another call, or the batch as a whole.
        """
        results = await self._send(node, calls, _BATCH_DECODER, None)
        pairs = zip(calls, results, strict=True)
        _without_refusals([result for call, result in pairs if call.method in _OF_HEAD])
        return results

    async def send_raw(
        self, node: int, calls: Sequence[Call], max_response: int
    ) -> list[msgspec.Raw]:
        """The undecoded results of one batch, limited to `max_response` bytes. Raises
        `NodeFailure`."""
        return _without_refusals(await self._send(node, calls, _RAW_BATCH_DECODER, max_response))

    async def _send(
        self,
        node: int,
        calls: Sequence[Call],
        decoder: "msgspec.json.Decoder[Any]",
        max_response: int | None,
    ) -> list[Any]:
        ids = [next(self._ids) for _ in calls]
        batch = msgspec.json.encode(
            [
                {"jsonrpc": "2.0", "id": number, "method": call.method, "params": call.params}
                for number, call in zip(ids, calls, strict=True)
            ]
        )
        with timed_call("chain", _name_batch(calls)):
            try:
                body = await self._clients[node].post(batch, max_response)
            except (OSError, ValueError) as error:
                raise NodeFailure(f"no connection ({type(error).__name__})") from error
            return _match_results(ids, body, decoder)

    async def _ask_next(
        self,
        turns: Iterator[int],
        rounds: int,
        attempt: Attempt[Read],
        deadline: float,
        failures: list[Exception],
    ) -> Read:
        """Query the nodes one after another, each in an equal share of the remaining time."""
        loop = asyncio.get_running_loop()
        for node in turns:
            now = loop.time()
            rounds = max(1, rounds)
            try:
                # Only a share of the time, so that an unresponsive node leaves some for the next.
                async with asyncio.timeout_at(now + (deadline - now) / rounds):
                    found = await attempt(node)
            except (NodeFailure, Unavailable, TimeoutError) as failure:
                self._note_failure(node, failure)
                failures.append(_without_frames(failure))
                rounds -= 1
            else:
                if self._failing:
                    self._note_success(node)
                return found
        for each in failures:
            if isinstance(each, Unavailable):
                try:
                    raise each
                finally:
                    del each
        raise Unavailable.chain() from (failures[-1] if failures else None)

    def _order(self) -> Sequence[int]:
        """The order in which nodes are queried: those that failed recently come last."""
        if self._closed:
            raise Unavailable.chain()
        if not self._pauses:
            return self._nodes
        ready = self._ready()
        return [*ready, *(node for node in self._nodes if node not in ready)]

    def _ready(self) -> Sequence[int]:
        """The nodes that are not skipped, or all of them if all have failed."""
        now = asyncio.get_running_loop().time()
        ready = [node for node in self._nodes if self._pauses.get(node, (0.0, 0.0))[0] <= now]
        return ready or self._nodes

    def _note_failure(self, node: int, failure: Exception) -> None:
        if not isinstance(failure, NodeRefusal):
            now = asyncio.get_running_loop().time()
            until, length = self._pauses.get(node, (0.0, 0.0))
            if until <= now:
                # Concurrent failures lengthen the pause only once.
                length = min(max(FIRST_PAUSE, 2 * length), LONGEST_PAUSE)
                self._pauses[node] = now + length, length
        if node not in self._failing:
            self._failing.add(node)
            reason = str(failure) if isinstance(failure, NodeFailure) else type(failure).__name__
            masked = mask_address(self._addresses[node])
            log.warning("chain node failed", extra={"node": masked, "reason": reason})

    def _note_success(self, node: int) -> None:
        self._pauses.pop(node, None)
        if node in self._failing:
            self._failing.remove(node)
            log.info("chain node is back", extra={"node": mask_address(self._addresses[node])})


def _name_batch(calls: Sequence[Call]) -> str:
    """The main method of a batch, ignoring the chain-id and head calls around it."""
    return next((each.method for each in calls if each.method not in _OF_HEAD), calls[-1].method)


def mask_address(address: str) -> str:
    """The scheme and host of a node's address. The path and credentials are secret."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.hostname}"


def read_head(block: object) -> Head:
    """The number, time and hash of a block. Raises `NodeFailure`."""
    if not isinstance(block, dict):
        raise NodeFailure("the newest block is malformed")
    try:
        number, timestamp = map(parse_hex_number, (block.get("number"), block.get("timestamp")))
        return Head(number, timestamp, parse_hash(block.get("hash")))
    except NotHexadecimal as error:
        raise NodeFailure("a result is not hexadecimal") from error


def _without_frames(failure: Exception) -> Exception:
    """Strip the tracebacks from a failure, because their frames keep the response in memory."""
    error: BaseException | None = failure
    while error is not None:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__
    return failure


def _match_results(
    ids: Sequence[int], body: bytearray, decoder: "msgspec.json.Decoder[Any]"
) -> list[Any]:
    """The results in a response, in the order of the ids, with a `NodeRefusal` for each error.

    Raises `NodeFailure`.
    """
    if len(body) > SMALL_RESPONSE and body.count(b",") > len(body) // LEAST_VALUE:
        raise NodeRefusal("the response has too many values")
    try:
        responses = decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise NodeFailure("the response is not a JSON-RPC batch") from error
    by_id = {response.id: response for response in responses}
    if len(responses) != len(ids) or by_id.keys() != set(ids):
        raise NodeFailure("the response does not match the request")
    found = [by_id[number] for number in ids]
    return [each.result if each.error is None else _refusal(each.error) for each in found]


def _refusal(error: object) -> NodeRefusal:
    code = error.get("code") if isinstance(error, dict) else None
    return NodeRefusal(f"error {code}" if isinstance(code, int) else "an error without a code")


def _without_refusals(results: list[Any]) -> list[Any]:
    """Return the results. Raises the first `NodeRefusal` among them."""
    for each in results:
        if isinstance(each, NodeRefusal):
            raise each
    return results
