"""The web application: one constructor call over an explicit list of routes."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.routing import Router
from starlette.types import ASGIApp

from imprint.domain.rate_limits import RateLimiter
from imprint.ports import Clock
from imprint.services.drafts import Drafts
from imprint.services.lists import Lists
from imprint.services.login import Login
from imprint.services.readiness import Readiness
from imprint.services.reads import Reads
from imprint.services.webhooks import Webhooks
from imprint.web.cors import admit_origins
from imprint.web.docs.openapi import describe_interface
from imprint.web.docs.page import docs_page
from imprint.web.middleware import RequestMiddleware
from imprint.web.requests import BodyReader
from imprint.web.routes.about import AboutRoutes, ContactRoutes
from imprint.web.routes.gateway import GatewayRoutes
from imprint.web.routes.reads import ReadRoutes
from imprint.web.routes.webhooks import WebhookRoutes
from imprint.web.routes.writes import WriteRoutes
from imprint.web.routing import Route, TableRouter

ALIASES = {"provider-a": "alchemy", "provider-b": "quicknode"}
"""Under which other names the paths of providers are known."""

Lifespan = Callable[[Any], AbstractAsyncContextManager[None]]


@dataclass(frozen=True, slots=True)
class Services:
    """What the routes may ask for."""

    login: Login
    drafts: Drafts
    reading: Reads
    listing: Lists
    confirming: Webhooks
    readiness: Readiness


@dataclass(frozen=True, slots=True)
class WebOptions:
    """How much one client may send and ask, which other origins may, and who hears of it."""

    max_content: int
    max_image: int
    body_timeout: float
    max_concurrent: int
    reads: RateLimiter
    signed: RateLimiter
    cors_origins: tuple[str, ...] = ()
    trusted_proxies: frozenset[str] = frozenset()
    security_contact: str | None = None


def build_app(
    flows: Services, facts: Mapping[str, Any], options: WebOptions, clock: Clock, lifespan: Lifespan
) -> ASGIApp:
    """The application; `facts` is what it tells clients about itself."""
    routes = _routes(flows, facts, options, clock)
    dispatch = TableRouter(routes, Router(lifespan=lifespan))
    return RequestMiddleware(
        admit_origins(dispatch, options.cors_origins),
        clock,
        options.reads,
        options.signed,
        options.max_concurrent,
        options.trusted_proxies,
        frozenset(route.path for route in routes),
    )


def _routes(
    flows: Services, facts: Mapping[str, Any], options: WebOptions, clock: Clock
) -> list[Route]:
    reader = BodyReader(options.body_timeout)
    writes = WriteRoutes(flows.login, flows.drafts, reader, options.max_content, options.max_image)
    reads = ReadRoutes(flows.login, flows.reading, flows.listing)
    webhooks = WebhookRoutes(flows.confirming, reader)
    openapi = describe_interface(facts)
    page = docs_page(openapi).encode()
    contact = ContactRoutes(options.security_contact, clock)
    about = AboutRoutes(facts, msgspec.json.encode(openapi), page, flows.readiness)
    return [
        Route("/filesByTags", reads.files_by_tags),
        Route("/fileByCid", reads.file_by_cid),
        Route("/fileByPostId", reads.file_by_post_id),
        Route("/freeFileByPostId", reads.free_file_by_post_id),
        Route("/pendingFilesByOwner", reads.pending_files_by_owner),
        Route("/filesByNextPageToken", reads.files_by_next_page_token),
        Route("/filesMetaData", reads.files_meta_data),
        Route("/ipfs/{cid}", GatewayRoutes(flows.reading).fetch),
        Route("/auth/login", writes.login, "POST"),
        Route("/create/group", writes.create, "POST"),
        Route("/update/file", writes.update, "POST"),
        Route("/publish/file", writes.publish, "POST"),
        Route("/delete/file", writes.delete, "POST"),
        *(
            Route(f"/webhook/{name}/publish", webhooks.receiver(provider), "POST")
            for provider in flows.confirming.providers
            for name in (provider, ALIASES[provider])
        ),
        Route("/.well-known/imprint.json", about.well_known),
        Route("/.well-known/security.txt", contact.show),
        Route("/openapi.json", about.describe),
        Route("/docs", about.docs),
        Route("/healthz", about.healthz),
        Route("/readyz", about.readyz),
    ]
