"""The facts that a client needs to use this service and its marketplace.

The facts are served at `/.well-known/imprint.json` and `/.well-known/marketplace.json`.
"""

from imprint import __version__
from imprint.auth.login_message import MAX_MESSAGE_BYTES
from imprint.auth.logins import LOGIN_FRESHNESS
from imprint.auth.typed_data import BOUND_FORMS, MAX_NONCE_LENGTH, SigningForm
from imprint.domain.drafts.documents import MAX_IMAGE_PIXELS, MAX_IMAGE_SIDE
from imprint.domain.drafts.tags import MAX_TAG_LENGTH, MAX_TAGS
from imprint.domain.formats.coins import DECIMALS
from imprint.domain.posts.indexed_posts import DRAFTS_PAGE_SIZE, PUBLIC_PAGE_SIZE
from imprint.interface.service import (
    ChainFacts,
    CoinFacts,
    LimitFacts,
    LoginFacts,
    MarketplaceFacts,
    PageSizes,
    Parameters,
    SigningFacts,
)
from imprint.marketplace import artifact
from imprint.settings import Compatibility, Settings

INKDAO_NAME = "InkDAO"
"""Name of the signing domain of the earlier service, whose front end signs `inkdao-1`."""

INDEX_FEATURES = ("posts", "feeds", "search")
"""Features that need the post index, which is filled by following the chain."""


def accepted_forms(settings: Settings) -> tuple[SigningForm, ...]:
    """Accepted forms of signed writes."""
    return BOUND_FORMS if settings.signing.require_bound else tuple(SigningForm)


def inkdao_domain(settings: Settings) -> str | None:
    """The name of the signing domain of `inkdao-1`, if it has one of its own."""
    return INKDAO_NAME if settings.server.compatibility is Compatibility.INKDAO else None


def _features(settings: Settings, is_development: bool) -> tuple[str, ...]:
    """Features beyond drafts and their publication."""
    has_index = bool(settings.chain.follow_seconds)
    return (
        *(INDEX_FEATURES if has_index else ()),
        "writing-sessions",
        *(["contract-wallets"] if settings.signing.contract_wallets else []),
        # Without the index, nobody can use these features.
        *(["profiles", "openings", "revisions", "payment-required"] if has_index else []),
        *(["development"] if is_development else []),
    )


def describe_service(settings: Settings, node: str | None) -> Parameters:
    """The members of `/.well-known/imprint.json`. `node` is the chain of `imprint dev`.

    `now` is added at request time.
    """
    chain, limits, signing = settings.chain, settings.limits, settings.signing
    forms = accepted_forms(settings)
    return Parameters(
        "Imprint",
        __version__,
        settings.server.public_url,
        SigningFacts(signing.name, signing.version, chain.id),
        forms,
        _features(settings, node is not None),
        LoginFacts(settings.login_domains, int(LOGIN_FRESHNESS.total_seconds())),
        ChainFacts(
            chain.id,
            chain.marketplace,
            chain.name,
            CoinFacts(chain.coin, DECIMALS),
            node or chain.public_rpc_url,
            chain.explorer_url,
            chain.adapter,
        ),
        LimitFacts(
            content_bytes=limits.content_bytes,
            quota_bytes=limits.quota_bytes,
            quota_drafts=limits.quota_drafts,
            thumbnail_bytes=limits.image_bytes,
            thumbnail_pixels=MAX_IMAGE_PIXELS,
            thumbnail_side=MAX_IMAGE_SIDE,
            hashtags=MAX_TAGS,
            hashtag_length=MAX_TAG_LENGTH,
            nonce_length=MAX_NONCE_LENGTH,
            login_message_bytes=MAX_MESSAGE_BYTES,
        ),
        PageSizes(PUBLIC_PAGE_SIZE, PUBLIC_PAGE_SIZE, PUBLIC_PAGE_SIZE, DRAFTS_PAGE_SIZE),
        inkdao_domain(settings) if SigningForm.INKDAO_1 in forms else None,
    )


def describe_marketplace(settings: Settings) -> MarketplaceFacts:
    """The members of `/.well-known/marketplace.json`, with the ABI of the shipped contract."""
    chain = settings.chain
    return MarketplaceFacts(chain.id, chain.marketplace, chain.start_block, artifact().abi)
