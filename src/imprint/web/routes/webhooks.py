"""The endpoints of the two providers of deliveries."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from imprint.services.webhooks import Webhooks
from imprint.web.requests import BodyReader, check_length
from imprint.web.responses import PRIVATE, delivery_answer, json_response

MAX_DELIVERY = 16 * 1024 * 1024
"""Bytes of a delivery: a block full of our logs is far below it."""


@dataclass(frozen=True, slots=True)
class WebhookRoutes:
    """Raw bytes to the flow; nothing is parsed here, because nothing is verified yet."""

    confirming: Webhooks
    reader: BodyReader

    def receiver(self, provider: str) -> Callable[[Request], Awaitable[Response]]:
        """The endpoint of one provider."""

        async def receive(request: Request) -> Response:
            check_length(request, MAX_DELIVERY)
            self.confirming.check_headers(provider, request.headers)
            body = await self.reader.read(request, MAX_DELIVERY)
            receipt = await self.confirming.receive(provider, request.headers, body)
            return json_response(delivery_answer(receipt), PRIVATE)

        return receive
