"""The composition root: settings in, a service out."""

from datetime import timedelta

from starlette.types import ASGIApp

from imprint.auth.logins import LoginVerifier
from imprint.auth.page_tokens import PageTokens
from imprint.auth.sessions import SessionKeys, Sessions
from imprint.auth.typed_data import SigningDomain, WriteVerifier
from imprint.bootstrap.adapters import Adapters, check_chain, examine_chain, open_adapters
from imprint.bootstrap.background import BackgroundTasks, build_follower
from imprint.bootstrap.well_known import describe_service
from imprint.domain.errors import CannotStart
from imprint.domain.rate_limits import RateLimiter
from imprint.services.drafts import Drafts
from imprint.services.entitlement import Entitlement
from imprint.services.labels import LabelUpdater
from imprint.services.lists import Lists
from imprint.services.login import Login
from imprint.services.readiness import Readiness
from imprint.services.reads import Reads
from imprint.services.webhooks import Webhooks
from imprint.settings import Secret, Settings
from imprint.web.app import Services, WebOptions, build_app

__all__ = [
    "CannotStart",
    "Adapters",
    "build_follower",
    "build_service",
    "check_chain",
    "describe_service",
    "examine_chain",
    "open_adapters",
]


def build_service(settings: Settings, adapters: Adapters, rpc_url: str | None = None) -> ASGIApp:
    """The web application over these adapters; `rpc_url` is told to clients (development only)."""
    catalog, content, clock = adapters.catalog, adapters.content, adapters.clock
    limits = settings.limits
    keep = timedelta(seconds=settings.chain.cache_seconds)
    mirror = LabelUpdater(catalog, content)
    entitlement = Entitlement(adapters.marketplace, clock, keep)
    domain = SigningDomain(settings.signing.name, settings.signing.version, settings.chain.id)
    secret, previous = settings.page_token_secrets
    tokens = PageTokens(secret.reveal_bytes(), _reveal(previous))
    flows = Services(
        Login(
            LoginVerifier(settings.login_domains, settings.chain.id),
            _sessions(settings),
            catalog,
            clock,
            limits.enforced(limits.logins),
        ),
        Drafts(
            WriteVerifier(domain),
            catalog,
            content,
            adapters.cipher,
            adapters.marketplace,
            adapters.images,
            clock,
            limits.enforced(limits.writes),
            timedelta(seconds=settings.retention.lease_seconds),
        ),
        Reads(catalog, content, adapters.cipher, entitlement),
        Lists(catalog, tokens, clock, settings.retention.public_drafts),
        Webhooks(adapters.webhook_providers, catalog, clock, mirror),
        Readiness(catalog, content, adapters.marketplace, clock),
    )
    facts = describe_service(settings, rpc_url)
    chores = BackgroundTasks(settings, adapters, entitlement, mirror)
    return build_app(flows, facts, _web_options(settings), clock, chores.lifespan)


def _reveal(secret: Secret | None) -> bytes | None:
    return None if secret is None else secret.reveal_bytes()


def _sessions(settings: Settings) -> Sessions:
    given, origin = settings.sessions, settings.server.public_url
    keys = SessionKeys(given.jwt_secret.reveal_bytes(), _reveal(given.jwt_secret_previous))
    return Sessions(keys, origin, origin)


def _web_options(settings: Settings) -> WebOptions:
    limits = settings.limits
    return WebOptions(
        limits.content_bytes,
        limits.image_bytes,
        limits.body_seconds,
        limits.concurrent,
        RateLimiter(limits.enforced(limits.reads)),
        RateLimiter(limits.enforced(limits.signed)),
        settings.server.cors_origins,
        frozenset(settings.server.trusted_proxies),
        settings.server.security_contact,
    )
