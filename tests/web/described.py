"""The OpenAPI document, and the `imprint.json` facts of a service with default settings."""

from typing import Any

from imprint.domain.drafts.tags import MAX_TAG_LENGTH, MAX_TAGS
from imprint.web.docs.openapi import describe_interface

FACTS: dict[str, Any] = {
    "name": "Imprint",
    "version": "1.0.0",
    "service": "http://localhost:8000",
    "signing": {"name": "Imprint", "version": "1", "chainId": 31337},
    "login": {"domains": ["localhost:8000", "[::1]:8000"], "freshness_seconds": 60},
    "chain": {"id": 31337, "marketplace": "0x5fbdb2315678afecb367f032d93f642f64180aa3"},
    "limits": {
        "content_bytes": 4194304,
        "thumbnail_bytes": 5242880,
        "thumbnail_pixels": 16000000,
        "thumbnail_side": 16384,
        "hashtags": MAX_TAGS,
        "hashtag_length": MAX_TAG_LENGTH,
        "nonce_length": 200,
        "login_message_bytes": 4096,
    },
    "page_sizes": {"filesByTags": 9, "pendingFilesByOwner": 12},
}
DOCUMENT = describe_interface("1.0.0")
