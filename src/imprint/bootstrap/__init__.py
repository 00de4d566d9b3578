"""Composition root: turns settings into a service."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial

from starlette.types import ASGIApp

from imprint.auth.logins import LoginVerifier
from imprint.auth.page_tokens import PageTokens
from imprint.auth.post_page_tokens import PostPageTokens
from imprint.auth.sessions import SessionKeys, Sessions
from imprint.auth.sign_in_with_x import Challenges
from imprint.auth.signed_profiles import ProfileVerifier
from imprint.auth.signed_revisions import RevisionVerifier
from imprint.auth.typed_data import SigningDomain, WriteVerifier
from imprint.auth.writing_sessions import OpeningVerifier
from imprint.bootstrap.adapters import (
    Adapters,
    OpenDatabase,
    check_chain,
    examine_chain,
    has_network_name,
    open_adapters,
)
from imprint.bootstrap.background import (
    WATCHED_TASKS,
    BackgroundTasks,
    build_follower,
    build_indexer,
    build_monitors,
    build_stray_scan,
)
from imprint.bootstrap.operator_page import build_operations
from imprint.bootstrap.startup import in_daemon_thread, open_when_reachable
from imprint.bootstrap.stores import Stores
from imprint.bootstrap.well_known import (
    accepted_forms,
    describe_marketplace,
    describe_service,
    inkdao_domain,
)
from imprint.domain.drafts.files import Quota
from imprint.domain.moderation import Show
from imprint.domain.rate_limits import SHARE, Budget, RateLimiter
from imprint.ports import monotonic
from imprint.ports.content import ReadProbe
from imprint.services.access.entitlement import Entitlement
from imprint.services.access.payments import MAX_WAITS, Payments
from imprint.services.access.reads import Reads
from imprint.services.accounts.contract_wallets import MAX_CHECKS, WalletProofs
from imprint.services.accounts.login import Login
from imprint.services.accounts.profiles import Profiles
from imprint.services.accounts.writing_sessions import WritingSessions
from imprint.services.chain.log_stream import examine_history
from imprint.services.content.labels import LabelUpdater
from imprint.services.content.store_claim import InstallationClaim
from imprint.services.content.thumbnails import Thumbnails
from imprint.services.drafts.drafts import Drafts
from imprint.services.drafts.garbage_collector import StrayScan
from imprint.services.installation.readiness import Readiness
from imprint.services.installation.usage_monitor import UsageMonitor
from imprint.services.moderation import CurrentMeasures, Moderation
from imprint.services.posts.feeds import Feeds
from imprint.services.posts.lists import Lists, ShownTotalsCache, Totals
from imprint.services.posts.posts import Posts
from imprint.services.posts.search import LibrarySearch, Search
from imprint.services.publication.chain_sync import Publications
from imprint.services.publication.webhooks import Webhooks
from imprint.services.site import Pages, Sitemap
from imprint.services.tasks.leases import LeaseMonitor
from imprint.services.write_health import WriteHealth
from imprint.settings import Compatibility, Secret, Settings
from imprint.web.api.feed_links import FeedLinks
from imprint.web.app import (
    ClientRates,
    CopiedFrom,
    Facts,
    Services,
    SiteFacts,
    StartingApp,
    WebOptions,
    build_app,
)

__all__ = [
    "Adapters",
    "OpenDatabase",
    "build_follower",
    "build_indexer",
    "build_service",
    "build_starting_service",
    "check_chain",
    "describe_service",
    "examine_chain",
    "has_network_name",
    "in_daemon_thread",
    "open_adapters",
    "open_when_reachable",
]

Check = tuple[str, Callable[[], bool]]
"""The name of a readiness check, and the function that runs it."""


def build_service(
    settings: Settings,
    adapters: Adapters,
    node: str | None = None,
    *,
    measures: bool = False,
    copied: CopiedFrom | None = None,
) -> ASGIApp:
    """The web application over these adapters. `node` is the chain of `imprint dev`.

    With `measures`, this process measures how much is stored, for the metrics of all processes.
    With `copied`, the pages are built for a static copy.
    """
    stores, content, cipher = adapters.stores, adapters.content, adapters.cipher
    marketplace, clock = adapters.marketplace, adapters.clock
    lifetime = timedelta(seconds=settings.chain.cache_seconds)
    entitlement = Entitlement(marketplace, adapters.monotonic, lifetime)
    labels = LabelUpdater(stores.files, content)
    monitors = build_monitors(settings, adapters)
    strays, claim = build_stray_scan(settings, adapters), adapters.claim
    health = WriteHealth()
    wallets = _wallets(settings, adapters)
    current = CurrentMeasures(stores.moderation, adapters.monotonic)
    drafts = _drafts(settings, adapters, health, wallets, current)
    publications = Publications(stores.events, clock, labels)
    index = stores.index_reader
    reads = Reads(stores.files, stores.revisions, content, cipher, entitlement, measures=current)
    services = Services(
        _login(settings, adapters, wallets),
        drafts,
        _profiles(settings, adapters, health, wallets, current),
        drafts.sessions,
        reads,
        _lists(settings, adapters, current),
        Webhooks(adapters.webhook_providers, publications, clock, entitlement),
        _readiness(settings, adapters, _checks(stores, claim, monitors, strays), health),
        Feeds(index, reads, stores.private_feeds, clock),
        Pages(index, reads),
        Sitemap(index),
        Totals(index, clock, ShownTotalsCache(index, current, adapters.monotonic)),
        _posts(settings, adapters, reads),
        Thumbnails(reads.public_document, adapters.images),
        Moderation(stores.moderation, index, stores.files, stores.revisions, current, clock),
        _payments(settings, adapters, wallets, current),
    )
    if settings.site.enabled and settings.site.operator_secret is not None:
        operations = build_operations(settings, adapters, services.readiness, services.webhooks)
        services = replace(services, operations=operations)
    watched = [*monitors.values()]
    check = services.readiness.check
    usage = UsageMonitor(stores.installation, check, adapters.monotonic) if measures else None
    # Words of withheld posts are indexed, too, because lists filter the matches.
    unmoderated = replace(reads, measures=CurrentMeasures())
    tasks = BackgroundTasks(
        settings, adapters, entitlement, labels, claim, watched, strays, usage, unmoderated
    )
    facts, options = _facts(settings, node, copied), _web_options(settings)
    seconds = adapters.monotonic
    return build_app(services, facts, options, clock, tasks.lifespan, monotonic=seconds)


def _posts(settings: Settings, adapters: Adapters, reads: Reads) -> Posts:
    stores = adapters.stores
    return Posts(
        stores.index_reader,
        _post_page_tokens(settings),
        adapters.clock,
        Search(stores.index_reader, stores.search),
        LibrarySearch(stores.index_reader, stores.files, reads),
        reads.measures,
        settings.site.show is not Show.ALLOWED,
    )


def _lists(settings: Settings, adapters: Adapters, measures: CurrentMeasures) -> Lists:
    tokens, public_drafts = _page_tokens(settings), settings.retention.public_drafts
    return Lists(adapters.stores.files, tokens, adapters.clock, public_drafts, measures)


def _facts(settings: Settings, node: str | None, copied: CopiedFrom | None = None) -> Facts:
    chain, server = settings.chain, settings.server
    links = FeedLinks(
        server.public_url,
        settings.publication.name,
        chain.id,
        chain.marketplace,
        server.websub_hub,
        settings.site.enabled,
        chain.coin,
    )
    return Facts(
        describe_service(settings, node),
        describe_marketplace(settings),
        links,
        _site(settings),
        node,
        copied,
    )


def _site(settings: Settings) -> SiteFacts | None:
    site = settings.site
    if not site.enabled:
        return None
    return SiteFacts(
        settings.publication.identity,
        site.fediverse_creator,
        site.ai_training,
        _reveal(site.operator_secret),
        _reveal(site.operator_secret_previous),
    )


def _readiness(
    settings: Settings, adapters: Adapters, checks: list[Check], health: WriteHealth
) -> Readiness:
    content, events, chain_id = adapters.content, adapters.stores.events, settings.chain.id
    followed = bool(settings.chain.follow_seconds)
    return Readiness(
        adapters.stores.database,
        content,
        adapters.marketplace,
        adapters.monotonic,
        adapters.disk,
        partial(examine_history, adapters.chain, events, chain_id),
        checks,
        partial(events.disputed_blocks, chain_id) if followed else None,
        health,
        content.probe_reads if isinstance(content, ReadProbe) else None,
        WATCHED_TASKS - {name for name, _ in checks},
    )


def _wallets(settings: Settings, adapters: Adapters) -> WalletProofs:
    limits = settings.limits
    return WalletProofs(
        adapters.wallets,
        RateLimiter(limits.enforced(limits.wallet_checks)),
        RateLimiter(limits.enforced(limits.wallet_checks_per_address)),
        adapters.monotonic,
        Budget.of(MAX_CHECKS, parts=SHARE if limits.rate_limits else 1),
    )


def _signing_domain(settings: Settings) -> SigningDomain:
    return SigningDomain(settings.signing.name, settings.signing.version, settings.chain.id)


def _login(settings: Settings, adapters: Adapters, wallets: WalletProofs) -> Login:
    limits = settings.limits
    return Login(
        LoginVerifier(settings.login_domains, settings.chain.id),
        wallets,
        _sessions(settings),
        adapters.stores.rate_limits,
        adapters.stores.sessions,
        adapters.clock,
        limits.enforced(limits.logins),
    )


def _payments(
    settings: Settings, adapters: Adapters, wallets: WalletProofs, measures: CurrentMeasures
) -> Payments:
    limits, stores = settings.limits, adapters.stores
    share = SHARE if limits.rate_limits else 1
    return Payments(
        Challenges(_session_keys(settings), settings.server.public_url, settings.chain.id),
        wallets,
        stores.rate_limits,
        stores.sessions,
        stores.index_reader if settings.chain.follow_seconds else None,
        measures,
        settings.site.show,
        adapters.clock,
        limits.enforced(limits.logins),
        adapters.marketplace,
        # Reads that wait for a purchase leave most of the request slots to other requests.
        Budget.of(min(MAX_WAITS, limits.concurrent // SHARE), parts=share),
    )


def _verifier(settings: Settings) -> WriteVerifier:
    name = inkdao_domain(settings)
    inkdao = SigningDomain(name, settings.signing.version, settings.chain.id) if name else None
    return WriteVerifier(
        _signing_domain(settings),
        settings.server.public_url,
        accepted_forms(settings),
        inkdao,
    )


def _drafts(
    settings: Settings,
    adapters: Adapters,
    health: WriteHealth,
    wallets: WalletProofs,
    measures: CurrentMeasures,
) -> Drafts:
    limits, stores = settings.limits, adapters.stores
    verifier, rate = _verifier(settings), limits.enforced(limits.writes)
    sessions = WritingSessions(
        OpeningVerifier(_signing_domain(settings), settings.server.public_url),
        verifier,
        wallets,
        stores.writing_sessions,
        stores.rate_limits,
        adapters.clock,
        rate,
        measures,
    )
    return Drafts(
        verifier,
        RevisionVerifier(_signing_domain(settings), settings.server.public_url),
        wallets,
        sessions,
        stores.drafts,
        stores.files,
        stores.revisions,
        stores.garbage,
        stores.rate_limits,
        adapters.content,
        adapters.cipher,
        adapters.marketplace,
        adapters.images,
        adapters.clock,
        rate,
        timedelta(seconds=settings.retention.lease_seconds),
        Quota(limits.quota_bytes, limits.quota_drafts),
        adapters.disk,
        measures,
        health,
    )


def _profiles(
    settings: Settings,
    adapters: Adapters,
    health: WriteHealth,
    wallets: WalletProofs,
    measures: CurrentMeasures,
) -> Profiles:
    limits, stores = settings.limits, adapters.stores
    return Profiles(
        ProfileVerifier(_signing_domain(settings), settings.server.public_url),
        wallets,
        stores.profiles,
        stores.drafts,
        stores.garbage,
        stores.rate_limits,
        adapters.content,
        adapters.images,
        adapters.clock,
        limits.enforced(limits.writes),
        timedelta(seconds=settings.retention.lease_seconds),
        Quota(limits.quota_bytes, limits.quota_drafts),
        adapters.disk,
        measures,
        health,
    )


def _checks(
    stores: Stores,
    claim: InstallationClaim,
    monitors: Mapping[str, LeaseMonitor],
    strays: StrayScan | None,
) -> list[Check]:
    """Readiness checks in addition to the checks of the dependencies."""
    checks: list[Check] = [(name, monitor.is_running) for name, monitor in monitors.items()]
    checks.append(("storage", claim.stands))
    checks.append(("records", lambda: not stores.database.damage.found))
    if strays is not None:
        checks.append(("collector", strays.holds_nothing))
    return checks


def build_starting_service(settings: Settings) -> StartingApp:
    """Web application of a service that cannot start until a dependency is available."""
    return StartingApp(_facts(settings, None), _web_options(settings), monotonic)


def _web_options(settings: Settings) -> WebOptions:
    limits = settings.limits
    return WebOptions(
        limits.content_bytes,
        limits.image_bytes,
        limits.body_seconds,
        limits.concurrent,
        limits.concurrent_webhooks,
        limits.body_bytes,
        limits.response_bytes,
        ClientRates(
            limits.enforced(limits.reads),
            limits.enforced(limits.signed),
            limits.enforced(limits.signed_bytes),
            limits.enforced(limits.webhooks),
            limits.enforced(limits.reports),
        ),
        settings.server.cors_origins,
        settings.server.trusted_proxies,
        settings.server.security_contact,
        limits.rate_limits,
        settings.server.gateway_fallback,
        settings.server.compatibility is Compatibility.INKDAO,
        settings.server.log_addresses,
    )


def _sessions(settings: Settings) -> Sessions:
    origin = settings.server.public_url
    return Sessions(_session_keys(settings), origin, origin, settings.sessions.seconds)


def _session_keys(settings: Settings) -> SessionKeys:
    sessions = settings.sessions
    return SessionKeys(sessions.jwt_secret.reveal_bytes(), _reveal(sessions.jwt_secret_previous))


def _page_tokens(settings: Settings) -> PageTokens:
    secret, previous = settings.page_token_secrets
    return PageTokens(secret.reveal_bytes(), _reveal(previous))


def _post_page_tokens(settings: Settings) -> PostPageTokens:
    secret, previous = settings.page_token_secrets
    return PostPageTokens(secret.reveal_bytes(), _reveal(previous))


def _reveal(secret: Secret | None) -> bytes | None:
    return None if secret is None else secret.reveal_bytes()
