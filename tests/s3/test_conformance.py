"""The contract of the `ContentStore` port, in a bucket on a real MinIO server."""

from tests.adapters.content.test_content_conformance import *  # noqa: F403 — the same tests, another store
