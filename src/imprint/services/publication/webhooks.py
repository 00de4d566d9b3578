"""Webhooks: applies deliveries of the chain's events, which move files to `onchain`.

Other logs in a delivery make the receiving process drop the cached access decisions that they may
change. The other processes have their own caches, and their watchers read the chain.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from imprint.domain.posts.posts import ApplyResult, DeadLetter, Delivery, EventStatus
from imprint.metrics import DELIVERIES
from imprint.ports import Clock, WebhookProvider
from imprint.services.access.entitlement import Entitlement
from imprint.services.publication.chain_sync import Publications

SMALL_DELIVERY = 64 * 1024
"""Maximum delivery size in bytes for decoding on the event loop, which takes up to 2 ms."""

SMALL_COMPRESSED = 1024
"""Maximum compressed size in bytes of a delivery that is decoded on the event loop."""


@dataclass(frozen=True, slots=True)
class AppliedEvent:
    """One event in a delivery and its status. Unknown values are None."""

    post_id: int | None
    spelled_cid: str | None
    status: EventStatus


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    """The result of a delivery. `events` are in log order."""

    duplicate: bool
    ignored: int
    events: tuple[AppliedEvent, ...] = ()

    @property
    def applied(self) -> int:
        return sum(event.status is EventStatus.ONCHAIN for event in self.events)


@dataclass(frozen=True, slots=True)
class Webhooks:
    """Receives the deliveries of the configured providers."""

    providers: Mapping[str, WebhookProvider]
    publications: Publications
    clock: Clock
    entitlement: Entitlement
    last_received: dict[str, datetime] = field(default_factory=dict, init=False)
    """When this process received each provider's last signed delivery."""
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    def is_connection_test(self, provider: str, headers: Mapping[str, str]) -> bool:
        """Whether the request only tests the URL. If so, the response is `CONNECTION_TEST`."""
        return self.providers[provider].is_connection_test(headers)

    def check_headers(self, provider: str, headers: Mapping[str, str]) -> None:
        """Refuse a delivery whose headers are invalid, before its body is read."""
        self.providers[provider].check_headers(headers, self.clock())

    async def receive(
        self, provider: str, headers: Mapping[str, str], body: bytes
    ) -> DeliveryResult:
        """Verify and decode a delivery, and apply its events.

        Refuses a delivery that the provider has not signed. A signed delivery is never refused for
        its content, because the provider would only send it again.
        """
        delivery = await self._open(self.providers[provider], headers, body)
        self.last_received[provider] = self.clock()
        self._invalidate(delivery)
        if not (delivery.key or delivery.findings):
            DELIVERIES.labels(provider, "false").inc()
            return DeliveryResult(duplicate=False, ignored=delivery.ignored)
        result = await self.publications.deliver(delivery)
        DELIVERIES.labels(provider, str(result.duplicate).lower()).inc()
        if result.duplicate:
            return DeliveryResult(duplicate=True, ignored=delivery.ignored)
        return DeliveryResult(False, delivery.ignored, _applied_events(delivery, result))

    async def _open(
        self, provider: WebhookProvider, headers: Mapping[str, str], body: bytes
    ) -> Delivery:
        """Verify and decode a delivery. Large deliveries are decoded in a thread, one at a time.

        Anybody may send a delivery, so decoding must not block the event loop or occupy all
        processors.
        """
        small = SMALL_COMPRESSED if "content-encoding" in headers else SMALL_DELIVERY
        if len(body) <= small:
            return provider.open(headers, body)
        async with self._opening:
            return await asyncio.to_thread(provider.open, headers, body)

    def _invalidate(self, delivery: Delivery) -> None:
        """Drop the access decisions that the logs of a delivery may change.

        Invalidation comes first, because it needs no database and can safely be repeated.
        """
        if delivery.access_changes is None:
            self.entitlement.invalidate_all()
            return
        for change in delivery.access_changes:
            self.entitlement.invalidate(change.post_id, change.holders)


CONNECTION_TEST = DeliveryResult(duplicate=False, ignored=0)
"""The result of a connection test, which delivers no events."""


def _applied_events(delivery: Delivery, result: ApplyResult) -> tuple[AppliedEvent, ...]:
    """Return the status of each finding in a delivery, in order."""
    statuses = iter(result.statuses)
    return tuple(
        AppliedEvent(None, None, EventStatus.DEAD_LETTER)
        if isinstance(each, DeadLetter)
        else AppliedEvent(each.post_id, each.spelled_cid, next(statuses))
        for each in delivery.findings
    )
