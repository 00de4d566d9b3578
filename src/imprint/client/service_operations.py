"""Operations of the service itself, and what it has for programs that read the web."""

from typing import Any
from urllib.parse import quote

from imprint.client.connection import Connection
from imprint.client.records import Health, MarketplaceFacts, Readiness, ServiceFacts


class ServiceOperations(Connection):
    """Facts, health, documentation and texts for machines."""

    async def get_service_facts(self) -> ServiceFacts:
        """Return what the service says of itself now."""
        return await self._read("/.well-known/imprint.json", ServiceFacts)

    async def get_marketplace(self) -> MarketplaceFacts:
        """Return the marketplace contract with its interface."""
        return await self._read("/.well-known/marketplace.json", MarketplaceFacts)

    async def get_security_contact(self) -> str:
        """Return whom to tell of a vulnerability."""
        return await self._read_text("/.well-known/security.txt", "text/plain")

    async def get_openapi(self) -> dict[str, Any]:
        """Return the description of the interface."""
        return await self._read("/openapi.json", dict[str, Any])

    async def get_docs(self) -> str:
        """Return the page that documents the interface."""
        return await self._read_text("/docs", "text/html")

    async def check_health(self) -> Health:
        """Return that the service runs."""
        return await self._read("/healthz", Health)

    async def check_readiness(self) -> Readiness:
        """Return whether the service can work, and what is not well."""
        return (await self._request("GET", "/readyz", expected=(503,))).decode(Readiness)

    async def get_post_markdown(self, id: str | int) -> str:  # noqa: A002 - as in the path
        """Return a post as Markdown."""
        return await self._read_text(f"/posts/{quote(str(id), safe='')}.md", "text/markdown")

    async def get_llms_text(self) -> str:
        """Return the description of the place for language models."""
        return await self._read_text("/llms.txt", "text/markdown")

    async def get_robots_text(self) -> str:
        """Return what crawlers may do."""
        return await self._read_text("/robots.txt", "text/plain")

    async def get_sitemap(self) -> str:
        """Return the index of the sitemap."""
        return await self._read_text("/sitemap.xml", "application/xml")

    async def get_sitemap_page(self, start: str | int) -> str:
        """Return one part of the sitemap."""
        return await self._read_text(
            f"/sitemaps/{quote(str(start), safe='')}.xml", "application/xml"
        )
