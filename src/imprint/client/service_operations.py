"""Operations of the service itself."""

from typing import Any

from imprint.client.connection import Connection
from imprint.client.records import Health, MarketplaceFacts, Readiness, ServiceFacts


class ServiceOperations(Connection):
    """Facts, description and health."""

    async def get_service_facts(self) -> ServiceFacts:
        """Return what the service says of itself now."""
        return await self._read("/.well-known/imprint.json", ServiceFacts)

    async def get_marketplace(self) -> MarketplaceFacts:
        """Return the marketplace contract with its interface."""
        return await self._read("/.well-known/marketplace.json", MarketplaceFacts)

    async def get_openapi(self) -> dict[str, Any]:
        """Return the description of the interface."""
        return await self._read("/openapi.json", dict[str, Any])

    async def check_health(self) -> Health:
        """Return that the service runs."""
        return await self._read("/healthz", Health)

    async def check_readiness(self) -> Readiness:
        """Return whether the service can work, and what is not well."""
        return (await self._request("GET", "/readyz", expected=(503,))).decode(Readiness)
