"""The contract of the port `ContentStore`, in a bucket of a real MinIO."""

from tests.adapters.content.test_content_conformance import *  # noqa: F403 — the same tests, another store
