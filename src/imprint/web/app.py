"""The web application, constructed from lists of routes, middleware and error handlers."""

from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import msgspec
from starlette.middleware import Middleware
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from imprint.auth.sessions import OperatorSessions
from imprint.domain.errors import Code, Problem, Unavailable
from imprint.domain.rate_limits import SHARE, Budget, Rate, RateLimiter
from imprint.domain.site import ABOUT, SiteIdentity
from imprint.interface.service import MarketplaceFacts, Parameters
from imprint.ports import Clock, Monotonic
from imprint.services.access.payments import Payments
from imprint.services.access.reads import Reads
from imprint.services.accounts.login import Login
from imprint.services.accounts.profiles import Profiles
from imprint.services.accounts.writing_sessions import WritingSessions
from imprint.services.content.thumbnails import Thumbnails
from imprint.services.drafts.drafts import Drafts
from imprint.services.installation.operator_page import Operations
from imprint.services.installation.readiness import Readiness
from imprint.services.moderation import Moderation
from imprint.services.posts.feeds import Feeds
from imprint.services.posts.lists import Lists, Totals
from imprint.services.posts.posts import Posts
from imprint.services.publication.webhooks import Webhooks
from imprint.services.site import Pages, Sitemap
from imprint.web.api.about import STARTING, AboutRoutes, LazyText, StartingRoutes
from imprint.web.api.feed_links import FeedLinks
from imprint.web.api.feeds import Ending, FeedRoutes
from imprint.web.api.gateway import GatewayRoutes
from imprint.web.api.paywall import Paywall
from imprint.web.api.post_records import PostRecords
from imprint.web.api.posts import PostRoutes, TotalsRoutes
from imprint.web.api.reads import ReadRoutes
from imprint.web.api.reports import ReportRoutes
from imprint.web.api.webhooks import MAX_DELIVERY, WebhookRoutes
from imprint.web.api.writes import WriteRoutes, WritingSessionRoutes
from imprint.web.docs.openapi import describe_interface
from imprint.web.docs.page.docs_page import PageAssets, docs_page
from imprint.web.http.large_responses import ResponseBudget
from imprint.web.http.middleware import PREVIEW_PATH, PageCors, RequestLimits, RequestMiddleware
from imprint.web.http.problems import (
    on_hidden_problem,
    on_method_not_allowed,
    on_not_found,
    on_problem,
)
from imprint.web.http.proxies import ForwardedClient, TrustedProxies
from imprint.web.http.requests import ESCAPED, SMALL_BODY, BodyReader
from imprint.web.http.routing import Application
from imprint.web.site.assets import ASSET_PATH, Assets, built_assets
from imprint.web.site.cards import Cards
from imprint.web.site.identity import AssetRoutes, Frame, OwnFiles
from imprint.web.site.machines import FrontMatterPages, MachinePages, MachineRoutes
from imprint.web.site.operator import OperatorRoutes
from imprint.web.site.pages import SiteRoutes, SiteSources
from imprint.web.site.policy import COPY_POLICY, content_policy
from imprint.web.site.problem_pages import (
    ProblemHandler,
    Refuse,
    failure_responder,
    page_handler,
    problem_page,
)
from imprint.web.site.templates import Templates
from imprint.web.site.texts.feed_texts import FeedText

WEBHOOK_ALIASES = {"provider-a": "alchemy", "provider-b": "quicknode"}
"""The alternative name of each provider in webhook paths."""

Page = partial(Route, include_in_schema=False)
"""A route for people or crawlers, which is not part of the OpenAPI description."""

LifespanFunction = Callable[[Any], AbstractAsyncContextManager[None]]


@dataclass(frozen=True, slots=True)
class Services:
    """The services that the routes call."""

    login: Login
    drafts: Drafts
    profiles: Profiles
    writing_sessions: WritingSessions
    reads: Reads
    lists: Lists
    webhooks: Webhooks
    readiness: Readiness
    feeds: Feeds
    pages: Pages
    sitemap: Sitemap
    totals: Totals
    posts: Posts
    thumbnails: Thumbnails
    moderation: Moderation
    payments: Payments
    operations: Operations | None = None
    """None if the service has no operator page."""


@dataclass(frozen=True, slots=True)
class SiteFacts:
    """The operator's settings for the pages."""

    identity: SiteIdentity
    fediverse_creator: str | None = None
    ai_training: str = "prohibit"
    operator_secret: bytes | None = field(default=None, repr=False)
    operator_secret_previous: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class CopiedFrom:
    """The URL of the service to which a static copy links, unless the copy replaces the service."""

    live: str | None
    policy: str = COPY_POLICY


@dataclass(frozen=True, slots=True)
class Facts:
    """Information published to clients under `/.well-known/`."""

    service: Parameters
    marketplace: MarketplaceFacts
    links: FeedLinks
    site: SiteFacts | None = None
    """None if the service has no pages."""
    node: str | None = None
    """The URL of the node that pages call under `imprint dev`."""
    copied: CopiedFrom | None = None
    """None unless the pages are rendered for a static copy."""


MAX_PUBLISHING = 32
"""Maximum number of images per process that are being recoded or are waiting to be recoded."""

SMALLEST_SHARE = 2
"""Number of concurrent requests that every client may have, no matter how small its share is."""


@dataclass(frozen=True, slots=True)
class ClientRates:
    """The rate limits per client. None means no limit. `webhooks` is for unverified deliveries."""

    reads: Rate | None = None
    signed: Rate | None = None
    signed_bytes: Rate | None = None
    webhooks: Rate | None = None
    reports: Rate | None = None


@dataclass(frozen=True, slots=True)
class WebOptions:
    """The request limits, allowed origins, trusted proxies and security contact."""

    max_content: int
    max_image: int
    body_timeout: float
    max_concurrent: int
    max_webhooks: int
    max_body_bytes: int
    max_response_bytes: int
    rates: ClientRates
    cors_origins: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    security_contact: str | None = None
    has_shares: bool = True
    gateway_fallback: str | None = None
    serves_inkdao: bool = False
    """Whether to serve the earlier front end.

    If so, refusals have the statuses of `problems.HIDDEN`, and invalid hashtags of publications are
    salvaged.
    """
    logs_addresses: bool = False

    def budget(self, total: int, largest: int = 1) -> Budget:
        """Return a budget for all clients. Without shares, one client may use all of it."""
        return Budget.of(total, largest, SHARE if self.has_shares else 1)

    def slots(self, total: int) -> Budget:
        """Return a budget of requests. A client may always have more than one request."""
        return self.budget(total, min(total, SMALLEST_SHARE))

    @property
    def largest_body(self) -> int:
        """The size in bytes of the largest request body that any endpoint reads.

        This size also determines the response budget, because no response is much larger.
        """
        largest = max(ESCAPED * self.max_content, self.max_image) + SMALL_BODY
        return max(largest, MAX_DELIVERY)


def build_app(
    services: Services,
    facts: Facts,
    options: WebOptions,
    clock: Clock,
    lifespan: LifespanFunction,
    *,
    monotonic: Monotonic,
) -> Application:
    """Build the web application over these services."""
    budget = ResponseBudget(options.budget(options.max_response_bytes, options.largest_body))
    assets = built_assets()
    site = None
    if facts.site is not None:
        site = _site(services, facts, facts.site, options, clock, budget=budget, assets=assets)
    routes = _routes(
        services,
        facts,
        options,
        clock,
        monotonic=monotonic,
        budget=budget,
        site=site,
        assets=assets,
    )
    handlers: dict[int | type[Exception], ProblemHandler] = {
        Problem: on_hidden_problem if options.serves_inkdao else on_problem,
        404: on_not_found,
        405: on_method_not_allowed,
    }
    if site is not None:
        own = _own_paths(facts)
        handlers = {
            kind: page_handler(handler, site.refuse, own) for kind, handler in handlers.items()
        }
    return Application(
        routes=routes,
        middleware=_middleware(
            routes, options, monotonic, None if site is None else site.refuse, _own_paths(facts)
        ),
        exception_handlers=handlers,
        lifespan=lifespan,
    )


class StartingApp:
    """The application of a service that waits for a dependency before it can start.

    Its health check succeeds and its readiness check fails. The service refuses all other requests
    with the code of that dependency. Browsers get a page, with its assets.
    """

    def __init__(self, facts: Facts, options: WebOptions, monotonic: Monotonic) -> None:
        missing = Unavailable(Code.DATABASE_UNAVAILABLE, STARTING)
        assets = built_assets()
        refuse_page = None
        if facts.site is not None:
            templates = _templates(facts, facts.site, assets)
            refuse_page = partial(problem_page, templates, rpc_url=facts.node)
        self._routes = StartingRoutes(missing, refuse_page)
        routes = [
            Route("/healthz", self._routes.healthz),
            Route("/readyz", self._routes.readyz),
            Page(f"{ASSET_PATH}{{name}}", AssetRoutes(assets, _own_files(facts)).asset),
        ]
        refuse = self._routes.refuse
        self._app = Application(
            routes,
            _middleware(routes, options, monotonic, refuse_page, _own_paths(facts)),
            {Problem: on_problem, 404: refuse, 405: refuse},
        )

    def wait_for(self, missing: Unavailable) -> None:
        """Refuse requests with this problem from now on."""
        self._routes.missing = missing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def _routes(
    services: Services,
    facts: Facts,
    options: WebOptions,
    clock: Clock,
    *,
    monotonic: Monotonic,
    budget: ResponseBudget,
    site: SiteRoutes | None,
    assets: Assets,
) -> list[Route]:
    bodies = BodyReader(options.body_timeout)
    sessions = WritingSessionRoutes(services.login, services.writing_sessions, bodies)
    read, links = services.reads, facts.links
    paywall = Paywall(services.login, read, services.payments, links)
    reads = ReadRoutes(services.login, read, services.lists, services.posts, paywall, budget)
    fallback = options.gateway_fallback
    gateway = GatewayRoutes(read, services.posts, services.thumbnails, budget, fallback)
    show = FeedText(read, links).show
    feeds = FeedRoutes(services.login, services.feeds, links, bodies, budget, show)
    written = _machine_pages(facts, site)
    machines = MachineRoutes(services.pages, services.sitemap, written, paywall, budget)
    records = PostRecords(links.service)
    coin, has_pages = facts.service.chain.coin.symbol, site is not None
    posts = PostRoutes(services.login, services.posts, read, records, coin, has_pages)
    unverified = RateLimiter(options.rates.webhooks)
    webhooks = WebhookRoutes(services.webhooks, bodies, unverified, monotonic)
    about = _about(services, facts, options, clock, assets)
    reports = RateLimiter(options.rates.reports)
    desk = ReportRoutes(services.login, services.moderation, bodies, reports, monotonic)
    return [
        Route("/ipfs/{cid}", gateway.document),
        *(() if site is None else _site_routes(site)),
        Page(f"{ASSET_PATH}{{name}}", AssetRoutes(assets, _own_files(facts)).asset),
        *_operator_routes(services, facts, site, clock),
        *_index_routes(posts, reads, machines),
        *(
            Route(f"/webhook/{name}/publish", webhooks.receiver(provider), methods=["POST"])
            for provider in services.webhooks.providers
            for name in (provider, WEBHOOK_ALIASES[provider])
        ),
        *_file_routes(reads),
        *_write_routes(services, options, bodies),
        *_writing_session_routes(sessions),
        *_feed_routes(feeds),
        *_machine_routes(machines),
        *_totals_routes(TotalsRoutes(services.totals)),
        Route("/reports", desk.report, methods=["POST"]),
        Route("/me/measures", desk.own_measures),
        *_about_routes(about),
    ]


def _machine_pages(facts: Facts, site: SiteRoutes | None) -> MachinePages:
    links = facts.links
    if site is None:
        return MachinePages(links)
    own, about = tuple(page.path for page in site.frame.pages), site.frame.description
    if facts.copied is not None:
        return FrontMatterPages(links, about, own, facts.copied.live)
    return MachinePages(links, about, own)


def _about(
    services: Services, facts: Facts, options: WebOptions, clock: Clock, assets: Assets
) -> AboutRoutes:
    scripts = (assets.url("docs.js"), assets.url("theme.js"))
    name = None if facts.site is None else facts.site.identity.name
    docs = PageAssets(assets.url("docs.css"), *scripts, name)
    openapi = cache(partial(describe_interface, facts.service.version))
    return AboutRoutes(
        facts.service,
        msgspec.json.encode(facts.marketplace),
        LazyText(lambda: msgspec.json.encode(openapi())),
        LazyText(lambda: docs_page(openapi(), msgspec.to_builtins(facts.service), docs).encode()),
        content_policy(facts.node),
        services.readiness,
        options.security_contact,
        clock,
    )


def _site(
    services: Services,
    facts: Facts,
    decided: SiteFacts,
    options: WebOptions,
    clock: Clock,
    *,
    budget: ResponseBudget,
    assets: Assets,
) -> SiteRoutes:
    identity, chain = decided.identity, facts.service.chain
    return SiteRoutes(
        SiteSources(
            services.login, services.posts, services.pages, services.reads, services.totals
        ),
        _templates(facts, decided, assets),
        Cards(facts.links.service, identity.name, identity.description, chain.coin.symbol),
        Frame.of(identity),
        identity.front,
        BodyReader(options.body_timeout),
        budget,
        options.max_content,
        decided.ai_training,
        facts.node,
        options.gateway_fallback,
        clock,
    )


def _templates(facts: Facts, decided: SiteFacts, assets: Assets) -> Templates:
    shared = {
        "site_name": decided.identity.name,
        "frame": Frame.of(decided.identity),
        "facts": msgspec.to_builtins(facts.service),
        "fediverse_creator": decided.fediverse_creator,
        "copied": facts.copied,
    }
    return Templates(assets, shared, facts.service.chain.coin.symbol)


def _own_paths(facts: Facts) -> frozenset[str]:
    """Return the paths of the operator's pages."""
    pages = () if facts.site is None else facts.site.identity.pages
    return frozenset({f"/{ABOUT}", *(f"/{page.name}" for page in pages)})


def _own_files(facts: Facts) -> OwnFiles:
    return OwnFiles() if facts.site is None else OwnFiles.of(facts.site.identity)


def _site_routes(site: SiteRoutes) -> Iterator[Route]:
    yield Page("/", site.front)
    yield Page("/t/{tag}", site.tag)
    yield Page("/a/{address}", site.author)
    yield Page("/search", site.search)
    yield Page("/p/{id}", site.post)
    yield Page("/p/{id}/text", site.text)
    yield Page("/p/{id}/document", site.document)
    yield Page("/p/{id}/changes", site.changes)
    yield Page("/p/{id}/first", site.first)
    for page in site.frame.pages:
        yield Page(page.path, site.own_page)
    yield Page("/p/{id}/{slug}", site.post)
    yield Page("/library", site.library)
    yield Page("/studio", site.studio)
    yield Page(PREVIEW_PATH, site.preview, methods=["POST"])
    yield Page("/license.xml", site.license)
    yield Page("/icon.svg", site.icon)
    yield Page("/site.webmanifest", site.manifest)


def _operator_routes(
    services: Services, facts: Facts, site: SiteRoutes | None, clock: Clock
) -> Iterator[Route]:
    """Yield the routes of the operator page, if its secret is set and the service has pages."""
    known = facts.site
    if known is None or known.operator_secret is None:
        return
    if site is None or services.operations is None:
        return
    operator = OperatorRoutes(
        OperatorSessions(known.operator_secret, known.operator_secret_previous),
        services.operations,
        services.moderation,
        services.posts,
        site.templates,
        site.bodies,
        facts.links.service,
        clock,
    )
    yield Page("/operator", operator.page, methods=["GET", "POST"])
    yield Page("/operator/sign-out", operator.sign_out, methods=["POST"])
    yield Page("/operator/desk", operator.desk, methods=["GET", "POST"])
    yield Page("/operator/log.json", operator.log_json)
    yield Page("/operator/log.csv", operator.log_csv)


def _index_routes(posts: PostRoutes, reads: ReadRoutes, machines: MachineRoutes) -> Iterator[Route]:
    # The first matching pattern wins, and an id may have any character but a slash.
    yield Route("/posts/{id}.md", machines.post)
    yield Route("/posts", posts.list_posts)
    yield Route("/posts/{id}", posts.post)
    yield Route("/posts/{id}/content", reads.post_content)
    yield Route("/posts/{id}/opening", reads.opening)
    yield Route("/posts/{id}/revisions", posts.revisions)
    yield Route("/posts/{id}/proof.json", posts.proof)
    yield Route("/authors/{address}", posts.author)
    yield Route("/me/library", posts.library)
    yield Route("/me/posts", posts.own_posts)
    yield Route("/me/sales", posts.sales)
    yield Route("/stats", posts.stats)


def _file_routes(reads: ReadRoutes) -> Iterator[Route]:
    yield Route("/filesByTags", reads.files_by_tags)
    yield Route("/fileByCid", reads.file_by_cid)
    yield Route("/fileByPostId", reads.file_by_post_id)
    yield Route("/freeFileByPostId", reads.free_file_by_post_id)
    yield Route("/pendingFilesByOwner", reads.pending_files_by_owner)
    yield Route("/filesByNextPageToken", reads.files_by_next_page_token)
    yield Route("/filesMetaData", reads.files_meta_data)


def _write_routes(services: Services, options: WebOptions, bodies: BodyReader) -> Iterator[Route]:
    writes = WriteRoutes(
        services.login,
        services.drafts,
        services.profiles,
        bodies,
        options.max_content,
        options.max_image,
        options.budget(MAX_PUBLISHING),
        options.serves_inkdao,
    )
    yield Route("/auth/login", writes.login, methods=["POST"])
    yield Route("/auth/logout", writes.logout, methods=["POST"])
    yield Route("/create/group", writes.create, methods=["POST"])
    yield Route("/update/file", writes.update, methods=["POST"])
    yield Route("/publish/file", writes.publish, methods=["POST"])
    yield Route("/delete/file", writes.delete, methods=["POST"])
    yield Route("/revise/post", writes.revise, methods=["POST"])
    yield Route("/update/profile", writes.update_profile, methods=["POST"])


def _writing_session_routes(sessions: WritingSessionRoutes) -> Iterator[Route]:
    yield Route("/writing/sessions", sessions.all_of_wallet, methods=["DELETE", "GET", "POST"])
    yield Route("/writing/sessions/{id}", sessions.one_of_wallet, methods=["DELETE"])


def _feed_routes(feeds: FeedRoutes) -> Iterator[Route]:
    endings: tuple[Ending, ...] = ("atom", "json")
    for ending in endings:
        yield Route(f"/feeds/posts.{ending}", feeds.newest(ending))
        yield Route(f"/feeds/tags/{{tag}}.{ending}", feeds.tagged(ending))
        yield Route(f"/feeds/authors/{{address}}.{ending}", feeds.authored(ending))
        yield Route(f"/feeds/private/{{token}}.{ending}", feeds.private(ending))
    yield Route("/me/feeds", feeds.all_of_reader, methods=["GET", "POST"])
    yield Route("/me/feeds/{id}", feeds.one_of_reader, methods=["DELETE", "POST"])


def _machine_routes(machines: MachineRoutes) -> Iterator[Route]:
    yield Page("/p/{id}", machines.page)
    yield Page("/p/{id}/{slug}", machines.page)
    yield Page("/llms.txt", machines.llms)
    yield Page("/robots.txt", machines.robots)
    yield Page("/sitemap.xml", machines.sitemap_index)
    yield Page("/sitemaps/{start}.xml", machines.sitemap)


def _totals_routes(totals: TotalsRoutes) -> Iterator[Route]:
    yield Route("/globalMetrics", totals.global_metrics)
    yield Route("/userMetrics", totals.user_metrics)
    yield Route("/heatmap", totals.heat_map)


def _about_routes(about: AboutRoutes) -> Iterator[Route]:
    yield Route("/.well-known/imprint.json", about.facts_json)
    yield Route("/.well-known/marketplace.json", about.marketplace_json)
    yield Page("/.well-known/security.txt", about.security_txt)
    yield Route("/openapi.json", about.openapi_json)
    yield Page("/docs", about.docs)
    yield Route("/healthz", about.healthz)
    yield Route("/readyz", about.readyz)


def _middleware(
    routes: list[Route],
    options: WebOptions,
    monotonic: Monotonic,
    refuse_page: Refuse | None,
    own_paths: Collection[str],
) -> list[Middleware]:
    """Return the middleware, outermost first."""
    given: dict[str, Any] = {
        "limits": _limits(options, monotonic),
        "paths": frozenset(route.path for route in routes),
        "counts_clients": options.has_shares,
        "logs_addresses": options.logs_addresses,
    }
    if refuse_page is not None:
        given["respond_to_failure"] = failure_responder(refuse_page, own_paths)
    chosen = [Middleware(RequestMiddleware, **given)]
    if options.trusted_proxies:
        # Replaces the proxy's address in the scope with the client's, which the rate limits use.
        proxies = TrustedProxies(options.trusted_proxies)
        chosen.insert(0, Middleware(ForwardedClient, proxies=proxies))
    if options.cors_origins:
        chosen.append(Middleware(PageCors, origins=options.cors_origins))
    return chosen


def _limits(options: WebOptions, monotonic: Monotonic) -> RequestLimits:
    rates = options.rates
    return RequestLimits(
        monotonic,
        RateLimiter(rates.reads),
        RateLimiter(rates.signed),
        RateLimiter(rates.signed),
        RateLimiter(rates.signed_bytes),
        slots=options.slots(options.max_concurrent),
        webhook_slots=options.slots(options.max_webhooks),
        body_bytes=options.budget(options.max_body_bytes, options.largest_body),
    )
