"""The contract of the port `ContentStore`, on a real Kubo node."""

from tests.adapters.content.test_content_conformance import *  # noqa: F403 — the same tests, another store
