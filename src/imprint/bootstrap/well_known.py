"""The facts that a client needs to use this service and its marketplace.

They are served at `/.well-known/imprint.json` and `/.well-known/marketplace.json`.
"""

from typing import Any

from imprint import __version__
from imprint.auth.login_message import MAX_MESSAGE_BYTES
from imprint.auth.logins import LOGIN_FRESHNESS
from imprint.auth.typed_data import BOUND_FORMS, MAX_NONCE_LENGTH, SigningForm
from imprint.domain.drafts.documents import MAX_IMAGE_PIXELS, MAX_IMAGE_SIDE
from imprint.domain.drafts.tags import MAX_TAG_LENGTH, MAX_TAGS
from imprint.domain.formats.addresses import checksum_address
from imprint.domain.posts.lists import DRAFTS_PAGE_SIZE, PUBLIC_PAGE_SIZE
from imprint.marketplace import artifact
from imprint.settings import Settings

FEATURES = ("posts", "feeds", "search", "writing-sessions")
"""What every service offers beyond drafts and their publication."""


def accepted_forms(settings: Settings) -> tuple[SigningForm, ...]:
    """The forms of signed writes that are accepted."""
    return BOUND_FORMS if settings.signing.require_bound else tuple(SigningForm)


def _features(settings: Settings) -> list[str]:
    return [*FEATURES, *(["contract-wallets"] if settings.signing.contract_wallets else [])]


def describe_service(settings: Settings, rpc_url: str | None) -> dict[str, Any]:
    """The members of `/.well-known/imprint.json`; `rpc_url` is given under `dev` only.

    The member `now` is added when the document is requested.
    """
    chain: dict[str, Any] = {
        "id": settings.chain.id,
        "marketplace": checksum_address(settings.chain.marketplace),
    }
    if rpc_url is not None:
        chain["rpc_url"] = rpc_url
    return {
        "name": "Imprint",
        "version": __version__,
        "service": settings.server.public_url,
        "signing": {
            "name": settings.signing.name,
            "version": settings.signing.version,
            "chainId": settings.chain.id,
        },
        "signing_forms": list(accepted_forms(settings)),
        "features": _features(settings),
        "login": {
            "domains": list(settings.login_domains),
            "freshness_seconds": int(LOGIN_FRESHNESS.total_seconds()),
        },
        "chain": chain,
        "limits": {
            "content_bytes": settings.limits.content_bytes,
            "quota_bytes": settings.limits.quota_bytes,
            "quota_drafts": settings.limits.quota_drafts,
            "thumbnail_bytes": settings.limits.image_bytes,
            "thumbnail_pixels": MAX_IMAGE_PIXELS,
            "thumbnail_side": MAX_IMAGE_SIDE,
            "hashtags": MAX_TAGS,
            "hashtag_length": MAX_TAG_LENGTH,
            "nonce_length": MAX_NONCE_LENGTH,
            "login_message_bytes": MAX_MESSAGE_BYTES,
        },
        "page_sizes": {
            "filesByTags": PUBLIC_PAGE_SIZE,
            "filesMetaData": PUBLIC_PAGE_SIZE,
            "filesByNextPageToken": PUBLIC_PAGE_SIZE,
            "pendingFilesByOwner": DRAFTS_PAGE_SIZE,
        },
    }


def describe_marketplace(settings: Settings) -> dict[str, Any]:
    """The members of `/.well-known/marketplace.json`; the ABI is that of the shipped contract."""
    chain = settings.chain
    return {
        "chainId": chain.id,
        "address": chain.marketplace,
        "startBlock": chain.start_block,
        "abi": artifact().abi,
    }
