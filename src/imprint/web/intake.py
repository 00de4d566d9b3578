"""Intake: the body of a request on its way in, and what is left of it when the answer is ready.

A client that is still sending when its connection is closed never sees the answer: its system
discards it. So what is left of a refused body is taken and thrown away first, within bounds.
"""

import asyncio
from dataclasses import dataclass, field

from starlette.types import Message, Receive, Scope

MAX_DRAINED = 32 * 1024 * 1024
"""Bytes of a refused body that are thrown away: more than anybody sends by mistake."""

DRAIN_SECONDS = 2.0
"""How long a refused client may go on sending."""

_LONGEST = len(str(MAX_DRAINED))


@dataclass(slots=True)
class Intake:
    """Around the `receive` of one request: knows how much came, and whether that was all."""

    scope: Scope
    receive: Receive
    is_complete: bool = field(default=False, init=False)
    _taken: int = field(default=0, init=False)
    _declared: int | None = field(default=None, init=False)
    _asks_first: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        headers = dict(self.scope["headers"])
        length = headers.get(b"content-length", b"")
        if length.isdigit():
            self._declared = int(length[: _LONGEST + 1])
            self.is_complete = self._declared == 0
        elif b"transfer-encoding" not in headers and not length:
            self.is_complete = True
        self._asks_first = headers.get(b"expect", b"").lower() == b"100-continue"

    async def __call__(self) -> Message:
        message = await self.receive()
        if message["type"] != "http.request":
            self.is_complete = True
            return message
        self._taken += len(message.get("body", b""))
        is_all = self._declared is not None and self._taken >= self._declared
        self.is_complete = is_all or not message.get("more_body", False)
        return message

    async def drain(self) -> None:
        """Throw away the rest of the body, if it comes soon and is not out of all proportion."""
        if self.is_complete or not self._is_on_its_way():
            return
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                while not self.is_complete and self._taken <= MAX_DRAINED:
                    await self()
        except TimeoutError:
            pass

    def _is_on_its_way(self) -> bool:
        # Who asks first whether to send has its answer before it sends.
        return not self._asks_first and (self._declared or 0) <= MAX_DRAINED
