"""Large webhook deliveries, which anybody can send, do not block the event loop."""

import asyncio
import gzip
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from tests.world import open_world, problem

from imprint.bootstrap import Adapters
from imprint.domain.posts.posts import Delivery
from imprint.ports import WebhookProvider


@dataclass(slots=True)
class WatchedProvider:
    """A provider that records which thread opens each delivery, and how many are open at once."""

    provider: WebhookProvider
    name: str = field(init=False)
    threads: list[threading.Thread] = field(default_factory=list)
    most: int = 0
    _running: int = 0

    def __post_init__(self) -> None:
        self.name = self.provider.name

    def is_connection_test(self, headers: Mapping[str, str]) -> bool:
        return self.provider.is_connection_test(headers)

    def check_headers(self, headers: Mapping[str, str], now: datetime) -> None:
        self.provider.check_headers(headers, now)

    def open(self, headers: Mapping[str, str], body: bytes) -> Delivery:
        self.threads.append(threading.current_thread())
        self._running += 1
        self.most = max(self.most, self._running)
        try:
            return self.provider.open(headers, body)
        finally:
            self._running -= 1


async def test_large_deliveries_are_opened_one_at_a_time_outside_the_event_loop(
    tmp_path: Path,
) -> None:
    watched: dict[str, WebhookProvider] = {}

    def watch(adapters: Adapters) -> Adapters:
        given = adapters.webhook_providers
        watched.update({name: WatchedProvider(each) for name, each in given.items()})
        return replace(adapters, webhook_providers=watched)

    async with open_world(tmp_path, adapt=watch) as world:
        provider = watched["provider-b"]
        assert isinstance(provider, WatchedProvider)
        small, compressed = json.dumps({"a": ""}).encode(), gzip.compress(bytes(8_000_000))
        large = json.dumps({"a": "a" * 100_000}).encode()
        headers = {
            "x-qn-nonce": "n" * 16,
            "x-qn-timestamp": str(world.clock.seconds),
            "x-qn-signature": "0" * 64,
        }
        bomb = headers | {"content-encoding": "gzip"}
        bombs = [world.deliver("provider-b", compressed, bomb) for _ in range(4)]
        for response in await asyncio.gather(*bombs):
            assert problem(response) == (401, "webhook_signature_invalid")
        assert (await world.send_b(large)).status_code == 200
        assert threading.current_thread() not in provider.threads
        assert (len(provider.threads), provider.most) == (5, 1)
        assert (await world.send_b(small)).status_code == 200
        assert provider.threads[-1] is threading.current_thread()
