"""JSON-RPC over HTTP: one batch per exchange, several nodes, and no strange answer believed."""

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

MAX_ANSWER = 8 * 1024 * 1024
"""How many bytes a node may answer with; the logs of thousands of blocks fit in."""


@dataclass(frozen=True, slots=True)
class Call:
    """One method and its parameters."""

    method: str
    params: tuple[object, ...] = ()


class _Answer(msgspec.Struct):
    """The members of an answer that matter; a missing result is as good as a null one."""

    id: int
    result: Any = None
    error: Any = None


_ANSWERS = msgspec.json.Decoder(list[_Answer])


def mask_address(address: str) -> str:
    """Scheme and host of a node's address: the rest, and who logs in, may be secret."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.hostname}"


class JsonRpc:
    """Asks the first node that serves, beginning with the one that served last.

    Raises ValueError for no address, or one that is not http or https.
    """

    def __init__(self, addresses: Sequence[str], max_answer: int = MAX_ANSWER) -> None:
        if not addresses:
            raise ValueError("At least one address of a node is needed.")
        for address in addresses:
            parts = urlsplit(address)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ValueError(
                    "The address of a node begins with http:// or https:// and a host."
                )
        self._addresses = tuple(addresses)
        self._posters = [HttpClient(address, max_answer) for address in addresses]
        self._healthy = 0
        self._failing: set[int] = set()
        self._ids = itertools.count(1)
        self._closed = False

    async def exchange(
        self, calls: Sequence[Call], read: Callable[[list[object]], Read], deadline: float
    ) -> Read:
        """What `read` makes of the results of one batch, in the order of the calls.

        `deadline` is a time of the running loop. A node fails by its silence, by anything that is
        no answer to this batch, by an error in it, and by a `NodeFailure` or `Unavailable` that
        `read` raises; then the next one is asked. Raises `Unavailable` when all have failed, the
        one that `read` raised if it did.
        """
        if self._closed:
            raise Unavailable.chain()
        failures: list[Exception] = []
        count = len(self._addresses)
        for turn in range(count):
            node = (self._healthy + turn) % count
            now = asyncio.get_running_loop().time()
            try:
                # Each node gets its share of what is left, so that a silent one leaves time.
                async with asyncio.timeout_at(now + (deadline - now) / (count - turn)):
                    results = await self._ask(self._posters[node], calls)
                answer = read(results)
            except (NodeFailure, Unavailable, TimeoutError) as failure:
                self._note_failure(node, failure)
                failures.append(failure)
            else:
                self._note_success(node)
                return answer
        for known in failures:
            if isinstance(known, Unavailable):
                raise known
        raise Unavailable.chain() from failures[-1]

    async def close(self) -> None:
        """Let go of connections; whoever asks afterwards finds the chain unavailable."""
        self._closed = True
        for poster in self._posters:
            poster.close()

    async def _ask(self, poster: HttpClient, calls: Sequence[Call]) -> list[object]:
        ids = [next(self._ids) for _ in calls]
        batch = msgspec.json.encode(
            [
                {"jsonrpc": "2.0", "id": number, "method": call.method, "params": call.params}
                for number, call in zip(ids, calls, strict=True)
            ]
        )
        try:
            body = await poster.post(batch)
        except (OSError, ValueError) as error:
            raise NodeFailure(f"no connection ({type(error).__name__})") from error
        return _match_answers(ids, body)

    def _note_failure(self, node: int, failure: Exception) -> None:
        if node not in self._failing:
            self._failing.add(node)
            reason = str(failure) if isinstance(failure, NodeFailure) else type(failure).__name__
            masked = mask_address(self._addresses[node])
            log.warning("chain node failed", extra={"node": masked, "reason": reason})

    def _note_success(self, node: int) -> None:
        self._healthy = node
        if node in self._failing:
            self._failing.remove(node)
            log.info("chain node is back", extra={"node": mask_address(self._addresses[node])})


def _match_answers(ids: Sequence[int], body: bytes) -> list[object]:
    try:
        answers = _ANSWERS.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise NodeFailure("an answer that is no batch of JSON-RPC") from error
    by_id = {answer.id: answer for answer in answers}
    if len(answers) != len(ids) or by_id.keys() != set(ids):
        raise NodeFailure("an answer to something else")
    failed = [answer.error for answer in answers if answer.error is not None]
    if failed:
        code = failed[0].get("code") if isinstance(failed[0], dict) else None
        raise NodeFailure(f"error {code}" if isinstance(code, int) else "an error without a code")
    return [by_id[number].result for number in ids]
