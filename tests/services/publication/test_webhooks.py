import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.world import World

from imprint.domain.errors import Code, Refusal
from imprint.domain.posts.posts import Delivery
from imprint.services.access.entitlement import Entitlement
from imprint.services.content.labels import LabelUpdater
from imprint.services.publication.chain_sync import Publications
from imprint.services.publication.webhooks import SMALL_COMPRESSED, SMALL_DELIVERY, Webhooks

GZIPPED = {"content-encoding": "gzip"}


@dataclass(slots=True)
class Forged:
    """A provider that rejects every signature, and records the threads in which it is called."""

    threads: list[threading.Thread] = field(default_factory=list)
    name: str = "provider-b"

    def check_headers(self, headers: Mapping[str, str], now: datetime) -> None:
        return None

    def open(self, headers: Mapping[str, str], body: bytes) -> Delivery:
        self.threads.append(threading.current_thread())
        raise Refusal(Code.WEBHOOK_SIGNATURE_INVALID, "Forged.")


@pytest.mark.parametrize(
    ("headers", "size", "on_loop"),
    [
        ({}, SMALL_DELIVERY, True),
        ({}, SMALL_DELIVERY + 1, False),
        (GZIPPED, SMALL_COMPRESSED, True),
        (GZIPPED, SMALL_COMPRESSED + 1, False),
    ],
)
async def test_a_possibly_large_delivery_is_verified_in_a_thread(
    world: World, headers: dict[str, str], size: int, on_loop: bool
) -> None:
    provider, adapters = Forged(), world.adapters
    labels = LabelUpdater(adapters.stores.files, adapters.content)
    entitlement = Entitlement(adapters.marketplace, world.clock.monotonic, timedelta(0))
    given: dict[str, Any] = {"provider-b": provider}
    webhooks = Webhooks(
        given, Publications(adapters.stores.events, world.clock, labels), world.clock, entitlement
    )
    with pytest.raises(Refusal):
        await webhooks.receive("provider-b", headers, b"x" * size)
    (thread,) = provider.threads
    assert (thread is threading.current_thread()) is on_loop
