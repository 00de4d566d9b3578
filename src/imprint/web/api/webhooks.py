"""The webhook endpoints of the two providers."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from imprint.domain.errors import Unavailable
from imprint.domain.rate_limits import RateLimiter
from imprint.ports import Monotonic
from imprint.services.publication.webhooks import CONNECTION_TEST, Webhooks
from imprint.web.http.requests import BodyReader, client_of
from imprint.web.http.responses import PRIVATE, delivery_response, json_response

MAX_DELIVERY = 16 * 1024 * 1024
"""Maximum size of a delivery in bytes. A block full of marketplace logs is far smaller."""


@dataclass(frozen=True, slots=True)
class WebhookRoutes:
    """Pass raw bytes to the service. Nothing is parsed before the signature is verified."""

    webhooks: Webhooks
    bodies: BodyReader
    unverified: RateLimiter
    monotonic: Monotonic

    def receiver(self, provider: str) -> Callable[[Request], Awaitable[Response]]:
        """Return the endpoint of one provider."""

        async def receive(request: Request) -> Response:
            # Counted before anything is read, and uncounted if the provider's signature is valid.
            client = client_of(request)
            self.unverified.admit(client, self.monotonic())
            body = self.bodies.open(request, MAX_DELIVERY)
            if self.webhooks.is_connection_test(provider, request.headers):
                return json_response(delivery_response(CONNECTION_TEST), PRIVATE)
            self.webhooks.check_headers(provider, request.headers)
            content = await body.read()
            try:
                result = await self.webhooks.receive(provider, request.headers, content)
            except Unavailable:
                self.unverified.take_back(client)
                raise
            self.unverified.take_back(client)
            return json_response(delivery_response(result), PRIVATE)

        return receive
