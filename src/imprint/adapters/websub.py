"""A WebSub hub over HTTP."""

import logging
from collections.abc import Sequence
from urllib.parse import urlencode

import aiohttp

log = logging.getLogger(__name__)

TIMEOUT = aiohttp.ClientTimeout(total=10.0)
"""Seconds that a hub may take to accept a notification."""


class HttpHub:
    """`Hub` at the operator's URL. Redirects are not followed."""

    def __init__(self, address: str) -> None:
        self._address = address

    async def publish(self, topics: Sequence[str]) -> bool:
        body = urlencode([("hub.mode", "publish"), *(("hub.url", topic) for topic in topics)])
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        try:
            # A new connection each time: notifications are rare, and a pool would have to be
            # closed. The body of the response is not read.
            async with (
                aiohttp.ClientSession(timeout=TIMEOUT) as session,
                session.post(
                    self._address, data=body, headers=headers, allow_redirects=False
                ) as response,
            ):
                accepted = 200 <= response.status < 300
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            log.debug("the hub does not respond", extra={"reason": type(error).__name__})
            return False
        if not accepted:
            log.debug("the hub refuses a notification", extra={"status": response.status})
        return accepted
