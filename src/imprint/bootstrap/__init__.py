"""The composition root: settings in, a service out."""

from datetime import timedelta

from starlette.types import ASGIApp

from imprint.auth.logins import LoginVerifier
from imprint.auth.page_tokens import PageTokens
from imprint.auth.sessions import SessionKeys, Sessions
from imprint.auth.typed_data import SigningDomain, WriteVerifier
from imprint.bootstrap.chores import Chores, build_follower
from imprint.bootstrap.facts import describe_service
from imprint.bootstrap.parts import Parts, check_chain, examine_chain, open_parts
from imprint.bootstrap.starting import CannotStart
from imprint.domain.rates import Pacer
from imprint.flows.confirming import Confirming
from imprint.flows.drafts import Drafts
from imprint.flows.entitlement import Entitlement
from imprint.flows.listing import Listing
from imprint.flows.login import Login
from imprint.flows.mirroring import Mirror
from imprint.flows.readiness import Readiness
from imprint.flows.reading import Reading
from imprint.settings import Secret, Settings
from imprint.web.app import Flows, WebOptions, build_app

__all__ = [
    "CannotStart",
    "Parts",
    "build_follower",
    "build_service",
    "check_chain",
    "describe_service",
    "examine_chain",
    "open_parts",
]


def build_service(settings: Settings, parts: Parts, rpc_url: str | None = None) -> ASGIApp:
    """The web application over these parts; `rpc_url` is told to clients (development only)."""
    catalog, content, clock = parts.catalog, parts.content, parts.clock
    limits = settings.limits
    keep = timedelta(seconds=settings.chain.cache_seconds)
    mirror = Mirror(catalog, content)
    entitlement = Entitlement(parts.marketplace, clock, keep)
    domain = SigningDomain(settings.signing.name, settings.signing.version, settings.chain.id)
    secret, previous = settings.page_token_secrets
    tokens = PageTokens(secret.reveal_bytes(), _reveal(previous))
    flows = Flows(
        Login(
            LoginVerifier(settings.login_domains, settings.chain.id),
            _sessions(settings),
            catalog,
            clock,
            limits.paced(limits.logins),
        ),
        Drafts(
            WriteVerifier(domain),
            catalog,
            content,
            parts.cipher,
            parts.marketplace,
            parts.images,
            clock,
            limits.paced(limits.writes),
            timedelta(seconds=settings.keeping.lease_seconds),
        ),
        Reading(catalog, content, parts.cipher, entitlement),
        Listing(catalog, tokens, clock, settings.keeping.public_drafts),
        Confirming(parts.readers, catalog, clock, mirror),
        Readiness(catalog, content, parts.marketplace, clock),
    )
    facts = describe_service(settings, rpc_url)
    chores = Chores(settings, parts, entitlement, mirror)
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
        Pacer(limits.paced(limits.reads)),
        Pacer(limits.paced(limits.signed)),
        settings.server.cors_origins,
        frozenset(settings.server.trusted_proxies),
        settings.server.security_contact,
    )
