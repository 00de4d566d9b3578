"""The webhook endpoints of the two providers."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from imprint.services.webhooks import Webhooks
from imprint.web.requests import BodyReader
from imprint.web.responses import PRIVATE, delivery_response, json_response

MAX_DELIVERY = 16 * 1024 * 1024
"""Bytes of a delivery; a block full of our logs is far below it."""


@dataclass(frozen=True, slots=True)
class WebhookRoutes:
    """Pass raw bytes to the service: nothing is parsed before the signature is verified."""

    webhooks: Webhooks
    bodies: BodyReader

    def receiver(self, provider: str) -> Callable[[Request], Awaitable[Response]]:
        """The endpoint of one provider."""

        async def receive(request: Request) -> Response:
            body = self.bodies.open(request, MAX_DELIVERY)
            self.webhooks.check_headers(provider, request.headers)
            result = await self.webhooks.receive(provider, request.headers, await body.read())
            return json_response(delivery_response(result), PRIVATE)

        return receive
