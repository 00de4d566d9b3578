"""Responses to a provider's delivery of the marketplace's logs."""

from typing import Annotated

from msgspec import Struct

from imprint.domain.posts.posts import EventStatus as Status
from imprint.interface.values import Count, PostId, doc

EventStatus = Annotated[
    str,
    doc("What became of an event.", title="EventStatus", enum=[each.value for each in Status]),
]


class EventResponse(Struct, frozen=True, rename="camel"):
    """The result of one event of a delivery."""

    post_id: PostId | None
    post_cid: Annotated[str | None, doc("The cid as the event spells it.")]
    status: EventStatus


class DeliveryResponse(Struct, frozen=True):
    """The result of a delivery."""

    success: Annotated[bool, doc("Always `true`.")]
    applied: Annotated[Count, doc("Events that were applied.")]
    ignored: Annotated[Count, doc("Logs that were ignored.")]
    duplicate: Annotated[bool, doc("Whether it was delivered before.")]
    events: Annotated[
        tuple[EventResponse, ...], doc("Events and dead letters in the order of the logs.")
    ]
