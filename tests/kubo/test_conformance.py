"""The contract of the `ContentStore` port, on a real Kubo node."""

from tests.adapters.content.test_content_conformance import *  # noqa: F403 — the same tests, another store
