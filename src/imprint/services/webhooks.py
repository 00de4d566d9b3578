"""Webhooks: deliveries of the chain's events move files from `pending` to `onchain`."""

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
    """One log of ours in a delivery, and what became of it; a dead letter names no post."""

    post_id: int | None
    spelled_cid: str | None
    status: EventStatus


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a provider is told about its delivery."""

    duplicate: bool
    ignored: int
    events: tuple[AppliedEvent, ...]

    @property
    def applied(self) -> int:
        return sum(event.status is EventStatus.ONCHAIN for event in self.events)


@dataclass(frozen=True, slots=True)
class Webhooks:
    """Takes deliveries of those providers that have a reader.

    Each event counts once, whoever brings it and however often.
    """

    readers: Mapping[str, WebhookProvider]
    catalog: Catalog
    clock: Clock
    mirror: LabelUpdater

    def check_headers(self, provider: str, headers: Mapping[str, str]) -> None:
        """Refuses a delivery that cannot be the provider's, before anybody reads its body."""
        self.readers[provider].check_headers(headers, self.clock())

    async def receive(self, provider: str, headers: Mapping[str, str], body: bytes) -> Receipt:
        """Verify, decode, and keep a delivery.

        Refuses one that is not signed by the provider. What is signed is never refused for what it
        says: the provider would only send it again.
        """
        now = self.clock()
        delivery = self.readers[provider].open(headers, body, now)
        if not (delivery.key or delivery.events or delivery.dead_letters):
            DELIVERIES.labels(provider, "false").inc()
            return Receipt(False, delivery.ignored, ())
        settled = await self.catalog.apply_events(
            delivery.key, delivery.events, delivery.dead_letters, now
        )
        DELIVERIES.labels(provider, str(settled.duplicate).lower()).inc()
        if settled.duplicate:
            return Receipt(True, delivery.ignored, ())
        events = [
            AppliedEvent(event.post_id, event.spelled_cid, status)
            for event, status in zip(delivery.events, settled.statuses, strict=True)
        ]
        events += [AppliedEvent(None, None, EventStatus.DEAD_LETTER)] * len(delivery.dead_letters)
        for event in delivery.events:
            self.mirror.note(event.cid)
        _report(provider, events)
        return Receipt(False, delivery.ignored, tuple(events))


def _report(provider: str, events: list[AppliedEvent]) -> None:
    for event in events:
        EVENTS.labels(provider, event.status.value).inc()
        quiet = event.status in (EventStatus.ONCHAIN, EventStatus.ALREADY_ONCHAIN)
        log.log(
            logging.INFO if quiet else logging.WARNING,
            "event settled",
            extra={"provider": provider, "post_id": str(event.post_id), "status": event.status},
        )
