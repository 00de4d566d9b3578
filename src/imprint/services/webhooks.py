"""Webhooks: applies deliveries of the chain's events, which move files to `onchain`."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from imprint.domain.posts import EventStatus
from imprint.metrics import DELIVERIES, EVENTS
from imprint.ports import Catalog, Clock, WebhookProvider
from imprint.services.labels import LabelUpdater

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AppliedEvent:
    """One event of a delivery and its status; a dead letter has no post id and no cid."""

    post_id: int | None
    spelled_cid: str | None
    status: EventStatus


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    """The result of a delivery."""

    duplicate: bool
    ignored: int
    events: tuple[AppliedEvent, ...] = ()

    @property
    def applied(self) -> int:
        return sum(event.status is EventStatus.ONCHAIN for event in self.events)


@dataclass(frozen=True, slots=True)
class Webhooks:
    """Receives the deliveries of the configured providers.

    Each event is applied once, whichever provider sends it and however often.
    """

    providers: Mapping[str, WebhookProvider]
    catalog: Catalog
    clock: Clock
    labels: LabelUpdater

    def check_headers(self, provider: str, headers: Mapping[str, str]) -> None:
        """Refuse a delivery that its headers alone prove invalid, before its body is read."""
        self.providers[provider].check_headers(headers, self.clock())

    async def receive(
        self, provider: str, headers: Mapping[str, str], body: bytes
    ) -> DeliveryResult:
        """Verify and decode a delivery, and apply its events.

        Refuses a delivery that the provider has not signed. One that is signed is never refused
        for its content: the provider would only send it again.
        """
        delivery = self.providers[provider].open(headers, body)
        if not (delivery.key or delivery.events or delivery.dead_letters):
            DELIVERIES.labels(provider, "false").inc()
            return DeliveryResult(duplicate=False, ignored=delivery.ignored)
        result = await self.catalog.apply_events(
            delivery.key, delivery.events, delivery.dead_letters, self.clock()
        )
        DELIVERIES.labels(provider, str(result.duplicate).lower()).inc()
        if result.duplicate:
            return DeliveryResult(duplicate=True, ignored=delivery.ignored)
        applied = [
            AppliedEvent(event.post_id, event.spelled_cid, status)
            for event, status in zip(delivery.events, result.statuses, strict=True)
        ]
        applied += [AppliedEvent(None, None, EventStatus.DEAD_LETTER)] * len(delivery.dead_letters)
        for each in applied:
            record_event(provider, each.post_id, each.status)
        for event in delivery.events:
            self.labels.enqueue(event.cid)
        return DeliveryResult(False, delivery.ignored, tuple(applied))


def record_event(source: str, post_id: int | None, status: EventStatus) -> None:
    """Count and log an event from a provider or the follower that the catalog has applied."""
    EVENTS.labels(source, status.value).inc()
    expected = status in (EventStatus.ONCHAIN, EventStatus.ALREADY_ONCHAIN)
    log.log(
        logging.INFO if expected else logging.WARNING,
        "event applied",
        extra={"provider": source, "post_id": str(post_id), "status": status},
    )
